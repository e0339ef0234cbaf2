"""The settings of the service: options of oslo.config, which are read once into frozen values.

No other module of the service reads an option. The settings keep the `ConfigOpts` for the oslo
libraries (log, policy), which read their own groups from it.
"""

from placement.config.frozen import (
    NO_TRAITS,
    CandidateSettings,
    DatabaseSettings,
    MetricsSettings,
    Settings,
    SpecialTraits,
    database_settings,
    incomplete_consumer_owner,
    settings,
)
from placement.config.log_setup import LOG_LEVEL, log_to_stderr, set_log_defaults, setup_logging
from placement.config.option_groups import NIL_UUID, OPTIONS
from placement.config.sources import (
    CONFIG_DIR_VARIABLE,
    check_values,
    describe_error,
    load_for_service,
    named_files,
    options,
    parse,
    register,
    unknown_options,
    unknown_settings,
    unknown_variables,
)
