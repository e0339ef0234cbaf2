"""The sources of options: files, the environment and the command line."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from oslo_config import cfg
from oslo_log import log as oslo_log

from placement import __version__
from placement.config.option_groups import OPTIONS
from placement.errors import ConfigurationError
from placement.runtime.suggestions import PARENTHESES, did_you_mean, nearest

CONFIG_DIR_VARIABLE = "OS_PLACEMENT_CONFIG_DIR"

# Groups of the options of libraries.
LIBRARY_GROUPS = frozenset(
    {"DEFAULT", "cors", "keystone_authtoken", "oslo_middleware", "oslo_policy"}
)

# Groups of libraries of openstack-placement that this service does not use. Deployment tools set
# them.
UNUSED_GROUPS = frozenset({"cache", "oslo_concurrency", "profiler"})

# Names in `DEFAULT` that are not registered: an option whose former group this is, former names of
# options of oslo.log, and options of openstack-placement without an effect.
OTHER_DEFAULTS = frozenset(
    {"auth_strategy", "log_config", "log_options", "logdir", "logfile", "pybasedir", "state_path",
     "tempdir"}
)  # fmt: skip

# Options of earlier releases -> what replaces them.
REMOVED = {("metrics", "bind_host"): "the settings of the server contain the address of bind_port"}

# Minimum similarity of an option in `DEFAULT` to an existing one, to be reported as misspelt.
MISSPELT = 0.8

# The same groups in the spelling of environment variables.
_LIBRARY_VARIABLES = frozenset(group.upper() for group in LIBRARY_GROUPS)

_BAD_VALUE = re.compile(
    r"Value for option (\w+) from LocationInfo\(location=.*?, detail='(.*?)'\) is not valid: (.*)"
)

# Reasons that Python and oslo.config state in words of programmers -> plain words.
_PYTHON_REASONS = {
    re.compile(r"invalid literal for int\(\) with base 10: (.*)"): r"\1 is not an integer",
    re.compile(r"could not convert string to float: (.*)"): r"\1 is not a number",
    re.compile(r"Unexpected boolean value (.*)"): r"\1 is neither true nor false",
    re.compile(r"Valid values are \[(.*)\], but found (.*)"): r"\2 is not one of \1",
    re.compile(r"Should be (.*)"): r"the number should be \1",
}


class UnknownOption(NamedTuple):
    """An unknown group, or an unknown option in a group of this service."""

    file: str
    group: str
    # Name of the option. Empty if the whole group is unknown.
    name: str
    # The existing name that was probably meant. Empty if no existing name is similar.
    nearest: list[str]

    def __str__(self) -> str:
        if replacement := REMOVED.get((self.group, self.name)):
            return f"{self.file}: [{self.group}] {self.name} no longer has an effect: {replacement}"
        what = f"[{self.group}]" + (f" {self.name}" if self.name else "")
        noun = "an option" if self.name else "a group"
        hint = did_you_mean(self.nearest, PARENTHESES)
        return f"{self.file}: {what} is not {noun} of this service{hint}; it is ignored"


def options() -> cfg.ConfigOpts:
    """Return a `ConfigOpts` with the options of this service and of oslo.log."""
    conf = cfg.ConfigOpts()
    register(conf)
    oslo_log.register_options(conf)
    return conf


def register(conf: cfg.ConfigOpts) -> None:
    """Register the service's options on a `ConfigOpts`. Idempotent.

    Raises:
        ConfigurationError: it has a different option of the same name.
    """
    try:
        for group, opts in OPTIONS.items():
            conf.register_opts(opts, group=group)
    except cfg.DuplicateOptError as error:
        raise ConfigurationError(f"an option is registered differently: {error}") from None


def load_for_service(conf: cfg.ConfigOpts) -> None:
    """Read the options of the service, which has no command line. For errors, see `parse`."""
    parse(conf, [])


def named_files() -> list[str] | None:
    """Return the file in the directory that the environment names, or None if it does not name one.

    Raises:
        ConfigurationError: the file does not exist.
    """
    directory = os.environ.get(CONFIG_DIR_VARIABLE)
    if not directory:
        return None
    path = Path(directory) / "placement.conf"
    if not path.is_file():
        raise ConfigurationError(f"{CONFIG_DIR_VARIABLE}: there is no file {path}")
    return [str(path)]


def parse(
    conf: cfg.ConfigOpts,
    argv: Sequence[str],
    files: list[str] | None = None,
    usage: str | None = None,
) -> None:
    """Parse command line, files and environment.

    Args:
        conf: receives the values.
        argv: command line, without the program.
        files: the only files to read, unless the command line names others. None means the file in
            the directory that the environment names, or else the file in the usual directories;
            `placement.conf.d` of these directories is read as well.
        usage: printed before errors in the command line. None means a list of all options.

    Raises:
        ConfigurationError: a file cannot be read, or a value is not allowed.
    """
    directories: list[str] | None = None if files is None else []
    if files is None and not any(argument.startswith("--config-") for argument in argv):
        files = named_files()
        if files is not None:
            directories = _directories_beside(files[0])
    try:
        conf(
            list(argv),
            project="placement",
            usage=usage,
            version=__version__,
            default_config_files=files,
            default_config_dirs=directories,
        )
    except cfg.ConfigFilesNotFoundError as error:
        paths = ", ".join(error.config_files)
        raise ConfigurationError(
            f"cannot read {paths}: it does not exist, or the user has no permission"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"a configuration file is not UTF-8 text: {error}") from None
    except OSError as error:
        raise ConfigurationError(f"cannot read {error.filename}: {error.strerror}") from None
    except cfg.Error as error:
        raise ConfigurationError(describe_error(error)) from None
    except SystemExit as end:
        if end.code != 1:
            raise
        # oslo.config has printed it. The exit code of the process is that of its caller.
        raise ConfigurationError("a configuration file has an invalid value") from None


def check_values(conf: cfg.ConfigOpts, groups: Iterable[str] = tuple(OPTIONS)) -> None:
    """Raise ConfigurationError for an invalid value of an option of this service.

    oslo.config checks a value only when it is read.
    """
    for group in groups:
        for opt in OPTIONS[group]:
            try:
                conf[group][opt.dest]
            except cfg.Error as error:
                raise ConfigurationError(describe_error(error)) from None


def _directories_beside(file: str) -> list[str]:
    """Return the usual directories of additional files, and the one beside a file, if it exists."""
    usual = [path.rstrip("/") for path in cfg.find_config_dirs("placement")]
    beside = [f"{file}.d"] if Path(f"{file}.d").is_dir() else []
    return list(dict.fromkeys([*usual, *beside]))


def describe_sources(conf: cfg.ConfigOpts) -> str:
    """Return a sentence about the files and directories from which the options were read."""
    paths = [*(conf.config_file or []), *(conf.config_dir or [])]
    if not paths:
        return "no configuration file was found"
    return f"the options were read from {', '.join(paths)}"


def describe_error(error: Exception) -> str:
    """Return the text of an oslo.config error as one line, with the place of an invalid value."""
    text = " ".join(str(error).split())
    bad_value = _BAD_VALUE.search(text)
    if bad_value is None:
        return text
    name, location, reason = bad_value.groups()
    groups = [group for group, opts in OPTIONS.items() if name in {opt.dest for opt in opts}]
    option = f"[{groups[0]}] {name}" if groups else name
    # oslo.config names the file, too, if it has the option.
    variable = f"OS_{groups[0] if groups else 'DEFAULT'}__{name}".upper()
    location = variable if variable in os.environ else location
    for pattern, plain in _PYTHON_REASONS.items():
        reason = pattern.sub(plain, reason)
    return f"{location}: {option}: {reason[:1].lower()}{reason[1:]}"


def unknown_settings(conf: cfg.ConfigOpts) -> Iterable[str]:
    """Yield a warning for each setting in the files and the environment that is never read."""
    yield from map(str, unknown_options(conf))
    yield from unknown_variables(os.environ)


def unknown_options(conf: cfg.ConfigOpts) -> Iterable[UnknownOption]:
    """Yield unknown groups in the files, and unknown options in groups of this service.

    In `DEFAULT`, only names that resemble an existing option are reported: other libraries may own
    the rest. Options in the other groups of libraries are not checked, because only the libraries
    know these options.
    """
    names_by_group: dict[str, Set[str]] = {
        group: {opt.dest for opt in opts} | {opt.name for opt in opts}
        for group, opts in OPTIONS.items()
    }
    names_by_group["DEFAULT"] = OTHER_DEFAULTS | set(conf)
    for path in _files_read(conf):
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(path, sections).parse()
        # `auth_section` contains the name of the group from which keystonemiddleware reads its
        # options.
        named = sections.get("keystone_authtoken", {}).get("auth_section", [])
        groups = {*names_by_group, *LIBRARY_GROUPS, *UNUSED_GROUPS, *named}
        for group, names in sections.items():
            if group not in groups:
                yield UnknownOption(path, group, "", nearest(group, groups))
            known = names_by_group.get(group, names.keys())
            for name in names:
                if name in known:
                    continue
                if group != "DEFAULT":
                    yield UnknownOption(path, group, name, nearest(name, known))
                elif proposals := nearest(name, known, MISSPELT):
                    yield UnknownOption(path, group, name, proposals)


def unknown_variables(environment: Iterable[str]) -> Iterable[str]:
    """Yield a warning for each variable that is meant for this service but is never read.

    environment: names of variables. One of another group than this service's is left to other
    services, unless both its group and its option resemble existing ones.
    """
    options_of = {
        group.upper(): {opt.dest.upper() for opt in opts} for group, opts in OPTIONS.items()
    }
    for variable in sorted(environment):
        group, separator, name = variable.removeprefix("OS_").partition("__")
        if not variable.startswith("OS_") or name in options_of.get(group, ()):
            continue
        if replacement := REMOVED.get((group.lower(), name.lower())):
            yield f"environment: {variable} no longer has an effect: {replacement}"
            continue
        if separator:
            groups = () if group in _LIBRARY_VARIABLES else nearest(group.upper(), options_of)
            proposals = [
                f"OS_{known}__{option}"
                for known in groups
                for option in nearest(name.upper(), options_of[known])
            ]
        else:
            proposals = _with_two_underscores(variable, options_of)
        if proposals or (separator and group in options_of):
            hint = did_you_mean(proposals, PARENTHESES)
            yield f"environment: {variable} is not an option of this service{hint}; it is ignored"


def _with_two_underscores(variable: str, options_of: Mapping[str, set[str]]) -> list[str]:
    """Return the correct variable for a name with only one underscore after the group."""
    return [
        f"OS_{group}__{name}"
        for group, names in options_of.items()
        for name in names
        if variable == f"OS_{group}_{name}"
    ]


def _files_read(conf: cfg.ConfigOpts) -> list[str]:
    files = list(conf.config_file or [])
    for directory in conf.config_dir or []:
        files += sorted(str(path) for path in Path(directory).glob("*.conf"))
    return files
