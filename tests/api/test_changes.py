"""`GET /changes` in cases that gabbits cannot test: time, backups, failures, thousands of trees."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.db import tables as t
from placement.db.engine import Database
from placement.db.statements import change_numbering as statements
from placement.entry import app
from placement.objects import change_numbering
from tests.kit.builders import settings
from tests.kit.engines import ENGINE
from tests.kit.service import Client, Service
from tests.kit.statements import counted

TABLES = (t.tree_changes, t.change_batches, t.change_feed)
EXPIRED = "placement.cursor_expired"


class Cloud(Service):
    """Creates, changes and deletes trees in a service."""

    def changes(self, cursor: str | None = None, limit: int = 1000) -> Any:
        since = "" if cursor is None else f"&since={cursor}"
        return self.get(f"/changes?limit={limit}{since}", "2.0")

    def entries(self, cursor: str, limit: int = 1000) -> dict[str, bool]:
        """Return the uuid of each change, with `gone`."""
        changes = self.changes(cursor, limit)["changes"]
        entries = {change["uuid"]: change["gone"] for change in changes}
        assert len(entries) == len(changes)
        return entries

    def poll(self, cursor: str, limit: int = 1000) -> tuple[list[str], list[bool], str]:
        """Poll three times. Return the UUIDs, whether each was complete, and the cursor."""
        answers: list[Any] = []
        for _ in range(3):
            answers.append(self.changes(answers[-1]["cursor"] if answers else cursor, limit))
        uuids = sorted(change["uuid"] for answer in answers for change in answer["changes"])
        return uuids, [answer["complete"] for answer in answers], answers[-1]["cursor"]

    def error(self, cursor: str) -> str:
        answer = self.expect(410, "GET", f"/changes?since={cursor}", version="2.0")
        return str(answer.json["errors"][0]["code"])

    def create(self, uuid: str | None = None) -> str:
        uuid = uuid or str(uuids.uuid4())
        self.expect(200, "POST", "/resource_providers", {"name": uuid, "uuid": uuid})
        return uuid

    def touch(self, uuid: str) -> None:
        """Write to a tree."""
        name = str(uuids.uuid4())
        self.expect(200, "PUT", f"/resource_providers/{uuid}", {"name": name}, "1.36")

    def delete(self, uuid: str) -> None:
        self.expect(204, "DELETE", f"/resource_providers/{uuid}")

    def rows(self, table: sa.Table) -> Sequence[Any]:
        with self.database.read() as conn:
            return conn.execute(sa.select(table).order_by(*table.primary_key)).all()

    def age(self, seconds: float) -> None:
        """Make all numberings older by this time."""
        with self.database.writer.begin() as conn:
            for table in (t.change_batches, t.change_feed):
                column = table.c.numbered_at
                conn.execute(sa.update(table).values(numbered_at=column - int(1000 * seconds)))


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """A cloud in which each request numbers changes, without waiting for a second."""
    monkeypatch.setattr(change_numbering, "INTERVAL", 0)
    with Cloud(tmp_path) as made:
        yield made


def test_a_poll_without_changes_is_one_statement_and_takes_no_lock(cloud: Cloud) -> None:
    cursor = cloud.changes()["cursor"]
    cloud.create()
    cursor = cloud.changes(cursor)["cursor"]
    with counted(cloud.database) as statements:
        assert cloud.changes(cursor) == {"changes": [], "cursor": cursor, "complete": True}
        assert cloud.changes()["cursor"] == cursor
    assert len(statements) == 2
    assert not any("FOR UPDATE" in text for text in statements)


def test_a_poll_with_changes_takes_as_many_statements_for_100_trees_as_for_1(cloud: Cloud) -> None:
    cursor = cloud.changes()["cursor"]
    numbers = []
    for size in (1, 100):
        for _ in range(size):
            cloud.create()
        with counted(cloud.database) as statements:
            answer = cloud.changes(cursor)
        assert len(answer["changes"]) == size
        cursor = answer["cursor"]
        numbers.append(len(statements))
    assert numbers[0] == numbers[1] <= 14


def test_changes_are_numbered_once_in_an_interval_for_all_servers(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = cloud.changes()["cursor"]
    cloud.create()
    monkeypatch.setattr(change_numbering, "INTERVAL", 10**9)
    for _ in range(3):
        assert cloud.changes(cursor) == {"changes": [], "cursor": cursor, "complete": True}
    assert len(cloud.rows(t.change_batches)) == 1
    # A clock that was set back does not stop the feed.
    cloud.age(-(10**5))
    assert len(cloud.entries(cursor)) == 1


def test_more_changes_than_one_numbering_takes_are_numbered_by_the_next_requests_at_once(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = cloud.changes()["cursor"]
    created = sorted(cloud.create() for _ in range(5))
    monkeypatch.setattr(change_numbering, "INTERVAL", 10**9)
    cloud.age(10**8)
    limited = partial(change_numbering.number, max_numbered=2)
    monkeypatch.setattr(change_numbering, "number", limited)
    *polled, cursor = cloud.poll(cursor)
    assert polled == [created, [False, False, True]]
    for uuid in created:
        cloud.delete(uuid)
    cloud.age(10**8)
    assert cloud.poll(cursor)[:2] == (created, [False, False, True])


def test_pages_have_every_change_once(cloud: Cloud) -> None:
    start = cloud.changes()["cursor"]
    created = sorted(cloud.create() for _ in range(5))
    seen, complete, cursor = cloud.poll(start, limit=2)
    assert (seen, complete) == (created, [False, False, True])
    assert cloud.changes(start)["cursor"] == cursor


def test_a_tree_that_is_deleted_after_its_numbering_is_gone_in_the_answer(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = cloud.changes()["cursor"]
    deleted, recreated = cloud.create(), cloud.create()
    assert cloud.entries(cursor) == {deleted: False, recreated: False}
    cloud.delete(recreated)
    assert cloud.entries(cursor) == {deleted: False, recreated: True}
    monkeypatch.setattr(change_numbering, "INTERVAL", 10**9)
    cloud.delete(deleted)
    assert cloud.entries(cursor) == {deleted: True, recreated: True}


def test_a_tree_that_is_created_again_is_reported_with_its_own_number(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = cloud.changes()["cursor"]
    other, recreated = cloud.create(), cloud.create()
    cloud.changes(start)
    cloud.delete(recreated)
    assert cloud.entries(start) == {other: False, recreated: True}
    monkeypatch.setattr(change_numbering, "INTERVAL", 10**9)
    # A follower that read it now would keep it for ever if it were deleted before its number.
    cloud.create(recreated)
    answer = cloud.changes(start)
    assert [each["uuid"] for each in answer["changes"]] == [other]
    waiting = cloud.changes(answer["cursor"])
    assert waiting == {"changes": [], "cursor": answer["cursor"], "complete": True}
    monkeypatch.setattr(change_numbering, "INTERVAL", 0)
    assert cloud.entries(answer["cursor"]) == {recreated: False}
    # Without a revision it has no number.
    cursor = cloud.changes(start)["cursor"]
    cloud.delete(recreated)
    assert cloud.entries(cursor) == {recreated: True}
    cloud.create(recreated)
    with cloud.database.writer.begin() as conn:
        conn.execute(sa.update(t.resource_providers).values(revision=0))
    assert cloud.entries(cursor)[recreated] is False


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has one writer at a time")
def test_a_deletion_is_reported_if_the_tree_was_created_again_during_its_numbering(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor, tree = cloud.changes()["cursor"], cloud.create()
    cursor = cloud.changes(cursor)["cursor"]
    cloud.delete(tree)
    query = statements.gone(1000)
    with monkeypatch.context() as patch:
        patch.setattr(statements, "gone", lambda _size: cloud.create(tree) and query)
        cursor = cloud.changes(cursor)["cursor"]
    cloud.delete(tree)
    assert cloud.entries(cursor) == {tree: True}


def test_the_id_of_a_deleted_root_may_be_used_again(cloud: Cloud) -> None:
    cursor = cloud.changes()["cursor"]
    first = cloud.create()
    cursor = cloud.changes(cursor)["cursor"]
    cloud.delete(first)
    second = cloud.create()
    provider = t.resource_providers
    with cloud.database.writer.begin() as conn:
        known = conn.execute(sa.select(t.tree_changes.c.provider_id)).scalar_one()
        reuse(conn, {second: known})
    assert cloud.entries(cursor) == {first: True, second: False}
    # Two trees exchange their ids, as after a failover.
    third = cloud.create()
    cursor = cloud.changes(cursor)["cursor"]
    with cloud.database.writer.begin() as conn:
        ids = {row.uuid: row.id for row in conn.execute(sa.select(provider.c.uuid, provider.c.id))}
        reuse(conn, {second: 10**6, third: ids[second]})
        reuse(conn, {second: ids[third]})
        for uuid, revision in ((second, 2**50), (third, 2**51)):
            conn.execute(
                sa.update(provider).where(provider.c.uuid == uuid).values(revision=revision)
            )
    assert cloud.entries(cursor) == {second: False, third: False}


def reuse(conn: Connection, new_ids: Mapping[str, int]) -> None:
    """Assign different ids to the roots."""
    provider = t.resource_providers
    for uuid, row_id in new_ids.items():
        this = provider.c.uuid == uuid
        conn.execute(sa.update(provider).where(this).values(root_provider_id=None))
        conn.execute(sa.update(provider).where(this).values(id=row_id))
        conn.execute(sa.update(provider).where(this).values(root_provider_id=row_id))


def test_a_numbering_that_fails_leaves_its_changes_to_the_next_one(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = cloud.changes()["cursor"]
    deleted, created = cloud.create(), cloud.create()
    cursor = cloud.changes(cursor)["cursor"]
    cloud.delete(deleted)
    cloud.touch(created)
    before = [cloud.rows(table) for table in TABLES]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_numbering, "_forget", lambda *_args: 1 / 0)
        cloud.expect(500, "GET", f"/changes?since={cursor}", version="2.0")
    assert [cloud.rows(table) for table in TABLES] == before
    assert cloud.entries(cursor) == {deleted: True, created: False}


# -- expiry --------------------------------------------------------------------------------------


def test_cursors_and_deleted_trees_are_forgotten_but_never_the_newest_cursor(cloud: Cloud) -> None:
    kept = cloud.settings.changes_kept
    first = cloud.changes()["cursor"]
    deleted, changed = cloud.create(), cloud.create()
    second = cloud.changes(first)["cursor"]
    cloud.delete(deleted)
    third = cloud.changes(second)["cursor"]
    cloud.age(2 * kept)
    # Nothing has been numbered since, so nothing is forgotten.
    assert cloud.entries(first) == {deleted: True, changed: False}
    assert cloud.entries(third) == {}
    # The newest cursor is still valid when it is the newest no more.
    cloud.touch(changed)
    answer = cloud.changes(third)
    assert [change["uuid"] for change in answer["changes"]] == [changed]
    assert [cloud.error(cursor) for cursor in (first, second)] == [EXPIRED] * 2
    assert {row.uuid for row in cloud.rows(t.tree_changes)} == {deleted, changed}
    # A deletion is forgotten with the numbering that has recorded it.
    cloud.age(2 * kept)
    cloud.touch(changed)
    assert cloud.entries(answer["cursor"]) == {changed: False}
    assert cloud.error(third) == EXPIRED
    assert [row.uuid for row in cloud.rows(t.tree_changes)] == [changed]
    assert len(cloud.rows(t.change_batches)) == 2


def test_a_cursor_of_changes_that_a_restored_backup_lacks_is_expired(cloud: Cloud) -> None:
    cursor = cloud.changes()["cursor"]
    uuid = cloud.create()
    kept = cloud.changes(cursor)["cursor"]
    backup = {table: [dict(row._mapping) for row in cloud.rows(table)] for table in TABLES}
    (root,) = cloud.rows(t.resource_providers)
    for _ in range(3):
        cloud.touch(uuid)
        cursor = cloud.changes(cursor)["cursor"]
    with cloud.database.writer.begin() as conn:
        conn.execute(sa.update(t.resource_providers).values(revision=root.revision))
        for table, rows in backup.items():
            conn.execute(sa.delete(table))
            conn.execute(sa.insert(table), rows)
    assert cloud.error(cursor) == EXPIRED
    for _ in range(6):
        cloud.touch(uuid)
        kept = cloud.changes(kept)["cursor"]
    # The numbers of the restored database have passed that of the cursor.
    assert int(kept[:16], 16) > int(cursor[:16], 16)
    assert cloud.error(cursor) == EXPIRED


def test_a_cursor_of_another_database_is_expired(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    with Cloud(tmp_path / "other") as other:
        cursor = other.changes()["cursor"]
        # Also where no client has followed changes yet.
        assert cloud.error(cursor) == EXPIRED
        cloud.changes()
        assert cloud.error(cursor) == EXPIRED


def test_existing_trees_are_no_changes_in_the_history_that_empty_tables_begin(cloud: Cloud) -> None:
    cursor = cloud.changes()["cursor"]
    uuid = cloud.create()
    cursor = cloud.changes(cursor)["cursor"]
    with cloud.database.writer.begin() as conn:
        conn.execute(sa.delete(t.change_feed))
    assert cloud.error(cursor) == EXPIRED
    later = cloud.changes()["cursor"]
    assert cloud.error(cursor) == EXPIRED
    assert cloud.entries(later) == {}
    cloud.touch(uuid)
    assert cloud.entries(later) == {uuid: False}


# -- other ------------------------------------------------------------------------------------


def test_a_sync_reports_every_tree(cloud: Cloud) -> None:
    cursor = cloud.changes()["cursor"]
    created = {cloud.create() for _ in range(3)}
    cursor = cloud.changes(cursor)["cursor"]
    with cloud.database.writer.begin() as conn:
        conn.execute(sa.update(t.resource_providers).values(revision=2**50))
    assert cloud.entries(cursor).keys() == created


@pytest.mark.skipif(ENGINE != "sqlite", reason="the URLs are those of files")
def test_changes_are_never_read_from_a_replica(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "replica").mkdir()
    with Cloud(tmp_path / "replica") as replica:
        url = {"connection": str(cloud.database.writer.url)}
        both = {**url, "slave_connection": str(replica.database.writer.url)}
        made = settings(both["connection"], placement_database=both)
        database = Database(made.database)
        client = Client(app.create_app(made, database))
        cursor = client.get("/changes", "2.0")["cursor"]
        uuid = cloud.create()
        changes = client.get(f"/changes?since={cursor}", "2.0")["changes"]
        assert changes == [{"uuid": uuid, "gone": False}]
        assert client.get("/resource_providers")["resource_providers"] == []
        assert replica.rows(t.change_feed) == []
        database.dispose()
