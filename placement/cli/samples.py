"""The command `placement-manage samples`, which writes configurations and deployment files.

The files are installed with the service, as data of the package `placement.samples`.
"""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from oslo_config import cfg

from placement.errors import ConfigurationError

# Files and directories. In a source tree, the package contains more files.
CONTENTS = (
    "placement.conf",
    "placement/placement.conf.sample",
    "placement/policy.yaml.sample",
    "gunicorn.conf.py",
    "constraints.txt",
    "deploy",
    "grafana-dashboard.json",
    "prometheus-rules.yaml",
    "demo-cloud.yaml",
    "reshape-cloud.yaml",
    "reshape",
)

# Files for passwords. Only their owner can write them, and only its group can read them.
SECRETS = frozenset(
    ("placement.conf", "placement.conf.sample", "deploy/kubernetes/secret.example.yaml")
)


def set_up(parser: Any) -> None:
    parser.description = (
        "The files are for systemd, proxies, containers and Kubernetes, with constraints for pip, "
        "alerts and cloud files. The directory must be new or empty."
    )
    parser.set_defaults(action=_write)
    parser.add_argument("directory", metavar="DIR", help="directory to write the files to")


def _write(conf: cfg.ConfigOpts) -> int:
    """Write the files. Raises ConfigurationError if a file cannot be written."""
    directory = Path(conf.category.directory)
    samples = dict(list_samples())
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise ConfigurationError(f"{directory} is not empty: nothing was written")
        for name, source in samples.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o640 if name in SECRETS else 0o666)
            path.write_bytes(source.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: cannot write: {error.strerror}") from None
    print(f"{len(samples)} files in {directory}")
    return 0


def list_samples() -> Iterator[tuple[str, Traversable]]:
    """Yield the relative path and the content of each sample file."""
    package = files("placement.samples")
    for path in CONTENTS:
        yield from _files(path.rpartition("/")[2], package / path)


def _files(path: str, entry: Traversable) -> Iterator[tuple[str, Traversable]]:
    if not entry.is_dir():
        yield path, entry
        return
    for below in sorted(entry.iterdir(), key=lambda each: each.name):
        if below.name != "__pycache__":
            yield from _files(f"{path}/{below.name}", below)
