"""Entity tags: by them a client learns that what it has is still so.

A tag is made of revisions, in the transaction that reads the answer. A look at them comes first,
for the client may have what they stand for. An answer that may be of others by its end has no tag.
"""

from collections.abc import Callable
from functools import partial
from hashlib import blake2b

from sqlalchemy.engine import Connection

from placement import __version__
from placement.api.handler import Call
from placement.api.versioned import Versioned
from placement.objects import revisions
from placement.objects.provider_list import ProviderList
from placement.objects.providers import Provider
from placement.objects.revisions import State

ANY = "*"  # instead of tags: whatever there is

TAGGED = Versioned({"1.0": False, "2.0": True})


class Unmodified(Exception):
    """Raised by a handler: the client has the answer, whose tag this is."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.tag = tag


def of_provider(call: Call, provider: Provider) -> str | None:
    """Return the tag of an answer about a provider; None where it has none.

    Raises Unmodified when the client has stated the tag.
    """
    return _tag(call, partial(revisions.state_of_tree, provider.revision))


def of_page(call: Call, page: ProviderList) -> str | None:
    """Return the tag of a page of the list of providers, as `of_provider` does.

    It is made of the page alone: to look at all trees would take longer the more there are. Raises
    Unmodified.
    """
    return _tag(call, partial(revisions.state_of_page, page.revisions, are_more=page.are_more))


def of_all(call: Call, conn: Connection) -> str | None:
    """Return the tag of a list of providers that is no page: it changes with any tree there is.

    It is that of the list which is read next, if `still` says so. Raises Unmodified.
    """
    return _tag(call, partial(revisions.state_of_all, conn))


def still(call: Call, conn: Connection, tag: str | None) -> str | None:
    """Return the tag of a list that was read after it, or None where that may be another one.

    Raises Unmodified.
    """
    if tag is None or not revisions.may_tear(conn):
        return tag
    return tag if of_all(call, conn) == tag else None


def _tag(call: Call, state_now: Callable[[], State | None]) -> str | None:
    state = state_now() if TAGGED.at(call.version) else None
    if state is None:
        return None
    # All that the answer depends on; another release may show the same in another way.
    parts = (__version__, call.version, call.mount, call.url, *state)
    text = "\n".join(map(str, parts)).encode("utf-8", "surrogatepass")
    tag = blake2b(text, digest_size=12).hexdigest()
    if tag in call.known_tags:
        raise Unmodified(tag)
    return tag
