"""Texts of the parts of providers, which are kept in memory."""

import tracemalloc

from placement.api.history import v
from placement.api.responses.providers import part_texts
from placement.api.shapes import View
from placement.objects.provider_parts import Part

PROVIDERS = 1_000


def test_a_text_takes_hardly_more_memory_than_it_is_said_to() -> None:
    traits = {number: [f"CUSTOM_{number}"] for number in range(PROVIDERS)}
    tracemalloc.start()
    try:
        texts = part_texts(Part.TRAITS, traits, View(v("2.0")))
        taken, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 3 * sum(size for _text, size in texts.values())
