"""Metrics of this process, and the parsed samples of a scrape."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from prometheus_client import values
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.parser import text_string_to_metric_families

from placement import metrics
from placement.compat.prometheus import AllocatedFile
from placement.metrics import Metrics
from tests.kit.builders import settings

# (name, labels in alphabetical order as name=value, joined by commas) -> value
Samples = Mapping[tuple[str, str], float]


@contextmanager
def counting(directory: Path, **options: object) -> Iterator[Metrics]:
    """Count in this directory only, during the block. options: options of `[metrics]`."""
    configured = settings("sqlite://", metrics=options).metrics
    counted = Metrics(replace(configured, directory=str(directory)))
    _count_in_new_files()
    counted.listen()
    try:
        yield counted
    finally:
        metrics.stop_listening()


def _count_in_new_files() -> None:
    """Close the files of this process, which the library keeps open, and count in new files."""
    for each in gc.get_objects():
        if type(each) is AllocatedFile:
            file: MmapedDict = each
            file.close()
    values.ValueClass = values.MultiProcessValue()


def samples(text: bytes | str) -> Samples:
    """The samples of a scrape; it must be well-formed and without duplicates."""
    found: dict[tuple[str, str], float] = {}
    decoded = text if isinstance(text, str) else text.decode()
    for family in text_string_to_metric_families(decoded):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            key = (sample.name, labels)
            assert key not in found, key
            found[key] = sample.value
    return found


def of(found: Samples, name: str) -> dict[str, float]:
    """The values of one name, by labels."""
    return {labels: value for (each, labels), value in found.items() if each == name}
