"""Limits of code that ruff does not count: lines of code of modules and packages."""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs/_ext", "examples", "falcon_placement_client", "migrations", "placement")
MAX_LINES = 300
# Folder -> maximum number of lines of code. A change that raises one of these lowers another by as
# much.
PACKAGES = {
    "placement": 28663,
    "placement/api": 6003,
    "placement/candidates": 4591,
    "placement/db": 5229,
    "placement/foresight": 3828,
    "placement/objects": 3792,
    "placement/operate": 803,
    "falcon_placement_client": 8724,
    "tests": 49908,
    "tests/cloud": 1144,
}

DOCUMENTED = (ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.Module)
LAYOUT = {
    tokenize.COMMENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.INDENT, tokenize.NEWLINE,
    tokenize.NL,
}  # fmt: skip


def sources(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each module of a folder."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        # A link is a module of the service that is also part of the client.
        if "/build/" not in name and not path.is_symlink():
            yield name, path.read_text()


@functools.cache
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


def test_no_module_has_too_many_lines() -> None:
    modules = {name: code_lines(text) for folder in FOLDERS for name, text in sources(folder)}
    assert {name: lines for name, lines in modules.items() if lines > MAX_LINES} == {}


def test_no_package_grows() -> None:
    measured = {
        folder: sum(code_lines(text) for _name, text in sources(folder)) for folder in PACKAGES
    }
    print(f"lines of code: {measured}; at most {PACKAGES}")
    assert {folder: lines for folder, lines in measured.items() if lines > PACKAGES[folder]} == {}


def test_code_is_what_is_counted() -> None:
    assert (
        code_lines('"""A\n\nB"""\n# C\n\nx = """\n1\n"""\n\ndef f():\n    "D"\n    return x\n') == 5
    )
