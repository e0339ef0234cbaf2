"""The picture of the services around placement."""

from __future__ import annotations

from xml.etree import ElementTree

from placement_docs import actors

NAMESPACE = "{http://www.w3.org/2000/svg}"
CHARACTER = 0.61  # width of a letter of the font, by its size


def test_the_picture_shows_senders_and_requests() -> None:
    drawing = ElementTree.fromstring(actors.draw("a title"))
    texts = [text.text for text in drawing.iter(f"{NAMESPACE}text")]
    assert drawing.findtext(f"{NAMESPACE}title") == "a title"
    assert {"scheduler", "placement", "compute agent", "host", "instance"} <= set(texts)
    assert {"1 reports", "2 asks", "3 claims", "4 starts"} <= set(texts)


def test_no_text_leaves_its_card() -> None:
    for actor in actors.ACTORS:
        width = actor.box[2] - 18
        assert len(actor.name) * 14 * CHARACTER <= width
        assert max(map(len, actor.notes)) * 12 * CHARACTER <= width


def test_the_picture_has_colours_for_light_and_dark_pages() -> None:
    drawing = actors.draw("")
    light, dark = drawing.split("@media(prefers-color-scheme:dark)")
    for name, look in actors.COLOURS.items():
        for shade, rules in ((1, light), (2, dark)):
            rule = ";".join(f"{colour[0]}:{colour[shade]}" for colour in look)
            assert f".{name}{{{rule}}}" in rules
