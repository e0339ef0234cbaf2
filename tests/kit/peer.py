"""openstack-placement, in a separate virtualenv."""

import os
import subprocess
import venv
from pathlib import Path

PEER = (
    "openstack-placement==16.0.0", "cryptography", "gunicorn", "psycopg2-binary", "pymysql",
    "python-memcached",
)  # fmt: skip


def peer_environment() -> Path:
    """The virtualenv that `PLACEMENT_PEER` names; created if it is missing."""
    path = Path(os.environ["PLACEMENT_PEER"]).resolve()
    if not (path / "bin" / "gunicorn").exists():
        venv.create(path, with_pip=True)
        # The pins of this repository do not apply to it.
        outside = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
        install: list[str | Path] = [path / "bin" / "pip", "install", "--quiet", *PEER]
        subprocess.run(install, check=True, env=outside)
    return path
