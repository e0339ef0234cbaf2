"""Who may do what (contract policy.md): oslo.policy rules, one for each operation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg
from oslo_policy import opts, policy

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

DEFAULT = "rule:admin_or_service_api"
OTHER_DEFAULTS = {
    "placement:usages": "rule:admin_or_project_reader_or_service_api",
    "placement:reshaper:reshape": "rule:service_api",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls: what authentication established."""

    user: str
    project: str | None
    roles: tuple[str, ...]
    system_scope: str | None = None

    def credentials(self) -> dict[str, Any]:
        """The form that oslo.policy looks at."""
        return {
            "user_id": self.user,
            "project_id": self.project,
            "roles": list(self.roles),
            "system_scope": self.system_scope,
        }


class Policy:
    """The rules in force: defaults, and what the operator's policy files override."""

    def __init__(self, conf: cfg.ConfigOpts, operations: Iterable[tuple[str, str, str]]) -> None:
        """`operations` are (rule, method, path): the rules are named by the routes."""
        opts.set_defaults(conf, policy_file="policy.yaml")
        self._enforcer = policy.Enforcer(conf)
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.register_defaults(_defaults(operations))

    def allows(self, rule: str, caller: Identity, target: Mapping[str, Any] | None = None) -> bool:
        """Whether the caller may do what the rule is for, by default to its own project."""
        if caller.system_scope is not None:
            return False  # every rule has scope type project, and that cannot be switched off
        about = {"project_id": caller.project, "user_id": caller.user} if target is None else target
        return bool(self._enforcer.authorize(rule, dict(about), caller.credentials()))


def _defaults(operations: Iterable[tuple[str, str, str]]) -> list[policy.RuleDefault]:
    found: list[policy.RuleDefault] = []
    for name, (check, deprecated) in BASE.items():
        former = None
        if deprecated is not None:
            former = policy.DeprecatedRule(
                name, deprecated, deprecated_reason=REASON, deprecated_since="2023.2"
            )
        found.append(
            policy.RuleDefault(name, check, scope_types=["project"], deprecated_rule=former)
        )
    by_rule: dict[str, list[Any]] = {}
    for rule, method, path in operations:
        by_rule.setdefault(rule, []).append({"method": method, "path": path})
    for rule, of_rule in by_rule.items():
        check = OTHER_DEFAULTS.get(rule, DEFAULT)
        found.append(
            policy.DocumentedRuleDefault(rule, check, rule, of_rule, scope_types=["project"])
        )
    return found
