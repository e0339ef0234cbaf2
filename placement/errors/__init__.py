"""Domain errors: what went wrong, as facts. What HTTP makes of them is `placement.api.problems`.

Four families say who has to act: `NotFound` (the thing a request is about does not exist),
`Invalid` (the request cannot be right), `Conflict` (the request and the present state do not
agree) and `Unavailable` (try again later). A module holds each family.

`code` is the stable, machine-readable name that clients read; the text is for people. Some stock
clients match phrases of it all the same, so the texts of inventories in use and missing, of taken
names, of lost races and of stale generations stay as they are.
"""

from placement.errors.base import *
from placement.errors.conflict import *
from placement.errors.invalid import *
from placement.errors.not_found import *
from placement.errors.unavailable import *
