"""Responses to claims, with the resources of each consumer."""

from collections.abc import Mapping
from typing import Any

from placement.api.members import UTC_TIME
from placement.api.microversion import Microversion
from placement.api.responses.candidates import ALTERNATIVE, BY_PROVIDER, MAPPINGS
from placement.api.shapes import (
    Array,
    Fragment,
    Json,
    Object,
    Property,
    Renderer,
    View,
    itself,
    ready,
)
from placement.candidates import Claimed


def _allocations(claimed: Claimed) -> Mapping[str, Mapping[str, Any]]:
    return {uuid: {"resources": amounts} for uuid, amounts in claimed.allocations.items()}


_PROPERTIES = (
    Property("allocations", ready(BY_PROVIDER), _allocations),
    Property("mappings", MAPPINGS),
    Property(
        "consumer_generation",
        Json({"type": "integer", "examples": [1]}),
        lambda claimed: claimed.generation,
    ),
)
_EXPIRES_AT = "expires_at"


_END = Property(_EXPIRES_AT, UTC_TIME)
_CLAIM: Object[Claimed] = Object("Claim", *_PROPERTIES, _END, optional=[_EXPIRES_AT])
_FIRST_AVAILABLE: Object[Claimed] = Object(
    "FirstAvailableClaim",
    *_PROPERTIES,
    Property("alternative", ALTERNATIVE),
    _END,
    optional=[_EXPIRES_AT],
)
_CLAIMS: Object[list[Claimed]] = Object("Claims", Property("claims", Array(_CLAIM), itself))


class _OneOrMany:
    """The result of one claim, or a list of results for a list of claims."""

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of both forms."""
        return {
            "title": "ClaimOrClaims",
            "oneOf": [each.schema(version) for each in (_CLAIM, _FIRST_AVAILABLE, _CLAIMS)],
        }

    def renderer(self, view: View) -> Renderer:
        """Return a function that renders a claim, or a list of claims."""
        one, many = _CLAIM.renderer(view), _CLAIMS.renderer(view)
        first_available = _FIRST_AVAILABLE.renderer(view)

        def render(value: Any) -> Any:
            if isinstance(value, list):
                return many(value)
            return one(value) if value.alternative is None else first_available(value)

        return render


CLAIMED = _OneOrMany()
