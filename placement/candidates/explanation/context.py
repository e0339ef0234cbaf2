"""The data with which the forms of an explanation are filled in."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from placement.candidates.explanation.evaluation import Extreme, RejectionCause, SharingFault
from placement.candidates.plan import SearchPlan
from placement.candidates.stated_terms import StatedTerm

Names = Mapping[str, str]  # UUID of a provider -> its name


class Context(NamedTuple):
    """Hosts that were rejected for one cause."""

    # The plan of the request.
    plan: SearchPlan
    # Names of the providers that the explanation mentions.
    names: Names
    # Why the hosts were rejected.
    cause: RejectionCause = RejectionCause()
    # Class -> the largest or smallest value in the inventories of the hosts.
    extremes: Mapping[str, Extreme] = {}
    # UUIDs of the sharing providers that the text names -> their faults.
    sharing: Mapping[str, SharingFault | None] = {}
    # The traits of the providers for which a group is missing in `same_subtree`.
    parent_traits: Collection[str] = ()
    # Number of hosts.
    hosts: int = 0
    # The terms that name the tree of the host, if the context is about a single host.
    own: Collection[StatedTerm] = ()

    @property
    def several(self) -> bool:
        """Whether the request has several groups. In this case, texts have to name the groups."""
        return len(self.plan.request.groups) > 1


def label(names: Names, uuid: str) -> str:
    """Return the name of a provider with its UUID, or only the UUID if the name is unknown."""
    return f"{names[uuid]} ({uuid})" if uuid in names else uuid
