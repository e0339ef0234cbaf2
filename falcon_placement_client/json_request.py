"""The body of `POST /allocation_candidates` at 2.0, which is a candidate request as JSON.

`ReportClient` accepts this form at any version of the service, and translates it for versions of
1.x. A member that is omitted imposes no condition.
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
    #: Traits that the provider does not have.
    forbidden: Sequence[str]
    #: UUIDs of aggregates that the provider is in.
    member_of: AllOf
    #: UUIDs of aggregates that the provider is not in.
    not_member_of: Sequence[str]
    #: The UUID of any provider of the same tree.
    in_tree: str
    #: The UUID of a provider; this provider or a descendant serves the group.
    subtree: str
    #: Classes that several providers may serve together; only in the group without suffix.
    can_split: Sequence[str]


class JsonRoot(TypedDict, total=False):
    """Conditions on the root of the tree."""

    #: Traits that the root has.
    required: AllOf
    #: Traits that the root does not have.
    forbidden: Sequence[str]
    #: UUIDs of aggregates that the root is in.
    member_of: AllOf
    #: UUIDs of aggregates that the root is not in.
    not_member_of: Sequence[str]


# `of`: suffixes of groups that one of their providers and its descendants serve. `not`: suffixes of
# groups that are served outside of that subtree.
JsonSubtreeRule = TypedDict(
    "JsonSubtreeRule", {"of": Sequence[str], "not": Sequence[str]}, total=False
)


class JsonOrderKey(TypedDict, total=False):
    """A key by which hosts are sorted."""

    #: The property to compare: free units, a trait of any provider of the tree, or an aggregate of
    #: the root.
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
    """Alternative requests. The first one with a candidate is used."""

    #: The alternatives, at most 8, without `limit`, `order` and `explain`.
    first_available: Required[Sequence["JsonRequest"]]
    #: The order of hosts, with at most 8 keys.
    order: Sequence[JsonOrderKey]
    #: Maximum number of candidates.
    limit: int


class JsonRequest(TypedDict, total=False):
    """A request for candidates."""

    #: Request groups by suffix. The unsuffixed group has the key "".
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
    #: The order of hosts, with at most 8 keys.
    order: Sequence[JsonOrderKey]
    #: Maximum number of candidates.
    limit: int
    #: Whether to explain rejected hosts in summary, or with the reason for each provider.
    explain: Literal["summary", "providers"]


# Either body of `POST /allocation_candidates`, and either request of a claim.
AnyRequest = JsonRequest | JsonFirstAvailable


class JsonSpreadGroup(TypedDict):
    """A group of consumers of one project that are spread over hosts."""

    #: 1 to 64 letters, digits, `_`, `.`, `:` and `-`.
    name: str
    #: Maximum number of members on the host of this consumer.
    max_per_host: int


class ClaimTerms(TypedDict, total=False):
    """Members of a claim in addition to its request and consumer (placement 2.0)."""

    #: Seconds after which the claim is released, unless it is confirmed: a hold.
    expires_in: int
    #: Whether the service stores the request with the consumer.
    remember: bool
    #: The group of the consumer.
    spread_group: JsonSpreadGroup
