"""The figures in documents are the stored ones, and each can be traced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import figures
from bench.servers import REPOSITORY


def test_documents_show_what_is_kept() -> None:
    outdated = [str(path.relative_to(REPOSITORY)) for path in figures.outdated()]
    assert outdated == [], "run python -m bench.figures --write"


def test_a_table_that_was_changed_by_hand_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*figures.DOCUMENTS, figures.PICTURE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((REPOSITORY / name).read_text())
    monkeypatch.setattr(figures, "REPOSITORY", tmp_path)
    assert list(figures.outdated()) == []
    path = tmp_path / "README.rst"
    text = path.read_text()
    cell = figures.kept()["of-a-cloud"].rows["a claim"][0]
    path.write_text(re.sub(rf"^(a claim +){cell} ", r"\g<1>0.1 ", text, flags=re.MULTILINE))
    assert list(figures.outdated()) == [path]


def test_every_table_says_how_and_when_it_was_measured() -> None:
    for name, table in figures.kept().items():
        assert table.command, name
        assert table.engine, name
        assert re.fullmatch(r"[0-9a-f]{7,}, 20\d\d-\d\d-\d\d", table.recorded), name
        assert {len(cells) for cells in table.rows.values()} == {len(table.columns)}, name


def test_every_table_is_shown() -> None:
    texts = [(REPOSITORY / name).read_text() for name in figures.DOCUMENTS]
    shown = re.findall(r"^\.\. figures: ([\w-]+)\n\n\*Commit", "\n".join(texts), re.MULTILINE)
    assert set(shown) == figures.kept().keys()
