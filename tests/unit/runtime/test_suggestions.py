import ast
from pathlib import Path

import pytest

import placement
from placement.runtime.suggestions import did_you_mean, nearest

PACKAGE = Path(placement.__file__).parent


@pytest.mark.parametrize(
    ("unknown", "cutoff", "expected"),
    [("totl", 0.6, ["total"]), ("totl", 0.95, []), ("", 0.6, []), ("_b", 0.5, [])],
)
def test_at_most_one_name_is_near(unknown: str, cutoff: float, expected: list[str]) -> None:
    assert nearest(unknown, {"total", "reserved"}, cutoff) == expected


def test_a_question_names_each_proposal_once() -> None:
    assert did_you_mean(["VCPU", "PCPU", "VCPU"]) == "; did you mean VCPU, PCPU?"


def test_no_other_module_of_the_service_compares_names() -> None:
    """The client has its own: of the service it knows the REST API alone."""
    modules = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "difflib" in _imports(path)
    ]
    assert modules == ["runtime/suggestions.py"]


def _imports(path: Path) -> set[str | None]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
