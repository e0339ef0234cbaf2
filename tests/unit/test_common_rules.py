"""The service and its client have the same rules, each in modules of its own."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Module of the client -> module of the service that has all of its definitions.
MODULES = {
    "inventory.py": ["inventory.py"],
    "progress.py": ["runtime/progress.py"],
    "suggestions.py": ["runtime/suggestions.py"],
    "vocabulary.py": ["vocabulary.py"],
}


def definitions(source: str) -> set[str]:
    """The statements at the top of a module but for its docstring and imports, without comments."""
    return {
        ast.unparse(node)
        for node in ast.parse(source).body
        if not isinstance(node, (ast.Expr, ast.Import, ast.ImportFrom))
    }


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_service_defines_what_a_module_of_the_client_defines(name: str) -> None:
    service = [(ROOT / "placement" / each).read_text() for each in MODULES[name]]
    client = definitions((ROOT / "falcon_placement_client" / name).read_text())
    assert client
    assert client - set().union(*map(definitions, service)) == set()


def test_both_escape_texts_in_the_same_way() -> None:
    service, client = (
        {each for each in definitions((ROOT / path).read_text()) if each.startswith("def escaped(")}
        for path in ("placement/runtime/logs.py", "falcon_placement_client/messages.py")
    )
    assert service == client != set()


def test_an_inventory_is_the_same_in_both() -> None:
    service, client = (
        definitions((ROOT / package / "inventory.py").read_text())
        for package in ("placement", "falcon_placement_client")
    )
    assert service == client


def test_another_definition_is_noticed() -> None:
    assert definitions("import a\nx = 1  # units\n") == definitions('"""Units."""\nx = 1\n')
    assert definitions("def f(): return 1") != definitions("def f(): return 2")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("placement.entry.app", "falcon_placement_client"),
        ("falcon_placement_client.public", "placement"),
    ],
)
def test_neither_is_imported_by_the_other(first: str, second: str) -> None:
    code = f"import sys, {first}; print({second!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
