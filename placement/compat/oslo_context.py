"""Access to oslo.context where it has no public function."""

from oslo_context import context


def clear() -> None:
    """Remove the context of this thread.

    The library stores a new context in the thread. It can only replace this context.
    """
    context._request_store.context = None
