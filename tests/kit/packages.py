"""Packages that are built from a checkout, such as sdists and wheels."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "falcon_placement_client"
BUILT_OF = (
    "pyproject.toml", "setup.cfg", "README.rst", "LICENSE", "placement", "migrations", "etc",
)  # fmt: skip


def copy_checkout(directory: Path) -> Path:
    """Copy the sources of the package, because a build leaves files; returns the directory."""
    for name in BUILT_OF:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, directory / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, directory)
    return directory


def copy_client(directory: Path) -> Path:
    """Copy the sources of the client, and of the service, which it links; returns the former."""
    ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    for package in (CLIENT, ROOT / "placement"):
        shutil.copytree(
            package, directory / package.name, symlinks=True, ignore=ignored, dirs_exist_ok=True
        )
    return directory / CLIENT.name


def unpack(sdist: Path, directory: Path) -> Path:
    """Extract an sdist; return the directory of its content."""
    with tarfile.open(sdist) as archive:
        # Python 3.11.2, of Debian 12, has no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        archive.extractall(directory)
    return directory / sdist.name.removesuffix(".tar.gz")


def build(kind: str, source: Path, directory: Path) -> Path:
    """Build an `sdist`, a `wheel` or an `editable` wheel with setuptools; returns its path."""
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(directory)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # A folder of data that is not listed as a package would be missing in later versions.
    assert "is absent from the `packages` configuration" not in done.stdout + done.stderr
    (path,) = directory.iterdir()
    return path
