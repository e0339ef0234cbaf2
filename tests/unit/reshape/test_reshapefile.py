"""Reshape files: their content, and their errors with positions."""

from collections.abc import Callable
from pathlib import Path

import pytest

from falcon_placement_client.reshape.reshapefile import (
    Child,
    Give,
    Move,
    ProviderSelector,
    Rename,
    load_transformation,
)
from falcon_placement_client.yamlfile.problems import UnusableFile

CASES = Path(__file__).parents[3] / "etc" / "reshape"
UUID = "5AC00000-0000-4000-8000-00000000000B"

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def written(text: str) -> Path:
        Path("steps.yaml").write_text(text)
        return Path("steps.yaml")

    return written


def test_a_file_is_read_into_its_steps(write: Write) -> None:
    path = write(
        f"""\
steps:
- providers: {{name: "gpu-*", root: true, traits: [A], without_traits: [B], aggregates: [{UUID}]}}
  move: [VGPU, VGPU_DISPLAY_HEAD]
  split: true
  to:
  - child: "{{name}}-card{{n:02}}"
    count: 2
    traits: [CUSTOM_T4]
    inventories: {{VGPU: 4, VGPU_DISPLAY_HEAD: {{max_unit: 2}}}}
  - child: "{{name}}-spare"
- providers: {{resources: [CUSTOM_FPGA]}}
  rename: {{CUSTOM_FPGA: FPGA}}
- providers: {{}}
  give: [CUSTOM_SEEN]
"""
    )
    stated = {"VGPU": {"total": 4}, "VGPU_DISPLAY_HEAD": {"max_unit": 2}}
    traits = frozenset({"CUSTOM_T4"})
    assert load_transformation(path).steps == (
        Move(
            2,
            ProviderSelector(
                "gpu-*", True, frozenset("A"), frozenset("B"), frozenset({UUID.lower()})
            ),
            ("VGPU", "VGPU_DISPLAY_HEAD"),
            [
                Child("{name}-card01", traits, stated),
                Child("{name}-card02", traits, stated),
                Child("{name}-spare", frozenset(), {}),
            ],
            True,
        ),
        Rename(11, ProviderSelector(resources=frozenset({"CUSTOM_FPGA"})), {"CUSTOM_FPGA": "FPGA"}),
        Give(13, ProviderSelector(), frozenset({"CUSTOM_SEEN"})),
    )


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_can_be_read(path: Path) -> None:
    assert load_transformation(path).steps


MOVE = "steps:\n- providers: {}\n  move: [VGPU]\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("steps: []", "1: steps: the list is empty"),
        ("step: []", "1: step: unknown key; did you mean steps?"),
        ("steps:\n- move: [A]\n", "2: steps[0]: providers is missing"),
        (
            "steps:\n- providers: {}\n",
            "2: steps[0]: a step has one of move, rename, give; this one has none",
        ),
        (
            "steps:\n- providers: {}\n  give: [A]\n  rename: {A: B}\n",
            "2: steps[0]: a step has one of move, rename, give; this one has rename and give",
        ),
        (
            "steps:\n- providers: {nmae: a}\n  give: [A]\n",
            "2: steps[0].providers.nmae: unknown key; did you mean name?",
        ),
        (
            "steps:\n- providers: {root: 1}\n  give: [A]\n",
            "2: steps[0].providers.root: 1 is not true or false",
        ),
        (MOVE, "2: steps[0]: to is missing: the children to which the classes move"),
        (f"{MOVE}  to:\n  - child: gpu\n", "5: steps[0].to[0].child: 'gpu' must contain {name}"),
        (
            f"{MOVE}  to:\n  - child: '{{name}}-a'\n    count: 2\n",
            "5: steps[0].to[0].child: '{name}-a' must contain the number {n}",
        ),
        (
            f"{MOVE}  to:\n  - child: '{{name}}-{{n}}'\n",
            "5: steps[0].to[0].child: '{name}-{n}' has {n}, but no count",
        ),
        (
            f"{MOVE}  to:\n  - child: '{{name}}{{x}}'\n",
            "5: steps[0].to[0].child: '{name}{x}': braces hold name or n",
        ),
        (
            f"{MOVE}  to:\n  - child: '{{name}}a'\n  - child: '{{name}}a'\n",
            "6: steps[0].to[1].child: '{name}a' is in the list already",
        ),
        (
            f"{MOVE}  to:\n  - child: '{{name}}a'\n    inventories: {{VCPU: 1}}\n",
            "6: steps[0].to[0].inventories.VCPU: VCPU does not move; move has VGPU",
        ),
        (
            f"{MOVE}  to:\n  - child: '{{name}}a'\n    inventories: {{VGPU: 0}}\n",
            "6: steps[0].to[0].inventories.VGPU: 0 is less than the minimum of 1",
        ),
        (
            "steps:\n- providers: {}\n  rename: {A: B, B: C}\n",
            "3: steps[0].rename.A: B is renamed itself",
        ),
        (
            "steps:\n- providers: {}\n  rename: {A: A}\n",
            "3: steps[0].rename.A: A has this name already",
        ),
        (
            "steps:\n- providers: {}\n  rename: {A: C, B: C}\n",
            "3: steps[0].rename.A: two classes cannot both become C",
        ),
        (
            "steps:\n- providers: {}\n  give: [A]\n  split: true\n",
            "4: steps[0].split: split has no meaning without move",
        ),
        ("steps: [", "1: not valid YAML"),
    ],
)
def test_an_error_names_line_and_key_and_what_was_expected(
    write: Write, text: str, complaint: str
) -> None:
    with pytest.raises(UnusableFile) as error:
        load_transformation(write(text))
    lines = str(error.value).splitlines()
    assert any(line.startswith(f"steps.yaml:{complaint}") for line in lines), lines


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UnusableFile, match=r"^nowhere\.yaml: cannot be read: No such file"):
        load_transformation("nowhere.yaml")
