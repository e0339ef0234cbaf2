"""A client of the placement REST API for compute agents, schedulers and operators' tools.

`ReportClient` reads, reports and reshapes trees of providers, and makes claims. It works over any
keystoneauth1 adapter, with falcon-placement and with openstack-placement; `placement.direct` of
falcon-placement provides an adapter of a service in the same process. The package does not import
the service.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"  # make version sets it, together with the version of the service

if TYPE_CHECKING:
    from falcon_placement_client.public import *
else:

    def __getattr__(name: str) -> Any:
        """Return a public name. The first access imports the client.

        PERF: the service loads single modules and should not import the others.
        """
        if name == "__all__":
            return import_module("falcon_placement_client.public").__all__
        if not name[0].isupper():  # a module, which the import system finds
            raise AttributeError(name)
        return getattr(import_module("falcon_placement_client.public"), name)

    def __dir__() -> list[str]:
        """Return the public names, for tab completion."""
        return [*globals(), *import_module("falcon_placement_client.public").__all__]
