"""Claims. They search for candidates and allocate one of them to a consumer.

If the service supports placement 2.0, and the caller does not choose the candidate, a claim is a
single request. Otherwise, the client requests candidates and tries one after the other until a
claim succeeds.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from falcon_placement_client.consumers import ClaimResult, NewConsumer, identity_of, result_of
from falcon_placement_client.errors import (
    AllocationConflict,
    ConsumerError,
    NoCandidates,
    RefusedError,
    RequestError,
)
from falcon_placement_client.json_request import AnyRequest, ClaimTerms
from falcon_placement_client.query import query_of
from falcon_placement_client.rest import RestApi

# Maximum number of candidates that a claim requests, unless its request has a limit.
CANDIDATES = 50
SEARCHES = 3  # number of attempts of a claim that loses its candidates to concurrent writers

# An element of `allocation_requests` in a response.
Candidate = Mapping[str, Any]

# Takes a response with candidates. Returns the elements of its `allocation_requests` to try, the
# best one first.
Rank = Callable[[Mapping[str, Any]], Sequence[Candidate]]

_PATH = "/allocation_candidates"
_NONE_LEFT = "placement.no_candidates"
_CONSUMER_CONFLICT = "consumer generation conflict"  # part of the error text in all releases


@dataclass(frozen=True, slots=True)
class Claim:
    """One of several claims in the same transaction."""

    #: The request, as in the body of `POST /allocation_candidates`.
    request: AnyRequest
    #: The consumer that receives the resources.
    consumer: NewConsumer


def find_candidates(api: RestApi, request: AnyRequest) -> dict[str, Any]:
    """Return the service's response with candidates.  Raises the errors of `claim`."""
    if api.supports_v2:
        return dict(api.post(_PATH, request))
    return dict(api.get(f"{_PATH}?{query_of(request, api.version)}"))


def explain(api: RestApi, request: AnyRequest) -> str:
    """Return the explanation of a request in words, or an empty text if there is no explanation."""
    if not api.supports_v2:
        return ""
    try:
        stated: Mapping[str, Any] = request
        if "first_available" in stated:
            stated = stated["first_available"][0]
        response = api.post(_PATH, {**stated, "limit": 1, "explain": "summary"})
    except RefusedError as refusal:
        if refusal.status == 403:
            return ""
        raise
    return str(response["explanation"]["text"])


def claim(
    api: RestApi,
    request: AnyRequest,
    consumer: NewConsumer,
    rank: Rank | None = None,
    terms: ClaimTerms | None = None,
) -> ClaimResult:
    """Find a candidate for a request and claim it for a consumer."""
    if terms:
        api.require_v2("a claim with terms")
        if rank is not None:
            raise RequestError(min(terms), "the service has to choose the candidate: omit rank")
        return _claim_at_once(api, request, consumer, terms)
    if rank is None and api.supports_v2:
        return _claim_at_once(api, request, consumer)
    limited = _limited(request)
    for _ in range(SEARCHES):
        response = find_candidates(api, limited)
        if not response["allocation_requests"]:
            reason = explain(api, request)
            raise NoCandidates(reason or f"nothing can serve consumer {consumer.uuid} now")
        candidates = (rank or _shuffled)(response)
        if not candidates:
            raise NoCandidates(f"none of the candidates of consumer {consumer.uuid} was chosen")
        taken = _take_first(api, candidates, consumer)
        if taken is not None:
            return taken
    raise _outrun(consumer)


def claim_candidate(
    api: RestApi, candidates: Iterable[Candidate], consumer: NewConsumer
) -> ClaimResult:
    """For a consumer, claim the first candidate that is still free."""
    taken = _take_first(api, candidates, consumer)
    if taken is None:
        raise _outrun(consumer)
    return taken


def claim_together(api: RestApi, claims: Sequence[Claim]) -> list[ClaimResult]:
    """Make all claims or none of them, in one transaction of the service."""
    uuids = [claim.consumer.uuid for claim in claims]
    for uuid in uuids:
        if uuids.count(uuid) > 1:
            raise ConsumerError(f"consumer {uuid} is in more than one of the claims")
    if not claims:
        return []
    if api.supports_v2:
        body = {"claims": [_body(api, claim.request, claim.consumer) for claim in claims]}
        response = _post_claims(api, body, lambda refusal: AllocationConflict(refusal.detail))
        return list(map(result_of, response["claims"]))
    for _ in range(SEARCHES):
        candidates = _choose_together(api, claims)
        try:
            api.post("/allocations", _body_of_all(api, claims, candidates))
        except RefusedError as refusal:
            if refusal.status != 409:
                raise
            if _CONSUMER_CONFLICT in refusal.detail:
                raise AllocationConflict(refusal.detail) from refusal
        else:
            return [_result(candidate) for candidate in candidates]
    raise NoCandidates(f"concurrent writers took the candidates of {len(claims)} claims: try again")


def _claim_at_once(
    api: RestApi, request: AnyRequest, consumer: NewConsumer, terms: ClaimTerms | None = None
) -> ClaimResult:
    body = {**_body(api, request, consumer), **(terms or {})}
    return result_of(_post_claims(api, body, lambda refusal: _conflict(consumer, refusal)))


def _post_claims(
    api: RestApi, body: Mapping[str, Any], conflict: Callable[[RefusedError], AllocationConflict]
) -> Any:
    """Return the response to claims. `conflict` returns the error for concurrent writes."""
    try:
        return api.post("/claims", body)
    except RefusedError as refusal:
        if refusal.code == _NONE_LEFT:
            raise NoCandidates(refusal.detail) from refusal
        if refusal.is_conflict:
            raise conflict(refusal) from refusal
        raise


def _limited(request: AnyRequest) -> AnyRequest:
    limited: Mapping[str, Any] = {**request, "limit": request.get("limit", CANDIDATES)}
    return cast("AnyRequest", limited)


def _shuffled(response: Mapping[str, Any]) -> Sequence[Candidate]:
    """Return the candidates in random order, because concurrent callers receive equal responses."""
    candidates = list(response["allocation_requests"])
    random.shuffle(candidates)
    return candidates


def _body(api: RestApi, request: AnyRequest, consumer: NewConsumer) -> dict[str, Any]:
    return {"request": request, "consumer_uuid": consumer.uuid, **identity_of(api, consumer)}


def _choose_together(api: RestApi, claims: Sequence[Claim]) -> list[Candidate]:
    """Return a candidate for each claim. Together, the candidates fit into the free capacity.

    As in the service, the candidate of a claim is not changed because of a later claim.

    Raises:
        NoCandidates: a claim has no candidate that fits.
    """
    chosen: list[Candidate] = []
    taken: Counter[tuple[str, str]] = Counter()
    for claim in claims:
        response = find_candidates(api, _limited(claim.request))
        for candidate in _shuffled(response):
            amounts = _amounts(candidate)
            if _fits(response["provider_summaries"], taken + amounts, amounts):
                chosen.append(candidate)
                taken += amounts
                break
        else:
            raise NoCandidates(f"nothing can serve consumer {claim.consumer.uuid} now")
    return chosen


def _amounts(candidate: Candidate) -> Counter[tuple[str, str]]:
    """Return the amounts in a candidate, by provider and class."""
    amounts: Counter[tuple[str, str]] = Counter()
    for uuid, holding in candidate["allocations"].items():
        amounts.update({(uuid, name): amount for name, amount in holding["resources"].items()})
    return amounts


def _fits(
    summaries: Mapping[str, Any],
    taken: Mapping[tuple[str, str], int],
    places: Iterable[tuple[str, str]],
) -> bool:
    """Return whether the providers have room for the sum of all amounts."""
    stocks = {(uuid, name): summaries[uuid]["resources"][name] for uuid, name in places}
    return all(stock["used"] + taken[place] <= stock["capacity"] for place, stock in stocks.items())


def _body_of_all(
    api: RestApi, claims: Sequence[Claim], candidates: Sequence[Candidate]
) -> dict[str, Any]:
    """Return the body of `POST /allocations` for all claims."""
    return {
        claim.consumer.uuid: {
            **candidate,
            **identity_of(api, claim.consumer),
            "consumer_generation": None,
        }
        for claim, candidate in zip(claims, candidates, strict=True)
    }


def _take_first(
    api: RestApi, candidates: Iterable[Candidate], consumer: NewConsumer
) -> ClaimResult | None:
    """Claim the first candidate that is still free. Return None if no candidate is free."""
    taken = (candidate for candidate in candidates if _take(api, candidate, consumer))
    return next(map(_result, taken), None)


def _result(candidate: Candidate) -> ClaimResult:
    return ClaimResult(candidate["allocations"], candidate.get("mappings", {}), 1)


def _outrun(consumer: NewConsumer) -> NoCandidates:
    return NoCandidates(
        f"concurrent writers took all candidates of consumer {consumer.uuid}: try again"
    )


def _take(api: RestApi, candidate: Candidate, consumer: NewConsumer) -> bool:
    """Claim a candidate. Return False if a concurrent writer was faster."""
    body = {**candidate, **identity_of(api, consumer), "consumer_generation": None}
    try:
        api.put(f"/allocations/{consumer.uuid}", body)
    except RefusedError as refusal:
        if refusal.status != 409:
            raise
        if _CONSUMER_CONFLICT in refusal.detail:
            raise _conflict(consumer, refusal) from refusal
        return False
    return True


def _conflict(consumer: NewConsumer, refusal: RefusedError) -> AllocationConflict:
    return AllocationConflict(
        f"consumer {consumer.uuid} has allocations already: call release, or change them with "
        f"get_allocations_for_consumer and put_allocations ({refusal.detail})"
    )
