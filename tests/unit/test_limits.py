"""Limits of code that ruff does not count: lines of a module, and parts of a comprehension."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Modules of these may be as long as the list of their tests or rows.
LISTS = ("bench", "tests")
FOLDERS = (
    *LISTS, "docs/_ext", "examples", "falcon_placement_client", "migrations", "placement",
)  # fmt: skip
MAX_LINES = 300
MAX_FORS, MAX_IFS = 2, 1

COMPREHENSIONS = (ast.DictComp, ast.GeneratorExp, ast.ListComp, ast.SetComp)
DOCUMENTED = (ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.Module)
LAYOUT = {
    tokenize.COMMENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.INDENT, tokenize.NEWLINE,
    tokenize.NL,
}  # fmt: skip


def sources() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each module."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if "/build/" not in name:
                yield name, path.read_text()


def code_lines(text: str) -> int:
    """Return the number of lines with code: no comments, docstrings and empty lines."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def long_comprehensions(text: str) -> list[int]:
    """Return the lines of comprehensions with more parts than the limits allow."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, COMPREHENSIONS) and _is_long(node.generators)
    ]


def _is_long(generators: list[ast.comprehension]) -> bool:
    return len(generators) > MAX_FORS or sum(len(each.ifs) for each in generators) > MAX_IFS


def test_no_module_has_too_many_lines() -> None:
    assert {
        name: code_lines(text)
        for name, text in sources()
        if not name.startswith(LISTS) and code_lines(text) > MAX_LINES
    } == {}


def test_no_comprehension_has_too_many_parts() -> None:
    found = ((name, long_comprehensions(text)) for name, text in sources())
    assert {name: lines for name, lines in found if lines} == {}


def test_what_exceeds_a_limit_is_noticed() -> None:
    assert (
        code_lines('"""A\n\nB"""\n# C\n\nx = """\n1\n"""\n\ndef f():\n    "D"\n    return x\n') == 5
    )
    assert long_comprehensions("[c for a in z for b in a for c in b]\n[a for a in z if a]") == [1]
    assert long_comprehensions("{a for a in z if a if not b}\n(b for a in z for b in a)") == [1]
