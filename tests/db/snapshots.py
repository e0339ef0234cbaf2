"""The SQL of every statement, in files that a reader can open.

`python -m tests.db.snapshots --write` writes them to `tests/db/statements`, a file for each module
of `db.statements`; without `--write` it lists which are out of date, as `test_snapshots` does.
Each is shown once, in a generic form with everything that only some engines receive, such as
`STRAIGHT_JOIN`; `constructs.sql` shows what the engines receive where they differ.
Parameters are shown by name, without the type that a driver adds, and the list of an IN as
`(:name …)`; what a statement has been built with is shown in its place.
"""

import argparse
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGCompiler
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import BindTyping
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from placement.db import constructs, dialects, statements
from placement.db import tables as t
from placement.db.json_rows import JsonRow, JsonRows
from placement.db.statement import Queries, Query, Write, Writes
from tests.db.examples import ARGUMENTS, BUILT, VARIANTS

DIRECTORY = Path(__file__).parent / "statements"
COMMAND = "python -m tests.db.snapshots --write"
WIDTH = 100


def _dialect(url: str) -> sa.Dialect:
    dialect = sa.make_url(f"{url}://").get_dialect()(paramstyle="named")  # type: ignore[call-arg]
    dialect.bind_typing = BindTyping.NONE  # psycopg's adds a type to each parameter
    return dialect


ENGINES: Mapping[str, sa.Dialect] = {
    "sqlite": _dialect("sqlite"),
    "mysql": _dialect("mysql+pymysql"),
    "postgresql": _dialect("postgresql+psycopg"),
}


class _GenericCompiler(SQLCompiler):
    """SQLAlchemy's generic spelling, with everything that only some engines receive."""

    # PostgreSQL has a name for each strength of a lock.
    for_update_clause = PGCompiler.for_update_clause

    def _generate_prefixes(self, stmt: Any, prefixes: Any, **options: Any) -> str:
        every = [(prefix, None) for prefix, engine in prefixes if engine in {None, "mysql"}]
        return str(super()._generate_prefixes(stmt, every, **options))  # type: ignore[no-untyped-call]

    def _setup_select_hints(self, select: Any) -> Any:
        every = select._hints.items()
        hints = {table: hint for (table, engine), hint in every if engine in {"*", "mysql"}}
        return self.get_select_hint_text(hints), hints  # type: ignore[no-untyped-call]

    def get_from_hint_text(self, _table: Any, text: str | None) -> str | None:
        return text


GENERIC = DefaultDialect(paramstyle="named")
GENERIC.name, GENERIC.statement_compiler = "generic", _GenericCompiler
GENERIC.supports_multivalues_insert = True
compiles(constructs._InOrder, GENERIC.name)(constructs._locking)

# What `db.dialects` states of an engine, in the generic form.
FORMS = SimpleNamespace(
    any_text="any_text({})",
    ascii_text="ascii_text({})",
    bytes_of_text="bytes_of_text({})",
    clock="clock()",
    json_row=lambda columns: f"json_row({', '.join(sql for sql, _type in columns)})",
    json_rows=lambda columns: f"json_rows({', '.join(sql for sql, _type in columns)})",
    unless_present="ON CONFLICT DO NOTHING",
    without_index="+",
)

Statement = Query | Write | Queries | Writes

_provider, _inventory, _consumer = t.resource_providers.c, t.inventories.c, t.consumers.c
_COLUMNS = (_provider.id, _provider.name, _inventory.allocation_ratio, _provider.created_at)

# What shows the form of each construct.
CONSTRUCTS: Mapping[str, sa.sql.ClauseElement] = {
    "any_text": constructs.any_text(_provider.name),
    "clock": constructs.Clock(),
    "force_index": constructs.force_index(
        sa.select(t.inventories.c.id), t.inventories, t.STOCKS_INDEX
    ),
    "insert_unless_present": constructs.insert_unless_present(t.traits),
    "json_row": JsonRow(*_COLUMNS),
    "json_rows": JsonRows(*_COLUMNS),
    "locked_in_order": constructs.locked_in_order(
        _provider.id, sa.bindparam("ids", expanding=True), sa.select(_provider.id)
    ),
    "same_identifier": constructs.same_identifier(_provider.uuid, _consumer.uuid),
    "same_text": constructs.same_text(_provider.name, "name"),
    "straight_join": constructs.straight_join(sa.select(_provider.id)),
    "with_for_update": sa.select(_provider.id).with_for_update(),
    "with_for_update, key_share": sa.select(_provider.id).with_for_update(key_share=True),
    "with_for_update, read": sa.select(_provider.id).with_for_update(read=True),
    "without_index": constructs.without_index(_provider.id),
}

MODULES = [
    importlib.import_module(f"{statements.__name__}.{module.name}")
    for module in pkgutil.iter_modules(statements.__path__)
]


def functions() -> dict[str, Callable[..., Any]]:
    """Return the functions of `db.statements` that create statements, by module and name."""
    found: dict[str, Callable[..., Any]] = {}
    for module in MODULES:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            own = function.__module__ == module.__name__ and not name.startswith("_")
            if own and inspect.signature(function).return_annotation in _KINDS:
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = function
    return found


_KINDS = {Query, Queries, Write, Writes}


def every_statement() -> Iterator[tuple[str, Query | Write]]:
    """Yield the name of each function and each statement of its examples."""
    for name, function in functions().items():
        for example in _examples(name, function).values():
            for statement in _singles(example):
                yield name, statement


def snapshots() -> dict[Path, str]:
    """Return the content of all files."""
    files = {DIRECTORY / "constructs.sql": "\n".join(map(_construct, CONSTRUCTS))}
    with patch.dict(dialects._BY_NAME, {GENERIC.name: FORMS}):
        for module in MODULES:
            noun = module.__name__.rpartition(".")[2]
            parts = [
                _part(name, function)
                for name, function in functions().items()
                if name.startswith(f"{noun}.")
            ]
            files[DIRECTORY / f"{noun}.sql"] = "\n".join(parts)
    return files


def _construct(name: str) -> str:
    texts = {
        engine: str(CONSTRUCTS[name].compile(dialect=dialect)).replace(" \n", " ")
        for engine, dialect in ENGINES.items()
    }
    return "".join([f"-- {name}\n", *(f"{texts[engine]};  -- {engine}\n" for engine in texts)])


def _part(name: str, function: Callable[..., Any]) -> str:
    summary = inspect.getdoc(function).split("\n", 1)[0]  # type: ignore[union-attr]
    lines = [f"-- {name}: {summary}"]
    for variant, statement in _examples(name, function).items():
        if variant:
            lines.append(f"\n-- {variant}")
        lines += [_laid_out(sql(each, GENERIC)) for each in _singles(statement)]
    return "\n".join(lines) + "\n"


def _examples(name: str, function: Callable[..., Any]) -> dict[str, Statement]:
    if name in ARGUMENTS:
        return {"": function(*ARGUMENTS[name])}
    if name in VARIANTS:
        return {what: function(*arguments) for what, arguments in VARIANTS[name].items()}
    return {what: make() for what, make in BUILT[name].items()}


def _singles(statement: Statement) -> Sequence[Query | Write]:
    return statement if isinstance(statement, tuple) else (statement,)


def sql(statement: Query | Write, dialect: sa.Dialect) -> str:
    """Return the text that an engine receives, with its clauses on separate lines."""
    columns = list(statement.params) if isinstance(statement.sql, sa.Insert) else None
    compiled = statement.sql.compile(dialect=dialect, column_keys=columns or None)

    def value(match: re.Match[str]) -> str:
        """Return a constant, or the value of the example, or the parameter."""
        name = match["list"] or match["number"] or match["name"]
        constant = compiled.params.get(name)
        if name in statement.params or constant is None or isinstance(constant, datetime):
            return f"(:{name} …)" if match["list"] else f":{name}"
        return f"({', '.join(map(repr, constant))})" if match["list"] else repr(constant)

    text = _PLACEHOLDER.sub(value, str(compiled))
    return _CLAUSE.sub(r"\n\1", _LABEL.sub(r"\1", text)) + ";"


_PLACEHOLDER = re.compile(
    r"\(__\[POSTCOMPILE_(?P<list>\w+)\]\)|__\[POSTCOMPILE_(?P<number>\w+)\]"
    r"|(?<!:):(?P<name>\w+)"
)

_LABEL = re.compile(r"(\.(\w+)) AS \2\b")  # of a column with its own name

_CLAUSE = re.compile(
    r" ((?:WHERE|ORDER BY|GROUP BY|HAVING|LIMIT|SET|VALUES|ON CONFLICT|ON DUPLICATE|UNION"
    r"|(?<=UNION )SELECT|(?<=UNION ALL )SELECT)\b)"
)


def _laid_out(text: str) -> str:
    """Indent each line by the number of open parentheses, and wrap it."""
    lines: list[str] = []
    depth = 0
    for line in text.splitlines():
        indent = "  " * depth
        lines += textwrap.wrap(
            line.strip(),
            max(WIDTH, len(indent) + WIDTH // 2),
            initial_indent=indent,
            subsequent_indent=indent + "    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        depth += line.count("(") - line.count(")")
    return "\n".join(lines)


def outdated() -> Iterator[Path]:
    """Yield the files that differ from the generated ones, are missing, or are unused."""
    files = snapshots()
    for path, content in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            yield path
    yield from set(DIRECTORY.glob("*.sql")) - files.keys()


def main() -> int:
    """Write the files, or list the files that are out of date."""
    parser = argparse.ArgumentParser(prog="python -m tests.db.snapshots", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write what is out of date")
    write = parser.parse_args().write
    paths = sorted(outdated())
    for path in paths:
        print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
    if write:
        files = snapshots()
        DIRECTORY.mkdir(exist_ok=True)
        for path in paths:
            if path in files:
                path.write_text(files[path], encoding="utf-8")
            else:
                path.unlink()
    return 0 if write else len(paths) > 0


if __name__ == "__main__":
    sys.exit(main())
