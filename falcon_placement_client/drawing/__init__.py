"""Pictures of clouds. They are drawn from cloud files as SVG.

`cards` selects the content of each provider's card, `layout` positions the cards, and `svg` renders
them. Two equal clouds have the same picture.
"""

from falcon_placement_client.drawing.cards import cards
from falcon_placement_client.drawing.layout import arrange
from falcon_placement_client.drawing.svg import render
from falcon_placement_client.loader import Cloud

__all__ = ["draw"]


def draw(cloud: Cloud, *, title: str = "", collapse: bool = True) -> str:
    """Return the picture of all providers of a cloud, as an SVG document.

    Args:
        title: accessible title of the picture; by default it has the source of the cloud.
        collapse: draw equal siblings as one card.
    """
    return render(arrange(cards(cloud, collapse=collapse)), title or f"Providers of {cloud.source}")
