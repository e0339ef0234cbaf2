"""Directives that generate pages from the service during the build.

References are generated from declarations, examples are requests to a service in the same process,
and pictures are drawn from cloud files. The pages therefore match the code.
"""

import logging
from typing import Any

from sphinx.application import Sphinx

from placement_docs import (
    actors,
    codes,
    commands,
    contract,
    drawings,
    metrics,
    operations,
    parameters,
    rules,
    worked_examples,
)


def _separate_types(
    _app: Sphinx, what: str, _name: str, _value: object, _options: object, lines: list[str]
) -> None:
    """Give the comment of a field an empty type.

    Otherwise, napoleon takes the text before the first colon for the type.
    """
    if what == "attribute" and lines:
        lines[0] = f": {lines[0]}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives to Sphinx."""
    # The build prints its own progress; of the service, only warnings are shown. Slow requests are
    # left out, because they depend on the machine.
    for name in ("placement", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("placement.requestlog").setLevel(logging.ERROR)
    for module in (
        actors,
        codes,
        commands,
        contract,
        drawings,
        metrics,
        operations,
        parameters,
        rules,
        worked_examples,
    ):
        module.setup(app)
    before_napoleon = 100
    app.connect("autodoc-process-docstring", _separate_types, before_napoleon)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
