"""The version that a header asks for."""

import pytest

from placement.api.history import MalformedVersionError, Microversion, requested

LATEST = Microversion(1, 39)


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (None, Microversion(1, 0)),
        ("", Microversion(1, 0)),
        ("placement 1.10", Microversion(1, 10)),
        ("placement latest", LATEST),
        ("compute 2.1", Microversion(1, 0)),
        ("compute 2.1, placement 1.5", Microversion(1, 5)),
        ("placement 1.5, placement 1.7", Microversion(1, 7)),
        ("placement 9.99", Microversion(9, 99)),
    ],
)
def test_a_header_names_a_version(header: str | None, version: Microversion) -> None:
    assert requested(header, LATEST) == version


@pytest.mark.parametrize("text", ["x", "1", "1.x"])
def test_what_is_no_version_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(MalformedVersionError) as raised:
        requested(f"placement {text}", LATEST)
    assert raised.value.args == (text,)


def test_versions_compare_as_numbers_and_print_as_text() -> None:
    assert Microversion(1, 9) < Microversion(1, 10)
    assert str(Microversion(1, 10)) == "1.10"
