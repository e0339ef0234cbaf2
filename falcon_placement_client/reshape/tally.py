"""The changes of a transformation by class: numbers of providers, totals and usage."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.reshape.draft import Draft

ROOT, BELOW = "roots", "below roots"


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """The change of one class at one place, as pairs of values before and after it."""

    # Name of the resource class.
    resource_class: str
    # ROOT or BELOW.
    place: str
    # Number of providers with an inventory of the class.
    providers: tuple[int, int]
    # Sum of their totals.
    total: tuple[int, int]
    # Sum of their usage.
    used: tuple[int, int]


Key = tuple[str, str]  # class, place


@dataclass(slots=True)
class _Sums:
    # Number of providers with an inventory of the class.
    providers: Counter[Key] = field(default_factory=Counter)
    # Sum of their totals.
    total: Counter[Key] = field(default_factory=Counter)
    # Sum of their usage.
    used: Counter[Key] = field(default_factory=Counter)

    def get(self, key: Key) -> tuple[int, int, int]:
        return self.providers[key], self.total[key], self.used[key]


class ReshapeTally:
    """Sums over all transformed trees."""

    def __init__(self) -> None:
        # Number of transformed trees.
        self.trees = 0
        # The sums before and after the transformation.
        self._before, self._after = _Sums(), _Sums()

    def add(self, draft: Draft) -> None:
        """Add a transformed tree."""
        self.trees += 1
        used = draft.used()
        for uuid in draft.own:
            _add(self._before, draft.base.find(uuid), draft.used_before[uuid])
            _add(self._after, draft.tree.find(uuid), used[uuid])

    def rows(self) -> Iterator[ResourceRow]:
        """Yield a row for each class and place whose values change."""
        for key in sorted(self._before.providers.keys() | self._after.providers.keys()):
            before, after = self._before.get(key), self._after.get(key)
            if before != after:
                providers, total, used = zip(before, after, strict=True)
                yield ResourceRow(*key, providers, total, used)


def _add(sums: _Sums, provider: ProviderData | None, used: Counter[str]) -> None:
    if provider is None:
        return
    place = ROOT if provider.parent_uuid is None else BELOW
    for name, record in provider.inventory.items():
        sums.providers[name, place] += 1
        sums.total[name, place] += record.total
        sums.used[name, place] += used[name]
