"""Domain errors. They contain facts, which `placement.api.problems` converts to HTTP responses.

Each of the four families has a module and determines how a client can react: `NotFound` (the object
that the request is about does not exist; `Expired`, if it existed before), `Invalid` (the request
can never succeed), `Conflict` (the request does not agree with the present state) and `Unavailable`
(try again later).

`code` is the stable, machine-readable name for clients, and the text is for people. However, some
existing clients search for phrases in the text. Therefore, the texts about inventories that are in
use or missing, names that are in use, lost races, and outdated generations must not change.
"""

from placement.errors.base import *
from placement.errors.conflict import *
from placement.errors.invalid import *
from placement.errors.not_found import *
from placement.errors.unavailable import *
