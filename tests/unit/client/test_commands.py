"""Arguments of the commands over REST."""

import argparse

import pytest

from falcon_placement_client.commands.over_rest import seconds


@pytest.mark.parametrize("text", ["x", "", "1s", "nan", "inf", "-1", "1e9"])
def test_a_duration_is_refused_in_plain_words(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"expected seconds, such as 1 or 0\.5"):
        seconds(text)
    assert seconds("0.5") == 0.5
