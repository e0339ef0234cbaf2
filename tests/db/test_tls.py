"""With any TLS parameter in a MariaDB URL, the certificate of the server is verified."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from placement.db.engine import Database
from placement.errors import ConfigurationError
from tests.kit.authority import Authority
from tests.kit.builders import settings
from tests.kit.engines import ENGINE, FAMILY, MYSQL_DRIVER, SERVERS, Server, server

pytestmark = pytest.mark.skipif(FAMILY != "mariadb", reason="drivers of MariaDB differ in it")

DRIVERS_OWN = pytest.mark.skipif(MYSQL_DRIVER != "pymysql", reason="options of PyMySQL")
LISTED = "subjectAltName=IP:127.0.0.1"  # how the URLs name the server


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """A directory that the server reaches, too; pytest closes its own to other users."""
    with tempfile.TemporaryDirectory(prefix="placement-tls-") as made:
        path = Path(made)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="module")
def authority(directory: Path) -> Authority:
    return Authority(directory / "authority")


@pytest.fixture(scope="module")
def stranger(directory: Path) -> Authority:
    return Authority(directory / "stranger")


def serving(certificate: Path, key: Path) -> Iterator[Server]:
    made = SERVERS[ENGINE](options=[f"--ssl-cert={certificate}", f"--ssl-key={key}"])
    yield made
    made.discard()


@pytest.fixture(scope="module")
def listed(authority: Authority) -> Iterator[Server]:
    """A server whose certificate contains the host name in the URLs."""
    yield from serving(*authority.sign("listed", LISTED))


@pytest.fixture(scope="module")
def unlisted(authority: Authority) -> Iterator[Server]:
    """A server whose certificate contains a different host name."""
    yield from serving(*authority.sign("unlisted", "subjectAltName=DNS:elsewhere"))


def connected(at: Server, **parameters: object) -> str:
    """Connect with the URL. Return the cipher."""
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    database = Database(settings(f"{at.url(at.admin)}?{query}").database)
    database.connect_first(patience=0)
    with database.reader.connect() as conn:
        row = conn.execute(sa.text("SHOW STATUS LIKE 'Ssl_cipher'")).one()
    database.dispose()
    return str(row[1])


def test_a_certificate_of_the_authority_for_the_host_is_taken(
    listed: Server, authority: Authority
) -> None:
    assert connected(listed, ssl_ca=authority.certificate) != ""


def test_a_certificate_of_another_authority_is_refused(listed: Server, stranger: Authority) -> None:
    with pytest.raises(ConfigurationError, match="certificate"):
        connected(listed, ssl_ca=stranger.certificate)


@DRIVERS_OWN
def test_a_verified_certificate_is_of_the_authority_in_the_url(
    listed: Server, authority: Authority, stranger: Authority
) -> None:
    parameters = {"charset": "utf8", "ssl_verify_cert": "true"}  # as openstack-ansible sets them
    assert connected(listed, **parameters, ssl_ca=authority.certificate) != ""
    with pytest.raises(ConfigurationError, match="certificate"):
        connected(listed, **parameters, ssl_ca=stranger.certificate)


@DRIVERS_OWN
@pytest.mark.parametrize("option", ["ssl_verify_identity", "ssl_check_hostname"])
def test_with_ssl_verify_cert_the_name_is_verified_only_on_demand(
    unlisted: Server, authority: Authority, option: str
) -> None:
    parameters = {"ssl_verify_cert": "true", "ssl_ca": authority.certificate}
    assert connected(unlisted, **parameters) != ""
    with pytest.raises(ConfigurationError, match=r"certificate|match"):
        connected(unlisted, **parameters, **{option: "true"})


@DRIVERS_OWN
def test_without_an_authority_in_the_url_those_of_the_machine_are_used(
    listed: Server, unlisted: Server, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = authority.sign("client", LISTED)
    unverified: list[dict[str, object]] = [
        {"ssl_check_hostname": "true"},
        {"ssl_check_hostname": "false"},
        {"ssl_cert": certificate, "ssl_key": key},
    ]
    for parameters in unverified:
        with pytest.raises(ConfigurationError, match="certificate verif"):
            connected(listed, **parameters)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    assert connected(listed, ssl_check_hostname="true") != ""
    assert connected(unlisted, ssl_check_hostname="false") != ""
    with pytest.raises(ConfigurationError, match=r"certificate|match"):
        connected(unlisted, ssl_check_hostname="true")


def test_a_certificate_for_another_host_is_refused(unlisted: Server, authority: Authority) -> None:
    with pytest.raises(ConfigurationError, match=r"certificate|match"):
        connected(unlisted, ssl_ca=authority.certificate)


def test_a_server_without_tls_is_refused(authority: Authority) -> None:
    plain = server()
    with pytest.raises(ConfigurationError, match=r"SSL is required|certificate"):
        connected(plain, ssl_ca=authority.certificate)


def test_an_authority_whose_file_is_missing_is_refused(listed: Server, tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"
    with pytest.raises(ConfigurationError, match=f"cannot read ssl_ca={missing}"):
        connected(listed, ssl_ca=missing)
