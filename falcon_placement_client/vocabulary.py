"""Names and limits of the API that the service and its clients share."""

import re

MAX_INTEGER = 2**31 - 1  # largest amount in a request, which a column can still store
CUSTOM_PREFIX = "CUSTOM_"  # prefix of the resource classes and traits that clients may create
UNKNOWN_CONSUMER_TYPE = "unknown"  # value in responses for consumers without a type
MAX_NAME = 255  # characters of the name of a resource class or trait
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"  # trait of providers that other trees may use

_CUSTOM_NAME = re.compile(rf"{CUSTOM_PREFIX}[A-Z0-9_]+")


def is_custom_name(text: str) -> bool:
    """Return whether a custom resource class or trait may have this name."""
    return len(text) <= MAX_NAME and _CUSTOM_NAME.fullmatch(text) is not None
