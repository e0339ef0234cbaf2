"""The WSGI entry that deployment tools name: `placement.wsgi.api:application`."""

import sys

from placement.app import serve
from placement.config import fail
from placement.errors import ConfigurationError

try:
    application = serve()
except ConfigurationError as error:
    fail(error)
    sys.exit(1)
