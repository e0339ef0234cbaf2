"""Fixtures for tests of programs that use the service: of pytest, and of `fixtures`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests
from keystoneauth1.adapter import Adapter
from oslo_config import cfg, fixture

from falcon_placement_client import NewConsumer, ReportClient
from falcon_placement_client.json_request import JsonRequest
from placement.direct import PlacementDirect
from placement.tests.functional.fixtures.placement import PlacementFixture

if TYPE_CHECKING:
    from falcon_placement_client.pytest_plugin import LoadCloud

CLOUD = str(Path(__file__).parents[2] / "examples" / "cloud.yaml")
PLUGIN = "falcon_placement_client.pytest_plugin"
REQUEST: JsonRequest = {"groups": {"": {"resources": {"VCPU": 1}}}}
CONSUMER = NewConsumer("5ca1ab1e-0000-4000-8000-00000000000a", "project", "user")


def test_a_service_in_process_is_empty(placement_service: Adapter) -> None:
    client = ReportClient(placement_service)
    assert client.allocation_candidates(REQUEST)["allocation_requests"] == []


def test_a_cloud_is_loaded_into_the_service_in_process(
    placement_cloud: LoadCloud, placement_service: Adapter
) -> None:
    hosts = placement_cloud(CLOUD)
    assert sorted(hosts) == ["compute-1", "compute-2"]
    result = ReportClient(placement_service).claim(REQUEST, CONSUMER)
    assert result.allocations.keys() <= set(hosts.values())


def test_a_cloud_is_loaded_into_a_server(placement_url: str, placement_cloud: LoadCloud) -> None:
    hosts = placement_cloud(CLOUD)
    client = ReportClient.at(placement_url, "admin")
    assert client.claim(REQUEST, CONSUMER).allocations.keys() <= set(hosts.values())
    assert requests.get(placement_url, timeout=60).json()["versions"]


def run_pytest(directory: Path, test: str, conftest: str = "") -> tuple[int, str]:
    """Run a test in another process without other plugins. Return the exit code and the output."""
    (directory / "test_it.py").write_text(test)
    (directory / "conftest.py").write_text(conftest)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_pytest_loads_the_plugin_where_the_client_is_installed(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.pluginmanager.has_plugin("falcon_placement")


def test_the_plugin_imports_nothing_unless_a_fixture_is_used(tmp_path: Path) -> None:
    test = (
        "import sys\n"
        "def test_modules():\n"
        f"    assert {PLUGIN!r} in sys.modules\n"
        "    imported = {name for name in sys.modules if 'placement' in name}\n"
        f"    assert imported <= {{{PLUGIN!r}, 'falcon_placement_client', *FINDERS}}\n"
        "    assert not {'keystoneauth1', 'requests', 'fixtures'} & sys.modules.keys()\n"
        "FINDERS = [name for name in sys.modules if name.startswith('__editable__')]\n"
    )
    code, printed = run_pytest(tmp_path, test)
    assert code == 0, printed


@pytest.mark.parametrize("name", ["placement_service", "placement_url", "placement_cloud"])
def test_without_the_service_a_fixture_says_what_to_install(tmp_path: Path, name: str) -> None:
    conftest = "from falcon_placement_client import service\nservice.GROUP = 'nothing'\n"
    code, printed = run_pytest(tmp_path, f"def test_it({name}):\n    pass\n", conftest)
    assert code == 1
    assert f"the fixture {name} needs the service: pip install falcon-placement\n" in printed
    assert "Traceback" not in printed


def test_a_server_ends_with_the_program_that_runs_it() -> None:
    program = (
        "from placement.entry.testing import serving\nwith serving() as url: print(url); input()"
    )
    command = [sys.executable, "-uc", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        url = running.stdout.readline().strip()
        assert requests.get(url, timeout=60).ok
        running.terminate()
        assert "KeyboardInterrupt" in running.communicate()[1]
    with pytest.raises(requests.ConnectionError):
        requests.get(url, timeout=60)


def test_a_fixture_without_interception_serves_other_processes() -> None:
    with PlacementFixture(use_intercept=False) as service:
        program = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).status)"
        command = [sys.executable, "-c", program, service.endpoint]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        assert told.stdout == "200\n"
        assert service.post("/resource_providers", {"name": "host"}, "1.20").ok
    with pytest.raises(requests.ConnectionError):
        requests.get(service.endpoint, timeout=9)


def test_a_fixture_takes_the_configuration_and_its_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/placement.db"
    with PlacementDirect.on_database(url) as adapter:
        adapter.post("/resource_providers", json={"name": "host"})
    with fixture.Config(cfg.ConfigOpts()) as conf_fixture:
        with PlacementFixture(conf_fixture=conf_fixture) as service:
            assert service.get("/resource_providers").json() == {"resource_providers": []}
        conf_fixture.config(group="placement_database", connection=url)
        with PlacementFixture(conf_fixture, db=False) as service:
            assert len(service.get("/resource_providers").json()["resource_providers"]) == 1
    with pytest.raises(ValueError, match="needs a conf_fixture"):
        PlacementFixture(db=False)
