"""`.. error-codes::`, `.. statuses::`, `.. explanation-codes::`, `.. explanation-checks::`.

The meaning of each code, from the code of the service, and the action to take.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement import errors
from placement.api.openapi import REASONS
from placement.api.problems import STATUS, title
from placement.candidates.model import Refusal
from placement.foresight.explanation import CODES
from placement_docs import text

# The action for each error code. A test compares the keys with the codes of the errors.
WHAT_TO_DO: Mapping[str, str] = {
    errors.UNDEFINED: "Follow the ``detail``. A retry does not help before that.",
    errors.CONCURRENT_UPDATE: "Read the provider, its inventories or the consumer again, and send "
    "the request with the current generation. If the consumer should be new, check whether an "
    "earlier attempt has created it.",
    errors.INVENTORY_IN_USE: "Move or delete the allocations of these classes first, or move "
    "inventory and allocations together with ``POST /reshaper``. ``GET "
    "/resource_providers/{uuid}/allocations`` names the consumers.",
    errors.DUPLICATE_NAME: "Choose another name or UUID. If an earlier attempt has created the "
    "provider, read it by its name and continue.",
    errors.PROVIDER_IN_USE: "Delete or move the allocations on the provider first; ``GET "
    "/resource_providers/{uuid}/allocations`` lists them.",
    errors.NO_CANDIDATES: "No host can serve the request now. For callers that may request "
    "explanations the detail ends with the reason; ``placement-manage explain`` prints numbers. "
    "Reduce the request, or wait for a release.",
    errors.HOLD_LIMIT: "Release or confirm holds of the project, or ask for a shorter hold. "
    "``[placement] max_holds_per_project`` and ``max_hold_age`` are the limits.",
    errors.HOLD_EXPIRED: "Send a claim with a ``request``: the hold was released, confirmed or "
    "changed by another client.",
    errors.CANNOT_DELETE_PARENT: "Delete the providers below it first, the deepest ones before "
    "the others; ``GET /resource_providers?in_tree={uuid}`` lists them.",
    errors.PROVIDER_NOT_FOUND: "Create the provider before the reshape: ``POST /reshaper`` does "
    "not create providers.",
    errors.QUERY_DUPLICATE_KEY: "Give the parameter once.",
    errors.QUERY_BAD_VALUE: "Correct the parameter that the detail names.",
    errors.QUERY_MISSING_VALUE: "Complete the parameter that the detail names.",
    errors.CURSOR_EXPIRED: "Take a new cursor with ``GET /changes``, list the resource providers, "
    "and follow the new cursor. Never list before taking the cursor.",
    errors.DATABASE_UNAVAILABLE: "Send the request again after ``Retry-After`` seconds.",
    errors.DATABASE_UNUSABLE: "Inform the operator: the log of the server contains the refusal of "
    "the database. A retry does not help before that.",
    errors.OUTCOME_UNKNOWN: "Read the objects of the request before sending it again.",
    errors.STATEMENT_TIMEOUT: "Reduce the request, or raise ``[placement_database] "
    "statement_timeout``.",
    errors.SEARCH_EXHAUSTED: "Narrow the request, or raise ``[placement] max_search_steps``.",
    errors.REQUEST_DEADLINE: "Reduce the request, or raise ``[placement] request_deadline``. "
    "Nothing was changed.",
    errors.CLAIM_CONTENTION: "Send the claim again: concurrent claims have won.",
    errors.LARGE_WORK_BUSY: "Send the request again after ``Retry-After`` seconds.",
}

# Checks for operators, by the code of an explanation.
WHAT_TO_CHECK: Mapping[Refusal, str] = {
    Refusal.NO_INVENTORY: "whether the agents have reported, and the same class: ``VCPU`` or "
    "``PCPU``?",
    Refusal.CAPACITY: "``reserved`` and ``allocation_ratio``; the consumers: "
    ":ref:`leaked allocations <leaked>`",
    Refusal.MAX_UNIT: "the flavor, or the host's ``max_unit``",
    Refusal.TRAIT_MISSING: "the provider of the resources: children do not inherit traits",
    Refusal.NOT_IN_AGGREGATE: "whether the provider itself is a member; for a group with a suffix "
    "aggregates of the root do not count",
    Refusal.SAME_SUBTREE: "whether the provider of one group is the ancestor of the others; "
    "siblings need a group for their parent",
}


def classes() -> Iterator[type[errors.PlacementError]]:
    """Return every class of errors that a client may see."""
    waiting = [errors.PlacementError]
    while waiting:
        kind = waiting.pop(0)
        subclasses = kind.__subclasses__()
        waiting += subclasses
        if kind is not errors.PlacementError and kind not in STATUS:
            yield kind


def codes() -> list[str]:
    """Return every code; the undefined code is the last."""
    names = {
        value
        for name, value in vars(errors).items()
        if name.isupper() and isinstance(value, str) and value.startswith("placement.")
    }
    return sorted(names, key=lambda code: (code == errors.UNDEFINED, code))


def status_of(kind: type[errors.PlacementError]) -> int:
    """Return the status of a class of errors."""
    return next(STATUS[each] for each in kind.__mro__ if each in STATUS)


def error_codes() -> str:
    """Return a section for each code: the status, its errors, and the action."""
    return "\n".join(line for code in codes() for line in _section(code))


def _section(code: str) -> Iterator[str]:
    kinds = [kind for kind in classes() if kind.code == code]
    statuses = sorted({status_of(kind) for kind in kinds}) or [STATUS[errors.Invalid]]
    yield text.heading(code, "~")
    yield f"**Status**: {', '.join(f'{status} {title(status)}' for status in statuses)}\n"
    yield "**When**:\n"
    for meaning in _meanings(code, kinds):
        yield f"* {meaning}"
    yield f"\n**What to do**: {WHAT_TO_DO[code]}\n"


def _meanings(code: str, kinds: Iterable[type[errors.PlacementError]]) -> list[str]:
    if code == errors.UNDEFINED:
        return ["All other errors; most errors have this code."]
    summaries = [inspect.getdoc(kind) or "" for kind in kinds]
    lines = [" ".join(each.partition("\n\n")[0].split()) for each in summaries]
    return lines or ["An invalid parameter of the query."]


def statuses() -> str:
    """Return all statuses with their meaning."""
    rows = ((f"{status} {title(status)}", _literal(meaning)) for status, meaning in REASONS.items())
    return text.table(("Status", "Meaning"), rows, (30, 70))


def _literal(sentence: str) -> str:
    return sentence.replace("`", "``")


def explanation_codes() -> str:
    """Return the codes of explanations with their meaning."""
    rows = ((f"``{code.value}``", f"{code.meaning}.") for code in CODES)
    return text.table(("Code", "Meaning"), rows, (30, 70))


def explanation_checks() -> str:
    """Return the checks for the most frequent codes of explanations."""
    rows = (
        (f"``{code.value}``: {code.meaning}", what_to_check)
        for code, what_to_check in WHAT_TO_CHECK.items()
    )
    return text.table(("Reason", "Check"), rows, (45, 55))


class ErrorCodes(SphinxDirective):
    """The codes of errors."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(error_codes(), allow_section_headings=True)


class Statuses(SphinxDirective):
    """The statuses of responses."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(statuses())


class ExplanationCodes(SphinxDirective):
    """The codes of explanations."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(explanation_codes())


class ExplanationChecks(SphinxDirective):
    """The checks for codes of explanations."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(explanation_checks())


def setup(app: Sphinx) -> None:
    """Add the directives."""
    app.add_directive("error-codes", ErrorCodes)
    app.add_directive("statuses", Statuses)
    app.add_directive("explanation-codes", ExplanationCodes)
    app.add_directive("explanation-checks", ExplanationChecks)
