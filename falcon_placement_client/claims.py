"""Claims: candidates are searched for, and given to consumers.

Where the service speaks placement 2.0, and the caller leaves the choice to it, a claim is one
request. Else candidates are asked for, and one after the other is tried until nobody was faster.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from falcon_placement_client.answers import RefusedError
from falcon_placement_client.consumers import NewConsumer, identity_of
from falcon_placement_client.errors import AllocationConflict, ConsumerError, NoCandidates
from falcon_placement_client.json_request import AnyRequest
from falcon_placement_client.query import query_of
from falcon_placement_client.rest import RestApi

CANDIDATES = 50  # that a claim looks at, unless the request has a limit
SEARCHES = 3  # of a claim whose candidates others were faster to take

# One of the `allocation_requests` of an answer.
Candidate = Mapping[str, Any]

# Takes the answer to a request for candidates, and returns those of its `allocation_requests` that
# are to be tried, the best one first.
Rank = Callable[[Mapping[str, Any]], Sequence[Candidate]]

_PATH = "/allocation_candidates"
_NONE_LEFT = "placement.no_candidates"
_CONSUMER_CONFLICT = "consumer generation conflict"  # in words, which all releases have


@dataclass(frozen=True, slots=True)
class Claim:
    """One of several claims that are made together."""

    #: What is asked for: the body of `POST /allocation_candidates`.
    request: AnyRequest
    #: Who gets it.
    consumer: NewConsumer


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """What a consumer got.

    allocations: UUID of a provider -> `{"resources": {class: amount}}`. mappings: suffix of a
    request group -> UUIDs of the providers that serve it. consumer_generation: to be stated when
    the allocations are written again.
    """

    allocations: Mapping[str, Mapping[str, Mapping[str, int]]]
    mappings: Mapping[str, list[str]]
    consumer_generation: int


def find_candidates(api: RestApi, request: AnyRequest) -> dict[str, Any]:
    """Return candidates as the service answers them; raise as `claim` does, but NoCandidates."""
    answer: dict[str, Any]
    if api.speaks_second_line:
        answer = api.post(_PATH, request)
    else:
        answer = api.get(f"{_PATH}?{query_of(request, api.version)}")
    return answer


def explain(api: RestApi, request: AnyRequest) -> str:
    """Return in words who can serve a request and why others cannot; empty if nobody says so."""
    if not api.speaks_second_line:
        return ""
    try:
        stated: Mapping[str, Any] = request
        if "first_available" in stated:
            stated = stated["first_available"][0]
        answer = api.post(_PATH, {**stated, "limit": 1, "explain": "summary"})
    except RefusedError as refusal:
        if refusal.status == 403:
            return ""
        raise
    return str(answer["explanation"]["text"])


def claim(
    api: RestApi, request: AnyRequest, consumer: NewConsumer, rank: Rank | None = None
) -> ClaimResult:
    """Find what can serve a request and give it to a consumer."""
    if rank is None and api.speaks_second_line:
        return _claim_at_once(api, request, consumer)
    limited = _limited(request)
    for _ in range(SEARCHES):
        answer = find_candidates(api, limited)
        if not answer["allocation_requests"]:
            reason = explain(api, request)
            raise NoCandidates(reason or f"nothing can serve consumer {consumer.uuid} now")
        candidates = (rank or _shuffled)(answer)
        if not candidates:
            raise NoCandidates(f"none of the candidates of consumer {consumer.uuid} was chosen")
        taken = _take_first(api, candidates, consumer)
        if taken is not None:
            return taken
    raise _outrun(consumer)


def claim_candidate(
    api: RestApi, candidates: Iterable[Candidate], consumer: NewConsumer
) -> ClaimResult:
    """Give a consumer the first of these candidates that nobody else was faster to take."""
    taken = _take_first(api, candidates, consumer)
    if taken is None:
        raise _outrun(consumer)
    return taken


def claim_together(api: RestApi, claims: Sequence[Claim]) -> list[ClaimResult]:
    """Make all of these claims, or none, in one transaction of the service."""
    uuids = [claim.consumer.uuid for claim in claims]
    for uuid in uuids:
        if uuids.count(uuid) > 1:
            raise ConsumerError(f"consumer {uuid} is in more than one of the claims")
    if not claims:
        return []
    if api.speaks_second_line:
        return _claim_together_at_once(api, claims)
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
    raise NoCandidates(f"others were faster to take candidates of {len(claims)} claims: try again")


def _claim_at_once(api: RestApi, request: AnyRequest, consumer: NewConsumer) -> ClaimResult:
    try:
        answer = api.post("/claims", _body(api, request, consumer))
    except RefusedError as refusal:
        if refusal.code == _NONE_LEFT:
            raise NoCandidates(refusal.detail) from refusal
        if refusal.is_conflict:
            raise _conflict(consumer, refusal) from refusal
        raise
    return ClaimResult(answer["allocations"], answer["mappings"], answer["consumer_generation"])


def _limited(request: AnyRequest) -> AnyRequest:
    limited: Mapping[str, Any] = {**request, "limit": request.get("limit", CANDIDATES)}
    return cast("AnyRequest", limited)


def _shuffled(answer: Mapping[str, Any]) -> Sequence[Candidate]:
    """Return all candidates in any order: many who ask at the same time are answered the same."""
    candidates = list(answer["allocation_requests"])
    random.shuffle(candidates)
    return candidates


def _body(api: RestApi, request: AnyRequest, consumer: NewConsumer) -> dict[str, Any]:
    return {"request": request, "consumer_uuid": consumer.uuid, **identity_of(api, consumer)}


def _claim_together_at_once(api: RestApi, claims: Sequence[Claim]) -> list[ClaimResult]:
    body = {"claims": [_body(api, claim.request, claim.consumer) for claim in claims]}
    try:
        answer = api.post("/claims", body)
    except RefusedError as refusal:
        if refusal.code == _NONE_LEFT:
            raise NoCandidates(refusal.detail) from refusal
        if refusal.is_conflict:
            raise AllocationConflict(refusal.detail) from refusal
        raise
    return [
        ClaimResult(each["allocations"], each["mappings"], each["consumer_generation"])
        for each in answer["claims"]
    ]


def _choose_together(api: RestApi, claims: Sequence[Claim]) -> list[Candidate]:
    """Return a candidate for each claim; all of them fit together.  Raises NoCandidates.

    A candidate that was chosen for one claim is not given up for a later one, as in the service.
    """
    chosen: list[Candidate] = []
    taken: Counter[tuple[str, str]] = Counter()
    for claim in claims:
        answer = find_candidates(api, _limited(claim.request))
        for candidate in _shuffled(answer):
            amounts = _amounts(candidate)
            if _fits(answer["provider_summaries"], taken + amounts, amounts):
                chosen.append(candidate)
                taken += amounts
                break
        else:
            raise NoCandidates(f"nothing can serve consumer {claim.consumer.uuid} now")
    return chosen


def _amounts(candidate: Candidate) -> Counter[tuple[str, str]]:
    """Return what a candidate takes, by provider and class."""
    return Counter(
        {
            (uuid, name): amount
            for uuid, holding in candidate["allocations"].items()
            for name, amount in holding["resources"].items()
        }
    )


def _fits(
    summaries: Mapping[str, Any],
    taken: Mapping[tuple[str, str], int],
    places: Iterable[tuple[str, str]],
) -> bool:
    """Return whether providers have room for all that is taken of them."""
    for uuid, name in places:
        stock = summaries[uuid]["resources"][name]
        if stock["used"] + taken[uuid, name] > stock["capacity"]:
            return False
    return True


def _body_of_all(
    api: RestApi, claims: Sequence[Claim], candidates: Sequence[Candidate]
) -> dict[str, Any]:
    """Return the body of `POST /allocations` that makes all claims."""
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
    """Claim the first candidate that is left; None if others were faster to take each."""
    for candidate in candidates:
        if _take(api, candidate, consumer):
            return _result(candidate)
    return None


def _result(candidate: Candidate) -> ClaimResult:
    return ClaimResult(candidate["allocations"], candidate.get("mappings", {}), 1)


def _outrun(consumer: NewConsumer) -> NoCandidates:
    return NoCandidates(
        f"others were faster to take each of the candidates of consumer {consumer.uuid}: try again"
    )


def _take(api: RestApi, candidate: Candidate, consumer: NewConsumer) -> bool:
    """Claim a candidate; return whether that succeeded, and nobody else was faster."""
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
