"""Microversions: parsing the header, and tables that are checked when they are declared."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from placement.api.history import (
    HISTORY,
    LATEST,
    MalformedVersionError,
    Versioned,
    requested,
    v,
)


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (None, "1.0"),
        ("placement 1.39", "1.39"),
        ("Placement   1.5", "1.5"),
        ("placement latest", str(LATEST)),
        ("placement 1.2, compute 2.1, placement 1.7", "1.7"),
        ("placement x, placement 1.7", "1.7"),
        ("compute 2.1", "1.0"),
        ("1.39", "1.0"),
        ("placement1.5", "1.0"),
    ],
)
def test_the_last_entry_for_placement_counts(header: str | None, version: str) -> None:
    assert requested(header, LATEST) == v(version)


@pytest.mark.parametrize("stated", ["1", "1.", "a.b", "1.2.3", "LATEST"])
def test_what_is_no_version_is_malformed(stated: str) -> None:
    with pytest.raises(MalformedVersionError):
        requested(f"placement {stated}", LATEST)


def test_the_history_is_whole_and_in_order() -> None:
    assert list(HISTORY) == [*(v(f"1.{minor}") for minor in range(LATEST.minor + 1)), v("2.0")]
    assert list(HISTORY) == sorted(HISTORY)


def test_the_latest_version_is_that_of_openstacks_line() -> None:
    assert requested("placement latest", LATEST) == LATEST >= v("1.39")
    assert LATEST.major == 1
    assert max(HISTORY) == v("2.0")


WITH_A_LATER_VERSION = """
import sys, types
from pathlib import Path
import placement.api

minor = int(sys.argv[2])
newest, beyond = f"1.{minor}", f"1.{minor + 1}"

# The module as it will be: with a line for that version, and nothing else.
path = Path(placement.api.__file__).with_name("history.py")
text = path.read_text()
line = '    v("2.0"): '
assert text.count(line) == 1
module = types.ModuleType("placement.api.history")
sys.modules["placement.api.history"] = module
exec(text.replace(line, f'    v("{newest}"): "A later one.",' + chr(10) + line), module.__dict__)

from placement.api import history, routes
from placement.api.history import HEADER, Feature, Versioned, v
from tests.kit.service import Service

with Service(Path(sys.argv[1])) as service:
    for version, shown in ((newest, newest), ("latest", newest), ("2.0", "2.0")):
        answer = service.send("GET", "/resource_providers", version=version)
        assert answer.status_code == 200, answer.text
        assert answer.headers[HEADER] == "placement " + shown
    refused = service.send("GET", "/resource_providers", version=beyond).json["errors"][0]
    assert refused["max_version"] == newest
    ranges = [
        (each["min_version"], each["max_version"]) for each in service.get("/", "2.0")["versions"]
    ]
    assert ranges == [("1.0", newest), ("2.0", "2.0")]
table = Versioned({"1.8": "old", newest: "new", "2.0": "ours"})
assert [table.at(v(each)) for each in ("1.39", newest, "2.0")] == ["old", "new", "ours"]
assert not Feature.WHOLE_LANGUAGE.at(v(newest))
assert Feature.WHOLE_LANGUAGE.at(v("2.0"))
"""


def test_a_later_version_of_openstack_needs_its_line_in_the_history_alone(tmp_path: Path) -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", WITH_A_LATER_VERSION, str(tmp_path), str(LATEST.minor + 1)],
        capture_output=True, text=True, check=False, timeout=120,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PLACEMENT_ENGINE": "sqlite"},
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stderr


def test_a_table_gives_the_value_of_the_newest_entry_so_far() -> None:
    table = Versioned({"1.8": "old", "1.12": "new"})
    assert [table.at(v(text)) for text in ("1.8", "1.11", "1.12", "1.39")] == [
        "old", "old", "new", "new",
    ]  # fmt: skip
    with pytest.raises(LookupError):
        table.at(v("1.7"))


@pytest.mark.parametrize("table", [{}, {"1.12": 1, "1.8": 2}, {"1.0": 1, "9.0": 2}])
def test_a_table_with_a_fault_fails_when_declared(table: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"versions|microversion"):
        Versioned(table)
