"""The identity of commands over REST, and how commands find a server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from falcon_placement_client.identity import connect
from placement import cli
from tests.kit.listener import listening
from tests.kit.printed import complaints, without_program
from tests.kit.service import Service

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

TOKEN = "admin:of-the-identity-service"
SECRET = "secret"
USER = {
    "OS_USERNAME": "operator", "OS_PASSWORD": SECRET, "OS_PROJECT_NAME": "p",
    "OS_USER_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_ID": "default",
}  # fmt: skip
APPLICATION = {
    "OS_AUTH_TYPE": "v3applicationcredential",
    "OS_APPLICATION_CREDENTIAL_ID": "a",
    "OS_APPLICATION_CREDENTIAL_SECRET": SECRET,
}
Dump = Callable[..., tuple[int, str]]


class Keystone:
    """An identity service that exchanges the secret for TOKEN and the catalogue."""

    def __init__(self) -> None:
        self.url = ""
        # Region -> URL of placement.
        self.endpoints: dict[str, str] = {}
        self.asked = 0

    def __call__(self, environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if environ["REQUEST_METHOD"] == "GET":
            link = {"rel": "self", "href": f"{self.url}/v3/"}
            version = {"id": "v3.14", "status": "stable", "links": [link]}
            respond("200 OK", [("Content-Type", "application/json")])
            return [json.dumps({"version": version}).encode()]
        self.asked += 1
        if SECRET.encode() not in body:
            respond("401 Unauthorized", [("Content-Type", "application/json")])
            return [b'{"error": {"message": "no such secret", "code": 401}}']
        respond("201 Created", [("Content-Type", "application/json"), ("X-Subject-Token", TOKEN)])
        return [json.dumps({"token": self._token()}).encode()]

    def _token(self) -> Mapping[str, Any]:
        endpoints = [
            {"id": name, "interface": "public", "region": name, "region_id": name, "url": url}
            for name, url in self.endpoints.items()
        ]
        return {
            "methods": ["password"],
            "expires_at": "2100-01-01T00:00:00.000000Z",
            "user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "Default"}},
            "catalog": [{"id": "s", "type": "placement", "name": "p", "endpoints": endpoints}],
        }


def watched(application: WSGIApplication, tokens: set[str]) -> WSGIApplication:
    def watching(environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        tokens.add(environ.get("HTTP_X_AUTH_TOKEN", ""))
        return application(environ, respond)

    return watching


@pytest.fixture
def tokens() -> set[str]:
    """Return the tokens that the server has received."""
    return set()


@pytest.fixture
def server(tmp_path: Path, tokens: set[str]) -> Iterator[str]:
    with Service(tmp_path) as service, listening(watched(service.application, tokens)) as url:
        service.expect(200, "POST", "/resource_providers", {"name": "host"})
        tokens.clear()
        yield url


@pytest.fixture
def keystone(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keystone]:
    keystone = Keystone()
    with listening(keystone) as url:
        keystone.url = url
        keystone.endpoints["one"] = server
        monkeypatch.setenv("OS_AUTH_URL", f"{url}/v3")
        yield keystone


@pytest.fixture
def dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Dump:
    """Run dump-cloud. Return the exit code, and the error message or the size of the output."""

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = cli.main(["dump-cloud", "--force", str(tmp_path / "cloud.yaml"), *arguments])
        return code, without_program(complaints(capsys.readouterr().err)[-1], failed=code != 0)

    return run


def use(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("variables", [USER, APPLICATION], ids=["password", "application"])
def test_the_environment_names_the_caller_and_the_catalogue_the_server(
    keystone: Keystone,
    dump: Dump,
    tokens: set[str],
    monkeypatch: pytest.MonkeyPatch,
    variables: Mapping[str, str],
) -> None:
    use(monkeypatch, variables)
    assert dump() == (0, "1 providers, 0 consumers")
    assert (tokens, keystone.asked) == ({TOKEN}, 1)


def test_an_identity_without_an_endpoint_wants_a_url(
    server: str, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, {"OS_AUTH_TYPE": "admin_token", "OS_TOKEN": "admin", "OS_ENDPOINT": server})
    assert dump() == (0, "1 providers, 0 consumers")
    use(monkeypatch, {"OS_AUTH_TYPE": "none", "OS_ENDPOINT": ""})
    assert dump() == (1, "the identity has no placement endpoint; state one with --url")


@pytest.mark.parametrize(
    ("variable", "token"), [({}, "admin"), ({"OS_TOKEN": "admin:e"}, "admin:e")]
)
def test_without_an_identity_service_a_token_is_sent_as_it_is(
    server: str,
    dump: Dump,
    tokens: set[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: Mapping[str, str],
    token: str,
) -> None:
    use(monkeypatch, variable)
    assert dump("--url", server) == (0, "1 providers, 0 consumers")
    assert tokens == {token}


@pytest.mark.parametrize(("variables", "verify"), [({}, True), ({"OS_CACERT": "ca.pem"}, "ca.pem")])
def test_a_token_is_sent_to_servers_of_the_authority_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str], verify: bool | str
) -> None:
    use(monkeypatch, variables)
    assert connect("https://127.0.0.1", "admin").session.verify == verify


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        (
            {**USER, "OS_PASSWORD": "wrong"},
            "the identity cannot be used: no such secret (HTTP 401)",
        ),
        (
            {**USER, "OS_AUTH_URL": "http://127.0.0.1:1/v3"},
            "the identity cannot be used: cannot reach http://127.0.0.1:1/v3: connection refused; "
            "check OS_AUTH_URL, or auth_url in clouds.yaml",
        ),
        (
            {**USER, "OS_PASSWORD": ""},
            "the identity cannot be used: password is a required attribute",
        ),
        (
            {**APPLICATION, "OS_AUTH_TYPE": "nothing"},
            "the identity cannot be used: The plugin nothing could not be found",
        ),
    ],
)
def test_an_identity_that_cannot_be_used_is_one_line(
    keystone: Keystone,
    server: str,
    dump: Dump,
    monkeypatch: pytest.MonkeyPatch,
    variables: Mapping[str, str],
    complaint: str,
) -> None:
    use(monkeypatch, variables)
    for arguments in ((), ("--url", server)):
        assert dump(*arguments) == (1, complaint)


@pytest.mark.parametrize("arguments", [(), ("--os-cloud", "mine")])
def test_a_cloud_without_openstacksdk_says_what_to_install(
    dump: Dump, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "openstack", None)
    if not arguments:
        monkeypatch.setenv("OS_CLOUD", "mine")
    assert dump(*arguments) == (
        1,
        "cloud mine needs openstacksdk: pip install 'falcon-placement-client[clouds]'",
    )


CLOUDS = """\
clouds:
  mine:
    region_name: one
    auth:
      auth_url: URL/v3
      username: operator
      password: secret
      project_name: p
      user_domain_id: default
      project_domain_id: default
"""


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of openstacksdk
def test_a_cloud_of_a_file_names_caller_and_server(
    keystone: Keystone,
    dump: Dump,
    tokens: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("openstack")
    monkeypatch.delenv("OS_AUTH_URL")
    (tmp_path / "clouds.yaml").write_text(CLOUDS.replace("URL", keystone.url))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
    assert dump("--os-cloud", "mine") == (0, "1 providers, 0 consumers")
    assert tokens == {TOKEN}
    code, line = dump("--os-cloud", "yours")
    assert (code, line) == (
        1,
        (
            "cloud yours: Cloud yours was not found; clouds.yaml in this directory, "
            "~/.config/openstack or /etc/openstack defines clouds"
        ),
    )


def test_the_url_of_a_service_is_not_taken_for_that_of_the_identity_service(
    dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """keystoneauth1 would request a token there and wait forever."""

    def wants_a_token(environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        respond("401 Unauthorized", [])
        return [b""]

    with listening(wants_a_token) as url:
        use(monkeypatch, {**USER, "OS_AUTH_URL": f"{url}/v3"})
        complaint = f"{url}/v3 is not the URL of an identity service: it wants a token (401)"
        assert dump() == (1, complaint)
