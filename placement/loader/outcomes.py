"""Outcomes of loading a file, for the file and for each of its entries."""

from enum import Enum


class LoadError(Exception):
    """A file cannot be loaded or written. The text is one line that begins with its location."""


class LoadOutcome(Enum):
    """The outcome for a provider or consumer. Messages contain the values."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "as they were"
