"""The service with the files that deployment tools of OpenStack render for openstack-placement.

The directory `deployers` contains the files with the options that the tools set. Only addresses are
changed here. uWSGI contains the Python of the Linux distribution, so the service must be installed
for the same version.
"""

from __future__ import annotations

import json
import re
import signal
import site
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from placement import config
from tests.api.identity import identity_service
from tests.deploy.conftest import NewMachine, need_python_of_distribution
from tests.deploy.machine import USER, Machine
from tests.deploy.proxies import changed
from tests.deploy.serving import await_answer
from tests.kit.authority import Authority
from tests.kit.engines import MariaDB, MissingServerError
from tests.kit.missing import need, skip
from tests.kit.ports import free_port
from tests.kit.processes import ANSWER, HEADERS, START, connected

FILES = Path(__file__).parent / "deployers"
VIRTUALENV = "/opt/distribution"
PACKAGES = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
SYSTEMD = "/usr/lib/python3/dist-packages/systemd"  # python3-systemd of the distribution
JOURNAL = "/run/systemd/journal"
CLIENT = "192.0.2.7"  # behind a proxy

# A line as the log readers of the tools parse it.
LINE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (?P<process>\d+) (?P<level>[A-Z]+) [\w.]+ "
    r"\[(-|\S+ (-|req-[0-9a-f-]{36}) [^\]]+)\] (?P<text>.*)"
)
DATE = re.compile(r"\d{4}-\d\d-\d\d ")
# A line of uWSGI about a request.
UWSGI_LINE = re.compile(r"\[pid: (\d+)\|app: 0\|req: \d+/\d+\] \S+ .* (GET|PUT|POST) /\S* => .*")


@dataclass(frozen=True)
class Tool:
    """A deployment tool, whose files are in a directory of this name."""

    name: str
    # The file of uWSGI.
    ini: str
    # Signal that stops uWSGI.
    stop: signal.Signals
    # Directories that the user may write to.
    rooms: tuple[str, ...] = ()
    # The service's log, or "" for the output of uWSGI or the journal.
    log: str = ""
    # The log of uWSGI, or "" for its output.
    uwsgi_log: str = ""


KOLLA = Tool(
    "kolla",
    "placement-api-uwsgi.ini",
    signal.SIGTERM,
    ("/var/log/kolla/placement", "/var/lib/placement"),
    "/var/log/kolla/placement/placement-api.log",
    "/var/log/kolla/placement/placement-api-uwsgi.log",
)
HELM = Tool("helm", "placement-api-uwsgi.ini", signal.SIGINT)
OPENSTACK_ANSIBLE = Tool("openstack_ansible", "placement-api.ini", signal.SIGTERM)
TOOLS = [KOLLA, HELM, OPENSTACK_ANSIBLE]


class Journal:
    """Receives what is sent to the journal. Senders wait for a journal that does not receive."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.messages: list[dict[str, str]] = []  # the fields of each
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(directory / "socket"))
        (directory / "socket").chmod(0o666)
        directory.chmod(0o755)
        self._thread = threading.Thread(target=self._receive)
        self._thread.start()

    def _receive(self) -> None:
        while datagram := self._socket.recv(1 << 16).decode(errors="replace"):
            fields = (line.partition("=") for line in datagram.splitlines())
            self.messages.append({name: value for name, _, value in fields})

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()


@dataclass
class Deployed:
    """A machine with the files of a tool, and all servers that they name."""

    tool: Tool
    machine: Machine
    # Address in the files -> port that the test uses.
    ports: Mapping[str, int]
    # The output of uWSGI.
    output: Path
    journal: Journal

    @property
    def port(self) -> int:
        """The port of the service."""
        return self.ports["127.0.0.1:8778"]

    def start(self) -> subprocess.Popen[bytes]:
        """Start uWSGI, and wait until it serves."""
        command = [
            "uwsgi", "--plugin", "http,python3", "--virtualenv", VIRTUALENV, "--need-app",
            "--ini", f"/etc/placement/{self.tool.ini}",
        ]  # fmt: skip
        with self.output.open("wb") as output:
            process = self.machine.start(command, {}, output)
        await_answer(self.port, process, self.output)
        return process

    def send(self, method: str, path: str, agent: str = "nova") -> int:
        """Send a request with a token. Return its status."""
        headers = {"X-Auth-Token": "token-admin", "User-Agent": agent, "X-Forwarded-For": CLIENT}
        with connected(self.port) as connection:
            connection.request(method, path, headers={**HEADERS, **headers})
            answer = connection.getresponse()
            answer.read()
            return answer.status

    def lines(self, file: str) -> list[str]:
        """Return the lines of a log file of the machine, or of the output of uWSGI."""
        text = self.machine.run(["cat", file], {}) if file else self.output.read_text()
        return text.splitlines()

    def log(self) -> list[tuple[str, str]]:
        """Return the level and the text of all that the service has logged."""
        if self.tool is OPENSTACK_ANSIBLE:
            lines = [each["MESSAGE"] for each in self.journal.messages]
        elif self.tool.log:
            lines = self.lines(self.tool.log)
        else:  # uWSGI writes there, too
            lines = [line for line in self.lines("") if DATE.match(line)]
        matches = [LINE.fullmatch(line) for line in lines]
        assert None not in matches, lines
        return [(match["level"], match["text"]) for match in matches if match]

    def requests(self) -> list[str]:
        """Return the lines that uWSGI has logged about requests."""
        return [line for line in self.lines(self.tool.uwsgi_log) if UWSGI_LINE.fullmatch(line)]

    def await_workers(self, number: int) -> None:
        """Wait until so many workers of uWSGI have loaded the service; all files have lazy-apps.

        A worker that is stopped while it loads the service ends uWSGI with an error.
        """
        deadline = time.monotonic() + START
        while (
            sum(each.startswith("WSGI app 0 ") for each in self.lines(self.tool.uwsgi_log)) < number
        ):
            assert time.monotonic() < deadline
            time.sleep(0.2)


@pytest.fixture(scope="module")
def authority() -> Iterator[Authority]:
    """Its directory is one that the database server reaches, too."""
    need("openssl")
    with tempfile.TemporaryDirectory(prefix="placement-tls-") as directory:
        Path(directory).chmod(0o755)
        yield Authority(Path(directory) / "authority")


@pytest.fixture(scope="module")
def database(authority: Authority) -> Iterator[MariaDB]:
    """A server with TLS."""
    certificate, key = authority.sign("server", "subjectAltName=IP:127.0.0.1")
    try:
        tls = [f"--ssl-cert={certificate}", f"--ssl-key={key}"]
        # Without this option, the check before an upgrade would warn of a power failure.
        made = MariaDB(options=[*tls, "--innodb-flush-log-at-trx-commit=1"])
    except MissingServerError as error:
        skip(str(error), "PLACEMENT_DEPLOY")
    made.execute("CREATE USER placement@127.0.0.1 IDENTIFIED BY 'secret'")
    made.execute("GRANT ALL ON placement.* TO placement@127.0.0.1")
    yield made
    made.discard()


def install(machine: Machine) -> None:
    """Create a virtualenv of the distribution's Python with the tests' packages, and the user."""
    need_python_of_distribution()
    paths = [f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages()]
    machine.prepare(
        'chroot . /usr/bin/python3 -m venv --without-pip "$1"; cd ".$1/$3"; '
        'printf %s "$2" > tests.pth; ln -s "$4" .',
        VIRTUALENV, "".join(paths), PACKAGES, SYSTEMD,
    )  # fmt: skip
    entry = f"placement:x:{USER}:{USER}::/var/lib/placement:/usr/sbin/nologin"
    machine.prepare(
        'echo "$1" >> etc/passwd; echo "$2" >> etc/group', entry, f"placement:x:{USER}:"
    )


@pytest.fixture(params=TOOLS, ids=[tool.name for tool in TOOLS])
def deployed(
    request: pytest.FixtureRequest,
    new_machine: NewMachine,
    authority: Authority,
    database: MariaDB,
    tmp_path: Path,
) -> Iterator[Deployed]:
    tool: Tool = request.param
    for program in ("uwsgi", "memcached"):
        need(program)
    if tool is OPENSTACK_ANSIBLE and not Path(SYSTEMD).is_dir():
        skip("python3-systemd is not installed", "PLACEMENT_DEPLOY")
    machine = new_machine()
    install(machine)
    database.execute("DROP DATABASE IF EXISTS placement", "CREATE DATABASE placement")
    with ExitStack() as exits:
        identity = exits.enter_context(identity_service())
        ports = {
            "127.0.0.1:3306": database.port,
            "127.0.0.1:5000": int(identity.rpartition(":")[2]),
            "127.0.0.1:8778": free_port(),
            "127.0.0.1:11211": free_port(),
            "0.0.0.0:1717": free_port(),
        }
        for file in (FILES / tool.name).iterdir():
            text = file.read_text()
            changes = {
                address: f"{address.partition(':')[0]}:{port}"
                for address, port in ports.items()
                if address in text
            }
            machine.put(f"/etc/placement/{file.name}", changed(text, changes))
        machine.put("/etc/ssl/certs/authority.pem", authority.certificate.read_text())
        for room in tool.rooms:
            machine.room(room)
        journal = Journal(tmp_path / "journal")
        exits.callback(journal.close)
        machine.prepare(
            'mkdir -p ".$1"; mount --bind "$2" ".$1"', JOURNAL, str(tmp_path / "journal")
        )
        machine.seal()
        cache = ["memcached", "-l", "127.0.0.1", "-p", str(ports["127.0.0.1:11211"])]
        machine.start(cache, {})
        yield Deployed(tool, machine, ports, tmp_path / "output", journal)


def run_jobs(machine: Machine) -> str:
    """Run the jobs that come before the start of the service. Return their output."""
    jobs = (
        "placement-manage db sync",
        "placement-manage db online_data_migrations",
        "placement-status upgrade check",
    )
    return "".join(machine.run(f"{sys.prefix}/bin/{job}".split(), {}) for job in jobs)


def count_cached_tokens(port: int) -> int:
    """Return how many values memcached has."""
    with socket.create_connection(("127.0.0.1", port), ANSWER) as connection:
        connection.sendall(b"stats\r\nquit\r\n")
        with connection.makefile() as answer:
            (count,) = re.findall(r"STAT curr_items (\d+)", answer.read())
    return int(count)


@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
def test_all_options_are_known(tool: Tool) -> None:
    conf = config.options()
    config.parse(conf, [], [str(FILES / tool.name / "placement.conf")])
    assert list(config.unknown_options(conf)) == []


def test_the_service_starts_serves_reloads_and_stops_without_a_warning(deployed: Deployed) -> None:
    output = run_jobs(deployed.machine)
    assert "is not a" not in output
    assert "Warning" not in output

    process = deployed.start()
    assert deployed.send("GET", "/resource_providers") == 200
    assert deployed.send("PUT", "/traits/CUSTOM_A") == 201
    assert deployed.send("GET", "/healthcheck", agent="kube-probe/1.30") == 200
    assert count_cached_tokens(deployed.ports["127.0.0.1:11211"]) > 0

    workers = 1 if deployed.tool is HELM else 2
    process.send_signal(signal.SIGHUP)
    deployed.await_workers(2 * workers)
    await_answer(deployed.port, process, deployed.output)
    assert deployed.send("PUT", "/traits/CUSTOM_A") == 204

    log = deployed.log()
    for request, status in (("GET /resource_providers", 200), ("PUT /traits/CUSTOM_A", 201)):
        assert any(f'"{request}" status: {status} ' in text for _level, text in log), log
    # Requests are slow on a busy machine.
    notable = [each for each in log if each[0] != "INFO" and not each[1].startswith("slow: ")]
    assert notable == []

    lines = deployed.requests()
    assert any("PUT /traits/CUSTOM_A => " in line for line in lines), lines
    if deployed.tool is HELM:
        assert any(CLIENT in line for line in lines)
        assert not any("/healthcheck" in line for line in lines)
        with connected(deployed.ports["0.0.0.0:1717"]) as connection:
            connection.request("GET", "/")
            assert len(json.loads(connection.getresponse().read())["workers"]) == workers

    process.send_signal(deployed.tool.stop)
    assert process.wait(START) == 0
