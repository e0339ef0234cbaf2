"""`.. worked-example::` shows a request of a gabbit and its expected candidates.

The tests run the gabbits, so the service returns these candidates.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement_docs import service, text
from tests.api import gabbi_tables
from tests.api.gabbi_fixtures import provider_names

GABBITS = service.ROOT / "gabbits"
METHODS = ("GET", "POST", "PUT")
SAFE = ":,!"  # characters that are readable and allowed in a query


@dataclass(frozen=True)
class Example:
    """One request of a gabbit, as a client sends it.

    candidates: the lines that say what must be answered; None where something else must. names:
    UUIDs that the request has -> what the cloud calls them.
    """

    version: str
    request: str
    body: Any
    candidates: tuple[str, ...] | None
    names: Mapping[str, str] = field(default_factory=dict)


def example(gabbit: Path, name: str) -> Example:
    """Return the example in a test of a gabbit. Raises LookupError if there is none."""
    suite = gabbi_tables.load(gabbit)
    defaults = suite.get("defaults", {}).get("request_headers", {})
    for test in suite["tests"]:
        if test["name"] == name:
            found = _example(test, defaults)
            names = _names(suite.get("fixtures", ()))
            asked = f"{found.request} {found.body}"
            return replace(
                found, names={uuid: each for uuid, each in names.items() if uuid in asked}
            )
    raise LookupError(f"{gabbit.name} has no test {name!r}")


def _names(fixtures: Iterable[str]) -> dict[str, str]:
    """Return the names of UUIDs in the clouds of fixtures."""
    names: dict[str, str] = {}
    for path in (GABBITS / "clouds").glob("*.yaml"):
        if fixture_of(path) in fixtures:
            cloud = yaml.safe_load(path.read_text())
            names |= {uuid: name for name, uuid in cloud.get("aggregates", {}).items()}
            names |= provider_names(path)
    return names


def fixture_of(cloud: Path) -> str:
    """Return the name by which gabbits refer to a cloud."""
    return "".join(word.capitalize() for word in cloud.stem.split("-")) + "Cloud"


def _example(test: Mapping[str, Any], defaults: Mapping[str, str]) -> Example:
    method = next(each for each in METHODS if each in test)
    header = gabbi_tables.VERSION_HEADER
    headers = {**defaults, **test.get("request_headers", {})}
    parameters = test.get("query_parameters")
    query = f"?{urlencode(parameters, doseq=True, safe=SAFE)}" if parameters else ""
    lines = test.get("response_candidates")
    return Example(
        gabbi_tables.spoken_version(headers[header]),
        f"{method} {test[method]}{query}",
        test.get("data"),
        None if lines is None else tuple(lines),
    )


def shown(asked: Example) -> str:
    """Return an example as reStructuredText."""
    request = asked.request.replace("?", "\n    ?", 1).replace("&", "\n    &")
    if asked.body is not None:
        request += "\n\n" + service.pretty(json.loads(json.dumps(asked.body)))
    parts = [text.block("text", request, f"Request, at {asked.version}")]
    if asked.names:
        legend = (f"``{uuid}`` is {name}" for uuid, name in asked.names.items())
        parts.append(f"{', '.join(legend)}.\n")
    if asked.candidates is not None:
        parts.append(_answer(asked.candidates))
    return "\n".join(parts)


def _answer(candidates: Iterable[str]) -> str:
    lines = list(candidates)
    if not lines:
        return "Answer: no candidate.\n"
    rows = [_row(number, line) for number, line in enumerate(lines, 1)]
    with_groups = any(row[2] for row in rows)
    columns = ("\\", "Allocations", "Provider of each group")
    count = f"{len(lines)} candidates" if len(lines) > 1 else "one candidate"
    kept = rows if with_groups else [row[:2] for row in rows]
    widths = (6, 54, 40) if with_groups else (6, 94)
    return f"Answer: {count}.\n\n" + text.table(columns[: len(widths)], kept, widths)


def _row(number: int, line: str) -> tuple[str, str, str]:
    """Return the cells of a candidate: `NUMA0{VCPU:1} + FPGA0{FPGA:1} | _CPU=NUMA0`."""
    taken, _, groups = line.partition(" | ")
    parts = []
    for part in taken.split(" + "):
        provider, _, amounts = part.strip().partition("{")
        listed = amounts.rstrip("}").replace(",", ", ").replace(":", " ")
        parts.append(f"**{provider}** {listed}")
    served = []
    for group in groups.split():
        suffix, _, providers = group.partition("=")
        name = suffix.strip('"')
        label = f"``{name}``" if name else "the group without suffix"
        served.append(f"{label}: {providers.replace(',', ', ')}")
    return f"{number}", " + ".join(parts), "\n\n".join(served)


class WorkedExample(SphinxDirective):
    """A test of a gabbit: its file without ending, and its name as content of `:test:`."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"test": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return request and response."""
        path = GABBITS / f"{self.arguments[0]}.yaml"
        self.env.note_dependency(str(path))
        try:
            found = example(path, " ".join(self.options["test"].split()))
        except (LookupError, OSError) as error:
            raise self.error(str(error)) from error
        return self.parse_text_to_nodes(shown(found))


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("worked-example", WorkedExample)
