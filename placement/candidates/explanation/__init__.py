"""Why hosts are not served: what a request asks, counted over all of them, term by term."""

from placement.candidates.explanation.hosts import explain
from placement.candidates.explanation.traced import traced
from placement.candidates.explanation.value import CODES, Explanation

__all__ = ["CODES", "Explanation", "explain", "traced"]
