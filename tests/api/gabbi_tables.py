"""Expands the short form of gabbits into the form that gabbi runs.

A request, and what is answered to it in each version::

    - links of a provider: GET /resource_providers/$P1
      1.0: 200 uncached
      1.15 $LATEST: [200 cached, {$.root_provider_uuid: $P1}]
      $BEYOND: 406
      $.links[0].rel: self

is expanded into four of gabbi's tests. The first line contains the name and the request. A key with
versions sends the request at each of them (``1.0-1.9``: a range). The key ``answer`` sends it at
the default version of the file. JSON paths next to these keys, and all keys of gabbi, apply to
every version.

An **answer** is a text of words, or a list. A list can contain such texts, ``/patterns/`` that the
detail of an error must match, and mappings of JSON paths or of keys of gabbi. A word is a status, a
name in `ANSWERS` or the code of an error. For an error, the members of every error are also
checked.

Several requests can be sent at each of several versions, or once for each of several named cases::

    - each_version:                   - each:
        1.28: {CONSUMER: $C1}             an empty name: {NAME: ''}
        1.38: {CONSUMER: $C2}             a name that is no string: {NAME: 1}
      steps:                            steps:
      - claim: PUT /allocations/…       - is refused: POST /traits/…

where ``$CONSUMER`` and ``$NAME`` are replaced by the values of the version or case. Without values,
``each_version`` is a text of versions. If a case has a single value without a name, the value is
``$VALUE``. ``$CASE`` is the name of the case.

``$P1``, ``$C1`` and ``$A1`` are the UUIDs of a provider, a consumer and an aggregate. ``$LATEST``
is the newest version, ``$BEYOND`` is the next version after it, and ``$VERSION`` is the version of
a request.

A test in gabbi's own form is left unchanged. ``parts`` of a file contains values that are repeated
with YAML's anchors.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Hashable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml
from gabbi.exception import GabbiFormatError

from placement.api import history
from placement.api.history import Feature

Test = dict[str, Any]

VERSION_HEADER = "openstack-api-version"
NAMES = {
    "LATEST": str(history.LATEST),
    "BEYOND": f"{history.LATEST.major}.{history.LATEST.minor + 1}",
}
UUIDS = {
    "P": "00000000-0000-0000-0000-{:012}",
    "C": "cccccccc-0000-0000-0000-{:012}",
    "A": "aaaaaaaa-0000-0000-0000-{:012}",
}
CACHE_HEADERS = ("cache-control", "last-modified")
ANSWERS: dict[str, Test] = {
    "cached": {"response_headers": {"cache-control": "no-cache", "last-modified": "/ GMT$/"}},
    "uncached": {"response_forbidden_headers": [*CACHE_HEADERS]},
    "untyped": {"response_forbidden_headers": ["content-type"]},
    "json": {"response_headers": {"content-type": "application/json"}},
}
UNDEFINED_CODE = "placement.undefined_code"
REQUEST_ID = "/^req-[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/"

_NAME = re.compile(r"\$([A-Z_]+)(\d*)\b")
_VERSION = re.compile(r"\d+\.\d+")
_VERSIONS = re.compile(r"\d+\.\d+(-\d+\.\d+)?( \d+\.\d+(-\d+\.\d+)?)*")
_STATED = re.compile(r"placement (\d+\.\d+)")
_REQUEST = re.compile(r"(?P<method>[A-Z]+) (?P<url>[/$].*)")


NUMBERS = {"tag:yaml.org,2002:float", "tag:yaml.org,2002:int"}


class _Loader(yaml.CSafeLoader):
    """Reads keys such as 1.10 as text, and refuses duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise GabbiFormatError(f"{node.start_mark}: the same key twice: {sorted(twice)}")
        for key, _ in node.value:
            if key.tag in NUMBERS:
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep=deep)


def load(path: Path) -> Test:
    """Read a gabbit, and return the suite in gabbi's own form."""
    suite: Test = replace_names(yaml.load(path.read_text(), _Loader), NAMES)
    stated = suite.get("defaults", {}).get("request_headers", {}).get(VERSION_HEADER, "")
    version = spoken_version(stated or f"placement {history.OLDEST}")
    suite["tests"] = [each for test in suite["tests"] for each in expand(test, version)]
    return suite


def replace_names(value: Any, names: Mapping[str, Any]) -> Any:
    """Copy what was read, with the values of names in every text and key.

    A text that is only a name becomes the value, of any type. Names of gabbi stay.
    """
    if isinstance(value, dict):
        replaced = {
            replace_names(key, names): replace_names(each, names) for key, each in value.items()
        }
        if len(replaced) < len(value):
            raise GabbiFormatError(f"two keys that mean the same: {list(value)}")
        return replaced
    if isinstance(value, list):
        return [replace_names(each, names) for each in value]
    if not isinstance(value, str):
        return value
    if value.startswith("$") and value[1:] in names:
        return names[value[1:]]
    return _NAME.sub(lambda match: _text(match, names), value)


def _text(match: re.Match[str], names: Mapping[str, Any]) -> str:
    word, number = match.groups()
    if word in UUIDS and number:
        return UUIDS[word].format(int(number))
    return str(names.get(word + number, match[0]))


def expand(test: Test, default_version: str) -> Iterator[Test]:
    """Expand a test in the short form, or a sequence of such tests, into tests of gabbi."""
    if "each_version" in test:
        yield from _expand_versions(test)
        return
    if "each" in test:
        yield from _expand_cases(test, default_version)
        return
    rows = {key: test[key] for key in test if key == "answer" or _VERSIONS.fullmatch(key)}
    common = _named({key: value for key, value in test.items() if key not in rows})
    if not rows:
        yield common
        return
    answers = [(version, rows[key]) for key in rows for version in versions(key)]
    for version, answer in answers:
        headers = dict(common.get("request_headers", {}))
        if version != "answer":
            headers[VERSION_HEADER] = f"placement {version}"
        stated = headers.get(VERSION_HEADER, f"placement {default_version}")
        name = common["name"] + (f" at {version}" if len(answers) > 1 else "")
        # gabbi writes into what it is handed.
        one = copy.deepcopy({**common, "name": name, "request_headers": headers})
        yield replace_names(_merged(one, answer, spoken_version(stated)), {"VERSION": version})


def spoken_version(header: str) -> str:
    """Return the version in a header. Empty if only the service can determine it."""
    stated = _STATED.fullmatch(header)
    return stated[1] if stated else ""


def versions(text: str) -> list[str]:
    """Return the versions in a key. `1.1-1.4` is a range that includes both ends."""
    read: list[str] = []
    for part in text.split():
        first, dash, last = part.partition("-")
        between = [v for v in history.HISTORY if dash and history.v(first) <= v <= history.v(last)]
        read += map(str, between) if dash else [part]
    return read


def _expand_versions(arc: Test) -> Iterator[Test]:
    """Yield the steps of a sequence for each version, with the values of its names."""
    table = arc["each_version"]
    arcs = table if isinstance(table, Mapping) else dict.fromkeys(versions(table))
    for version, names in arcs.items():
        for test in _expand_steps(arc["steps"], {"VERSION": version, **(names or {})}, version):
            stated = {VERSION_HEADER: f"placement {version}"}
            headers = {**stated, **test.get("request_headers", {})}
            yield {**test, "name": f"{test['name']} at {version}", "request_headers": headers}


def _expand_cases(arc: Test, default_version: str) -> Iterator[Test]:
    """Yield the steps of a sequence for each case, with the values of its names."""
    for case, value in arc["each"].items():
        values = value if isinstance(value, Mapping) else {"VALUE": value}
        for test in _expand_steps(arc["steps"], {"CASE": case, **values}, default_version):
            yield {**test, "name": f"{test['name']}: {case}"}


def _expand_steps(steps: list[Test], names: Mapping[str, Any], version: str) -> Iterator[Test]:
    for step in replace_names(steps, names):
        yield from expand(step, version)


def _named(test: Test) -> Test:
    """Split the line with name and request, and collect the JSON paths."""
    plain: Test = {}
    paths: Test = {}
    for key, value in test.items():
        request = _REQUEST.fullmatch(value) if isinstance(value, str) else None
        if key.startswith("$"):
            paths[key] = value
        elif request:
            plain["name"] = key
            plain[request["method"]] = request["url"]
        else:
            plain[key] = value
    if paths:
        plain["response_json_paths"] = {**plain.get("response_json_paths", {}), **paths}
    return plain


def _merged(test: Test, answer: Any, version: str) -> Test:
    """Add the checks of an answer to a test. `version` is the version of the response."""
    checks: dict[str, Any] = {}
    for item in answer if isinstance(answer, list) else [answer]:
        if isinstance(item, Mapping):
            _check(checks, _named(dict(item)))
        elif str(item).startswith("/"):
            _check(checks, {"response_json_paths": {"$.errors[0].detail": item}})
        else:
            for word in str(item).split():
                _check(checks, _meaning(word))
    status = checks.get("status")
    if isinstance(status, int) and status >= HTTPStatus.BAD_REQUEST and "HEAD" not in test:
        _check(checks, {"response_json_paths": _error(status, version)}, only_new=True)
    merged = dict(test)
    _check(merged, checks)
    return merged


def _meaning(word: str) -> Test:
    """Return the meaning of a word in an answer."""
    if word.isdigit():
        return {"status": int(word)}
    if word in ANSWERS:
        return ANSWERS[word]
    if word.startswith("placement."):
        return {"response_json_paths": {"$.errors[0].code": word}}
    raise GabbiFormatError(f"no word of an answer: {word!r}")


def _error(status: int, version: str) -> Test:
    """Return the members of every error, by JSON path."""
    paths: Test = {
        "$.errors.`len`": 1,
        "$.errors[0].status": status,
        "$.errors[0].title": HTTPStatus(status).phrase,
        "$.errors[0].request_id": REQUEST_ID,
    }
    if not _VERSION.fullmatch(version):
        return paths
    if history.v(version) not in history.HISTORY:
        return paths | {
            "$.errors[0].`len`": 6,
            "$.errors[0].min_version": str(history.OLDEST),
            "$.errors[0].max_version": str(history.LATEST),
        }
    # A token is looked at before the version is.
    if status != HTTPStatus.UNAUTHORIZED and Feature.ERROR_CODES.at(history.v(version)):
        return paths | {"$.errors[0].`len`": 5, "$.errors[0].code": UNDEFINED_CODE}
    return paths | {"$.errors[0].`len`": 4}


def _check(checks: Test, more: Test, *, only_new: bool = False) -> None:
    """Add checks to other checks, member by member for mappings and lists."""
    for key, value in more.items():
        before = checks.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            checks[key] = {**value, **before} if only_new else {**before, **value}
        elif isinstance(value, list) and isinstance(before, list):
            checks[key] = [*before, *value]
        else:
            checks[key] = value
