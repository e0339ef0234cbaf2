"""Words and limits of the API that the service and its clients share."""

MAX_INTEGER = 2**31 - 1  # the largest amount that a client may state and a column holds
CUSTOM_PREFIX = "CUSTOM_"  # of the names of resource classes and traits that clients may make
UNKNOWN_CONSUMER_TYPE = "unknown"  # what answers call the type of consumers that have none
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"  # of providers that serve other trees
