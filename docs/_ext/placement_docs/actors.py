"""`.. actors::`: the picture of the services around placement, and the messages between them."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from xml.sax.saxutils import escape

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from falcon_placement_client.drawing.cards import CardKind
from falcon_placement_client.drawing.svg import FONT, KINDS, STYLES
from placement_docs.drawings import FOLDER

WIDTH, HEIGHT = 640, 400
# Classes of the picture: property, colour on light ground, on dark.
COLOURS = {name: STYLES[name] for name in ("ground", "card", "name", "note", "line")} | {
    "frame": (("fill", "none", "none"), ("stroke", "#94a3b8", "#64748b")),
    "agent": (("fill", *KINDS[CardKind.NETWORK]),),
    "scheduler": (("fill", *KINDS[CardKind.NUMA]),),
    "placement": (("fill", *KINDS[CardKind.ROOT]),),
    "instance": (("fill", *KINDS[CardKind.CHILD]),),
    "head": (("fill", "#94a3b8", "#64748b"),),
}


@dataclass(frozen=True)
class Actor:
    """A card."""

    # Name, in the card.
    name: str
    # The lines below the name.
    notes: tuple[str, ...]
    # Class of the coloured edge.
    colour: str
    # Left, top, width, height in pixels.
    box: tuple[int, int, int, int]


@dataclass(frozen=True)
class Message:
    """An arrow, and the text next to it."""

    # The verb of the message.
    name: str
    # The line below the name.
    note: str
    # Start and end, in pixels.
    path: tuple[int, int, int, int]
    # Start of the text, or its centre if the arrow is horizontal.
    text: tuple[int, int]


ACTORS = (
    Actor("scheduler", ("nova-scheduler,", "blazar, your own"), "scheduler", (20, 20, 170, 150)),
    Actor("placement", ("what exists,", "what is in use"), "placement", (450, 20, 170, 150)),
    Actor("instance", ("4 VCPU", "8192 MEMORY_MB"), "instance", (40, 285, 170, 84)),
    Actor("compute agent", ("nova-compute,", "neutron, cyborg"), "agent", (430, 285, 170, 84)),
)
HOST = (20, 255, 600, 130)
MESSAGES = (
    Message("1 reports", "inventories, traits", (535, 283, 535, 174), (525, 222)),
    Message("2 asks", "where could this run?", (192, 62, 446, 62), (320, 50)),
    Message("3 claims", "one of the candidates", (192, 128, 446, 128), (320, 116)),
    Message("4 starts", "the instance there", (105, 172, 105, 281), (118, 222)),
)


def draw(title: str) -> str:
    """Return the picture as an SVG document. title: what it shows, in words."""
    return "\n".join(_document(title)) + "\n"


def _document(title: str) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    )
    yield f"<title>{escape(title)}</title>"
    yield (
        f"<style>text{{font-family:{FONT};font-size:12px}}.name{{font-size:14px;font-weight:600}}"
        ".line{fill:none;stroke-width:1.5}.frame{stroke-dasharray:5 4}"
        f"{_rules(1)}@media(prefers-color-scheme:dark){{{_rules(2)}}}</style>"
    )
    yield (
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8Z"/></marker></defs>'
    )
    yield _rect("ground", (0, 0, WIDTH, HEIGHT))
    yield _rect("frame", HOST)
    yield _text("note", 320, 330, "host", "middle")
    for actor in ACTORS:
        yield from _actor(actor)
    for message in MESSAGES:
        yield from _message(message)
    yield "</svg>"


def _actor(actor: Actor) -> Iterator[str]:
    x, y, _width, height = actor.box
    yield _rect("card", actor.box)
    yield f'<rect class="{actor.colour}" x="{x}" y="{y + 8}" width="5" height="{height - 16}"/>'
    first = y + (height - 18 * len(actor.notes)) // 2 + 4
    yield _text("name", x + 18, first, actor.name)
    for number, note in enumerate(actor.notes, 1):
        yield _text("note", x + 18, first + 18 * number, note)


def _message(message: Message) -> Iterator[str]:
    x1, y1, x2, y2 = message.path
    yield f'<path class="line" d="M{x1} {y1}L{x2} {y2}" marker-end="url(#end)"/>'
    x, y = message.text
    anchor = "middle" if y1 == y2 else "end" if x < x1 else "start"
    yield _text("name", x, y, message.name, anchor)
    yield _text("note", x, y + (30 if y1 == y2 else 18), message.note, anchor)


def _rules(shade: int) -> str:
    return "".join(
        f".{name}{{{';'.join(f'{each[0]}:{each[shade]}' for each in look)}}}"
        for name, look in COLOURS.items()
    )


def _rect(look: str, box: tuple[int, int, int, int]) -> str:
    x, y, width, height = box
    return f'<rect class="{look}" x="{x}" y="{y}" width="{width}" height="{height}" rx="9"/>'


def _text(look: str, x: int, y: int, text: str, anchor: str = "start") -> str:
    return f'<text class="{look}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


class ActorsPicture(SphinxDirective):
    """The picture."""

    option_spec: ClassVar = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Write the picture into the folder of drawings, and return it."""
        title = self.options["alt"]
        drawing = draw(title)
        name = f"actors-{hashlib.sha256(drawing.encode()).hexdigest()[:12]}.svg"
        target = Path(self.env.srcdir) / FOLDER / name
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            target.write_text(drawing, encoding="utf-8")
        return [nodes.image("", uri=f"/{FOLDER}/{name}", alt=title)]


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("actors", ActorsPicture)
