"""`ReportClient.watch` and `placement-manage watch` list, follow, and list again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from falcon_placement_client import ReportClient, WatchedTree, WatchEvent, watching
from falcon_placement_client.errors import RefusedError, ServiceTooOld
from placement import cli
from placement.db import tables as t
from placement.direct import PlacementDirect
from placement.entry import console
from placement.objects import change_numbering
from tests.api.test_changes import Cloud
from tests.kit.listener import listening

LISTED, CHANGED, GONE = WatchEvent.LISTED, WatchEvent.CHANGED, WatchEvent.GONE


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.setattr(change_numbering, "INTERVAL", 0)
    with Cloud(tmp_path) as made:
        yield made


@pytest.fixture
def url(cloud: Cloud) -> Iterator[str]:
    with listening(cloud.application) as url:
        yield url


class Pauses:
    """The actions in each pause between two polls; a watch ends after the last one."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        self._acts = iter(acts)

    def sleep(self, _seconds: float) -> None:
        act = next(self._acts, None)
        if act is None:
            raise KeyboardInterrupt
        act()


def watch(
    monkeypatch: pytest.MonkeyPatch, url: str, *acts: Callable[[], object]
) -> list[WatchedTree]:
    """Return the results of a watch until all actions have been executed."""
    monkeypatch.setattr(watching, "time", Pauses(*acts))
    seen = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the loop has no other end
        for tree in ReportClient.at(url, "admin").watch():
            seen.append(tree)
    return seen


def test_a_watch_lists_and_then_follows(
    cloud: Cloud, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sorted((cloud.create(), cloud.create()))
    child = {"name": "child", "parent_provider_uuid": first}
    cloud.expect(200, "POST", "/resource_providers", child)
    new = "ffffffff-0000-4000-8000-000000000000"
    seen = watch(
        monkeypatch,
        url,
        lambda: cloud.touch(first),
        lambda: None,
        lambda: cloud.delete(second),
        lambda: cloud.create(new),
    )
    assert seen == [
        (first, LISTED),
        (second, LISTED),
        (first, CHANGED),
        (second, GONE),
        (new, CHANGED),
    ]


def test_a_watch_lists_again_when_its_cursor_is_expired(
    cloud: Cloud, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, deleted = cloud.create(), cloud.create()

    def forget() -> None:
        cloud.delete(deleted)
        with cloud.database.writer.begin() as conn:
            conn.execute(sa.delete(t.change_feed))

    seen = watch(monkeypatch, url, forget, lambda: cloud.touch(kept))
    assert sorted(seen[:2]) == sorted([(kept, LISTED), (deleted, LISTED)])
    assert seen[2:] == [(deleted, GONE), (kept, LISTED), (kept, CHANGED)]


def test_a_tree_that_is_listed_and_deleted_before_it_is_numbered_is_gone(
    cloud: Cloud, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, roots, passing = cloud.create(), watching._roots, list[str]()

    def disturbed(api: Any) -> set[str]:
        if passing:
            return roots(api)
        passing.append(cloud.create())
        listed = roots(api)
        cloud.delete(passing[0])
        return listed

    monkeypatch.setattr(watching, "_roots", disturbed)
    seen = watch(monkeypatch, url, lambda: None, lambda: None)
    assert sorted(seen[:2]) == sorted([(kept, LISTED), (passing[0], LISTED)])
    assert seen[2:] == [(passing[0], GONE)]


def test_a_change_during_the_list_is_reported_after_it(
    cloud: Cloud, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuid, roots = cloud.create(), watching._roots

    def disturbed(api: Any) -> set[str]:
        listed = roots(api)
        cloud.touch(uuid)
        return listed

    monkeypatch.setattr(watching, "_roots", disturbed)
    assert watch(monkeypatch, url) == [(uuid, LISTED), (uuid, CHANGED)]


def test_a_watch_waits_for_a_service_that_is_not_available(
    cloud: Cloud, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuid = cloud.create()
    answers = iter([503, 503])
    follow = watching._patiently

    def disturbed(request: Callable[[], Any], interval: float) -> Any:
        def ask() -> Any:
            status = next(answers, None)
            if status is not None:
                raise RefusedError("GET /changes", status, "", "the database is down")
            return request()

        return follow(ask, interval)

    monkeypatch.setattr(watching, "_patiently", disturbed)
    assert watch(monkeypatch, url, lambda: None, lambda: None) == [(uuid, LISTED)]
    answers = iter([403])
    with pytest.raises(RefusedError):
        next(ReportClient.at(url, "admin").watch())


def test_a_watch_needs_placement_2(cloud: Cloud) -> None:
    with PlacementDirect(cloud.settings.conf) as adapter, pytest.raises(ServiceTooOld):
        next(ReportClient(adapter, (1, 39)).watch())


def test_the_command_prints_lines_and_runs_a_command_for_each(
    cloud: Cloud,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    uuid = cloud.create()
    path, old, new = f"/resource_providers/{uuid}", {"name": "old name"}, {"name": "new name"}
    cloud.expect(200, "PUT", path, old)
    acts = (lambda: cloud.expect(200, "PUT", path, new), lambda: cloud.delete(uuid))
    monkeypatch.setattr(watching, "time", Pauses(lambda: None, *acts))
    assert cli.main(["watch", "--url", url]) == console.INTERRUPTED
    assert capsys.readouterr().out.splitlines() == [
        f"listed  {uuid} old name",
        f"changed {uuid} new name",
        f"gone    {uuid} new name",
    ]

    cloud.create(uuid)
    cloud.expect(200, "PUT", path, old)
    copies = tmp_path / "copies"
    source = f"import sys; open({str(copies)!r}, 'a').write(sys.stdin.read())"
    monkeypatch.setattr(watching, "time", Pauses(lambda: cloud.touch(uuid)))
    command = f'{sys.executable} -c "{source}"'
    assert cli.main(["watch", "--url", url, "--json", "--exec", command]) == console.INTERRUPTED
    lines = capsys.readouterr().out
    assert [json.loads(line) for line in lines.splitlines()] == [
        {"uuid": uuid, "name": "old name", "event": "listed"},
        {"uuid": uuid, "name": cloud.get(path)["name"], "event": "changed"},
    ]
    assert copies.read_text() == lines


def test_the_command_ends_after_a_number_of_lines(
    cloud: Cloud, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    uuids = sorted(cloud.create() for _ in range(3))
    assert cli.main(["watch", "--url", url, "--count", "2"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == uuids[:2]


@pytest.mark.parametrize("command", ["false", "/no/such/command"])
def test_a_command_that_fails_ends_the_watch(
    cloud: Cloud, url: str, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    cloud.create()
    cloud.create()
    assert cli.main(["watch", "--url", url, "--exec", command]) == 1
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1
    assert command in printed.err


def test_a_watch_that_is_closed_asks_nothing_more(cloud: Cloud, url: str) -> None:
    uuids = {cloud.create() for _ in range(3)}
    assert {tree.uuid for tree in islice(ReportClient.at(url, "admin").watch(), 3)} == uuids


def test_a_watch_continues_after_the_trees_that_another_one_has_reported(
    cloud: Cloud, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "time", Pauses(*[lambda: None] * 9))
    first, second = sorted((cloud.create(), cloud.create()))
    client = ReportClient.at(url, "admin")
    earlier = client.watch()
    assert [next(earlier), earlier.cursor] == [(first, LISTED), None]
    assert next(earlier) == (second, LISTED)
    cloud.touch(first)
    assert next(earlier) == (first, CHANGED)
    # The change may not have been processed, so it is reported again.
    since = earlier.cursor
    assert since is not None
    cloud.delete(second)
    later = client.watch(since=since, known=[first, second])
    assert set(islice(later, 2)) == {(first, CHANGED), (second, GONE)}


def test_a_watch_that_continues_too_late_lists_and_reports_known_trees_that_are_gone(
    cloud: Cloud, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, deleted = cloud.create(), cloud.create()
    earlier = ReportClient.at(url, "admin").watch()
    assert {tree.uuid for tree in islice(earlier, 2)} == {kept, deleted}
    cloud.touch(kept)
    next(earlier)
    cloud.delete(deleted)
    with cloud.database.writer.begin() as conn:
        conn.execute(sa.delete(t.change_feed))
    later = ReportClient.at(url, "admin").watch(since=earlier.cursor, known=[kept, deleted])
    assert list(islice(later, 2)) == [(deleted, GONE), (kept, LISTED)]


class _NamedTrees:
    """A service with providers whose names a test changes, and the number of its lists."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.lists = 0

    def pages(self, *_query: object) -> list[dict[str, str]]:
        self.lists += 1
        return [{"uuid": uuid, "name": name} for uuid, name in self.names.items()]


def test_each_list_of_a_watch_has_the_names_of_its_moment() -> None:
    """A second list may follow a list without an event in between, if the cursor expires."""
    api: Any = _NamedTrees()

    def lists() -> Iterator[WatchedTree]:
        for names in ({"b": "one", "c": "two"}, {"a": "new", "b": "renamed"}, {"d": "other"}):
            api.names = names
            yield from (WatchedTree(uuid, LISTED) for uuid in names)

    named = [(tree.uuid, name) for tree, name in watching.with_names(api, lists())]
    assert named == [("b", "one"), ("c", "two"), ("a", "new"), ("b", "renamed"), ("d", "other")]
    assert api.lists == 3


def test_a_tree_that_is_deleted_after_its_list_is_read_once() -> None:
    api: Any = _NamedTrees()
    trees = [WatchedTree("a", LISTED), WatchedTree("b", LISTED), WatchedTree("b", GONE)]
    assert [name for _tree, name in watching.with_names(api, trees)] == ["a", "b", "b"]
    assert api.lists == 2
