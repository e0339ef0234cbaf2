"""The room of one pool: the number of consumers that it can serve, and their usage."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from placement.candidates.model import Pool

# A provider of a pool, by position, and the name of a class.
Row = tuple[int, str]

# Row -> units.
Usage = Mapping[Row, int]


@dataclass(slots=True, eq=False)
class HostRoom:
    """The number of consumers that a pool can serve.

    It is equal for pools of one shape and room.
    """

    # Number of consumers that a packing serves.
    lower: int = 0
    # Number of consumers that no packing can exceed.
    upper: int = 0
    # Units that the packing uses.
    usage: Usage = field(default_factory=dict)

    @property
    def is_exact(self) -> bool:
        """Whether the packing is known to be the largest one."""
        return self.lower == self.upper


NO_ROOM = HostRoom()


def room_in(pool: Pool) -> Callable[[Row], int]:
    """Return a function that returns the free units of a row of a pool."""
    members = pool.members

    def room(row: Row) -> int:
        position, name = row
        return members[position].stocks[name].free

    return room


def filled(pool: Pool, usage: Usage) -> Pool:
    """Return the pool with this usage added to its members."""
    members = pool.members
    return pool.with_usage(
        {
            (row, name): members[row].stocks[name].used + units
            for (row, name), units in usage.items()
        }
    )
