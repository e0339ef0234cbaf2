"""A placement service with inventories of provider trees, candidates for requests, and claims."""

__version__ = "1.0.0"  # make version changes it, and its copies
