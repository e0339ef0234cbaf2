"""`.. api-reference::`: every declared operation, with a request and its response."""

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
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
from placement.api.problems import title
from placement.api.routes import OPERATIONS, Route
from placement_docs import service, text
from placement_docs.members import body_members
from placement_docs.parameters import literal

EXAMPLES = Path(__file__).parents[2] / "api-examples.yaml"
NEWEST = max(HISTORY)
LONGEST = 40  # lines of a response to show


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


def operations() -> Iterator[Route]:
    """Return every operation at the newest version."""
    for methods in OPERATIONS.values():
        for routes in methods.values():
            yield routes.at(NEWEST)


def reference() -> str:
    """Return the reference: a section for each noun, a part for each operation."""
    by_noun: dict[str, list[Route]] = {}
    for route in operations():
        noun = route.handler.__module__.rpartition(".")[2]
        by_noun.setdefault(noun, []).append(route)
    return "\n".join(line for noun, routes in by_noun.items() for line in _section(noun, routes))


def _section(noun: str, routes: Iterable[Route]) -> Iterator[str]:
    yield text.heading(noun.replace("_", " ").capitalize(), "-")
    for route in routes:
        yield from _operation(route)


def _operation(route: Route) -> Iterator[str]:
    yield f".. _operation-{route.operation.replace('_', '-')}:\n"
    yield text.heading(f"{route.method} {route.path}", "~")
    about = inspect.getdoc(route.handler) or ""
    yield literal(about) + "\n"
    yield from _facts(route)
    if route.parameters:
        yield "Parameters of the query:\n"
        yield text.table(
            ("Parameter", "Since", "Meaning"),
            [
                (f"``{name}``", parameter.since, literal(parameter.about))
                for name, parameter in route.parameters.items()
            ],
            (20, 10, 70),
        )
    if route.body_schema is not None:
        schema = route.body_schema.at(NEWEST).schema
        yield "Members of the body:\n"
        yield text.table(("Member", "Values"), list(body_members(schema)), (54, 46))
    exchange = exchanges()[route.operation]
    asked = exchange.request
    if exchange.body is not None:
        asked = f"{asked}\n\n{service.pretty(exchange.body)}"
    yield text.block("text", asked, "Request")
    yield text.block("text", exchange.answer, "Answer")


def _facts(route: Route) -> Iterator[str]:
    first, *later = [str(each.since) for each in _versions(route)]
    changed = f", changed at {', '.join(later)}" if later else ""
    rule = "no token needed" if route.rule is None else f"rule ``{route.rule}``"
    others = "".join(f" (``{other}`` for some requests)" for other in route.asks)
    statuses = ", ".join(f"{status} {title(status)}" for status in route.response.statuses)
    yield f"Since {first}{changed} · {rule}{others} · {statuses}\n"


def _versions(route: Route) -> Iterable[Route]:
    return [each for _since, each in OPERATIONS[route.path][route.method].entries]


class ApiReference(SphinxDirective):
    """All operations."""

    def run(self) -> list[nodes.Node]:
        """Return their sections."""
        self.env.note_dependency(str(EXAMPLES))
        return self.parse_text_to_nodes(reference(), allow_section_headings=True)


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("api-reference", ApiReference)
