"""Hostile input: complete requests, in the form in which a WSGI server would pass them on.

`Hostile` makes requests of a random source, so the same bytes of randomness are the same request:
the source is `random.Random` in tests and the fuzzer's bytes under atheris.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from placement.api.candidate_requests.schema import SUFFIX_KEY
from placement.api.history import HISTORY
from placement.api.routes import ROUTES, Route
from tests.kit.cloud import aggregate_uuid, provider_uuid


class Source(Protocol):
    """The source of random choices."""

    def random(self) -> float: ...

    def randrange(self, stop: int, /) -> int: ...

    def choice(self, items: Sequence[Any], /) -> Any: ...


UUIDS = [provider_uuid(number) for number in range(1, 6)]
SUFFIXES = ["", "_A", "_B"]
CONSUMERS = [f"c0000000-0000-4000-8000-{number:012d}" for number in range(4)]
AGGREGATES = [aggregate_uuid(1), aggregate_uuid(2)]
# Of the right form; the service has issued none of them.
CURSORS = ["0" * 32, f"{0:016x}{1:016x}", f"{9:016x}{2**62:016x}", "7" + "f" * 15 + "7" + "f" * 15]
NAMES = ["VCPU", "DISK_GB", "CUSTOM_A", "HW_CPU_X86_AVX2", "MISC_SHARES_VIA_AGGREGATE"]

# JSON that is not what it seems, as text, since Python's encoder would not write all of it.
ODD_JSON = (
    "null", "true", "0", "-1", "-0", "5.0", "5.5", "1e400", "-1e400", "1E+2", "2147483648",
    str(2**63), str(10**400), "NaN", "Infinity", '""', '"x"', '"5"', '"\\u0000"', '"\\ud800"',
    '"\\ud83d\\ude00"', '"\U0001f600"', '"CUSTOM_A\\n"', '"' + "x" * 300 + '"', "[]", "{}", "[[]]",
    "[" * 400 + "]" * 400, '{"a":' * 400 + "1" + "}" * 400, '{"a":1,"a":2}', '{"":1}',
    f'"{UUIDS[0].upper()}"', f'"{UUIDS[0].replace("-", "")}"', f'"urn:uuid:{UUIDS[0]}"',
    f'"{{{UUIDS[0]}}}"', f'"{"-" * 36}"',
)  # fmt: skip
DEPTHS = (31, 32, 33, 300, 980, 1020, 1100)
LENGTHS = (255, 256, 3000, 60_000)
# What moves a cursor, ends a line or a text, turns the direction, or is no character at all.
CONTROL = (
    *map(chr, range(0x20)), "\x7f", "\x85", "\x9b", "\xa0", "\u200b", "\u2028", "\u2029", "\u202e",
    "\ufeff", "\ufffe", "\ud800", "\udfff", "\U000e0001", "\U0010ffff", "\x1b[31m", "\r\n\r\n",
)  # fmt: skip
ODD_TEXT = (
    "", " ", "x", "0", "-1", "1" * 40, "in:", "!", "!!", "!in:", ",", ":", "VCPU:1", "VCPU:0x1",
    "VCPU:\uff11",
    "VCPU:1e3", "VCPU:+1", "VCPU:1:2", "VCPU: 1", "é", "\U0001f600", "%", "%zz", "%00",
    "\x00", "\x7f", "\r\n", "\n", "\ud800", "'", '"', ";--", "../..", "null", "T" * 300, *UUIDS,
    *NAMES, *AGGREGATES, f"in:{AGGREGATES[0]},{AGGREGATES[1]}", f"!{AGGREGATES[0]}", "none",
    "isolate", "true", "all", "unknown", "_A,_B", "startswith:%",
)  # fmt: skip
ODD_VERSIONS = (
    "", "placement", "placement ", "placement 1", "placement 1.", "placement .1", "placement 1.40",
    "placement 2.0", "placement 2.1", "placement 3.0", "placement -1.0", "placement 1.x",
    "placement 1.2.3", "placement LATEST",
    "placement latest", "compute 2.1", "1.39", "placement1.5", "placement 1.5,", ",,,",
    "placement 1.5, placement 1.7", "placement 1.\u0663", "placement 1_0.1", "placement é",
    "PLACEMENT 1.5", "placement\t1.5", "x" * 5000,
)  # fmt: skip
ODD_HEADERS: Mapping[str, Sequence[str | None]] = {
    "CONTENT_TYPE": (
        "",
        "text/plain",
        "application/json;charset=utf-8",
        "application/JSON",
        ";",
        "é",
    ),
    "HTTP_ACCEPT": ("", "text/html", "*/*", "application/*;q=0", ";;", "a/b;q=x", "é", "," * 99),
    "HTTP_X_AUTH_TOKEN": (None, "", ":", "admin:", "u:p", "é", "a" * 9000),
    "HTTP_X_ROLES": ("", ",", "reader", "admin,,", "é"),
    "HTTP_OPENSTACK_SYSTEM_SCOPE": ("all", ""),
    "HTTP_X_OPENSTACK_REQUEST_ID": ("req-x", "\n", "é"),
    "CONTENT_LENGTH": ("", "x", "-1", "0", "999999999999", "1.5", " 2"),
    "SCRIPT_NAME": ("/placement", "/a/b"),
    "HTTP_HOST": ("", "é", "a b", "[::1", "host:port"),
    "HTTP_TRANSFER_ENCODING": ("chunked",),
    "HTTP_EXPECT": ("100-continue",),
}
ODD_PATHS = (
    "", "/", "//", "/%", "/nowhere", "/resource_providers/", "/resource_providers//inventories",
    "/traits/\x00", "/traits/é", "/traits/" + "x" * 3000, "/allocations/\n", "/../etc/passwd",
    "/resource_providers/{uuid}", "/allocations/" + "-" * 36, "/resource_classes/CUSTOM_\n", "*",
)  # fmt: skip
JUNK = (
    b"", b"\xff", b"\x00", b"\x1b", b"\x7f", b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80", b'"',
    b"}", b"[" * 40, b"," * 9, b'{"":' * 9,
)  # fmt: skip
METHODS = ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "X", "", "get")

Environ = dict[str, Any]


@dataclass(frozen=True)
class Raw:
    """JSON text that is inserted into a document unchanged."""

    text: str


class Torn(io.BytesIO):
    """A body that a server reads in chunks. An error may follow some of the bytes."""

    def __init__(self, body: bytes, most: int, error: Exception | None) -> None:
        super().__init__(body)
        self._most = most
        self._error = error

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes. At the end, raise the error, if there is one."""
        piece = super().read(self._most if size is None or size < 0 else min(size, self._most))
        if not piece and self._error is not None:
            raise self._error
        return piece


class Hostile:
    """Requests. Some of them are valid."""

    def __init__(self, source: Source) -> None:
        self.source = source
        # How often a choice goes wrong, the same for a whole request.
        self.malice = source.choice((0.0, 0.02, 0.1, 0.5))

    def goes_wrong(self) -> bool:
        """Return True at the rate of errors for this request."""
        return bool(self.source.random() < self.malice)

    def environ(self) -> Environ:
        """Return one request."""
        route: Route = self.source.choice(ROUTES)
        method, path = route.method, self.path(route.path)
        if self.goes_wrong():
            method = self.source.choice(METHODS)
        query = self.query(route) if route.parameters is not None or self.goes_wrong() else ""
        body = self.body(route) if route.body_schema is not None or self.goes_wrong() else b""
        made: Environ = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": _wsgi(path),
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_X_AUTH_TOKEN": "admin",
            "HTTP_X_ROLES": "admin,service",
            "HTTP_OPENSTACK_API_VERSION": f"placement {self.version(route)}",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        if body:
            made |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
        for _ in range(3):
            if not self.goes_wrong():
                break
            name = self.source.choice(tuple(ODD_HEADERS))
            value = self.source.choice(ODD_HEADERS[name])
            if value is None:
                made.pop(name, None)
            else:
                made[name] = _wsgi(value)
        if self.goes_wrong():
            made["HTTP_OPENSTACK_API_VERSION"] = _wsgi(self.source.choice(ODD_VERSIONS))
        if self.goes_wrong():
            name = self.source.choice([each for each in made if each.startswith("HTTP_")])
            # Servers keep these from being header values.
            value = self.controlled(made[name]).translate({0: None, 10: None, 13: None})
            made[name] = _wsgi(value)
        if self.goes_wrong():
            self.tear(made, body)
        return made

    def tear(self, made: Environ, body: bytes) -> None:
        """Send the body in chunks, or end it early."""
        error = self.source.choice((None, OSError("gone"), ValueError("-2"), EOFError()))
        made["wsgi.input"] = Torn(body, self.source.choice((1, 7, 1000, 10**6)), error)
        if self.source.random() < 0.7:
            made["wsgi.input_terminated"] = True
            made.pop("CONTENT_LENGTH", None)
        else:
            made["CONTENT_LENGTH"] = str(len(body) + self.source.randrange(30))

    def version(self, route: Route) -> object:
        """Return a version. Most are later versions."""
        versions = list(HISTORY)
        if route.since == str(versions[-1]) and self.source.random() < 0.5:
            return versions[-1]
        return versions[-1 - int(self.source.random() ** 2 * len(versions))]

    def path(self, pattern: str) -> str:
        """Return a path of the route, or any path."""
        if self.goes_wrong():
            return str(self.source.choice(ODD_PATHS))
        known = {"uuid": UUIDS, "consumer": CONSUMERS, "name": NAMES, "resource_class": NAMES}
        known["root"] = UUIDS
        return re.sub(r"{(\w+)}", lambda match: self.text(known[match[1]]), pattern)

    def text(self, usual: Sequence[str]) -> str:
        """Return a common text or an unusual one."""
        if not self.goes_wrong():
            return str(self.source.choice(usual))
        kind = self.source.randrange(8)
        if kind == 0:
            return self.controlled(str(self.source.choice(usual)))
        if kind == 1:
            return str(self.source.choice("{-A0%:,é\x1b\U0001f600")) * int(
                self.source.choice(LENGTHS)
            )
        return str(self.source.choice(ODD_TEXT))

    def controlled(self, text: str) -> str:
        """Return the text with a control character at any position."""
        at = self.source.randrange(len(text) + 1)
        return text[:at] + str(self.source.choice(CONTROL)) + text[at:]

    def query(self, route: Route) -> str:
        """Return a query string that is encoded, partly encoded or not encoded."""
        keys = [*(route.parameters or ["name"]), "foo"]
        if self.source.random() < 0.01:
            return "resources=" + "VCPU:1," * self.source.randrange(20000)
        parts = []
        for _ in range(self.source.randrange(7)):
            key = self.source.choice(keys)
            if self.source.random() < 0.4:
                key += self.source.choice(("_A", "_B", "1", "2", "0", "_" * 65, "é"))
            if self.goes_wrong():
                parts.append(self.text(["&", "=", "&&", "a=b=c", "%ff", ";"]))
                continue
            parts.append(f"{key}={self.value(key)}")
        return _wsgi("&".join(parts))

    def value(self, key: str) -> str:
        """Return a value that may be valid for the parameter."""
        usual: dict[str, Sequence[str]] = {
            "resources": ("VCPU:1", "DISK_GB:2,VCPU:1", "CUSTOM_A:1"),
            "required": ("HW_CPU_X86_AVX2", "!CUSTOM_A", "in:HW_CPU_X86_AVX2,CUSTOM_A"),
            "member_of": (AGGREGATES[0], f"!{AGGREGATES[0]}", f"in:{','.join(AGGREGATES)}"),
            "in_tree": UUIDS,
            "subtree": UUIDS,
            "uuid": UUIDS,
            "limit": ("1", "3"),
            "marker": UUIDS + CONSUMERS,
            "include": ("inventories", "usages,traits", "allocations,aggregates", "request"),
            "group_policy": ("none", "isolate"),
            "root_required": ("HW_CPU_X86_AVX2", "!CUSTOM_A", "in:HW_CPU_X86_AVX2,CUSTOM_A"),
            "root_member_of": (AGGREGATES[0], f"!{AGGREGATES[0]}", f"in:{','.join(AGGREGATES)}"),
            "same_subtree": ("_A,_B", "_A", "_A,!_B"),
            "isolate": ("_A", "_A,_B"),
            "can_split": ("VCPU", "VCPU,DISK_GB"),
            "associated": ("true", "false"),
            "name": ("in:CUSTOM_A", "startswith:CUSTOM", "host1"),
            "consumer_type": ("all", "INSTANCE"),
            # `a_string` has the same owners and groups.
            "project_id": ("p", "q"),
            "user_id": ("p", "q"),
            "spread_group": ("host1", "host2"),
            "held": ("true",),
            "since": CURSORS,
        }
        keyword = next((each for each in usual if key.startswith(each)), "name")
        return self.text(usual[keyword])

    # -- bodies -----------------------------------------------------------------------------

    def body(self, route: Route) -> bytes:
        """Return bytes of JSON, or of invalid JSON."""
        tables = route.body_schema
        schema: Any = {"type": "object"} if tables is None else tables.at(max(HISTORY)).schema
        if tables is not None and self.source.random() < 0.4:
            _since, checked = self.source.choice(tables.entries)
            schema = checked.schema
        raw = _json(self.like(schema)).encode("utf-8", "surrogatepass")
        if self.goes_wrong() and raw:
            at = self.source.randrange(len(raw))
            raw = raw[:at] + self.source.choice(JUNK) + raw[at + self.source.randrange(3) :]
        return raw

    def like(self, schema: Mapping[str, Any], name: str = "") -> Any:
        """Return a value that conforms to the schema, possibly with an error."""
        if self.goes_wrong():
            return Raw(self.odd_json())
        if "oneOf" in schema:
            return self.like(self.source.choice(schema["oneOf"]), name)
        kinds = schema.get("type", "string")
        kind = kinds if isinstance(kinds, str) else self.source.choice(kinds)
        makers: dict[str, Callable[[Mapping[str, Any], str], Any]] = {
            "object": self.an_object, "array": self.an_array, "string": self.a_string,
        }  # fmt: skip
        if kind in makers:
            return makers[kind](schema, name)
        plain = {"integer": (0, 1, 1, 2, 8), "number": (1, 1.5, 16.0), "null": (None,)}
        return self.source.choice(plain.get(kind, (None,)))

    def odd_json(self) -> str:
        """Return the text of a value that is invalid or too large."""
        kind = self.source.randrange(8)
        if kind == 0:
            depth = self.source.choice(DEPTHS)
            opening, closing = self.source.choice((("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")))
            nested = opening * depth + "1" + closing * depth
            return f"[{nested},{nested}]" if self.source.random() < 0.3 else nested
        if kind == 1:
            items = self.source.choice(("1,", '"a",', "[],", '{"":1},', '1,"1",true,[1],{"a":1},'))
            return f"[{items * (self.source.choice(LENGTHS) // len(items))}null]"
        if kind == 2:
            text = self.text(["x"])
            length = self.source.choice(LENGTHS[:3])
            # The text may be long already.
            long = json.dumps(text * (1 + length // (1 + len(text))))
            return f"{{{long}:1}}" if self.source.random() < 0.5 else long
        return str(self.source.choice(ODD_JSON))

    def an_object(self, schema: Mapping[str, Any], name: str) -> Any:
        """Return the members of an object."""
        made = {}
        for key, value in schema.get("properties", {}).items():
            likely = 0.9 if key == "resources" else 0.3  # a request without is hardly one
            if key in schema.get("required", ()) or self.source.random() < likely:
                made[key] = self.like(value, key)
        for pattern, value in schema.get("patternProperties", {}).items():
            keys = NAMES if "A-Z0-9_]+" in pattern or "1,255" in pattern else UUIDS + CONSUMERS
            keys = SUFFIXES if pattern == SUFFIX_KEY else keys
            if name == "resources" and not self.goes_wrong():
                keys = NAMES[:2]
            for _ in range(self.source.choice((0, 1, 1, 2, 3))):
                made[self.text(keys)] = self.like(value)
        if self.goes_wrong():
            made[self.text(["surplus"])] = Raw(self.odd_json())
        if made and self.goes_wrong():
            made.pop(self.source.choice(sorted(made)))
        return made

    def an_array(self, schema: Mapping[str, Any], name: str) -> Any:
        """Return the items of a list."""
        return [self.like(schema["items"], name) for _ in range(self.source.randrange(3))]

    def a_string(self, schema: Mapping[str, Any], name: str) -> Any:
        """Return a string that is valid for the member."""
        if name in {"consumer_uuid", "from_hold"}:
            return self.text(CONSUMERS)
        if schema.get("format") == "uuid":
            aggregates = name in {"aggregates", "member_of", "not_member_of"}
            return self.text(AGGREGATES if aggregates else UUIDS)
        usual = {
            **dict.fromkeys(("required", "forbidden", "traits", "resource_class"), NAMES),
            **dict.fromkeys(("of", "not", "isolate"), SUFFIXES),
            "name": ["host1", "host2", "CUSTOM_B"],
            "group_policy": ["none", "isolate"],
        }
        return self.text(usual.get(name, ["p", "q", "INSTANCE"]))


def _json(value: Any) -> str:
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(key)}:{_json(each)}" for key, each in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return json.dumps(value)


def _wsgi(text: str) -> str:
    """Return the text in the form of WSGI: the bytes of UTF-8, one character for each byte."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")
