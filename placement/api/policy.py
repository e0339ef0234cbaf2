"""Authorization with rules of oslo.policy, each for one or several operations."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from operator import attrgetter
from typing import Any

import orjson
from oslo_config import cfg
from oslo_context.context import RequestContext
from oslo_policy import opts, policy

from placement.errors import ConfigurationError

LOG = logging.getLogger(__name__)

REFRESH = 1.0  # seconds
MAX_RESULTS = 250
# Errors of the library for a file that is not YAML, not readable, not a mapping of texts, or nested
# too deeply.
FAULTS_OF_FILES = (ValueError, OSError, AttributeError, TypeError, RecursionError)

# Errors of the library for a rule that refers to itself, and for a check that is no comparison.
FAULTS_OF_RULES = (RecursionError, SyntaxError, TypeError, ValueError)

REASON = "the rule is granted to the service role in its own right"

BASE = {
    "admin_api": ("role:admin", None),
    "service_api": ("role:service", "role:admin"),
    "admin_or_service_api": ("role:admin or role:service", "role:admin"),
    "project_reader_api": ("role:reader and project_id:%(project_id)s", "role:admin"),
    "admin_or_project_reader_or_service_api": (
        "role:admin or rule:project_reader_api or role:service",
        "role:admin",
    ),
}

# Kinds of checks that query another service, such as `http`. Their results may change at any time.
REMOTE_KINDS = frozenset(entry.name for entry in entry_points(group="oslo.policy.rule_checks"))

# Rule for explanations of why hosts cannot serve a request.
EXPLAIN = "placement:allocation_candidates:explain"
METRICS_RULE = "placement:metrics"

DEFAULT = "rule:admin_or_service_api"
OTHER_DEFAULTS = {
    "placement:usages": "rule:admin_or_project_reader_or_service_api",
    "placement:reshaper:reshape": "rule:service_api",
}


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register the group `oslo_policy`, with this service's default policy file."""
    opts.set_defaults(conf, policy_file="policy.yaml")


class Policy:
    """The effective rules, which are the defaults with the overrides of the policy files.

    Policy files are checked for changes every `REFRESH` seconds. Results are cached until the rules
    change, because an evaluation takes 150 µs, which is as long as a small request. If a rule
    queries another service, its results are cached for `REFRESH` seconds only.
    """

    def __init__(self, conf: cfg.ConfigOpts, operations: Iterable[tuple[str, str, str]]) -> None:
        """Load the rules.

        Args:
            conf: names the policy files.
            operations: (rule, method, path) of each route.

        Raises:
            ConfigurationError: a policy file cannot be read.
        """
        register_options(conf)
        self._enforcer = policy.Enforcer(conf)
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.register_defaults(defaults(operations))
        # (rule, target, caller's attributes that rules can read) -> whether it is allowed.
        self._results: dict[tuple[object, ...], bool] = {}
        # The rules to which the cached results belong. None means that the results expire at the
        # next refresh.
        self._rules_of_results: Mapping[str, Any] | None = None
        # The text of the log line about the policy files, or None if they are valid.
        self._fault: str | None = None
        # Returns the attributes of a caller, or None before the first caller.
        self._values: Callable[[RequestContext], tuple[Any, ...]] | None = None
        self._refresh_at = 0.0
        # The library's set of rules is incomplete while the library reads files.
        self._lock = threading.Lock()
        try:
            self._load()
        except FAULTS_OF_FILES as error:
            raise ConfigurationError(self._text(error)) from None
        LOG.info("%s", self.describe_files())
        self._forget_outdated()

    def rules(self) -> Mapping[str, policy.RuleDefault]:
        """Return the registered rules by name, with their defaults."""
        registered: Mapping[str, policy.RuleDefault] = self._enforcer.registered_rules
        return registered

    def describe_files(self) -> str:
        """Return a sentence about the policy files whose rules are in force."""
        conf = self._enforcer.conf
        directories = [conf.find_file(name) for name in conf.oslo_policy.policy_dirs]
        paths = [path for path in (self._enforcer.policy_path, *directories) if path]
        if not paths:
            return (
                "policy: all rules have their defaults; there is no file "
                f"{conf.oslo_policy.policy_file}"
            )
        return f"policy: rules of {', '.join(paths)} override the defaults"

    def is_consistent(self) -> bool:
        """Return whether no rule refers to an undefined rule or to itself. The log names others."""
        return bool(self._enforcer.check_rules())

    def allows(
        self, rule: str, caller: RequestContext, target: Mapping[str, Any] | None = None
    ) -> bool:
        """Return whether a rule allows the caller to act on a target, by default its project."""
        self._refresh()
        return self._result(rule, caller, target)

    def refusal(
        self, rule: str, caller: RequestContext | None, target: Mapping[str, Any] | None = None
    ) -> str | None:
        """Return the error message if the rule denies the caller, else None."""
        if caller is not None and self.allows(rule, caller, target):
            return None
        refusal = f"Policy does not allow {rule} to be performed"
        remedy = self.remedy(rule, caller, target) if caller is not None else ""
        return f"{refusal}: {remedy}" if remedy else refusal

    def remedy(
        self, rule: str, caller: RequestContext, target: Mapping[str, Any] | None = None
    ) -> str:
        """Return the role that a denied caller needs, or "" if no single role is sufficient.

        If a rule queries another service, the role is unknown, because this service must not
        receive roles that the caller does not have.
        """
        if caller.system_scope or caller.domain_id:
            return "it needs a token whose scope is a project"
        roles = [
            role
            for role in (self._roles(rule) if self._rules_of_results else ())
            if self._evaluate(rule, _credentials(caller, role), target)
        ]
        if not roles:
            return ""
        return f"it needs the role {' or '.join(roles)}"

    def _result(self, rule: str, caller: RequestContext, target: Mapping[str, Any] | None) -> bool:
        if self._values is None:
            # PERF: reading the attributes directly is several times faster than `to_policy_values`.
            self._values = attrgetter(*caller.to_policy_values())
        # All values that a rule can read. As JSON, they are hashable.
        key = (rule, target and tuple(target.items()), orjson.dumps(self._values(caller)))
        # A concurrent change of the rules replaces this dictionary.
        results = self._results
        result = results.get(key)
        if result is None:
            result = self._evaluate(rule, _credentials(caller), target)
            if len(results) >= MAX_RESULTS:
                results.clear()
            results[key] = result
        return result

    def _evaluate(
        self, rule: str, credentials: dict[str, Any], target: Mapping[str, Any] | None
    ) -> bool:
        """Evaluate a rule. The default target is the caller's own project."""
        if target is None:
            target = {name: credentials[name] for name in ("project_id", "user_id")}
        try:
            with self._lock:
                return bool(self._enforcer.authorize(rule, dict(target), credentials))
        except FAULTS_OF_RULES as error:
            LOG.error("policy rule %s cannot be evaluated: %s; it is false", rule, error)
            return False

    def _roles(self, rule: str) -> Iterable[str]:
        """Return the roles that a rule names directly or by reference, in the order of the rule."""
        roles: dict[str, None] = {}
        visited = set()
        # The search is depth-first so that the roles are in the order of the rules.
        checks: list[Any] = [policy.RuleCheck("rule", rule)]
        while checks:
            check = checks.pop(0)
            if isinstance(check, policy.AndCheck | policy.OrCheck):
                checks[:0] = check.rules
            elif isinstance(check, policy.RuleCheck) and check.match not in visited:
                visited.add(check.match)
                checks.insert(0, self._enforcer.rules.get(check.match))
            elif isinstance(check, policy.Check) and check.kind == "role":
                roles[check.match] = None
        return roles

    def _refresh(self) -> None:
        if time.monotonic() < self._refresh_at:
            return
        with self._lock:
            now = time.monotonic()
            if now < self._refresh_at:
                return  # another thread was faster
            self._refresh_at = now + REFRESH
            before = self._enforcer.rules
            try:
                self._load()
            except Exception as error:
                # An operator may be editing the file, so an invalid file must not stop the service.
                is_of_file = isinstance(error, FAULTS_OF_FILES)
                text = f"{self._text(error)}; the previous rules stay in force"
                if text != self._fault:
                    LOG.error("%s", text, exc_info=not is_of_file)
                self._fault = text
            else:
                self._fault = None
            if self._enforcer.rules is not before:
                LOG.info("%s", self.describe_files())
            self._forget_outdated()

    def _forget_outdated(self) -> None:
        """Clear cached results if a rule has changed or queries another service."""
        rules = dict(self._enforcer.rules)
        # The library creates a new check object each time it reads a rule.
        if rules == self._rules_of_results:
            return
        self._results = {}
        is_remote = any(check.kind in REMOTE_KINDS for check in _leaves(rules.values()))
        self._rules_of_results = None if is_remote else rules

    def _text(self, error: Exception) -> str:
        """Return a line that names the policy file and the fault in it."""
        text = " ".join(str(error).split())
        return f"policy file {self._enforcer.conf.oslo_policy.policy_file}: {text}"

    def _load(self) -> None:
        """Read the policy files if they have changed. If one is invalid, all rules are kept."""
        enforcer = self._enforcer
        previous = enforcer.rules, enforcer.file_rules
        # The library validates the files only here, and not at each evaluation.
        enforcer.use_conf = True
        try:
            # After a fault, the library would only read files that have changed since.
            enforcer.load_rules(force_reload=self._fault is not None)
            unnamed = [name for name in enforcer.file_rules if not isinstance(name, str)]
            if unnamed:
                raise ValueError(f"{unnamed[0]!r} is not the name of a rule: names are strings")
        except Exception:
            enforcer.rules, enforcer.file_rules = previous
            raise
        finally:
            enforcer.use_conf = False


def _leaves(checks: Iterable[Any]) -> Iterator[policy.Check]:
    """Yield the elementary checks of rules, without constants."""
    for check in checks:
        if isinstance(check, policy.AndCheck | policy.OrCheck):
            yield from _leaves(check.rules)
        elif isinstance(check, policy.NotCheck):
            yield from _leaves([check.rule])
        elif isinstance(check, policy.Check):
            yield check


def _credentials(caller: RequestContext, *more_roles: str) -> dict[str, Any]:
    """Return the attributes of a caller that rules can read, with additional roles."""
    values = dict(caller.to_policy_values())
    return {**values, "roles": [*values["roles"], *more_roles]}


def defaults(
    operations: Iterable[tuple[str, str, str]], descriptions: Mapping[str, str] | None = None
) -> list[policy.RuleDefault]:
    """Return the rules with their defaults.

    Args:
        operations: (rule, method, path) of each route.
        descriptions: texts for operators by rule; by default the names of the rules.
    """
    descriptions = descriptions or {}
    rules: list[policy.RuleDefault] = []
    for name, (check, deprecated) in BASE.items():
        former = None
        if deprecated is not None:
            former = policy.DeprecatedRule(
                name, deprecated, deprecated_reason=REASON, deprecated_since="2023.2"
            )
        rules.append(
            policy.RuleDefault(name, check, scope_types=["project"], deprecated_rule=former)
        )
    uses_by_rule: dict[str, list[Any]] = {}
    for rule, method, path in operations:
        uses_by_rule.setdefault(rule, []).append({"method": method, "path": path})
    for rule, uses in uses_by_rule.items():
        check = OTHER_DEFAULTS.get(rule, DEFAULT)
        description = descriptions.get(rule, rule)
        rules.append(
            policy.DocumentedRuleDefault(rule, check, description, uses, scope_types=["project"])
        )
    return rules
