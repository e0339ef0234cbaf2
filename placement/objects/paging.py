"""Pages of lists."""

from typing import NamedTuple


class ListPage(NamedTuple):
    """A part of a list of providers or consumers, in the order of uuids."""

    # Maximum number of items.
    size: int
    # The page starts after this uuid, which does not have to exist. None for the first page.
    after: str | None = None
