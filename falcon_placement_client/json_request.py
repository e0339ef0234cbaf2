"""The body of `POST /allocation_candidates` at 2.0: what a caller wants, as JSON.

`ReportClient` takes this form whatever the service speaks. Members that are left out state no
condition.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypedDict

# Each of these names counts; of a list among them, any one does.
AllOf = Sequence[str | Sequence[str]]


class JsonGroup(TypedDict, total=False):
    """A request group: what one provider has to meet.

    The group without suffix may be met by several providers of a tree, a class by each.
    """

    #: Amounts, by resource class.
    resources: Mapping[str, int]
    #: Traits that the provider has.
    required: AllOf
    #: Traits that it does not have.
    forbidden: Sequence[str]
    #: UUIDs of aggregates that it is in.
    member_of: AllOf
    #: UUIDs of aggregates that it is not in.
    not_member_of: Sequence[str]
    #: The UUID of a provider of its tree.
    in_tree: str
    #: The UUID of a provider that it is, or is below.
    subtree: str
    #: Classes whose amount several providers may serve in parts; of the group without suffix.
    can_split: Sequence[str]


class JsonRoot(TypedDict, total=False):
    """Conditions on the root of the tree."""

    #: Traits that the root has.
    required: AllOf
    #: Traits that it does not have.
    forbidden: Sequence[str]
    #: UUIDs of aggregates that it is in.
    member_of: AllOf
    #: UUIDs of aggregates that it is not in.
    not_member_of: Sequence[str]


# `of`: suffixes of groups, one of whose providers has those of all the others below it. `not`:
# suffixes of groups whose providers are elsewhere.
JsonSubtreeRule = TypedDict(
    "JsonSubtreeRule", {"of": Sequence[str], "not": Sequence[str]}, total=False
)


class JsonOrderKey(TypedDict, total=False):
    """A key by which hosts are sorted."""

    #: What is compared: free units, a trait of any provider of the tree, an aggregate of the root.
    by: Required[Literal["free", "trait", "aggregate"]]
    #: Which hosts come first: `most` or `least` by free units, else `with` or `without`.
    first: Required[Literal["most", "least", "with", "without"]]
    #: The resource class, by free units.
    resource_class: str
    #: The name of the trait.
    name: str
    #: The UUID of the aggregate.
    uuid: str


class JsonFirstAvailable(TypedDict, total=False):
    """Requests of which the first one counts that has a candidate, instead of one request."""

    #: The alternatives, at most 8, without `limit`, `order` and `explain`.
    first_available: Required[Sequence["JsonRequest"]]
    #: The order in which hosts are wanted, at most 8 keys.
    order: Sequence[JsonOrderKey]
    #: How many candidates are wanted at most.
    limit: int


class JsonRequest(TypedDict, total=False):
    """A request for candidates."""

    #: Request groups, by their suffixes; that of the group without suffix is "".
    groups: Required[Mapping[str, JsonGroup]]
    #: Conditions on the root of the tree.
    root: JsonRoot
    #: Rules on where in the tree the providers of groups are; each counts.
    same_subtree: Sequence[JsonSubtreeRule]
    #: Suffixes of groups that share no provider with each other.
    isolate: Sequence[str]
    #: `isolate` for all groups with a suffix, in the words of 1.x.
    group_policy: Literal["none", "isolate"]
    #: Traits that the root may have although the service leaves out hosts with them (taints).
    tolerate: Sequence[str]
    #: The order in which hosts are wanted, at most 8 keys.
    order: Sequence[JsonOrderKey]
    #: How many candidates are wanted at most.
    limit: int
    #: How much is explained of hosts that cannot serve the request.
    explain: Literal["summary", "providers"]


# Either body of `POST /allocation_candidates`, and either request of a claim.
AnyRequest = JsonRequest | JsonFirstAvailable
