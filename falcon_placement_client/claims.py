"""Claims: what a consumer gets of the providers, moves to another, and gives back.

Where the service speaks placement 2.0, and the caller leaves the choice to it, a claim is one
request. Else candidates are asked for, and one after the other is tried until nobody was faster.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from falcon_placement_client.allocation_records import AllocationRecord, check_consumer, read_record
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.errors import AllocationConflict, NoCandidates
from falcon_placement_client.query import JsonRequest, query_of
from falcon_placement_client.rest import RestApi, Version, retry
from falcon_placement_client.vocabulary import UNKNOWN_CONSUMER_TYPE

CANDIDATES = 50  # that a claim looks at, unless the request has a limit
SEARCHES = 3  # of a claim whose candidates others were faster to take
MOVE_PAUSES = (0,) * 4  # before further attempts, while others write to the same consumers

# Takes the answer to a request for candidates, and returns those of its `allocation_requests` that
# are to be tried, the best one first.
Rank = Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]]

_PATH = "/allocation_candidates"
_WITH_TYPES: Version = (1, 38)
_NONE_LEFT = "placement.no_candidates"


@dataclass(frozen=True, slots=True)
class NewConsumer:
    """Who claims; its UUID has no allocations yet.

    type: capital letters, digits and _, such as INSTANCE or MIGRATION. Raises ConsumerError if the
    UUID is none.
    """

    uuid: str
    project_id: str
    user_id: str
    type: str = "INSTANCE"

    def __post_init__(self) -> None:
        object.__setattr__(self, "uuid", check_consumer(self.uuid))


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


def find_candidates(api: RestApi, request: JsonRequest) -> dict[str, Any]:
    """Return candidates as the service answers them; raise as `claim` does, but NoCandidates."""
    answer: dict[str, Any]
    if api.speaks_second_line:
        answer = api.post(_PATH, request)
    else:
        answer = api.get(f"{_PATH}?{query_of(request, api.version)}")
    return answer


def explain(api: RestApi, request: JsonRequest) -> str:
    """Return in words who can serve a request and why others cannot; empty if nobody says so."""
    if not api.speaks_second_line:
        return ""
    try:
        answer = api.post(_PATH, {**request, "limit": 1, "explain": "summary"})
    except RefusedError as refusal:
        if refusal.status == 403:
            return ""
        raise
    return str(answer["explanation"]["text"])


def claim(
    api: RestApi, request: JsonRequest, consumer: NewConsumer, rank: Rank | None = None
) -> ClaimResult:
    """Find what can serve a request and give it to a consumer."""
    if rank is None and api.speaks_second_line:
        return _claim_at_once(api, request, consumer)
    limited = {"limit": CANDIDATES, **request}
    for _ in range(SEARCHES):
        answer = find_candidates(api, limited)
        if not answer["allocation_requests"]:
            reason = explain(api, request)
            raise NoCandidates(reason or f"nothing can serve consumer {consumer.uuid} now")
        candidates = (rank or _shuffled)(answer)
        if not candidates:
            raise NoCandidates(f"none of the candidates of consumer {consumer.uuid} was chosen")
        for candidate in candidates:
            if _take(api, candidate, consumer):
                return ClaimResult(candidate["allocations"], candidate["mappings"], 1)
    raise NoCandidates(
        f"others were faster to take each of the candidates of consumer {consumer.uuid}: try again"
    )


def move(api: RestApi, source: str, target: NewConsumer) -> None:
    """Hand all that one consumer holds to another, at once; what that one held is given back."""
    source = check_consumer(source)
    if source == target.uuid:
        raise AllocationConflict(f"consumer {source} cannot be moved to itself")
    retry(lambda: _move(api, source, target), MOVE_PAUSES)


def _move(api: RestApi, source: str, target: NewConsumer) -> None:
    """Read both consumers and write them; raise AllocationConflict as `move` does."""
    record = read_record(api, source)
    if record is None:
        raise AllocationConflict(f"consumer {source} has no allocations to move")
    replaced = read_record(api, target.uuid)
    generation = None if replaced is None else replaced["consumer_generation"]
    body = {
        # It is gone then, and its type with it.
        source: {
            **_of_consumer(api, _owner(source, record, target)),
            "allocations": {},
            "consumer_generation": record["consumer_generation"],
        },
        target.uuid: {
            **_of_consumer(api, target),
            "allocations": {
                uuid: {"resources": holding["resources"]}
                for uuid, holding in record["allocations"].items()
            },
            "consumer_generation": generation,
        },
    }
    try:
        api.post("/allocations", body)
    except RefusedError as refusal:
        conflict = AllocationConflict(
            f"consumer {source} cannot be moved to {target.uuid}: {refusal.detail}"
        )
        conflict.is_conflict = refusal.is_conflict
        raise conflict from refusal


def release(api: RestApi, consumer: str) -> bool:
    """Give back all that a consumer holds; return whether it held anything."""
    try:
        api.delete(f"/allocations/{check_consumer(consumer)}")
    except RefusedError as refusal:
        if refusal.status == 404:
            return False
        raise
    return True


def _claim_at_once(api: RestApi, request: JsonRequest, consumer: NewConsumer) -> ClaimResult:
    body = {
        "request": request,
        "consumer_uuid": consumer.uuid,
        **_of_consumer(api, consumer),
    }
    try:
        answer = api.post("/claims", body)
    except RefusedError as refusal:
        if refusal.code == _NONE_LEFT:
            raise NoCandidates(refusal.detail) from refusal
        if refusal.is_conflict:
            raise _conflict(consumer, refusal) from refusal
        raise
    return ClaimResult(answer["allocations"], answer["mappings"], answer["consumer_generation"])


def _shuffled(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return all candidates in any order: many who ask at the same time are answered the same."""
    candidates = list(answer["allocation_requests"])
    random.shuffle(candidates)
    return candidates


def _take(api: RestApi, candidate: Mapping[str, Any], consumer: NewConsumer) -> bool:
    """Claim a candidate; return whether that succeeded, and nobody else was faster."""
    body = {**candidate, **_of_consumer(api, consumer), "consumer_generation": None}
    try:
        api.put(f"/allocations/{consumer.uuid}", body)
    except RefusedError as refusal:
        if refusal.status != 409:
            raise
        if "consumer generation conflict" in refusal.detail:
            raise _conflict(consumer, refusal) from refusal
        return False
    return True


def _conflict(consumer: NewConsumer, refusal: RefusedError) -> AllocationConflict:
    return AllocationConflict(f"consumer {consumer.uuid} has allocations already: {refusal.detail}")


def _of_consumer(api: RestApi, consumer: NewConsumer) -> dict[str, str]:
    owner = {"project_id": consumer.project_id, "user_id": consumer.user_id}
    return owner | ({"consumer_type": consumer.type} if api.version >= _WITH_TYPES else {})


def _owner(uuid: str, record: AllocationRecord, target: NewConsumer) -> NewConsumer:
    """Return a consumer as it is; with the type of another one where it has none."""
    consumer_type = record.get("consumer_type", UNKNOWN_CONSUMER_TYPE)
    if consumer_type == UNKNOWN_CONSUMER_TYPE:
        consumer_type = target.type
    return NewConsumer(uuid, record["project_id"], record["user_id"], consumer_type)
