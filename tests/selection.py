"""Which tests run on which engine, and why: a plugin of pytest for `python -m tests`.

All tests run on SQLite. On a server, `--selection=whole` leaves out the tests that cannot fail
there in another way. `--selection=sample` runs a part of the rest, `--selection=smoke` the few that
`make test` runs there, and `--selection=driver` the tests that another driver can fail. Plain
pytest has no selection: it runs the tests that it is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_GABBIT = re.compile(r"(tests/api/test_gabbits\.py::)test_pytest\[gabbits:([^_]+)_")


@dataclass(frozen=True)
class Rule:
    """A reason why tests run where they run."""

    # One line.
    why: str
    # Where the files are.
    folder: str
    # Names of files there, also with the name of a test after "::". Without these, and without
    # gabbits, the rule has the whole folder.
    tests: str = ""
    # What the rule excepts, by the same names.
    but: str = ""
    # Files in `gabbits`: `usages.yaml` is the test `test_gabbits.py::usages`.
    gabbits: str = ""

    def has(self, name: str) -> bool:
        """Return whether a test is one of these."""
        return _is_in(name, self._tests()) and not _is_in(name, self._paths(self.but.split()))

    def has_all(self, path: str) -> bool:
        """Return whether all tests of a folder or file are among these."""
        return _is_in(path, self._tests()) and not _has_one(path, self._paths(self.but.split()))

    def has_some(self, path: str) -> bool:
        """Return whether some tests of a folder or file are among these."""
        names = self._tests()
        return _is_in(path, names) or _has_one(path, names)

    def names(self) -> Sequence[str]:
        """Return the complete names of the listed tests."""
        return [*self._tests(), *self._paths(self.but.split())]

    def _tests(self) -> Sequence[str]:
        gabbits = [f"test_gabbits.py::{name}" for name in self.gabbits.split()]
        return self._paths([*self.tests.split(), *gabbits] or [""])

    def _paths(self, names: Sequence[str]) -> Sequence[str]:
        return [f"{self.folder}/{name}".rstrip("/") for name in names]


# What a server cannot fail at in another way than SQLite does.
ON_SQLITE_ALONE: Sequence[Rule] = (
    Rule("unit tests query no database, or one in memory", "tests/unit"),
    Rule("documents are the same for all databases", "tests/docs"),
    Rule("deployment files are the same for all databases", "tests/deploy"),
    Rule("a browser sees answers, not databases", "tests/explorer"),
    Rule(
        "callers, roles, methods, versions and log lines are settled before a statement is sent",
        "tests/api",
        "test_authentication.py test_bounded_answers.py test_client_flows.py "
        "test_client_sharing.py test_command_identity.py test_discovery.py "
        "test_explanations.py test_metrics_page.py test_openstack_commands.py test_policy.py "
        "test_pytest_plugin.py test_request_log.py test_roles.py test_sweep.py "
        "test_wsgi_stack.py",
        but="test_sweep.py::test_each_parameter_is_known_from_its_version_on "
        "test_sweep.py::test_each_group_parameter_takes_a_suffix_from_its_version_on",
        gabbits="authentication content-types-by-version headers-by-version microversions policy "
        "routes-by-version second-line versions-and-errors",
    ),
    Rule(
        "the bounds of headroom are those of its work in memory; random clouds are on all engines",
        "tests/api",
        "test_headroom.py",
    ),
    Rule(
        "explanations, simulations and searches in memory, of trees that other gabbits read",
        "tests/api",
        "test_reasons.py test_simulations.py",
        gabbits="explain-nearest explain-requests explain-taints explain-units granular-use-cases "
        "headroom hints magic-fpga-affinity magic-group-policy-same-subtree "
        "magic-nic-affinity modeling-granular modeling-same-subtree phrases simulations",
    ),
    Rule(
        "bodies and headers are read before a statement is sent; names in paths reach statements",
        "tests/api",
        "test_wire.py",
        but="test_wire.py::test_a_text_in_a_path_that_nothing_is_called_is_400_or_404",
    ),
    Rule(
        "tags are compared as two headers",
        "tests/api",
        "test_etags.py::test_tags_are_compared_weakly_in_lists "
        "test_etags.py::test_the_answers_that_are_declared_to_have_tags_have_them "
        "test_etags.py::test_what_is_not_there_or_not_allowed_comes_first",
    ),
    Rule(
        "documents and samples are generated from declarations; a walk sends what the gabbits send",
        "tests/api",
        "test_gabbi_tables.py test_generators.py test_openapi.py",
    ),
    Rule(
        "versions choose forms of bodies and responses, and layers below the API know no version",
        "tests/api",
        # Not those of writes that only old versions have: renamed classes, aggregates without
        # a generation, consumers without an owner or a type.
        gabbits="candidates-by-version candidates-parameters-by-version error-codes-by-version "
        "inventories-by-version provider-filters-by-version providers-by-version "
        "traits-by-version",
    ),
    Rule(
        "forms of requests, and words of refusals and explanations, are Python alone",
        "tests/api",
        "test_dry_run.py::test_no_other_query_is_allowed",
        gabbits="candidates-errors explain-words language-json",
    ),
    Rule(
        "the requests of the gabbits, without HTTP: statements are the same",
        "tests/api",
        "test_direct.py",
        but="test_direct.py::test_a_database_is_migrated_and_served_by_its_url_alone "
        "test_direct.py::test_a_database_that_is_not_migrated_is_refused_and_can_be_migrated "
        "test_direct.py::test_a_forked_process_goes_on_with_connections_of_its_own "
        "test_direct.py::test_many_threads_may_use_one_client",
    ),
    Rule(
        "clients and commands over REST send what the gabbits send; writers that compete stay",
        "tests/api",
        "test_client_claims.py test_client_rollback.py test_compare_command.py "
        "test_drain_check_command.py test_dump_cloud.py test_explain_command.py "
        "test_headroom_command.py test_host_command.py test_load_cloud.py "
        "test_report_client.py test_reshape_command.py test_why_command.py",
        but="test_client_claims.py::test_claims_that_fill_a_cloud_are_made_together "
        "test_report_client.py::test_a_reshape_succeeds_despite_concurrent_claims "
        "test_report_client.py::test_a_scheduler_never_sees_moved_inventory_without_its_allocations"
        " test_report_client.py::test_agents_that_write_at_the_same_time_lose_nothing "
        "test_report_client.py::test_any_tree_becomes_any_other "
        "test_reshape_command.py::test_a_claim_that_comes_between_reading_and_writing_is_moved_too",
    ),
    Rule(
        "examples use the client, whose requests the gabbits send; users that compete stay",
        "tests/examples",
        but="test_simulation.py::test_nothing_leaks_with_four_schedulers",
    ),
    Rule(
        "older forms of responses are Python alone",
        "tests/properties",
        "test_candidates.py::test_older_versions_answer_as_much_as_they_can_express",
    ),
    Rule(
        "searches in memory, of trees that other properties read with the same statements",
        "tests/properties",
        "test_explanation.py test_headroom.py test_order.py test_reasons.py "
        "test_similar_hosts.py test_taints.py",
    ),
    Rule(
        "sockets, signals, files of metrics and memory of processes are the same for all databases",
        "tests/cluster",
        "test_full_disk.py test_make_serve.py test_memory.py test_metrics.py test_serving.py "
        "test_sockets.py",
    ),
    Rule(
        "searches and explanations count the same steps and statements of any database",
        "tests/db",
        "test_candidates_growth.py test_explanation_cost.py test_order.py",
    ),
    Rule(
        "trees and rendered statements are measured in Python; drivers keep rows, too",
        "tests/db",
        "test_statement_memory.py test_tree_memory.py",
    ),
)

# What `make test` runs on a server.
SMOKE: Sequence[Rule] = (
    Rule(
        "what each driver and server returns and refuses",
        "tests/db",
        "test_codes.py test_fits.py",
    ),
    Rule(
        "a statement of each kind: claims, searches of trees and of sharing providers, and lists",
        "tests/api",
        gabbits="allocations-put claims provider-list-filters provider-trees reshaper "
        "vectors-e1-sharing vectors-e2-nested",
    ),
    Rule(
        "DDL",
        "tests/migrations",
        "test_migrations.py::test_the_migrated_schema_is_the_declared_one",
    ),
)

# What `make servers` runs on the servers of another release of Debian.
SAMPLE: Sequence[Rule] = (
    Rule(
        "what drivers and servers return, refuse, lock and time out",
        "tests/db",
        "test_charsets.py test_codes.py test_fits.py test_isolation.py test_lock_order.py "
        "test_names.py test_prepared.py test_statement_timeout.py test_transactions_end.py "
        "test_unlocked_looks.py",
    ),
    Rule(
        "each statement with data that tell a right answer from a wrong one",
        "tests/api",
        gabbits="aggregates-spellings allocations-capacity allocations-of-tree allocations-post "
        "allocations-put candidates-tree-blind claims claims-many consumers consumer-lists "
        "explain-hosts explain-traits holds inventories inventories-in-use language-can-split "
        "language-groups language-roots language-subtree lists-include lists-paging "
        "modeling-sharing-with-trees provider-list-filters provider-traits provider-trees "
        "reshaper resource-classes resource-providers rollup spread-groups traits usages "
        "vectors-e1-sharing vectors-e2-nested vectors-e3-traits vectors-e4-affinity "
        "vectors-e5-limits",
    ),
    Rule(
        "windows of a cloud, which SQL chooses",
        "tests/properties",
        "test_candidates.py::test_windows_of_any_size_lead_to_the_same_answers",
    ),
    Rule(
        "locks of several processes",
        "tests/cluster",
        "test_race.py::test_a_class_that_is_given_to_an_inventory_is_not_deleted "
        "test_race.py::test_exactly_what_fits_is_admitted",
    ),
    Rule(
        "DDL of each revision",
        "tests/migrations",
        "test_migrations.py::test_a_database_of_nova_is_adopted_with_its_character_sets "
        "test_migrations.py::test_an_existing_database_gets_our_columns_and_keeps_everything_else "
        "test_migrations.py::test_a_sync_creates_lost_indexes "
        "test_migrations.py::test_the_migrated_schema_is_the_declared_one",
    ),
)


# What runs on MariaDB with mysqlclient, too.
DRIVER: Sequence[Rule] = (
    Rule(
        "what a driver converts, prepares, reports and times out; plans and views are the server's",
        "tests/db",
        "test_asked_alone.py test_charsets.py test_codes.py test_counted_writes.py "
        "test_fits.py test_lasting_faults.py test_many_conditions.py test_mysql_drivers.py "
        "test_names.py test_prepared_texts.py test_statement_timeout.py test_texts.py "
        "test_tls.py test_transactions_end.py",
    ),
    Rule("lost connections and COMMITs", "tests/cluster", "test_faults.py"),
)

# Selection -> the tests that it has, or None for all.
SELECTIONS: Mapping[str, Sequence[Rule] | None] = {
    "whole": None,
    "sample": SAMPLE,
    "smoke": SMOKE,
    "driver": DRIVER,
}


def files_of(selection: str) -> Sequence[str]:
    """Return the files with the tests of a part. PERF: pytest imports no others."""
    names = (name for rule in SELECTIONS[selection] or () for name in rule.names())
    return list(dict.fromkeys(name.partition("::")[0] for name in names))


def is_selected(selection: str, name: str) -> bool:
    """Return whether a server runs a test."""
    if any(rule.has(name) for rule in ON_SQLITE_ALONE):
        return False
    rules = SELECTIONS[selection]
    return rules is None or any(rule.has(name) for rule in rules)


def has_tests_of_servers(path: str) -> bool:
    """Return whether servers run tests of a folder or file."""
    return not any(rule.has_all(path) for rule in ON_SQLITE_ALONE)


def name_of(node: str) -> str:
    """Convert pytest's name of a test to the name in the rules."""
    return _GABBIT.sub(r"\1\2[", node)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--selection", choices=SELECTIONS)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore a file without selected tests before it is imported."""
    selection = config.getoption("--selection")
    if selection is None or not collection_path.is_relative_to(ROOT / "tests"):
        return None
    path = collection_path.relative_to(ROOT).as_posix()
    if not has_tests_of_servers(path):
        return True
    rules = SELECTIONS[selection]
    return True if rules is not None and not any(rule.has_some(path) for rule in rules) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the other tests; pytest counts them in its last line."""
    selection = config.getoption("--selection")
    if selection is None:
        return
    chosen = [item for item in items if is_selected(selection, name_of(item.nodeid))]
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


def _begins(name: str) -> tuple[str, ...]:
    """Return how the names begin of what a folder, file or test has."""
    return (f"{name}/", f"{name}::", f"{name}[")


def _is_in(name: str, others: Sequence[str]) -> bool:
    return any(name == each or name.startswith(_begins(each)) for each in others)


def _has_one(path: str, others: Sequence[str]) -> bool:
    return any(each.startswith(_begins(path)) for each in others)
