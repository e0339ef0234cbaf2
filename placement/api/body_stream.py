"""Read the bytes of a request body, with limits on its size and on the CPU time of reading."""

import logging
import time
from typing import Any

import falcon

from placement.api.problems import RequestRefused

LOG = logging.getLogger(__name__)

CHUNK = 64 * 1024  # bytes
MAX_READING_SECONDS = 0.5  # CPU time; servers use some microseconds for each chunk


def read(req: falcon.Request, max_size: int) -> bytes:
    """Return the body.

    Raises:
        RequestRefused: the body has more than `max_size` bytes, ends early, differs from the
            stated length, or consists of so many small chunks that reading it is expensive.
    """
    too_large = RequestRefused(
        413,
        f"the body may have at most {max_size} bytes: send several requests, or raise [placement] "
        f"max_request_body_size",
    )
    stated_size = req.content_length or 0
    if stated_size > max_size:
        raise too_large
    # PERF: chunks are joined only once, at the end.
    chunks: list[bytes] = []
    size, started = 0, time.thread_time()
    stream = _stream(req)
    while size <= max_size and (chunk := _next_chunk(stream)):
        chunks.append(chunk)
        size += len(chunk)
        if time.thread_time() - started > MAX_READING_SECONDS:
            raise RequestRefused(400, "the chunks of the body are too small: send larger ones")
    if size > max_size:
        raise too_large
    if size < stated_size:
        raise RequestRefused(
            400, f"the body has {size} bytes, and Content-Length says {stated_size}"
        )
    return b"".join(chunks)


def _stream(req: falcon.Request) -> Any:
    # Servers that terminate the input themselves set a flag. uWSGI has a function instead. Other
    # servers do not mark the end of a chunked body.
    if req.content_length is None and req.env.get("wsgi.input_terminated"):
        return req.stream
    if "uwsgi.version" in req.env and req.get_header("Transfer-Encoding"):
        return _UwsgiChunks()
    return req.bounded_stream


class _UwsgiChunks:
    """A chunked body within uWSGI, whose `chunked-input-limit` bounds each chunk."""

    def read(self, _size: int) -> bytes:
        """Return the next chunk, or empty bytes at the end.  Raises OSError."""
        import uwsgi  # noqa: PLC0415 - it exists within uWSGI only

        chunk: bytes = uwsgi.chunked_read()
        return chunk


def _next_chunk(stream: Any) -> bytes:
    """Return the next bytes of a body, or empty bytes at its end.

    Raises:
        RequestRefused: the body cannot be read.
    """
    try:
        chunk: bytes = stream.read(CHUNK)
    # Each server raises its own errors for malformed chunks and for disconnected clients.
    except Exception as error:
        LOG.info("a body cannot be read: %r", error)
        raise RequestRefused(
            400, "the body cannot be read: it is malformed or ends early"
        ) from error
    return chunk
