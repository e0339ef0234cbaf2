"""What entry points share: commands that do not exist, and options after the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from placement import cli
from placement.entry import console, status

COMMANDS: dict[str, Any] = {"db": {"sync": {}, "check": {}}, "load": {}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("lod", "there is no command lod; did you mean load?"),
        ("db chek", "there is no command db chek; did you mean check?"),
        ("--config-file db -d xyzzy", "there is no command xyzzy; --help lists them"),
        ("--config-dir=db lod", "there is no command lod; did you mean load?"),
        ("load chek", None),
        ("db --help", None),
        ("--log-file lod db sync", None),
        ("--version", None),
        ("", None),
    ],
)
def test_the_command_that_was_meant_is_proposed(arguments: str, message: str | None) -> None:
    assert console.unknown_command(arguments.split(), COMMANDS) == message


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("db version --config-file", "placement: --config-file needs a value"),
        ("openapi --debug --microversion 9", "placement: --microversion 9: this service has"),
        ("--debug", "placement: there is no command in the arguments; --help lists them"),
        ("openapi --microversion 9.9", "placement: --microversion 9.9: this service has 1.0 to "),
        ("explain", "placement: explain: expected a query, or --flavor, "),
        ("db preflight --threads -1", "argument --threads: -1: expected a number of at least 1"),
        ("db preflight --threads x", "argument --threads: x: expected a number of at least 1"),
        ("audit --delete", "placement: --delete needs --owners"),
        (
            "db sync --bogus",
            "placement-manage db sync: error: unrecognized arguments: --bogus; --help lists",
        ),
        ("headroom --flavour vcpus=1", "--flavour vcpus=1; did you mean --flavor?"),
        ("db preflight --tread=3", "unrecognized arguments: --tread=3; did you mean --threads?"),
        ("holds release 1", "unrecognized arguments: 1; --help lists the arguments"),
        ("watch --interval nan", "placement-manage watch: error: argument --interval: nan: "),
        ("watch --interval -1", "placement-manage watch: error: argument --interval: -1: "),
        ("watch --count 0", "placement-manage watch: error: argument --count: 0: "),
        ("watch --count x", "placement-manage watch: error: argument --count: x: "),
    ],
)
def test_an_invalid_command_line_is_a_short_error_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: str, error: str
) -> None:
    try:
        code = cli.main(arguments.split())
    except SystemExit as exit:
        code = int(exit.code or 0)
    lines = capsys.readouterr().err.splitlines()
    assert code == console.USAGE
    assert error in lines[-1]
    assert len(lines) < 9


@pytest.mark.parametrize(
    ("main", "arguments", "meant"),
    [
        (cli.main, ["db", "chek"], "check"),
        (cli.main, ["load-clod", "x.yaml"], "load-cloud"),
        (status.main, ["upgrade", "chek"], "check"),
        (status.main, ["upgrad", "check"], "upgrade"),
    ],
)
def test_an_unknown_command_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], main: object, arguments: list[str], meant: str
) -> None:
    assert callable(main)
    assert main(arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith(f"did you mean {meant}?")


@pytest.mark.parametrize(
    ("main", "arguments", "code"),
    [
        (cli.main, [], 2),
        (cli.main, ["db"], 2),
        (cli.main, ["--help"], 0),
        (status.main, [], 2),
        (status.main, ["upgrade"], 2),
        (status.main, ["--help"], 0),
        (status.main, ["upgrade", "check", "--help"], 0),
    ],
)
def test_help_is_short_and_its_exit_code_says_whether_it_was_asked_for(
    capsys: pytest.CaptureFixture[str], main: object, arguments: list[str], code: int
) -> None:
    assert callable(main)
    assert main(arguments) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("usage: ")
    assert 3 < len(lines) < 45
    assert all(len(line) <= 88 for line in lines)


@pytest.mark.parametrize("main", [cli.main, status.main], ids=["manage", "status"])
def test_the_directory_of_the_configuration_may_follow_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], main: object
) -> None:
    text = "[placement_database]\nconnection = nosuchengine://\n"
    (tmp_path / "placement.conf").write_text(text)
    command = ["db", "version"] if main is cli.main else ["upgrade", "check"]
    assert callable(main)
    main([*command, "--config-dir", str(tmp_path)])
    assert "nosuchengine" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line", [b"connection = \xff", b"[DEFAULT]\ndebug = perhaps"], ids=["encoding", "value"]
)
def test_a_file_that_cannot_be_used_is_no_warning_of_the_check_before_an_upgrade(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: bytes
) -> None:
    (tmp_path / "placement.conf").write_bytes(b"[placement_database]\n" + line + b"\n")
    assert status.main(["--config-dir", str(tmp_path), "upgrade", "check"]) == status.UNEXPECTED
    assert capsys.readouterr().err.splitlines()[-1].startswith("placement: a configuration file ")


@pytest.mark.parametrize(
    ("options", "rules", "expected"),
    [
        (
            "",
            '"placement:traits:list": "role:a"',
            {"Options": "", "Policy Rules": "policy: rules of "},
        ),
        (
            "[placement]\nmax_serch_steps = 3\n",
            '"placement:traits:list": "rule:a"',
            {"Options": "did you mean max_search_steps?", "Policy Rules": "undefined rule"},
        ),
        ("[placement]\nmax_search_steps = many\n", "x: [", {"Options": "many", "Policy Rules": ""}),
        (
            "[placement]\nmax_search_steps = many\n",
            b"\xff",
            {"Policy File JSON to YAML Migration": "codec", "Policy Rules": "policy.yaml"},
        ),
        ("[api]\nauth_strategy = keystone\n", "x: [", {"Options": "auth_type is not set"}),
        ("[cors]\nallowed_origin = a\nmax_age = many\n", "x: [", {"Options": "'many' is not an"}),
    ],
    ids=["right", "misspelt", "unusable", "encoding", "identity", "library"],
)
def test_the_check_before_an_upgrade_covers_options_and_rules(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: str,
    rules: str | bytes,
    expected: dict[str, str],
) -> None:
    (tmp_path / "policy.yaml").write_bytes(rules if isinstance(rules, bytes) else rules.encode())
    (tmp_path / "placement.conf").write_text(
        f"[placement_database]\nconnection = sqlite:///{tmp_path}/p.db\n"
        f"[api]\nauth_strategy = noauth2\n{options}"
        f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n"
    )
    cli.main(["--config-dir", str(tmp_path), "db", "sync"])
    capsys.readouterr()
    code = status.main(["--config-dir", str(tmp_path), "upgrade", "check", "--json"])
    found = {each["check"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    level = 2 if "many" in options or "keystone" in options else 1 if options else 0
    assert [found[name]["result"] for name in ("Options", "Policy Rules")] == [level, level]
    assert code == level
    for name, words in expected.items():
        assert words in (found[name]["details"] or "")
