"""How large the pieces are in which a search reads: one value, so that tests can choose others."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchTuning:
    """Sizes that change what a search costs and never what it finds.

    Windows (in roots): the first has twice the limit, between `smallest_window` and
    `first_window`. Each further one is as large as the share of matches promises, `window_growth`
    times the one before at the least, and `largest_window` at the most. One match in
    `rare_match` roots or fewer is rare. A random sample comes from `sample_runs` places. If the
    database begins with what `few_roots` trees or fewer have, these are searched.

    Batches (in trees) are loaded and searched together: `first_batch`, then four times as many
    each, up to `largest_batch`.

    enough_known: of each batch, the trees that are in memory are searched before the others are
    read, and where so many trees serve, no others are read. For where some candidates are wanted
    and not the first ones: trees that others change all the time are not read again and again.

    SQL: `max_conditions` of one statement, for a planner takes seconds beyond some twenty;
    `max_terms` classes, trait sets or aggregate sets of one condition.
    """

    smallest_window: int = 32
    first_window: int = 64
    window_growth: int = 4
    largest_window: int = 16_384
    rare_match: int = 16
    sample_runs: int = 4
    few_roots: int = 64
    first_batch: int = 64
    largest_batch: int = 1000
    enough_known: int | None = None
    max_conditions: int = 8
    max_terms: int = 8


DEFAULT_TUNING = SearchTuning()
