"""How many more hosts would serve a request without one of its terms."""

from collections import Counter
from collections.abc import Sequence

from placement.candidates.explanation.evaluation import Evaluation
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.value import Relaxed
from placement.candidates.explanation.words import sentences


class Gains:
    """Counts the hosts that relaxations would add."""

    def __init__(self, explain_request: ExplainRequest) -> None:
        self._explain_request = explain_request
        # Index of a relaxation -> number of additional hosts that it would make serve the request.
        self._gains: Counter[int] = Counter()
        # The same for pairs of a relaxation and one that tolerates a taint.
        self._with_taint: Counter[tuple[int, int]] = Counter()
        # The same for traits that the roots of these hosts have.
        self._on_root: Counter[int] = Counter()

    def add(self, evaluation: Evaluation) -> None:
        """Count the hosts of an evaluation."""
        for index in evaluation.gains:
            self.add_to(index, evaluation.hosts)
            if self._explain_request.is_on_root(index, evaluation.masks):
                self._on_root[index] += evaluation.hosts
        for pair in evaluation.gains_with_taint:
            self._with_taint[pair] += evaluation.hosts

    def add_to(self, index: int, hosts: int = 1) -> None:
        """Count hosts for a relaxation, given by its index."""
        self._gains[index] += hosts

    def relaxed(self, served: int) -> Sequence[Relaxed]:
        """Return the relaxations with the hosts that would serve, the most hosts first.

        Args:
            served: Number of hosts that serve the request.
        """
        relaxations = self._explain_request.relaxations
        gains = sorted(self._gains.items(), key=lambda item: (-item[1], item[0]))
        return [Relaxed(relaxations[index].term, served + hosts) for index, hosts in gains]

    def relaxed_with_taint(self, served: int) -> Sequence[Relaxed]:
        """Return the same for hosts without a taint.

        The numbers of hosts are only right if no single relaxation would serve more hosts.
        """
        relaxations = self._explain_request.relaxations
        return [
            Relaxed(relaxations[index].term, served + hosts, taint=relaxations[taint].term)
            for (index, taint), hosts in self._with_taint.most_common()
        ]

    def suggestions(self) -> Sequence[str]:
        """Return a sentence about the trait that could be required of the root instead, if any.

        The number of hosts is only right if no host serves the request.
        """
        relaxations = self._explain_request.relaxations
        return [
            sentences.root_required(relaxations[index].term, hosts)
            for index, hosts in self._on_root.most_common(1)
        ]
