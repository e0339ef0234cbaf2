"""The SVG rendering of a picture, with a light and a dark theme."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from xml.sax.saxutils import escape

from falcon_placement_client.drawing.cards import Card, CardKind, CardRow
from falcon_placement_client.drawing.layout import (
    CHARACTER,
    CHIP,
    CHIP_PADDING,
    HEADING,
    NAME_SIZE,
    PADDING,
    PILE,
    SMALL_SIZE,
    TEXT_SIZE,
    Box,
    Chip,
    Link,
    Picture,
    row_height,
    text_width,
)

RADIUS = 9
STRIPE = 5  # the coloured edge of a card
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# Colours of kinds and aggregates for the light and the dark theme. The colours of aggregates are
# reused in turn.
KINDS: Mapping[CardKind, tuple[str, str]] = {
    CardKind.SHARING: ("#0d9488", "#2dd4bf"),
    CardKind.ROOT: ("#2563eb", "#60a5fa"),
    CardKind.NUMA: ("#7c3aed", "#a78bfa"),
    CardKind.NETWORK: ("#b45309", "#fbbf24"),
    CardKind.DEVICE: ("#be185d", "#f472b6"),
    CardKind.CHILD: ("#475569", "#94a3b8"),
}
AGGREGATES = (
    ("#0d9488", "#2dd4bf"),
    ("#ca8a04", "#facc15"),
    ("#db2777", "#f472b6"),
    ("#4f46e5", "#818cf8"),
    ("#65a30d", "#a3e635"),
    ("#ea580c", "#fb923c"),
)
# Colours of the classes of elements: (property, light theme, dark theme).
Style = tuple[tuple[str, str, str], ...]
LIGHT, DARK = 1, 2
STYLES: Mapping[str, Style] = {
    "ground": (("fill", "#f8fafc", "#0f172a"),),
    "card": (("fill", "#ffffff", "#1e293b"), ("stroke", "#cbd5e1", "#475569")),
    "name": (("fill", "#0f172a", "#f1f5f9"),),
    "text": (("fill", "#1e293b", "#e2e8f0"),),
    "note": (("fill", "#64748b", "#94a3b8"),),
    "rule": (("stroke", "#e2e8f0", "#334155"),),
    "line": (("stroke", "#94a3b8", "#64748b"),),
    "chip": (("fill", "#f1f5f9", "#334155"),),
    "rail": (("fill", "#e2e8f0", "#334155"),),
    "bar": (("fill", "#2563eb", "#60a5fa"),),
    "over": (("fill", "#dc2626", "#f87171"),),
}
# Characters that are not allowed in XML.
_UNFIT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(picture: Picture, title: str) -> str:
    """Return the SVG document of a picture. The document has an accessible title."""
    return "\n".join(_document(picture, title)) + "\n"


def _document(picture: Picture, title: str) -> Iterator[str]:
    width, height = _number(picture.width), _number(picture.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">'
    )
    yield f"<title>{_text(title)}</title>"
    yield f"<style>{_style(picture)}</style>"
    yield _rect("ground", width=picture.width, height=picture.height, rx=RADIUS)
    # Draw the lines first, because cards cover them.
    for link in picture.links:
        yield _link(link)
    for box in picture.boxes:
        yield from _box(box)
    yield "</svg>"


def _style(picture: Picture) -> str:
    """Return the style sheet for the classes in the picture."""
    styles = _styles(picture)
    return (
        f"text{{font-family:{FONT};font-size:{TEXT_SIZE}px;dominant-baseline:auto}}"
        f".name{{font-size:{NAME_SIZE}px;font-weight:600}}"
        f".note,.kind,.label{{font-size:{SMALL_SIZE}px}}"
        ".line,.reach{fill:none;stroke-width:1.5}.reach{stroke-dasharray:5 4}"
        f"{_rules(styles, LIGHT)}@media(prefers-color-scheme:dark){{{_rules(styles, DARK)}}}"
    )


def _styles(picture: Picture) -> Mapping[str, Style]:
    """Return class -> colours, for the kinds and aggregates in the picture."""
    kinds = {box.card.kind for box in picture.boxes}
    chips = chain.from_iterable(box.chips for box in picture.boxes)
    numbers = {chip.number % len(AGGREGATES) for chip in chips if chip.number is not None}
    styles = dict(STYLES)
    for kind in CardKind:
        if kind in kinds:
            styles[_class_of(kind)] = (("fill", *KINDS[kind]),)
    for number in sorted(numbers):
        styles[f"dot{number}"] = (("fill", *AGGREGATES[number]),)
        styles[f"reach{number}"] = (("stroke", *AGGREGATES[number]),)
    return styles


def _rules(styles: Mapping[str, Style], shade: int) -> str:
    rules = []
    for name, style in styles.items():
        colours = ";".join(f"{colour[0]}:{colour[shade]}" for colour in style)
        rules.append(f".{name}{{{colours}}}")
    return "".join(rules)


def _class_of(kind: CardKind) -> str:
    return f"is-{kind.name.lower()}"


def _link(link: Link) -> str:
    """Return a line from the right edge of one card to the left edge of another."""
    start, end = link.start, link.end
    right = start.x + start.width
    if link.number is not None and end.x <= right:  # the neighbour is in the same column
        right = start.x
    middle = _number((right + end.x) / 2)
    x1, y1 = _number(right), _number(start.middle)
    x2, y2 = _number(end.x), _number(end.middle)
    path = f"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"
    if link.number is None:
        return f'<path class="line" d="{path}"/>'
    return f'<path class="reach reach{link.number % len(AGGREGATES)}" d="{path}"/>'


def _box(box: Box) -> Iterator[str]:
    card = box.card
    yield f'<g transform="translate({_number(box.x)} {_number(box.y)})">'
    yield f"<title>{_text(', '.join(card.names))}</title>"
    height = _number(box.height)
    if len(card.names) > 1:
        for offset in (1.6 * PILE, 0.8 * PILE):
            yield _rect("card", x=offset, y=offset, width=box.width, height=box.height, rx=RADIUS)
    yield _rect("card", width=box.width, height=box.height, rx=RADIUS)
    yield (
        f'<path class="{_class_of(card.kind)}" d="M{RADIUS} 0H{STRIPE}V{height}H{RADIUS}'
        f"A{RADIUS} {RADIUS} 0 0 1 0 {_number(box.height - RADIUS)}V{RADIUS}"
        f'A{RADIUS} {RADIUS} 0 0 1 {RADIUS} 0Z"/>'
    )
    yield from _heading(card, box.width)
    y: float = HEADING
    for row in card.rows:
        yield from _row(row, y, box.width)
        y += row_height(row.notes, row.used)
    for chip in box.chips:
        yield from _chip(chip)
    yield "</g>"


def _heading(card: Card, width: float) -> Iterator[str]:
    yield _label(f"kind {_class_of(card.kind)}", card.kind.value, PADDING, 16)
    room = width - 2 * PADDING
    if len(card.names) > 1:
        count = f"× {len(card.names):,}"
        room -= text_width(count, NAME_SIZE) + CHIP_PADDING
        style = f' style="font-size:{NAME_SIZE}px"'
        yield _label("note", count, width - PADDING, 32, at_end=True, more=style)
    name = _cut(card.names[0], NAME_SIZE, room)
    yield _label("name", name, PADDING, 32)
    if card.rows or card.traits or card.tags:
        yield (f'<path class="rule" d="M{PADDING} {HEADING - 5}H{_number(width - PADDING)}"/>')


def _row(row: CardRow, y: float, width: float) -> Iterator[str]:
    total = f"{row.total:,}"
    room = width - 2 * PADDING - text_width(f" {total}", TEXT_SIZE)
    name = _cut(row.resource_class, TEXT_SIZE, room)
    baseline = y + 13
    yield _label("text", name, PADDING, baseline)
    bold = ' font-weight="600"'
    yield _label("text", total, width - PADDING, baseline, at_end=True, more=bold)
    if row.used is not None:
        yield from _bar(row, row.used, y + 18, width)
        y += 8
    if row.notes:
        notes = _cut(row.notes, SMALL_SIZE, width - 2 * PADDING)
        yield _label("note", notes, PADDING, y + 26)


def _bar(row: CardRow, used: int, y: float, width: float) -> Iterator[str]:
    """Draw a bar that shows which share of the capacity is in use."""
    room = width - 2 * PADDING
    share = 1.0
    if used < row.capacity:
        share = used / row.capacity
    yield f"<g><title>{used:,} of {row.capacity:,} used</title>"
    yield _rect("rail", x=PADDING, y=y, width=room, height=4, rx=2)
    if used:
        style = "over" if used > row.capacity else "bar"
        yield _rect(style, x=PADDING, y=y, width=max(3.0, room * share), height=4, rx=2)
    yield "</g>"


def _chip(chip: Chip) -> Iterator[str]:
    yield f"<g><title>{_text(chip.text)}</title>"
    yield _rect("chip", x=chip.x, y=chip.y, width=chip.width, height=CHIP, rx=CHIP / 2)
    start = chip.x + CHIP_PADDING
    if chip.number is not None:
        yield (
            f'<circle class="dot{chip.number % len(AGGREGATES)}" cx="{_number(start + 2)}" '
            f'cy="{_number(chip.y + CHIP / 2)}" r="3.5"/>'
        )
        start += CHIP_PADDING + 2
    room = chip.x + chip.width - CHIP_PADDING / 2 - start
    text = _cut(chip.text, SMALL_SIZE, room)
    yield f"{_label('text label', text, start, chip.y + 12)}</g>"


def _rect(style: str, **lengths: float) -> str:
    """Return a rectangle. `lengths` contains its attributes."""
    attributes = [f'{name}="{_number(value)}"' for name, value in lengths.items()]
    return f'<rect class="{style}" {" ".join(attributes)}/>'


def _label(
    style: str, text: str, x: float, y: float, *, at_end: bool = False, more: str = ""
) -> str:
    """Return a text that starts at x or, with `at_end`, ends at x. `more`: further attributes."""
    anchor = ' text-anchor="end"' if at_end else ""
    place = f'x="{_number(x)}" y="{_number(y)}"'
    return f'<text class="{style}"{anchor} {place}{more}>{_text(text)}</text>'


def _cut(text: str, size: float, room: float) -> str:
    """Return a text, truncated if it does not fit."""
    if text_width(text, size) <= room + 1:
        return text
    return text[: max(1, int(room / (size * CHARACTER)) - 1)] + "…"


def _text(text: str) -> str:
    return escape(_UNFIT.sub("\ufffd", text))


def _number(value: float) -> str:
    """Return a length with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")
