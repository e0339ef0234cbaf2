"""`/headroom`."""

from placement import deadline
from placement.api.handler import NOW, Call, Reply
from placement.api.query.headroom import read_headroom
from placement.candidates import find_headroom


def measure_headroom(call: Call) -> Reply:
    """Measure how many more consumers of each request fit.

    All requests are measured in one snapshot, independently of each other. `fits` consumers can be
    placed at the same time, and never more than `at_most`. If both numbers are equal, `exact` is
    true. `limited_by` counts hosts by the condition that prevents one more consumer on a full host.
    Nothing is changed.
    """
    service = call.service
    query = read_headroom(call.body)
    with service.large_work.turn(), service.database.read_trees() as conn:
        headroom = find_headroom(
            conn, service.trees, query, service.settings.candidates, service.tuning
        )
    deadline.lift()  # the result is partial if the deadline ended the measurement
    return Reply(200, headroom, changed_at=NOW)
