"""What oslo.context has no public function for."""

from oslo_context import context


def clear() -> None:
    """Leave this thread without a context.

    The library stores a context in the thread when it is made, and only replaces it.
    """
    context._request_store.context = None
