"""If a view shows a numbering without an earlier one, no change is lost.

The second numbering has waited for the first. At one statement of a request, whichever it is, the
view shows the second alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from placement.objects import change_numbering
from tests.api.test_changes import Cloud
from tests.kit.engines import TEARS_VIEWS
from tests.kit.tearing import become, rows, tearing

pytestmark = pytest.mark.skipif(not TEARS_VIEWS, reason="views of this engine are whole")

MOST_STATEMENTS = 20


def test_no_change_is_lost_at_any_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_numbering, "INTERVAL", 0)
    with Cloud(tmp_path) as cloud:
        trees = [cloud.create() for _ in range(4)]
        cursor = cloud.changes()["cursor"]
        # Otherwise the request would be one statement.
        cloud.touch(trees[3])
        cloud.changes(cursor)
        # Each numbers two trees; the second tree is also in the other numbering.
        before = rows(cloud.database)
        for tree in trees[:2]:
            cloud.touch(tree)
        cloud.changes(cursor)
        between = rows(cloud.database)
        for tree in trees[1:3]:
            cloud.touch(tree)
        cloud.changes(cursor)
        after = rows(cloud.database)
        torn = 0
        for statement in range(MOST_STATEMENTS):
            become(cloud.database.writer, rows(cloud.database), before)
            with tearing(cloud.database, before, between, after, statement) as tear:
                answer = cloud.changes(cursor)
            if not tear.done:
                continue
            torn += 1
            seen = {change["uuid"] for change in answer["changes"]}
            seen |= cloud.entries(answer["cursor"]).keys()
            assert seen == set(trees), f"statement {statement}"
        assert torn >= 3
