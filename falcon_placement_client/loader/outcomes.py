"""The outcomes of loading a file and each of its entries."""

from enum import Enum


class LoadError(Exception):
    """A file cannot be loaded or written. The text is one line, which begins with the location."""


class LoadOutcome(Enum):
    """The outcome for a provider or consumer. Messages contain the values."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "as they were"
