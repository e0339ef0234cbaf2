"""Options, metrics, commands and files in the documents exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from falcon_placement_client import pytest_plugin
from placement.cli.commands import COMMANDS
from placement.entry import generators
from placement.metrics import declarations

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.rst"), *(ROOT / "docs").rglob("*.rst")])
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
OPTIONS = {
    (group, option.name): option for group, options in generators.options() for option in options
}
GROUPS = {group for group, _name in OPTIONS}
METRICS = {metric.name for metric in declarations.ALL}
FOLDERS = (
    *("bench", "docs", "etc", "examples", "falcon_placement_client", "gabbits", "migrations"),
    *("placement", "tests"),
)
MADE_BY_RUNS = {"bench/results", "docs/_build/man"}
VARIABLES_OF_OTHERS = "docs/operations/coming-from.rst"
FIXTURES = {name for name in vars(pytest_plugin) if name.startswith("placement_")}


def words(document: str, pattern: str) -> Iterator[tuple[str, ...]]:
    """What matches a pattern of groups within the literal texts of a document."""
    text = re.sub(r"\s*\n\s*", " ", (ROOT / document).read_text())
    for literal in re.findall(r"``(.+?)``", text):
        for match in re.finditer(pattern, literal):
            yield match.groups()


@pytest.mark.parametrize("document", NAMES)
def test_options_are_declared_by_the_service(document: str) -> None:
    named = {
        (group, name.replace("-", "_"))
        for group, name in words(document, r"^\[(\w+)\] ?(\w+)")
        if group in GROUPS
    }
    assert named - OPTIONS.keys() == set()


@pytest.mark.parametrize("document", sorted({*NAMES} - {VARIABLES_OF_OTHERS}))
def test_metrics_are_declared_by_the_service(document: str) -> None:
    named = {
        name
        for (name,) in words(document, r"^((?:openstack_)?placement_\w+)$")
        if name not in GROUPS
    }
    assert named - METRICS - FIXTURES == set()


@pytest.mark.parametrize("document", NAMES)
def test_files_are_there(document: str) -> None:
    folders = "|".join(FOLDERS)
    named = {path for (path,) in words(document, rf"^((?:{folders})/[\w./-]*[\w/])$")}
    assert {path for path in named - MADE_BY_RUNS if not (ROOT / path).exists()} == set()


def test_every_command_is_listed() -> None:
    listed = (ROOT / "docs" / "reference" / "commands.rst").read_text()
    names = [*COMMANDS, *(f"db {name}" for name in COMMANDS["db"].actions)]
    assert [name for name in names if f" {name}" not in listed] == []
