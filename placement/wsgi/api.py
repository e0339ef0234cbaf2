"""The WSGI entry point `placement.wsgi.api:application` for deployment tools."""

import gc
import sys

from placement.app import serve
from placement.console import fail
from placement.errors import ConfigurationError
from placement.wsgi import memory

memory.share_one_arena()  # before the first thread is started
try:
    application = serve()
except ConfigurationError as error:
    fail(error)
    sys.exit(1)

memory.freeze()
# PERF: collect garbage less often, because responses consist of many small objects without cycles.
gc.set_threshold(50_000, 20, 50)
