"""A marker for values that a client did not send, as distinct from null."""

from enum import Enum
from typing import Final


class Unset(Enum):
    """The type of UNSET."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
