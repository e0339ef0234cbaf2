"""The files of the page, as any server hands them out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import falcon.testing
import pytest

from placement.explorer import files
from placement.explorer.files import CONTENT_TYPES, Explorer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

STATIC = Path(files.__file__).parent / "static"
PATHS = sorted(str(path.relative_to(STATIC)) for path in STATIC.rglob("*") if path.is_file())


def api(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    start_response("200 OK", [("Content-Length", "3")])
    return [b"api"]


def _no_envelope(*_arguments: object) -> list[bytes]:
    raise AssertionError("no client has asked for JSON")


def client(*, guarded: bool = True) -> falcon.testing.TestClient:
    return falcon.testing.TestClient(Explorer(api, _no_envelope, guarded=guarded))


@pytest.mark.parametrize("path", PATHS)
def test_each_file_is_there_with_its_type_and_policy(path: str) -> None:
    answer = client().simulate_get(f"/explorer/{path}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] in CONTENT_TYPES.values()
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
    assert answer.content == (STATIC / path).read_bytes()


@pytest.mark.parametrize("path", [path for path in PATHS if path.endswith(".js")])
def test_no_line_of_a_program_is_longer_than_100_characters(path: str) -> None:
    # The formatter does not break texts.
    lines = (STATIC / path).read_text().splitlines()
    assert [line for line in lines if len(line) > 100] == []


def test_the_directory_is_the_page() -> None:
    assert "<title>Placement explorer</title>" in client().simulate_get("/explorer/").text


def test_without_a_slash_the_page_is_found_at_any_path() -> None:
    answer = client().simulate_get("/explorer")
    assert answer.status_code == 308
    assert answer.headers["location"] == "explorer/"


@pytest.mark.parametrize("form", ["{}", "W/{}", '"another", {}', '"another",W/{}', "*"])
def test_a_copy_that_is_still_true_is_not_sent_again(form: str) -> None:
    tag = client().simulate_get("/explorer/js/main.js").headers["etag"]
    stated = {"If-None-Match": form.format(tag)}
    answer = client().simulate_get("/explorer/js/main.js", headers=stated)
    assert (answer.status_code, answer.content) == (304, b"")


def test_an_outdated_copy_is_sent_again() -> None:
    stated = {"If-None-Match": '"another", W/"one"'}
    assert client().simulate_get("/explorer/js/main.js", headers=stated).status_code == 200


@pytest.mark.parametrize("path", ["/explorer/nothing.js", "/explorer/../files.py", "/explorer/js"])
def test_nothing_else_is_there(path: str) -> None:
    assert client().simulate_get(path).status_code == 404


def test_the_page_can_only_be_read() -> None:
    answer = client().simulate_post("/explorer/")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert client().simulate_head("/explorer/").status_code == 200


@pytest.mark.parametrize("path", ["/", "/explorers", "/resource_providers"])
def test_all_else_is_the_application_s(path: str) -> None:
    assert client().simulate_get(path).text == "api"


@pytest.mark.parametrize(("guarded", "said"), [(True, "keystone"), (False, "noauth2")])
def test_the_page_knows_whether_it_needs_a_token(guarded: bool, said: str) -> None:
    text = client(guarded=guarded).simulate_get("/explorer/").text
    assert f'name="placement-guard" content="{said}"' in text


@pytest.mark.parametrize("path", [path for path in PATHS if path.endswith(".js")])
def test_modules_load_nothing_but_each_other(path: str) -> None:
    text = (STATIC / path).read_text()
    for name in re.findall(r'from "(.+?)"', text):
        assert (STATIC / path).parent.joinpath(name).is_file(), name
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)


@pytest.mark.parametrize("path", PATHS)
def test_nothing_names_another_host(path: str) -> None:
    names = set(re.findall(r"https?://[^\"' )]+", (STATIC / path).read_text()))
    assert names <= {"http://www.w3.org/2000/svg"}
