"""Concurrent claims of several workers, each with its own cached trees."""

import random
import uuid as uuids
from collections.abc import Iterator
from pathlib import Path

import pytest

from placement.candidates.claims.choices import STOP_AFTER_CACHED
from placement.candidates.trees.tuning import DEFAULT_TUNING
from placement.entry import app
from tests.kit.builders import make_database
from tests.kit.cloud import building
from tests.kit.service import Client
from tests.kit.statements import counted

WORKERS = 4
CLAIMS = 100
ALONE = 5  # statements of a claim in a tree that is in memory: one searches, four write


class Workers:
    """Services on one database of flat hosts that all have free capacity."""

    def __init__(self, directory: Path) -> None:
        settings, self.database = make_database(directory)
        with building(self.database.writer) as cloud:
            for number in range(2 * DEFAULT_TUNING.first_window):
                cloud.add(f"host{number}", {"VCPU": 10 * CLAIMS})
        self._services = [Client(app.create_app(settings, self.database)) for _ in range(WORKERS)]

    def claim(self, worker: int, **request: object) -> None:
        """Claim for a new consumer in one worker."""
        body = {
            "request": {"groups": {"": {"resources": {"VCPU": 1}}}, **request},
            "consumer_uuid": str(uuids.uuid4()),
            "project_id": "project",
            "user_id": "user",
            "consumer_type": "INSTANCE",
        }
        self._services[worker].expect(201, "POST", "/claims", body, "2.0")

    def statements(self, **request: object) -> float:
        """Return the statements of a claim, after all workers have made claims for some time."""
        for number in range(CLAIMS):
            self.claim(number % WORKERS, **request)
        with counted(self.database) as statements:
            for _ in range(CLAIMS):
                self.claim(random.randrange(WORKERS), **request)
        return len(statements) / CLAIMS


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    random.seed(1)  # what the claims choose, too
    made = Workers(tmp_path)
    yield made
    made.database.dispose()


def test_workers_do_not_read_again_what_the_others_have_changed(workers: Workers) -> None:
    assert workers.statements() == ALONE


def test_of_the_first_candidates_that_are_asked_for_a_worker_reads_what_has_changed(
    workers: Workers,
) -> None:
    assert workers.statements(limit=STOP_AFTER_CACHED) > ALONE
