"""The figures in documents are the stored ones, and each can be traced."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench import figures, growth
from bench.servers import REPOSITORY
from bench.tables import Cell, Table

TABLE = Table(
    command="python -m bench",
    engine="sqlite",
    conditions="",
    recorded="",
    first="row",
    columns=["ms", "aim"],
    rows={"one": [1.5, None], "two": [2000, ">= 8 x"]},
)


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


def test_a_table_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "table.json")
    assert Table.read(tmp_path / "table.json") == TABLE


def test_texts_stand_to_the_left_and_numbers_to_the_right() -> None:
    assert TABLE.text().splitlines() == [
        "===  =====  ======",
        "row     ms  aim",
        "===  =====  ======",
        "one    1.5  –",  # noqa: RUF001
        "two  2,000  >= 8 x",
        "===  =====  ======",
    ]


def test_a_part_has_the_rows_and_columns_that_are_named() -> None:
    shown = {"first": "what", "rows": {"two": "second"}, "columns": {"ms": "time"}}
    part = figures.part(TABLE, shown)
    assert (part.first, part.columns, part.rows) == ("what", ["time"], {"second": [2000]})
    with pytest.raises(KeyError):
        figures.part(TABLE, {**shown, "rows": {"three": ""}})


def test_a_result_replaces_the_rows_of_a_table_and_keeps_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "KEPT", tmp_path)
    replace(TABLE, columns=["ms"], rows={"old": [3.0]}).write(tmp_path / "kept.json")
    replace(TABLE, recorded="abc, 2026-11-27").write(tmp_path / "run.json")
    figures.take(tmp_path / "run.json", "kept", "without load")
    table = Table.read(tmp_path / "kept.json")
    assert (table.columns, table.rows) == (["ms"], {"one": [1.5], "two": [2000]})
    assert table.origin() == "*Commit abc, 2026-11-27, sqlite; without load.*\n"


def test_the_same_requests_to_clouds_of_several_sizes_share_a_row() -> None:
    rows = [
        {"scenario": "light 1,000 hosts x 2 consumers, limit 10", "ours": {"median": 1.84}},
        {"scenario": "flat 1,000, limit 10", "ours": {"median": 9}},
        {
            "scenario": "light 10,000 hosts x 2 consumers, limit 10",
            "ours": {"median": 2},
            "peer": {"median": 3950.2},
        },
    ]
    table = growth.by_size("mariadb", rows)
    assert table.columns == ["1,000", "10,000"]
    assert table.rows == {"limit 10": [1.8, 2], "limit 10, peer": [None, 3950]}


def test_the_picture_has_lines_of_some_rows_and_a_point_for_each_figure() -> None:
    rows: dict[str, list[Cell]] = {
        "limit 10": [1, 10.0],
        "limit 10, peer": [100, None],
        "none match": [1, 1],
    }
    drawing = growth.draw(replace(TABLE, columns=["1,000", "10,000"], rows=rows))
    lines = re.findall(r'<polyline points="(.*?)"', drawing)
    assert [len(points.split()) for points in lines] == [2, 1]
    assert drawing.count("stroke-dasharray") == 2  # the line, and its sample
