"""Settings that servers of MariaDB and MySQL may have as defaults of each session."""

import uuid as uuids
from pathlib import Path
from urllib.parse import quote

import pytest

from placement.db.engine import Database
from placement.entry import app
from tests.kit.builders import settings
from tests.kit.engines import ENGINE, FAMILY, SERVERS, empty_database, server
from tests.kit.replication import rows
from tests.kit.service import Service, claim, inventories

pytestmark = pytest.mark.skipif(FAMILY != "mariadb", reason="other databases have no modes of SQL")

MODES = """
    ANSI ANSI_QUOTES HIGH_NOT_PRECEDENCE IGNORE_SPACE NO_BACKSLASH_ESCAPES NO_UNSIGNED_SUBTRACTION
    ONLY_FULL_GROUP_BY PAD_CHAR_TO_FULL_LENGTH PIPES_AS_CONCAT REAL_AS_FLOAT TRADITIONAL
"""
OTHERS = """
    autocommit=OFF div_precision_increment=0 innodb_strict_mode=OFF time_zone='+13:00'
"""
OF_ENGINE = {
    "mariadb": "innodb_force_primary_key=ON innodb_snapshot_isolation=ON sql_mode='ORACLE' "
    "sql_mode='POSTGRESQL' sql_mode='EMPTY_STRING_IS_NULL' tx_isolation='SERIALIZABLE'",
    "mysql": "sql_require_primary_key=ON explicit_defaults_for_timestamp=OFF "
    "sql_generate_invisible_primary_key=ON transaction_isolation='SERIALIZABLE' "
    "default_collation_for_utf8mb4='utf8mb4_general_ci'",
}
# Settings, each with `mysql_sql_mode`.
CASES = [(f"sql_mode='{mode}'", stated) for mode in ["", *MODES.split()] for stated in ("ANSI", "")]
CASES += [(each, "TRADITIONAL") for each in (OTHERS + OF_ENGINE.get(ENGINE, "")).split()]

HOST = "c0ffee00-0000-4000-8000-00000000000a"
NAME = """it's "one" \\ of `two` %s"""


@pytest.mark.parametrize(("setting", "mode"), CASES)
def test_the_service_works_with_any_default_of_the_server(
    tmp_path: Path, setting: str, mode: str
) -> None:
    name = setting.partition("=")[0]
    (before,) = rows(server(), f"SELECT @@GLOBAL.{name} AS value")
    server().execute(f"SET GLOBAL {setting}")
    try:
        migrate_and_use(empty_database(tmp_path) + ("?sql_mode=ANSI_QUOTES" if mode else ""), mode)
    finally:
        server().execute(f"SET GLOBAL {name} = {before['value']!r}")


def test_the_service_works_if_the_server_changes_names_of_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind, option = SERVERS[ENGINE], "--lower-case-table-names=1"
    make = kind.make
    monkeypatch.setattr(kind, "make", lambda made: (*make(made), option))
    started = kind(options=[option])
    started.execute("CREATE DATABASE Placement")
    migrate_and_use(started.url("Placement"), "")
    started.discard()


def migrate_and_use(url: str, mode: str) -> None:
    options = {"mysql_sql_mode": mode}
    app.prepare(Database(settings(url, placement_database=options).database), sync=True)
    with Service(Path(), url=url, placement_database=options) as service:
        service.expect(200, "POST", "/resource_providers", {"name": NAME, "uuid": HOST})
        path = f"/resource_providers/{HOST}/inventories"
        service.expect(200, "PUT", path, inventories(0, VCPU=4))
        for _ in range(3):  # the third time, statements are prepared
            consumer = f"/allocations/{uuids.uuid4()}"
            service.expect(204, "PUT", consumer, claim({HOST: {"VCPU": 1}}, project=NAME))
            found = service.get("/allocation_candidates?resources=VCPU:1&limit=1")
            assert found["provider_summaries"][HOST]["resources"]["VCPU"]["capacity"] == 4
            listed = service.get(f"/resource_providers?name={quote(NAME)}")["resource_providers"]
            assert [each["name"] for each in listed] == [NAME]
        service.expect(204, "DELETE", consumer)
        usages = service.get(f"/usages?project_id={quote(NAME)}")["usages"]
        assert usages["INSTANCE"]["VCPU"] == 2
        service.check_used()
