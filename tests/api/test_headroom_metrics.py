"""The gauges of `[metrics] headroom_file` are measured only after a change."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from placement import client
from placement.config import Settings
from placement.entry.app import create_app
from placement.errors import ConfigurationError, LargeWorkBusy
from placement.metrics import Metrics, headroom
from tests.kit import metrics as kit
from tests.kit.builders import make_database
from tests.kit.service import Client
from tests.kit.statements import counted

HOST = "00000000-0000-0000-0000-0000000000c1"


class Scraped:
    """A service in process with a file of requests, and its metrics."""

    def __init__(self, directory: Path, content: str) -> None:
        self.file = directory / "flavors.yaml"
        self.file.write_text(content)
        self.texts = directory / "metrics"
        self.texts.mkdir()
        options: dict[str, Any] = {
            "directory": str(self.texts),
            "headroom_file": str(self.file),
            "headroom_interval": 60.0,
            "token_required": False,
            "inventory_seconds": 0,
        }
        self.settings, self.database = make_database(directory, metrics=options)
        self.serve(self.settings)

    def serve(self, settings: Settings) -> None:
        """Start a service with these settings."""
        metrics = Metrics(settings.metrics)
        self.client = Client(create_app(settings, self.database, metrics=metrics))

    def gauge(self, name: str) -> dict[str, float]:
        return dict(kit.of(kit.samples(self.client.send("GET", "/metrics").content), name))

    def age(self) -> None:
        """Let the interval expire."""
        text = self.texts / "headroom.txt"
        os.utime(text, (time.time() - 120, time.time() - 120))

    def add_host(self, total: int) -> None:
        self.client.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        body = {"inventories": {"VCPU": {"total": total}}, "resource_provider_generation": 0}
        self.client.expect(200, "PUT", f"/resource_providers/{HOST}/inventories", body)


def test_gauges_follow_the_cloud_and_the_file(tmp_path: Path) -> None:
    scraped = Scraped(tmp_path, 'm1.large: {"resources:VCPU": 4}\n')
    scraped.add_host(9)
    assert scraped.gauge("placement_headroom") == {"request=m1.large": 2}
    assert scraped.gauge("placement_headroom_upper") == {"request=m1.large": 2}
    claim = {
        "request": {"groups": {"": {"resources": {"VCPU": 4}}}},
        "consumer_uuid": "cccccccc-0000-0000-0000-000000000001",
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
    }
    assert scraped.client.send("POST", "/claims", claim, "2.0").status_code == 201
    # Within the interval the previous numbers are returned.
    assert scraped.gauge("placement_headroom") == {"request=m1.large": 2}
    scraped.age()
    assert scraped.gauge("placement_headroom") == {"request=m1.large": 1}
    assert scraped.gauge("placement_headroom_empty") == {"request=m1.large": 2}
    scraped.file.write_text('m1.tiny: {groups: {"": {resources: {VCPU: 1}}}}\n')
    scraped.age()
    assert scraped.gauge("placement_headroom") == {"request=m1.tiny": 5}
    # An unusable file changes nothing.
    scraped.file.write_text("m1.tiny: 5\n")
    scraped.age()
    assert scraped.gauge("placement_headroom") == {"request=m1.tiny": 5}


def test_nothing_is_measured_while_nothing_changes(tmp_path: Path) -> None:
    scraped = Scraped(tmp_path, 'm1.large: {"resources:VCPU": 4}\n')
    scraped.add_host(9)
    scraped.gauge("placement_headroom")
    scraped.age()
    with counted(scraped.database) as statements:
        assert scraped.gauge("placement_headroom") == {"request=m1.large": 2}
    assert len(statements) == 1  # the sums of revisions
    with counted(scraped.database) as statements:
        assert scraped.gauge("placement_headroom") == {"request=m1.large": 2}
    assert len(statements) == 0


def test_another_bound_of_the_search_is_a_change(tmp_path: Path) -> None:
    """The text of a service outlives it, if its directory does."""
    scraped = Scraped(tmp_path, 'm1.large: {"resources:VCPU": 4}\n')
    scraped.add_host(9)
    scraped.gauge("placement_headroom")
    scraped.age()
    candidates = replace(scraped.settings.candidates, max_search_steps=77)
    scraped.serve(replace(scraped.settings, candidates=candidates))
    with counted(scraped.database) as statements:
        scraped.gauge("placement_headroom")
    assert len(statements) > 1  # the sums of revisions, and the measurement


def test_a_process_that_is_busy_shows_the_previous_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scraped = Scraped(tmp_path, 'm1.large: {"resources:VCPU": 4}\n')
    scraped.add_host(9)
    assert scraped.gauge("placement_headroom") == {"request=m1.large": 2}
    scraped.file.write_text('m1.tiny: {"resources:VCPU": 1}\n')
    scraped.age()

    def refuse(*_arguments: object) -> None:
        raise LargeWorkBusy

    monkeypatch.setattr(headroom, "find_headroom", refuse)
    assert scraped.gauge("placement_headroom") == {"request=m1.large": 2}
    monkeypatch.undo()
    scraped.age()
    assert scraped.gauge("placement_headroom") == {"request=m1.tiny": 9}


def test_a_file_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    for content in ("", "m1: 5\n", "m1: {groups: {}}\n", "m1: {groups: {'': {limit: 1}}}\n"):
        directory = tmp_path / str(abs(hash(content)))
        directory.mkdir()
        with pytest.raises(ConfigurationError, match="headroom_file"):
            Scraped(directory, content)


def test_a_file_stops_the_start_where_the_client_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "FILES", "nothing")
    text = r"\[metrics\] headroom_file needs the client: pip install falcon-placement-client"
    with pytest.raises(ConfigurationError, match=text):
        Scraped(tmp_path, 'm1.large: {"resources:VCPU": 4}\n')
