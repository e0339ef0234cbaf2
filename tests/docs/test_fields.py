"""Every field of a public class of the client, and of a measurement, has its own comment."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from falcon_placement_client import public

ROOT = Path(__file__).parents[2]


def uncommented(source: str, names: frozenset[str] | None = None) -> Iterator[str]:
    """Yield the fields of classes without a comment before them or on their line.

    Args:
        source: the text of a module.
        names: names of the classes to check, or None for all classes.
    """
    lines = source.split("\n")
    for kind in ast.walk(ast.parse(source)):
        if not isinstance(kind, ast.ClassDef) or not (names is None or kind.name in names):
            continue
        for each in kind.body:
            if isinstance(each, ast.AnnAssign) and not ast.unparse(each.target).startswith("_"):
                before, line = lines[each.lineno - 2], lines[(each.end_lineno or each.lineno) - 1]
                if not before.strip().startswith("#") and "  # " not in line:
                    yield f"{kind.name}.{ast.unparse(each.target)}"


@pytest.mark.parametrize(
    ("folder", "names"),
    [("falcon_placement_client", frozenset(public.__all__)), ("bench", None)],
)
def test_every_field_has_its_own_comment(folder: str, names: frozenset[str] | None) -> None:
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert len(modules) > 10
    found = {
        str(path.relative_to(ROOT)): list(uncommented(path.read_text(), names)) for path in modules
    }
    assert {path: fields for path, fields in found.items() if fields} == {}


def test_a_field_without_a_comment_is_found() -> None:
    source = (
        "class A:\n    # A size.\n    size: int\n    name: str\n    text: str  # in words\n"
        "class B:\n    other: int\n"
    )
    assert list(uncommented(source)) == ["A.name", "B.other"]
    assert list(uncommented(source, frozenset("A"))) == ["A.name"]
