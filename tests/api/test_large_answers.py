"""Large answers are written in pieces: whole, valid, and of the length that they state."""

import falcon.testing
import pytest

from bench.clouds import flat
from bench.scenarios import FLAT
from placement import app
from tests.kit.builders import make_database
from tests.kit.cloud import load

HOSTS = 400  # with 50 traits each: more pieces than are written at once


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> falcon.testing.TestClient:
    settings, database = make_database(tmp_path_factory.mktemp("large"))
    load(database.writer, flat(HOSTS))
    return falcon.testing.TestClient(app.create_app(settings, database))


@pytest.mark.parametrize("minor", [10, 12, 16, 17, 27, 29, 34, 39])
def test_an_answer_in_pieces_is_the_same_as_one_in_a_piece(
    client: falcon.testing.TestClient, minor: int
) -> None:
    def get(limit: str) -> falcon.testing.Result:
        headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": f"placement 1.{minor}"}
        answer = client.simulate_get(f"{FLAT}{limit}", headers=headers)
        assert answer.status_code == 200
        assert int(answer.headers["content-length"]) == len(answer.content)
        return answer

    whole = get("").json
    assert len(whole["allocation_requests"]) == len(whole["provider_summaries"]) == HOSTS
    if minor >= 16:
        some = get("&limit=3").json
        assert some["allocation_requests"] == whole["allocation_requests"][:3]
        for uuid, summary in some["provider_summaries"].items():
            assert whole["provider_summaries"][uuid] == summary


def test_an_answer_in_pieces_is_logged_with_its_length(
    client: falcon.testing.TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "placement.requestlog")
    headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
    answer = client.simulate_get(FLAT, headers=headers)
    assert f"len: {len(answer.content)} " in caplog.records[-1].getMessage()
