"""Small building blocks of reStructuredText: headings, tables and blocks."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence


def heading(title: str, underline: str) -> str:
    """Return a heading."""
    return f"{title}\n{underline * len(title)}\n"


def block(language: str, content: str, caption: str = "") -> str:
    """Return a literal block."""
    options = f"   :caption: {caption}\n" if caption else ""
    return f".. code-block:: {language}\n{options}\n{textwrap.indent(content, '   ')}\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int] = ()) -> str:
    """Return a table; cells are text of any number of lines."""
    return "\n".join(_table(columns, rows, widths)) + "\n"


def _table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]
) -> Iterator[str]:
    yield ".. list-table::"
    yield "   :header-rows: 1"
    if widths:
        yield f"   :widths: {' '.join(map(str, widths))}"
    yield ""
    for row in (columns, *rows):
        for number, cell in enumerate(row):
            bullet = "* - " if number == 0 else "  - "
            yield f"   {bullet}{textwrap.indent(cell, ' ' * 7).lstrip()}"
    yield ""
