"""Query strings: ordered pairs to `CandidateRequest`, `ProviderFilter` and their like.

A module for each operation that has parameters: it declares them, with their first versions,
and reads them. Raises BadQuery, which names the parameter and the value; knows no HTTP.
"""

from placement.api.query.candidates import parse_candidates
from placement.api.query.providers import parse_provider_filter
from placement.api.query.strings import Parameter, pairs
from placement.api.query.traits import parse_trait_filter
from placement.api.query.usages import UsageQuery, parse_usage_query

__all__ = [
    "Parameter",
    "UsageQuery",
    "pairs",
    "parse_candidates",
    "parse_provider_filter",
    "parse_trait_filter",
    "parse_usage_query",
]
