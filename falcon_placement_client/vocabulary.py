"""Names and limits of the API that the service and its clients share."""

MAX_INTEGER = 2**31 - 1  # largest amount in a request, which a column can still store
CUSTOM_PREFIX = "CUSTOM_"  # prefix of the resource classes and traits that clients may create
UNKNOWN_CONSUMER_TYPE = "unknown"  # value in responses for consumers without a type
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"  # trait of providers that other trees may use
