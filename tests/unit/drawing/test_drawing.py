"""Pictures of clouds: nothing is left out, nothing overlaps, equal clouds look equal."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from falcon_placement_client.drawing import draw
from falcon_placement_client.drawing.cards import cards
from falcon_placement_client.drawing.layout import Box, arrange
from falcon_placement_client.loader import Cloud, load_file
from placement.cli import main

DEMO = Path(__file__).parents[3] / "etc" / "demo-cloud.yaml"
SVG = "{http://www.w3.org/2000/svg}"


def cloud(tmp_path: Path, text: str) -> Cloud:
    path = tmp_path / "cloud.yaml"
    path.write_text(text)
    return load_file(path)


def texts(picture: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def unused() -> Cloud:
    """The demonstration cloud without allocations: many of its hosts are equal."""
    return replace(load_file(DEMO), consumers=())


def overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


@pytest.mark.parametrize("collapse", [True, False])
def test_the_layout_of_the_demonstration_cloud_has_no_overlaps(collapse: bool) -> None:
    picture = arrange(cards(unused(), collapse=collapse))
    assert len(picture.boxes) == (22 if collapse else 201)
    assert not [pair for pair in combinations(picture.boxes, 2) if overlap(*pair)]
    for box in picture.boxes:
        assert box.x >= 0
        assert box.x + box.width <= picture.width
        assert box.y >= 0
        assert box.y + box.height <= picture.height
        for chip in box.chips:
            assert chip.x > 0
            assert chip.x + chip.width < box.width
            assert chip.y < box.height


def test_usage_is_a_bar_and_overuse_is_highlighted(tmp_path: Path) -> None:
    text = """\
providers:
- name: host
  inventories: {VCPU: 8, MEMORY_MB: 1000, DISK_GB: 5}
consumers:
- uuid: c0ffee00-0000-4000-8000-000000000001
  project: p
  user: u
  allocations: {host: {VCPU: 2, MEMORY_MB: 2000}}
"""
    root = ElementTree.fromstring(draw(cloud(tmp_path, text)))
    bars = [each.get("class") for each in root.iter(f"{SVG}rect") if each.get("height") == "4"]
    assert bars == ["rail", "rail", "over", "rail", "bar"]
    titles = [each.text for each in root.iter(f"{SVG}title")]
    assert titles[2:] == ["0 of 5 used", "2,000 of 1,000 used", "2 of 8 used"]


def test_names_with_any_content_are_text(tmp_path: Path) -> None:
    name = "<b>&\\x01" + "x" * 100
    picture = draw(
        cloud(tmp_path, f'providers: [{{name: "{name}", traits: [CUSTOM_{"A" * 200}]}}]')
    )
    titles = [each.text for each in ElementTree.fromstring(picture).iter(f"{SVG}title")]
    assert titles[1] == f"<b>&\ufffd{'x' * 100}"
    assert [text[-1] for text in texts(picture)[1:]] == ["…", "…"]


def test_equal_clouds_give_equal_pictures_with_light_and_dark() -> None:
    picture = draw(load_file(DEMO))
    assert picture == draw(load_file(DEMO))
    assert "@media(prefers-color-scheme:dark)" in picture
    style = ElementTree.fromstring(picture).findtext(f"{SVG}style") or ""
    light, dark = style.split("@media")
    used = {
        name
        for each in ElementTree.fromstring(picture).iter()
        for name in str(each.get("class", "")).split()
    }
    for name in used - {"kind", "label", "reach"}:
        assert f".{name}{{" in light
        assert f".{name}{{" in dark


def test_the_command_draws_the_trees_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "picture.svg"
    assert main(["draw-cloud", str(DEMO), str(path), "--only", "fpga-d02", "--title", "FPGAs"]) == 0
    root = ElementTree.fromstring(path.read_text())
    assert root.findtext(f"{SVG}title") == "FPGAs"
    assert "fpga-d02-node2-fpga2" in texts(path.read_text())
    assert "fpga-d01" not in texts(path.read_text())
    assert main(["draw-cloud", str(DEMO), "--only", "nobody"]) == 1
    assert capsys.readouterr().err == f"placement: {DEMO}: no root has the name 'nobody'\n"
    assert main(["draw-cloud", str(DEMO), str(tmp_path / "no" / "picture.svg")]) == 1
    assert "cannot be written: No such file or directory" in capsys.readouterr().err
    assert main(["draw-cloud", str(tmp_path / "none.yaml")]) == 1
    assert "cannot be read" in capsys.readouterr().err
