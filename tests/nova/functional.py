"""nova's functional tests, with this service in the place of openstack-placement.

`TOUCHING` selects the tests whose result depends on what placement does: what compute services
report, reshapes, requests with traits, aggregates and nested providers, repairs of allocations, and
bugs of the past. Most of the other 2,500 tests start the service too, but only to boot one server
on one host, or not at all. `--all` runs them before a release, and `--shard 1/4` a quarter.

The tests need files of nova's source tree, which its wheel does not contain.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PREFIX = "nova.tests.functional."
# Module, or beginning of the names of classes, below `nova.tests.functional`.
TOUCHING = (
    "compute.test_resource_tracker",  # providers of the configuration, ironic's nodes
    "libvirt.test_numa_servers.ReshapeForPCPUsTest",
    "libvirt.test_pci_in_placement",
    "libvirt.test_report_cpu_traits",
    "libvirt.test_reshape",
    "libvirt.test_shared_resource_provider",
    "libvirt.test_vgpu",
    "libvirt.test_vpmem",
    "regressions.test_bug_1679750",  # allocations after a local delete
    "regressions.test_bug_1790204",
    "regressions.test_bug_1794996",
    "regressions.test_bug_1825537",
    "regressions.test_bug_1837955",
    "regressions.test_bug_1848343",
    "regressions.test_bug_1862633",
    "regressions.test_bug_2098496",
    "regressions.test_bug_2140631",
    "test_aggregates.AggregateHostMoveTestCase",
    "test_aggregates.AggregateMultiTenancy",
    "test_aggregates.IsolateAggregateFilterTest.",
    "test_aggregates.TenantAggregateFilterTest",
    "test_aggregates.TestAggregate",
    "test_nova_manage.TestIronicComputeNodeMove",
    "test_nova_manage.TestNovaManagePlacementAudit",
    "test_nova_manage.TestNovaManagePlacementHealAllocations",
    "test_nova_manage.TestNovaManagePlacementHealPortAllocations.",
    "test_nova_manage.TestNovaManagePlacementHealPortAllocationsExtended",
    "test_nova_manage.TestNovaManagePlacementSyncAggregates",
    "test_report_client",
    "test_routed_networks",
    "test_servers.ConsumerGenerationConflictTest",
    "test_servers.ServerBuildAbortTests",
    "test_servers.ServerMovingTestsFromFlatToNested",
    "test_servers.ServerRescheduleTests",
    "test_servers.TraitsBasedSchedulingTest",
    "test_servers_provider_tree",
    "test_servers_resource_request.PortResourceRequest",
)


def select(names: list[str], everything: bool, shard: tuple[int, int]) -> list[str]:
    """Return the tests of a shard, in the order of their names."""
    beginnings = tuple(f"{PREFIX}{each}" for each in TOUCHING)
    chosen = sorted(name for name in names if everything or name.startswith(beginnings))
    number, shards = shard
    return chosen[number - 1 :: shards]


def main(arguments: list[str] | None = None) -> int:
    """Run the tests; returns the exit code of stestr."""
    parser = argparse.ArgumentParser(prog="python -m tests.nova.functional")
    parser.add_argument("source", type=Path, help="nova's source tree")
    parser.add_argument("--all", action="store_true", help="also tests that hardly use placement")
    parser.add_argument("--shard", default="1/1", help="number of the part, and of parts: 1/4")
    parser.add_argument("--processes", default="2")
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as home:
        stestr = [
            *(sys.executable, "-m", "stestr", "--repo-url", home, "--top-dir", "."),
            *("--test-path", "nova/tests/functional"),
        ]
        environment = os.environ | {
            "PYTHONPATH": str(options.source.resolve()),
            "OS_TEST_TIMEOUT": "600",
            "OS_NOVA_DISABLE_EVENTLET_PATCHING": "False",
        }

        def run(*command: str, output: int | None = None) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*stestr, *command],
                cwd=options.source,
                env=environment,
                stdout=output,
                text=True,
                check=False,
            )

        run("init")  # later releases of stestr do not list tests without a repository
        listed = run("list", output=subprocess.PIPE)
        number, _, shards = options.shard.partition("/")
        names = [line for line in listed.stdout.split() if line.startswith(PREFIX)]
        chosen = select(names, options.all, (int(number), int(shards)))
        if options.list:
            print("\n".join(chosen))
            return listed.returncode
        path = Path(home, "tests")
        path.write_text("\n".join(chosen) + "\n")
        return run("run", "--load-list", str(path), "--concurrency", options.processes).returncode


if __name__ == "__main__":
    sys.exit(main())
