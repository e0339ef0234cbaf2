"""A placement service: inventories of provider trees, candidates for requests, claims on them."""

__version__ = "1.0.0rc1"  # changed by make version, with its copies
