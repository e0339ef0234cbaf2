"""`python -m tests.soak`: runs for hours what the gate only runs in small numbers.

They run one after the other on each installed engine, or on the engines in `PLACEMENT_ENGINES`. The
seed determines random examples, hostile requests and the actions of writers. Without `--seed` it is
random. It is printed at the start, and with each run that fails.
"""

import argparse
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.__main__ import chosen
from tests.kit.engines import SERVERS


@dataclass(frozen=True)
class LongRun:
    """Tests that try more if variables of the environment say so."""

    # By which `--only` chooses it.
    name: str
    # Folders and files.
    tests: Sequence[str]
    # The run and its size; "{seed}" is replaced by the seed.
    environment: Mapping[str, str]
    # Engines on which it differs from a run on another one; empty: all.
    engines: Sequence[str] = field(default=())


LONG_RUNS: Sequence[LongRun] = (
    LongRun("races", ["tests/cluster/test_race.py"],
            {"PLACEMENT_RACES": "200", "PLACEMENT_PROCESSES": "2,4,8"}),
    LongRun("holds", ["tests/api/test_holds.py"], {"PLACEMENT_RACES": "1000"}),
    LongRun("repairs", ["tests/cluster/test_repairs.py"], {"PLACEMENT_REPAIRS": "1000"}),
    LongRun("followers", ["tests/cluster/test_followers.py"],
            {"PLACEMENT_FOLLOWERS": "1000", "PLACEMENT_FOLLOWERS_SEED": "{seed}"}),
    LongRun("faults", ["tests/cluster/test_faults.py"], {"PLACEMENT_FAULTS": "10"}),
    LongRun("torn", ["tests/cluster/test_torn_views.py"],
            {"PLACEMENT_TORN": "8000,5000"}, ["mariadb"]),
    LongRun("histories", ["tests/cluster/test_histories.py"],
            {"PLACEMENT_HISTORIES": "3600", "PLACEMENT_HISTORIES_SEED": "{seed}"}, list(SERVERS)),
    LongRun("failovers", ["tests/cluster/test_failover.py"],
            {"PLACEMENT_FAILOVERS": "60", "PLACEMENT_FAILOVERS_SEED": "{seed}"}, list(SERVERS)),
    LongRun("schedules", ["tests/schedules"], {"PLACEMENT_SCHEDULES": "all"}, list(SERVERS)),
    LongRun("pooled", ["tests/db/test_pooled_connections.py"],
            {"PLACEMENT_POOLED": "1000"}, list(SERVERS)),
    LongRun("growth", ["tests/cluster/test_memory.py"],
            {"PLACEMENT_GROWTH": "100000", "PLACEMENT_GROWTH_SEED": "{seed}"}),
    LongRun("updates", ["tests/cluster/test_rolling_update.py"],
            {"PLACEMENT_UPDATES": "10"}, list(SERVERS)),
    LongRun("cold", ["tests/cluster/test_cold_start.py"], {"PLACEMENT_COLD_HOSTS": "10000"}),
    LongRun("stops", ["tests/cluster/test_serving.py"], {"PLACEMENT_STOPS": "30"}, ["sqlite"]),
    LongRun("sessions", ["tests/deploy/test_kept_sessions.py"],
            {"PLACEMENT_SESSIONS": "2000"}, ["sqlite"]),
    LongRun("charsets", ["tests/db/test_charsets.py"],
            {"PLACEMENT_CHARSETS": "90", "PLACEMENT_CHARSETS_SEED": "{seed}"}, ["mariadb"]),
    LongRun("examples", ["tests/properties", "tests/api/test_dump_cloud.py",
                         "tests/api/test_etags.py", "tests/api/test_report_client.py"],
            {"PLACEMENT_EXAMPLES": "10", "PLACEMENT_SEED": "{seed}"}),
    LongRun("requests", ["tests/fuzz"],
            {"PLACEMENT_FUZZ": "100000", "PLACEMENT_FUZZ_SEED": "{seed}"}),
    LongRun("walk", ["tests/api/test_openapi.py"], {"PLACEMENT_WALK": "300"}),
)  # fmt: skip


def commands(
    seed: int, engines: Sequence[str], only: Sequence[str]
) -> Iterator[tuple[Mapping[str, str], list[str]]]:
    """Yield the variables and the arguments of Python for each run."""
    for run in LONG_RUNS:
        if only and run.name not in only:
            continue
        for engine in engines:
            if run.engines and engine not in run.engines:
                continue
            stated = {name: value.format(seed=seed) for name, value in run.environment.items()}
            arguments = ["-m", "pytest", *run.tests]
            arguments += ["--hypothesis-profile=exploring", f"--hypothesis-seed={seed}"]
            yield {"PLACEMENT_ENGINE": engine, **stated}, arguments


def main(arguments: Sequence[str]) -> int:
    """Run the tests; return the number of failed runs."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 10**6))
    parser.add_argument(
        "--only", action="append", default=[], choices=[run.name for run in LONG_RUNS]
    )
    parser.add_argument("--dry-run", action="store_true", help="print the commands only")
    options = parser.parse_args(arguments)
    engines = chosen()
    print(f"seed {options.seed}; again: make soak SEED={options.seed}", flush=True)
    failed = []
    for environment, command in commands(options.seed, engines, options.only):
        variables = " ".join(f"{name}={value}" for name, value in environment.items())
        shown = f"{variables} python {shlex.join(command)}"
        print(f"\n===== {shown}", flush=True)
        if options.dry_run:
            continue
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, *command], env={**os.environ, **environment}, check=False
        )
        print(f"{time.monotonic() - began:.0f} s", flush=True)
        if done.returncode:
            failed.append(shown)
    print(f"\nseed {options.seed}: {len(failed)} failed", *failed, sep="\n")
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
