"""The name under which functional tests of other projects register the service's options."""

from placement.config import register as register_opts

__all__ = ["register_opts"]
