"""How many hosts remain after each condition, for each group and for all groups together."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from placement.candidates.explanation.causes import Rejection
from placement.candidates.explanation.evaluation import Evaluation
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.value import Step
from placement.candidates.explanation.words.clauses import Words
from placement.candidates.explanation.words.phrases import values_of
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.trace import Refusal


class StepCounts:
    """Counts rejected hosts by the condition at which a group loses its last provider."""

    def __init__(self, explain_request: ExplainRequest) -> None:
        self._explain_request = explain_request
        # Suffix, or None if the root is rejected -> code -> number of hosts.
        self._by_group: dict[str | None, Counter[Refusal]] = {
            suffix: Counter() for suffix in (None, *explain_request.groups)
        }
        # (suffix, code) -> the terms that rejected hosts.
        self._terms: dict[tuple[str | None, Refusal], dict[StatedTerm, None]] = {}
        # Code -> number of hosts whose groups fit only separately.
        self._together: Counter[Refusal] = Counter()

    def add(self, evaluation: Evaluation) -> None:
        """Count the hosts of an evaluation, which are rejected."""
        first = evaluation.rejections[0]
        # If the root is rejected, no provider can serve any group.
        by_group: dict[str | None, Sequence[Rejection]] = dict(evaluation.by_group.items())
        if first.group is None and first.cause.terms:
            by_group = {None: evaluation.rejections}
        for suffix, rejections in by_group.items():
            self._by_group[suffix][rejections[0].code] += evaluation.hosts
            for each in rejections:
                terms = self._terms.setdefault((suffix, each.code), {})
                terms.update(dict.fromkeys(each.cause.terms))
        if not by_group:
            self._together[first.code] += evaluation.hosts

    def groups(self, looked: int) -> Mapping[str, Sequence[Step]]:
        """Return the steps of each group; `looked` is the number of evaluated hosts."""
        return {
            suffix: list(self._steps(suffix, looked)) for suffix in self._explain_request.groups
        }

    def _steps(self, suffix: str, before: int) -> Iterator[Step]:
        for code in self._explain_request.codes_of(suffix):
            after = before
            rejecting: dict[StatedTerm, None] = {}
            for part in (None, suffix):
                after -= self._by_group[part][code]
                rejecting |= self._terms.get((part, code), {})
            # The terms that rejected hosts, in the order of the request. If no term rejected a
            # host, all terms of the code.
            terms = self._explain_request.terms_of(suffix, code)
            detail = values_of([term for term in terms if term in rejecting] or terms)
            yield Step(code, detail, before, after)
            before = after

    def together(self, served: int, words: Words) -> Sequence[Step]:
        """Return the steps of the conditions that join groups.

        Args:
            served: Number of hosts that serve the request.
            words: Returns the requirement of a code.
        """
        steps = []
        before = served + self._together.total()
        codes = list(self._explain_request.joining_codes)
        if self._together[Refusal.BUDGET]:
            codes.append(Refusal.BUDGET)
        for code in codes:
            after = before - self._together[code]
            steps.append(Step(code, words.requirement(code), before, after))
            before = after
        return steps
