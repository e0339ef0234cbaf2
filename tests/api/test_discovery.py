"""How clients of other projects find the versions of the service.

keystoneauth1 and openstacksdk are run. The rules of gophercloud, on which openstack-exporter and
limes depend, are written down here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import requests
from keystoneauth1.discover import Discover, EndpointData
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token
from openstack import connection
from openstack.utils import maximum_supported_microversion, supports_microversion

from placement.api.history import LATEST
from tests.api.openstack_cloud import cloud
from tests.kit.listener import listening
from tests.kit.service import Service

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

MOUNT = "/placement"
Document = dict[str, Any]
AT_2_0 = {"OpenStack-API-Version": "placement 2.0"}


class Refused(Exception):
    """The client cannot use the service."""


class Gophercloud:
    """The rules by which gophercloud 2.8 reads a version document.

    It looks for the major version 1 before it uses an endpoint. If a program requires a
    microversion, the document must have exactly one entry.
    """

    STATUSES = frozenset(("CURRENT", "STABLE", "SUPPORTED", "DEPRECATED", ""))

    def __init__(self, document: Document, endpoint: str) -> None:
        self.entries = [self._entry(each, endpoint) for each in document["versions"]]

    def _entry(self, entry: Document, endpoint: str) -> Document:
        name = re.fullmatch(r"v?(\d+)(?:\.(\d+))?", entry["id"])
        if name is None or entry["status"].upper() not in self.STATUSES:
            raise Refused(entry["id"], entry["status"])
        oldest = entry["min_version"]
        newest = entry.get("version") or entry.get("max_version")
        return {
            "major": int(name[1]),
            "url": self._url(entry["links"], endpoint),
            "range": tuple(map(self._number, (oldest, newest))) if oldest and newest else None,
        }

    @staticmethod
    def _number(text: str) -> tuple[int, int]:
        major, minor = text.split(".")
        return int(major), int(minor)

    @staticmethod
    def _url(links: list[Document], endpoint: str) -> str:
        """Host and path of the endpoint, extended by the path of the link."""
        base = urlsplit(endpoint)
        [href] = [link["href"] for link in links if link["rel"] == "self"]
        beyond = urlsplit(href).path.removeprefix(base.path).strip("/")
        path = f"{base.path.rstrip('/')}/{beyond}".rstrip("/")
        return f"{base.scheme}://{base.netloc}{path}/"

    def supports(self, major: int) -> bool:
        """Whether the client opens the service."""
        return major in [entry["major"] for entry in self.entries]

    def accepts(self, microversion: str) -> bool:
        """Whether a program may require this microversion."""
        if len(self.entries) != 1 or self.entries[0]["range"] is None:
            raise Refused("no single range of microversions")
        first, last = self.entries[0]["range"]
        within = zip(first, self._number(microversion), last, strict=True)
        return all(least <= number <= most for least, number, most in within)


@pytest.fixture(params=["", MOUNT])
def endpoint(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a service at the root of a host, and below a path."""
    mount = request.param
    with Service(tmp_path) as service:

        def mounted(environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
            environ["SCRIPT_NAME"] = mount
            environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix(mount)
            return service.application(environ, respond)

        with listening(mounted) as url:
            yield url + mount


def document(endpoint: str, **headers: str) -> Document:
    answer = requests.get(f"{endpoint}/", headers=headers, timeout=60)
    assert answer.status_code == 200
    found: Document = answer.json()
    return found


def test_gophercloud_opens_the_service_and_its_microversions(endpoint: str) -> None:
    client = Gophercloud(document(endpoint), endpoint)
    assert client.supports(1)
    assert [entry["url"] for entry in client.entries] == [f"{endpoint}/"]
    asked = ("1.0", "1.6", str(LATEST), f"1.{LATEST.minor + 1}", "2.0")
    assert [client.accepts(each) for each in asked] == [True, True, True, False, False]


def test_the_document_of_2_0_has_no_microversions_for_gophercloud(endpoint: str) -> None:
    """The reason for which only a request at 2.0 gets it; also, the rules above can refuse."""
    with pytest.raises(Refused, match="no single range"):
        Gophercloud(document(endpoint, **AT_2_0), endpoint).accepts("1.39")


FIRST_LINE = ((1, 0), "CURRENT", (1, 0), LATEST)
SECOND_LINE = ((2, 0), "SUPPORTED", (2, 0), (2, 0))


@pytest.mark.parametrize(
    ("asked", "lines"), [({}, [FIRST_LINE]), (AT_2_0, [FIRST_LINE, SECOND_LINE])]
)
def test_keystoneauth_finds_the_lines_of_versions(endpoint: str, asked: Any, lines: Any) -> None:
    session = Session(Token(endpoint, "admin"), additional_headers=asked)
    keys = ("version", "raw_status", "min_microversion", "max_microversion", "url")
    found = map(itemgetter(*keys), Discover(session, endpoint).version_data())
    assert [(*facts, url.rstrip("/")) for *facts, url in found] == [
        (*each, endpoint) for each in lines
    ]
    for number, _status, _oldest, newest in lines:
        data = EndpointData(endpoint).get_versioned_data(
            session, min_version=number, max_version=number
        )
        assert (data.api_version, data.max_microversion) == (number, newest)


@pytest.mark.filterwarnings("ignore:::openstack")  # deprecations inside of the SDK
def test_openstacksdk_negotiates_microversions_of_1_x(endpoint: str) -> None:
    with cloud(endpoint, with_compute=False) as identity:
        client = connection.Connection(
            auth={
                "auth_url": f"{identity.url}/v3", "username": "operator", "password": "secret",
                "project_name": "p", "user_domain_id": "default", "project_domain_id": "default",
            },
            region_name="one",
        ).placement  # fmt: skip
        assert client.get_api_major_version() == (1, 0)
        assert maximum_supported_microversion(client, "9.0") == str(LATEST)
        assert supports_microversion(client, str(LATEST))
        assert not supports_microversion(client, "2.0")
        made = client.create_resource_provider(name="host")
        assert [each.id for each in client.resource_providers()] == [made.id]
