"""Explanations of why hosts cannot serve a request, with counts for each condition."""

from placement.foresight.explanation.explained_hosts import explain, explain_refused, text_explainer
from placement.foresight.explanation.value import CODES, Explanation, Reasons
