"""Each code of explanations has a sentence and a meaning."""

import re
from itertools import product
from pathlib import Path

from placement.foresight.explanation import CODES
from placement.foresight.explanation.words.codes import SENTENCES

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
        assert defined_in <= {"trace.py"}, code
    assert len(texts) > 300
