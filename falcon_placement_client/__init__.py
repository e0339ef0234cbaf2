"""The other side of the REST API: what compute agents, schedulers and operators' tools do with it.

`ReportClient` reads, reports and reshapes trees of providers, and claims. It works over any
keystoneauth1 adapter, with falcon-placement and with openstack-placement; `placement.direct` of
falcon-placement gives an adapter of a service in one's own process. The package imports nothing of
a service.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"  # that of the service, which is released together with the client

if TYPE_CHECKING:
    from falcon_placement_client.public import *
else:

    def __getattr__(name: str) -> Any:
        """Return a public name, which imports the client.

        PERF: the service shares `inventory`, and neither starts nor runs with all the rest.
        """
        if name == "__all__":
            return import_module("falcon_placement_client.public").__all__
        if not name[0].isupper():  # a module, which Python looks for by itself
            raise AttributeError(name)
        return getattr(import_module("falcon_placement_client.public"), name)

    def __dir__() -> list[str]:
        """Return the public names, for completion."""
        return [*globals(), *import_module("falcon_placement_client.public").__all__]
