"""The public name of the service in process, for programs of others."""

from placement.entry.direct import PlacementDirect

__all__ = ["PlacementDirect"]
