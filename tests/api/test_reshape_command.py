"""The command `placement-manage reshape`, which transforms trees while all services are stopped."""

from __future__ import annotations

import io
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from falcon_placement_client.loader import load_cloud
from falcon_placement_client.reshape.reshapefile import load_transformation
from falcon_placement_client.reshape.run import Reshape
from placement import cli
from placement.direct import PlacementDirect
from placement.runtime.progress import progress
from tests.kit.builders import settings
from tests.kit.cloud import CloudBuilder, Stock, building, consumer_uuid, provider_uuid
from tests.kit.listener import listening
from tests.kit.printed import without_program
from tests.kit.recorder import Killed, Recorder
from tests.kit.service import Service, claim

ROOT = Path(__file__).parents[2]
CASES = ROOT / "etc" / "reshape"
LONG = "{name}-" + "x" * 187  # that a name may begin with, but not end with nine digits more

# What a tree has: provider -> class -> total, and consumer -> provider -> class -> amount.
State = tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, int]]]]
Run = tuple[int, str, str]  # exit code, standard output, standard error


class Laboratory:
    """A database, a service for reading it, and the command on it."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        self.directory = directory
        self.service = Service(directory)
        self.url = self.service.settings.database.connection
        monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", self.url)
        monkeypatch.setenv("OS_PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS", "false")
        self._capsys = capsys

    def build(self, build: Callable[[CloudBuilder], object]) -> None:
        """Write providers into the tables."""
        with building(self.service.database.writer) as cloud:
            build(cloud)

    def claim(self, number: int, amounts: Mapping[int, Mapping[str, int]], kind: str = "X") -> None:
        """Allocate amounts to a consumer, by the ids of providers."""
        by_uuid = {provider_uuid(provider): each for provider, each in amounts.items()}
        body = claim(by_uuid, project=f"p{number}", user=f"u{number}", kind=kind)
        self.service.expect(204, "PUT", f"/allocations/{consumer_uuid(number)}", body)

    def reshape(self, file: Path | str, *options: str) -> Run:
        """Run the command."""
        self._capsys.readouterr()
        code = cli.main(["reshape", str(file), *options])
        printed = self._capsys.readouterr()
        return code, printed.out, without_program(printed.err, failed=code != 0)

    def write(self, text: str) -> Path:
        """Return a reshape file."""
        path = self.directory / "steps.yaml"
        path.write_text(text)
        return path

    def state(self) -> State:
        """Return all inventories and allocations, by name."""
        listed = self.service.get("/resource_providers?include=inventories", "2.0")
        names = {each["uuid"]: each["name"] for each in listed["resource_providers"]}
        stock = {
            each["name"]: {name: one["total"] for name, one in each["inventories"].items()}
            for each in listed["resource_providers"]
        }
        held: dict[str, dict[str, dict[str, int]]] = {}
        for uuid, name in names.items():
            answer = self.service.get(f"/resource_providers/{uuid}/allocations")
            for consumer, record in answer["allocations"].items():
                held.setdefault(consumer[-4:], {})[name] = record["resources"]
        self.service.check_used()
        return stock, held

    def traits(self, name: str) -> list[str]:
        """Return the traits of a provider."""
        (provider,) = self.service.get(f"/resource_providers?name={name}")["resource_providers"]
        answer = self.service.get(f"/resource_providers/{provider['uuid']}/traits")
        return sorted(answer["traits"])


@pytest.fixture
def lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Laboratory]:
    made = Laboratory(tmp_path, monkeypatch, capsys)
    yield made
    made.service.close()


def gpu_hosts(cloud: CloudBuilder, count: int = 1) -> None:
    """Hosts, with the ids from 1 on: 8 virtual GPUs on each."""
    for number in range(1, count + 1):
        cloud.add(f"gpu-{number}", {"VCPU": 64, "VGPU": Stock(8, max_unit=8)})


def test_virtual_gpus_move_to_a_child_for_each_card(lab: Laboratory) -> None:
    lab.build(gpu_hosts)
    for number, amount in ((1, 3), (2, 1), (3, 2), (4, 2)):
        lab.claim(number, {1: {"VCPU": 4, "VGPU": amount}})
    code, out, err = lab.reshape(CASES / "vgpu-to-children.yaml")
    assert (code, err.splitlines()[-1]) == (0, "reshaping: 1 of 1 trees")
    stock, held = lab.state()
    assert stock == {"gpu-1": {"VCPU": 64}, "gpu-1-gpu1": {"VGPU": 4}, "gpu-1-gpu2": {"VGPU": 4}}
    assert lab.traits("gpu-1-gpu1") == ["CUSTOM_GPU_T4"]
    cards = {
        consumer: [card for card in ("gpu-1-gpu1", "gpu-1-gpu2") if card in providers]
        for consumer, providers in held.items()
    }
    # Each on one card: 3 and 1 together, 2 and 2 together.
    assert all(len(each) == 1 for each in cards.values())
    assert cards["0001"] == cards["0002"] != cards["0003"] == cards["0004"]
    assert all(providers["gpu-1"] == {"VCPU": 4} for providers in held.values())
    assert out == (
        """\
+-------+-------------+-----------+--------+--------+
| class | of          | providers | total  | used   |
+-------+-------------+-----------+--------+--------+
| VGPU  | below roots | 0 -> 2    | 0 -> 8 | 0 -> 8 |
| VGPU  | roots       | 1 -> 0    | 8 -> 0 | 8 -> 0 |
+-------+-------------+-----------+--------+--------+
1 tree reshaped
"""
    )


def test_a_host_is_split_into_its_numa_nodes(lab: Laboratory) -> None:
    lab.build(
        lambda cloud: cloud.add(
            "numa-1",
            {
                "VCPU": Stock(65, reserved=3, allocation_ratio=2.0),
                "MEMORY_MB": Stock(262144, reserved=2048, step_size=2),
                "SRIOV_NET_VF": 8,
                "DISK_GB": 2000,
            },
            traits=["CUSTOM_NUMA_TWO_NODES"],
        )
    )
    for number in (1, 2, 3):
        amounts = {"VCPU": 25, "MEMORY_MB": 80000, "DISK_GB": 100}
        lab.claim(number, {1: amounts | ({"SRIOV_NET_VF": 2} if number == 3 else {})})
    assert lab.reshape(CASES / "numa-split.yaml")[0] == 1, "two of three exceed a node's memory"
    for number in (1, 2, 3):
        lab.service.expect(204, "DELETE", f"/allocations/{consumer_uuid(number)}")
        amounts = {"VCPU": 25, "MEMORY_MB": 60000, "DISK_GB": 100}
        lab.claim(number, {1: amounts | ({"SRIOV_NET_VF": 2} if number == 3 else {})})
    assert lab.reshape(CASES / "numa-split.yaml")[0] == 0
    stock, held = lab.state()
    assert stock == {
        "numa-1": {"DISK_GB": 2000},
        "numa-1-node1": {"VCPU": 33, "MEMORY_MB": 131072},
        "numa-1-node2": {"VCPU": 32, "MEMORY_MB": 131072, "SRIOV_NET_VF": 8},
    }
    assert lab.traits("numa-1-node2") == ["HW_NUMA_ROOT"]
    for consumer, providers in held.items():
        assert providers["numa-1"] == {"DISK_GB": 100}
        nodes = [name for name, each in providers.items() if "VCPU" in each]
        assert [name for name, each in providers.items() if "MEMORY_MB" in each] == nodes
        assert len(nodes) == 1
        assert ("SRIOV_NET_VF" in providers.get("numa-1-node2", {})) == (consumer == "0003")


# A command at a prompt and what it prints: one indented block.
SHOWN = re.compile(r"^    \$ placement-manage reshape (.*)\n((?:    .*\n)+)", re.M)


def test_the_walk_through_shows_what_is_printed(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    document = (ROOT / "docs/operations/reshaping.rst").read_text()
    with listening(lab.service.application) as url:
        assert load_cloud("etc/reshape-cloud.yaml", url, "admin", out=io.StringIO()) == 0
    shown = SHOWN.findall(document)
    assert {command.split()[0] for command, _text in shown} == (
        {f"etc/reshape/{path.name}" for path in CASES.iterdir()}
    )
    for command, text in shown:
        code, out, _err = lab.reshape(*command.split())
        assert (code, out) == (0, textwrap.dedent(text))
    for path in CASES.iterdir():
        steps = path.read_text().partition("steps:\n")[2]
        assert textwrap.indent(f"steps:\n{steps}", "    ") in document
    # As the drawings there have it.
    stock, held = lab.state()
    assert [stock[f"numa-1{node}"] for node in ("", "-node1", "-node2")] == [
        {"DISK_GB": 2000},
        {"VCPU": 32, "MEMORY_MB": 131072},
        {"VCPU": 32, "MEMORY_MB": 131072, "SRIOV_NET_VF": 8},
    ]
    cards = [
        next(name for name in held[f"000{number}"] if "-gpu" in name[3:]) for number in (1, 2, 3)
    ]
    assert cards == ["gpu-1-gpu1", "gpu-1-gpu1", "gpu-1-gpu2"]
    assert held["0005"]["numa-1-node2"] == {"VCPU": 24, "MEMORY_MB": 98304, "SRIOV_NET_VF": 2}
    assert held["0006"] == {"fpga-1": {"VCPU": 8}, "fpga-1-card": {"FPGA": 1}}


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.glob("*.yaml")))
def test_where_nothing_is_concerned_nothing_is_done(lab: Laboratory, case: str) -> None:
    lab.build(lambda cloud: cloud.add("other", {"DISK_GB": 5}))
    before = lab.service.dump()
    code, out, _err = lab.reshape(CASES / case)
    assert code in (0, 1)  # a class that the service does not know is refused
    assert code == 1 or out == f"{CASES / case}: no tree matches, nothing to do\n"
    assert lab.service.dump() == before


def test_a_dry_run_shows_what_would_be_and_changes_nothing(lab: Laboratory) -> None:
    lab.build(lambda cloud: gpu_hosts(cloud, 3))
    lab.claim(1, {1: {"VGPU": 4}})
    before = lab.service.dump()
    code, out, err = lab.reshape(CASES / "vgpu-to-children.yaml", "--dry-run")
    assert code == 0
    assert "| VGPU  | roots       | 3 -> 0    | 24 -> 0 | 4 -> 0 |" in out
    assert out.endswith("3 trees would be reshaped; nothing was changed\n")
    assert "reshaping" not in err
    assert lab.service.dump() == before


def test_a_reshape_does_not_begin_where_one_result_would_not_fit(lab: Laboratory) -> None:
    lab.build(lambda cloud: gpu_hosts(cloud, 3))
    lab.claim(1, {1: {"VGPU": 4}})
    lab.claim(2, {2: {"VGPU": 5}})
    for number in (3, 4):
        lab.claim(number, {3: {"VGPU": 3}})
    before = lab.service.dump()
    file = CASES / "vgpu-to-children.yaml"
    code, out, err = lab.reshape(file)
    assert (code, out) == (1, "")
    assert err.splitlines()[-2:] == [
        f"{file}:12: gpu-2: no child has room for the 5 VGPU of consumer {consumer_uuid(2)}: "
        "expected larger children, or split: true",
        "nothing was changed",
    ]
    assert lab.service.dump() == before


def test_roots_on_later_pages_are_surveyed_and_written_too(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("falcon_placement_client.reshape.run.PAGE", 2)
    lab.build(lambda cloud: gpu_hosts(cloud, 5))
    file = CASES / "vgpu-to-children.yaml"
    # Two consumers of three do not fit on cards of four with one of two.
    for number, amount in enumerate((3, 3, 2), 1):
        lab.claim(number, {5: {"VGPU": amount}})
    before = lab.service.dump()
    code, _out, err = lab.reshape(file)
    assert code == 1
    assert "gpu-5" in err
    assert lab.service.dump() == before
    lab.service.expect(204, "DELETE", f"/allocations/{consumer_uuid(3)}")
    code, _out, err = lab.reshape(file)
    assert (code, err.splitlines()[-1]) == (0, "reshaping: 5 of 5 trees")
    stock, _held = lab.state()
    assert all(stock[f"gpu-{number}"] == {"VCPU": 64} for number in range(1, 6))


def test_running_again_finds_nothing_left(lab: Laboratory) -> None:
    lab.build(lambda cloud: gpu_hosts(cloud, 2))
    lab.claim(1, {1: {"VGPU": 4}})
    file = CASES / "vgpu-to-children.yaml"
    assert lab.reshape(file)[0] == 0
    before = lab.service.dump()
    assert lab.reshape(file)[:2] == (0, f"{file}: no tree matches, nothing to do\n")
    assert lab.service.dump() == before


def complete(lab: Laboratory) -> dict[str, State]:
    """Return the part of the state for each tree, by the name of its root."""
    stock, held = lab.state()
    trees: dict[str, State] = {}
    for name, totals in stock.items():
        root = "-".join(name.split("-")[:2])
        trees.setdefault(root, ({}, {}))
        if totals:  # a child without inventory is no part of it yet
            trees[root][0][name] = totals
    for consumer, providers in held.items():
        for name, amounts in providers.items():
            root = "-".join(name.split("-")[:2])
            trees[root][1].setdefault(consumer, {})[name] = amounts
    return trees


@pytest.mark.parametrize("answered", [True, False], ids=["answered", "not-sent"])
def test_wherever_it_is_killed_each_tree_is_old_or_new(lab: Laboratory, answered: bool) -> None:
    lab.build(lambda cloud: gpu_hosts(cloud, 2))
    lab.claim(1, {1: {"VGPU": 3, "VCPU": 1}})
    lab.claim(2, {1: {"VGPU": 4}})
    lab.claim(3, {2: {"VGPU": 4}})
    old = complete(lab)
    transformation = load_transformation(CASES / "vgpu-to-children.yaml")
    states = set()
    with PlacementDirect(settings(lab.url)) as adapter:
        for lives in range(1_000):
            recorder = Recorder(adapter)
            recorder.lives, recorder.answered = lives, answered
            try:
                Reshape(recorder, transformation).run(progress("reshaping", sys.stderr))
                break
            except Killed:
                trees = complete(lab)
            moved = tuple(root for root in trees if trees[root] != old[root])
            states.add(moved)
            for root in moved:
                stock, held = trees[root]
                assert stock[root] == {"VCPU": 64}
                assert sum(each.get("VGPU", 0) for each in stock.values()) == 8
                for consumer, amounts in old[root][1].items():
                    now = held[consumer].values()
                    assert sum(each.get("VGPU", 0) for each in now) == amounts[root]["VGPU"]
    # Every run begins again at the requests that were cut, and the last one gets through.
    assert states >= {(), ("gpu-1",)}
    assert all(complete(lab)[root] != old[root] for root in old)


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        (
            "- providers: {}\n  move: [VGPUS]\n  to: [{child: '{name}-a'}]",
            "the service knows no resource class VGPUS",
        ),
        ("- providers: {}\n  rename: {VGPU: GPU}", "the service knows no resource class GPU"),
        ("- providers: {}\n  give: [HW_NO_TRAIT]", "the service knows no trait HW_NO_TRAIT"),
    ],
)
def test_names_that_the_service_does_not_know_are_refused(
    lab: Laboratory, steps: str, complaint: str
) -> None:
    lab.build(gpu_hosts)
    before = lab.service.dump()
    path = lab.write(f"steps:\n{steps}\n")
    assert lab.reshape(path) == (1, "", f"{path}:2: {complaint}\nnothing was changed\n")
    assert lab.service.dump() == before


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        (
            "- providers: {}\n  rename: {VGPU: VCPU}",
            "gpu-1: VGPU cannot become VCPU, which it has already",
        ),
        (
            "- providers: {}\n  move: [VGPU]\n  to: [{child: '{name}-a', inventories: {VGPU: 6}}]",
            "gpu-1: the children's totals of VGPU add up to 6, expected 8, which is to move",
        ),
        (
            "- providers: {root: true}\n  move: [VGPU]\n  to: [{child: '{name}-x'}]",
            "gpu-1-x: this name belongs to provider " + provider_uuid(2),
        ),
        (
            "- providers: {}\n  move: [VGPU]\n  to: [{child: '{name}'}]",
            "gpu-1: the tree has a provider gpu-1 that is not below it",
        ),
        (
            f"- providers: {{}}\n  move: [VGPU]\n  to: [{{child: '{LONG}{{n:09}}', count: 1}}]",
            f"gpu-1: {LONG.format(name='gpu-1') + '000000001'!r} cannot be a provider's name: "
            "expected 1 to 200 characters",
        ),
    ],
)
def test_results_that_cannot_be_are_refused_by_provider_and_line(
    lab: Laboratory, steps: str, complaint: str
) -> None:
    def build(cloud: CloudBuilder) -> None:
        gpu_hosts(cloud)
        cloud.add("gpu-1-x", {})

    lab.build(build)
    before = lab.service.dump()
    path = lab.write(f"steps:\n{steps}\n")
    code, out, err = lab.reshape(path)
    assert (code, out) == (1, "")
    assert err.splitlines()[-2].removeprefix(f"{path}:2: ").removeprefix(f"{path}: ") == complaint
    assert lab.service.dump() == before


def test_traits_are_given_to_the_providers_of_a_filter(lab: Laboratory) -> None:
    def build(cloud: CloudBuilder) -> None:
        gpu_hosts(cloud, 2)
        cloud.add("gpu-1-a", {"VGPU": 2}, parent=1, traits=["HW_NUMA_ROOT"])

    lab.build(build)
    step = "- providers: {name: 'gpu-?', root: true}\n  give: [CUSTOM_CARDS, HW_GPU_API_VULKAN]\n"
    assert lab.reshape(lab.write(f"steps:\n{step}"))[1] == ("2 trees reshaped\n")
    assert lab.traits("gpu-1") == lab.traits("gpu-2") == ["CUSTOM_CARDS", "HW_GPU_API_VULKAN"]
    assert lab.traits("gpu-1-a") == ["HW_NUMA_ROOT"]


def test_a_claim_that_comes_between_reading_and_writing_is_moved_too(lab: Laboratory) -> None:
    lab.build(gpu_hosts)
    lab.claim(1, {1: {"VGPU": 2}})
    with PlacementDirect(settings(lab.url)) as adapter:
        recorder = Recorder(adapter)

        def claim_once(request: str) -> None:
            if request.startswith("POST /reshaper") and consumer_uuid(2)[-4:] not in lab.state()[1]:
                lab.claim(2, {1: {"VGPU": 3}})

        recorder.before = claim_once
        transformation = load_transformation(CASES / "vgpu-to-children.yaml")
        assert Reshape(recorder, transformation).run(progress("reshaping", sys.stderr)) == 1
    assert sum(request.startswith("POST /reshaper") for request in recorder.requests) == 2
    stock, held = lab.state()
    assert stock["gpu-1"] == {"VCPU": 64}
    assert sorted(sum(each["VGPU"] for each in held[key].values()) for key in held) == [2, 3]


def test_an_interruption_says_how_to_go_on(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.build(gpu_hosts)

    def interrupt(*_arguments: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Reshape, "run", interrupt)
    code, _out, err = lab.reshape(CASES / "vgpu-to-children.yaml")
    assert code == 130
    assert err.endswith("interrupted; run it again to continue with the remaining trees\n")


def test_an_invalid_file_is_reported_with_its_line(lab: Laboratory) -> None:
    path = lab.write("steps:\n- providers: {}\n  mvoe: [VGPU]\n")
    assert lab.reshape(path) == (
        1,
        "",
        f"{path}:3: steps[0].mvoe: unknown key; did you mean move?\n",
    )
