"""The search for allocation candidates, and claims of candidates."""

from placement.candidates.claims.choices import ClaimRequest, Explainer
from placement.candidates.claims.claiming import Claimed, claim
from placement.candidates.request import CandidateRequest, Order
from placement.candidates.search.pipeline import find_candidates, find_first_available
from placement.candidates.search.result import SearchResult
from placement.candidates.trees.store import TreeCache
from placement.candidates.trees.tuning import DEFAULT_TUNING, SearchTuning
