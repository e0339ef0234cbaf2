"""The display of progress."""

import io

from placement.runtime.progress import progress, silent

LONG = 3600.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_shown_a_bar() -> None:
    out = Terminal()
    with progress("checking", out)(range(4), "parts") as parts:
        assert list(parts) == [0, 1, 2, 3]
    assert "checking: 100%" in out.getvalue()
    assert "4/4" in out.getvalue()


def test_elsewhere_a_few_lines_are_written() -> None:
    out = io.StringIO()
    with progress("checking", out)(iter(range(8)), "parts", 8) as parts:
        assert len(list(parts)) == 8
    assert out.getvalue().splitlines() == [f"checking: {done} of 8 parts" for done in (2, 4, 6, 8)]


def test_nothing_is_shown_of_what_is_done_before_patience_ends() -> None:
    for out in (Terminal(), io.StringIO()):
        with progress("checking", out, LONG)(range(4), "parts") as parts:
            assert len(list(parts)) == 4
        assert out.getvalue() == ""


def test_silence_shows_nothing_and_hands_all_on() -> None:
    with silent(iter("abc"), "letters") as letters:
        assert list(letters) == ["a", "b", "c"]
