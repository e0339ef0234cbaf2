"""Cards: providers that serve in one way at a time.

A card is a provider with a trait of `[placement] exclusive`. Each class of its own inventories is a
face, and all its descendants together are another face. Only one face of a card may be in use.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

Card = TypeVar("Card")

# The face of the descendants of a card. It is no name of a class.
BELOW = ""


class CardFace(NamedTuple, Generic[Card]):
    """One of the ways in which a card can serve."""

    card: Card
    # The name of one of its own classes, or BELOW.
    name: str


def clashes(
    used: Mapping[Card, Collection[str]], added: Iterable[CardFace[Card]]
) -> dict[CardFace[Card], CardFace[Card]]:
    """Return added face -> another face of its card that is in use or added.

    used: card -> names of the faces that are in use. They do not clash with each other.
    """
    added = list(added)
    by_card: dict[Card, set[str]] = {}
    for card, name in added:
        by_card.setdefault(card, set(used.get(card, ()))).add(name)
    return {
        CardFace(card, name): CardFace(card, min(by_card[card] - {name}))
        for card, name in added
        if len(by_card[card]) > 1
    }
