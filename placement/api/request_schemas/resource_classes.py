"""Bodies of resource classes."""

from placement.api.bodies import CUSTOM_NAME, closed
from placement.api.json_body import Schema
from placement.api.versioned import Versioned

NAMED = Schema(closed({"name": CUSTOM_NAME}))

CREATE = Versioned({"1.2": NAMED})
RENAME = Versioned({"1.2": NAMED})
