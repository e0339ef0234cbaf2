"""Private parts of libraries: used in one module each, and only while there is no public way.

A test that fails after an upgrade says that upstream has changed what it offers: look whether it
is what `placement/compat` works around.
"""

from __future__ import annotations

import ast
import inspect
import ssl
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import prometheus_client.values
import psycopg
import pymysql
import pytest
import sqlalchemy as sa
from oslo_context import context
from prometheus_client import multiprocess
from sqlalchemy import exc
from sqlalchemy.sql.compiler import ExpandedState, SQLCompiler

from placement.compat import prometheus as prometheus_compat
from placement.compat import pymysql as pymysql_compat
from placement.compat.sqlalchemy import connect, execute_text, expand
from tests.db.snapshots import ENGINES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "placement"
CLIENT = ROOT / "falcon_placement_client"
COMPAT = PACKAGE / "compat"
# Of named tuples, rows, enumerations and os: documented, though they begin with an underscore.
PUBLIC = frozenset({"_asdict", "_exit", "_fields", "_make", "_replace", "_value_"})
# Modules without documentation, though their names do not begin with an underscore.
INTERNAL = (
    "prometheus_client.mmap_dict",
    "prometheus_client.values",
    "sqlalchemy.sql.compiler",
)


def private_uses(source: str) -> list[str]:
    """Return private names of other modules that a text uses, line by line.

    Not counted are members of `self` and `cls`, and names that the text itself defines.
    """
    tree = ast.parse(source)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
                own.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            own.add(node.target.id)
    uses: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            if not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}):
                uses.append((node.lineno, ast.unparse(node)))
        elif isinstance(node, ast.Call):
            names = [each.arg for each in node.keywords if each.arg and is_private(each.arg)]
            uses += [(node.lineno, f"{name}=") for name in names]
        elif isinstance(node, ast.Import):
            uses += [(node.lineno, each.name) for each in node.names if is_internal(each.name)]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
            uses += [(node.lineno, name) for name in names if is_internal(name)]
    return [name for _line, name in sorted(uses)]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def is_internal(name: str) -> bool:
    if name.startswith(("placement.", "_typeshed.")):
        return False
    return any(map(is_private, name.split("."))) or name.startswith(INTERNAL)


def test_private_parts_of_libraries_are_used_in_one_module_each() -> None:
    uses = {
        str(path.relative_to(ROOT)): private_uses(path.read_text())
        for path in [*PACKAGE.rglob("*.py"), *CLIENT.rglob("[a-z_]*.py")]
        if not path.is_relative_to(COMPAT)
    }
    assert {path: names for path, names in uses.items() if names} == {}


def test_each_module_has_private_parts_of_one_library() -> None:
    modules = sorted(path.stem for path in COMPAT.glob("*.py") if path.stem != "__init__")
    assert modules == [
        "keystonemiddleware", "oslo_context", "prometheus", "psycopg", "pymysql", "sqlalchemy",
    ]  # fmt: skip
    for module in modules:
        assert private_uses((COMPAT / f"{module}.py").read_text()), module


def test_a_private_part_is_noticed() -> None:
    source = """
import prometheus_client.values
from sqlalchemy.sql.compiler import SQLCompiler
from library._inside import thing
from prometheus_client import values

class Own:
    def __init__(self): self._mine = thing(_keyword=1)
    def of(self, other): return other._mine, self._inherited, row._replace(a=1)

library.store._value = 1
"""
    assert private_uses(source) == [
        "prometheus_client.values",
        "sqlalchemy.sql.compiler.SQLCompiler",
        "library._inside.thing",
        "prometheus_client.values",
        "_keyword=",
        "library.store._value",
    ]


# -- oslo.context -----------------------------------------------------------------------------


def public_functions(module: ModuleType) -> set[str]:
    functions = inspect.getmembers(module, inspect.isfunction)
    return {name for name, each in functions if each.__module__ == module.__name__} - {
        name for name, _each in functions if name.startswith("_")
    }


def test_oslo_context_has_no_function_that_clears_the_context_of_a_thread() -> None:
    assert public_functions(context) == {
        "generate_request_id",
        "get_admin_context",
        "get_context_from_function_and_args",
        "get_current",
        "is_user_context",
    }


# -- PyMySQL ----------------------------------------------------------------------------------


def context_of(**options: bool) -> Any:
    """Return the TLS context of a connection that is not opened."""
    return pymysql.Connection(defer_connect=True, **options).ctx


@pytest.mark.skipif(pymysql.VERSION < (1, 2), reason="without options there is no context")
def test_connections_without_options_of_tls_share_a_context() -> None:
    context = context_of()
    assert context_of() is context
    assert context.verify_mode is ssl.CERT_NONE
    verifying = context_of(ssl_verify_cert=True)
    assert verifying is not context
    assert verifying.verify_mode is ssl.CERT_REQUIRED
    assert context.verify_mode is ssl.CERT_NONE


@pytest.mark.skipif(pymysql.VERSION < (1, 2), reason="without options there is no context")
def test_the_driver_makes_a_context_for_each_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pymysql.Connection, "_create_ssl_ctx", pymysql_compat._make_context)
    assert context_of() is not context_of()


# -- prometheus-client ------------------------------------------------------------------------


def test_files_are_counted_in_though_the_library_was_imported_without_a_directory(
    tmp_path: Path,
) -> None:
    code = (
        "import os, prometheus_client\n"
        "os.environ['PROMETHEUS_MULTIPROC_DIR'] = os.getcwd()\n"
        "from placement.compat import prometheus\n"
        "prometheus.count_in_files()\n"
        "prometheus_client.Counter('a', 'b', registry=None).inc()\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    (path,) = tmp_path.glob("counter_*.db")
    (count,) = (n for key, n in prometheus_compat.read_file(path).items() if "a_total" in key)
    assert count == 1


def test_prometheus_chooses_its_files_at_import_and_cannot_fold_them() -> None:
    # Offered would be a choice after the import, and a function that adds up the files of
    # processes that are gone.
    assert public_functions(prometheus_client.values) == {
        "MultiProcessValue",
        "close_all_multiprocess_files",
        "get_value_class",
    }
    assert public_functions(multiprocess) == {"mark_process_dead"}


# -- psycopg ----------------------------------------------------------------------------------


def test_psycopg_does_not_let_callers_name_prepared_statements() -> None:
    # Offered would be a prefix of the names, or a function that returns them.
    found = {name for name in dir(psycopg.Connection) if "prepare" in name and name[0] != "_"}
    assert found == {"prepare_threshold", "prepared_max", "tpc_prepare"}


# -- SQLAlchemy -------------------------------------------------------------------------------


def test_a_connection_begins_a_transaction_by_itself_only_where_it_may() -> None:
    engine = sa.create_engine("sqlite://")
    with connect(engine, begins=True) as conn:
        conn.exec_driver_sql("SELECT 1")
        assert conn.in_transaction()
    with connect(engine, begins=False) as conn:
        conn.exec_driver_sql("SELECT 1")
        assert not conn.in_transaction()
        with pytest.raises(exc.InvalidRequestError), conn.begin(), conn.begin():
            pass  # one that is asked for is one, all the same


def test_sqlalchemy_connects_without_autobegin_in_no_other_way() -> None:
    # Offered would be `engine.connect(autobegin=False)`.
    assert list(inspect.signature(sa.Engine.connect).parameters) == ["self"]


@pytest.mark.parametrize("begins", [True, False])
def test_a_text_has_the_outcome_that_sqlalchemy_would_return(begins: bool) -> None:
    engine = sa.create_engine("sqlite://")
    with connect(engine, begins=begins) as conn:
        assert execute_text(conn, "CREATE TABLE t (n INTEGER)", ()).rows == ()
        assert conn.in_transaction() is begins
        assert execute_text(conn, "INSERT INTO t VALUES (?), (?)", (1, 2)).matched == 2
        assert execute_text(conn, "UPDATE t SET n = n + ?", (5,)).matched == 2
        sql, values = "SELECT n, 'x' FROM t WHERE n > ?", (0,)
        rows = execute_text(conn, sql, values).rows
        assert rows == conn.exec_driver_sql(sql, values).all() == [(6, "x"), (7, "x")]


@pytest.mark.parametrize("is_lost", [True, False])
def test_an_error_of_a_text_is_sqlalchemys(monkeypatch: pytest.MonkeyPatch, is_lost: bool) -> None:
    engine = sa.create_engine("sqlite://")
    monkeypatch.setattr(engine.dialect, "is_disconnect", lambda *_: is_lost)
    raised: list[exc.DBAPIError] = []
    for execute in (execute_text, sa.Connection.exec_driver_sql):
        with connect(engine, begins=True) as conn:
            with pytest.raises(exc.OperationalError, match="no such column: x") as caught:
                execute(conn, "SELECT x", ())
            assert conn.invalidated is is_lost
            if is_lost:
                with pytest.raises(exc.PendingRollbackError):
                    execute(conn, "SELECT 1", ())
            raised.append(caught.value)
    ours, theirs = raised
    assert ours.connection_invalidated is theirs.connection_invalidated is is_lost
    assert (ours.statement, str(ours)) == (theirs.statement, str(theirs))


def test_a_value_that_the_driver_refuses_leaves_the_connection() -> None:
    with connect(sa.create_engine("sqlite://"), begins=True) as conn:
        with pytest.raises(OverflowError):
            execute_text(conn, "SELECT ?", (1 << 70,))
        assert execute_text(conn, "SELECT ?", (1,)).rows == [(1,)]


def test_an_interrupted_text_loses_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with connect(sa.create_engine("sqlite://"), begins=True) as conn:
        cursor = SimpleNamespace(execute=interrupt, close=lambda: None)
        monkeypatch.setattr(conn.connection, "cursor", lambda: cursor)
        with pytest.raises(KeyboardInterrupt):
            execute_text(conn, "SELECT 1", ())
        assert conn.invalidated


@pytest.mark.parametrize("event", ["before_cursor_execute", "after_cursor_execute", "do_execute"])
def test_listeners_see_a_text(event: str) -> None:
    engine = sa.create_engine("sqlite://")
    seen: list[object] = []
    with connect(engine, begins=False) as conn:
        sa.event.listen(engine, event, lambda *args: seen.append(args))
        assert execute_text(conn, "SELECT 1", ()).rows == [(1,)]
    assert len(seen) == 1


def test_sqlalchemy_executes_texts_with_a_result_only() -> None:
    # Offered would be an option for the plain rows of the driver.
    parameters = inspect.signature(sa.Connection.exec_driver_sql).parameters
    assert list(parameters) == ["self", "statement", "parameters", "execution_options"]


def test_a_statement_is_expanded_for_the_lengths_of_its_lists() -> None:
    table = sa.table("t", sa.column("id", sa.Integer), sa.column("at", sa.DateTime))
    statement = sa.select(table.c.id).where(
        table.c.id.in_(sa.bindparam("ids", expanding=True)),
        table.c.at < sa.bindparam("then"),
        table.c.id != 7,
    )
    dialect = sa.create_engine("sqlite://").dialect
    expanded = expand(dialect, statement, {"ids": [1, 2], "then": None})
    assert expanded.sql.count("?") == 4
    assert expanded.lists["ids"] == ["ids_1", "ids_2"]
    assert expanded.order == ["ids_1", "ids_2", "then", "id_1"]
    assert expanded.parameters["id_1"] == 7
    assert expanded.converters.keys() == {"then"}
    assert expand(ENGINES["postgresql"], statement, {"ids": [1], "then": None}).order is None


def test_sqlalchemy_tells_the_functions_of_parameters_nowhere_else() -> None:
    # Public alternatives return all functions that convert values, with the expanded state, which
    # has only the functions of lists.
    assert ExpandedState._fields == (
        "statement",
        "parameters",
        "processors",
        "positiontup",
        "parameter_expansion",
    )
    assert not hasattr(SQLCompiler, "bind_processors")
