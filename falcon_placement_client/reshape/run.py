"""Apply a transformation to all trees of a service: first the survey, then the writes."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from falcon_placement_client.progress import Progress
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.report import ReportClient
from falcon_placement_client.reshape.draft import Draft, Misfit, usage
from falcon_placement_client.reshape.reshapefile import Give, Move, Rename, Step, Transformation
from falcon_placement_client.reshape.steps import affects, transform
from falcon_placement_client.rest import RestApi, retry
from falcon_placement_client.tree_difference import ProviderAdded
from falcon_placement_client.vocabulary import CUSTOM_PREFIX

if TYPE_CHECKING:
    # PERF: commands that do not need an adapter start faster without this import.
    from keystoneauth1.adapter import Adapter

PAGE = 1_000  # providers in one request
PAUSES = (0, 0)  # seconds before retries after conflicts with concurrent writers
MAX_COMPLAINTS = 20

Sums = dict[tuple[str, str], tuple[int, int, int]]


class ReshapeTally:
    """Sums over all transformed trees, by class, for roots and for providers below them."""

    def __init__(self) -> None:
        # Number of transformed trees.
        self.trees = 0
        # (class, place) -> providers with an inventory of the class, their totals and usage.
        self._before: Sums = defaultdict(lambda: (0, 0, 0))
        self._after: Sums = defaultdict(lambda: (0, 0, 0))

    def add(self, draft: Draft) -> None:
        """Add a transformed tree."""
        self.trees += 1
        used = usage(draft.records)
        for provider in draft.own:
            _add(self._after, provider, used[provider.uuid])
            if old := draft.base.find(provider.uuid):
                _add(self._before, old, draft.used_before[provider.uuid])

    def rows(self) -> Iterator[tuple[str, str, tuple[int, int], tuple[int, int], tuple[int, int]]]:
        """Yield class, place, and values before and after, for those that change.

        The values are the numbers of providers, the sums of the totals and of the usage.
        """
        for key in sorted({**self._before, **self._after}):
            before, after = self._before[key], self._after[key]
            if before != after:
                providers, total, used = zip(before, after, strict=True)
                yield (*key, providers, total, used)


def _add(sums: Sums, provider: ProviderData, used: Counter[str]) -> None:
    place = "roots" if provider.parent_uuid is None else "below roots"
    for name, record in provider.inventory.items():
        providers, total, units = sums[name, place]
        sums[name, place] = providers + 1, total + record.total, units + used[name]


@dataclass(slots=True)
class Survey:
    """The expected result of a transformation."""

    tally: ReshapeTally = field(default_factory=ReshapeTally)
    # One line for each problem, with the file and the line of the step. At most MAX_COMPLAINTS
    # lines.
    complaints: list[str] = field(default_factory=list)
    misfits: int = 0


class Reshape:
    """A transformation of the trees of one service.

    The adapter provides access to the REST API of the service.
    """

    def __init__(self, adapter: "Adapter", transformation: Transformation) -> None:
        # Client for single requests, and for lists in pages.
        self._api = RestApi(adapter)
        # Client for whole trees.
        self._client = ReportClient(adapter)
        self._transformation = transformation

    def survey(self, progress: Progress) -> Survey:
        """Transform every tree without writing. Return the expected result.

        `progress` shows the progress.
        """
        survey = Survey()
        survey.complaints += self._unknown_names()
        if survey.complaints:
            return survey
        with progress(self._roots(), "trees", self._count_roots()) as roots:
            for root in roots:
                try:
                    draft = self._draft(root)
                    if draft is not None:
                        self._check_names(draft)
                        survey.tally.add(draft)
                except Misfit as misfit:
                    survey.misfits += 1
                    if len(survey.complaints) < MAX_COMPLAINTS:
                        survey.complaints.append(f"{self._where(misfit.line)}: {misfit}")
        return survey

    def run(self, progress: Progress) -> int:
        """Write every tree that changes. Return the number of these trees.

        Each tree is written in one transaction of the service. After an interruption, the next run
        continues with the remaining trees.

        Raises:
            Misfit, ClientError: a tree cannot be written; the run stops.
        """
        written = 0
        with progress(self._roots(), "trees", self._count_roots()) as roots:
            for root in roots:
                written += self._write(root)
        return written

    def _write(self, root: str) -> bool:
        def write() -> bool:
            draft = self._draft(root)
            if draft is None:
                return False
            self._client.update_from_provider_tree(draft.tree, draft.written)
            return True

        return retry(write, PAUSES)

    def _draft(self, root: str) -> Draft | None:
        """Return a transformed tree, or None if the tree does not change. Raises Misfit."""
        tree = self._client.get_provider_tree(root)
        # Do not read the consumers of trees that are not affected or have already been written.
        # These are most of the trees.
        providers = map(tree.data, tree.get_provider_uuids(root)) if len(tree) else ()
        steps = self._transformation.steps
        if not any(affects(step, each) for each in providers for step in steps):
            return None
        draft = Draft(tree, self._client.get_allocations_for_provider_tree(root))
        transform(draft, self._transformation)
        return draft if draft.has_changed() else None

    def _check_names(self, draft: Draft) -> None:
        """Raise Misfit if a new provider would have the name of an existing provider."""
        for change in draft.tree.changes():
            if isinstance(change, ProviderAdded):
                for other in self._api.pages(f"name={quote(change.name)}"):
                    raise Misfit(change.name, f"this name belongs to provider {other['uuid']}")

    def _unknown_names(self) -> Iterator[str]:
        """Yield a line for each name that does not exist and that cannot be created."""
        entries = self._api.get("/resource_classes")["resource_classes"]
        classes = {entry["name"] for entry in entries}
        traits = set(self._api.get("/traits")["traits"])
        for step in self._transformation.steps:
            old_classes, new_classes, new_traits = _names(step)
            unknown_classes = sorted(old_classes - classes) + _cannot_create(new_classes, classes)
            complaint = f"{self._where(step.line)}: the service knows no"
            for name in unknown_classes:
                yield f"{complaint} resource class {name}"
            for name in _cannot_create(new_traits, traits):
                yield f"{complaint} trait {name}"

    def _where(self, line: int | None) -> str:
        source = self._transformation.source
        return source if line is None else f"{source}:{line}"

    def _roots(self) -> Iterator[str]:
        """Yield the UUIDs of all roots in order. Other clients may create children concurrently."""
        for entry in self._api.pages(f"limit={PAGE}"):
            if entry["parent_provider_uuid"] is None:
                yield entry["uuid"]

    def _count_roots(self) -> int:
        return sum(1 for _ in self._roots())


def _names(step: Step) -> tuple[set[str], set[str], frozenset[str]]:
    """Return the classes that a step reads, the classes that it writes, and its traits."""
    match step:
        case Give():
            return set(), set(), step.traits
        case Rename():
            return set(step.names), set(step.names.values()), frozenset()
        case Move():
            traits = frozenset[str]().union(*(child.traits for child in step.children))
            return set(step.classes), set(), traits


def _cannot_create(names: Collection[str], existing: Collection[str]) -> list[str]:
    """Return the names that do not exist and cannot be created."""
    return [
        name for name in sorted(names) if not (name in existing or name.startswith(CUSTOM_PREFIX))
    ]
