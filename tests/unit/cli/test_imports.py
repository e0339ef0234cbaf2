"""A command imports what it needs: most of the time of a short one went into importing the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata

import pytest

from placement import client
from placement.cli.commands import COMMANDS, Command

LIBRARIES = {
    "alembic", "falcon", "gunicorn", "jsonschema", "keystoneauth1", "keystonemiddleware",
    "oslo_config", "oslo_context", "oslo_log", "oslo_middleware", "oslo_policy",
    "prometheus_client", "requests", "sqlalchemy", "yaml",
}  # fmt: skip
# Modules that import most others below those of the commands.
BELOW = {
    "placement.entry.app",
    "falcon_placement_client.drawing",
    "falcon_placement_client.loader",
    "falcon_placement_client.reshape",
}
# Command -> module, as the client registers them.
OF_CLIENT = {
    entry.name.replace("_", " "): entry.module
    for entry in metadata.entry_points(group=client.COMMANDS)
}
RUN = (
    "import sys\n"
    "from placement.cli import main\n"
    "try:\n"
    "    main(sys.argv[1:])\n"
    "except SystemExit:\n"
    "    pass\n"
    "print(*sys.modules, file=sys.stderr)\n"
)
# What the REST client of commands needs, with the options that every command has.
OVER_REST = {
    "keystoneauth1", "oslo_config", "oslo_context", "oslo_log", "requests",
}  # fmt: skip


def modules_of(*arguments: str) -> set[str]:
    """The modules that a command has imported in the end."""
    run = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True
    )
    return set(run.stderr.splitlines()[-1].split())


def libraries_of(*arguments: str) -> set[str]:
    return {name.partition(".")[0] for name in modules_of(*arguments)} & LIBRARIES


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]], ids=str)
def test_version_and_help_import_no_library(arguments: list[str]) -> None:
    assert libraries_of(*arguments) == set()


def test_explain_imports_what_a_request_over_rest_needs() -> None:
    url = "http://127.0.0.1:9"  # discard: no server listens
    assert libraries_of("explain", "resources=VCPU:1", "--url", url) <= OVER_REST


@pytest.mark.parametrize("command", ["load-cloud", "draw-cloud"])
def test_cloud_files_need_no_service(command: str) -> None:
    service = {"alembic", "falcon", "gunicorn", "sqlalchemy", "oslo_policy", "prometheus_client"}
    assert libraries_of(command, "--help") & service == set()


@pytest.mark.parametrize("action", ["version", "check"])
def test_commands_of_the_database_need_no_api(action: str) -> None:
    assert libraries_of("db", action, "--help") & {"falcon", "gunicorn", "oslo_policy"} == set()


def commands(table: dict[str, Command]) -> Iterator[tuple[list[str], Command]]:
    for name, command in table.items():
        yield [name], command
        for below, action in command.actions.items():
            yield [name, below], action


# Runs commands, each in a fork of a process that has imported all but the modules of commands.
FORKS = (
    f"import importlib, json, os, sys\n"
    f"for name in {sorted(LIBRARIES | BELOW)}:\n"
    f"    importlib.import_module(name)\n"
    f"prefixes = 'placement.cli', 'falcon_placement_client.commands'\n"
    f"assert not any(name.startswith(prefixes) for name in sys.modules)\n"
    f"for sys.argv[1:] in json.loads(sys.argv[1]):\n"
    f"    if not os.fork():\n"
    f"        exec({RUN!r})\n"
    f"        sys.stderr.flush()\n"
    f"        os._exit(0)\n"  # to free all modules would take longer than the command
    f"    os.wait()\n"
)


@pytest.fixture(scope="module")
def imported_by_help() -> dict[tuple[str, ...], set[str]]:
    """Path of each command -> the modules that its help has imported in the end."""
    paths = [tuple(path) for path, _ in commands(COMMANDS)]
    arguments = json.dumps([[*path, "--help"] for path in paths])
    run = subprocess.run(
        [sys.executable, "-c", FORKS, arguments], capture_output=True, text=True, check=True
    )
    modules = [set(line.split()) for line in run.stderr.splitlines()]
    return dict(zip(paths, modules, strict=True))


@pytest.mark.parametrize(("path", "command"), list(commands(COMMANDS)), ids=str)
def test_a_command_imports_the_module_of_no_other(
    imported_by_help: dict[tuple[str, ...], set[str]], path: list[str], command: Command
) -> None:
    modules = {module_of(each, entry) for each, entry in commands(COMMANDS)} - {""}
    own = {module_of(path, command)} - {""}
    assert imported_by_help[tuple(path)] & modules == own


def module_of(path: list[str], command: Command) -> str:
    """The module of a command, or "" for a group."""
    if command.is_of_client:
        return OF_CLIENT[" ".join(path)]
    return f"placement.cli.{command.setup.partition(':')[0]}" if command.setup else ""


def test_each_command_without_a_module_of_the_service_is_registered_by_the_client() -> None:
    of_client = {" ".join(path) for path, command in commands(COMMANDS) if command.is_of_client}
    assert of_client == OF_CLIENT.keys()
