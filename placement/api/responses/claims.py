"""Claims as clients see them: what each consumer got."""

from collections.abc import Mapping
from typing import Any

from placement.api.microversion import Microversion
from placement.api.responses.candidates import BY_PROVIDER, MAPPINGS
from placement.api.shapes import (
    Array,
    Fragment,
    Json,
    Object,
    Property,
    Ready,
    Renderer,
    View,
    itself,
)
from placement.candidates import Claimed


def _allocations(claimed: Claimed) -> Mapping[str, Mapping[str, Any]]:
    return {uuid: {"resources": amounts} for uuid, amounts in claimed.allocations.items()}


_CLAIM: Object[Claimed] = Object(
    "Claim",
    Property("allocations", Ready(BY_PROVIDER), _allocations),
    Property("mappings", MAPPINGS),
    Property(
        "consumer_generation",
        Json({"type": "integer", "examples": [1]}),
        lambda claimed: claimed.generation,
    ),
)
_CLAIMS: Object[list[Claimed]] = Object("Claims", Property("claims", Array(_CLAIM), itself))


class _OneOrMany:
    """What one consumer got; a list of that for a list of claims."""

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of either."""
        return {
            "title": "ClaimOrClaims",
            "oneOf": [_CLAIM.schema(version), _CLAIMS.schema(version)],
        }

    def renderer(self, view: View) -> Renderer:
        """Return what renders a claim, or a list of them."""
        one, many = _CLAIM.renderer(view), _CLAIMS.renderer(view)
        return lambda value: many(value) if isinstance(value, list) else one(value)


CLAIMED = _OneOrMany()
