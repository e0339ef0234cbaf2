"""The search for allocation candidates, and claims of candidates."""

from placement.candidates.claims.choices import ClaimRequest
from placement.candidates.claims.claiming import Claimed, claim
from placement.candidates.explanation import Explanation, Reasons, explain, explain_refused
from placement.candidates.headroom import Headroom, HeadroomQuery, find_headroom
from placement.candidates.order import Order
from placement.candidates.request import CandidateRequest
from placement.candidates.search.first_available import find_first_available
from placement.candidates.search.pipeline import find_candidates
from placement.candidates.search.result import SearchResult
from placement.candidates.trees.store import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning

__all__ = [
    "DEFAULT_TUNING",
    "CandidateRequest",
    "Claimed",
    "ClaimRequest",
    "Explanation",
    "Headroom",
    "HeadroomQuery",
    "Order",
    "Reasons",
    "SearchResult",
    "SearchTuning",
    "TreeCache",
    "claim",
    "explain",
    "explain_refused",
    "find_candidates",
    "find_first_available",
    "find_headroom",
]
