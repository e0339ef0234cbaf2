"""The SQL of every statement, as each engine is sent it, in files that a reader can open.

`python -m tests.db.snapshots --write` writes them to `tests/db/statements`; without `--write` it
says which are out of date, as `test_snapshots` does. Parameters are shown by name, whatever a
driver calls them, and the list of an IN as `(:name …)`; what a statement has been built with is
shown in its place.
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
from typing import Any

import sqlalchemy as sa

from placement.db import statements
from placement.db.conditions import (
    Driver,
    DrivingCondition,
    MemberCondition,
    RootCondition,
    TreeFilter,
)
from placement.db.statement import Queries, Query, Write, Writes
from placement.db.statements import derived, integrity, names, providers

DIRECTORY = Path(__file__).parent / "statements"
COMMAND = "python -m tests.db.snapshots --write"
WIDTH = 100

ENGINES: Mapping[str, sa.Dialect] = {
    name: sa.make_url(f"{url}://").get_dialect()(paramstyle="named")  # type: ignore[call-arg]
    for name, url in (
        ("sqlite", "sqlite"),
        ("mysql", "mysql+pymysql"),
        ("postgresql", "postgresql+psycopg"),
    )
}

Statement = Query | Write | Queries | Writes
Makers = Mapping[str, Callable[[], Statement]]

MODULES = [
    importlib.import_module(f"{statements.__name__}.{module.name}")
    for module in pkgutil.iter_modules(statements.__path__)
]

UUID = "c0ffee00-0000-4000-8000-000000000000"
ROW = {"resource_provider_id": 1, "resource_class_id": 0}
AMOUNTS = {
    "total": 8,
    "reserved": 0,
    "min_unit": 1,
    "max_unit": 8,
    "step_size": 1,
    "allocation_ratio": 1.0,
    "capacity": 8,
}
OWNER = {"project_id": 1, "user_id": 1, "consumer_type_id": None}

WITH_ROOM = MemberCondition(resources=((0, 1), (1, 64)))
SUFFIXED = MemberCondition(
    resources=((2, 1),),
    traits=(frozenset({1}), frozenset({2, 3})),
    forbidden=frozenset({4}),
    aggregates=(frozenset({5}),),
    not_aggregates=frozenset({6}),
)
UNSUFFIXED = MemberCondition(aggregates=(frozenset({5}),), spans=True)
REACHING = MemberCondition(resources=((2, 1),), reach=frozenset({7}))
ANY_ROOT = RootCondition()


def _tree(*conditions: MemberCondition, root: RootCondition = ANY_ROOT, own: bool = False) -> Any:
    return TreeFilter(conditions, root, own)


# function -> its arguments, where one example says all
ARGUMENTS: Mapping[str, Sequence[Any]] = {
    "allocations.create": ([{"consumer_id": UUID, **ROW, "used": 1}],),
    "allocations.create_consumers": ([{"uuid": UUID, **OWNER}],),
    "allocations.delete": ([1],),
    "allocations.delete_consumers": ({1: 3},),
    "allocations.of_consumers": ([UUID],),
    "allocations.on_provider": (1,),
    "allocations.show": ([UUID],),
    "allocations.update_consumers": ({1: {**OWNER, "generation": 3}},),
    "associations.add_aggregates": (1, [2]),
    "associations.add_traits": (1, [2]),
    "associations.aggregates_of": (1,),
    "associations.remove_aggregates": (1, [2]),
    "associations.remove_traits": (1, [2]),
    "associations.traits_of": (1,),
    "associations.traits_of_and": (1, [2]),
    "derived.inventories": (0, 1000),
    "derived.roots": (0, 1000),
    "derived.set_column": ("used", {1: 2}),
    "derived.set_revisions": ({1: 2},),
    "derived.sums": (),
    "derived.uncounted_roots": (),
    "integrity.allocations_without_inventory": (),
    "integrity.delete_idle_consumers": (1,),
    "integrity.detach": ([1],),
    "integrity.forest": (0, 1000),
    "integrity.idle_consumers": (),
    "integrity.inventories_of_unknown_class": (),
    "integrity.numbered_inventories": ([1],),
    "integrity.overcommitted": (),
    "integrity.parents": ([1],),
    "integrity.record_consumers": ([UUID], 1, 1),
    "integrity.rootless": (1000,),
    "integrity.set_roots": ({1: 2},),
    "integrity.shape": (),
    "integrity.unowned_consumers": (),
    "integrity.unrecorded_consumers": (),
    "inventories.create": ([{**ROW, **AMOUNTS}],),
    "inventories.delete_unused": ([1],),
    "inventories.move_used": ({1: 2, 3: -4},),
    "inventories.of_providers": ([1],),
    "inventories.update": ({1: AMOUNTS},),
    "names.add": ("resource_class", [{"id": 10000, "name": "CUSTOM_A"}]),
    "names.add_unless_present": ("aggregate", [UUID]),
    "names.all_names": ("trait",),
    "names.change_id": ("resource_class", -1, 0),
    "names.delete_resource_class": ("CUSTOM_A",),
    "names.delete_trait": ("CUSTOM_A",),
    "names.ids": ({"resource_class": ["VCPU"]},),
    "names.lock_exclusive": ("resource_class", "CUSTOM_A"),
    "names.lock_shared": ("resource_class", [10000]),
    "names.newest": ("resource_class",),
    "names.rename_resource_class": ("CUSTOM_A", "CUSTOM_B"),
    "names.with_trees": ({"resource_class": ["VCPU"], "project": ["p"]}, [UUID], [UUID]),
    "providers.bump_generations": ({1: 1, 2: 1},),
    "providers.clashing": (UUID, "host"),
    "providers.create": (UUID, "host", None, None, 1),
    "providers.delete": (1, {"inventories": 1, "traits": 1, "aggregates": 1}),
    "providers.dependants": (1,),
    "providers.locked": ([UUID],),
    "providers.members_of_tree": (1,),
    "providers.rename": (1, "host", None),
    "providers.renew_revisions": ([1], 2),
    "providers.revisions": ([1],),
    "providers.roots_stocking": ("CUSTOM_A",),
    "providers.set_root": ([1], 1),
    "providers.whole": ([UUID],),
    "roots.next_roots": (0, 1000),
    "roots.outermost_roots": (),
    "sharing.reached_sets": ([1, 2], RootCondition(traits=frozenset({1}))),
    "sharing.with_trait": (1,),
    "trees.members": ([1],),
    "trees.trait_names": ([1],),
}

# function -> what is particular -> its arguments
VARIANTS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "integrity.delete_lost": {"inventories": ("inventories", 1), "traits": ("traits", 1)},
    "integrity.lost": {
        kind: (kind,) for kind in ("inventories", "allocations", "traits", "aggregates")
    },
    "roots.matching_roots": {
        "with room, beginning with what is rare": (
            0,
            _tree(WITH_ROOM),
            DrivingCondition(0, Driver.RESOURCES),
        ),
        "all conditions of a member, beginning with traits": (
            0,
            _tree(WITH_ROOM, SUFFIXED),
            DrivingCondition(1, Driver.TRAITS),
        ),
        "aggregates of the root or of a member, beginning with them": (
            0,
            _tree(UNSUFFIXED),
            DrivingCondition(0, Driver.AGGREGATES),
        ),
        "of the root, beginning with its traits": (
            0,
            _tree(
                WITH_ROOM,
                root=RootCondition(frozenset({1}), frozenset({2}), frozenset({3})),
            ),
            None,
        ),
        "from elsewhere, or by a member of its own": (0, _tree(REACHING, own=True), None),
        "in one tree": (0, _tree(MemberCondition(resources=((0, 1),), tree=1)), None),
    },
    "usages.amounts": {"of a project": ("p", None), "of a user": ("p", "u")},
    "usages.consumer_counts": {"of a project": ("p", None), "of a user": ("p", "u")},
}

# function -> what is particular -> the statement, where arguments are made by other functions
BUILT: Mapping[str, Makers] = {
    "integrity.count": {"of others": lambda: integrity.count(derived.uncounted_roots())},
    "integrity.examples": {"of others": lambda: integrity.examples(derived.uncounted_roots(), 3)},
    "names.dated": {
        "of one name": lambda: names.dated("trait", names.named("trait", ["CUSTOM_A"])),
        "with a prefix": lambda: names.dated("trait", names.starts_with("trait", "CUSTOM_")),
        "that providers have": lambda: names.dated("trait", names.trait_is_associated()),
        "that are stocked": lambda: names.dated(
            "resource_class", names.resource_class_is_stocked()
        ),
    },
    "providers.listed": {
        "all": providers.listed,
        "by name and uuid": lambda: providers.listed(
            providers.is_named("host"), providers.named([UUID])
        ),
        "by tree, traits, aggregates and room": lambda: providers.listed(
            providers.in_tree(1),
            providers.has_all_traits([1, 2]),
            some=[providers.any_aggregate([3]), providers.room(0, 1)],
            none=[providers.any_trait([4])],
        ),
        "by more conditions than are joined": lambda: providers.listed(
            some=[providers.any_trait([trait]) for trait in range(providers.MOST_JOINED + 1)]
        ),
    },
}


def functions() -> dict[str, Callable[..., Any]]:
    """Return the functions of `db.statements` that make statements, by module and name."""
    found: dict[str, Callable[..., Any]] = {}
    for module in MODULES:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            own = function.__module__ == module.__name__ and not name.startswith("_")
            if own and inspect.signature(function).return_annotation in _KINDS:
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = function
    return found


_KINDS = {Query, Queries, Write, Writes}


def snapshots() -> dict[Path, str]:
    """Return the content of all files."""
    files: dict[Path, str] = {}
    for module in MODULES:
        noun = module.__name__.rpartition(".")[2]
        for engine, dialect in ENGINES.items():
            parts = [
                _part(name, function, dialect)
                for name, function in functions().items()
                if name.startswith(f"{noun}.")
            ]
            files[DIRECTORY / f"{noun}.{engine}.sql"] = "\n\n".join(parts)
    return files


def _part(name: str, function: Callable[..., Any], dialect: sa.Dialect) -> str:
    summary = inspect.getdoc(function).split("\n", 1)[0]  # type: ignore[union-attr]
    lines = [f"-- {name}: {summary}"]
    for variant, statement in _examples(name, function).items():
        if variant:
            lines.append(f"\n-- {variant}")
        lines += [_sql(each, dialect) for each in _singles(statement)]
    return "\n".join(lines) + "\n"


def _examples(name: str, function: Callable[..., Any]) -> dict[str, Statement]:
    if name in ARGUMENTS:
        return {"": function(*ARGUMENTS[name])}
    if name in VARIANTS:
        return {what: function(*arguments) for what, arguments in VARIANTS[name].items()}
    return {what: make() for what, make in BUILT[name].items()}


def _singles(statement: Statement) -> Sequence[Query | Write]:
    return statement if isinstance(statement, tuple) else (statement,)


def _sql(statement: Query | Write, dialect: sa.Dialect) -> str:
    columns = list(statement.params) if isinstance(statement.sql, sa.Insert) else None
    compiled = statement.sql.compile(dialect=dialect, column_keys=columns or None)

    def value(match: re.Match[str]) -> str:
        """Return what is always the same, or was given for the example; else the parameter."""
        name = match["list"] or match["name"]
        constant = compiled.params.get(name)
        if name in statement.params or constant is None or isinstance(constant, datetime):
            return f"(:{name} …)" if match["list"] else match[0]
        return f"({', '.join(map(repr, constant))})" if match["list"] else repr(constant)

    text = _PLACEHOLDER.sub(value, str(compiled))
    return _laid_out(_CLAUSE.sub(r"\n\1", text)) + ";"


# PostgreSQL is told the types of parameters.
_PLACEHOLDER = re.compile(r"\(__\[POSTCOMPILE_(?P<list>\w+)\]\)|(?<!:):(?P<name>\w+)(::\w+)?")

_CLAUSE = re.compile(
    r" ((?:WHERE|ORDER BY|GROUP BY|HAVING|LIMIT|SET|VALUES|ON CONFLICT|ON DUPLICATE|UNION"
    r"|(?<=UNION )SELECT|(?<=UNION ALL )SELECT)\b)"
)


def _laid_out(text: str) -> str:
    """Indent each line by the parentheses that are open, and wrap it."""
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
    """Yield the files that differ from what is made now, are missing, or are of no use."""
    files = snapshots()
    for path, content in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            yield path
    yield from set(DIRECTORY.glob("*.sql")) - files.keys()


def main() -> int:
    """Write the files, or say which are out of date."""
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
