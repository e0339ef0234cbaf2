"""Cloud files: their content, and their errors with positions."""

from collections.abc import Callable
from pathlib import Path

import pytest

from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.loader import (
    Cloud,
    UnusableFile,
    load_cloud,
    load_file,
)
from falcon_placement_client.loader.apply import _with_ratios
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.yamlfile import document

DEMO = Path(__file__).parents[3] / "etc" / "demo-cloud.yaml"
Load = Callable[[str | bytes], Cloud]
Errors = Callable[[str | bytes], list[str]]

UUID_1 = "5ac00000-0000-4000-8000-000000000001"
UUID_2 = "5ac00000-0000-4000-8000-00000000000B"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Load a file of the given text, named cloud.yaml."""
    monkeypatch.chdir(tmp_path)

    def write_and_load(text: str | bytes) -> Cloud:
        raw = text.encode() if isinstance(text, str) else text
        Path("cloud.yaml").write_bytes(raw)
        return load_file("cloud.yaml")

    return write_and_load


@pytest.fixture
def errors(load: Load) -> Errors:
    """Return the lines of the error that a text gives."""

    def lines(text: str | bytes) -> list[str]:
        with pytest.raises(UnusableFile) as caught:
            load(text)
        return str(caught.value).splitlines()

    return lines


def names(cloud: Cloud) -> list[str]:
    return [provider.name for provider in cloud.providers]


# What a file says.


def test_all_that_a_provider_can_have(load: Load) -> None:
    cloud = load(f"""\
aggregates: {{storage: {UUID_2}}}
providers:
- name: host
  uuid: {UUID_1}
  inventories:
    VCPU: 8
    MEMORY_MB: {{total: 1024, reserved: 64, allocation_ratio: 1.5, min_unit: 2, max_unit: 512,
                step_size: 2}}
  traits: [HW_CPU_X86_AVX2, CUSTOM_X]
  aggregates: [storage, {UUID_1}]
  children:
  - name: child
""")
    host, child = cloud.providers
    assert (host.name, host.uuid, host.parent_uuid, cloud.lines[host.uuid]) == (
        "host",
        UUID_1,
        None,
        3,
    )
    assert host.inventory == {
        "VCPU": InventoryRecord(8, 0, 1, 2147483647, 1, 1.0),
        "MEMORY_MB": InventoryRecord(1024, 64, 2, 512, 2, 1.5),
    }
    assert host.traits == {"HW_CPU_X86_AVX2", "CUSTOM_X"}
    assert host.aggregates == {UUID_2.lower(), UUID_1}
    assert (child.name, child.parent_uuid, cloud.lines[child.uuid]) == ("child", UUID_1, 12)
    assert (child.inventory, child.traits, child.aggregates) == ({}, frozenset(), frozenset())


def test_uuids_are_made_from_names_and_stay(load: Load) -> None:
    first = load("providers: [{name: a, aggregates: [x]}, {name: b, aggregates: [x]}]")
    again = load("# moved\nproviders: [{name: b, aggregates: [x]}, {name: a}]")
    assert {p.name: p.uuid for p in first.providers} == {p.name: p.uuid for p in again.providers}
    assert first.providers[0].uuid == "732b78bb-1f85-5d96-9357-874b8f77ad6f"
    assert first.providers[0].aggregates == first.providers[1].aggregates
    assert first.providers[0].aggregates == again.providers[0].aggregates
    assert first.providers[0].uuid not in first.providers[0].aggregates


def test_a_counted_entry_is_expanded_parents_first(load: Load) -> None:
    cloud = load("providers: [{name: 'h{n:02}', count: 2, children: [{name: 'h{n:02}-c'}]}]")
    assert names(cloud) == ["h01", "h01-c", "h02", "h02-c"]
    uuids = {provider.name: provider.uuid for provider in cloud.providers}
    assert [p.parent_uuid for p in cloud.providers] == [None, uuids["h01"], None, uuids["h02"]]
    assert len(set(uuids.values())) == 4


def test_counted_entries_nest_with_counters_of_their_own(load: Load) -> None:
    cloud = load("""\
providers:
- name: h{n}
  count: 2
  children:
  - {name: "h{n}-c{card:03d}", count: 2, index: card}
""")
    assert names(cloud) == ["h1", "h1-c001", "h1-c002", "h2", "h2-c001", "h2-c002"]


def test_anchors_and_merge_keys(load: Load) -> None:
    cloud = load("""\
providers:
- name: a
  inventories: &base {VCPU: 4, DISK_GB: 10}
- name: b
  inventories: {<<: *base, VCPU: 8}
- name: c
  inventories: *base
""")
    assert [p.inventory["VCPU"].total for p in cloud.providers] == [4, 8, 4]
    assert [p.inventory["DISK_GB"].total for p in cloud.providers] == [10, 10, 10]


def test_a_whole_number_may_be_written_as_a_float(load: Load) -> None:
    (one, two) = load("providers: [{name: 'a{n}', count: 2.0, inventories: {VCPU: 8.0}}]").providers
    assert one.inventory == two.inventory == {"VCPU": InventoryRecord(8)}
    assert isinstance(one.inventory["VCPU"].total, int)


@pytest.mark.parametrize("written", ["1:30", "12:30:00", "-1:30", "1:30.5"])
def test_numbers_in_base_60_are_the_text_that_is_written(
    load: Load, errors: Errors, written: str
) -> None:
    assert load(f"providers:\n- name: {written}\n").providers[0].name == written
    text = f"providers:\n- name: a\n  inventories: {{VCPU: {written}}}\n"
    place = "cloud.yaml:3: providers[0].inventories.VCPU"
    assert errors(text) == [f"{place}: {written!r} is not a whole number"]


def test_a_brace_that_is_written_twice_belongs_to_the_name(load: Load) -> None:
    cloud = load("providers: [{name: '{{n}}'}, {name: 'x{{{n}}}', count: 2}, {name: '}}{{'}]")
    assert names(cloud) == ["{n}", "x{1}", "x{2}", "}{"]


def test_consumers_name_providers_and_classes(load: Load) -> None:
    cloud = load(f"""\
providers:
- {{name: "h{{n}}", count: 2}}
- {{name: "{{{{odd"}}
consumers:
- uuid: {UUID_2}
  project: p
  user: u
  allocations:
    h2: {{VCPU: 2.0, MEMORY_MB: 64}}
    "{{{{odd": {{CUSTOM_A: 1}}
""")
    uuids = {provider.name: provider.uuid for provider in cloud.providers}
    (consumer,) = cloud.consumers
    assert consumer.uuid == UUID_2.lower()
    assert (consumer.project, consumer.user, consumer.type) == ("p", "u", None)
    assert consumer.allocations == {
        uuids["h2"]: {"VCPU": 2, "MEMORY_MB": 64},
        uuids["{odd"]: {"CUSTOM_A": 1},
    }
    assert consumer.line == 5


# What is wrong with a file. Each message is compared whole, line number and path included.

PROVIDER_ERRORS = {
    "- name: a\n  inventories:\n    VCPU: {total: 0}": (
        "4: providers[0].inventories.VCPU.total: 0 is less than the minimum of 1"
    ),
    "- name: a\n  inventories:\n    VCPU:\n      total: 8\n      reserved: 9": (
        "6: providers[0].inventories.VCPU.reserved: 9 is more than the total of 8"
    ),
    "- name: a\n  inventories:\n    VCPU: 0": (
        "4: providers[0].inventories.VCPU: 0 is less than the minimum of 1"
    ),
    "- name: a\n  inventories:\n    VCPU: lots": (
        "4: providers[0].inventories.VCPU: 'lots' is not a whole number"
    ),
    "- name: a\n  inventories:\n    VCPU: true": (
        "4: providers[0].inventories.VCPU: true is not a whole number"
    ),
    "- name: a\n  inventories:\n    VCPU:": (
        "4: providers[0].inventories.VCPU: null is not a whole number"
    ),
    "- name: a\n  inventories:\n    VCPU: 2147483648": (
        "4: providers[0].inventories.VCPU: 2147483648 is more than the maximum of 2147483647"
    ),
    "- name: a\n  inventories:\n    VCPU: {reserved: 1}": (
        "4: providers[0].inventories.VCPU: total is missing"
    ),
    "- name: a\n  inventories:\n    VCPU: {total: 1, allocation_ratio: -1}": (
        "4: providers[0].inventories.VCPU.allocation_ratio: -1 is less than the minimum of 0"
    ),
    "- name: a\n  inventories:\n    VCPU: {total: 1, allocation_ratio: .nan}": (
        "4: providers[0].inventories.VCPU.allocation_ratio: .nan is not a finite number"
    ),
    "- name: a\n  inventories:\n    VCPU:\n      total: 1\n      allocaton_ratio: 2": (
        "6: providers[0].inventories.VCPU.allocaton_ratio: "
        "unknown key; did you mean allocation_ratio?"
    ),
    "- name: a\n  inventories:\n    vcpu: 8": (
        "4: providers[0].inventories.vcpu: 'vcpu' is not a resource class (capitals, digits and _)"
    ),
    "- name: a\n  traits:\n  - HW_NUMA_ROOT\n  - custom_x": (
        "5: providers[0].traits[1]: 'custom_x' is not a trait (capitals, digits and _)"
    ),
    "- name: a\n  traits:\n  - CUSTOM_X\n  - CUSTOM_X": (
        "5: providers[0].traits[1]: is in the list already"
    ),
    "- name: a\n  traits: CUSTOM_X": "3: providers[0].traits: 'CUSTOM_X' is not a list",
    "- name: a\n  aggregates: [rack 1]": (
        "3: providers[0].aggregates[0]: "
        "'rack 1' is not an aggregate name (letters, digits, _ . : -)"
    ),
    f"- name: a\n  aggregates:\n  - {UUID_1}\n  - {UUID_1}": (
        "5: providers[0].aggregates[1]: is in the list already"
    ),
    "- name: a\n- uuid: " + UUID_1: "3: providers[1]: name is missing",
    "- name: 7": "2: providers[0].name: 7 is not text",
    "- name: ''": "2: providers[0].name: the text is empty",
    "- name: a\n  uuid: 1234-5678": "3: providers[0].uuid: '1234-5678' is not a UUID",
    "- name: a\n- name: b\n- name: a": (
        "4: providers[2].name: 'a' is also the name of the entry in line 2"
    ),
    f"- name: a\n  uuid: {UUID_2}\n- name: b\n  uuid: {UUID_2.lower()}": (
        "5: providers[1].uuid: is also the UUID of the entry in line 2"
    ),
    "- name: a\n  hosts: 3": (
        "3: providers[0].hosts: unknown key; known are "
        "aggregates, children, count, index, inventories, name, parent, traits, uuid"
    ),
    "- name: a\n  children:\n  - name: b\n    trait: []": (
        "5: providers[0].children[0].trait: unknown key; did you mean traits?"
    ),
    "- name: a\n  count: 3": "2: providers[0].name: 'a' must contain the counter {n}",
    "- name: a{n}\n  count: 3\n  children:\n  - name: b": (
        "5: providers[0].children[0].name: 'b' must contain the counter {n}"
    ),
    "- name: a{n}": ("2: providers[0].name: {n} is not the counter of a surrounding entry"),
    "- name: a{n:x}\n  count: 1": [
        "2: providers[0].name: 'a{n:x}' must contain the counter {n}",
        "2: providers[0].name: 'a{n:x}': braces hold a counter, such as {n} or {n:02}",
    ],
    "- name: a{n}\n  count: 0": "3: providers[0].count: 0 is less than the minimum of 1",
    f"- name: a{{n}}\n  count: 2\n  uuid: {UUID_1}": (
        "4: providers[0].uuid: an entry with count cannot have a uuid"
    ),
    "- name: a\n  index: n": "3: providers[0].index: index has no meaning without count",
    "- name: a{n}\n  count: 2\n  children:\n  - name: b{n}\n    count: 2": (
        "6: providers[0].children[0].count: "
        "the counter n is taken by an entry above; name another with index"
    ),
    "- name: a{n}\n  count: 2\n- name: a2": (
        "4: providers[1].name: 'a2' is also the name of the entry in line 2"
    ),
    "- {name: a, children: &c [{name: b}]}\n- {name: d, children: *c}": (
        "2: providers[1].children[0].name: 'b' is also the name of the entry in line 2"
    ),
    "- name: a\n  name: b": "3: providers[0].name: duplicate key, first in line 2",
    "- name: a\n  1: b": "3: providers[0]: a key must be text",
    f"- name: a\n  count: 0x{'f' * 4000}": (
        f"3: providers[0].count: '0x{'f' * 38}' is not a value of its kind"
    ),
    "- name: a\n  traits: !!set {X}": (
        "3: providers[0].traits: the tag tag:yaml.org,2002:set is not known"
    ),
    "- name: !!python/name:os.system a": (
        "2: providers[0].name: the tag tag:yaml.org,2002:python/name:os.system is not known"
    ),
    "- name: a\n  children: &c\n  - name: b\n    children: *c": (
        "5: providers[0].children[0].children: an alias refers to a value that contains it"
    ),
    "- name: a\n  inventories: &i\n    <<: *i": (
        "4: providers[0].inventories: an alias refers to a value that contains it"
    ),
    '- name: "\\ud800"': "2: providers[0].name: half a surrogate pair is not text",
    '- name: "a\\0b"': "2: providers[0].name: 'a\\x00b' is not text without NUL",
    "- name: a\n- name: b\n  parent: c": (
        "4: providers[1].parent: no provider above has the name 'c'"
    ),
    "- name: a\n  parent: a": "3: providers[0].parent: no provider above has the name 'a'",
    "- name: a\n- name: b{n}\n  count: 2\n  parent: a": (
        "5: providers[1].parent: an entry with count cannot have a parent"
    ),
    "- name: a\n  children:\n  - name: b\n    parent: a": (
        "5: providers[0].children[0].parent: "
        "only an entry at the top has a parent; this one is below another entry"
    ),
    "- name: a\n- name: b\n  parent: a{n}": (
        "4: providers[1].parent: {n} is not the counter of a surrounding entry"
    ),
}


@pytest.mark.parametrize(("text", "expected"), PROVIDER_ERRORS.items())
def test_wrong_provider(errors: Errors, text: str, expected: str | list[str]) -> None:
    lines = [expected] if isinstance(expected, str) else expected
    assert errors(f"providers:\n{text}\n") == [f"cloud.yaml:{line}" for line in lines]


SMALL = f"- uuid: {UUID_1}\n  project: p\n  user: u\n  allocations: {{a: {{VCPU: 1}}}}"
CONSUMER_ERRORS = {
    "- project: p\n  user: u\n  allocations: {a: {VCPU: 1}}": "4: consumers[0]: uuid is missing",
    f"- uuid: {UUID_1}\n  project: p\n  user: u\n  allocations: {{}}": (
        "7: consumers[0].allocations: the mapping is empty"
    ),
    f"- uuid: {UUID_1}\n  project: p\n  user: u\n  allocations: {{b: {{VCPU: 1}}}}": (
        "7: consumers[0].allocations.b: no provider above has the name 'b'"
    ),
    f"- uuid: {UUID_1}\n  project: p\n  user: u\n  allocations: {{'a{{n}}': {{VCPU: 1}}}}": (
        "7: consumers[0].allocations['a{n}']: {n} is not the counter of a surrounding entry"
    ),
    f"- uuid: {UUID_1}\n  project: p\n  user: u\n  allocations: {{a: {{VCPU: 0}}}}": (
        "7: consumers[0].allocations.a.VCPU: 0 is less than the minimum of 1"
    ),
    f"- uuid: {UUID_1}\n  project: p\n  user: u\n  type: vm\n  allocations: {{a: {{VCPU: 1}}}}": (
        "7: consumers[0].type: 'vm' is not a consumer type (capitals, digits and _)"
    ),
    f"{SMALL}\n  spread_group: {{name: web}}": (
        "8: consumers[0].spread_group: max_per_host is missing"
    ),
    f"{SMALL}\n  spread_group: {{name: a b, max_per_host: 1}}": (
        "8: consumers[0].spread_group.name: 'a b' is not a group name (letters, digits, _ . : -)"
    ),
    f"{SMALL}\n  request: {{groups: {{'': {{resources: {{VCPU: 2}}}}}}}}": (
        "8: consumers[0].request: its amounts are not the sums of the allocations"
    ),
    f"- &c {{uuid: {UUID_1}, project: p, user: u, allocations: {{a: {{VCPU: 1}}}}}}\n- *c": (
        "4: consumers[1].uuid: is also the UUID of an earlier consumer"
    ),
}


@pytest.mark.parametrize(("text", "expected"), CONSUMER_ERRORS.items())
def test_wrong_consumer(errors: Errors, text: str, expected: str) -> None:
    lines = errors(f"providers:\n- name: a\nconsumers:\n{text}\n")
    assert lines == [f"cloud.yaml:{expected}"]


FILE_ERRORS = {
    "": "1: the file is empty",
    "# nothing\n": "1: the file is empty",
    "providers": (
        "1: 'providers' is not a mapping; expected a cloud file, whose key providers lists the "
        "roots, as in etc/demo-cloud.yaml"
    ),
    "aggregates: {}\n": "1: providers is missing",
    "providers: {}": "1: providers: a mapping is not a list",
    "providers: []\nprovider: []": "2: provider: unknown key; did you mean providers?",
    "providers: []\naggregates:\n  a: 12345678": "3: aggregates.a: 12345678 is not text",
    "providers: []\ntraits:\n- HW_NUMA_ROOT": (
        "3: traits[0]: 'HW_NUMA_ROOT' is not a custom trait (CUSTOM_ and capitals, digits and _)"
    ),
    "providers: []\nresource_classes:\n- CUSTOM_A\n- CUSTOM_A": (
        "4: resource_classes[1]: is in the list already"
    ),
    f"providers: []\naggregates:\n  a b: {UUID_1}": (
        "3: aggregates['a b']: 'a b' is not an aggregate name (letters, digits, _ . : -)"
    ),
    f"providers: []\naggregates:\n  a: {UUID_1}\n  b: {UUID_1}": (
        "4: aggregates.b: a has this UUID already"
    ),
    f"providers: []\naggregates:\n  {UUID_1}: {UUID_1}": (
        f"3: aggregates.{UUID_1}: the name of an aggregate cannot be a UUID"
    ),
    "providers: []\n---\nproviders: []": "2: a second document begins here; a file holds one",
    "providers:\n- name: [a\n- name: b\n": (
        "3: not valid YAML: expected ',' or ']', but got ':' "
        "(while parsing a flow sequence from line 2)"
    ),
    "providers:\n\t- name: a": (
        "2: not valid YAML: found character '\\t' that cannot start any token"
    ),
    "providers: *nobody": "1: not valid YAML: found undefined alias 'nobody'",
    b"providers:\n- name: \xff\n": "2: is not UTF-8 text",
    b"providers:\n- name: a\x00\n": "2: the character 0 is not allowed in YAML",
}


@pytest.mark.parametrize(("text", "expected"), FILE_ERRORS.items())
def test_wrong_file(errors: Errors, text: str, expected: list[str]) -> None:
    assert errors(text) == [f"cloud.yaml:{expected}"]


def test_every_problem_is_reported_in_order_of_lines(errors: Errors) -> None:
    text = "providers:\n- name: a\n  uuid: x\n- nam: b\n- name: c\n  inventories: {VCPU: 0}\n"
    assert [line.split(":")[1] for line in errors(text)] == ["3", "4", "4", "6"]


def test_many_problems_are_cut_short(errors: Errors) -> None:
    lines = errors("providers:\n" + "- nobody: 1\n" * 100)
    assert len(lines) == 21
    assert lines[-1] == "cloud.yaml: and 180 more"


def test_too_many_providers(errors: Errors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("falcon_placement_client.loader.expansion.MAX_PROVIDERS", 10)
    text = "providers:\n- {name: 'a{n}', count: 9}\n- {name: 'b{n}', count: 9}\n"
    assert errors(text) == ["cloud.yaml:3: providers[1]: the file has over 10 providers"]


def test_aliases_that_multiply_are_stopped(errors: Errors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_VALUES", 1000)
    text = "a: &a [x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 6)}]\n"
        for before, name in zip("abcdef", "bcdefg", strict=True)
    )
    (line,) = errors(text)
    assert line.endswith("the file expands to over 1000 values")


MERGES = "".join(f"a{n}: &a{n} {{<<: *a{n - 1}}}\n" for n in range(1, 2000))


@pytest.mark.parametrize(
    "text",
    ["[" * 100 + "]" * 100, "[" * 5000 + "]" * 5000, f"&a0 {{}}\n{MERGES}<<: *a1999\n"],
    ids=["lists", "many lists", "merges"],
)
def test_too_deep(errors: Errors, text: str) -> None:
    (line,) = errors(f"providers: {text}")
    assert line.endswith("nested too deeply")


def test_as_deep_as_a_file_may_be(load: Load) -> None:
    text = "{name: p0}"
    for level in range(1, 28):
        text = f"{{name: p{level}, children: [{text}]}}"
    assert len(load(f"providers: [{text}]").providers) == 28


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnusableFile, match=r"no\.yaml: cannot be read: No such file"):
        load_file(tmp_path / "no.yaml")
    with pytest.raises(UnusableFile, match="cannot be read: Is a directory"):
        load_file(tmp_path)


def test_the_command_prints_the_errors_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cloud.yaml"
    path.write_text("providers:\n- name: a\n  x: 1\n  y: 2\n")
    assert load_cloud(str(path), "http://127.0.0.1:1", "admin") == 1
    lines = capsys.readouterr().err.removeprefix("placement: ").splitlines()
    assert [line.split(" ")[0] for line in lines] == [f"{path}:3:", f"{path}:4:"]


# The demonstration cloud.


def test_demo_cloud_is_what_it_says() -> None:
    cloud = load_file(DEMO)
    roots = [provider for provider in cloud.providers if provider.parent_uuid is None]
    hosts = [provider for provider in roots if "COMPUTE_NODE" in provider.traits]
    sharing = [p for p in roots if "MISC_SHARES_VIA_AGGREGATE" in p.traits]
    assert (len(hosts), len(sharing), len(roots)) == (50, 3, 53)
    consumers = cloud.consumers
    assert len(consumers) == 40
    assert {each.type for each in consumers} == {"INSTANCE", "MIGRATION", "RESERVATION"}
    assert len({each.project for each in consumers}) == 5
    assert len({each.user for each in consumers}) == 6
    assert len(DEMO.read_text().splitlines()) < 350


def test_a_ratio_that_a_database_has_rounded_is_that_of_the_file() -> None:
    def host(**ratios: float) -> ProviderData:
        records = {name: InventoryRecord(8, allocation_ratio=each) for name, each in ratios.items()}
        return ProviderData(UUID_1, "host", inventory=records)

    stored, stated = host(VCPU=1.100000023841858, DISK_GB=1.25), host(VCPU=1.1, DISK_GB=1.5)
    assert _with_ratios(stored, stated) == host(VCPU=1.1, DISK_GB=1.25)
