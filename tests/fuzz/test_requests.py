"""No input results in 500, in an error of the wrong form, or in a forbidden change.

`make test` sends a seeded share. ``PLACEMENT_FUZZ=100000 pytest tests/fuzz`` sends so many; now and
then it looks at what a refused one changed: nothing.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from tqdm import tqdm

from tests.fuzz.hostile import Hostile
from tests.fuzz.target import Target
from tests.kit.engines import share

REQUESTS = int(os.environ.get("PLACEMENT_FUZZ", share(4000)))
SEED = int(os.environ.get("PLACEMENT_FUZZ_SEED", "1"))
EPISODE = 200
COMPARED = 25  # one in so many
MAX_ODD = 1 << 20  # characters of an invalid value; a body has some of these


def test_no_request_produces_a_500_or_changes_what_it_was_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: Counter[int] = Counter()
    compared = 0
    target = Target(tmp_path)
    with capsys.disabled(), tqdm(total=REQUESTS, disable=REQUESTS < 10_000) as progress:
        for number in range(REQUESTS):
            if number and number % EPISODE == 0:
                # What earlier ones have deleted would be missed by later ones.
                target.close()
                target = Target(tmp_path)
            source = random.Random(f"{SEED}/{number}")
            environ = Hostile(source).environ()
            before = target.dump(but="revision") if number % COMPARED == 0 else None
            status = target.answer(environ)
            answers[status] += 1
            if before is not None and status >= 400:
                compared += 1
                assert target.dump(but="revision") == before, f"request {SEED}/{number} was refused"
            progress.update()
        target.close()
        print(f"\n{REQUESTS} requests: {dict(sorted(answers.items()))}, {compared} compared")
    # Some of everything: a fuzzer that is always turned away at the door proves little.
    assert {200, 201, 204, 400, 401, 403, 404, 405, 406, 409, 415} <= answers.keys()
    assert {413, 414} <= answers.keys()


def test_invalid_values_are_small_enough_for_the_memory_of_a_worker_to_be_measured() -> None:
    for number in range(2000):
        hostile = Hostile(random.Random(f"{SEED}/{number}"))
        hostile.malice = 1.0
        assert len(hostile.odd_json()) < MAX_ODD, f"value {SEED}/{number}"
