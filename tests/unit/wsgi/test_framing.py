"""Requests with an ambiguous end: each has at most one response."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.wsgi.serving import TOKEN, Site, serving, statuses

POST = b"POST /first HTTP/1.1\r\n" + TOKEN
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SECOND = b"GET /second HTTP/1.1\r\n" + TOKEN + b"\r\n"
GET = b"GET /first HTTP/1.1\r\n" + TOKEN

# name -> what is sent, and the statuses of all answers. What follows a refusal is never a request.
REFUSED = {
    "length and chunks": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "equal lengths": POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "different lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "a list of lengths": POST + b"Content-Length: 5, 5\r\n\r\nhello",
    "a length with plus": POST + b"Content-Length: +5\r\n\r\nhello",
    "a length with minus": POST + b"Content-Length: -5\r\n\r\nhello",
    "a hexadecimal length": POST + b"Content-Length: 0x5\r\n\r\nhello",
    "a length with an underscore": POST + b"Content-Length: 1_0\r\n\r\nhello",
    "an empty length": POST + b"Content-Length:\r\n\r\nhello",
    "a length of 5000 digits": POST + b"Content-Length: " + b"1" * 5000 + b"\r\n\r\nhello",
    "chunked twice": POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n",
    "chunked in a list": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "an empty coding": POST + b"Transfer-Encoding:\r\n\r\n0\r\n\r\n",
    "an empty member of codings": POST + b"Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n",
    "a coding after a vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunks of HTTP/1.0": CHUNKED.replace(b"1.1", b"1.0") + b"0\r\n\r\n",
    "a space before the colon": POST + b"Content-Length : 5\r\n\r\nhello",
    "a tab before the colon": POST + b"Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n",
    "a folded line": POST + b"X-Long: a\r\n b\r\n\r\n",
    "a line folded with a tab": POST + b"X-Long: a\r\n\tContent-Length: 5\r\n\r\nhello",
    "a first line that is folded": b"GET /first HTTP/1.1\r\n Host: x\r\n\r\n",
    "a bare line feed": b"GET /first HTTP/1.1\nHost: x\n\n",
    "a bare line feed between fields": POST + b"A: b\nContent-Length: 5\r\n\r\nhello",
    "a bare carriage return": POST + b"A: b\rContent-Length: 5\r\n\r\nhello",
    "a null byte": POST + b"A: b\0c\r\n\r\n",
    "a field without a name": POST + b": x\r\n\r\n",
    "a field without a colon": POST + b"Content-Length\r\n\r\n",
    "no version": b"GET /first\r\n\r\n",
    "a version to come": GET.replace(b"1.1", b"1.2") + b"\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "two spaces in the first line": GET.replace(b" /first", b"  /first") + b"\r\n",
    "a method in lower case": GET.replace(b"GET", b"get") + b"\r\n",
    "a path of no printable bytes": GET.replace(b"first", b"f\xffrst") + b"\r\n",
    "half an IPv6 address": GET.replace(b"/first", b"http://[::1/first") + b"\r\n",
}
UNSUPPORTED = {
    "another coding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "identity": POST + b"Transfer-Encoding: identity\r\n\r\n",
    "a coding that ends like one": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
}
# The application is called, cannot read the body (here: 500), and the connection ends.
BROKEN = {
    "a chunk size with plus": CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n",
    "a chunk size with minus": CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
    "a chunk size of C": CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n",
    "a chunk size before a space": CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n",
    "a chunk size with an underscore": CHUNKED + b"1_0\r\n" + b"x" * 16 + b"\r\n0\r\n\r\n",
    "a line feed in an extension": CHUNKED + b"5;a=\nb\r\nhello\r\n0\r\n\r\n",
    "a chunk longer than it says": CHUNKED + b"5\r\nhello!\r\n0\r\n\r\n",
    "a bare line feed after a size": CHUNKED + b"5\nhello\r\n0\r\n\r\n",
    "a size that does not end": CHUNKED + b"0" * 9000,
    "a trailer that does not end": CHUNKED + b"0\r\nA: " + b"b" * 9000,
    "a body too long, in chunks": CHUNKED + b"7d1\r\n" + b"x" * 2001 + b"\r\n0\r\n\r\n",
    "a body too long": POST + b"Content-Length: 2001\r\n\r\n",
}
# name -> what is sent, how many answers there are, and the body that the application reads.
ANSWERED: dict[str, tuple[bytes, int, bytes]] = {
    "a body": (POST + b"Content-Length: 5\r\n\r\nhello", 2, b"hello"),
    "a length after zeros": (POST + b"Content-Length: 005\r\n\r\nhello", 2, b"hello"),
    "chunks": (CHUNKED + b"2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 2, b"hello"),
    "Chunks": (
        CHUNKED.replace(b": chunked", b":\tCHUNKED \t") + b"5\r\nhello\r\n0\r\n\r\n",
        2, b"hello",
    ),
    "trailers": (
        CHUNKED + b"5\r\nhello\r\n0\r\nContent-Length: 9\r\nX-Auth-Token: other\r\n\r\n",
        2, b"hello",
    ),
    "pipelining": (GET + b"\r\n", 2, b""),
    "empty lines before": (b"\r\n\r\n" + GET + b"\r\n", 2, b""),
    "the last of a connection": (GET + b"Connection: close\r\n\r\n", 1, b""),
    "one that lists close": (GET + b"Connection: keep-alive, Close\r\n\r\n", 1, b""),
    "HTTP/1.0": (GET.replace(b"1.1", b"1.0") + b"\r\n", 1, b""),
    "HTTP/1.0 kept": (GET.replace(b"1.1", b"1.0") + b"Connection: keep-alive\r\n\r\n", 2, b""),
    "no length of its own": (POST + b"Content_Length: 46\r\n\r\n", 2, b""),
    "no coding of its own": (POST + b"Transfer_Encoding: chunked\r\n\r\n", 2, b""),
    "the absolute form": (GET.replace(b"/first", b"http://elsewhere/first") + b"\r\n", 2, b""),
    "an upgrade to HTTP/2": (
        GET + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
        2, b"",
    ),
    "an upgrade to WebSocket": (GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 2, b""),
    "an expectation without a body": (GET + b"Expect: 100-continue\r\n\r\n", 2, b""),
    # Without a token no body is read: what follows the head is nothing.
    "a body without a token": (b"POST /first HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 1, b""),
    "a request in a body without a token": (
        b"POST /first HTTP/1.1\r\nContent-Length: 9\r\n\r\n", 1, b"",
    ),
    "chunks without a token": (
        b"POST /first HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        1, b"",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def site(running: Site) -> Site:
    running.seen.clear()
    return running


def ask(site: Site, sent: bytes) -> tuple[list[int], list[str]]:
    """Send a request followed by another one; returns the statuses, and the received paths.

    Another client is connected at the same time, and must receive only its own responses.
    """
    with site.connect(b"GET /other HTTP/1.1\r\n") as other:
        found = statuses(site.answer(sent + SECOND))
        other.sendall(TOKEN + b"Connection: close\r\n\r\n")
        assert statuses(b"".join(iter(lambda: other.recv(1000), b""))) == [200]
    paths = [environ["PATH_INFO"] for environ, _ in site.seen]
    assert paths.pop() == "/other"
    assert len(paths) == len(set(paths))
    return found, paths


@pytest.mark.parametrize("name", REFUSED)
def test_what_means_two_things_is_refused_and_ends_the_connection(site: Site, name: str) -> None:
    assert ask(site, REFUSED[name]) == ([400], [])


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_a_coding_that_is_not_supported_is_refused(site: Site, name: str) -> None:
    assert ask(site, UNSUPPORTED[name]) == ([501], [])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_body_is_the_last_of_its_connection(site: Site, name: str) -> None:
    found, paths = ask(site, BROKEN[name])
    assert (found, paths) == ([500], [])  # reading it fails
    assert site.worker.settings.gathered == 0


@pytest.mark.parametrize("name", ANSWERED)
def test_each_request_is_answered_once_and_in_order(site: Site, name: str) -> None:
    sent, answers, expected = ANSWERED[name]
    assert ask(site, sent) == ([200] * answers, ["/first", "/second"][:answers])
    environ, body = site.seen[0]
    assert body == expected
    assert environ.get("HTTP_X_AUTH_TOKEN") in {"t", None}
    assert "HTTP_TRANSFER_ENCODING" not in environ


@pytest.mark.parametrize(
    "field",
    [b"SCRIPT_NAME", b"Script-Name", b"X-Script-Name", b"X-Forwarded-Prefix", b"PATH_INFO"],
)
def test_no_header_names_the_place_where_the_service_is_mounted(site: Site, field: bytes) -> None:
    ask(site, GET + field + b": /elsewhere\r\n\r\n")
    environ, _ = site.seen[0]
    assert (environ["SCRIPT_NAME"], environ["PATH_INFO"]) == ("", "/first")


def test_a_path_is_passed_on_as_it_is(site: Site) -> None:
    found, paths = ask(site, GET.replace(b"/first", b"//first%2f%0a?a=%0a#b") + b"\r\n")
    assert (found, paths) == ([200, 200], ["//first/\n", "/second"])
    assert site.seen[0][0]["QUERY_STRING"] == "a=%0a"
