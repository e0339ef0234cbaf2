"""Known vulnerabilities of locked packages: `python -m tests.supply.audit pip-audit`.

pip-audit also reports "no known vulnerabilities" if the index returned no data. Here, packages that
were not audited are listed. This is an error only with `AUDIT=required` in the environment, because
the gate must succeed without a network.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tests.supply import locked

SECONDS = 300
SHOWN = 5  # maximum number of names of packages that were not audited


def judge(document: Mapping[str, Any]) -> tuple[int, int, list[str]]:
    """Return how many were audited, how many not, and a line for each vulnerability."""
    dependencies = document["dependencies"]
    skipped = [each["name"] for each in dependencies if "skip_reason" in each]
    lines = [
        f"{each['name']} {each['version']}: {vulnerability['id']}, "
        f"fixed in {', '.join(vulnerability['fix_versions']) or 'no version yet'}"
        for each in dependencies
        for vulnerability in each.get("vulns", ())
    ]
    return len(dependencies) - len(skipped), len(skipped), lines


def audit(program: str) -> Mapping[str, Any] | str:
    """Run pip-audit; return its findings, or the reason for its failure."""
    files = (locked.DEVELOPMENT, locked.MYSQLCLIENT, locked.UWSGI)
    command = [
        program, *(f"--requirement={path}" for path in files),
        "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except OSError as error:
        return f"{program} cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"no answer in {SECONDS} seconds"
    try:
        document: Mapping[str, Any] = json.loads(done.stdout)
    except ValueError:
        return (done.stderr.strip().splitlines() or ["no answer"])[-1][:200]
    return document


def main(arguments: Sequence[str]) -> int:
    """Print what is known; return 1 for a vulnerability, or for an audit that is missing."""
    document = audit(*arguments)
    if isinstance(document, str):
        return _not_done(f"all of them: {document}")
    audited, skipped, vulnerabilities = judge(document)
    for line in vulnerabilities:
        print(line)
    print(f"audited: {audited} distributions, {len(vulnerabilities)} known vulnerabilities")
    if vulnerabilities:
        return 1
    return _not_done(f"{skipped} distributions, of which the index tells nothing") if skipped else 0


def _not_done(what: str) -> int:
    print(f"NOT AUDITED: {what}")
    return int(os.environ.get("AUDIT") == "required")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
