"""What a client did not say, as opposed to null, which often means something."""

from enum import Enum
from typing import Final


class Unset(Enum):
    """The type of UNSET."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
