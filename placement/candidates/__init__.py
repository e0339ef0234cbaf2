"""Allocation candidates: the search for every way in which a request can be met now."""

from placement.candidates.choices import Demand
from placement.candidates.claiming import Claimed, claim
from placement.candidates.explanation import Explanation, explain, explain_trace
from placement.candidates.request import CandidateRequest
from placement.candidates.search import find_candidates
from placement.candidates.search_result import SearchResult
from placement.candidates.tree_cache import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning

__all__ = [
    "DEFAULT_TUNING",
    "CandidateRequest",
    "Claimed",
    "Demand",
    "Explanation",
    "SearchResult",
    "SearchTuning",
    "TreeCache",
    "claim",
    "explain",
    "explain_trace",
    "find_candidates",
]
