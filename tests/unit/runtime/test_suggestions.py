import ast
import random
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path

import pytest

import placement
from placement.runtime import suggestions
from placement.runtime.suggestions import MAX_COMPARISONS, PARENTHESES, did_you_mean, nearest

PACKAGE = Path(placement.__file__).parent


@pytest.mark.parametrize(
    ("unknown", "cutoff", "expected"),
    [("totl", 0.6, ["total"]), ("totl", 0.95, []), ("", 0.6, []), ("_b", 0.5, [])],
)
def test_at_most_one_name_is_near(unknown: str, cutoff: float, expected: list[str]) -> None:
    assert nearest(unknown, {"total", "reserved"}, cutoff) == expected


def test_the_nearest_name_does_not_depend_on_the_order_of_names() -> None:
    names = ["max_unit", "min_unit", "mix_unit"]
    assert nearest("mxx_unit", names) == nearest("mxx_unit", reversed(names))


def test_the_nearest_name_is_that_of_a_complete_comparison() -> None:
    numbers = random.Random(1)
    names = {"".join(numbers.choices("ABC_", k=numbers.randrange(1, 9))) for _ in range(90)}
    for unknown in (
        *sorted(names)[::9],
        *("".join(numbers.choices("ABC_", k=8)) for _ in "x" * 50),
    ):
        for cutoff in (0.3, 0.6, 0.9):
            assert nearest(unknown, names, cutoff) == get_close_matches(unknown, names, 1, cutoff)


@pytest.mark.parametrize("unknown", ["A" * 60 + "X" + "B" * 60, "AB" * 120])
def test_few_of_many_long_names_are_compared_completely(
    monkeypatch: pytest.MonkeyPatch, unknown: str
) -> None:
    compared = []

    class Counted(SequenceMatcher[str]):
        def ratio(self) -> float:
            compared.append(self)
            return super().ratio()

    monkeypatch.setattr(suggestions, "SequenceMatcher", Counted)
    numbers = random.Random(1)
    near = "A" * 60 + "Y" + "B" * 60
    names = ["".join(numbers.sample(near, len(near))) for _ in range(500)]
    nearest(unknown, [*names, near])
    assert len(compared) <= MAX_COMPARISONS


def test_a_question_names_each_proposal_once() -> None:
    assert did_you_mean(["VCPU", "PCPU", "VCPU"]) == "; did you mean VCPU, PCPU?"


def test_a_request_is_shown_in_its_stated_form() -> None:
    assert did_you_mean(["VCPU"], PARENTHESES) == " (did you mean VCPU?)"


@pytest.mark.parametrize("form", ["; {}", PARENTHESES])
def test_without_a_proposal_there_is_no_question(form: str) -> None:
    assert did_you_mean([], form) == ""


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
