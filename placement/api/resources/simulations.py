"""`/simulations`."""

from placement.api import commands
from placement.api.handler import Call, Reply
from placement.candidates.simulation import simulate


def create_simulation(call: Call) -> Reply:
    """Simulate changes of hosts: which consumers of drained hosts would move where.

    The changes are applied in order to copies of the trees in memory: hosts are drained, removed or
    added, and resources are claimed. Nothing is stored. The body of each move is valid for `POST
    /allocations`, unless it names an added host.
    """
    request = commands.simulation(call.body)
    service = call.service
    with service.large_work.turn(), service.database.read() as conn:
        result = simulate(conn, service.trees, request, service.settings.candidates, service.tuning)
    return Reply(200, result)
