"""Databases whose tables and columns have different character sets and collations.

Older software has created such databases. MySQL and MariaDB refuse to compare or combine some of
their texts, and read whole tables to compare others.
"""

import os
import uuid as uuids
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.operate import checks, findings
from tests.db import hot_requests, snapshots
from tests.kit.charsets import COLUMNS, convert
from tests.kit.cloud import load
from tests.kit.engines import FAMILY, seeded
from tests.kit.reads import counted_reads
from tests.kit.service import Service, claim, inventories

pytestmark = pytest.mark.skipif(FAMILY != "mariadb", reason="other databases have one encoding")

COLLATIONS = (
    "ascii_general_ci",
    "latin1_swedish_ci",
    "latin1_general_cs",
    "utf8mb3_general_ci",
    "utf8mb3_unicode_ci",
    "utf8mb3_bin",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_bin",
)
Mix = Mapping[sa.Column[Any], str]  # column -> collation

# Number of mixes with which all requests are sent.
MIXES = int(os.environ.get("PLACEMENT_CHARSETS", "1"))
SEED = os.environ.get("PLACEMENT_CHARSETS_SEED", "")
HOSTS = 416  # the requests use host 403
# Rows that claims of earlier rounds may add to those of a request. Each table that grows has more.
MORE = 300

HOST = "c0ffee00-0000-4000-8000-00000000000a"


def mixes() -> Iterator[Mix]:
    """Yield mixes. Of each nine, each column has each of the nine collations once."""
    source = seeded(f"charsets{SEED}")
    while True:
        orders = {column: source.sample(COLLATIONS, len(COLLATIONS)) for column in COLUMNS}
        for number in range(len(COLLATIONS)):
            yield {column: order[number] for column, order in orders.items()}


def described(mix: Mix) -> str:
    """Return a mix for the text of a failure."""
    return ", ".join(f"{column} {collation}" for column, collation in mix.items())


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        yield service


def explain(_conn: Any, _cursor: Any, sql: str, values: Any, *_more: Any) -> tuple[str, Any]:
    """Send an EXPLAIN instead of a statement."""
    return f"EXPLAIN {sql}", values


def test_the_database_accepts_every_statement_with_any_collations(service: Service) -> None:
    statements = list(snapshots.every_statement())
    for mix in islice(mixes(), 4):
        convert(service.database.writer, mix)
        with service.database.writer.begin() as conn:
            sa.event.listen(conn, "before_cursor_execute", explain, retval=True)
            for name, each in statements:
                try:
                    conn.execute(each.sql, each.params)
                except sa.exc.DBAPIError as error:
                    pytest.fail(f"{name}: {error.orig} with {described(mix)}")


# -- all requests ------------------------------------------------------------------------------


def rows_read(service: Service, turn: int) -> Mapping[str, int]:
    """Send all requests. Return the number of rows that each of them reads."""
    numbers = {}
    for step in hot_requests.story(service, turn):
        with counted_reads(service.database) as counted:
            answer = service.send(step.method, step.path, step.body, step.version)
        assert answer.status_code < 300, (step.name, answer.text)
        numbers[step.name] = sum(each.rows for each in counted)
    return numbers


def repeatable_reads() -> Sequence[hot_requests.Step]:
    """Return reads whose responses depend on the rows alone."""
    listed = [
        hot_requests.Step(path, None, "GET", path, version="2.0")
        for path in ("/consumers?include=allocations,request", "/traits", "/resource_classes")
    ]
    steps = chain(hot_requests.searches(), hot_requests.one_provider(), hot_requests.pages())
    return [*steps, *listed]


def content(service: Service, steps: Sequence[hot_requests.Step]) -> Mapping[str, Any]:
    """Return the response of each read, and the findings of each check and audit."""
    found: dict[str, Any] = {
        step.name: service.expect(200, step.method, step.path, step.body, step.version).json
        for step in steps
    }
    with service.database.read() as conn:
        for check in (*checks.FAULTS, *checks.REVIEWS):
            found[check.name] = check.find(findings.Inspection(conn))
    return found


def test_requests_have_the_same_results_and_costs_with_any_collations(service: Service) -> None:
    load(service.database.writer, hot_requests.mixed(HOSTS))
    service.get("/changes", "2.0")  # the first poll numbers all trees
    usual = rows_read(service, 0)
    steps = repeatable_reads()
    before = content(service, steps)
    for turn, mix in enumerate(islice(mixes(), MIXES), 1):
        convert(service.database.writer, mix)
        service.restart()
        assert content(service, steps) == before, described(mix)
        numbers = rows_read(service, turn)
        more = {
            name: (usual[name], number)
            for name, number in numbers.items()
            if number > 1.5 * usual[name] + MORE
        }
        assert not more, described(mix)
        before = content(service, steps)


# -- texts that a column cannot contain --------------------------------------------------------

# Collation -> the texts that it can contain, and the other ones.
TEXTS: Mapping[str, tuple[str, str]] = {
    "ascii_general_ci": ("", "éλ\U0001f600"),
    "latin1_swedish_ci": ("é", "λ\U0001f600"),
    "utf8mb3_bin": ("éλ", "\U0001f600"),
    "utf8mb4_general_ci": ("éλ\U0001f600", ""),
}


def searches(service: Service, text: str) -> Iterator[Any]:
    """Yield the response of each read that passes a text to the database."""
    for path, params in (
        ("/resource_providers", {"name": text}),
        ("/usages", {"project_id": text}),
        ("/usages", {"project_id": "é", "user_id": text}),
        ("/consumers", {"project_id": text}),
        ("/consumers", {"project_id": "é", "user_id": text}),
        ("/allocation_candidates", {"resources": "VCPU:1", "required": text}),
        ("/traits", {"name": f"in:{text},VCPU"}),
        ("/traits", {"name": f"startswith:{text}"}),
        (f"/traits/{text}", {}),
        (f"/resource_classes/{text}", {}),
        (f"/resource_providers/{text}", {}),
        (f"/resource_providers/{HOST}/inventories/{text}", {}),
    ):
        for version in ("1.39", "2.0"):
            yield service.send("GET", path, version=version, params=params)


def put(service: Service, consumer: str, **owner: Any) -> Any:
    """Send allocations of a new consumer, and return the response."""
    return service.send("PUT", f"/allocations/{consumer}", claim({HOST: {"VCPU": 1}}, **owner))


@pytest.mark.parametrize("collation", TEXTS)
def test_a_text_that_a_column_cannot_contain_is_not_found_and_not_written(
    service: Service, collation: str
) -> None:
    convert(service.database.writer, dict.fromkeys(COLUMNS, collation))
    service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
    path = f"/resource_providers/{HOST}/inventories"
    service.expect(200, "PUT", path, inventories(0, VCPU=100))
    consumers = (str(uuids.UUID(int=number)) for number in count(1))
    nothing = list(searches(service, "nothing"))
    known, unknown = TEXTS[collation]
    for text in known + unknown:
        for _ in range(3):  # the third time, statements are prepared
            for answer, empty in zip(searches(service, text), nothing, strict=True):
                assert answer.status_code in {empty.status_code, 400}, answer.text
                assert answer.status_code != 200 or answer.json == empty.json
        writes = {
            "name": service.send("POST", "/resource_providers", {"name": text}),
            "project_id": put(service, next(consumers), project=text),
            "user_id": put(service, next(consumers), user=text),
        }
        for field, answer in writes.items():
            assert (answer.status_code < 300) == (text in known), answer.text
            if text in unknown:
                assert answer.status_code == 400
                assert answer.json["errors"][0]["detail"].startswith(f"{field}: {text}: ")
        providers = service.send("GET", "/resource_providers", params={"name": text}).json
        usages = service.send("GET", "/usages", params={"project_id": text}).json
        found = bool(providers["resource_providers"]), bool(usages["usages"])
        assert found == (text in known, text in known)
