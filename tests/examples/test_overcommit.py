"""The program that looks for overcommitted providers."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import overcommit
from tests.kit.listener import answering, listening
from tests.kit.service import Service


def test_this_service_accepts_the_claims_that_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Service(tmp_path) as service, listening(service.application) as url:
        assert overcommit.main([url, "--rounds=2"]) == 0
        assert service.get("/resource_providers")["resource_providers"] == []
    assert capsys.readouterr().out.splitlines() == [
        "round 1: 20 of 60 claims accepted where 20 fit",
        "round 2: 20 of 60 claims accepted where 20 fit",
        "0 of 2 rounds exceeded the capacity",
    ]


def test_a_service_that_accepts_all_claims_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(204, b"") as url:
        assert overcommit.main([url, "--rounds=1"]) == 1
    assert capsys.readouterr().out.endswith("1 of 1 rounds exceeded the capacity\n")


def test_no_server_is_one_line() -> None:
    with pytest.raises(SystemExit, match=r"\Ahttp://127\.0\.0\.1:1: .*refused"):
        overcommit.main(["http://127.0.0.1:1"])
