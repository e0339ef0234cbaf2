"""Each field of a class has a separate comment.

Of the client these are the annotated fields of its public classes, of the measurements the
annotated fields of all classes, and of the service also the attributes that `__init__` assigns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
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
            if not isinstance(each, ast.AnnAssign) or has_comment(lines, each):
                continue
            if not ast.unparse(each.target).startswith("_"):
                yield f"{kind.name}.{ast.unparse(each.target)}"


def has_comment(lines: list[str], statement: ast.stmt) -> bool:
    """Return whether a comment is above a statement or at its end."""
    before = lines[statement.lineno - 2]
    last = lines[(statement.end_lineno or statement.lineno) - 1]
    return before.strip().startswith("#") or "  # " in last


def assignments(kind: ast.ClassDef) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """Yield the annotated fields of a class, and the attributes that its `__init__` assigns.

    Attributes whose value is a parameter are left out: the parameter describes them.
    """
    for each in kind.body:
        if isinstance(each, ast.AnnAssign):
            yield ast.unparse(each.target), each
        elif isinstance(each, ast.FunctionDef) and each.name == "__init__":
            parameters = {argument.arg for argument in each.args.args + each.args.kwonlyargs}
            for statement in ast.walk(each):
                if not isinstance(statement, ast.Assign | ast.AnnAssign):
                    continue
                if isinstance(statement.value, ast.Name) and statement.value.id in parameters:
                    continue
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                )
                for target in targets:
                    for name in re.findall(r"\bself\.(\w+)(?=[,)]|$)", ast.unparse(target)):
                        yield name, statement


def classes(source: str) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))


def unexplained(source: str, inherited: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield the attributes of classes that neither a comment nor a docstring describes.

    One comment suffices for an attribute that is assigned several times. An attribute that a base
    class declares needs none.

    Args:
        source: the text of a module.
        inherited: name of a class -> names of the fields that its body declares.
    """
    lines = source.split("\n")
    for kind in classes(source):
        described = set(re.findall(r"^    (\w+): ", ast.get_docstring(kind) or "", re.MULTILINE))
        for base in kind.bases:
            described.update(inherited.get(ast.unparse(base).partition("[")[0], ()))
        found = list(assignments(kind))
        described.update(name for name, statement in found if has_comment(lines, statement))
        yield from dict.fromkeys(
            f"{kind.name}.{name}" for name, _ in found if name not in described
        )


@pytest.mark.parametrize(
    ("folder", "names"),
    [
        ("falcon_placement_client", frozenset(public.__all__)),
        ("bench", None),
        ("placement/api", None),
        ("placement/objects", None),
    ],
)
def test_every_field_has_its_own_comment(folder: str, names: frozenset[str] | None) -> None:
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert len(modules) > 10
    found = {
        str(path.relative_to(ROOT)): list(uncommented(path.read_text(), names)) for path in modules
    }
    assert {path: fields for path, fields in found.items() if fields} == {}


def test_every_attribute_of_the_service_has_its_own_comment() -> None:
    modules = {
        str(path.relative_to(ROOT)): path.read_text()
        for path in sorted((ROOT / "placement").rglob("*.py"))
        if path.relative_to(ROOT / "placement").parts[0] not in {"api", "objects"}
    }
    assert len(modules) > 100
    declared = {
        kind.name: {
            ast.unparse(each.target) for each in kind.body if isinstance(each, ast.AnnAssign)
        }
        for source in modules.values()
        for kind in classes(source)
    }
    found = {path: list(unexplained(source, declared)) for path, source in modules.items()}
    assert {path: fields for path, fields in found.items() if fields} == {}


def test_an_attribute_without_a_comment_is_found() -> None:
    source = (
        'class A(Base):\n    """Sizes.\n\n    Attributes:\n        known: a name.\n    """\n\n'
        "    size: int\n    inherited: int\n    def __init__(self, given):\n"
        "        self.given = given\n        self.known = 'a'\n        self._total: int = 0\n"
        "        # The ends.\n        self.first, self.last = 0, 1\n"
        "        if given:\n            self.last = 2\n            self._other[0] = 1\n"
    )
    assert list(unexplained(source, {"Base": ["inherited"]})) == ["A.size", "A._total"]


def test_a_field_without_a_comment_is_found() -> None:
    source = (
        "class A:\n    # A size.\n    size: int\n    name: str\n    text: str  # in words\n"
        "class B:\n    other: int\n"
    )
    assert list(uncommented(source)) == ["A.name", "B.other"]
    assert list(uncommented(source, frozenset("A"))) == ["A.name"]
