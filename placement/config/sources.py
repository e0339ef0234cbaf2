"""Where options come from: files, the environment, the command line."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from oslo_config import cfg
from oslo_log import log as oslo_log

from placement import __version__
from placement.config.option_groups import OPTIONS
from placement.errors import ConfigurationError

CONFIG_DIR_VARIABLE = "OS_PLACEMENT_CONFIG_DIR"


def options() -> cfg.ConfigOpts:
    """Return a `ConfigOpts` that knows the options of this service and those of oslo.log."""
    conf = cfg.ConfigOpts()
    register(conf)
    oslo_log.register_options(conf)
    return conf


def register(conf: cfg.ConfigOpts) -> None:
    """Have somebody's `ConfigOpts` know the options of this service; twice does no harm.

    Raises ConfigurationError if it has another option of the same name.
    """
    try:
        for group, opts in OPTIONS.items():
            conf.register_opts(opts, group=group)
    except cfg.DuplicateOptError as error:
        raise ConfigurationError(f"these options are not those of placement: {error}") from None


def load_for_service(conf: cfg.ConfigOpts) -> None:
    """Read the files of the web process: those of `OS_PLACEMENT_CONFIG_DIR`, or the usual places.

    Raises ConfigurationError when the directory was named and has no readable placement.conf.
    """
    parse(conf, [], named_files())


def named_files() -> list[str] | None:
    """Return the file in the directory that the environment names; None when it names none.

    Raises ConfigurationError when the file is not there.
    """
    directory = os.environ.get(CONFIG_DIR_VARIABLE)
    if not directory:
        return None
    path = Path(directory) / "placement.conf"
    if not path.is_file():
        raise ConfigurationError(f"{CONFIG_DIR_VARIABLE}: there is no file {path}")
    return [str(path)]


def parse(conf: cfg.ConfigOpts, argv: Sequence[str], files: list[str] | None = None) -> None:
    """Parse command line, files and environment.

    Raises ConfigurationError for a file that cannot be read and for a value that is not allowed.
    """
    try:
        conf(
            list(argv),
            project="placement",
            version=__version__,
            default_config_files=files,
            # A named directory stands alone: nothing of the machine's own is mixed into it.
            default_config_dirs=[] if files is not None else None,
        )
    except cfg.ConfigFilesNotFoundError as error:
        raise ConfigurationError(f"cannot read {', '.join(error.config_files)}") from None
    except (cfg.Error, OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(" ".join(str(error).split())) from None


def unknown_options(conf: cfg.ConfigOpts) -> Iterable[tuple[str, str, str]]:
    """Yield (file, group, name) of what is in the service's groups and is not an option of it."""
    names_by_group = {
        group: {opt.dest for opt in opts} | {opt.name for opt in opts}
        for group, opts in OPTIONS.items()
    }
    for path in _files_read(conf):
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(path, sections).parse()
        for group, names in sections.items():
            for name in names:
                if group in names_by_group and name not in names_by_group[group]:
                    yield path, group, name


def _files_read(conf: cfg.ConfigOpts) -> list[str]:
    files = list(conf.config_file or [])
    for directory in conf.config_dir or []:
        files += sorted(str(path) for path in Path(directory).glob("*.conf"))
    return files
