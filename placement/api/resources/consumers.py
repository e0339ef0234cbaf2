"""`/consumers`."""

from functools import partial

from placement.api.candidate_requests.json_form import read_candidates
from placement.api.handler import NOW, Call, Reply
from placement.api.parameters import after, pairs
from placement.api.query.consumers import parse_consumer_parts, parse_consumer_query
from placement.api.responses.consumers import ListedConsumers
from placement.objects import claim_records, consumer_list
from placement.objects.claims import SpreadGroup


def list_consumers(call: Call) -> Reply:
    """List the consumers that satisfy all filters.

    Consumers without allocations are not listed.
    """
    stated = pairs(call.query_string)
    conditions, page, parts = parse_consumer_query(stated, call.version)
    with call.service.database.read() as conn:
        listed = consumer_list.find(conn, conditions, page, parts)
    more = after(stated, listed.consumers[-1].uuid) if listed.are_more else None
    return Reply(200, ListedConsumers(listed.consumers, more), changed_at=NOW)


def show_consumer(call: Call) -> Reply:
    """Show a consumer that has allocations."""
    parts = parse_consumer_parts(pairs(call.query_string), call.version)
    show = partial(consumer_list.get, uuid=call.path["consumer"], parts=parts)
    with call.service.database.read() as conn:
        return Reply(200, show(conn), changed_at=NOW)


def join_spread_group(call: Call) -> Reply:
    """Make a consumer a member of a spread group of its project.

    The members on its host are not counted, unlike at a claim. Later claims count the consumer.
    """
    group = SpreadGroup(call.body["name"], call.body["max_per_host"])
    call.service.database.write(
        partial(claim_records.join_group, uuid=call.path["consumer"], group=group)
    )
    return Reply(204)


def remember_request(call: Call) -> Reply:
    """Remember the request of a consumer, which moves and simulations of it can use.

    It is shown while its amounts equal the allocated amounts of the consumer, by class.
    """
    read_candidates(call.body)
    call.service.database.write(
        partial(claim_records.remember, uuid=call.path["consumer"], request=call.body)
    )
    return Reply(204)
