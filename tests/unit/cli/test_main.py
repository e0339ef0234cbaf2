"""`placement-manage` where its output is not read to the end, and where it is interrupted."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from falcon_placement_client.commands import clouds
from placement import cli, client, config
from placement.cli import commands, document
from placement.entry import console

COMMAND = (sys.executable, "-c", "import sys; from placement.cli import main; sys.exit(main())")


@pytest.mark.parametrize("command", [["openapi"], ["draw-cloud", "etc/demo-cloud.yaml"]])
def test_a_closed_pipe_ends_a_command_without_an_error(command: list[str]) -> None:
    process = subprocess.Popen([*COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _none, complaints = process.communicate()
    assert (process.returncode, complaints) == (console.OUTPUT_CLOSED, b"")


def test_characters_that_the_locale_lacks_are_escaped() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    out = subprocess.run([*COMMAND, "--help"], capture_output=True, check=True, env=environment)
    assert out.stdout.startswith(b"usage: placement-manage [OPTION \\u2026]")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_a_full_file_system_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [*COMMAND, "openapi"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (process.returncode, process.stderr) == (1, "placement: No space left on device\n")


def test_errors_are_not_part_of_the_output_if_there_is_no_standard_error() -> None:
    command = 'exec "$@" 2>&-'
    process = subprocess.run(
        ["sh", "-c", command, "sh", *COMMAND, "db", "bogus"], stdout=subprocess.PIPE, check=False
    )
    assert (process.returncode, process.stdout) == (console.USAGE, b"")


@pytest.mark.parametrize("command", [["db", "version"], ["db"]], ids=" ".join)
def test_a_short_unread_output_ends_a_command_equally(tmp_path: Path, command: list[str]) -> None:
    """Python would write it at the end of the process, and complain."""
    url = f"sqlite:///{tmp_path / 'placement.db'}"
    environment = {**os.environ, "OS_PLACEMENT_DATABASE__CONNECTION": url}
    environment.pop("PYTHONUNBUFFERED", None)
    arguments = [*COMMAND, *command]
    whole = subprocess.run(arguments, capture_output=True, check=False, env=environment)
    assert 0 < len(whole.stdout) < select.PIPE_BUF  # less than any buffer
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    process.stdout.close()
    _none, complaints = process.communicate()
    assert (process.returncode, complaints) == (console.OUTPUT_CLOSED, b"")


@pytest.mark.parametrize(
    ("owner", "name", "arguments"),
    [
        (document, "_describe", ["openapi"]),
        (clouds.LoadCloud, "run", ["load-cloud", "cloud.yaml"]),
    ],
)
def test_an_interrupted_command_says_so_in_one_line(
    owner: Any,
    name: str,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_arguments: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)
    assert cli.main(arguments) == console.INTERRUPTED
    assert capsys.readouterr().err == "placement: interrupted\n"


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["load-cloud", "cloud.yaml"], "load-cloud"),
        (["host", "taint", "--help"], "host taint"),
        (["--config-file", "placement.conf", "reshape", "file.yaml"], "reshape"),
    ],
)
def test_a_command_of_the_client_says_what_to_install(
    arguments: list[str],
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(client, "COMMANDS", "nothing")
    assert cli.main(arguments) == console.USAGE
    assert capsys.readouterr() == (
        "",
        f"placement: placement-manage {command} needs the client: "
        "pip install falcon-placement-client\n",
    )


OF_DATABASE = {"audit", "db", "holds", "reshape"}


def leaves(names: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, below in names.items():
        yield from [[name, *each] for each in leaves(below)] or [[name]]


@pytest.mark.parametrize("path", [*leaves(commands.names())], ids=" ".join)
def test_only_commands_of_the_database_read_the_options_of_the_service(
    path: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(config.CONFIG_DIR_VARIABLE, str(tmp_path))
    missing = f"placement: {config.CONFIG_DIR_VARIABLE}: there is no file {tmp_path}"
    try:
        code = cli.main([*path, "--help"])
    except SystemExit as end:
        code = int(end.code or 0)
    printed = capsys.readouterr()
    assert (code, missing in printed.err) == ((1, True) if path[0] in OF_DATABASE else (0, False))
    if code == 0:
        words = " ".join(printed.out.split())
        assert f"usage: placement-manage {' '.join(path)}" in words


@pytest.mark.parametrize("path", [*leaves(commands.names()), ["db"], ["host"]], ids=" ".join)
def test_a_help_begins_with_the_purpose_of_the_command(
    path: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = commands.Command("", actions=commands.COMMANDS)
    for name in path:
        command = command.actions[name]
    with suppress(SystemExit):
        cli.main([*path, "--help"])
    _usage, description, *_arguments = capsys.readouterr().out.split("\n\n")
    words = " ".join(description.split())
    assert words.startswith(command.describe()), words
    assert words.count(command.help[1:]) == 1, "the details repeat the purpose"


def test_samples_are_written_once_to_a_directory_with_the_name_of_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "COMMANDS", "nothing")
    monkeypatch.chdir(tmp_path)
    # The second time, the samples would be written over files of the operator.
    assert [cli.main(["samples", "reshape"]) for _time in range(2)] == [0, 1]
    assert (tmp_path / "reshape" / "placement.conf").exists()
