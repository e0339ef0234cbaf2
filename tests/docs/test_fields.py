"""Fields have comments where their names and types are not sufficient.

A number needs its unit, unless its name contains the unit, and an optional value needs the meaning
of None.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from falcon_placement_client import public

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"(int|float)( \| None)?")
# A plural counts what it names: `hosts`, `steps`, `max_connections`, `inventory_seconds`.
UNIT = re.compile(
    r"s(_|$)|(^|_)(count|generation|id|index|line|number|position|revision|slot|version)$"
)


def fields(kind: ast.ClassDef) -> Iterator[ast.AnnAssign]:
    """Yield the annotated fields of a class, and the annotated attributes that methods assign."""
    for node in ast.walk(kind):
        if not isinstance(node, ast.AnnAssign):
            continue
        if node in kind.body or isinstance(node.target, ast.Attribute):
            yield node


def needs_comment(name: str, annotation: str) -> bool:
    unitless = NUMBER.fullmatch(annotation) and not UNIT.search(name)
    return bool(unitless) or annotation.endswith("| None")


def has_comment(lines: list[str], statement: ast.stmt) -> bool:
    """Return whether a comment is above a statement or at its end."""
    before = lines[statement.lineno - 2]
    last = lines[(statement.end_lineno or statement.lineno) - 1]
    return before.strip().startswith("#") or "  # " in last


def unexplained(source: str, names: frozenset[str] | None = None) -> Iterator[str]:
    """Yield the fields that need a comment and have none.

    Args:
        source: the text of a module.
        names: names of the classes to check, or None for all classes.
    """
    lines = source.split("\n")
    for kind in ast.walk(ast.parse(source)):
        if not isinstance(kind, ast.ClassDef) or not (names is None or kind.name in names):
            continue
        for field in fields(kind):
            name = ast.unparse(field.target).removeprefix("self.")
            if needs_comment(name, ast.unparse(field.annotation)) and not has_comment(lines, field):
                yield f"{kind.name}.{name}"


@pytest.mark.parametrize(
    ("folder", "names"),
    [("bench", None), ("falcon_placement_client", frozenset(public.__all__)), ("placement", None)],
)
def test_units_and_the_meaning_of_none_are_stated(
    folder: str, names: frozenset[str] | None
) -> None:
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert len(modules) > 10
    found = {
        str(path.relative_to(ROOT)): list(unexplained(path.read_text(), names)) for path in modules
    }
    assert {path: fields for path, fields in found.items() if fields} == {}
