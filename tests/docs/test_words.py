"""The text of the repository is plain technical English.

Per package and folder, at most four words in a thousand are of a kind that such text rarely uses.
This covers docstrings, comments, documents, the strings of the code, and what operators see: the
rendered help of options, rules and commands, and the texts of the explorer. A sentence that exceeds
the limit is to be rewritten; a synonym does not make it clearer.
"""

from __future__ import annotations

import ast
import html
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from placement.cli import commands as command_table
from placement.config.option_groups import OPTIONS
from placement.entry.generators import rules
from placement_docs import commands

ROOT = Path(__file__).parents[2]
MAX_RATE = 4.0  # per thousand words
MIN_WORDS = 250  # in a text of fewer words, a single match is no rate

UNUSUAL = re.compile(
    r"\b(who|whom|whoever|whomever|those|nobody|somebody|anybody|everybody|anew|alike|told|tells?"
    r"|meanwhile|whatever|beside|stands?|stood|hears?|heard|shall)\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[A-Za-z][A-Za-z']+")
MIN_STRING_WORDS = 4  # shorter strings of the code are names
SCRIPT_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL
)

PYTHON = (
    "placement",
    "falcon_placement_client",
    "migrations",
    "tests",
    "bench",
    "docs",
    "examples",
)
DOCUMENTS = ("docs", "changes", "bench", "examples", "falcon_placement_client")
GENERATED = {"_build", "__pycache__", "build"}

# Packages and folders whose text is yet to be rewritten, with the rate that they must not exceed.
# An entry goes when its rate is below MAX_RATE.
CEILINGS: dict[str, float] = {}


def docstrings_and_strings(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings and the longer strings of a module, f-strings as a whole."""
    docstrings: set[int] = set()
    pieces: set[int] = set()  # of f-strings
    strings: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr):
                docstrings.add(id(first.value))
        elif isinstance(node, ast.JoinedStr):
            constants = [each for each in node.values if isinstance(each, ast.Constant)]
            pieces.update(map(id, constants))
            strings.append(" ".join(str(each.value) for each in constants))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings:
                yield node.value
            elif id(node) not in pieces:
                strings.append(node.value)
    yield from (text for text in strings if len(WORD.findall(text)) >= MIN_STRING_WORDS)


def python_text(source: str) -> str:
    """The docstrings, longer strings and comments of a module."""
    texts = list(docstrings_and_strings(ast.parse(source)))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            texts.append(token.string)
    return "\n".join(texts)


def script_text(source: str) -> str:
    """The comments and strings of a JavaScript module."""
    return "\n".join(match[0] for match in SCRIPT_TEXT.finditer(source))


def page_text(source: str) -> str:
    """The text of an HTML page without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", " ", source))


def files(folder: str, suffix: str) -> Iterator[Path]:
    """Yield the files of a folder with their path in the repository."""
    for path in sorted((ROOT / folder).rglob(f"*{suffix}")):
        relative = path.relative_to(ROOT)
        if not GENERATED.intersection(relative.parts) and not relative.name.startswith("."):
            yield relative


def place(path: Path) -> str:
    """Return the package or folder of a file, in two levels. Empty for files at the top."""
    return "/".join(path.parts[: min(2, len(path.parts) - 1)]) or "the root"


def option_help() -> str:
    return "\n".join(option.help or "" for group in OPTIONS.values() for option in group)


def rule_help() -> str:
    return "\n".join(rule.description or "" for rule in rules())


def command_help() -> str:
    pages = [parser.format_help() for parser in commands.parsers().values()]
    return "\n".join([command_table.describe(), *pages])


@cache
def texts() -> dict[str, str]:
    """The text of each package and folder, and of what is rendered for operators."""
    parts: dict[str, list[str]] = defaultdict(list)
    for folder in PYTHON:
        for path in files(folder, ".py"):
            if ROOT / path != Path(__file__):  # it names the words
                parts[place(path)].append(python_text((ROOT / path).read_text()))
    for folder in DOCUMENTS:
        for path in files(folder, ".rst"):
            parts[f"documents of {place(path)}"].append((ROOT / path).read_text())
    for document in sorted(ROOT.glob("*.rst")):
        parts["documents of the root"].append(document.read_text())
    for path in files("placement/explorer/static", ".js"):
        parts["the explorer"].append(script_text((ROOT / path).read_text()))
    for path in files("placement/explorer/static", ".html"):
        parts["the explorer"].append(page_text((ROOT / path).read_text()))
    parts["option help"].append(option_help())
    parts["rule help"].append(rule_help())
    parts["command help"].append(command_help())
    return {name: "\n".join(pieces) for name, pieces in parts.items()}


def rate(text: str) -> float:
    """Unusual words per thousand words."""
    words = len(WORD.findall(text))
    return 1000 * len(UNUSUAL.findall(text)) / max(words, MIN_WORDS)


@pytest.mark.parametrize("name", sorted(texts()))
def test_the_text_is_plain_technical_english(name: str) -> None:
    text = texts()[name]
    found = Counter(word.lower() for word in UNUSUAL.findall(text))
    assert rate(text) <= CEILINGS.get(name, MAX_RATE), found.most_common(5)


def test_exceptions_exist() -> None:
    assert CEILINGS.keys() <= texts().keys()


@pytest.mark.parametrize("name", ["option help", "rule help", "command help", "the explorer"])
def test_what_operators_see_is_read(name: str) -> None:
    assert len(WORD.findall(texts()[name])) > 100
