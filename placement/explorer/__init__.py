"""The explorer: a page that shows trees, room and reasons.

It is a client of the REST API and nothing else. This package hands out its files, which are in
`static`; whatever the page shows, it asks the API for, with the token of whoever looks at it.
"""

from placement.explorer.files import Explorer

__all__ = ["Explorer"]
