"""The other side of the REST API: what compute agents, schedulers and operators' tools do with it.

`ReportClient` reads, reports and reshapes trees of providers, and claims. It works over any
keystoneauth1 adapter, with this service and with openstack-placement; `placement.direct` gives an
adapter of a service in one's own process. Of the rest of the package only words and limits of the
API are known here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placement.client.public import *
else:

    def __getattr__(name: str) -> Any:
        """Return a public name, which imports the client.

        PERF: the service shares `inventory`, and neither starts nor runs with all the rest.
        """
        if not name[0].isupper():  # a module, which Python looks for by itself
            raise AttributeError(name)
        return getattr(import_module("placement.client.public"), name)
