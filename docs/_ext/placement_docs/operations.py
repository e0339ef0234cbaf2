"""`.. operations:: NOUN…`, `.. operations-index::`: the operations of placement 2.0.

The pages contain what the OpenAPI document and the policy rules state of an operation, its earlier
forms, and a request with its response.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import requests
import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement.api.history import HISTORY
from placement.api.routes import OPERATIONS, Route
from placement.entry.generators import rules
from placement_docs import contract, service, text
from placement_docs.parameters import literal

EXAMPLES = Path(__file__).parents[2] / "api-examples.yaml"
NEWEST = max(HISTORY)
LONGEST = 40  # lines of a response to show
_POLICY_RULE = re.compile(r"\s*Policy rule: `[^`]+`\.")  # the page lists all rules of an operation

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Exchange:
    """A request and its response."""

    # Method and path.
    request: str
    # The JSON body, or None without one.
    body: Any
    # Status line, headers and body.
    answer: str
    # Status, and the body: JSON, or None without one.
    status: int
    content: Any


@cache
def exchanges() -> Mapping[str, Exchange]:
    """Send all requests in the file of examples, in order. Return them by operation.

    Raises RuntimeError if a response is an error.
    """
    script = yaml.safe_load(EXAMPLES.read_text())
    made: dict[str, Exchange] = {}
    with service.service(service.ROOT / script["cloud"]) as asked:
        for step in script["requests"]:
            method, _, path = step["ask"].partition(" ")
            answer = asked.send(method, path, step.get("body"), str(NEWEST))
            if answer.status_code >= 400:
                raise RuntimeError(f"{EXAMPLES.name}: {step['ask']}: {answer.text}")
            if "operation" in step:
                made[step["operation"]] = Exchange(
                    step["ask"],
                    step.get("body"),
                    _shown(answer).replace(asked.url, ""),
                    answer.status_code,
                    answer.json() if answer.text else None,
                )
    return made


def _shown(answer: requests.Response) -> str:
    lines = [f"HTTP/1.1 {answer.status_code} {answer.reason}"]
    if "location" in answer.headers:
        lines.append(f"Location: {answer.headers['location']}")
    if "etag" in answer.headers:
        lines.append('ETag: W/"…"')  # different each time
    if answer.text:
        body = service.pretty(json.loads(answer.text)).splitlines()
        if len(body) > LONGEST:
            body = [*body[:LONGEST], f"… and {len(body) - LONGEST} more lines"]
        lines += ["", *body]
    return "\n".join(lines)


@dataclass(frozen=True)
class Operation:
    """An operation at the newest version."""

    # Method and path.
    name: str
    # The module of its handler.
    noun: str
    # As the OpenAPI document describes it.
    facts: Facts
    # Its forms, from the earliest to the newest.
    routes: tuple[Route, ...]

    @property
    def newest(self) -> Route:
        """The form at the newest version."""
        return self.routes[-1]

    @property
    def label(self) -> str:
        """The name of its section in references."""
        return f"operation-{self.facts['operationId'].replace('_', '-')}"


@cache
def operations() -> tuple[Operation, ...]:
    """Return every operation at the newest version."""
    return tuple(
        Operation(
            f"{method.upper()} {path}",
            facts["tags"][0],
            facts,
            tuple(route for _since, route in OPERATIONS[path][method.upper()].entries),
        )
        for path, methods in contract.served()["paths"].items()
        for method, facts in methods.items()
    )


def index() -> str:
    """Return a table of all operations with links to their sections."""
    rows = [
        (f":ref:`{each.name} <{each.label}>`", literal(each.facts["summary"]))
        for each in operations()
    ]
    return text.table(("Operation", "Meaning"), rows)


def sections(nouns: tuple[str, ...]) -> str:
    """Return a section for each operation of nouns."""
    chosen = [each for each in operations() if each.noun in nouns]
    return "\n".join(line for each in chosen for line in _section(each))


def _section(operation: Operation) -> Iterator[str]:
    facts = operation.facts
    yield f".. _{operation.label}:\n"
    yield text.heading(operation.name, "=")
    yield literal(facts["summary"]) + ".\n"
    more = _POLICY_RULE.sub("", facts.get("description", "")).strip()
    if more:
        yield literal(more) + "\n"
    yield from _parameters(operation)
    first, *later = (str(route.since) for route in operation.routes)
    rows = [
        ("Body", _body(facts)),
        ("Responses", _successes(facts["responses"])),
        ("Errors", _failures(facts["responses"])),
        ("Policy", _policy(operation.newest)),
        ("Since", first + (f", changed at {', '.join(later)}" if later else "")),
    ]
    lines = [f"   * - {term}\n     - {value}" for term, value in rows if value]
    yield ".. list-table::\n   :widths: 14 86\n\n" + "\n".join(lines) + "\n"
    exchange = exchanges()[operation.newest.operation]
    asked = exchange.request
    if exchange.body is not None:
        asked = f"{asked}\n\n{service.pretty(exchange.body)}"
    yield text.block("text", asked, "Request")
    yield text.block("text", exchange.answer, "Response")


def _parameters(operation: Operation) -> Iterator[str]:
    rows = []
    declared = operation.newest.parameters or {}
    for each in operation.facts["parameters"]:
        # The microversion is left out, and the path contains the other names.
        if contract.REF in each or each["in"] == "path":
            continue
        name = each["name"]
        since = declared[name].since if name in declared else ""
        mark = " *" if each.get("required") else ""
        about = literal(each.get("description", ""))
        rows.append(
            (f"``{name}``{mark}", each["in"], since, contract.values(each["schema"]), about)
        )
    if rows:
        columns = ("Parameter", "In", "Since", "Values", "Meaning")
        yield text.table(columns, rows, (20, 8, 7, 23, 42))


def _content(part: Facts) -> str:
    (content,) = part["content"].values()
    return contract.values(content["schema"])


def _body(facts: Facts) -> str:
    return _content(facts["requestBody"]) if "requestBody" in facts else ""


def _successes(responses: Mapping[str, Facts]) -> str:
    parts = []
    for status, response in responses.items():
        if contract.REF in response:
            continue
        body = f": {_content(response)}" if "content" in response else ""
        headers = ", ".join(f"``{name}``" for name in response.get("headers", ()))
        parts.append(f"{status}{body}" + (f" (with {headers})" if headers else ""))
    return "; ".join(parts)


def _failures(responses: Mapping[str, Facts]) -> str:
    return ", ".join(status for status, response in responses.items() if contract.REF in response)


def _policy(route: Route) -> str:
    if route.rule is None:
        return "no token needed"
    others = [_rule(rule) + ", for some requests" for rule in route.asks]
    others += [
        f"``include={part}``: {_rule(rule)}" for part, rule in (route.part_rules or {}).items()
    ]
    return "\n\n       ".join([_rule(route.rule), *others])


def _rule(name: str) -> str:
    return f"``{name}`` (``{_defaults()[name]}``)"


@cache
def _defaults() -> Mapping[str, str]:
    return {rule.name: rule.check_str for rule in rules()}


class Operations(SphinxDirective):
    """The operations of some nouns."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return their sections."""
        self.env.note_dependency(str(EXAMPLES))
        nouns = tuple(self.arguments[0].split())
        return self.parse_text_to_nodes(sections(nouns), allow_section_headings=True)


class OperationsIndex(SphinxDirective):
    """The list of all operations."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(index())


def setup(app: Sphinx) -> None:
    """Add the directives."""
    app.add_directive("operations", Operations)
    app.add_directive("operations-index", OperationsIndex)
