"""The files of the page. A WSGI layer around the API serves them."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PREFIX = "/explorer"
INDEX = "index.html"

# The tag in the page that contains whether the API validates tokens.
GUARDED = b'name="placement-guard" content="keystone"'
UNGUARDED = b'name="placement-guard" content="noauth2"'

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# The browser executes only the page's own files. The page sends requests only to its own server.
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)

_JSON = "application/json"

HEADERS = [
    ("Cache-Control", "no-cache"),  # clients may use a cached copy if its tag is still valid
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
]


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page. It is read once."""

    content: bytes
    content_type: str
    # Value of ETag, in quotes.
    tag: str


# Function that returns an error in the API's format. It takes environ, start_response, status,
# detail and headers.
Refuse = Callable[
    ["WSGIEnvironment", "StartResponse", int, str, Sequence[tuple[str, str]]], Iterable[bytes]
]


class Explorer:
    """Serves all paths below /explorer. The application serves all other paths."""

    def __init__(self, application: "WSGIApplication", refuse: Refuse, *, guarded: bool) -> None:
        """Read the files.

        Args:
            application: serves the other paths.
            refuse: responds to clients that accept JSON.
            guarded: whether the API validates tokens, and the page must therefore prompt for one.
        """
        self._application = application
        self._refuse = refuse
        # Path relative to the page -> file.
        self._files = dict(_read(files(__package__) / "static", ""))
        if not guarded:
            index = self._files[INDEX].content.replace(GUARDED, UNGUARDED)
            self._files[INDEX] = _file(INDEX, index)

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Process one request. The files do not require a token."""
        path = environ.get("PATH_INFO", "")
        if path == PREFIX:
            # The path is relative, because a proxy may have removed a prefix.
            return _respond(start_response, "308 Permanent Redirect", Location="explorer/")
        if not path.startswith(f"{PREFIX}/"):
            return self._application(environ, start_response)
        if environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            allowed = ("Allow", "GET, HEAD")
            return self._fail(environ, start_response, 405, "the explorer is read-only", allowed)
        file = self._files.get(path.removeprefix(f"{PREFIX}/") or INDEX)
        if file is None:
            return self._fail(environ, start_response, 404, f"the explorer has no file {path}")
        if _names(environ.get("HTTP_IF_NONE_MATCH", ""), file.tag):
            return _respond(start_response, "304 Not Modified", ETag=file.tag)
        headers = {
            "Content-Type": file.content_type,
            "Content-Length": str(len(file.content)),
            "ETag": file.tag,
        }
        start_response("200 OK", [*HEADERS, *headers.items()])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [file.content]

    def _fail(
        self,
        environ: "WSGIEnvironment",
        start_response: "StartResponse",
        status: int,
        detail: str,
        *headers: tuple[str, str],
    ) -> Iterable[bytes]:
        """Return an error, in the API's format if the client accepts JSON, else without a body."""
        if _JSON in environ.get("HTTP_ACCEPT", ""):
            return self._refuse(environ, start_response, status, detail, [*HEADERS, *headers])
        line = f"{status} {HTTPStatus(status).phrase}"
        return _respond(start_response, line, **dict(headers))


def _names(tags: str, tag: str) -> bool:
    """Return whether a list of tags contains a tag or `*`. Compressing proxies make tags weak."""
    return not {"*", tag, f"W/{tag}"}.isdisjoint(each.strip() for each in tags.split(","))


def _respond(start_response: "StartResponse", status: str, **headers: str) -> list[bytes]:
    """Return a response without a body."""
    length = [] if status.startswith("304") else [("Content-Length", "0")]
    start_response(status, [*HEADERS, *headers.items(), *length])
    return []


def _read(directory: "Traversable", path: str) -> Iterator[tuple[str, File]]:
    """Yield each file in a directory and its subdirectories, with its relative path."""
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _read(entry, f"{path}{entry.name}/")
        else:
            yield f"{path}{entry.name}", _file(entry.name, entry.read_bytes())


def _file(name: str, content: bytes) -> File:
    suffix = name[name.rindex(".") :]
    digest = hashlib.sha256(content).hexdigest()[:32]
    return File(content, CONTENT_TYPES[suffix], f'"{digest}"')
