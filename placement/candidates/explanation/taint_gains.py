"""Hosts that would be served by the sharing providers of a tree with a taint.

A verdict knows the sharing providers that a host may use. If a taint were tolerated, it might use
others as well; then the request without the taint is put to the search.
"""

from placement.candidates.explanation.profiles import Verdict
from placement.candidates.explanation.question import Question
from placement.candidates.explanation.split_verdicts import Variant
from placement.candidates.explanation.tally import Tally
from placement.candidates.explanation.verdicts import Judge
from placement.candidates.model import Pool, Tree
from placement.candidates.terms import Untainted, of_kind
from placement.candidates.trace import Refusal
from placement.candidates.trees.scan import AnchorReader


class TaintGains:
    """Counts these hosts, by the relaxation that tolerates the taint."""

    def __init__(self, question: Question, judge: Judge, reader: AnchorReader) -> None:
        """reader: of the anchors; it has read the sharing providers."""
        self._judge = judge
        names = [term.name for term in of_kind(question.request.root, Untainted)]
        pools = {name: reader.pools_tolerating(name) for name in names}
        # Place of the relaxation, the request without the taint, and what makes its pools.
        self._relaxed = [
            (place, Variant(relaxation.without()), pool_of)
            for place, relaxation in enumerate(question.relaxations)
            if relaxation.term.code is Refusal.TAINTED
            and (pool_of := pools[str(relaxation.term.value)]) is not None
        ]

    def add(self, tree: Tree, pool: Pool, verdict: Verdict, tally: Tally) -> None:
        """Look at a host.  Raises BudgetSpentError."""
        if not verdict.falls:
            return
        for place, variant, pool_of in self._relaxed:
            if place in verdict.gains:
                continue
            wider = pool_of(tree)
            if wider.reached == pool.reached:
                continue
            serves = variant.serves(wider, self._judge)
            if serves is None:
                tally.undecided += 1
            elif serves:
                tally.gain(place)
