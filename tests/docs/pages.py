"""The references of a page, and its targets for references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes by which a browser fetches something for a page, without being asked to.
FETCHED = {
    ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"),
}  # fmt: skip
IMPORTED = re.compile(r"""(?:@import\s+|url\(\s*)['"]?(?P<url>(?:https?:)?//[^'")\s]+)""")


@dataclass
class Page(HTMLParser):
    """A page. links: of all kinds. fetched: links that a browser follows automatically."""

    path: Path
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id":
                self.ids.add(value)
            elif name in {"href", "src"}:
                self.links.append(value)
                if (tag, name) in FETCHED:
                    self.fetched.append(value)

    def targets(self) -> Iterator[tuple[str, Path, str]]:
        """Return for each local link its text, the file that it names, and the position in the
        file.
        """
        for link in self.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = self.path.parent / unquote(parts.path) if parts.path else self.path
            yield link, path.resolve(), unquote(parts.fragment)


def pages(folder: Path) -> dict[Path, Page]:
    """Return all pages of a folder."""
    return {path.resolve(): Page(path.resolve()) for path in sorted(folder.rglob("*.html"))}


def dead_links(folder: Path) -> list[str]:
    """Return the broken local links, with the pages that contain them."""
    by_path = pages(folder)
    return [
        f"{page.path.relative_to(folder.resolve())}: {link}"
        for page in by_path.values()
        for link, path, place in page.targets()
        if not path.exists() or (place and path in by_path and place not in by_path[path].ids)
    ]


def fetched_elsewhere(folder: Path) -> list[str]:
    """Return the resources that a browser would fetch from other hosts."""
    by_pages = [
        f"{page.path.name}: {url}"
        for page in pages(folder).values()
        for url in page.fetched
        if urlsplit(url).netloc
    ]
    by_styles = [
        f"{path.name}: {match['url']}"
        for path in sorted(folder.rglob("*.css"))
        for match in IMPORTED.finditer(path.read_text())
    ]
    return by_pages + by_styles
