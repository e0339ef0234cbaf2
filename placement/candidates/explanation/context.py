"""What the words of an explanation are about: hosts that fell out for one cause."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from placement.candidates.explanation.profiles import Extreme, FallCause
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.plan import SearchPlan

Names = Mapping[str, str]  # UUID of a provider -> its name


class Context(NamedTuple):
    """What a form is filled in for: hosts that fell out for one cause."""

    plan: SearchPlan
    # Names of the providers that the explanation mentions.
    names: Names
    cause: FallCause = FallCause()
    # Class -> the figure of the hosts' inventories.
    extremes: Mapping[str, Extreme] = {}
    # UUIDs of the sharing providers that alone have room.
    sharing: Sequence[str] = ()
    hosts: int = 0
    # Terms that name the tree of the one host.
    own: Collection[StatedTerm] = ()

    @property
    def several(self) -> bool:
        """Whether there are several groups, so that each is called by its name."""
        return len(self.plan.request.groups) > 1


def label(names: Names, uuid: str) -> str:
    """Return the name of a provider, if it is known, and its UUID."""
    return f"{names[uuid]} ({uuid})" if uuid in names else uuid
