"""What the documentation shows of the service, made from the service while it is built.

References follow the declarations, examples are asked of a service in this process, and pictures
are drawn of cloud files. So nothing on these pages can be said that the code does not do.
"""

import logging
from typing import Any

from sphinx.application import Sphinx

from placement_docs import (
    api_reference,
    codes,
    drawings,
    parameters,
    rules,
    worked_examples,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives to Sphinx."""
    # A build has its own lines; of the service only complaints are among them.
    for name in ("placement", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for module in (
        api_reference,
        codes,
        drawings,
        parameters,
        rules,
        worked_examples,
    ):
        module.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
