"""Entity tags, with which a client revalidates its cached copy.

A tag is computed from revisions, in the transaction that reads the response. Revisions are read
first, because the client may already have the response. A response has no tag if the revisions may
have changed while it was read.
"""

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import TypeVar

from sqlalchemy.engine import Connection

from placement import __version__
from placement.api.handler import Call
from placement.api.history import Versioned
from placement.objects import providers, revisions
from placement.objects.provider_list import ProviderList
from placement.objects.providers import Provider
from placement.objects.revisions import State

T = TypeVar("T")

ANY = "*"  # matches any tag

TAGGED = Versioned({"1.0": False, "2.0": True})


class Unmodified(Exception):
    """Raised by a handler if the client has a valid copy of the response."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.tag = tag


def read_provider(
    call: Call, read: Callable[[Connection, Provider], T]
) -> tuple[Provider, T, str | None]:
    """Read the provider in the path and a part of it.

    Args:
        call: the request.
        read: returns the part of a provider.

    Returns:
        The provider, the part, and the tag of the response, or None if it has none.

    Raises:
        Unmodified: the client has stated the tag.
        ProviderNotFound
    """

    def tag_of(provider: Provider) -> str | None:
        return _tag(call, partial(revisions.state_of_tree, provider.revision))

    with call.service.database.read_trees() as conn:
        provider, part = providers.get_with(conn, call.path["uuid"], partial(read, conn), tag_of)
    return provider, part, tag_of(provider)


def get_for_page(call: Call, page: ProviderList) -> str | None:
    """Return the tag of a page of the list of providers, or None.

    It depends on the trees of the page only, because reading all revisions would take too long.

    Raises:
        Unmodified: the client has stated the tag.
    """
    return _tag(call, partial(revisions.state_of_page, page.revisions, are_more=page.are_more))


def get_for_all(call: Call, conn: Connection) -> str | None:
    """Return the tag of a complete list of providers, which changes with any tree.

    It belongs to the list that is read next, if `confirm` returns it.

    Raises:
        Unmodified: the client has stated the tag.
    """
    return _tag(call, partial(revisions.state_of_all, conn))


def confirm(call: Call, conn: Connection, tag: str | None) -> str | None:
    """Return the tag after the list has been read, or None if it may be outdated.

    Raises:
        Unmodified: the client has stated the present tag.
    """
    if tag is None or not revisions.may_tear(conn):
        return tag
    return tag if get_for_all(call, conn) == tag else None


def _tag(call: Call, state_now: Callable[[], State | None]) -> str | None:
    state = state_now() if TAGGED.at(call.version) else None
    if state is None:
        return None
    # Everything that the response depends on; releases may render it differently.
    parts = (__version__, call.version, call.mount, call.url, *state)
    text = "\n".join(map(str, parts)).encode("utf-8", "surrogatepass")
    tag = blake2b(text, digest_size=12).hexdigest()
    if tag in call.known_tags:
        raise Unmodified(tag)
    return tag
