#!/bin/sh
# A server on this machine with the demonstration cloud; called by `make serve`.
# Takes BIN (the virtualenv's bin), PORT and DB (a database URL) from the environment.
set -eu
mkdir -p .run
url="http://127.0.0.1:$PORT"

export OS_PLACEMENT_DATABASE__CONNECTION="$DB"
export OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP=true
export OS_API__AUTH_STRATEGY=noauth2
export OS_DEFAULT__LOG_FILE="$PWD/.run/placement.log"

"$BIN/python" - "$PORT" <<'CHECK' || exit 1
import socket, sys
try:
    socket.create_server(("127.0.0.1", int(sys.argv[1]))).close()
except (OSError, ValueError, OverflowError) as error:
    sys.exit(f"port {sys.argv[1]} cannot be used ({error}): choose another, make serve PORT=8779")
CHECK

"$BIN/gunicorn" --config etc/gunicorn.conf.py --bind "127.0.0.1:$PORT" &
server=$!
# Ctrl-C reaches the server as well, which then finishes what it is doing.
trap ':' INT
trap 'kill -TERM $server' TERM

if ! "$BIN/placement-manage" load-cloud etc/demo-cloud.yaml --url "$url" --if-empty --wait 30; then
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" || true
    exit 1
fi
kill -0 "$server" 2>/dev/null || exit 1

cat <<TEXT

Serving $url  (log: .run/placement.log; Ctrl-C stops)
This server is unprotected: with noauth2 it takes every token at its word.

Three ways to place a small instance:

  curl -s -H 'X-Auth-Token: admin' -H 'OpenStack-API-Version: placement 1.39' \\
    '$url/allocation_candidates?resources=VCPU:2,MEMORY_MB:4096,DISK_GB:20&limit=3' | $BIN/python -m json.tool

CPUs, and an FPGA behind the same NUMA node:

  curl -s -H 'X-Auth-Token: admin' -H 'OpenStack-API-Version: placement 1.39' \\
    '$url/allocation_candidates?resources_CPU=PCPU:4&resources_FPGA=FPGA:1&group_policy=none&same_subtree=_CPU,_FPGA&required_NUMA=HW_NUMA_ROOT&same_subtree=_NUMA,_CPU,_FPGA' | $BIN/python -m json.tool

TEXT
# A trapped signal interrupts the wait, so wait until the server is gone.
while kill -0 "$server" 2>/dev/null; do
    wait "$server" || true
done
echo "Stopped. The data are kept; make reset forgets them."
