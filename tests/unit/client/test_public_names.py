"""The names of `from falcon_placement_client import *`."""

from __future__ import annotations

from falcon_placement_client import public


def test_a_star_import_gives_all_public_names() -> None:
    names: dict[str, object] = {}
    exec("from falcon_placement_client import *", names)
    assert names.keys() - {"__builtins__"} == set(public.__all__)
    assert names["ReportClient"] is public.ReportClient
