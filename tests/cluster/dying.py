"""The service with workers that kill themselves during a numbering of changes."""

import os
import random
import signal
from typing import Any

from placement.entry import app
from placement.objects import change_numbering

PROBABILITY = 0.3
_STEPS = ("_replace", "_update_feed", "_forget")


def _plant(name: str) -> None:
    step = getattr(change_numbering, name)

    def die_or_go_on(*arguments: Any) -> Any:
        result = step(*arguments)
        if random.random() < PROBABILITY:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(change_numbering, name, die_or_go_on)


if "DYING" in os.environ:
    for each in _STEPS:
        _plant(each)
    application = app.serve()
