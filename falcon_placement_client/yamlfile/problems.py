"""The problems of a file, with their lines and keys."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Step = str | int
Steps = tuple[Step, ...]  # keys and indexes from the root of a document to a value

MAX_PROBLEMS_SHOWN = 20

_PLAIN_KEY = re.compile(r"[\w-]+\Z")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a file."""

    # Line number, starting at 1, or 0 if the problem has no line.
    line: int
    # Path of the value or key.
    path: str
    # Description of the problem, without line and path.
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class UnusableFile(Exception):
    """A file cannot be used. The error contains all problems of the file, sorted by line.

    The text has a line for each problem, such as `cloud.yaml:12: providers[3].count: 0 is less than
    the minimum of 1`, for at most MAX_PROBLEMS_SHOWN problems.
    """

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        # Name of the file.
        self.source = source
        # The problems without duplicates, ordered by line, path and text.
        self.problems = tuple(
            sorted(set(problems), key=lambda problem: (problem.line, problem.path, problem.text))
        )
        super().__init__("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        for problem in self.problems[:MAX_PROBLEMS_SHOWN]:
            where = f"{self.source}:{problem.line}" if problem.line else self.source
            yield f"{where}: {problem}"
        more = len(self.problems) - MAX_PROBLEMS_SHOWN
        if more > 0:
            yield f"{self.source}: and {more} more"


def render_path(steps: Iterable[Step]) -> str:
    """Return the path of steps, such as `providers[3].inventories.VCPU`."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.match(step):
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text


def shown(value: object) -> str:
    """Return a value as in the file, but abbreviated and on one line."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"
