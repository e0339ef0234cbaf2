"""The bytes of a request's body, bounded in size and in the time that they take to read."""

import logging
import time
from typing import Any

import falcon

from placement.api.problems import RequestRefused
from placement.errors import PlacementError

LOG = logging.getLogger(__name__)

CHUNK = 64 * 1024  # bytes read together
LONGEST_READING = 0.5  # seconds of the processor's time: a server takes some µs for each chunk


def read(req: falcon.Request, max_size: int) -> bytes:
    """Return the body.

    Raises RequestRefused for more than `max_size` bytes, for a body that breaks off or has not the
    length that its header states, and for one in so many small chunks that reading it costs much.
    """
    too_large = RequestRefused(413, f"the body may have {max_size} bytes at the most")
    stated_size = req.content_length or 0
    if stated_size > max_size:
        raise too_large
    # PERF: the chunks of a body are not copied until all are there.
    chunks: list[bytes] = []
    size, started = 0, time.thread_time()
    stream = _stream(req)
    while size <= max_size and (chunk := _next_chunk(stream)):
        chunks.append(chunk)
        size += len(chunk)
        if time.thread_time() - started > LONGEST_READING:
            raise RequestRefused(400, "the body comes in chunks of too few bytes: send larger ones")
    if size > max_size:
        raise too_large
    if size < stated_size:
        raise RequestRefused(
            400, f"the body has {size} bytes, and Content-Length says {stated_size}"
        )
    return b"".join(chunks)


def _stream(req: falcon.Request) -> Any:
    # A server that ends the input itself says so; only it can tell where a chunked body ends.
    chunked = req.content_length is None and req.env.get("wsgi.input_terminated")
    return req.stream if chunked else req.bounded_stream


def _next_chunk(stream: Any) -> bytes:
    """Return the next bytes of a body, none at its end.

    Raises RequestRefused if that fails, and PlacementError of the service's own server.
    """
    try:
        chunk: bytes = stream.read(CHUNK)
    except PlacementError:
        raise  # the service's own server has no room for it
    # Each server has its own errors for malformed chunks and for clients that have gone.
    except Exception as error:
        LOG.info("a body cannot be read: %r", error)
        raise RequestRefused(
            400, "the body cannot be read: it is malformed or ends early"
        ) from error
    return chunk
