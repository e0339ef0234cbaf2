"""The search for allocation candidates, and claims of candidates."""

from placement.candidates.claims.choices import ClaimRequest, Explainer
from placement.candidates.claims.claiming import Claimed, claim
from placement.candidates.order import Order
from placement.candidates.request import CandidateRequest
from placement.candidates.search.pipeline import find_candidates, find_first_available
from placement.candidates.search.result import SearchResult
from placement.candidates.trees.store import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning

__all__ = [
    "DEFAULT_TUNING",
    "CandidateRequest",
    "Claimed",
    "ClaimRequest",
    "Explainer",
    "Order",
    "SearchResult",
    "SearchTuning",
    "TreeCache",
    "claim",
    "find_candidates",
    "find_first_available",
]
