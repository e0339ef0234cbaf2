"""Try the installed distributions with the Python that runs this file: `python -I installed.py`.

A server starts with the settings of the samples. If the client is installed, too, it reports a host
and claims from it. Only installed packages are imported.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import requests

BIN = Path(sys.executable).parent
SECONDS = 120  # until the server answers, on a busy machine
CONSUMER = "5ca1ab1e-0000-4000-8000-00000000000d"
HOST = "5ca1ab1e-0000-4000-8000-000000000002"


def run(program: str, *arguments: str) -> str:
    """Run an installed command; return its output."""
    done = subprocess.run(
        [BIN / program, *arguments], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    if done.returncode:
        raise SystemExit(f"{program} {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def free_port() -> int:
    """Return a port that nothing uses."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def await_answer(url: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers.  Raises TimeoutError."""
    deadline = time.monotonic() + SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            requests.get(f"{url}/healthcheck", timeout=SECONDS).raise_for_status()
        except requests.ConnectionError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"no answer from {url}")


def claim(url: str) -> None:
    """Report a host with the client, claim from it, look at the claim, and remove all of it."""
    from falcon_placement_client import JsonRequest, NewConsumer, ReportClient

    request: JsonRequest = {"groups": {"": {"resources": {"VCPU": 2}}}}
    client = ReportClient.at(url, "admin")
    tree = client.get_provider_tree(HOST)
    tree.new_root("host", HOST)
    tree.update_inventory("host", {"VCPU": {"total": 2}})
    client.update_from_provider_tree(tree)
    claimed = client.claim(request, NewConsumer(CONSUMER, "project", "user"))
    if claimed.allocations != {HOST: {"resources": {"VCPU": 2}}}:
        raise SystemExit(f"claimed {claimed}")
    client.release(CONSUMER)
    tree.remove("host")
    client.update_from_provider_tree(tree)


def request_providers(url: str) -> None:
    """Request a list without the client, whose commands name the package to install."""
    answer = requests.get(
        f"{url}/resource_providers", headers={"X-Auth-Token": "admin"}, timeout=SECONDS
    )
    if answer.json() != {"resource_providers": []}:
        raise SystemExit(f"{answer.status_code}: {answer.text}")
    command = [str(BIN / "placement-manage"), "load-cloud", "cloud.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode != 2 or "pip install falcon-placement-client" not in done.stderr:
        raise SystemExit(f"load-cloud without the client: {done.stderr}")


def main() -> None:
    """Try everything; exit with the reason if something fails."""
    version = metadata.version("falcon-placement")
    with_client = find_spec("falcon_placement_client") is not None
    stated = {run("placement-manage", "--version").strip()}
    if with_client:
        stated.add(metadata.version("falcon-placement-client"))
    if stated != {version}:
        raise SystemExit(f"{version} is {stated}")
    with tempfile.TemporaryDirectory() as name:
        samples, url = Path(name) / "samples", f"http://127.0.0.1:{free_port()}"
        os.environ["OS_PLACEMENT_DATABASE__CONNECTION"] = f"sqlite:///{name}/placement.db"
        os.environ["OS_API__AUTH_STRATEGY"] = "noauth2"
        run("placement-manage", "samples", str(samples))
        run("placement-manage", "db", "sync")
        settings = str(samples / "gunicorn.conf.py")
        command = [str(BIN / "gunicorn"), "--config", settings, "--bind", url[7:]]
        with (Path(name) / "log").open("w+b") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                await_answer(url, server)
                if with_client:
                    claim(url)
                else:
                    request_providers(url)
            except BaseException:
                log.seek(0)
                sys.stderr.buffer.write(log.read())
                raise
            finally:
                server.terminate()
                code = server.wait(SECONDS)
        if code:
            raise SystemExit(f"the server ended with {code}")
    print(
        f"Python {sys.version.split()[0]}: falcon-placement {version} serves"
        f"{' with its client' if with_client else ''}"
    )


if __name__ == "__main__":
    main()
