"""Tables in reStructuredText."""

from collections.abc import Sequence


def figure(value: float) -> str:
    """Return a number with as many digits as it deserves."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first column is text, the others are numbers."""
    lines = [head, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    rule = "  ".join("=" * width for width in widths)
    text = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([rule, text[0], rule, *text[1:], rule, ""])
