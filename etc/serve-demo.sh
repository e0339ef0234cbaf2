#!/bin/sh
# A server on this machine with the demonstration cloud; called by `make serve`.
# Takes BIN (the virtualenv's bin), PORT and DB (a database URL) from the environment.
set -eu
mkdir -p .run
case $DB in
    *"$PWD/.run/"*) ;;
    # make reset says that it leaves it. The file holds no password.
    *) echo "${DB%%\?*}" | sed 's|//[^@]*@|//|' >>.run/other-databases ;;
esac
url="http://127.0.0.1:$PORT"
pid_file=".run/server-$PORT.pid" # make reset looks at it

export OS_PLACEMENT_DATABASE__CONNECTION="$DB"
export OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP=true
export OS_PLACEMENT_DATABASE__MAX_RETRIES=0
export OS_API__AUTH_STRATEGY=noauth2
export OS_DEFAULT__LOG_FILE="$PWD/.run/placement.log"

# Only this script handles Ctrl-C: the shell makes background processes ignore it during their
# imports. The server handles it after its start.
children=
stopping=
trap 'stopping=yes; kill -TERM $children 2>/dev/null || :' INT TERM

await() { # a trapped signal interrupts the wait
    while kill -0 "$1" 2>/dev/null; do
        wait "$1" || :
    done
    wait "$1"
}

"$BIN/python" - "$PORT" <<'CHECK' &
import socket, sys
try:
    socket.create_server(("127.0.0.1", int(sys.argv[1]))).close()
except (OSError, ValueError, OverflowError) as error:
    sys.exit(f"port {sys.argv[1]} cannot be used ({error}): choose another, make serve PORT=8779")
CHECK
children=$!
await $! || exit 1
[ -z "$stopping" ] || exit 130

"$BIN/gunicorn" --config etc/gunicorn.conf.py --bind "127.0.0.1:$PORT" &
server=$!
echo "$server" >"$pid_file"
"$BIN/placement-manage" load-cloud etc/demo-cloud.yaml --url "$url" --token admin --if-empty --wait 30 &
loader=$!
children="$server $loader"
[ -z "$stopping" ] || kill -TERM $children

while kill -0 "$loader" 2>/dev/null; do
    # If the server has exited, stop waiting for it.
    kill -0 "$server" 2>/dev/null || kill -TERM "$loader" 2>/dev/null || :
    sleep 0.1 || :
done
children=$server
if ! wait "$loader"; then
    kill -TERM "$server" 2>/dev/null || :
    await "$server" || :
    rm -f "$pid_file"
    [ -z "$stopping" ] || { echo "Stopped. The next make serve completes the demonstration."; exit 130; }
    exit 1
fi

cat <<TEXT

The cloud as a page: $url/explorer/

Serving $url  (log: .run/placement.log; Ctrl-C stops)
This server is unprotected: with noauth2, it accepts every token without checking it.

Three candidates for a small instance:

  curl -s -H 'X-Auth-Token: admin' -H 'OpenStack-API-Version: placement 1.39' \\
    '$url/allocation_candidates?resources=VCPU:2,MEMORY_MB:4096,DISK_GB:20&limit=3' | $BIN/python -m json.tool

CPUs, and an FPGA behind the same NUMA node:

  curl -s -H 'X-Auth-Token: admin' -H 'OpenStack-API-Version: placement 1.39' \\
    '$url/allocation_candidates?resources_CPU=PCPU:4&resources_FPGA=FPGA:1&group_policy=none&same_subtree=_CPU,_FPGA&required_NUMA=HW_NUMA_ROOT&same_subtree=_NUMA,_CPU,_FPGA' | $BIN/python -m json.tool

TEXT
await "$server" || :
rm -f "$pid_file"
echo "Stopped. The data are kept; make reset forgets them."
