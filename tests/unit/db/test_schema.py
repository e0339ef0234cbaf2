"""Which schemas a release can work on, by the names of their revisions."""

import re

import pytest

from placement.db import revisions, schema

# The revision of openstack-placement's tables.
WITHOUT = ["0001"]


@pytest.mark.parametrize(
    ("recorded", "later"),
    [
        ("0006_since_0003", True),
        ("0006_since_0005", True),
        ("0007_since_0005", True),
        ("0007_since_0006", False),  # only releases that know 0006
        ("0006", False),  # only releases that know it
        ("0005", False),
        ("0005_since_0003", False),  # the own one, under another name
        ("0004_since_0003", False),  # an earlier one
        ("0004", False),
        (None, False),
        ("9999", False),
        ("a082b8bb98d0", False),
        ("0006_since_", False),
        ("0006_since_0003_and_more", False),
    ],
)
@pytest.mark.parametrize("own", ["0005", "0005_since_0004"])
def test_a_later_schema_is_one_that_names_an_earlier_release_than_this(
    monkeypatch: pytest.MonkeyPatch, own: str, recorded: str | None, later: bool
) -> None:
    monkeypatch.setattr(schema, "newest", lambda: own)
    assert schema.is_later(recorded) == later


def test_revisions_are_numbered_and_say_since_when_releases_can_work_on_them() -> None:
    script = revisions._script()
    names = [each.revision for each in reversed(list(script.walk_revisions()))]
    assert names == schema._revisions()
    assert schema.newest() == script.get_current_head()
    assert names[: len(WITHOUT)] == WITHOUT
    before, since = 0, 0
    for revision in names:
        numbers = schema._numbers(revision)
        assert numbers is not None, revision
        assert before < numbers[0]
        # No later revision adds an object again that a revision has removed.
        assert since <= numbers[1] <= numbers[0], revision
        before, since = numbers
        path = script.get_revision(revision).path
        assert re.search(rf"/{revision}_[a-z_]+\.py$", path)
