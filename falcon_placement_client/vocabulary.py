"""Words and limits of the API that the service and its clients share."""

MAX_INTEGER = 2**31 - 1  # largest amount that a client may state and a column can hold
CUSTOM_PREFIX = "CUSTOM_"  # of names of resource classes and traits that clients may create
UNKNOWN_CONSUMER_TYPE = "unknown"  # in responses, for consumers without a type
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"  # of providers that other trees may use
