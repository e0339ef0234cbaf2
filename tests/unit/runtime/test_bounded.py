"""Collections of limited size."""

from placement.runtime.bounded import Interned, SizeLimitedDict


def test_the_first_go_where_all_weigh_too_much() -> None:
    kept = SizeLimitedDict(10, len)
    for key, value in enumerate(("four", "also", "2!")):
        kept[key] = value
    assert (dict(kept), kept.size) == ({0: "four", 1: "also", 2: "2!"}, 10)
    kept[3] = "seven.."
    assert (dict(kept), kept.size) == ({2: "2!", 3: "seven.."}, 9)


def test_what_takes_the_place_of_another_weighs_alone() -> None:
    kept = SizeLimitedDict(10, len)
    kept["same"] = "eight..."
    kept["same"] = "nine....."
    assert (dict(kept), kept.size) == ({"same": "nine....."}, 9)


def test_one_that_is_too_heavy_is_kept_until_the_next() -> None:
    kept = SizeLimitedDict(3, len)
    kept["first"] = "heavy"
    assert dict(kept) == {"first": "heavy"}
    kept["second"] = "2!"
    assert (dict(kept), kept.size) == ({"second": "2!"}, 2)


def test_equal_values_are_interned_as_one_object_until_there_are_too_many() -> None:
    interned = Interned[list[int]](most=2)
    first = interned([1], key="first")
    assert interned([1], key="first") is first
    interned([2], key="second")
    interned([3], key="third")
    assert interned([1], key="first") is not first
