"""Each code of explanations has a sentence and a meaning."""

import re
from itertools import product
from pathlib import Path

import pytest

from placement.candidates.model import Refusal
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.foresight.explanation import CODES
from placement.foresight.explanation.causes import RejectionCause
from placement.foresight.explanation.rejected_hosts import CauseHosts
from placement.foresight.explanation.words.codes import SENTENCES
from placement.foresight.explanation.words.sentences import Words

ROOT = Path(__file__).parents[5]


def test_each_code_of_explanations_has_a_sentence_and_a_meaning() -> None:
    assert SENTENCES.keys() >= {*CODES}
    for code in CODES:
        assert re.fullmatch(r"[a-z][^.]+[^.]", code.meaning)


def test_meanings_are_defined_in_one_place() -> None:
    """The command, the page and the documents show what the server says."""
    searched = product((ROOT / "placement", ROOT / "docs"), ("*.py", "*.js", "*.rst"))
    texts = {
        path: path.read_text() for folder, pattern in searched for path in folder.rglob(pattern)
    }
    for code in CODES:
        defined_in = {path.name for path, text in texts.items() if f'"{code.meaning}"' in text}
        assert defined_in <= {"model.py"}, code
    assert len(texts) > 300


@pytest.mark.parametrize(("causes", "clauses", "more"), [(5, 5, 0), (6, 6, 0), (7, 6, 2)])
def test_a_single_further_cause_is_stated(causes: int, clauses: int, more: int) -> None:
    plan = SearchPlan(CandidateRequest((RequestGroup("", (("VCPU", 1),)),)))
    hosts = [CauseHosts((RejectionCause(providers=each),), 1) for each in range(causes)]
    stated = Words(plan, {}).clauses([(Refusal.BUDGET, each) for each in hosts])
    assert len(stated) == clauses
    assert sum("more because" in each for each in stated) == bool(more)
    assert not more or stated[-1].startswith(f"{more} more because")
