"""`python -m bench.explorer`: how long the explorer takes to show a large cloud, in Chromium.

First paint is counted from the moment at which the first page of data is there. Frames are those
that the browser draws while the mouse crosses the map.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from functools import partial
from pathlib import Path

from playwright.sync_api import Page

from bench.__main__ import Databases
from bench.clouds import flat
from bench.servers import REPOSITORY, serving
from tests.explorer.browser import chromium, watched
from tests.kit.engines import SERVERS

WAIT = 60_000  # milliseconds
MOVES = 200
FRAMES = """() => {
  window.frames_drawn = [];
  let last = performance.now();
  const count = (now) => {
    window.frames_drawn.push(now - last);
    last = now;
    requestAnimationFrame(count);
  };
  requestAnimationFrame(count);
}"""


def moment(page: Page, name: str) -> float:
    """Return when a mark was first made, in milliseconds."""
    script = "(name) => performance.getEntriesByName(name)[0]?.startTime ?? NaN"
    return float(page.evaluate(script, name))


def move(page: Page) -> list[float]:
    """Move the mouse across the map; the milliseconds of each frame meanwhile."""
    box = page.get_by_role("application").bounding_box()
    assert box
    page.evaluate(FRAMES)
    for step in range(MOVES):
        share = step / MOVES
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + 400 * share)
    return [float(each) for each in page.evaluate("window.frames_drawn")]


def renderer_memory() -> float:
    """Return the most that a tab's process holds, in MiB."""
    sizes = [0.0]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            command = (status.parent / "cmdline").read_bytes()
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it has ended
            continue
        if b"--type=renderer" in command:
            sizes.append(int(lines["RssAnon"].split()[0]) / 1024)
    return max(sizes)


def show(page: Page, hosts: int) -> None:
    """Open the map, and print what it took."""
    page.set_default_timeout(WAIT)
    page.locator(".state", has_text="providers ·").wait_for()
    page.wait_for_timeout(200)  # until the last frame is drawn
    begun, read = moment(page, "cloud:begun"), moment(page, "cloud:read")
    painted, whole = moment(page, "cloud:painted"), moment(page, "cloud:whole")
    frames = move(page)
    heap = float(page.evaluate("performance.memory.usedJSHeapSize")) / 2**20
    print(
        f"{hosts} hosts: first page of data after {read - begun:.0f} ms, first paint "
        f"{painted - read:.0f} ms later, whole map {whole - begun:.0f} ms after the start"
    )
    print(
        f"  frames while moving: median {statistics.median(frames):.1f} ms, "
        f"95 % within {statistics.quantiles(frames, n=20)[-1]:.1f} ms"
    )
    print(
        f"  memory: JavaScript {heap:.0f} MiB, all of the tab's process "
        f"{renderer_memory():.0f} MiB (anonymous)"
    )


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m bench.explorer", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="mariadb")
    parser.add_argument("--hosts", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        Path(scratch).chmod(0o755)
        databases = Databases(options.engine, Path(scratch))
        url = databases.of("ours", flat(options.hosts, 2))
        served = partial(serving, "ours", checkout=REPOSITORY)
        with (
            served(url, Path(scratch) / "ours", databases.server) as server,
            chromium() as browser,
            watched(browser, f"http://127.0.0.1:{server.port}") as watch,
        ):
            show(watch.open(), options.hosts)


if __name__ == "__main__":
    main()
