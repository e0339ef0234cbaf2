"""Texts of providers: what is kept in memory, and lists while they are written."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

from placement.api.history import LATEST, v
from placement.api.operations.provider_shapes import (
    CHUNK_SIZE,
    PROVIDERS,
    WithParts,
    part_texts,
    provider_texts,
)
from placement.api.shapes import View
from placement.objects.provider_parts import Part
from placement.objects.providers import Provider
from tests.kit.cloud import provider_uuid


@contextmanager
def traced() -> Iterator[None]:
    """Count the memory that the block takes."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def hosts(number: int) -> list[Provider]:
    uuids = map(provider_uuid, range(number))
    return [Provider(uuid, uuid, 1, None, uuid, None, row) for row, uuid in enumerate(uuids)]


def test_the_text_of_a_part_takes_hardly_more_memory_than_it_is_said_to() -> None:
    traits = {number: [f"CUSTOM_{number}"] for number in range(1000)}
    with traced():
        texts = part_texts(Part.TRAITS, traits, View(v("2.0")))
        taken, _peak = tracemalloc.get_traced_memory()
    assert taken < 3 * sum(text.size for text in texts.values())


def test_the_text_of_a_provider_takes_no_more_memory_than_it_is_said_to() -> None:
    providers = hosts(1000)
    with traced():
        texts = provider_texts(providers, View(LATEST))
        taken, _peak = tracemalloc.get_traced_memory()
    assert 0 < taken <= sum(text.size for text in texts.values())


def test_a_long_list_takes_little_more_memory_than_its_text() -> None:
    listing, render = WithParts(hosts(10 * CHUNK_SIZE)), PROVIDERS.renderer(View(LATEST))
    with traced():
        length = sum(map(len, render(listing)))
        _taken, peak = tracemalloc.get_traced_memory()
    assert length < peak < 1.5 * length
