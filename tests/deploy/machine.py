"""A root file system on top of this machine's. It is discarded at the end.

It is an overlay in a separate mount namespace, so nothing outside of it is changed. What runs there
has no rights, and shares the network with the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

USER = 10778  # the user of the image, which does not exist on this machine
PYTHON = Path(sys.base_prefix)

# The tests' own namespace does not see these mounts, and they end with the process.
MOUNTS = """
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --rbind /proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
for place in tmp run var/lib; do mount -t tmpfs none "$1/root/$place"; done
chmod 1777 "$1/root/tmp"
chmod 755 "$1/root/root"
echo ready
exec cat
"""

Environment = Mapping[str, str]


def is_possible() -> bool:
    """Return whether this machine allows separate mount namespaces."""
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("setpriv"):
        return False
    with tempfile.TemporaryDirectory() as directory:
        command = ["unshare", "--mount", "sh", "-ec", MOUNTS, "sh", directory]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode == 0


class Machine:
    """A root file system. `/tmp`, `/run` and `/var/lib` are empty."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.root = directory / "root"
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-ec", MOUNTS, "sh", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"ready\n"
        self._running: list[subprocess.Popen[bytes]] = []

    @property
    def _enter(self) -> list[str]:
        return ["/usr/bin/nsenter", f"--target={self._holder.pid}", "--mount"]

    def prepare(self, script: str, *arguments: str, stdin: IO[bytes] | None = None) -> None:
        """Run a shell script with all permissions in the root directory of the machine."""
        command = [*self._enter, "sh", "-ec", f'cd "$1"; shift; {script}', "sh", str(self.root)]
        subprocess.run([*command, *arguments], check=True, stdin=stdin)

    def put(self, path: str, text: str) -> None:
        """Write a file that every user can read."""
        script = 'mkdir -p "$(dirname ".$1")"; printf %s "$2" > ".$1"; chmod a+r ".$1"'
        self.prepare(script, path, text)

    def room(self, path: str) -> None:
        """Create a directory that only the user may write to."""
        script = f'mkdir -p ".$1"; mount -t tmpfs -o mode=700,uid={USER},gid={USER} none ".$1"'
        self.prepare(script, path)

    def copy_to(self, other: Machine, source: str, target: str) -> None:
        """Copy a directory to another machine."""
        command = [*self._enter, "tar", "-C", f"{self.root}{source}", "-cf", "-", "."]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as reading:
            other.prepare('mkdir -p ".$1"; tar -C ".$1" -xf -', target, stdin=reading.stdout)
        assert reading.returncode == 0

    def seal(self) -> None:
        """Make the root and all mounts read-only, except for /tmp and the directories of `room`."""
        self.prepare("mount -o remount,ro run; mount -o remount,ro var/lib; mount -o remount,ro .")

    def start(
        self,
        command: Sequence[str],
        environment: Environment,
        output: IO[bytes] | int | None = None,
        rights: Sequence[str] = ("--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"),
        stdin: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a program as the user, with only this environment."""
        process = subprocess.Popen(
            [
                *self._enter,
                "/usr/sbin/chroot",
                str(self.root),
                "/usr/bin/setpriv",
                f"--reuid={USER}",
                f"--regid={USER}",
                "--clear-groups",
                *rights,
                *command,
            ],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment},
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
        )
        self._running.append(process)
        return process

    def run(self, command: Sequence[str], environment: Environment) -> str:
        """Run a program that must succeed. Return its output."""
        process = self.start(command, environment, subprocess.PIPE)
        text = process.communicate()[0].decode()
        assert process.returncode == 0, text
        return text

    def close(self) -> None:
        """End all running programs, and discard all written files."""
        for process in self._running:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, 9)
                    process.wait()
        self._holder.communicate()
