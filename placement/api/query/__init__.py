"""Parsing of query strings into a `CandidateRequest`, a `ProviderFilter` and similar values.

Each operation with parameters has a module that declares and parses them. All errors are BadQuery
errors, which contain the parameter and its value. The modules do not depend on HTTP.
"""

from placement.api.query.allocations import parse_allocation_query
from placement.api.query.candidates import parse_candidates
from placement.api.query.changes import parse_changes_query
from placement.api.query.consumers import parse_consumer_parts, parse_consumer_query
from placement.api.query.headroom import read_headroom
from placement.api.query.json_form import (
    json_of,
    read_alternatives,
    read_candidates,
    read_order_request,
)
from placement.api.query.providers import after, parse_page, parse_provider_filter, parse_show
from placement.api.query.strings import Parameter, pairs, parse_include, refuse_parameters
from placement.api.query.traits import parse_trait_filter
from placement.api.query.usages import UsageQuery, parse_usage_query

__all__ = [
    "Parameter",
    "UsageQuery",
    "after",
    "json_of",
    "pairs",
    "parse_allocation_query",
    "parse_candidates",
    "parse_changes_query",
    "parse_consumer_parts",
    "parse_consumer_query",
    "parse_include",
    "parse_page",
    "parse_provider_filter",
    "parse_show",
    "parse_trait_filter",
    "parse_usage_query",
    "read_alternatives",
    "read_candidates",
    "read_headroom",
    "read_order_request",
    "refuse_parameters",
]
