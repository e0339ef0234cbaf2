"""Reports about the policy for operators: its files, and unknown names in its rules."""

import ast
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from oslo_context.context import RequestContext
from oslo_policy import policy

from placement.runtime.suggestions import PARENTHESES, did_you_mean, nearest

# Kinds of checks that query another service, such as `http`. Their results may change at any time.
REMOTE_KINDS = frozenset(entry.name for entry in entry_points(group="oslo.policy.rule_checks"))

# Kinds of checks that do not compare an attribute of the caller, and attributes that they may
# compare instead.
_OTHER_KINDS = REMOTE_KINDS | {"role", "rule"}
_ATTRIBUTES = frozenset(RequestContext(overwrite=False).to_policy_values())


def describe_files(enforcer: policy.Enforcer) -> str:
    """Return a sentence about the policy files whose rules are in force."""
    paths = _files(enforcer)
    if not paths:
        name = enforcer.conf.oslo_policy.policy_file
        return f"policy: all rules have their defaults; there is no file {name}"
    return f"policy: rules of {', '.join(paths)} override the defaults"


def _files(enforcer: policy.Enforcer) -> list[str]:
    """Return the policy file and the directories of policy files that exist."""
    conf = enforcer.conf
    directories = [conf.find_file(name) for name in conf.oslo_policy.policy_dirs]
    return [path for path in (enforcer.policy_path, *directories) if path]


def _files_elsewhere(enforcer: policy.Enforcer) -> Iterator[str]:
    """Yield policy files that are not in a directory from which the options were read."""
    conf = enforcer.conf
    named = {conf.oslo_policy.policy_file, *conf.oslo_policy.policy_dirs}
    # The options contain the paths as the command line spells them, and the library searches the
    # absolute paths.
    places = [_absolute(path).parent for path in conf.config_file or []]
    places += map(_absolute, conf.config_dir or [])
    for path in _files(enforcer) if places else []:
        if path not in named and not any(place in Path(path).parents for place in places):
            yield path


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(path)))


def warnings(enforcer: policy.Enforcer) -> list[str]:
    """Return a sentence for each unknown name in the current rules, and each stray policy file.

    Unknown names are rules in the files that no operation and no other rule uses, references to
    undefined rules, and attributes that no caller has. A stray policy file is in a usual
    directory of oslo.config, but not in a directory from which the options were read.
    """
    rules: Mapping[str, Any] = enforcer.rules
    leaves = [(name, leaf) for name, check in rules.items() for leaf in _leaves([check])]
    used = {*enforcer.registered_rules}
    used |= {leaf.match for _name, leaf in leaves if leaf.kind == "rule"}
    warnings = [
        f"policy rule {name} is not a rule of this service{_hint(name, used)}; it is ignored"
        for name in enforcer.file_rules.keys() - used
    ]
    for name, leaf in leaves:
        where = f"policy rule {name}: {leaf}"
        if leaf.kind == "rule" and leaf.match not in rules:
            warnings.append(f"{where} is not defined{_hint(leaf.match, rules)}; it is false")
        elif leaf.kind not in _OTHER_KINDS and not _is_readable(leaf.kind):
            hint = _hint(leaf.kind, sorted(_ATTRIBUTES | _OTHER_KINDS))
            warnings.append(f"{where} compares an attribute of no caller{hint}; it is false")
    warnings += [
        f"policy file {path} is in force, but is not beside placement.conf: move it there, or "
        "name it in [oslo_policy] policy_file or policy_dirs"
        for path in _files_elsewhere(enforcer)
    ]
    return sorted(warnings)


def queries_services(rules: Iterable[Any]) -> bool:
    """Return whether a rule queries another service."""
    return any(check.kind in REMOTE_KINDS for check in _leaves(rules))


def _leaves(checks: Iterable[Any]) -> Iterator[policy.Check]:
    """Yield the elementary checks of rules, without constants."""
    for check in checks:
        if isinstance(check, policy.AndCheck | policy.OrCheck):
            yield from _leaves(check.rules)
        elif isinstance(check, policy.NotCheck):
            yield from _leaves([check.rule])
        elif isinstance(check, policy.Check):
            yield check


def _hint(unknown: str, names: Iterable[str]) -> str:
    return did_you_mean(nearest(unknown, names), PARENTHESES)


def _is_readable(kind: str) -> bool:
    """Return whether the left side of a comparison is an attribute of callers, or a constant."""
    if kind.partition(".")[0] in _ATTRIBUTES:
        return True
    try:
        ast.literal_eval(kind)
    except (ValueError, SyntaxError):
        return False
    return True
