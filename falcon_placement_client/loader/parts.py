"""The parts of a provider. The loader compares and replaces them as sub-resources of the API."""

import math
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from falcon_placement_client.loader.cloud import CloudProvider


@dataclass(frozen=True, slots=True)
class ProviderPart:
    """A part of a provider. It is replaced as a whole."""

    # Name of the sub-resource, and of the member with its value.
    name: str
    # Value of a new provider.
    empty: Any
    # Returns the value of the part in the file.
    of_file: Callable[[CloudProvider], Any]
    # Returns whether the value on the server (first argument) is equal to the value in the file.
    same: Callable[[Any, Any], bool]


def _inventories(provider: CloudProvider) -> dict[str, dict[str, Any]]:
    return {name: asdict(record) for name, record in provider.inventories.items()}


def _same_inventories(on_server: Mapping[str, Any], of_file: Mapping[str, Any]) -> bool:
    return on_server.keys() == of_file.keys() and all(
        _same_record(on_server[name], of_file[name]) for name in of_file
    )


def _same_record(on_server: Mapping[str, Any], of_file: Mapping[str, Any]) -> bool:
    # Some databases store the ratio in single precision.
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


PROVIDER_PARTS = (
    ProviderPart("inventories", {}, _inventories, _same_inventories),
    ProviderPart("traits", [], lambda provider: sorted(provider.traits), _same_names),
    ProviderPart("aggregates", [], lambda provider: sorted(provider.aggregates), _same_uuids),
)
