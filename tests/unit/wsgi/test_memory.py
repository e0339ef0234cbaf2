"""The memory of the processes that serve requests."""

import gc
import weakref

from placement.wsgi import memory


class _Node:
    """An object in a reference cycle."""

    def __init__(self) -> None:
        self.itself = self


def test_what_is_there_is_kept_out_of_collections_and_garbage_is_not() -> None:
    kept, garbage = _Node(), weakref.ref(_Node())
    try:
        memory.freeze()
        assert garbage() is None
        assert not any(each is kept for each in gc.get_objects())
        # Again, as when the configuration is read again.
        replaced, kept = weakref.ref(kept), _Node()
        memory.freeze()
        assert replaced() is None
    finally:
        gc.unfreeze()
