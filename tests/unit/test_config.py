"""Configuration: files, environment, and errors in one line."""

import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from oslo_config.cfg import ConfigOpts

from placement import cli, config
from placement.db.engine import Database
from placement.entry import app, status
from placement.errors import ConfigurationError
from tests.kit.builders import settings


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (config.CONFIG_DIR_VARIABLE, "OS_PLACEMENT_DATABASE__CONNECTION"):
        monkeypatch.delenv(name, raising=False)


def load(directory: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> ConfigOpts:
    (directory / "placement.conf").write_text(text)
    monkeypatch.setenv(config.CONFIG_DIR_VARIABLE, str(directory))
    conf = config.options()
    config.load_for_service(conf)
    return conf


FILE = "[placement_database]\nconnection = sqlite://\n[api]\nauth_strategy = noauth2\n"


def test_a_named_directory_is_read_and_the_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = load(tmp_path, FILE, monkeypatch)
    assert config.settings(conf).database.connection == "sqlite://"
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:///other")
    monkeypatch.setenv("OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES", "-1")
    settings = config.settings(load(tmp_path, FILE, monkeypatch))
    assert settings.database.connection == "sqlite:///other"
    assert settings.candidates.maximum is None


@pytest.mark.parametrize(
    ("size", "overflow", "connections"), [(5, 10, 15), (5, 0, 5), (5, -1, 0), (0, 10, 0)]
)
def test_a_pool_is_as_large_as_its_options_together(
    size: int, overflow: int, connections: int
) -> None:
    options = {"max_pool_size": size, "max_overflow": overflow}
    made = settings("sqlite://", placement_database=options)
    assert made.database.max_connections == connections


@pytest.mark.parametrize(("option", "maximum"), [(-1, None), (0, 1), (7, 7)])
def test_a_negative_maximum_of_candidates_is_no_limit(option: int, maximum: int | None) -> None:
    made = settings("sqlite://", placement={"max_allocation_candidates": option})
    assert made.candidates.maximum == maximum


@pytest.mark.parametrize(("url", "separator"), [("sqlite://", "?"), ("sqlite://?a=1", "&")])
def test_parameters_are_appended_to_those_of_the_url(url: str, separator: str) -> None:
    made = settings(url, placement_database={"connection_parameters": "b=2"})
    assert made.database.connection == f"{url}{separator}b=2"


def test_unknown_groups_and_options_are_found_except_for_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        f"{FILE}[placement]\nmax_serch_steps = 3\n[placment]\nx = 1\n[other_service]\ny = 1\n"
        "[keystone_authtoken]\nusername = p\nauth_section = identity\n[identity]\nz = 1\n"
    )
    warnings = list(map(str, config.unknown_options(load(tmp_path, text, monkeypatch))))
    assert [warning.removeprefix(f"{tmp_path}/placement.conf: ") for warning in warnings] == [
        "[placement] max_serch_steps is not an option of this service (did you mean "
        "max_search_steps?); it is ignored",
        "[placment] is not a group of this service (did you mean placement?); it is ignored",
        "[other_service] is not a group of this service; it is ignored",
    ]


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("OS_PLACEMENT__MAX_SERCH_STEPS", "OS_PLACEMENT__MAX_SEARCH_STEPS"),
        ("OS_PLACEMENT__max_search_steps", "OS_PLACEMENT__MAX_SEARCH_STEPS"),
        ("OS_api__auth_strategy", "OS_API__AUTH_STRATEGY"),
        ("OS_PLACMENT__MAX_SEARCH_STEPS", "OS_PLACEMENT__MAX_SEARCH_STEPS"),
        ("OS_DATABASE__CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_PLACEMENT_DATABASE_CONNECTION", "OS_PLACEMENT_DATABASE__CONNECTION"),
        ("OS_METRICS__XYZ", ""),
    ],
)
def test_unknown_variables_are_found_with_the_one_that_was_meant(variable: str, meant: str) -> None:
    hint = f" (did you mean {meant}?)" if meant else ""
    assert list(config.unknown_variables([variable])) == [
        f"environment: {variable} is not an option of this service{hint}; it is ignored"
    ]


def test_options_of_earlier_releases_are_named_with_what_replaces_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_METRICS__BIND_HOST", "0.0.0.0")
    conf = load(tmp_path, "[metrics]\nbind_host = 0.0.0.0\n", monkeypatch)
    effect = "no longer has an effect: the settings of the server contain the address of bind_port"
    assert list(config.unknown_settings(conf)) == [
        f"{tmp_path}/placement.conf: [metrics] bind_host {effect}",
        f"environment: OS_METRICS__BIND_HOST {effect}",
    ]


def test_variables_of_options_are_known_and_variables_of_other_services_ignored() -> None:
    ours = [f"OS_{g}__{opt.dest}".upper() for g, opts in config.OPTIONS.items() for opt in opts]
    others = ["OS_DEFAULT__DEBUG", "OS_NOVA__X", "OS_KEYSTONE_AUTHTOKEN__USERNAME", "OS_CLOUD"]
    others += ["OS_AUTH_URL", "OS_TOKEN", "OS_METRICS", "OS_PLACEMENT", config.CONFIG_DIR_VARIABLE]
    others += ["PLACEMENT__MAX_SERCH_STEPS", "OS_CLIENT_CONFIG_FILE", "OS_PLACEMENT_API_VERSION"]
    assert list(config.unknown_variables([*ours, *others])) == []


def test_the_log_warns_of_unknown_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OS_PLACEMENT__MAX_SERCH_STEPS", "3")
    config.log_to_stderr(load(tmp_path, FILE, monkeypatch))
    assert "WARNING" in (said := capsys.readouterr().err)
    assert "environment: OS_PLACEMENT__MAX_SERCH_STEPS is not an option" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[api]\nauth_strategy = noauth2\n", "connection is not set"),
        (
            f"{FILE}[placement]\nmax_search_steps = many\n",
            "/placement.conf: [placement] max_search_steps: 'many' is not an integer",
        ),
        (f"{FILE}[placement]\nallocation_candidates_generation_strategy = x\n", "breadth-first"),
        ("no section", "section"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        config.settings(load(tmp_path, text, monkeypatch))
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_directory_without_the_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(config.CONFIG_DIR_VARIABLE, str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"there is no file .*placement\.conf"):
        config.load_for_service(config.options())


def test_an_unmigrated_database_is_refused_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(tmp_path, FILE.replace("sqlite://", f"sqlite:///{tmp_path}/p.db"), monkeypatch)
    with pytest.raises(ConfigurationError, match="placement-manage db sync"):
        app.serve()


@pytest.mark.parametrize("option", ["--config-dir", "--config-file"])
def test_commands_read_the_named_directory_unless_the_command_line_names_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    places = {name: tmp_path / name for name in ("environment", "arguments")}
    for name, directory in places.items():
        directory.mkdir()
        (directory / "placement.conf").write_text(
            f"[placement_database]\nconnection = sqlite:///{name}\n[api]\nsite_name_{name} = 1\n"
        )
    monkeypatch.setenv(config.CONFIG_DIR_VARIABLE, str(places["environment"]))
    stated = str(places["arguments"] / ("" if option == "--config-dir" else "placement.conf"))
    for arguments, source in (([], "environment"), ([option, stated], "arguments")):
        conf = config.options()
        config.parse(conf, arguments)
        assert config.settings(conf).database.connection == f"sqlite:///{source}"
        # The other one is not mixed into it.
        unknown = [each.name for each in config.unknown_options(conf)]
        assert unknown == [f"site_name_{source}"]


@pytest.mark.parametrize("place", ["named", "home"])
def test_files_in_the_usual_directory_and_beside_the_named_file_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    named, home = tmp_path / "named", tmp_path / "home"
    added = {"named": named, "home": home / ".placement"}[place] / "placement.conf.d"
    for directory in (named, added):
        directory.mkdir(parents=True, exist_ok=True)
    (added / "database.conf").write_text("[placement_database]\nconnection = sqlite:///added\n")
    monkeypatch.setenv("HOME", str(home))
    conf = load(named, FILE, monkeypatch)
    assert config.settings(conf).database.connection == "sqlite:///added"
    (added / "database.conf").write_text("[placement_database]\nconection = sqlite:///added\n")
    warnings = [str(each) for each in config.unknown_options(load(named, FILE, monkeypatch))]
    assert [warning.partition(":")[0] for warning in warnings] == [f"{added}/database.conf"]


def test_a_refusal_names_the_files_that_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "placement.conf.d").mkdir()
    conf = load(tmp_path, "[api]\nauth_strategy = noauth2\n", monkeypatch)
    where = f"read from {tmp_path}/placement.conf, {tmp_path}/placement.conf.d"
    with pytest.raises(ConfigurationError, match=f"connection is not set.*{where}"):
        config.settings(conf)
    monkeypatch.setenv(config.CONFIG_DIR_VARIABLE, "")
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    conf = config.options()
    config.load_for_service(conf)
    with pytest.raises(ConfigurationError, match="no configuration file was found"):
        config.settings(conf)


def test_taints_are_names_of_traits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        config.settings(load(tmp_path, FILE, monkeypatch)).candidates.traits.taints == frozenset()
    )
    text = f"{FILE}[placement]\ntaints = CUSTOM_MAINTENANCE, COMPUTE_STATUS_DISABLED\n"
    taints = config.settings(load(tmp_path, text, monkeypatch)).candidates.traits.taints
    assert taints == {"CUSTOM_MAINTENANCE", "COMPUTE_STATUS_DISABLED"}


@pytest.mark.parametrize("option", ["taints", "exclusive"])
@pytest.mark.parametrize("name", ["custom_x", "CUSTOM-X", "!CUSTOM_X", "C" * 256, "CUSTOM_A,,B"])
def test_a_name_that_no_trait_can_have_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, option: str
) -> None:
    load(tmp_path, f"{FILE}[placement]\n{option} = {name}\n", monkeypatch)
    with pytest.raises(ConfigurationError, match=rf"\[placement\] {option}: '") as raised:
        app.serve()
    assert "\n" not in str(raised.value)


def test_the_start_logs_the_taints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = tmp_path / "placement.db"
    text = FILE.replace("sqlite://", f"sqlite:///{database}\nsync_on_startup = true")
    text += "[placement]\ntaints = CUSTOM_MAINTENANCE,CUSTOM_DEDICATED\n"
    settings = config.settings(load(tmp_path, text, monkeypatch))
    with caplog.at_level(logging.INFO):
        app.start(settings)[1].dispose()
    (record,) = [each for each in caplog.records if "taint" in each.getMessage()]
    assert record.levelname == "INFO"
    assert "CUSTOM_DEDICATED, CUSTOM_MAINTENANCE" in record.getMessage()


def order_file(text: str) -> str:
    return f"{FILE}[placement]\norder = {text}\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("memory", r"order: expected JSON such as \[{\"by\":\"free\",.*}\], but it is not valid: "),
        ("{}", r"order: JSON does not validate: order: {} is not of type 'array'"),
        ('[{"by": "size", "first": "most"}]', r"order: JSON does not validate: order\[0\]\.by: "),
        ('[{"by": "free", "first": "most"}]', r"order: order\[0\]\.resource_class: expected"),
        (
            '[{"by": "trait", "name": "CUSTOM_A", "first": "most"}]',
            r"order: order\[0\]\.first='most': expected with or without",
        ),
    ],
)
def test_a_malformed_order_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    load(tmp_path, order_file(text), monkeypatch)
    with pytest.raises(ConfigurationError, match=rf"\[placement\] {problem}") as raised:
        app.serve()
    assert "\n" not in str(raised.value)


def test_the_start_logs_the_order_and_its_unknown_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    keys = (
        '[{"by": "free", "resource_class": "MEMORY_GB", "first": "most"},'
        ' {"by": "free", "resource_class": "VCPU", "first": "most"},'
        ' {"by": "trait", "name": "CUSTOM_QUIET", "first": "with"}]'
    )
    database = f"sqlite:///{tmp_path / 'placement.db'}\nsync_on_startup = true"
    text = order_file(keys).replace("sqlite://", database)
    settings = config.settings(load(tmp_path, text, monkeypatch))
    with caplog.at_level(logging.INFO):
        app.start(settings)[1].dispose()
    told = [(each.levelname, each.getMessage()) for each in caplog.records if "limited" in each.msg]
    assert told == [("INFO", f"limited searches at 1.x sort the hosts by {keys}")]
    unknown = [each.getMessage() for each in caplog.records if "no effect" in each.getMessage()]
    assert unknown == [
        "[placement] order: MEMORY_GB does not exist and has no effect; did you mean MEMORY_MB?",
        "[placement] order: CUSTOM_QUIET does not exist and has no effect; "
        "create CUSTOM_QUIET with PUT /traits/CUSTOM_QUIET",
    ]


def test_the_extra_that_brings_a_missing_driver_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FILE.replace("sqlite://", "postgresql+psycopg://localhost/placement")
    database = config.settings(load(tmp_path, text, monkeypatch)).database
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'falcon-placement\[postgresql\]'"):
        Database(database)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("use_journal = true", r"use_journal is set, .* install systemd-python"),
        ("use_syslog = true\nsyslog_log_facility = LOG_NOPE", "as configured: syslog facility"),
        ("log_config_append = /none/log.conf", "as configured: .*/none/log.conf"),
        ("log_dir = /none", "as configured: .*/none"),
    ],
)
def test_a_log_that_cannot_be_written_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, words: str
) -> None:
    monkeypatch.setitem(sys.modules, "systemd", None)
    load(tmp_path, f"[DEFAULT]\n{options}\n{FILE}", monkeypatch)
    with pytest.raises(ConfigurationError, match=words) as raised:
        app.serve()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("OS_PLACEMENT__MAX_SEARCH_STEPS", "1_0_x", "'1_0_x' is not an integer"),
        ("OS_PLACEMENT__MAX_SEARCH_STEPS", "0", "the number should be greater than or equal to 1"),
        ("OS_PLACEMENT__REQUEST_DEADLINE", "soon", "'soon' is not a number"),
        ("OS_PLACEMENT__RANDOMIZE_ALLOCATION_CANDIDATES", "maybe", "'maybe' is neither true nor"),
        ("OS_PLACEMENT_DATABASE__MAX_POOL_SIZE", "many", "'many' is not an integer"),
        ("OS_API__AUTH_STRATEGY", "none", "'none' is not one of keystone, noauth2"),
        ("OS_DEFAULT__DEBUG", "perhaps", "'perhaps' is neither true nor false"),
    ],
)
@pytest.mark.parametrize("main", [cli.main, status.main])
def test_every_command_refuses_an_invalid_value_in_plain_words(
    variable: str,
    value: str,
    reason: str,
    main: Callable[[Sequence[str]], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "placement.conf").write_text(FILE)
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv(variable, value)
    command = ["db", "sync"] if main is cli.main else ["upgrade", "check"]
    code = main(command)
    if main is status.main and not variable.startswith(("OS_PLACEMENT_DATABASE", "OS_DEFAULT")):
        assert (code, reason[:9] in capsys.readouterr().out) == (2, True)  # a row of the table
        return
    assert code == (1 if main is cli.main else 255)
    line = capsys.readouterr().err
    assert line.startswith(f"placement: {variable}: "), line
    assert reason in line
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "problem"),
    [("taints = lower", "taints: 'lower' is no name"), ("order = x", "order: ")],
)
def test_a_command_refuses_what_stops_the_start(
    option: str,
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "placement.conf").write_text(f"{FILE}[placement]\n{option}\n")
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    assert (cli.main(["db", "version"]), status.main(["upgrade", "check"])) == (1, 2)
    assert all(f"[placement] {problem}" in text for text in capsys.readouterr())
