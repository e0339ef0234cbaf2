"""What is kept of statements, within a bound."""

from placement.db import bulk
from placement.db.bounded import Bounded


def test_the_first_go_where_all_weigh_too_much() -> None:
    kept = Bounded(10, len)
    for key, value in enumerate(("four", "also", "2!")):
        kept[key] = value
    assert (dict(kept), kept.weight) == ({0: "four", 1: "also", 2: "2!"}, 10)
    kept[3] = "seven.."
    assert (dict(kept), kept.weight) == ({2: "2!", 3: "seven.."}, 9)


def test_what_takes_the_place_of_another_weighs_alone() -> None:
    kept = Bounded(10, len)
    kept["same"] = "eight..."
    kept["same"] = "nine....."
    assert (dict(kept), kept.weight) == ({"same": "nine....."}, 9)


def test_one_that_is_too_heavy_is_kept_until_the_next() -> None:
    kept = Bounded(3, len)
    kept["first"] = "heavy"
    assert dict(kept) == {"first": "heavy"}
    kept["second"] = "2!"
    assert (dict(kept), kept.weight) == ({"second": "2!"}, 2)


def test_a_statement_is_built_once_for_each_number_of_rows() -> None:
    sizes: list[tuple[str, int, bool]] = []

    @bulk.by_size
    def build(name: str, size: int, *, guarded: bool) -> object:
        sizes.append((name, size, guarded))
        return object()

    first = build("one", size=3, guarded=True)
    assert build("one", size=3, guarded=True) is first
    others = [
        build("one", size=4, guarded=True),
        build("two", size=3, guarded=True),
        build("one", size=3, guarded=False),
    ]
    assert first not in others
    assert len(set(sizes)) == len(sizes) == 4
    build("large", size=bulk.MOST_ROWS, guarded=True)
    assert build("one", size=3, guarded=True) is not first
