"""What bounds an answer: how many candidates it may have, and how long its text may grow."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Self

from placement.candidates.request import CandidateRequest
from placement.candidates.search.candidate import Candidate
from placement.config import CandidateSettings

MAX_CANDIDATES = "max_allocation_candidates"
MAX_ANSWER_SIZE = "max_answer_size"


@dataclass(frozen=True, slots=True)
class Limit:
    """How many candidates an answer may have, by which option; None: the request says so."""

    count: int
    option: str | None

    @classmethod
    def of(cls, request: CandidateRequest, settings: CandidateSettings, longest: int) -> Self:
        """longest: bytes that a candidate's text has at the most."""
        by_size = max(1, settings.max_answer_size // longest)
        bounds = (
            cls(request.limit, None) if request.limit is not None else None,
            cls(settings.maximum, MAX_CANDIDATES) if settings.maximum is not None else None,
            cls(by_size, MAX_ANSWER_SIZE),
        )
        # Of equal ones the first counts.
        return min((bound for bound in bounds if bound is not None), key=attrgetter("count"))


class Text:
    """Ends answers before their text grows too long, where candidates differ in size.

    cut: the answer was ended.
    """

    def __init__(self, most: int) -> None:
        self.cut = False
        self._most = most

    def within(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Yield candidates as long as all of them have room; at least one."""
        size = 0
        for candidate in candidates:
            longest = candidate.longest_text
            if size and size + longest > self._most:
                self.cut = True
                return
            size += longest
            yield candidate
