"""Headroom: how many more consumers of a request fit."""

from placement.foresight.headroom.find import find_headroom, measure_on, resolve_headroom
from placement.foresight.headroom.value import Figures, Headroom, HeadroomQuery, LimitedHosts
