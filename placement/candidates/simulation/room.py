"""The headroom after the changes of a simulation."""

from collections.abc import Iterator, Mapping, Sequence

from placement.candidates.budget import Budget, BudgetSpentError
from placement.candidates.headroom import (
    Emptied,
    Headroom,
    HeadroomQuery,
    HeadroomRequest,
    measure_headroom,
)
from placement.candidates.model import SharingMember, Tree
from placement.candidates.simulation.hosts import SimulatedHosts
from placement.candidates.trees.sharing import sharing_in

# Number of trees that are measured together.
BATCH_SIZE = 4096


def measure_room(
    hosts: SimulatedHosts,
    query: HeadroomQuery,
    questions: Sequence[HeadroomRequest],
    budget: Budget,
    *,
    complete: bool,
) -> Mapping[str, Headroom]:
    """Return how many more of each request fit on hosts that are not drained.

    Args:
        hosts: the hosts after the changes.
        query: the requests by name.
        questions: the requests with resolved names, in the order of the query.
        budget: limit on the work, which the searches of the simulation have used in part.
        complete: whether all changes have been applied. Otherwise the headroom is unknown.
    """
    emptied = Emptied() if query.empty else None

    def trees() -> list[Tree]:
        return list(hosts if emptied is None else map(emptied, hosts))

    def batches() -> Iterator[Sequence[Tree]]:
        if not complete:
            raise BudgetSpentError
        found = trees()
        for start in range(0, len(found), BATCH_SIZE):
            yield found[start : start + BATCH_SIZE]

    def sharing() -> Sequence[SharingMember]:
        return sharing_in(trees())

    answers = measure_headroom(questions, batches(), sharing, budget)
    return dict(zip(query.requests, answers, strict=True))
