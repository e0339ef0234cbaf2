"""The version document (contract README section 5)."""

from collections.abc import Mapping
from typing import Any

from placement.api.history import LATEST, OLDEST


def document() -> Mapping[str, Any]:
    """Which versions are served."""
    return {
        "versions": [
            {
                "id": "v1.0",
                "max_version": str(LATEST),
                "min_version": str(OLDEST),
                "status": "CURRENT",
                "links": [{"rel": "self", "href": ""}],
            }
        ]
    }
