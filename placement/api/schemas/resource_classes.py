"""Bodies of resource classes (contract resources.md section 3)."""

from placement.api.body import Schema
from placement.api.schemas.common import CUSTOM_NAME, closed
from placement.api.versioned import Versioned

CREATE = Versioned({"1.2": Schema(closed({"name": CUSTOM_NAME}))})
