"""Dependencies are pinned and hashed, and their licences are listed."""

from __future__ import annotations

import io
import json
import os
import re
import tarfile
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.supply import audit, distributions, licences, locked, sbom

ROOT = locked.ROOT
SECURITY = (ROOT / "SECURITY.rst").read_text()


@pytest.mark.parametrize(
    "path",
    [locked.SERVICE, locked.CLIENT, locked.DEVELOPMENT, locked.MYSQLCLIENT, locked.UWSGI],
    ids=lambda path: path.name,
)
def test_what_is_locked_is_what_constraints_pin_and_has_hashes(path: Path) -> None:
    pinned, constraints = locked.pins(path), locked.pins(locked.CONSTRAINTS)
    assert {name: constraints.get(name) for name in pinned} == pinned, "run make lock"
    assert locked.hashed(path) == pinned.keys()


def test_all_that_is_asked_for_is_locked() -> None:
    project, client = (
        tomllib.loads(path.read_text())["project"]
        for path in (ROOT / "pyproject.toml", ROOT / "falcon_placement_client" / "pyproject.toml")
    )
    extras = project["optional-dependencies"]

    def names(*lists: list[str]) -> set[str]:
        named = {Requirement(text).name for each in lists for text in each}
        return {canonicalize_name(name) for name in named - {client["name"]}}

    service = names(
        project["dependencies"], client["dependencies"], extras["postgresql"], extras["memcached"]
    )
    assert service - locked.pins(locked.SERVICE).keys() == set(), "run make lock"
    assert names(extras.pop("mysqlclient")) == locked.pins(locked.MYSQLCLIENT).keys()
    assert names(extras.pop("uwsgi")) == locked.pins(locked.UWSGI).keys()
    development = service | names(*extras.values(), *client["optional-dependencies"].values())
    assert development - locked.pins(locked.DEVELOPMENT).keys() == set(), "run make lock"
    assert locked.pins(locked.CLIENT).keys() <= locked.pins(locked.SERVICE).keys()
    assert locked.pins(locked.SERVICE).keys() <= locked.pins(locked.DEVELOPMENT).keys()


def required_versions() -> dict[str, SpecifierSet]:
    """What the service and the client require, by normalised name, whatever is switched on."""
    required: dict[str, SpecifierSet] = {}
    for path in (ROOT / "pyproject.toml", ROOT / "falcon_placement_client" / "pyproject.toml"):
        project = tomllib.loads(path.read_text())["project"]
        extras = project["optional-dependencies"]
        lists = [extras[name] for name in extras.keys() - {"lint", "docs"}]
        for each in map(Requirement, chain(project["dependencies"], *lists)):
            name = canonicalize_name(each.name)
            required[name] = required.get(name, SpecifierSet()) & each.specifier
    return required


@pytest.mark.parametrize("path", locked.OPENSTACK.values(), ids=locked.OPENSTACK.keys())
def test_what_a_release_of_openstack_pins_can_be_installed(path: Path) -> None:
    pinned, required = locked.pins(path), required_versions()
    assert len(pinned.keys() & required.keys()) > 20
    assert {
        name: f"{versions}, but {pinned[name]} is pinned"
        for name, versions in required.items()
        if name in pinned and not versions.contains(pinned[name])
    } == {}


# -- the files of a release -------------------------------------------------------------------


def test_an_sdist_has_the_same_bytes_whenever_and_by_whichever_user_it_is_packed(
    tmp_path: Path,
) -> None:
    written = []
    for number, names in enumerate((["a", "b"], ["b", "a"])):
        path = tmp_path / f"{number}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                member = tarfile.TarInfo(f"x/{name}")
                member.size, member.mtime, member.uid = 1, 1000 + number, number
                member.uname, member.mode = f"user{number}", 0o600 if number else 0o664
                archive.addfile(member, io.BytesIO(name.encode()))
        os.utime(path, (number, number))
        distributions.repack(path, 2000)
        written.append(path.read_bytes())
    assert written[0] == written[1]
    with tarfile.open(tmp_path / "0.tar.gz") as archive:
        read = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        assert {name: file.read() for name, file in read.items() if file} == {
            "x/a": b"a",
            "x/b": b"b",
        }


@pytest.mark.parametrize("project", sbom.PROJECTS, ids=lambda project: project.name)
def test_a_bill_of_materials_lists_what_is_locked_with_its_licence(project: sbom.Project) -> None:
    bill = sbom.describe(project, 0)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    listed = {each["name"]: each for each in bill["components"]}
    assert len(listed) == len(bill["components"])
    pinned = locked.pins(project.lock)
    assert {name: each["version"] for name, each in listed.items()} == pinned
    unlicensed = {name for name, each in listed.items() if "licenses" not in each}
    assert unlicensed <= locked.conditional(project.lock)
    (graph,) = bill["dependencies"]
    assert graph["ref"] == bill["metadata"]["component"]["bom-ref"]
    assert set(graph["dependsOn"]) <= {each["bom-ref"] for each in bill["components"]}
    assert len(graph["dependsOn"]) >= 2


def test_every_licence_is_listed_and_is_as_installed() -> None:
    listed = licences.listed()
    pinned = locked.pins(locked.SERVICE)
    # What only another system needs cannot be read here.
    assert pinned.keys() - locked.conditional(locked.SERVICE) <= listed.keys(), "run make lock"
    assert listed.keys() <= pinned.keys(), "run make lock"
    differing = {
        name: text
        for name, text in licences.stated().items()
        # Not listed: what only a later Python needs.
        if metadata.version(name) == pinned[name] and listed.get(name, text) != text
    }
    assert differing == {}, "run make lock"


def test_every_licence_is_one_that_fits() -> None:
    for name, text in licences.listed().items():
        names = set(re.split(r" AND | OR |[()]", text)) - {""}
        assert names, name
        assert names <= licences.ACCEPTED, name


def test_what_has_another_licence_is_installed_by_name_alone() -> None:
    named = locked.pins(locked.MYSQLCLIENT).keys() | locked.pins(locked.UWSGI).keys()
    for path in (locked.SERVICE, locked.DEVELOPMENT):
        assert named.isdisjoint(locked.pins(path))
    installing = (ROOT / "docs" / "operations" / "installing.rst").read_text()
    assert "GPL-2.0-or-later" in installing


# -- the audit --------------------------------------------------------------------------------

CLEAN = {"name": "a", "version": "1", "vulns": []}
BROKEN = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}
SKIPPED = {"name": "c", "skip_reason": "Dependency not found on PyPI"}


@pytest.fixture
def pip_audit(tmp_path: Path) -> Path:
    """A program that prints the file next to it."""
    path = tmp_path / "pip-audit"
    path.write_text(f'#!/bin/sh\ncat "{tmp_path}/answer" || echo "no route to host" >&2\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("dependencies", "required", "code", "lines"),
    [
        ([CLEAN], "", 0, ["audited: 1 distributions, 0 known vulnerabilities"]),
        (
            [CLEAN, BROKEN, SKIPPED],
            "",
            1,
            ["b 2: PYSEC-1, fixed in 3", "audited: 2 distributions, 1 known vulnerabilities"],
        ),
        (
            [CLEAN, SKIPPED],
            "",
            0,
            [
                "audited: 1 distributions, 0 known vulnerabilities",
                "NOT AUDITED: 1 distributions, of which the index tells nothing",
            ],
        ),
        (
            [SKIPPED],
            "required",
            1,
            [
                "audited: 0 distributions, 0 known vulnerabilities",
                "NOT AUDITED: 1 distributions, of which the index tells nothing",
            ],
        ),
        (None, "", 0, ["NOT AUDITED: all of them: no route to host"]),
        (None, "required", 1, ["NOT AUDITED: all of them: no route to host"]),
    ],
)
def test_what_was_not_audited_is_said(
    pip_audit: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    dependencies: list[object] | None,
    required: str,
    code: int,
    lines: list[str],
) -> None:
    monkeypatch.setenv("AUDIT", required)
    if dependencies is not None:
        (pip_audit.parent / "answer").write_text(json.dumps({"dependencies": dependencies}))
    assert audit.main([str(pip_audit)]) == code
    assert capsys.readouterr().out.splitlines() == lines


# -- the page of threats ----------------------------------------------------------------------


def test_each_threat_names_tests_that_exist() -> None:
    table = SECURITY.split("Threats and their tests", 1)[1]
    threats = re.split(r"^   \* - ", table.split("Supply chain\n")[0], flags=re.MULTILINE)[2:]
    assert len(threats) >= 12
    for threat in threats:
        named = re.findall(r"``((?:tests|gabbits)/[^`]+)``", threat)
        assert named, threat
        for each in named:
            path, _, test = each.partition("::")
            assert (ROOT / path).exists(), each
            assert f"def {test}(" in (ROOT / path).read_text() if test else True, each
