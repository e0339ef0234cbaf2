"""The tables and templates of the cloud, without a cloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cloud import machine
from tests.cloud.__main__ import printed, report
from tests.cloud.load import DISTURBANCES
from tests.cloud.state import resources_of
from tests.cloud.steps import SMALL, STEPS


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> machine.Machine:
    """A cloud of which nothing is installed and started."""
    installed = (tmp_path / "openstack", tmp_path / "placement")
    monkeypatch.setattr(machine, "virtualenvs", lambda *_arguments: installed)
    return machine.Machine(tmp_path, "2026.2", "", 2)


def test_each_file_is_rendered(cloud: machine.Machine) -> None:
    cloud.values |= {"database": "mysql://", "placement_database": "mysql://"}
    cloud.write_files()
    for path in cloud.home.rglob("*.conf"):
        text = path.read_text()
        assert "127.0.0.1:8778" not in text, path
        assert "/opt/placement" not in text, path
    assert str(cloud.values["placement"]) in (cloud.home / "uwsgi-placement.conf").read_text()


def test_each_command_is_rendered(cloud: machine.Machine) -> None:
    cloud.values["database"] = "mysql://"
    for name, entry in machine.TABLE["services"].items():
        service = cloud.service_of(name, entry)
        assert service.command, name
        assert all(cloud.expand(each) for each in entry.get("before", ()))


def test_steps_have_names() -> None:
    names = [each.__doc__ for each in (*STEPS, *DISTURBANCES)]
    assert None not in names
    assert len(names) == len(set(names))
    assert [each for each in STEPS if each in SMALL] == SMALL


def test_resources_of_a_flavor() -> None:
    flavor = {"vcpus": 2, "memory_mb": 512, "root_gb": 0, "ephemeral_gb": 0, "extra_specs": {}}
    specs = {"extra_specs": {"resources:VGPU": "1", "hw:cpu_policy": "shared"}}
    assert resources_of({"nova_object.data": flavor}, "a") == {"a": {"VCPU": 2, "MEMORY_MB": 512}}
    assert resources_of({"nova_object.data": {**flavor, **specs}}, "a")["a_gpu"] == {"VGPU": 1}


def test_report_shows_both_services() -> None:
    line = {"name": "Boots", "deviations": [], "remark": "2 s"}
    rows = report({"a": [line], "b": [{**line, "deviations": ["x"]}]})
    assert rows == [["Step", "a", "b"], ["Boots", "ok: 2 s", "1 deviation: 2 s"]]
    assert printed(rows).splitlines()[1] == "Boots  ok: 2 s  1 deviation: 2 s"
