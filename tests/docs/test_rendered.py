"""The pages in a browser. Errors of the theme are visible only in its style sheets."""

from __future__ import annotations

from pathlib import Path

from tests.explorer.browser import chromium

# The texts of boxes of errors: elements of the builder, and what a style sheet puts before others.
ERROR_BOXES = """() => [...document.querySelectorAll('*')].map(element => {
    const before = getComputedStyle(element, '::before').content;
    const isBox = element.matches('.system-message, [role=main] .admonition.error');
    return isBox ? element.innerText : before.toUpperCase().startsWith('"ERROR') ? before : '';
}).filter(text => text)"""


def error_boxes(folder: Path) -> list[str]:
    """Return each error box that a page shows, with the name of the page."""
    boxes = []
    with chromium() as browser:
        page = browser.new_page()
        for path in sorted(folder.rglob("*.html")):
            page.goto(path.as_uri())
            boxes += [f"{path.relative_to(folder)}: {box}" for box in page.evaluate(ERROR_BOXES)]
    return boxes


def test_no_comment_of_a_field_is_shown_as_its_type(built: Path) -> None:
    page = (built / "reference" / "python.html").read_text()
    assert ">Type<" not in page
    assert "The property to compare: " in page


def test_no_page_shows_a_box_of_an_error(built: Path) -> None:
    # The box of the search page asks for JavaScript and is hidden where there is any.
    assert [box for box in error_boxes(built) if not box.startswith("search.html: ")] == []
