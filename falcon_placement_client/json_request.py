"""The body of `POST /allocation_candidates` at 2.0: a candidate request as JSON.

`ReportClient` accepts this form whatever version the service supports. Missing members are no
conditions.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypedDict

# All names are required; a nested list matches any of its names.
AllOf = Sequence[str | Sequence[str]]


class JsonGroup(TypedDict, total=False):
    """A request group: conditions on one provider.

    The classes of the group without suffix may be served by different providers of a tree.
    """

    #: Units by resource class.
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
    #: The UUID of a provider; this provider or a descendant serves the group.
    subtree: str
    #: Classes that several providers may serve together; only in the group without suffix.
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


# `of`: suffixes of groups that one of their providers and its descendants serve. `not`: suffixes of
# groups that are served outside of that subtree.
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

    #: Request groups by suffix; the group without suffix has the key "".
    groups: Required[Mapping[str, JsonGroup]]
    #: Conditions on the root of the tree.
    root: JsonRoot
    #: Rules on the positions of groups in the tree; all must hold.
    same_subtree: Sequence[JsonSubtreeRule]
    #: Suffixes of groups that share no provider with each other.
    isolate: Sequence[str]
    #: `none`, or `isolate` for all groups with a suffix; the form of 1.x.
    group_policy: Literal["none", "isolate"]
    #: Traits that the root may have although the service excludes hosts with them (taints).
    tolerate: Sequence[str]
    #: The order in which hosts are wanted, at most 8 keys.
    order: Sequence[JsonOrderKey]
    #: How many candidates are wanted at most.
    limit: int
    #: How detailed the explanation of hosts that cannot serve the request is.
    explain: Literal["summary", "providers"]


# Either body of `POST /allocation_candidates`, and either request of a claim.
AnyRequest = JsonRequest | JsonFirstAvailable
