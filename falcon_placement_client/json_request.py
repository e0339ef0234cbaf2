"""The body of `POST /allocation_candidates` at 2.0: a candidate request as JSON.

`ReportClient` accepts this form at any version of the service, and translates it for 1.x versions.
If a member is omitted, it imposes no condition.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypedDict

# The provider must have all of the names. For a nested list, it must have at least one.
AllOf = Sequence[str | Sequence[str]]


class JsonGroup(TypedDict, total=False):
    """A request group: conditions on one provider.

    Different providers of a tree may serve the classes of the group without a suffix.
    """

    #: Units by resource class.
    resources: Mapping[str, int]
    #: Traits that the provider must have.
    required: AllOf
    #: Traits that the provider must not have.
    forbidden: Sequence[str]
    #: UUIDs of aggregates that the provider must be in.
    member_of: AllOf
    #: UUIDs of aggregates that the provider must not be in.
    not_member_of: Sequence[str]
    #: The UUID of any provider in the tree that serves the group.
    in_tree: str
    #: The UUID of a provider. This provider or one of its descendants serves the group.
    subtree: str
    #: Classes that several providers may serve together. Only valid in the group without a
    #: suffix.
    can_split: Sequence[str]


class JsonRoot(TypedDict, total=False):
    """Conditions on the root of the tree."""

    #: Traits that the root must have.
    required: AllOf
    #: Traits that the root must not have.
    forbidden: Sequence[str]
    #: UUIDs of aggregates that the root must be in.
    member_of: AllOf
    #: UUIDs of aggregates that the root must not be in.
    not_member_of: Sequence[str]


# `of`: suffixes of groups that one of their providers and its descendants serve. `not`: suffixes of
# groups that are served outside of that subtree.
JsonSubtreeRule = TypedDict(
    "JsonSubtreeRule", {"of": Sequence[str], "not": Sequence[str]}, total=False
)


class JsonOrderKey(TypedDict, total=False):
    """A key for sorting hosts."""

    #: The property to compare: free units, a trait of any provider of the tree, or an aggregate of
    #: the root.
    by: Required[Literal["free", "trait", "aggregate"]]
    #: Which hosts come first: `most` or `least` for free units, otherwise `with` or `without`.
    first: Required[Literal["most", "least", "with", "without"]]
    #: The resource class, for free units.
    resource_class: str
    #: The name of the trait.
    name: str
    #: The UUID of the aggregate.
    uuid: str


class JsonFirstAvailable(TypedDict, total=False):
    """Alternative requests. The first request that has a candidate is used."""

    #: At most 8 alternatives, without `limit`, `order` and `explain`.
    first_available: Required[Sequence["JsonRequest"]]
    #: The order of hosts, as a list of at most 8 keys.
    order: Sequence[JsonOrderKey]
    #: Maximum number of candidates.
    limit: int


class JsonRequest(TypedDict, total=False):
    """A request for candidates."""

    #: Request groups by suffix. The key of the unsuffixed group is "".
    groups: Required[Mapping[str, JsonGroup]]
    #: Conditions on the root of the tree.
    root: JsonRoot
    #: Rules on the positions of groups in the tree. All of them must be satisfied.
    same_subtree: Sequence[JsonSubtreeRule]
    #: Suffixes of groups that must not share a provider with each other.
    isolate: Sequence[str]
    #: `none`, or `isolate` for all groups with a suffix. This is the form of 1.x.
    group_policy: Literal["none", "isolate"]
    #: Traits that the root may have, although the service excludes hosts with these traits
    #: (taints).
    tolerate: Sequence[str]
    #: The order of hosts, as a list of at most 8 keys.
    order: Sequence[JsonOrderKey]
    #: Maximum number of candidates.
    limit: int
    #: Whether to explain rejected hosts as a summary, or with the reason for each provider.
    explain: Literal["summary", "providers"]


# Either body of `POST /allocation_candidates`. Claims accept the same two forms.
AnyRequest = JsonRequest | JsonFirstAvailable


class JsonSpreadGroup(TypedDict):
    """A group of consumers of one project that are spread over several hosts."""

    #: 1 to 64 letters, digits, `_`, `.`, `:` and `-`.
    name: str
    #: Maximum number of members on the host of this consumer.
    max_per_host: int


class ClaimTerms(TypedDict, total=False):
    """Members of a claim, in addition to its request and its consumer (placement 2.0)."""

    #: Seconds after which the claim is released unless it is confirmed. Such a claim is a hold.
    expires_in: int
    #: Whether the service stores the request with the consumer.
    remember: bool
    #: The spread group of the consumer.
    spread_group: JsonSpreadGroup
