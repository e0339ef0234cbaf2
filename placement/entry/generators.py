"""Options and policy rules of this service, for the generators and validators of oslo.

oslo-config-generator and oslo-config-validator use the entry point `placement.conf`;
oslopolicy-sample-generator, -policy-generator, -list-redundant and -validator use `placement`.
"""

import inspect
import sys
from collections.abc import Mapping, Sequence

from oslo_config import cfg
from oslo_policy import policy as oslo_policy

from placement import config
from placement.api import policy, wsgi_stack
from placement.api.policy import METRICS_RULE
from placement.api.routes import GUARDED, ROUTES
from placement.entry import console
from placement.errors import ConfigurationError


def options() -> Sequence[tuple[str, Sequence[cfg.Opt]]]:
    """Return the options of this service by group. Libraries have separate namespaces."""
    return list(config.OPTIONS.items())


def set_defaults() -> None:
    """Set the defaults of this service for the options of libraries."""
    config.set_log_defaults()
    wsgi_stack.register_options(cfg.CONF)
    policy.register_options(cfg.CONF)


def rules() -> Sequence[oslo_policy.RuleDefault]:
    return policy.defaults(GUARDED, _descriptions())


def _descriptions() -> Mapping[str, str]:
    """Return rule -> the summaries of its operations, from the docstrings of their handlers."""
    summaries: dict[str, dict[str, None]] = {}
    for route in ROUTES:
        if route.rule is not None:
            summary = (inspect.getdoc(route.handler) or "").partition("\n\n")[0]
            summaries.setdefault(route.rule, {})[" ".join(summary.split())] = None
    return {
        **{rule: " ".join(sentences) for rule, sentences in summaries.items()},
        policy.EXPLAIN: "Explain why hosts cannot serve a request for allocation candidates.",
        METRICS_RULE: "Show the metrics of the service in the format of Prometheus.",
    }


def enforcer() -> oslo_policy.Enforcer:
    """Return an enforcer with the configured rules.

    The configuration is that of the tool's command line, else the service's. Exits with one line if
    the files cannot be read.
    """
    conf = cfg.CONF  # the tool has already registered its arguments
    try:
        config.parse(conf, sys.argv[1:], config.named_files())
    except ConfigurationError as error:
        console.fail(error)
        sys.exit(1)
    policy.register_options(conf)
    path = conf.find_file(conf.oslo_policy.policy_file)
    if path is not None:
        # The validator opens the file again. The path is relative to its working directory.
        conf.set_override("policy_file", path, group="oslo_policy")
    policy_enforcer = oslo_policy.Enforcer(conf)
    policy_enforcer.register_defaults(rules())
    return policy_enforcer
