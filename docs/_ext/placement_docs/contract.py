"""`.. contract-operations::`, `.. contract-schemas::`, `.. contract-errors::`: placement 2.0.

The contract is the OpenAPI document that the service returns at the newest version, the defaults of
the policy rules, and the table of error codes.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement.api.history import HISTORY
from placement.api.openapi import document
from placement.api.problems import STATUS
from placement.api.routes import OPERATIONS, Route
from placement.entry.generators import rules
from placement.errors import Invalid
from placement_docs import codes, members, text
from placement_docs.parameters import literal

Schema = Mapping[str, Any]

# The parameter of every operation, which the page describes only once.
MICROVERSION = "Microversion"
REF = "$ref"
ANY_KEY = members.ANY_KEY
_POLICY_RULE = re.compile(r"\s*Policy rule: `[^`]+`\.")  # the page lists all rules of an operation


@cache
def served() -> Mapping[str, Any]:
    """Return the document of the newest version."""
    parsed: Mapping[str, Any] = json.loads(document(max(HISTORY)))
    return parsed


def link(reference: str) -> str:
    """Return a link to a named schema of the document."""
    name = reference.rpartition("/")[2]
    return f":ref:`{name} <schema-{name}>`"


# -- operations -------------------------------------------------------------------------------


def operations() -> str:
    """Return a section for each resource, with its operations."""
    by_resource: dict[str, list[str]] = {}
    for path, methods in served()["paths"].items():
        for method, operation in methods.items():
            lines = _operation(f"{method.upper()} {path}", operation)
            by_resource.setdefault(operation["tags"][0], []).extend(lines)
    parts = [
        (text.heading(tag.replace("_", " ").capitalize(), "-"), *lines)
        for tag, lines in by_resource.items()
    ]
    return "\n".join(line for part in parts for line in part)


def _operation(name: str, operation: Mapping[str, Any]) -> Iterator[str]:
    label = operation["operationId"].replace("_", "-")
    yield f".. _contract-{label}:\n"
    yield text.heading(name, "~")
    yield literal(operation["summary"]) + ".\n"
    more = _POLICY_RULE.sub("", operation.get("description", "")).strip()
    if more:
        yield literal(more) + "\n"
    yield from _parameters(operation["parameters"])
    method, _, path = name.partition(" ")
    facts = [
        ("Body", _body(operation)),
        ("Responses", _successes(operation["responses"])),
        ("Errors", _failures(operation["responses"])),
        ("Policy", _policy(OPERATIONS[path][method].at(max(HISTORY)))),
        ("Example", f":ref:`{name} <operation-{label}>`"),
    ]
    yield _definitions((term, value) for term, value in facts if value)


def _definitions(facts: Iterable[tuple[str, str]]) -> str:
    rows = [f"   * - {term}\n     - {value}" for term, value in facts]
    return ".. list-table::\n   :widths: 14 86\n\n" + "\n".join(rows) + "\n"


def _parameters(parameters: Sequence[Schema]) -> Iterator[str]:
    rows = []
    for each in parameters:
        # The microversion is left out, and the path contains the other names.
        if REF in each or each["in"] == "path":
            continue
        name = f"``{each['name']}``" + (" *" if each.get("required") else "")
        about = literal(each.get("description", ""))
        rows.append((name, each["in"], values(each["schema"]), about))
    if rows:
        yield text.table(("Parameter", "In", "Values", "Meaning"), rows, (20, 8, 24, 48))


def _content(part: Mapping[str, Any]) -> str:
    (content,) = part["content"].values()
    return values(content["schema"])


def _body(operation: Mapping[str, Any]) -> str:
    return _content(operation["requestBody"]) if "requestBody" in operation else ""


def _successes(responses: Mapping[str, Mapping[str, Any]]) -> str:
    parts = []
    for status, response in responses.items():
        if REF in response:
            continue
        body = f": {_content(response)}" if "content" in response else ""
        headers = ", ".join(f"``{name}``" for name in response.get("headers", ()))
        parts.append(f"{status}{body}" + (f" (with {headers})" if headers else ""))
    return "; ".join(parts)


def _failures(responses: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(status for status, response in responses.items() if REF in response)


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


# -- schemas ----------------------------------------------------------------------------------


def schemas() -> str:
    """Return a section for each named schema, in the order of their names."""
    named = served()["components"]["schemas"]
    return "\n".join(
        line
        for name in sorted(named, key=str.lower)
        if name != MICROVERSION
        for line in _schema(name, named[name])
    )


def _schema(name: str, schema: Schema) -> Iterator[str]:
    yield f".. _schema-{name}:\n"
    yield text.heading(name, "~")
    if "description" in schema:
        yield literal(schema["description"]) + "\n"
    forms = schema.get("oneOf", [schema])
    if len(forms) > 1:
        yield f"One of {len(forms)} forms.\n"
    for form in forms:
        rows = list(_members(form, ""))
        if any(meaning for _member, _values, meaning in rows):
            yield text.table(("Member", "Values", "Meaning"), rows, (32, 34, 34))
        elif rows:
            yield text.table(("Member", "Values"), [row[:2] for row in rows], (44, 56))
        else:
            yield f"{values(form)}\n"


def _members(schema: Schema, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each member, and for the members of objects within that have no name."""
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        yield from _member(member, f"{path}.{name}".lstrip("."), name in required)
    within = schema.get("additionalProperties")
    if isinstance(within, Mapping):
        yield from _member(within, f"{path}.{ANY_KEY}".lstrip("."), False)
    if "items" in schema and REF not in schema["items"]:
        yield from _members(schema["items"], f"{path}[]")


def _member(schema: Schema, path: str, required: bool) -> Iterator[tuple[str, str, str]]:
    mark = " *" if required else ""
    yield f"``{path}``{mark}", values(schema), literal(schema.get("description", ""))
    if REF not in schema:
        yield from _members(schema, path)


def values(schema: Schema) -> str:
    """Return the values that a schema allows in words, with links to named schemas."""
    if REF in schema:
        return link(schema[REF])
    for forms in ("anyOf", "oneOf"):
        if forms in schema:
            return " or ".join(dict.fromkeys(values(form) for form in schema[forms]))
    within = schema.get("additionalProperties")
    if isinstance(within, Mapping) and REF in within:
        return f"object of {link(within[REF])}"
    if schema.get("type") == "array":
        return f"list of {values(schema.get('items', {}))}" + _lengths(schema)
    if "const" in schema:
        return f"``{json.dumps(schema['const'])}``"
    return members.values(schema)


def _lengths(schema: Schema) -> str:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if most is not None:
        return f", {least or 0} to {most:,}"
    return f", {least} or more" if least else ""


# -- errors -----------------------------------------------------------------------------------


def error_table() -> str:
    """Return the error codes with their statuses, and the action of a client."""
    rows = []
    for code in codes.codes():
        kinds = [kind for kind in codes.classes() if kind.code == code]
        statuses = sorted({codes.status_of(kind) for kind in kinds})
        named = " or ".join(map(str, statuses or [STATUS[Invalid]]))
        rows.append((f"``{code}``\n\nstatus {named}", codes.WHAT_TO_DO[code]))
    return text.table(("Code", "What to do"), rows, (48, 52))


class _Generated(SphinxDirective):
    """A part of the page, from a function without arguments."""

    def run(self) -> list[nodes.Node]:
        """Return its sections."""
        return self.parse_text_to_nodes(self.render(), allow_section_headings=True)

    def render(self) -> str:
        """Return the part as reStructuredText."""
        raise NotImplementedError


class ContractOperations(_Generated):
    """The operations."""

    render = staticmethod(operations)


class ContractSchemas(_Generated):
    """The named schemas."""

    render = staticmethod(schemas)


class ContractErrors(_Generated):
    """The codes of errors."""

    render = staticmethod(error_table)


def setup(app: Sphinx) -> None:
    """Add the directives."""
    app.add_directive("contract-operations", ContractOperations)
    app.add_directive("contract-schemas", ContractSchemas)
    app.add_directive("contract-errors", ContractErrors)
