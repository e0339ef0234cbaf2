"""Headroom: how many more consumers of a request fit."""

from placement.foresight.headroom.find import (
    find_headroom,
    measure_on,
    resolve_headroom,
)
from placement.foresight.headroom.value import (
    Figures,
    Headroom,
    HeadroomQuery,
    LimitedHosts,
)

__all__ = [
    "Figures",
    "Headroom",
    "HeadroomQuery",
    "LimitedHosts",
    "find_headroom",
    "measure_on",
    "resolve_headroom",
]
