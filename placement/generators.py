"""Options and policy rules of this service, in the form that oslo's tools read.

oslo-config-generator and oslo-config-validator come here by the entry point `placement.conf`;
oslopolicy-sample-generator, -policy-generator, -list-redundant and -validator by `placement`.
"""

import sys
from collections.abc import Sequence

from oslo_config import cfg
from oslo_policy import policy as oslo_policy

from placement import config, console
from placement.api import policy, wsgi_stack
from placement.api.routes import GUARDED
from placement.errors import ConfigurationError


def options() -> Sequence[tuple[str, Sequence[cfg.Opt]]]:
    """Return the options of this service by group; libraries have namespaces of their own."""
    return list(config.OPTIONS.items())


def set_defaults() -> None:
    """Give the libraries' options the defaults that they have here."""
    config.set_log_defaults()
    wsgi_stack.register_options(cfg.CONF)
    policy.register_options(cfg.CONF)


def rules() -> Sequence[oslo_policy.RuleDefault]:
    """Return every rule with its default."""
    return policy.defaults(GUARDED)


def enforcer() -> oslo_policy.Enforcer:
    """Return an enforcer of the rules as configured.

    The configuration is that of the tool's command line, or else the service's. Exits with one
    line when the files cannot be read.
    """
    conf = cfg.CONF  # where the tool has registered its own arguments
    try:
        config.parse(conf, sys.argv[1:], config.named_files())
    except ConfigurationError as error:
        console.fail(error)
        sys.exit(1)
    policy.register_options(conf)
    path = conf.find_file(conf.oslo_policy.policy_file)
    if path is not None:
        # The validator opens the file a second time, below the directory that it runs in.
        conf.set_override("policy_file", path, group="oslo_policy")
    policy_enforcer = oslo_policy.Enforcer(conf)
    policy_enforcer.register_defaults(rules())
    return policy_enforcer
