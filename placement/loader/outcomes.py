"""What became of a file, and of each provider and consumer in it."""

from enum import Enum


class LoadError(Exception):
    """A file cannot be loaded or written; the text is one line that begins with its place."""


class LoadOutcome(Enum):
    """What became of one provider or consumer; the values are the words for it."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "as they were"
