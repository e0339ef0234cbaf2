"""A whole OpenStack on this machine: what `services.yaml` lists, in one scratch directory.

nova's computes run its fake driver. Each service has its own port, log and configuration, and all
of them end with the cloud. Placement has a database server of its own, so that it can fail alone.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import grp
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import yaml
from keystoneauth1.adapter import Adapter
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from tests.deploy.proxies import changed
from tests.deploy.serving import ACTIVATED, listen
from tests.kit.engines import MariaDB
from tests.kit.ports import free_port

FOLDER = Path(__file__).parent
REPOSITORY = FOLDER.parents[1]
TABLE: Mapping[str, Any] = yaml.safe_load((FOLDER / "services.yaml").read_text())
OWN = "falcon-placement"
START = 300  # seconds for a service to start
STOP = 30  # seconds for a service to stop
PASSWORD = "secret"
ADMINISTRATOR = {
    "OS_USERNAME": "admin", "OS_PASSWORD": PASSWORD, "OS_PROJECT_NAME": "admin",
    "OS_USER_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_ID": "default",
}  # fmt: skip
CREDENTIALS = f"""auth_type = password
auth_url = http://127.0.0.1:$keystone/v3
password = {PASSWORD}
project_name = service
user_domain_name = Default
project_domain_name = Default
region_name = RegionOne
"""
AUTHTOKEN = f"""{CREDENTIALS}www_authenticate_uri = http://127.0.0.1:$keystone/v3
memcached_servers = 127.0.0.1:$memcached
service_token_roles = service
service_token_roles_required = true
"""


def say(text: str) -> None:
    """Print a line at once."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def install(directory: Path, *arguments: str, version: str = "") -> Path:
    """Return a virtualenv with what the arguments of uv name, installed if they have changed."""
    stamp = directory / "installed"
    text = "\n".join([*arguments, version])
    if not stamp.exists() or stamp.read_text() != text:
        say(f"installing {directory.name}")
        uv = str(Path(sys.executable).with_name("uv"))
        make = [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable]
        subprocess.run([*make, str(directory)], check=True)
        pip = [uv, "pip", "install", "--quiet", "--python", str(directory)]
        pip += [f"--reinstall-package={name}" for name in (OWN, f"{OWN}-client")]
        subprocess.run([*pip, *arguments], check=True)
        stamp.write_text(text)
    return directory


def virtualenvs(root: Path, release: str, reference: str) -> tuple[Path, Path]:
    """Return the virtualenvs of OpenStack and of the placement service."""
    wanted = TABLE["releases"][release]
    pins = ["--constraint", str(REPOSITORY / f"requirements/openstack/{wanted['pins']}.txt")]
    libraries = TABLE["libraries"]
    openstack = install(root / "openstack", *pins, *wanted["packages"], *libraries)
    if reference:
        package = f"openstack-placement=={reference}"
        return openstack, install(root / f"reference-{reference}", *pins, package, *libraries)
    wheels = root / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    build = [sys.executable, "-m", "tests.supply.distributions", str(wheels)]
    subprocess.run(build, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)
    placement = install(
        root / "placement",
        *pins,
        f"falcon-placement[memcached,uwsgi] @ file://{next(wheels.glob('falcon_placement-*.whl'))}",
        f"falcon-placement-client @ file://{next(wheels.glob('falcon_placement_client-*.whl'))}",
        "python-openstackclient",
        "osc-placement",
        *libraries,
        version=(wheels / "SHA256SUMS").read_text(),
    )
    return openstack, placement


def inherited() -> dict[str, str]:
    """The environment of this process, without options and places to import from."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("OS_", "PYTHON"))}


@dataclass
class Service:
    """A process with its log, which can be stopped and started again."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None
    # Where it responds to HTTP; empty: it has another protocol.
    path: str = "/"
    # The port, which remains open while the process restarts; None: the process opens it.
    socket: socket.socket | None = None
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process without waiting for it."""
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [*(ACTIVATED if self.socket else ()), *self.command], cwd=self.log.parent,
                env={**inherited(), **self.environment}, stdout=output, stderr=output,
                stdin=self.socket.fileno() if self.socket else subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip

    def await_response(self) -> None:
        """Wait until the service responds at its port, if it has one.  Raises RuntimeError."""
        deadline = time.monotonic() + START
        while self.port and not responds(self.port, self.path):
            assert self.process is not None
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} does not respond: see {self.log}")
            time.sleep(0.2)

    def send(self, number: int) -> None:
        """Send a signal to the process."""
        assert self.process is not None
        self.process.send_signal(number)

    def workers(self) -> list[int]:
        """The child processes."""
        assert self.process is not None
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(number) for number in listed.split()]

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the process and all that it has started."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None


def responds(port: int, path: str) -> bool:
    """Return whether a server responds with a status below 500; without a path, it accepts."""
    try:
        if path:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10).close()
        else:
            socket.create_connection(("127.0.0.1", port)).close()
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False
    return True


class Machine:
    """The services of the cloud, of which each may be stopped and started again."""

    def __init__(self, root: Path, release: str, reference: str, computes: int) -> None:
        """With a `reference`, that version of openstack-placement is the placement service."""
        self.reference = reference
        self.openstack, self.placement = virtualenvs(root, release, reference)
        self.home = root / f"run-{reference or OWN}"
        shutil.rmtree(self.home, ignore_errors=True)
        for name in TABLE["folders"]:
            (self.home / name).mkdir(parents=True)
        self.computes = [f"compute{number}" for number in range(1, computes + 1)]
        self.services: dict[str, Service] = {}
        self.servers: dict[str, MariaDB] = {}
        self.values: dict[str, Any] = {
            "home": self.home,
            "bin": self.openstack / "bin",
            "service": self.placement,
            "pool": TABLE["pool"] if reference else "",
            "user": getpass.getuser(),
            "group": grp.getgrgid(os.getegid()).gr_name,
            **{
                name.replace("-", "_"): free_port()
                for name in [*TABLE["services"], *TABLE["ports"]]
            },
        }
        self.values["credentials"] = self.expand(CREDENTIALS)
        self.values["authtoken"] = self.expand(AUTHTOKEN)

    def expand(self, text: str, **more: Any) -> str:
        """Replace each `$name` of a text."""
        return Template(text).substitute(self.values | more)

    def start(self) -> None:
        """Start everything."""
        for name, key in (("openstack", "database"), ("placement", "placement_database")):
            say(f"MariaDB of {name}")
            self.servers[name] = MariaDB(options=["--max-connections=1000"])
            self.values[key] = self.servers[name].url("").rstrip("/")
        self.values["placement_database"] += "/placement?charset=utf8mb4"
        self.servers["placement"].execute("CREATE DATABASE placement")
        for name in TABLE["databases"]:
            self.servers["openstack"].execute(f"CREATE DATABASE {name}")
        self.write_files()
        with ThreadPoolExecutor() as pool:
            ready = {k: pool.submit(self._prepare, v) for k, v in TABLE["services"].items()}
            for name, entry in TABLE["services"].items():
                say(name)
                ready[name].result()
                self._add(self.service_of(name, entry))
                if name == "keystone":
                    self._register()
                    self.start_placement()
        # nova imports no driver from elsewhere.
        [drivers] = self.openstack.glob("lib/python3*/site-packages/nova/virt")
        shutil.copy(FOLDER / "files/fake_compute.py", drivers)
        for host in self.computes:
            self.add_compute(host)

    def command(self, *words: str, code: int = 0, **environment: str) -> str:
        """Run a command of the cloud and return its output.  Raises RuntimeError."""
        config = {"OS_PLACEMENT_CONFIG_DIR": str(self.home / "placement")}
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, cwd=self.home,
            env={**inherited(), **config, **environment},
        )  # fmt: skip
        if done.returncode != code:
            raise RuntimeError(f"{shlex.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def tool(self, name: str, *words: str, code: int = 0, **identity: str) -> str:
        """Run a program of the placement service's virtualenv, by default as the administrator."""
        identity = identity or {"OS_AUTH_TYPE": "password", **ADMINISTRATOR}
        identity["OS_AUTH_URL"] = self.expand("http://127.0.0.1:$keystone/v3")
        return self.command(f"{self.placement}/bin/{name}", *words, code=code, **identity)

    def manage(self, *words: str) -> str:
        """Run nova-manage."""
        config = str(self.home / "nova.conf")
        return self.command(f"{self.values['bin']}/nova-manage", "--config-file", config, *words)

    def _prepare(self, entry: Mapping[str, Any]) -> None:
        for command in entry.get("before", ()):
            self.command(*shlex.split(self.expand(command)))

    def write_files(self) -> None:
        """Write the configuration of each service."""
        for path in (FOLDER / "files").glob("*.conf"):
            if path.name != "compute.conf":
                (self.home / path.name).write_text(self.expand(path.read_text()))
        (self.home / "placement.conf").rename(self.home / "placement/placement.conf")
        for name, place in (("uwsgi", "uwsgi/placement.ini"), ("nginx", "nginx/placement.conf")):
            text = (REPOSITORY / "etc/deploy" / place).read_text()
            changes = {before: self.expand(after) for before, after in TABLE[name].items()}
            if self.reference and name == "uwsgi":
                changes |= TABLE["reference"]
            (self.home / f"{name}-placement.conf").write_text(changed(text, changes))

    def service_of(self, name: str, entry: Mapping[str, Any]) -> Service:
        """Return the service of an entry of the table."""
        has_port = "module" in entry or "listens" in entry
        port = self.values[name.replace("-", "_")] if has_port else None
        run = self.expand(entry.get("run", TABLE["wsgi"]), port=port, **_texts(entry))
        environment = {k: self.expand(str(v)) for k, v in entry.get("environment", {}).items()}
        path = "/" if "module" in entry else ""
        return Service(name, shlex.split(run), self._log(name), environment, port, path)

    def _log(self, name: str) -> Path:
        return self.home / "log" / f"{name}.out"

    def _add(self, service: Service) -> None:
        self.services[service.name] = service
        service.start()
        service.await_response()

    def _register(self) -> None:
        """Create the accounts of services and their endpoints in keystone."""
        keystone = self.adapter("identity")
        create = functools.partial(_create, keystone)
        roles = {role["name"]: role["id"] for role in keystone.get("/roles").json()["roles"]}
        project = create("project", name="service", domain_id="default")
        for name, entry in TABLE["accounts"].items():
            user = create("user", name=name, password=PASSWORD, domain_id="default")
            for role in ("admin", "service"):
                keystone.put(f"/projects/{project}/users/{user}/roles/{roles[role]}")
            service = create("service", name=name, type=entry["type"])
            url = self.expand(entry["url"])
            for interface in ("public", "internal"):
                create(
                    "endpoint", service_id=service, interface=interface, url=url,
                    region_id="RegionOne",
                )  # fmt: skip

    def adapter(self, service_type: str, version: str | None = None) -> Adapter:
        """A client of a service with the rights of the administrator."""
        password = v3.Password(
            auth_url=self.expand("http://127.0.0.1:$keystone/v3"), username="admin",
            password=PASSWORD, project_name="admin", user_domain_id="default",
            project_domain_id="default",
        )  # fmt: skip
        return Adapter(
            Session(password), service_type=service_type, interface="public",
            default_microversion=version, connect_retries=3, raise_exc=True,
        )  # fmt: skip

    def start_placement(self) -> None:
        """Start the placement service and its proxy with the files of etc/deploy."""
        say(f"openstack-placement {self.reference}" if self.reference else OWN)
        config = str(self.home / "placement")
        self.command(f"{self.placement}/bin/placement-manage", "--config-dir", config, "db", "sync")
        uwsgi = [f"{self.placement}/bin/uwsgi", "--ini", f"{self.home}/uwsgi-placement.conf"]
        nginx = ["nginx", "-e", "stderr", "-c", f"{self.home}/nginx.conf"]
        # Deployment tools let openstack-placement open its port itself.
        sock = None if self.reference else listen(self.values["placement"])
        for name, run, held in (("placement", uwsgi, sock), ("nginx", nginx, None)):
            path = "/placement/" if name == "nginx" else "/"
            self._add(Service(name, run, self._log(name), {}, self.values[name], path, held))

    def add_compute(self, host: str) -> None:
        """Start a nova-compute, for the first time or again."""
        if host not in self.services:
            (self.home / "nova" / host / "provider_config").mkdir(parents=True)
            text = self.expand((FOLDER / "files/compute.conf").read_text(), host=host)
            (self.home / f"{host}.conf").write_text(text)
            command = [f"{self.values['bin']}/nova-compute"]
            for name in ("nova", host):
                command += ["--config-file", f"{self.home}/{name}.conf"]
            self.services[host] = Service(host, command, self._log(host))
        say(host)
        self.services[host].start()

    def stop(self) -> None:
        """Stop everything."""
        for service in reversed(self.services.values()):
            service.stop(signal.SIGTERM if service.name == "placement" else signal.SIGKILL)
        for server in self.servers.values():
            server.discard()


def _texts(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: entry[key] for key in ("module", "threads") if key in entry}


def _create(keystone: Adapter, kind: str, **values: Any) -> str:
    return str(keystone.post(f"/{kind}s", json={kind: values}).json()[kind]["id"])
