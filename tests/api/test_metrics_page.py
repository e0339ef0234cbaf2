"""The page of the metrics: its location, permissions, and possible labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import falcon.testing
import pytest

from placement.api.routes import ROUTES
from placement.entry import app
from placement.errors import ConfigurationError
from tests.kit import metrics as kit
from tests.kit.builders import make_database
from tests.kit.service import Client

NOBODY: dict[str, Any] = {"X-Auth-Token": "somebody", "X-Roles": "reader"}
OPERATIONS = {route.operation for route in ROUTES} | {"show_metrics", "other"}


@contextmanager
def serving(tmp_path: Path, **options: object) -> Iterator[Client]:
    """A service with these options of `[metrics]`."""
    settings, database = make_database(tmp_path, metrics=options)
    with kit.counting(tmp_path / "metrics", **options) as metrics:
        yield Client(app.create_app(settings, database, metrics=metrics))
    database.dispose()


def scrape(
    client: Client, path: str = "/metrics", port: int = 8778, method: str = "GET", **headers: str
) -> falcon.testing.Result:
    return falcon.testing.simulate_request(
        client.application, method, path, headers=headers, port=port
    )


ADMIN: dict[str, Any] = {"X-Auth-Token": "admin"}


def test_a_page_needs_a_token_that_the_rule_admits(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        assert scrape(client).status_code == 401
        refused = scrape(client, **NOBODY)
        assert refused.status_code == 403
        detail = refused.json["errors"][0]["detail"]
        assert "placement:metrics" in detail
        assert "it needs the role admin or service" in detail
        shown = scrape(client, **ADMIN)
    assert shown.status_code == 200
    assert shown.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert kit.samples(shown.content)["openstack_placement_up", ""] == 1


def test_an_operator_may_say_that_it_needs_none(tmp_path: Path) -> None:
    with serving(tmp_path, token_required=False) as client:
        assert scrape(client).status_code == 200
        assert scrape(client, "/traits").status_code == 401


def test_a_rule_of_the_operator_decides(tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text('"placement:metrics": "role:reader"\n')
    settings, database = make_database(tmp_path, oslo_policy={"policy_file": str(rules)})
    with kit.counting(tmp_path / "metrics") as metrics:
        client = Client(app.create_app(settings, database, metrics=metrics))
        assert scrape(client, **NOBODY).status_code == 200
        assert scrape(client, **ADMIN).status_code == 403
    database.dispose()


def test_a_port_of_their_own_has_nothing_else_and_the_others_do_not_have_it(tmp_path: Path) -> None:
    with serving(tmp_path, bind_port=9178, token_required=False) as client:
        assert scrape(client, port=9178).status_code == 200
        for path in ("/", "/traits", "/healthcheck", "/metrics/x"):
            assert scrape(client, path, port=9178, **ADMIN).status_code == 404, path
        assert scrape(client).status_code == 401
        assert scrape(client, **ADMIN).status_code == 404
        # A client's Host says nothing about the port.
        assert scrape(client, **ADMIN, Host="x:9178").status_code == 404


def test_a_port_of_their_own_may_ask_for_a_token_too(tmp_path: Path) -> None:
    with serving(tmp_path, bind_port=9178) as client:
        assert scrape(client, port=9178).status_code == 401
        assert scrape(client, port=9178, **ADMIN).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_it_can_only_be_read(tmp_path: Path, method: str) -> None:
    with serving(tmp_path) as client:
        refused = scrape(client, method=method, **ADMIN)
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET")


def test_another_path_can_be_chosen_but_none_of_the_api(tmp_path: Path) -> None:
    with serving(tmp_path, path="/internal/metrics") as client:
        assert scrape(client, "/internal/metrics", **ADMIN).status_code == 200
        assert scrape(client, **ADMIN).status_code == 404
    for path, complaint in (
        ("/traits", "belongs to the API"),
        ("/usages/metrics", "belongs to the API"),
        ("metrics", "is not a valid path"),
        ("/", "is not a valid path"),
        ("/a b", "is not a valid path"),
    ):
        with (
            pytest.raises(ConfigurationError, match=rf"^\[metrics\] path: .*{complaint}"),
            serving(tmp_path, path=path),
        ):
            pass


def test_without_metrics_there_is_no_page(tmp_path: Path) -> None:
    settings, database = make_database(tmp_path)
    client = Client(app.create_app(settings, database))
    assert scrape(client, **ADMIN).status_code == 404
    database.dispose()


def test_a_refusal_of_a_head_request_has_no_body(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        refused = scrape(client, method="HEAD", **ADMIN)
    assert (refused.status_code, refused.content) == (405, b"")


def test_a_cleaned_directory_is_completed_and_a_missing_one_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(tmp_path) as client:
        # As what removes old files from directories for temporary ones does.
        (tmp_path / "metrics" / "lock").unlink()
        assert scrape(client, **ADMIN).status_code == 200
        (tmp_path / "metrics").rename(tmp_path / "elsewhere")
        refused = scrape(client, **ADMIN)
        (tmp_path / "elsewhere").rename(tmp_path / "metrics")
        assert scrape(client, **ADMIN).status_code == 200
    assert refused.status_code == 503
    assert "see the log of the service" in refused.text
    assert f"No such file or directory: '{tmp_path}/metrics" in caplog.text


def test_inventories_can_be_left_out(tmp_path: Path) -> None:
    with serving(tmp_path, inventory_seconds=0) as client:
        said = kit.samples(scrape(client, **ADMIN).content)
    assert not [name for name, _labels in said if name.startswith("openstack_")]


def test_labels_are_bounded_for_any_requests(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        for number in range(30):
            client.send("GET", f"/nowhere/{number}")
            client.send("GET", f"/traits/CUSTOM_{number}")
            client.send("GET", f"/usages/{number}")
        for version in ("1.0", "1.39", "2.0", "9.9", "latest", "x"):
            client.send("GET", "/traits", version=version)
        for method in ("PATCH", "OPTIONS", "HEAD", "TRACE"):
            client.send(method, "/traits")
        said = kit.samples(scrape(client, **ADMIN).content)
    requests = kit.of(said, "placement_requests_total")
    labels = [dict(part.split("=") for part in each.split(",")) for each in requests]
    assert {each["operation"] for each in labels} <= OPERATIONS
    assert {each["version"] for each in labels} == {"1", "2", "none"}
    assert requests["operation=other,status=404,version=1"] >= 60
    assert requests["operation=check_trait,status=404,version=1"] == 30
    assert len(requests) < 15


def test_a_scrape_is_counted_and_is_no_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with serving(tmp_path) as client:
        caplog.clear()
        scrape(client, **ADMIN)
        assert caplog.messages == []
        said = kit.samples(scrape(client, **ADMIN).content)
    key = "operation=show_metrics,status=200,version=none"
    assert kit.of(said, "placement_requests_total")[key] == 1
