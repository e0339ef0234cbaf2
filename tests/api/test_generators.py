"""oslo's tools for options and policy rules, run as operators run them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import yaml
from oslo_config import cfg

from placement import config
from placement.entry import generators
from tests.kit.forked import Forked

SAMPLE = Path(__file__).parents[2] / "etc" / "placement.conf"
TOOLS = Path(sys.executable).parent


def run(tool: str, *arguments: str, cwd: Path, **environment: str) -> tuple[int, str, str]:
    out, err = cwd / "out", cwd / "err"
    for file in (out, err):
        file.unlink(missing_ok=True)
    command = [str(TOOLS / tool), *arguments]
    code = Forked(command, str(cwd), {**os.environ, **environment}, out, err).wait()
    return code, out.read_text(), err.read_text()


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A directory with a placement.conf and a policy file that it names."""
    directory = tmp_path / "etc"
    directory.mkdir()
    (directory / "placement.conf").write_text("[oslo_policy]\npolicy_file = mine.yaml\n")
    (directory / "mine.yaml").write_text(
        '"placement:traits:list": "role:reader"\n"placement:reshaper:reshape": "rule:service_api"\n'
    )
    return directory


@pytest.mark.parametrize("named", ["--config-file", "--config-dir", "environment"])
def test_the_policy_in_force_is_the_defaults_and_the_file(
    tmp_path: Path, policy: Path, named: str
) -> None:
    arguments = {
        "--config-file": ["--config-file", str(policy / "placement.conf")],
        "--config-dir": ["--config-dir", str(policy)],
    }.get(named, [])
    code, out, err = run(
        "oslopolicy-policy-generator", "--namespace", "placement", *arguments,
        cwd=tmp_path, OS_PLACEMENT_CONFIG_DIR="" if arguments else str(policy),
    )  # fmt: skip
    assert code == 0, err
    rules = yaml.safe_load(out)
    assert rules["placement:traits:list"] == "role:reader"
    assert rules["placement:traits:show"] == "rule:admin_or_service_api"
    assert rules.keys() == {rule.name for rule in generators.rules()}


def test_what_the_file_says_as_the_defaults_do_is_redundant(tmp_path: Path, policy: Path) -> None:
    code, out, err = run(
        "oslopolicy-list-redundant", "--namespace", "placement", "--config-dir", str(policy),
        cwd=tmp_path,
    )  # fmt: skip
    assert code == 0, err
    assert "placement:reshaper:reshape" in out
    assert "placement:traits:list" not in out


@pytest.mark.parametrize(
    ("line", "complaint"),
    [("", ""), ('"placement:trait:list": "@"\n', "Unknown rule found in policy file")],
)
def test_a_policy_file_is_validated(
    tmp_path: Path, policy: Path, line: str, complaint: str
) -> None:
    with (policy / "mine.yaml").open("a") as file:
        file.write(line)
    code, out, _err = run(
        "oslopolicy-validator", "--namespace", "placement", "--config-dir", str(policy),
        cwd=tmp_path,
    )  # fmt: skip
    assert complaint in out
    assert code == bool(complaint)


def test_a_sample_of_the_configuration_has_every_option_with_its_help(tmp_path: Path) -> None:
    arguments = [
        "--namespace=placement.conf", "--namespace=oslo.policy", "--namespace=oslo.middleware.cors",
        "--namespace=oslo.log",
    ]  # fmt: skip
    code, out, err = run("oslo-config-generator", *arguments, cwd=tmp_path)
    assert code == 0, err
    for group, options in config.OPTIONS.items():
        assert f"[{group}]" in out
        for option in options:
            assert option.help
            assert re.search(rf"^#{option.dest} =", out, flags=re.MULTILINE)
    assert "#policy_file = policy.yaml" in out
    assert config.LOG_LEVEL in out
    assert re.search(r"#allow_headers = .*OpenStack-API-Version", out)
    assert re.search(r"#expose_headers = .*OpenStack-API-Version", out)


def test_a_configuration_is_validated(tmp_path: Path) -> None:
    path = tmp_path / "placement.conf"
    for text, fine in (
        (SAMPLE.read_text(), True),
        ("[DEFAULT]\nauth_strategy = noauth2\n", True),  # the former group
        ("[placement]\nmax_candidates = 3\n", False),
    ):
        path.write_text(text)
        code, _out, err = run(
            "oslo-config-validator", "--namespace", "placement.conf", "--namespace", "oslo.log",
            "--input-file", str(path), cwd=tmp_path,
        )  # fmt: skip
        assert (code == 0) == fine, err
    assert "placement/max_candidates is not part of the sample config" in err


def test_what_the_shipped_file_has_commented_out_are_the_defaults(tmp_path: Path) -> None:
    text = re.sub(r"^#(?=\w+ = )", "", SAMPLE.read_text(), flags=re.MULTILINE)
    path = tmp_path / "placement.conf"
    path.write_text(text)
    conf = config.options()
    config.parse(conf, [], [str(path)])
    assert not list(config.unknown_options(conf))
    commented = set(re.findall(r"^#(\w+) = ", SAMPLE.read_text(), flags=re.MULTILINE))
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(path), sections).parse()
    for group, options in config.OPTIONS.items():
        names = commented & sections.get(group, {}).keys()
        for option in options:
            if option.dest in names:
                assert conf[group][option.dest] == option.default
