"""The command `placement-status upgrade check`, which checks if an upgrade is possible.

The exit code is the code of the worst result (0 success, 1 warning, 2 failure), or 255 if the
checks cannot be run. For an unknown command, it is 2.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result
from sqlalchemy.engine import Connection

from placement import __version__, config
from placement.api import policy, wsgi_stack
from placement.api.authentication import let_pass
from placement.api.candidate_requests.json_form import read_configured_order
from placement.api.routes import GUARDED
from placement.db import schema
from placement.db.engine import COMMAND_PATIENCE, Database
from placement.entry import console
from placement.errors import ConfigurationError, PlacementError
from placement.operate import online_migrations, preflight

UNEXPECTED = 255
COMMANDS: dict[str, Any] = {"upgrade": {"check": {}}}
USAGE = "placement-status [OPTION …] upgrade check [--json]"
HELP = f"""\
usage: {USAGE}

Says whether a deployment is ready to be upgraded: its database, options and policy
rules. Exit code: 0 success, 1 a warning, 2 a failure, 255 the checks could not be
run.

options (options of oslo.log are accepted as well):"""
NO_TABLES = "The database has no tables of this service. Run placement-manage db sync."
REMEDY = "Run placement-manage db online_data_migrations."
OLD_SCHEMA = "The schema is {}, and this release needs {}. Run placement-manage db sync."
PREFLIGHT = "Reported by placement-manage db preflight, and no obstacle to an upgrade: {}."
UNDEFINED_RULES = "the log names rules that refer to an undefined rule, or to each other"
CHARSETS = "Names can have the characters of these character sets: {}."
NARROW_CHARSET = (
    "[placement_database] connection has charset={}, which cannot transfer all characters of the "
    "columns, such as emoji. Remove it: the default is utf8mb4."
)
# Names of the checks that read tables.
ROOTS, CONSUMERS = "Missing Root Provider IDs", "Incomplete Consumers"
COLUMNS = "Character Sets"
_NO_TABLES = Result(Code.FAILURE, NO_TABLES)


class Checks(upgradecheck.UpgradeCommands):
    """The checks, under the names that operators know."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        # The database, or None until a check connects to it.
        self._database: Database | None = None
        # The result of the check of the schema, after `connect`.
        self._revision = _NO_TABLES

    def connect(self) -> None:
        """Connect to the configured database. Raises ConfigurationError if it cannot be used."""
        self._database = Database(config.database_settings(self._conf))
        self._database.connect_first(patience=COMMAND_PATIENCE)
        self._revision = self._schema()
        if self._revision.code is Code.FAILURE:
            # One of the checks reports the reason. The others would repeat it.
            unreadable = (ROOTS, CONSUMERS, COLUMNS)
            self._upgrade_checks = tuple(
                check for check in self._upgrade_checks if check[0] not in unreadable
            )

    def _read(self, result: Callable[[Connection], Result]) -> Result:
        """Return a result that is read from the database.

        FAILURE if the database cannot be read.
        """
        assert self._database is not None
        try:
            with self._database.read() as conn:
                return result(conn) if schema.refuse_unknown(conn) else _NO_TABLES
        except (ConfigurationError, PlacementError) as error:
            return Result(Code.FAILURE, console.describe(error))

    def _count(self, counter: Callable[[Connection], int], code: Code, fault: str) -> Result:
        """Return `code` if the database contains faulty rows."""

        def counted(conn: Connection) -> Result:
            number = counter(conn)
            return Result(code, f"{number} {fault}. {REMEDY}") if number else Result(Code.SUCCESS)

        return self._read(counted)

    def _schema(self) -> Result:
        def compared(conn: Connection) -> Result:
            if schema.fits(conn):
                return Result(Code.SUCCESS)
            recorded = schema.version(conn) or "that of openstack-placement"
            return Result(Code.WARNING, OLD_SCHEMA.format(recorded, schema.newest()))

        return self._read(compared)

    def _roots(self) -> Result:
        fault = "resource providers have no root id"
        return self._count(online_migrations.count_rootless, Code.FAILURE, fault)

    def _consumers(self) -> Result:
        fault = "consumers with allocations have no record"
        return self._count(online_migrations.count_unrecorded, Code.WARNING, fault)

    def _charsets(self) -> Result:
        def described(conn: Connection) -> Result:
            known = schema.charsets(conn)
            columns = [f"{name} ({charset})" for name, charset in known.items()]
            details = CHARSETS.format(", ".join(columns)) if columns else None
            charset = conn.engine.url.query.get("charset")
            if charset in ("utf8", "utf8mb3") and "utf8mb4" in known.values():
                return Result(Code.WARNING, f"{NARROW_CHARSET.format(charset)}\n{details}")
            return Result(Code.SUCCESS, details)

        return self._read(described)

    def _settings(self) -> Result:
        assert self._database is not None
        try:
            settings = config.database_settings(self._conf)
            found = preflight.inspect(self._database, settings, preflight.Workers())
        except PlacementError as error:
            return Result(Code.FAILURE, console.describe(error))
        dangers = [f"{hazard.name} ({hazard.state})" for hazard in found if hazard.wrong]
        # These settings can be as they were before, so they are no reason to stop an upgrade.
        return Result(Code.SUCCESS, PREFLIGHT.format("; ".join(dangers)) if dangers else None)

    def _options(self) -> Result:
        try:
            settings = config.settings(self._conf)
            read_configured_order(settings.order)
            wsgi_stack.wrap(let_pass, self._conf, (), settings.auth_strategy == "keystone")
        except ConfigurationError as error:
            return Result(Code.FAILURE, console.describe(error))
        details = "\n".join(config.unknown_settings(self._conf))
        return Result(Code.WARNING if details else Code.SUCCESS, details or None)

    def _policy_format(self) -> Result:
        try:
            return common_checks.check_policy_json(self, self._conf)
        except policy.FAULTS_OF_FILES as error:
            return Result(Code.FAILURE, console.describe(error))

    def _rules(self) -> Result:
        try:
            rules = policy.Policy(self._conf, GUARDED)
        except ConfigurationError as error:
            return Result(Code.FAILURE, console.describe(error))
        if rules.is_consistent():
            return Result(Code.SUCCESS, rules.describe_files())
        return Result(Code.WARNING, f"{rules.describe_files()}; {UNDEFINED_RULES}")

    _upgrade_checks: tuple[Any, ...] = (
        (ROOTS, _roots),
        (CONSUMERS, _consumers),
        ("Policy File JSON to YAML Migration", _policy_format),
        ("Options", _options),
        ("Policy Rules", _rules),
        (COLUMNS, _charsets),
        ("Database Settings", _settings),
        ("Schema Revision", lambda self: self._revision),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks. Return the worst result, or another exit code in the module's docstring."""
    return console.run(lambda: _run(list(sys.argv[1:] if argv is None else argv)))


def _run(arguments: list[str]) -> int:
    arguments = console.configuration_first(arguments)
    unknown = console.unknown_command(arguments, COMMANDS)
    if unknown is not None:
        console.fail(Exception(unknown))
        return console.USAGE
    if console.HELP & set(arguments) or not {"check", "--version"} & set(arguments):
        print("\n".join((HELP, *console.entries(console.OPTIONS))))
        return 0 if console.HELP & set(arguments) else console.USAGE
    if "--version" in arguments:
        print(__version__)
        return 0
    return _check(arguments)


def _check(arguments: Sequence[str]) -> int:
    conf = config.options()
    policy.register_options(conf)
    checks = Checks(conf)
    upgradecheck.register_cli_options(conf, checks)
    try:
        config.parse(conf, arguments, usage=USAGE)
        config.log_to_stderr(conf)
        # The check "Options" reports the values of the other groups.
        config.check_values(conf, ["placement_database"])
        checks.connect()
        upgradecheck.CONF = conf  # the library reads --json from this value
        return int(upgradecheck.run(conf))
    except ConfigurationError as error:
        console.fail(error)
    return UNEXPECTED
