"""`.. contract-schemas::`, `.. contract-errors::`: schemas and error codes of placement 2.0."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement.api.history import HISTORY
from placement.api.openapi import document
from placement.api.problems import STATUS
from placement.errors import Invalid
from placement_docs import codes, text
from placement_docs.parameters import literal

Schema = Mapping[str, Any]

# The parameter of every operation, which is described only once.
MICROVERSION = "Microversion"
REF = "$ref"
ANY_KEY = "{…}"


@cache
def served() -> Mapping[str, Any]:
    """Return the document of the newest version."""
    parsed: Mapping[str, Any] = json.loads(document(max(HISTORY)))
    return parsed


def link(reference: str) -> str:
    """Return a link to a named schema of the document."""
    name = reference.rpartition("/")[2]
    return f":ref:`{name} <schema-{name}>`"


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
    yield text.heading(name, "=")
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
    if "enum" in schema:
        return " or ".join(f"``{value}``" for value in schema["enum"])
    kinds = schema.get("type", "any")
    return (kinds if isinstance(kinds, str) else " or ".join(kinds)) + _bounds(schema)


def _lengths(schema: Schema) -> str:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if most is not None:
        return f", {least or 0} to {most:,}"
    return f", {least} or more" if least else ""


def _bounds(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f", {least:,} to {most:,}"
    if least is not None:
        return f", {least:,} or more"
    if "maxLength" in schema:
        return f" of {schema['maxLength']} characters at the most"
    return ""


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


class ContractSchemas(_Generated):
    """The named schemas."""

    render = staticmethod(schemas)


class ContractErrors(_Generated):
    """The codes of errors."""

    render = staticmethod(error_table)


def setup(app: Sphinx) -> None:
    """Add the directives."""
    app.add_directive("contract-schemas", ContractSchemas)
    app.add_directive("contract-errors", ContractErrors)
