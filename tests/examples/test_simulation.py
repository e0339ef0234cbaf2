"""The simulation with all of its events, on each engine. It must detect leaks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from examples import simulation as program
from examples.agent import report
from examples.simulation import Simulation
from examples.users import LeakError, User
from falcon_placement_client import NewConsumer, ReportClient
from falcon_placement_client.rest import Version
from placement.db import tables as t
from placement.direct import PlacementDirect
from tests.kit.builders import database_url, settings
from tests.kit.engines import share
from tests.kit.listener import listening
from tests.kit.recorder import Recorder
from tests.kit.service import Service


@pytest.mark.parametrize("version", [(1, 39), (2, 0)], ids=["1.39", "2.0"])
def test_nothing_leaks_with_four_schedulers(tmp_path: Path, version: Version) -> None:
    url = database_url(tmp_path)
    with PlacementDirect(settings(url)) as adapter:
        result = Simulation(ReportClient(adapter, version), 12, 4, seed=1).run(share(400))
    assert result.counts["boots"] > share(200)
    assert min(result.counts[each] for each in ("resizes", "deletes", "evacuations"))
    assert result.counts["hosts reshaped"]
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        for table in (t.consumers, t.allocations, t.resource_providers, t.inventories):
            assert conn.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0


def test_what_an_interrupted_run_left_is_removed(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ReportClient(recorder)
    with monkeypatch.context() as patch:
        patch.setattr(Simulation, "check", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Simulation(client, 4, 1, seed=1).run(40)
    assert Simulation(client, 4, 1, seed=1).run(40).counts["boots"]


def test_an_unknown_claim_is_a_leak(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    client = ReportClient(recorder)
    act = User.act
    stranger = NewConsumer("cccccccc-0000-0000-0000-000000000001", "project", "user")

    def claim_once(user: User) -> None:
        act(user)
        monkeypatch.setattr(User, "act", act)
        client.claim({"groups": {"": {"resources": {"VCPU": 3}}}}, stranger)

    monkeypatch.setattr(User, "act", claim_once)
    with pytest.raises(LeakError, match=r"host [0-9a-f-]{36}: .* used by \d+ consumers; expected"):
        Simulation(client, 4, 1, seed=1).run(20)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["simulation", *arguments])
    return program.main()


SMALL = ("--hosts", "6", "--operations", "30", "--schedulers", "2")


def test_the_program_runs_in_this_process_and_against_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *SMALL) == 0
    with Service(tmp_path) as service, listening(service.application) as url:
        assert report(ReportClient.at(url, "admin"), "examples/host.yaml")
        assert run(monkeypatch, *SMALL, "--url", url) == 0
    finished = r" boots,? .* boots a second; cloud [0-9a-f]{12}\n(the last .*\n)?nothing leaked"
    assert len(re.findall(finished, capsys.readouterr().out)) == 2


def test_the_program_says_in_one_line_that_there_is_no_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *SMALL, "--url", "http://127.0.0.1:1") == 1
    assert re.fullmatch(r"simulation: .*127\.0\.0\.1.*\n", capsys.readouterr().err)
