"""`.. query-parameters::`: the parameters of an operation, from their declarations."""

import re
from collections.abc import Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement.api.parameters import Parameter
from placement.api.routes import ROUTES
from placement_docs import text


def parameters_of(operation: str) -> Mapping[str, Parameter]:
    """Return the parameters of an operation at its newest version."""
    return [route for route in ROUTES if route.operation == operation][-1].parameters or {}


def parameter_table(operation: str) -> str:
    """Return the parameters of an operation: name, first version, meaning."""
    rows = [
        (
            f"``{name}``" + (f", ``{name}_X``" if parameter.suffixed else ""),
            parameter.since,
            literal(parameter.about) + ("  Required." if parameter.required else ""),
        )
        for name, parameter in parameters_of(operation).items()
    ]
    return text.table(("Parameter", "Since", "Meaning"), rows, (22, 8, 70))


def literal(sentence: str) -> str:
    """Return a sentence of a declaration as reStructuredText: `x` and prefixes are literal.

    A prefix is a word such as CUSTOM_, which would otherwise be a reference.
    """
    return re.sub(r"(?<![`\w])(\w+_)(?!\w)", r"``\1``", sentence.replace("`", "``"))


class QueryParameters(SphinxDirective):
    """The parameters of one operation, which is named by its id."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes(parameter_table(self.arguments[0]))


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("query-parameters", QueryParameters)
