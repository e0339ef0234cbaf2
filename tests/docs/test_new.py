"""The configuration on the page for new clouds serves callers of an identity service."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import falcon.testing

from placement import config
from placement.entry import app
from tests.api.identity import identity_service

PAGE = (Path(__file__).parents[2] / "docs" / "operations" / "new.rst").read_text()


def test_the_configuration_of_a_new_cloud_serves(tmp_path: Path) -> None:
    found = re.search(r"^\.\. code-block:: ini\n\n((?:   .*\n|\n)+)", PAGE, re.MULTILINE)
    assert found is not None
    text = textwrap.dedent(found[1])
    database = re.sub("mysql.*", f"sqlite:///{tmp_path}/p.db\nsync_on_startup = true", text)
    with identity_service() as url:
        path = tmp_path / "placement.conf"
        path.write_text(database.replace("https://identity.example.org/v3", url))
        conf = config.options()
        config.parse(conf, [], [str(path)])
        assert list(config.unknown_options(conf)) == []
        application, connections = app.start(config.settings(conf))
        service = falcon.testing.TestClient(application)
        headers = {"OpenStack-API-Version": "placement 1.39"}
        statuses = {
            token: service.simulate_get(
                "/traits", headers={**headers, **token_of(token)}
            ).status_code
            for token in ("", "token-reader", "token-admin")
        }
        connections.dispose()
    assert statuses == {"": 401, "token-reader": 403, "token-admin": 200}


def token_of(name: str) -> dict[str, str]:
    """Return the header of a token, or none for an empty name."""
    return {"X-Auth-Token": name} if name else {}
