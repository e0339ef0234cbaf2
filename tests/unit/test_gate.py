"""The commands of the repository: they name what exists, and together run all tests."""

from __future__ import annotations

import configparser
import os
import pwd
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests import selection, soak
from tests.__main__ import NAMED, PARTS, QUICK, Job, jobs
from tests.kit.engines import SERVERS, MissingServerError, PostgreSQL, installed, version
from tests.kit.missing import need

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):.* ## ", MAKEFILE, re.MULTILINE))
RULES = [
    rule
    for rules in (selection.ON_SQLITE_ALONE, *selection.SELECTIONS.values())
    for rule in rules or ()
]
GABBIT = "tests/api/test_gabbits.py::"


def exists(name: str) -> bool:
    path, _, test = name.partition("::")
    if name.startswith(GABBIT):
        return (ROOT / "gabbits" / f"{test}.yaml").exists()
    if not test:
        return (ROOT / path).exists()
    return f"\ndef {test}(" in (ROOT / path).read_text()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.why)
def test_a_rule_names_what_there_is(rule: selection.Rule) -> None:
    assert [name for name in rule.names() if not exists(name)] == []


def test_names_of_tests_that_are_none_are_noticed() -> None:
    for name in ("tests/api/test_none.py", "tests/api/test_etags.py::test_none", f"{GABBIT}none"):
        assert not exists(name)


def test_a_server_runs_what_no_rule_leaves_out() -> None:
    for name, whole, sample in [
        ("tests/unit/runtime/test_logs.py::test_any[1]", False, False),
        ("tests/db/test_codes.py::test_any[1]", True, True),
        ("tests/db/test_reads.py::test_any", True, False),
        (f"{GABBIT}test_pytest[gabbits:policy_provider_cn]", False, False),
        (f"{GABBIT}test_pytest[gabbits:usages_provider_root]", True, True),
        (f"{GABBIT}test_pytest[gabbits:usages-by-version_provider_cn]", True, False),
        ("tests/api/test_sweep.py::test_any", False, False),
        (
            "tests/api/test_sweep.py::test_each_parameter_is_known_from_its_version_on[1]",
            True,
            False,
        ),
    ]:
        name = selection.name_of(name)
        assert selection.is_selected("whole", name) == whole, name
        assert selection.is_selected("sample", name) == sample, name


@pytest.mark.parametrize("chosen", ["sample", "smoke", "driver"])
def test_what_a_selection_names_is_not_left_out_by_another_rule(chosen: str) -> None:
    rules = selection.SELECTIONS[chosen]
    assert rules
    named = [name for rule in rules for name in rule.names()]
    assert [name for name in named if not selection.is_selected(chosen, name)] == []


def test_each_folder_of_tests_is_in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACEMENT_ENGINES", "sqlite")
    monkeypatch.delenv("PLACEMENT_GALERA", raising=False)
    monkeypatch.delenv("PLACEMENT_MYSQLCLIENT", raising=False)
    monkeypatch.delenv("PLACEMENT_FRESH", raising=False)
    tests = [argument for job in jobs([], run_all=True) for argument in job.tests]
    folders = [each for each in tests if not each.startswith("--")]
    ignored = [each.removeprefix("--ignore=") for each in tests if each.startswith("--ignore=")]
    assert sorted(folders) == sorted(["tests", *ignored])
    assert ignored == NAMED
    assert all((ROOT / folder).is_dir() for folder in folders)


def test_what_make_test_leaves_out_is_in_make_test_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.__main__.installed", lambda _engine: True)
    monkeypatch.setattr("tests.__main__.SERVERS_ROOT", None)
    for name in ("ENGINES", "FRESH", "GALERA", "MYSQLCLIENT"):
        monkeypatch.delenv(f"PLACEMENT_{name}", raising=False)

    def run(run_all: bool = False) -> tuple[list[Job], list[Job]]:
        """Return the jobs on SQLite, and those on servers."""
        chosen = list(jobs([], run_all))
        return (
            [job for job in chosen if job.engine == "sqlite"],
            [job for job in chosen if job.engine != "sqlite"],
        )

    quick, smoke = run()
    assert [job.name for job in quick] == [f"sqlite {part}" for part in QUICK]
    assert [job.name for job in smoke] == [f"{name} smoke" for name in SERVERS]
    whole, servers = run(run_all=True)
    assert {job.name for job in whole} == {f"sqlite {part}" for part in PARTS}
    assert all("--selection=whole" in job.tests for job in servers)
    # pytest fails where a part has no tests.
    names = {job.name for job in servers}
    assert {"mariadb processes", "postgresql rest"} <= names
    assert "mariadb deployment" not in names

    # In the gate, make fresh runs make test.
    monkeypatch.setenv("PLACEMENT_FRESH", "1")
    assert run() == (quick, smoke)
    slow, again = run(run_all=True)
    assert again == servers
    assert sorted(job.name for job in slow + quick) == sorted(job.name for job in whole)

    monkeypatch.setenv("PLACEMENT_ENGINES", "sqlite,mariadb")
    assert {job.engine for job in [*jobs([]), *jobs([], run_all=True)]} == {"sqlite", "mariadb"}


def test_the_gate_leaves_out_no_test() -> None:
    gate = (ROOT / ".ci" / "run").read_text()
    assert {"test-all", "fresh"} <= made_by(gate)
    assert "PLACEMENT_FRESH=1" in gate
    assert "make test)" in (ROOT / ".ci" / "fresh").read_text()


def test_a_directory_of_servers_runs_the_sample_on_each_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in ("tests.__main__", "tests.kit.engines"):
        monkeypatch.setattr(f"{module}.SERVERS_ROOT", f"{tmp_path}/trixie:{tmp_path}/sid")
    for name in ("ENGINES", "GALERA", "MYSQLCLIENT"):
        monkeypatch.delenv(f"PLACEMENT_{name}", raising=False)
    with pytest.raises(LookupError, match="not installed: mariadb, mysql, postgresql"):
        list(jobs([]))
    for path, stated in {
        "trixie/usr/sbin/mariadbd": "/1.2/mariadbd  Ver 11.8.9-MariaDB-0+deb13u1",
        "sid/usr/sbin/mysqld": "/1.2/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))",
        "sid/usr/lib/postgresql/18/bin/postgres": "postgres (PostgreSQL) 18.1 (Debian 18.1-2)",
    }.items():
        program = tmp_path / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{stated}'\n")
        program.chmod(0o755)
    tests = ["--selection=sample", *selection.files_of("sample")]
    assert [(job.engine, job.tests) for job in jobs([])] == [(engine, tests) for engine in SERVERS]
    assert [version(engine) for engine in SERVERS] == ["11.8.9", "9.7.4", "18.1"]
    # MariaDB has links by MySQL's names.
    (tmp_path / "sid/usr/sbin/mysqld").unlink()
    (tmp_path / "trixie/usr/sbin/mysqld").symlink_to("mariadbd")
    assert not installed("mysql")


def test_a_server_whose_user_does_not_exist_is_not_installed_for_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "usr/bin/postgres"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    monkeypatch.setattr("tests.kit.engines.SERVERS_ROOT", str(tmp_path))
    monkeypatch.setattr(pwd, "getpwnam", {}.__getitem__)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert installed("postgresql")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert not installed("postgresql")
    with pytest.raises(MissingServerError, match="the user postgres does not exist"):
        PostgreSQL()
    program.unlink()
    with pytest.raises(MissingServerError, match="postgres is not installed"):
        PostgreSQL()


def test_a_missing_program_skips_a_test_and_fails_it_in_the_gate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need("sh")
    monkeypatch.delenv("PLACEMENT_DEPLOY", raising=False)
    with pytest.raises(pytest.skip.Exception, match="none-such is not installed"):
        need("none-such")
    monkeypatch.setenv("PLACEMENT_DEPLOY", "1")
    with pytest.raises(pytest.fail.Exception, match="none-such is not installed"):
        need("none-such")


def test_a_server_that_is_named_and_missing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.__main__.installed", lambda engine: engine == "sqlite")
    monkeypatch.setenv("PLACEMENT_ENGINES", "sqlite,postgresql")
    with pytest.raises(LookupError, match="not installed: postgresql"):
        list(jobs([]))


@pytest.mark.parametrize("run", soak.LONG_RUNS, ids=lambda run: run.name)
def test_a_long_run_sets_variables_that_its_tests_read(run: soak.LongRun) -> None:
    files = [path for name in run.tests for path in (ROOT / name).rglob("*.py")]
    files += [ROOT / name for name in run.tests if name.endswith(".py")]
    text = "".join(path.read_text() for path in [*files, ROOT / "tests" / "kit" / "engines.py"])
    assert files
    assert [name for name in run.environment if f'"{name}"' not in text] == []


def test_a_seed_leads_to_the_same_commands() -> None:
    first, again = (list(soak.commands(7, ["sqlite", "mariadb"], [])) for _ in range(2))
    assert first == again
    assert len(first) == len({(*environment.items(), *command) for environment, command in first})
    assert all("--hypothesis-seed=7" in command for _environment, command in first)


def test_help_prints_each_target() -> None:
    phony = re.search(r"^\.PHONY: (.*?[^\\])\n", MAKEFILE, re.MULTILINE | re.DOTALL)
    assert phony
    assert set(phony[1].replace("\\\n", " ").split()) == TARGETS
    shown = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert set(re.findall(r"^make ([\w-]+) +\S", shown, re.MULTILINE)) == TARGETS


def test_environments_of_tox_are_targets() -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    named = {name for section in tox for name in re.findall(r"[a-z]+", section.partition(":")[2])}
    named |= set(tox["tox"]["envlist"].split(","))
    assert "lint" in named
    assert named - {"py"} <= TARGETS


def test_the_long_runs_are_documented_with_their_variables() -> None:
    text = (ROOT / "docs/development/tests.rst").read_text()
    for run in soak.LONG_RUNS:
        assert f"``{run.name}``" in text
        assert [name for name in run.environment if f"``{name}=" not in text] == []


WORKFLOW = ROOT / ".github" / "workflows" / "gate.yaml"


def made_by(script: str) -> set[str]:
    """The targets that a script of the shell calls make for."""
    calls = re.findall(r"^ *make ([^#&\n]*)", script, re.MULTILINE)
    return {word for call in calls for word in call.split() if not re.search("^-|=", word)}


def test_the_hosted_gate_calls_the_targets_of_the_gate_on_one_machine() -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    hosted = set().union(
        *(made_by(step["run"]) for job in jobs.values() for step in job["steps"] if "run" in step)
    )
    local = made_by((ROOT / ".ci" / "run").read_text())
    assert {"test-all", "fresh", "wheel", "lint", "audit"} <= local
    assert local - hosted == set()
    # These are tested on one machine as part of the tests, or of a release, or need more packages.
    assert hosted - local == {"docs", "dist", "cloud"}
    assert {name for name in hosted if not name.startswith(".venv/")} <= TARGETS


@pytest.mark.parametrize("name", ["fresh", "servers"])
def test_no_file_in_a_directory_of_another_user_is_opened(name: str) -> None:
    """A lock there may be a link to a file of root, which opening it would make empty."""
    script = (ROOT / ".ci" / name).read_text()
    assert script.index('[ -O "$root" ]') < script.index('> "$root')


def test_the_gate_tests_the_oldest_and_the_newest_pins_of_openstack() -> None:
    stated = re.search(r'RELEASE="(.*)"', (ROOT / ".ci" / "run").read_text())
    default = re.search(r"^RELEASE \?= (\S+)$", MAKEFILE, re.MULTILINE)
    matrix = yaml.safe_load(WORKFLOW.read_text())["jobs"]["openstack"]["strategy"]["matrix"]
    assert stated
    assert default
    releases = sorted(path.stem for path in (ROOT / "requirements" / "openstack").glob("*.txt"))
    assert stated[1].split() == matrix["release"] == [releases[0], releases[-1]]
    assert default[1] == releases[0]


def test_the_hosted_gate_tests_each_engine_and_has_all_that_the_gate_switches_on() -> None:
    matrix = yaml.safe_load(WORKFLOW.read_text())["jobs"]["tests"]
    engines = [each["engine"] for each in matrix["strategy"]["matrix"]["include"]]
    switches = re.findall(r"\b(PLACEMENT_\w+)=(\S+)", (ROOT / ".ci" / "run").read_text())
    assert ",".join(engines) == dict(switches)["PLACEMENT_ENGINES"]
    assert matrix["env"].keys() == dict(switches).keys()
