"""Files of `requirements/locked`: distributions with hashes of their files, from `make lock`.

`pip install --require-hashes --no-deps --requirement` installs what was locked, or nothing.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements"
CONSTRAINTS = REQUIREMENTS / "constraints.txt"
LOCKED = REQUIREMENTS / "locked"
SERVICE = LOCKED / "service.txt"  # all that the service may need, whichever the engine
DEVELOPMENT = LOCKED / "development.txt"  # that, and what tests, lints and measures it
CLIENT = LOCKED / "client.txt"  # what the client needs without a service
# Installed by name only: they have to be built, and their licences restrict redistribution.
MYSQLCLIENT = LOCKED / "mysqlclient.txt"
UWSGI = LOCKED / "uwsgi.txt"
# Release of OpenStack -> its pins of what is installed here; the oldest first.
OPENSTACK = {path.stem: path for path in sorted((REQUIREMENTS / "openstack").glob("*.txt"))}

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)( *;)?", re.MULTILINE)
_HASHED = re.compile(r"^([A-Za-z0-9._-]+)==.*\\\n {4}--hash=sha256:[0-9a-f]{64}\b", re.MULTILINE)


def pins(path: Path) -> Mapping[str, str]:
    """Return the versions that a file pins, by normalised name."""
    return {canonicalize_name(name): version for name, version, _ in _PIN.findall(path.read_text())}


def conditional(path: Path) -> frozenset[str]:
    """Return the names that only some systems or versions of Python need."""
    return frozenset(
        canonicalize_name(name)
        for name, _, condition in _PIN.findall(path.read_text())
        if condition
    )


def hashed(path: Path) -> frozenset[str]:
    """Return the names that have a hash."""
    return frozenset(canonicalize_name(name) for name in _HASHED.findall(path.read_text()))
