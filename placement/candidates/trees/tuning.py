"""Sizes of the reads of a search. Tests can replace this value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchTuning:
    """Sizes that affect the cost of a search, but not its candidates.

    A window is a run of roots. The first window has twice as many roots as the limit of candidates,
    but at least `smallest_window` and at most `first_window`. The share of matching roots
    determines the size of the next windows. The trees of a batch are loaded and searched together.
    """

    # Minimum size of the first window, in roots.
    smallest_window: int = 32
    # Maximum size of the first window, in roots.
    first_window: int = 64
    # Minimum factor between the sizes of successive windows.
    window_growth: int = 4
    # Maximum size of any window, in roots.
    largest_window: int = 16_384
    # Matches are rare if at most one in this number of roots matches.
    rare_match: int = 16
    # Number of random positions in a random sample.
    sample_runs: int = 4
    # Size of the first batch, in trees. Each of the next batches has four times the size.
    first_batch: int = 64
    # Maximum size of a batch, in trees.
    largest_batch: int = 1000
    # Number of cached trees with a candidate after which no other trees are read. None reads all
    # trees. It is set for searches that accept any candidates, because concurrent writers keep
    # changing the other trees.
    stop_after_cached: int | None = None
    # Maximum number of classes, trait sets or aggregate sets in one condition.
    max_terms: int = 8


DEFAULT_TUNING = SearchTuning()
