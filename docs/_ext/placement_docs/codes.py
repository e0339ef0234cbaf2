"""`.. error-codes::`, `.. statuses::`, `.. explanation-codes::`, `.. explanation-checks::`.

What codes mean, which the code says, and what to do after them.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement import errors
from placement.api.openapi import REASONS
from placement.api.problems import STATUS, title
from placement.candidates.explanation import CODES
from placement.candidates.trace import Refusal
from placement_docs import text

# Advice for callers about each code. A test compares the codes with the codes of the errors.
WHAT_TO_DO: Mapping[str, str] = {
    errors.UNDEFINED: "The status and ``detail`` say it all: do what the detail asks for. "
    "No retry helps before that.",
    errors.CONCURRENT_UPDATE: "Read again what the request was made of: the provider, its "
    "inventories or the consumer. Make the request anew with the generation that is there now, "
    "and send it. If a consumer was meant to be new, look whether it is your own, claimed by an "
    "earlier try.",
    errors.INVENTORY_IN_USE: "Move or delete the allocations of these classes first, or move "
    "inventory and allocations together with ``POST /reshaper``. ``GET "
    "/resource_providers/{uuid}/allocations`` names the consumers.",
    errors.DUPLICATE_NAME: "Choose another name or UUID. If the provider is your own, made by an "
    "earlier try, read it by its name and go on with it.",
    errors.PROVIDER_IN_USE: "Delete or move the allocations on the provider first; ``GET "
    "/resource_providers/{uuid}/allocations`` lists them.",
    errors.NO_CANDIDATES: "Nothing has room for the request now. The detail ends with the reason "
    "for callers who may ask for it; ``placement-manage explain`` has the numbers. Ask for less, "
    "or wait until something is released.",
    errors.CANNOT_DELETE_PARENT: "Delete the providers below it first, the deepest ones before "
    "the others; ``GET /resource_providers?in_tree={uuid}`` lists them.",
    errors.PROVIDER_NOT_FOUND: "Create the provider before the reshape: ``POST /reshaper`` makes "
    "none.",
    errors.QUERY_DUPLICATE_KEY: "Give the parameter once.",
    errors.QUERY_BAD_VALUE: "Correct the parameter that the detail names.",
    errors.QUERY_MISSING_VALUE: "Complete the parameter that the detail names.",
    errors.DATABASE_UNAVAILABLE: "Send the request again after ``Retry-After`` seconds.",
    errors.DATABASE_UNUSABLE: "Tell the operator: the log of the server says what the database "
    "refuses. No retry helps before that.",
    errors.OUTCOME_UNKNOWN: "Read what the request would have changed before sending it again.",
    errors.STATEMENT_TIMEOUT: "Ask for less, or have ``[placement_database] statement_timeout`` "
    "raised.",
    errors.SEARCH_EXHAUSTED: "Narrow the request, or have ``[placement] max_search_steps`` raised.",
    errors.REQUEST_DEADLINE: "Ask for less at once, or have ``[placement] request_deadline`` "
    "raised. Nothing was changed.",
    errors.CLAIM_CONTENTION: "Send the claim again: other claims were faster.",
    errors.TOO_MANY_BODIES: "Send the request again after ``Retry-After`` seconds.",
}

# What an operator checks after a code of an explanation.
WHAT_TO_CHECK: Mapping[Refusal, str] = {
    Refusal.NO_INVENTORY: "whether the agent of the hosts has reported, and under this class: "
    "``VCPU`` or ``PCPU``?",
    Refusal.CAPACITY: "``reserved`` and ``allocation_ratio``; which consumers hold it: "
    ":ref:`leaked allocations <leaked>`",
    Refusal.MAX_UNIT: "the flavor, or the host's ``max_unit``",
    Refusal.TRAIT_MISSING: "the provider that has the resources: traits do not pass to children",
    Refusal.NOT_IN_AGGREGATE: "whether the provider itself is a member; for a group with a suffix "
    "the root's aggregates do not count",
    Refusal.SAME_SUBTREE: "whether one group's provider is above the others; siblings need a group "
    "for what is above them",
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
    """Return every code; the codes of single errors precede the generic one."""
    names = {
        value
        for name, value in vars(errors).items()
        if name.isupper() and isinstance(value, str) and value.startswith("placement.")
    }
    return sorted(names, key=lambda code: (code == errors.UNDEFINED, code))


def status_of(kind: type[errors.PlacementError]) -> int:
    """Return the status that errors of a class have."""
    return next(STATUS[each] for each in kind.__mro__ if each in STATUS)


def error_codes() -> str:
    """Return a section for each code: the status, the errors that have it, and what to do."""
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
        return ["All other errors; most have this one."]
    summaries = [inspect.getdoc(kind) or "" for kind in kinds]
    lines = [" ".join(each.partition("\n\n")[0].split()) for each in summaries]
    return lines or ["A parameter of the query is wrong."]


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
    """Return what to check after the codes of explanations that most often occur."""
    rows = (
        (f"``{code.value}``: {code.meaning}", what_to_check)
        for code, what_to_check in WHAT_TO_CHECK.items()
    )
    return text.table(("It says", "Check"), rows, (45, 55))


class ErrorCodes(SphinxDirective):
    """The codes of errors."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(error_codes(), allow_section_headings=True)


class Statuses(SphinxDirective):
    """The statuses of answers."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(statuses())


class ExplanationCodes(SphinxDirective):
    """The codes of explanations."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(explanation_codes())


class ExplanationChecks(SphinxDirective):
    """What to check after the codes of explanations."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(explanation_checks())


def setup(app: Sphinx) -> None:
    """Add the directives."""
    app.add_directive("error-codes", ErrorCodes)
    app.add_directive("statuses", Statuses)
    app.add_directive("explanation-codes", ExplanationCodes)
    app.add_directive("explanation-checks", ExplanationChecks)
