"""The WSGI entry point `placement.wsgi.api:application` for deployment tools."""

import gc
import logging
import sys

from placement.entry.app import serve
from placement.entry.console import fail
from placement.errors import ConfigurationError
from placement.wsgi import memory

LOG = logging.getLogger(__name__)

memory.share_one_arena()  # before the first thread is started
try:
    application = serve()
except ConfigurationError as error:
    fail(error)
    sys.exit(1)

memory.freeze()
# PERF: collect young garbage less often, because responses consist of many small objects without
# cycles. Older garbage is collected soon, because SQLAlchemy's statements consist of cycles.
gc.set_threshold(50_000, 2, 2)


def reload() -> None:
    """Read placement.conf again, for workers that are forked afterwards.

    If the configuration or the database cannot be used, log this, and keep the application as it
    is.
    """
    try:
        application.become(serve(patience=0))
    except ConfigurationError as error:
        fail(ConfigurationError(f"not reloaded, the service continues unchanged: {error}"))
    except Exception:
        LOG.exception("not reloaded, the service continues unchanged")
    else:
        memory.freeze()
