"""Pictures of clouds: trees of providers as SVG, made of cloud files.

`cards` says what is told of each provider, `layout` where its card stands, `svg` how it looks.
Equal clouds give equal pictures.
"""

from placement.drawing.cards import cards
from placement.drawing.layout import arrange
from placement.drawing.svg import render
from placement.loader import Cloud

__all__ = ["draw"]


def draw(cloud: Cloud, *, title: str = "", collapse: bool = True) -> str:
    """Return the picture of all providers of a cloud, as an SVG document.

    title: what it shows, for who cannot see it. collapse: draw providers that are alike as one.
    """
    return render(arrange(cards(cloud, collapse=collapse)), title or f"Providers of {cloud.source}")
