"""The documentation builds without network access, and its links work."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.pages import dead_links, fetched_elsewhere


def test_no_link_within_the_pages_leads_nowhere(built: Path) -> None:
    assert dead_links(built) == []


def test_pages_have_nothing_fetched_from_other_hosts(built: Path) -> None:
    assert fetched_elsewhere(built) == []


def test_no_cell_of_a_table_is_a_list_of_nothing(built: Path) -> None:
    empty = re.compile(r"<li>\s*(<p>\s*</p>)?\s*</li>")
    assert [path.name for path in built.rglob("*.html") if empty.search(path.read_text())] == []
