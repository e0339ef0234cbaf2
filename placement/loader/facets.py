"""The parts of a provider that the loader compares and replaces: sub-resources of the API."""

import math
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from placement.loader.cloud import CloudProvider


@dataclass(frozen=True, slots=True)
class Facet:
    """A part of a provider that is replaced as a whole.

    name: of the sub-resource and of the member that holds its value. empty: the value on a
    provider that is new. of_file: the value that the file gives. same: whether the server's value
    (first) and the file's are equal.
    """

    name: str
    empty: Any
    of_file: Callable[[CloudProvider], Any]
    same: Callable[[Any, Any], bool]


def _inventories(provider: CloudProvider) -> dict[str, dict[str, Any]]:
    return {name: asdict(record) for name, record in provider.inventories.items()}


def _same_inventories(on_server: Mapping[str, Any], of_file: Mapping[str, Any]) -> bool:
    return on_server.keys() == of_file.keys() and all(
        _same_record(on_server[name], of_file[name]) for name in of_file
    )


def _same_record(on_server: Mapping[str, Any], of_file: Mapping[str, Any]) -> bool:
    # Some databases keep the ratio in single precision.
    return all(
        math.isclose(on_server[key], value, rel_tol=1e-5)
        if key == "allocation_ratio"
        else on_server[key] == value
        for key, value in of_file.items()
    )


def _same_names(on_server: Iterable[str], of_file: Iterable[str]) -> bool:
    return set(on_server) == set(of_file)


def _same_uuids(on_server: Iterable[str], of_file: Iterable[str]) -> bool:
    return {str(uuid.UUID(text)) for text in on_server} == set(of_file)


FACETS = (
    Facet("inventories", {}, _inventories, _same_inventories),
    Facet("traits", [], lambda provider: sorted(provider.traits), _same_names),
    Facet("aggregates", [], lambda provider: sorted(provider.aggregates), _same_uuids),
)
