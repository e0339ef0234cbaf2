"""The Python code of the page and of the README has the documented results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kit.listener import listening
from tests.kit.service import Service

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.rst").read_text()
README = (ROOT / "README.rst").read_text()


def block(after: str, text: str = PAGE) -> str:
    """The literal block that follows a line, without its indentation."""
    found = re.search(rf"^{re.escape(after)}\n\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    assert found, after
    return re.sub("^    ", "", found[1], flags=re.MULTILINE).strip() + "\n"


def test_the_example_of_a_client_prints_what_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = block(".. code-block:: python")
    assert "http://127.0.0.1:8778" in code
    with Service(tmp_path) as service, listening(service.application) as url:
        exec(code.replace("http://127.0.0.1:8778", url), {})
    assert capsys.readouterr().out == block("The program prints::")


def test_the_claims_of_the_page_are_made_and_released(tmp_path: Path) -> None:
    example = block(".. code-block:: python")
    claims = PAGE.split("in one transaction:")[1]
    with Service(tmp_path) as service, listening(service.application) as url:
        names: dict[str, object] = {}
        for code in (example, block(".. code-block:: python", claims)):
            exec(code.replace("http://127.0.0.1:8778", url), names)
        rows = service.dump()
    assert (rows["consumers"], rows["allocations"]) == ([], [])
    assert len(rows["resource_providers"]) == 2


def test_the_lines_of_the_readme_print_the_documented_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = block("with any Python after ``pip install ./falcon_placement_client``::", README)
    shown = re.findall(r"  # (.+)$", code, re.MULTILINE)
    with Service(tmp_path) as service, listening(service.application) as url:
        for _run in range(2):
            exec(code.replace("http://127.0.0.1:8778", url), {})
            assert capsys.readouterr().out.splitlines() == shown
            assert service.dump()["resource_providers"] == []
