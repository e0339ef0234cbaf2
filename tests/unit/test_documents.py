"""Lists in the documents are complete."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from placement import __version__
from placement.api.routes import ROUTES

ROOT = Path(__file__).parents[2]
MAX_FRAGMENT = 600  # characters
ARCHITECTURE = (ROOT / "ARCHITECTURE.rst").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = (ROOT / "docs/development/locks.rst").read_text()


def test_architecture_draws_the_layers_of_the_service() -> None:
    drawing = ARCHITECTURE.split("::\n\n", 1)[1].split("\n\n", 1)[0]
    layers = PYPROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    assert [re.split(" {2,}", line.strip())[0] for line in drawing.splitlines()] == layers


def test_of_the_search_only_the_trees_execute_statements() -> None:
    packages = {
        path.parent.name
        for package in ("candidates", "foresight")
        for path in (ROOT / "placement" / package).rglob("*.py")
        if re.search(r"\.(rows|row|value|execute)\(", path.read_text())
    }
    assert packages == {"trees"}


def test_fragments_of_the_changelog_are_of_a_known_kind() -> None:
    kinds = {kind["directory"] for kind in PYPROJECT["tool"]["towncrier"]["type"]}
    pattern = re.compile(rf"\+[a-z0-9-]+\.({'|'.join(kinds)})\.rst")
    names = [path.name for path in (ROOT / "changes").glob("*.rst")]
    assert [name for name in names if not pattern.fullmatch(name)] == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "changes").glob("*.rst")), ids=lambda path: path.stem
)
def test_a_fragment_of_the_changelog_is_a_short_paragraph(path: Path) -> None:
    assert is_fragment(path.read_text()), path.name


def is_fragment(text: str) -> bool:
    """Whether a text is one paragraph of complete sentences, without lists and headings."""
    paragraph = text.strip()
    short = len(paragraph) <= MAX_FRAGMENT and "\n\n" not in paragraph
    return short and paragraph.endswith(".") and not re.match(r"[*\-=.#]", paragraph)


def test_fragments_of_another_form_are_noticed() -> None:
    assert is_fragment("``GET /changes`` lists trees.\n")
    for text in ("", "* a list.\n", "No full stop\n", "One.\n\nTwo.\n", "a" * MAX_FRAGMENT + "."):
        assert not is_fragment(text), text


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    entries = re.findall(
        r"^(\S+) \((\d{4}-\d\d-\d\d)\)\n=+$", (ROOT / "CHANGELOG.rst").read_text(), re.MULTILINE
    )
    assert entries[0][0] == __version__


def test_the_page_of_locks_has_a_row_for_each_request_that_writes() -> None:
    writes = {
        f"{route.method} {route.path}"
        for route in ROUTES
        if route.method != "GET" and not route.reads
    }
    assert writes_listed(LOCKS) == writes


def writes_listed(page: str) -> set[str]:
    """The requests in the first cells of the first table."""
    table = page.split("\nRequests\n")[1].split("\nEverything else\n")[0]
    cells = re.findall(r"^   \* - (.+?)^     - ", table, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"``([A-Z]+ /.*?)``", "".join(cells)))


def test_the_page_of_locks_has_a_row_for_each_module_that_writes() -> None:
    # A new one needs a row in the second table.
    assert modules_that_write() == {
        "candidates",  # claims
        "cli/audit",
        "cli/online_migrations",
        "cli/schema",  # db stamp
        "entry",  # db sync, starts
        "objects",  # the numbering of changes, and expired holds
        "operate",  # repairs, and the COMMITs that preflight measures
    }


def modules_that_write() -> set[str]:
    """Modules of commands, and packages, that begin writes in the database; not of requests."""
    names: set[str] = set()
    for path in (ROOT / "placement").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Attribute) or node.attr != "write":
                continue
            if ast.unparse(node.value) in {"database", "connect(conf)"}:
                relative = path.relative_to(ROOT / "placement").with_suffix("")
                is_command = relative.parts[0] == "cli"
                names.add(str(relative) if is_command else relative.parts[0])
    return names


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for package in ("placement", "migrations"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
