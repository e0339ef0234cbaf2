"""Each event moves its metrics, and no other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client import Counter

from placement.candidates.model import Refusal
from placement.db.retries import Cause
from placement.metrics import declarations as d
from placement.metrics.counts import Counts
from placement.runtime import events
from placement.runtime.events import Event
from tests.kit import metrics as kit
from tests.kit.builders import make_database

SEARCH = {
    "candidates": 12,
    "bound": None,
    "steps": 70,
    "looks": 900,
    "trees_searched": 5,
    "trees_served": 4,
    "exhausted": False,
}
REQUEST = {
    "operation": "list_traits",
    "version": "1.39",
    "method": "GET",
    "path": "/traits",
    "status": "200",
    "seconds": 0.004,
    "length": 100,
    "statements": 2,
    "slow": False,
}

Scrape = Callable[[], kit.Samples]


@pytest.fixture
def scrape(tmp_path: Path) -> Iterator[Scrape]:
    _settings, database = make_database(tmp_path)
    with kit.counting(tmp_path / "metrics", inventory_seconds=0) as metrics:
        yield lambda: kit.samples(metrics.text(database))
    database.dispose()


def test_requests_are_counted_by_operation_status_and_line(scrape: Scrape) -> None:
    events.emit(Event.REQUEST, **REQUEST)
    events.emit(Event.REQUEST, **{**REQUEST, "version": "2.0", "status": "503", "statements": 0})
    events.emit(Event.REQUEST, **{**REQUEST, "version": None, "seconds": 3.0, "slow": True})
    said = scrape()
    assert kit.of(said, "placement_requests_total") == {
        "operation=list_traits,status=200,version=1": 1,
        "operation=list_traits,status=503,version=2": 1,
        "operation=list_traits,status=200,version=none": 1,
    }
    assert kit.of(said, "placement_request_seconds_count") == {"operation=list_traits": 3}
    assert kit.of(said, "placement_request_seconds_sum") == {"operation=list_traits": 3.008}
    buckets = kit.of(said, "placement_request_seconds_bucket")
    assert {
        labels.partition(",")[0]: value for labels, value in buckets.items() if value not in (0, 2)
    } == {"le=5.0": 3, "le=10.0": 3, "le=20.0": 3, "le=+Inf": 3}
    assert buckets["le=0.0025,operation=list_traits"] == 0
    assert buckets["le=0.005,operation=list_traits"] == 2
    assert kit.of(said, "placement_statements_total") == {"operation=list_traits": 4}
    assert kit.of(said, "placement_slow_requests_total") == {"operation=list_traits": 1}


def test_searches_are_counted_with_what_they_took_and_what_cut_them(scrape: Scrape) -> None:
    events.emit(Event.SEARCH, **SEARCH)
    events.emit(Event.SEARCH, **{**SEARCH, "candidates": 0, "bound": "max_search_steps"})
    said = scrape()
    sums = {
        "placement_search_candidates": 12,
        "placement_search_trees": 10,
        "placement_search_steps": 140,
    }
    for name, total in sums.items():
        assert kit.of(said, f"{name}_count") == {"": 2}
        assert kit.of(said, f"{name}_sum") == {"": total}
    assert kit.of(said, "placement_search_candidates_bucket")["le=0.0"] == 1
    assert kit.of(said, "placement_search_bounds_total") == {"bound=max_search_steps": 1}


def test_empty_responses_are_counted_by_code(scrape: Scrape) -> None:
    for code in (Refusal.CAPACITY, Refusal.FILTERED, Refusal.CAPACITY):
        events.emit(Event.REFUSAL, code=code)
    assert kit.of(scrape(), "placement_refusals_total") == {"code=capacity": 2, "code=filtered": 1}


def test_trees_are_counted_by_where_they_came_from(scrape: Scrape) -> None:
    events.emit(Event.TREES, cached=0, loaded=7, kept=30)
    events.emit(Event.TREES, cached=7, loaded=1, kept=34)
    said = scrape()
    assert kit.of(said, "placement_trees_total") == {"source=memory": 7, "source=database": 8}
    assert kit.of(said, "placement_tree_cache_providers") == {"": 34}


def test_what_goes_wrong_is_counted_by_what_it_was(scrape: Scrape) -> None:
    events.emit(Event.RETRY, attempt=1, cause=Cause.DEADLOCK)
    events.emit(Event.RETRY, attempt=2, cause=Cause.CONFLICT)
    events.emit(Event.CLAIM, consumers=3, tries=4)
    events.emit(Event.CONFLICT, code="placement.inventory.inuse")
    for happened in (True, False, None, True):
        events.emit(Event.LOST_COMMIT, happened=happened)
    events.emit(Event.NO_CONNECTION, pool="read")
    events.emit(Event.CONNECTION, pool="write", seconds=0.25)
    events.emit(Event.CONNECTION, pool="write", seconds=0.5)
    said = scrape()
    assert kit.of(said, "placement_write_retries_total") == {
        "cause=deadlock": 1,
        "cause=conflict": 1,
    }
    assert kit.of(said, "placement_claim_tries_sum") == {"": 4}
    assert kit.of(said, "placement_conflicts_total") == {"code=placement.inventory.inuse": 1}
    assert kit.of(said, "placement_lost_commits_total") == {
        "outcome=happened": 2,
        "outcome=not_happened": 1,
        "outcome=unknown": 1,
    }
    assert kit.of(said, "placement_pool_timeouts_total") == {"pool=read": 1}
    assert kit.of(said, "placement_pool_busy_seconds_total") == {"pool=write": 0.75}


def test_every_declared_metric_is_counted_and_no_other(scrape: Scrape) -> None:
    events.emit(Event.REQUEST, **{**REQUEST, "slow": True})
    events.emit(Event.SEARCH, **{**SEARCH, "bound": "max_answer_size"})
    events.emit(Event.REFUSAL, code=Refusal.CAPACITY)
    events.emit(Event.TREES, cached=1, loaded=1, kept=1)
    events.emit(Event.RETRY, attempt=1, cause=Cause.DATABASE)
    events.emit(Event.CLAIM, consumers=1, tries=1)
    events.emit(Event.CONFLICT, code="x")
    events.emit(Event.LOST_COMMIT, happened=True)
    events.emit(Event.NO_CONNECTION, pool="read")
    events.emit(Event.CONNECTION, pool="read", seconds=1)
    suffixes = {d.Kind.HISTOGRAM: ("_sum", "_count", "_bucket")}
    declared = {
        f"{metric.name}{suffix}": set(metric.labels) | ({"le"} if suffix == "_bucket" else set())
        for metric in (*d.SERVICE, d.BUILD, *d.PROCESSES)
        for suffix in suffixes.get(metric.kind, ("",))
    }
    counted = {
        name: {label.partition("=")[0] for label in labels.split(",") if label}
        for name, labels in scrape()
    }
    assert counted == declared


def test_a_process_stops_counting_alone(
    scrape: Scrape, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A forked process does not have the full disk of its parent, or finds that out itself."""

    def refuse(*_arguments: object) -> None:
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(Counter, "inc", refuse)
        events.emit(Event.CONFLICT, code="a")
    assert "no space" in caplog.text
    events.emit(Event.CONFLICT, code="a")
    assert kit.of(scrape(), d.CONFLICTS.name) == {"code=a": 0}
    parent = os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: parent + 1)
        events.emit(Event.CONFLICT, code="a")
    assert kit.of(scrape(), d.CONFLICTS.name) == {"code=a": 1}


def test_every_event_is_counted(scrape: Scrape) -> None:
    assert set(Counts()._count) == set(Event)
