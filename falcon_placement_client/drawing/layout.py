"""The positions of cards. Trees extend from left to right, with sharing providers on their left.

Lengths are in pixels. The font is monospaced, so the number of characters determines the width of a
text.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf

from falcon_placement_client.drawing.cards import Card, CardKind

MARGIN = 24
COLUMN_GAP = 44
CARD_GAP = 16
TREE_GAP = 36
PADDING = 14  # inside of a card
# Font sizes.
NAME_SIZE = 13
TEXT_SIZE = 12
SMALL_SIZE = 10
CHARACTER = 0.602  # width of a character relative to the font size
LAST_NARROW = 0x2E7F  # last code point of narrow characters
MIN_WIDTH, MAX_WIDTH = 190, 300
HEADING = 44  # kind and name
ROW = 19
NOTES = 14
BAR = 8  # bar with the usage of an inventory
CHIP = 17  # a trait or an aggregate
CHIP_GAP = 5
CHIP_PADDING = 6
COUNT_LENGTH = 6  # width of "× 14" next to the name, in characters
PILE = 5  # offset of the cards that are behind a collapsed card


@dataclass(frozen=True, slots=True)
class Chip:
    """A trait or an aggregate on a card."""

    text: str
    # Distance from the left edge of the card.
    x: float
    # Distance from the upper edge of the card.
    y: float
    # Width, at most the width of the card without its padding. Longer texts are cut.
    width: float
    # Number of the aggregate, or None for a trait.
    number: int | None


@dataclass(frozen=True, slots=True)
class Box:
    """The position of a card."""

    card: Card
    # Left edge.
    x: float
    # Upper edge. 0 is the top of the picture.
    y: float
    width: float
    height: float
    # The traits, followed by the aggregates.
    chips: tuple[Chip, ...]

    @property
    def middle(self) -> float:
        """The y coordinate at which lines start and end."""
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Link:
    """A line between two boxes."""

    # The parent, or the sharing provider.
    start: Box
    # The child, or a provider in the aggregate of the sharing provider.
    end: Box
    # Number of the aggregate of a sharing provider, or None for a line from parent to child.
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """The boxes and lines of a picture, and its size."""

    # Width, including the margins.
    width: float
    # Height, including the margins.
    height: float
    # Boxes in the order of drawing.
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]


def text_width(text: str, size: float) -> float:
    """Return the width of a text. Wide characters count twice."""
    wide = sum(ord(character) > LAST_NARROW for character in text)
    return (len(text) + wide) * size * CHARACTER


def row_height(notes: str, used: int | None) -> int:
    """Return the height of the row of an inventory."""
    return ROW + (NOTES if notes else 0) + (0 if used is None else BAR)


def arrange(roots: Sequence[Card]) -> Picture:
    """Position all cards and the lines between them."""
    sharing = [card for card in roots if card.kind is CardKind.SHARING]
    trees = [card for card in roots if card.kind is not CardKind.SHARING]
    layout = _Layout()
    x: float = MARGIN
    if sharing:
        x += _widest(sharing) + 2 * COLUMN_GAP
    layout.place_trees(trees, x)
    layout.place_sharing(sharing)

    right = max([MARGIN, *(box.x + box.width for box in layout.boxes)])
    bottom = max([MARGIN, *(box.y + box.height for box in layout.boxes)])
    edge = MARGIN + PILE
    return Picture(right + edge, bottom + edge, tuple(layout.boxes), tuple(layout.links))


class _Layout:
    """The boxes and links that have been placed so far."""

    def __init__(self) -> None:
        # Boxes in the order of placement.
        self.boxes: list[Box] = []
        # Lines between the boxes.
        self.links: list[Link] = []

    def place_trees(self, roots: Sequence[Card], x: float) -> None:
        """Place trees from top to bottom. Each level has a column."""
        columns = _columns(roots, x)
        top: float = MARGIN
        for root in roots:
            self._place(root, 0, top, columns)
            top += _tree_height(root) + TREE_GAP

    def _place(self, card: Card, level: int, top: float, columns: Sequence[float]) -> Box:
        """Place a card at the vertical centre of its tree. The tree starts at `top`."""
        height = _tree_height(card)
        _width, own_height = _size(card)
        box = _box(card, columns[level], top + (height - own_height) / 2)
        self.boxes.append(box)
        child_top = top + (height - _children_height(card)) / 2
        for child in card.children:
            end = self._place(child, level + 1, child_top, columns)
            self.links.append(Link(box, end))
            child_top += _tree_height(child) + CARD_GAP
        return box

    def place_sharing(self, cards: Sequence[Card]) -> None:
        """Place sharing providers in the first column, near the trees that they serve."""
        served = self._boxes_by_aggregate()
        # The best position is the centre of the boxes that a provider serves. Providers that serve
        # no box come last.
        best_middles = [_middle_of_served(card, served) for card in cards]
        top: float = MARGIN
        for middle, i in sorted(zip(best_middles, range(len(cards)), strict=True)):
            card = cards[i]
            _width, height = _size(card)
            if middle != inf:
                top = max(top, middle - height / 2)
            box = _box(card, MARGIN, top)
            self.boxes.append(box)
            top += height + TREE_GAP
            for tag in card.tags:
                for end in served[tag.number]:
                    self.links.append(Link(box, end, tag.number))

    def _boxes_by_aggregate(self) -> Mapping[int, list[Box]]:
        boxes: dict[int, list[Box]] = defaultdict(list)
        for box in self.boxes:
            for tag in box.card.tags:
                boxes[tag.number].append(box)
        return boxes


def _middle_of_served(card: Card, served: Mapping[int, Sequence[Box]]) -> float:
    """Return the mean y coordinate of the boxes that a sharing provider serves.

    Infinity if none.
    """
    boxes = chain.from_iterable(served[tag.number] for tag in card.tags)
    middles = [box.middle for box in boxes]
    return sum(middles) / len(middles) if middles else inf


def _columns(roots: Sequence[Card], x: float) -> list[float]:
    """Return the x coordinate of the column of each level."""
    columns: list[float] = []
    level = list(roots)
    while level:
        columns.append(x)
        x += _widest(level) + COLUMN_GAP
        level = list(chain.from_iterable(card.children for card in level))
    return columns


def _widest(cards: Sequence[Card]) -> float:
    return max(_size(card)[0] for card in cards)


def _children_height(card: Card) -> float:
    heights = [_tree_height(child) for child in card.children]
    return sum(heights) + CARD_GAP * max(0, len(heights) - 1)


def _tree_height(card: Card) -> float:
    _width, height = _size(card)
    return max(height, _children_height(card))


def _box(card: Card, x: float, y: float) -> Box:
    width, height = _size(card)
    chips, _end = _chips(card, width)
    return Box(card, x, y, width, height, chips)


def _size(card: Card) -> tuple[float, float]:
    """Return the width and the height of a card."""
    widest = text_width(card.names[0], NAME_SIZE)
    if len(card.names) > 1:
        widest += COUNT_LENGTH * NAME_SIZE * CHARACTER
    for row in card.rows:
        amount_width = text_width(f"{row.resource_class}   {row.total:,}", TEXT_SIZE)
        widest = max(widest, amount_width, text_width(row.notes, SMALL_SIZE))
    for text, _number in _chip_texts(card):
        widest = max(widest, text_width(text, SMALL_SIZE) + 3 * CHIP_PADDING)
    width = min(MAX_WIDTH, max(MIN_WIDTH, widest + 2 * PADDING))
    _placed, end = _chips(card, width)
    return width, end + PADDING


def _chip_texts(card: Card) -> list[tuple[str, int | None]]:
    """Return (text, number of the aggregate or None) for traits and aggregates."""
    traits = [(trait, None) for trait in card.traits]
    return [*traits, *((tag.name, tag.number) for tag in card.tags)]


def _chips(card: Card, width: float) -> tuple[tuple[Chip, ...], float]:
    """Return the chips, divided into lines of the given width, and the y coordinate of the end."""
    chips: list[Chip] = []
    y: float = HEADING + sum(row_height(row.notes, row.used) for row in card.rows)
    texts = _chip_texts(card)
    number_of_traits = len(card.traits)
    for group in (texts[:number_of_traits], texts[number_of_traits:]):
        if not group:
            continue
        y += CHIP_GAP
        x: float = PADDING
        for text, number in group:
            chip_width = text_width(text, SMALL_SIZE) + 2 * CHIP_PADDING
            if number is not None:
                chip_width += CHIP_PADDING  # for the dot
            chip_width = min(chip_width, width - 2 * PADDING)
            if x > PADDING and x + chip_width > width - PADDING:
                x = PADDING
                y += CHIP + CHIP_GAP
            chips.append(Chip(text, x, y, chip_width, number))
            x += chip_width + CHIP_GAP
        y += CHIP
    return tuple(chips), y
