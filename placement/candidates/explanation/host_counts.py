"""The totals of an explanation. Their size does not depend on the number of hosts."""

from collections.abc import Collection, Hashable, Mapping, Sequence

from placement.candidates.explanation.causes import Rejection
from placement.candidates.explanation.evaluation import Evaluation, HostClass
from placement.candidates.explanation.extremes import measures
from placement.candidates.explanation.features import FeatureCounts
from placement.candidates.explanation.gains import Gains
from placement.candidates.explanation.host_evaluator import HostEvaluator
from placement.candidates.explanation.named_hosts import NamedHosts
from placement.candidates.explanation.rejected_hosts import (
    MAX_EXAMPLES,
    CauseHosts,
    RejectedHosts,
    measure_host,
)
from placement.candidates.explanation.steps import StepCounts
from placement.candidates.explanation.together import SumCauses
from placement.candidates.explanation.value import Blocked, Step
from placement.candidates.explanation.words import sentences
from placement.candidates.explanation.words.clauses import Words
from placement.candidates.explanation.words.facts import Names
from placement.candidates.model import Pool
from placement.candidates.trace import Refusal

# Code and suffix of a step.
Key = tuple[Refusal, str | None]

# Maximum number of evaluations in memory.
MAX_EVALUATIONS = 10_000


class HostCounts:
    """Counts hosts by result, code and cause."""

    def __init__(self, evaluator: HostEvaluator) -> None:
        explain_request = evaluator.explain_request
        # Number of evaluated hosts.
        self.looked = 0
        # Number of hosts that can serve the request.
        self.served = 0
        # Number of evaluated trees that only share, and of those that can serve the request.
        self.sharing_trees = self.serving_trees = 0
        # Number of hosts and relaxations without a result.
        self.undecided = 0
        # The rejected hosts that the text mentions apart.
        self._named = NamedHosts(explain_request)
        # The request for which the hosts are evaluated.
        self._explain_request = explain_request
        self._evaluator = evaluator
        # Finds the cause if sums do not fit. None if parts may be the cause.
        self._sums = None if explain_request.joins.plan.splittable else SumCauses(evaluator.solver)
        self.name({})
        # Key of equal hosts -> their evaluation, which is computed only once.
        self._evaluations: dict[Hashable, Evaluation] = {}
        self._kept = 0  # number of evaluations, including variants
        # The rejected hosts by condition.
        self._steps = StepCounts(explain_request)
        # The hosts that relaxations would add.
        self.gains = Gains(explain_request)
        # (code, suffix) -> the hosts rejected at this step.
        self._rejected: dict[Key, RejectedHosts] = {}
        # The same for the rejections that the text states.
        self._stated: dict[Key, RejectedHosts] = {}
        # The hosts by the properties that they do not have.
        self._features = FeatureCounts(explain_request.features)

    def add(self, pool: Pool) -> Evaluation:
        """Evaluate and count a host, or a tree that only shares resources.

        Args:
            pool: The providers of the host.

        Returns:
            The evaluation of its class.

        Raises:
            BudgetSpentError: The limit on work was reached, and the host is not counted.
        """
        anchor = pool.anchor
        assert anchor is not None
        root = self._explain_request.root
        mask = root.root_mask(anchor.members[0]) if root.terms else 0
        host_class = self._evaluator.classify(pool, mask)
        if not host_class.masks:
            host_class = host_class._replace(lacking=self._explain_request.unserved(pool))
        evaluation = self._evaluations.get(host_class) or self._evaluate_class(host_class, pool)
        if evaluation.has_variants:
            evaluation = self._variant_of(evaluation, pool)
        if anchor.is_pool:
            self.sharing_trees += 1
            self.serving_trees += not evaluation.rejections
            return evaluation
        self.looked += 1
        evaluation.hosts += 1
        if not evaluation.rejections:
            return evaluation
        self._named.add(pool, evaluation)
        if len(evaluation.examples) < MAX_EXAMPLES:
            evaluation.examples.append(anchor.uuid)
        measure_host(evaluation, pool)
        return evaluation

    def _evaluate_class(self, host_class: HostClass, pool: Pool) -> Evaluation:
        """Evaluate a class of hosts."""
        evaluation = self._evaluator.evaluate(host_class, pool)
        if self._kept >= MAX_EVALUATIONS:
            self._fold()
        self._kept += 1
        self._evaluations[host_class] = evaluation
        evaluation.measures = list(measures(evaluation.all_rejections))
        if self._sums is not None and evaluation.rejections:
            evaluation.has_variants = evaluation.stated[0].code is Refusal.CAPACITY_SUM
        return evaluation

    def _variant_of(self, evaluation: Evaluation, pool: Pool) -> Evaluation:
        """Return the evaluation of a host whose groups fit only separately, with its cause."""
        assert self._sums is not None
        key = self._sums.key(pool)
        variant = evaluation.variants.get(key)
        if variant is None:
            variant = evaluation.variants[key] = evaluation.variant(
                self._sums.find_rejection(pool, evaluation)
            )
            variant.measures = list(measures(variant.all_rejections))
            self._kept += 1
        return variant

    def _fold(self) -> None:
        """Add the evaluations to the totals, and delete them."""
        for evaluation in self._evaluations.values():
            for each in (evaluation, *evaluation.variants.values()):
                self._count(each)
        self._evaluations.clear()
        self._kept = 0

    def _count(self, evaluation: Evaluation) -> None:
        hosts = evaluation.hosts
        if not hosts:
            return
        tainted = evaluation.rejections[:1] and evaluation.rejections[0].code is Refusal.TAINTED
        self._features.add(evaluation.lacking, hosts, tainted=bool(tainted))
        self.undecided += evaluation.undecided * hosts
        if not evaluation.rejections:
            self.served += hosts
            return
        self._steps.add(evaluation)
        self.gains.add(evaluation)
        _add(self._rejected, evaluation, evaluation.rejections)
        # The values of clauses are those of the hosts that the clauses count.
        if hosts > evaluation.mentioned_apart:
            _add(self._stated, evaluation, evaluation.stated)

    # -- results -------------------------------------------------------------------------------

    def end(self) -> Collection[str]:
        """Compute the totals, and return the UUIDs of providers whose names the text contains."""
        self._fold()
        steps = [*self._rejected.values(), *self._stated.values()]
        return set(self._named.uuids).union(*(rejected.uuids for rejected in steps))

    def name(self, names: Names) -> None:
        """Set the names of providers, which replace their UUIDs in the text."""
        self._words = Words(self._explain_request.joins.plan, names)

    def conflict(self) -> str:
        """Return a sentence about two properties that no host has together, or an empty text."""
        conflict = self._features.conflict()
        return "" if conflict is None else sentences.conflict(*conflict)

    def groups(self) -> Mapping[str, Sequence[Step]]:
        """Return the steps of each group."""
        return self._steps.groups(self.looked)

    def together(self) -> Sequence[Step]:
        """Return the steps of the conditions that join groups."""
        return self._steps.together(self.served, self._words)

    def blocked(self) -> Sequence[Blocked]:
        """Return the rejected hosts by step. Steps with the most hosts come first."""
        return [
            Blocked(
                code,
                group,
                self._words.detail(code, hosts.by_causes()),
                hosts.hosts,
                hosts.examples,
            )
            for (code, group), hosts in _sorted(self._rejected)
        ]

    def reasons(self, conflict: str) -> Sequence[str]:
        """Return sentences about the reasons why hosts are rejected.

        Args:
            conflict: A sentence about two properties that no host has together, or empty.
        """
        if conflict and not self._named.are_named:
            return [conflict]
        stated: list[tuple[Refusal, CauseHosts]] = []
        for (code, _group), rejected in _sorted(self._stated):
            stated += [(code, each) for each in rejected.by_causes(apart=False)]
        named = self._named.clauses(self._words, others=bool(stated))
        text = "; ".join([*named, *self._words.clauses(stated)])
        return [f"{text[0].upper()}{text[1:]}."] if text else []


def _add(
    steps: dict[Key, RejectedHosts], evaluation: Evaluation, rejections: Sequence[Rejection]
) -> None:
    key = rejections[0].code, rejections[0].group
    if key not in steps:
        steps[key] = RejectedHosts(key[0])
    steps[key].add(evaluation, rejections)


def _sorted(steps: Mapping[Key, RejectedHosts]) -> list[tuple[Key, RejectedHosts]]:
    """Return steps in the order of their numbers of hosts, the most first, then of their codes."""
    order = list(Refusal)
    return sorted(steps.items(), key=lambda item: (-item[1].hosts, order.index(item[0][0])))
