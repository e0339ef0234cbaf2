"""What the documents list is what there is."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "ARCHITECTURE.rst").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LAYERS = {
    contract["containers"][0]: contract["layers"]
    for contract in PYPROJECT["tool"]["importlinter"]["contracts"]
    if contract["type"] == "layers"
}


def test_architecture_draws_the_layers_of_the_service() -> None:
    drawing = ARCHITECTURE.split("::\n\n", 1)[1].split("\n\n", 1)[0]
    assert [re.split(" {2,}", line.strip())[0] for line in drawing.splitlines()] == (
        LAYERS["placement"]
    )


@pytest.mark.parametrize("package", sorted(LAYERS.keys() - {"placement"}))
def test_architecture_lists_the_layers_of_a_package(package: str) -> None:
    name = package.removeprefix("placement.")
    listed = re.search(rf"^Within ``{name}``:(.+?)\.\n\n", ARCHITECTURE, re.DOTALL | re.MULTILINE)
    assert listed, package
    assert re.findall("``(.+?)``", listed[1], re.DOTALL) == LAYERS[package]


def test_of_the_search_only_the_trees_execute_statements() -> None:
    candidates = ROOT / "placement" / "candidates"
    packages = {
        path.parent.name
        for path in candidates.rglob("*.py")
        if re.search(r"\.(rows|row|value|execute)\(", path.read_text())
    }
    assert packages == {"trees"}


def test_fragments_of_the_changelog_are_of_a_known_kind() -> None:
    kinds = {kind["directory"] for kind in PYPROJECT["tool"]["towncrier"]["type"]}
    pattern = re.compile(rf"\+[a-z0-9-]+\.({'|'.join(kinds)})\.rst")
    names = [path.name for path in (ROOT / "changes").glob("*.rst")]
    assert [name for name in names if not pattern.fullmatch(name)] == []
