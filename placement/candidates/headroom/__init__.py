"""Headroom: how many more consumers of a request fit."""

from placement.candidates.headroom.find import (
    HeadroomQuery,
    find_headroom,
    measure_on,
    resolve_headroom,
)
from placement.candidates.headroom.value import (
    Figures,
    Headroom,
    HeadroomRequest,
    LimitedHosts,
)

__all__ = [
    "Figures",
    "Headroom",
    "HeadroomQuery",
    "HeadroomRequest",
    "LimitedHosts",
    "find_headroom",
    "measure_on",
    "resolve_headroom",
]
