"""The client that openapi-python-client generates, and the service through it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import venv
from collections.abc import Iterator
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from placement.api.history import HISTORY, Microversion, v
from placement.api.openapi import describe
from tests.kit.builders import make_app

GENERATOR = "openapi-python-client==0.29.1"


@pytest.fixture(scope="session")
def programs() -> Path:
    """The programs of the virtualenv in `PLACEMENT_CLIENT`, which is created if it is missing."""
    path = Path(os.environ["PLACEMENT_CLIENT"]).resolve()
    if not (path / "bin" / "openapi-python-client").exists():
        venv.create(path, with_pip=True)
        pip = [str(path / "bin" / "pip"), "install", "--quiet", GENERATOR]
        without = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
        subprocess.run(pip, check=True, env=without)
    return path / "bin"


def generate(programs: Path, version: Microversion, directory: Path) -> str:
    """Generate the package `generated` in the directory. Return the output of the generator."""
    document = directory / "openapi.json"
    document.write_text(json.dumps(describe(version)))
    settings = directory / "settings.json"  # JSON is YAML
    settings.write_text(json.dumps({"post_hooks": []}))
    return run(
        programs / "openapi-python-client", "generate", "--meta", "none", "--path", document,
        "--output-path", directory / "generated", "--config", settings, "--fail-on-warning",
    )  # fmt: skip


def run(*command: object) -> str:
    """Run a program until it ends. Return its output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.mark.parametrize("version", HISTORY, ids=str)
def test_every_operation_of_every_version_is_made(
    programs: Path, version: Microversion, tmp_path: Path
) -> None:
    said = generate(programs, version, tmp_path)
    assert "arning" not in said
    paths = describe(version)["paths"].values()
    described = {operation["operationId"] for path in paths for operation in path.values()}
    modules = {path.stem for path in tmp_path.glob("generated/api/*/*.py")} - {"__init__"}
    assert modules == described
    for name in modules:
        [module] = tmp_path.glob(f"generated/api/*/{name}.py")
        assert re.search(r"^def sync_detailed\(", module.read_text(), re.MULTILINE)


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, make_app(tmp_path), handler_class=_Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_generated_client_finds_and_claims(programs: Path, url: str, tmp_path: Path) -> None:
    generate(programs, v("1.39"), tmp_path)
    script = Path(__file__).with_name("through_client.py")
    run(programs / "python", script, tmp_path, url)
