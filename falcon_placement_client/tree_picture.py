"""Trees of providers, drawn with characters for terminals."""

from collections.abc import Iterator, Sequence

from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.trees import ProviderRow

BAR = 20  # columns

_FULL, _EMPTY = "█", "░"


def lines(rows: Sequence[ProviderRow], *, with_traits: bool = False) -> Iterator[str]:
    """Yield the lines of a picture: each provider, with a bar for the usage of each class.

    Args:
        rows: the providers of one tree, each parent before its children.
        with_traits: whether traits are listed, too.
    """
    children: dict[str | None, list[ProviderRow]] = {}
    for row in rows:
        children.setdefault(row.parent_provider_uuid, []).append(row)
    for root in children.get(None, []):
        yield _shown(root.name)
        yield from _below(root, children, "", with_traits)


def _below(
    provider: ProviderRow,
    children: dict[str | None, list[ProviderRow]],
    indent: str,
    with_traits: bool,
) -> Iterator[str]:
    """Yield the content of a provider, and the providers below it."""
    below = children.get(provider.uuid, [])
    margin = f"{indent}{'│' if below else ' '}   "
    yield from (f"{margin}{text}" for text in _uses(provider))
    if with_traits and provider.traits:
        yield f"{margin}{' '.join(provider.traits)}"
    for child in below:
        is_last = child is below[-1]
        yield f"{indent}{'└' if is_last else '├'}── {_shown(child.name)}"
        yield from _below(child, children, f"{indent}{' ' if is_last else '│'}   ", with_traits)


def _uses(provider: ProviderRow) -> Iterator[str]:
    records = {name: InventoryRecord(**each) for name, each in provider.inventories.items()}  # type: ignore[arg-type]
    width = max(map(len, records), default=0)
    for name, record in records.items():
        used, capacity = provider.used[name], record.capacity
        # A bar is full only if no unit is free, and empty only if no unit is used.
        share = used * BAR // capacity if capacity > 0 else BAR
        filled = min(BAR, max(share, 1 if used else 0))
        bar = _FULL * filled + _EMPTY * (BAR - filled)
        yield f"{name:<{width}}  {bar}  {used:,} of {capacity:,}"


def _shown(name: str) -> str:
    """Return a name for a terminal. Names with control characters are quoted."""
    return name if name.isprintable() else repr(name)
