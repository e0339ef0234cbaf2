"""Explanations of why hosts cannot serve a request, with counts for each condition."""

from placement.candidates.explanation.explained_hosts import explain, explain_refused
from placement.candidates.explanation.value import CODES, Explanation, Reasons

__all__ = ["CODES", "Explanation", "Reasons", "explain", "explain_refused"]
