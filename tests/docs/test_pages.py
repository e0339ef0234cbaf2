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


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="b.html#there">b</a><a href="#here"><img src="c.svg">'
        '<a href="b.html">b</a><a href="https://example.org/x">x</a></p>'
    )
    (tmp_path / "b.html").write_text("<p>nothing</p>")
    assert dead_links(tmp_path) == ["a.html: b.html#there", "a.html: c.svg"]


def test_what_is_fetched_from_another_host_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<script src="https://example.org/a.js"></script><a href="https://example.org/x">x</a>'
    )
    (tmp_path / "a.css").write_text("@import url('//example.org/font.css'); a { color: red }")
    assert fetched_elsewhere(tmp_path) == [
        "a.html: https://example.org/a.js",
        "a.css: //example.org/font.css",
    ]
