"""The code of the README does what the README says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.rst").read_text()


def block(after: str) -> str:
    """The literal block that follows a line, without its indentation."""
    found = re.search(rf"^{re.escape(after)}\n\n((?:    .*\n|\n)+)", README, re.MULTILINE)
    assert found, after
    return re.sub("^    ", "", found[1], flags=re.MULTILINE).strip() + "\n"


def test_the_example_of_a_client_prints_what_is_shown(
    live_server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = block("openstack-placement, too. With ``make serve`` running::")
    assert "http://127.0.0.1:8778" in code
    exec(code.replace("http://127.0.0.1:8778", live_server), {})
    assert capsys.readouterr().out == block("prints ::")
