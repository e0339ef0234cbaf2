"""Domain errors, as facts. `placement.api.problems` turns them into HTTP responses.

Each of the four families has a module and says who has to act: `NotFound` (the object that the
request is about does not exist; `Expired`, if it existed before), `Invalid` (the request can never
succeed), `Conflict` (the request does not agree with the present state) and `Unavailable` (try
again later).

`code` is the stable, machine-readable name for clients; the text is for people. Some existing
clients match phrases of the text anyway, so the texts about inventories in use and missing, taken
names, lost races and outdated generations must not change.
"""

from placement.errors.base import *
from placement.errors.conflict import *
from placement.errors.invalid import *
from placement.errors.not_found import *
from placement.errors.unavailable import *
