"""A placement service: inventories of provider trees, candidates for requests, claims on them."""

__version__ = "0.1.0"
