"""`python -m tests.explorer.screenshots`: every view as a picture, wide, narrow and dark.

The first of each goes to docs/images, where documents show it; all go to .run/screenshots, to be
looked at.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from urllib.parse import quote

from tests.explorer.browser import chromium, watched
from tests.explorer.cloud import Demo, demonstration
from tests.kit.processes import REPOSITORY

KINDS = {"wide": ("wide", False), "narrow": ("narrow", False), "dark": ("wide", True)}
SHOWN = ("cloud", "tree", "ask", "departure")  # in documents
PRESSED = {"departure": "What if this host goes?"}  # view -> button

SERVED = {
    "groups": {
        "_CPU": {"resources": {"PCPU": 4}},
        "_FPGA": {"resources": {"FPGA": 1}, "required": ["CUSTOM_FPGA_TYPE2"]},
    },
    "same_subtree": [{"of": ["_CPU", "_FPGA"], "not": []}],
}
REFUSED = {**SERVED, "groups": {**SERVED["groups"], "_CPU": {"resources": {"PCPU": 20}}}}  # type: ignore[dict-item]


def places(demo: Demo) -> dict[str, str]:
    """Return the views, each in a state that is suitable for a picture."""
    return {
        "cloud": "#cloud?class=VCPU&group=aggregate",
        "list": "#cloud?as=list",
        "tree": "#tree/fpga-d01",
        "departure": "#tree/compute-a01",
        "shared": f"#tree/{demo.provider('diskless-c01')}?consumer={holder(demo)}",
        "ask": f"#ask?request={quote(json.dumps(SERVED))}",
        "why": f"#ask?request={quote(json.dumps(REFUSED))}",
        "consumer": f"#consumer/{demo.consumers[0]}",
        "project": "#consumer?project=web",
        "gone": "#tree/00000000-0000-4000-8000-000000000000",
    }


def holder(demo: Demo) -> str:
    """Return a consumer that uses a host without a disk."""
    uuid = demo.provider("diskless-c01")
    allocations = demo.get(f"/resource_providers/{uuid}/allocations")["allocations"]
    return min(allocations, default="")


def main() -> None:
    """Create the pictures."""
    looked, shown = REPOSITORY / ".run" / "screenshots", REPOSITORY / "docs" / "images"
    for directory in (looked, shown):
        directory.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        chromium() as browser,
        demonstration(Path(scratch)) as demo,
    ):
        for name, place in places(demo).items():
            for kind, (size, dark) in KINDS.items():
                with watched(browser, demo.url, size, dark=dark) as watch:
                    page = watch.open(place)
                    page.wait_for_load_state("networkidle")
                    if name in PRESSED:
                        page.get_by_role("button", name=PRESSED[name]).click()
                        page.locator(f".{name} h2").wait_for()
                    page.wait_for_timeout(300)
                    path = looked / f"{name}-{kind}.png"
                    page.screenshot(path=path, full_page=True)
                    print(path, flush=True)
                    if name in SHOWN and kind == "wide":
                        part = page.locator(f".{name}") if name in PRESSED else page
                        part.screenshot(path=shown / f"explorer-{name}.png")


if __name__ == "__main__":
    main()
