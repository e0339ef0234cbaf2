"""The files of a release: `python -m tests.supply.distributions DIRECTORY`.

They are the sdist and the wheel of each distribution, a bill of materials of each, and their
hashes. A commit determines every byte: times are `SOURCE_DATE_EPOCH`, by default the time of the
commit, and owners, modes and the order of members are fixed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from placement import __version__
from tests.kit.packages import ROOT, build, copy_checkout, copy_client, unpack
from tests.supply import sbom

EPOCH = "SOURCE_DATE_EPOCH"
SUMS = "SHA256SUMS"


def commit_time() -> int:
    """Return `SOURCE_DATE_EPOCH`, or the time of the commit in seconds.

    Raises:
        ValueError: neither is known.
    """
    if EPOCH in os.environ:
        return int(os.environ[EPOCH])
    command = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"no commit here, whose time the files could have: set {EPOCH}")
    return int(done.stdout)


def repack(sdist: Path, epoch: int) -> None:
    """Replace an sdist by one of equal content whose bytes the content and the time determine."""
    content = io.BytesIO()
    with (
        tarfile.open(sdist) as old,
        tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime = epoch
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    with sdist.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as packed:
        packed.write(content.getvalue())


def build_both(source: Path, directory: Path, epoch: int) -> None:
    """Build the sdist of a project, and a wheel of that sdist."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for kind in ("sdist", "wheel"):
            (work / kind).mkdir()
        sdist = build("sdist", source, work / "sdist")
        repack(sdist, epoch)
        wheel = build("wheel", unpack(sdist, work), work / "wheel")
        for path in (sdist, wheel):
            path.replace(directory / path.name)


def write_all(directory: Path) -> Iterator[Path]:
    """Write all files of a release to an empty directory; yield their paths."""
    epoch = commit_time()
    os.environ[EPOCH] = str(epoch)
    os.umask(0o022)  # a wheel has the modes of the files that it was built of
    with tempfile.TemporaryDirectory() as name:
        build_both(copy_checkout(Path(name)), directory, epoch)
        build_both(copy_client(Path(name)), directory, epoch)
    for project in sbom.PROJECTS:
        text = json.dumps(sbom.describe(project, epoch), indent=1, sort_keys=True)
        (directory / f"{project.name}-{__version__}.cdx.json").write_text(f"{text}\n")
    files = sorted(directory.iterdir())
    sums = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (directory / SUMS).write_text("".join(sums))
    yield from files


def main(arguments: Sequence[str]) -> int:
    """Write the files of a release and print their sizes; return the exit code."""
    directory = Path(*arguments)
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        print(f"{directory} is not empty: nothing was written", file=sys.stderr)
        return 1
    try:
        for path in write_all(directory):
            print(f"{path.stat().st_size:>9,} bytes  {path}")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
