"""Directives that generate pages from the service during the build.

References are generated from declarations, examples are requests to a service in the same process,
and pictures are drawn from cloud files. The pages therefore match the code.
"""

import logging
from typing import Any

from sphinx.application import Sphinx

from placement_docs import (
    actors,
    api_reference,
    codes,
    commands,
    contract,
    drawings,
    parameters,
    rules,
    worked_examples,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives to Sphinx."""
    # The build prints its own progress; of the service, only warnings are shown.
    for name in ("placement", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for module in (
        actors,
        api_reference,
        codes,
        commands,
        contract,
        drawings,
        parameters,
        rules,
        worked_examples,
    ):
        module.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
