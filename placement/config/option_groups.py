"""The options of `placement.conf`, by group."""

from oslo_config import cfg

NIL_UUID = "00000000-0000-0000-0000-000000000000"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "api": [
        cfg.StrOpt(
            "auth_strategy",
            default="keystone",
            choices=("keystone", "noauth2"),
            deprecated_group="DEFAULT",
            help="How callers are authenticated: by Keystone, or not at all (noauth2, for tests).",
        ),
    ],
    "metrics": [
        cfg.BoolOpt(
            "enabled",
            default=True,
            help="Count what the service does, and show it to Prometheus.",
        ),
        cfg.StrOpt("path", default="/metrics", help="Where the metrics are shown."),
        cfg.BoolOpt(
            "token_required",
            default=True,
            help="Whether a scrape needs a token, and the policy rule placement:metrics admits "
            "its owner. Without it, whoever reaches the port reads the names of all providers.",
        ),
        cfg.HostAddressOpt(
            "bind_host", default="127.0.0.1", help="Address of the port of their own."
        ),
        cfg.PortOpt(
            "bind_port",
            min=1,
            help="A port of their own, on which the path is all that there is; the API's ports do "
            "not have it then. gunicorn opens it. Other servers, and sockets of systemd, have to "
            "be told to. Not set: the path is on the ports of the API.",
        ),
        cfg.StrOpt(
            "directory",
            help="Where the processes of the service count, each in files of its own: a directory "
            "of this host, for this service alone. What is counted there survives a restart. Not "
            "set: a directory is made at the start and removed at the end, which is right where "
            "one process loads the service and forks the others, as gunicorn and uWSGI do; if "
            "each loads it by itself, this has to be set. A change needs a restart.",
        ),
        cfg.FloatOpt(
            "inventory_seconds",
            default=60.0,
            min=0,
            help="Seconds for which the metrics of inventories (openstack_placement_*, five for "
            "each provider and class) are kept before they are read anew. 0: they are left out.",
        ),
    ],
    "explorer": [
        cfg.BoolOpt(
            "enabled",
            help="Whether /explorer/ serves a page that shows the cloud to whoever has a token. "
            "Not set: only with auth_strategy = noauth2.",
        ),
    ],
    "placement": [
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            help="Answer with a fair sample of the cloud in random order.",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=100_000,
            min=-1,
            help="Most candidates generated for one request; -1 means no limit.",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="breadth-first",
            choices=("breadth-first", "depth-first"),
            help="Take one candidate of each tree in turn, or all of a tree before the next.",
        ),
        cfg.IntOpt(
            "max_search_steps",
            default=2_000_000,
            min=1,
            help="Most work that the search for one request may take, in steps of about a "
            "microsecond. Trying a provider for a group is one step, and one more for each "
            "condition that joins the group to others; looking at eight providers is one; "
            "reading a provider from the database is fifteen. The searches of one claim share it, "
            "and so do a search and the explanation that follows, to which a quarter is left.",
        ),
        cfg.FloatOpt(
            "request_deadline",
            default=5.0,
            min=0,
            help="Seconds that the work for one request may take, in the service and in reads of "
            "the database; waiting for the locks of other writers does not count, which "
            "[placement_database] write_timeout bounds. A search or an explanation that reaches it "
            "answers with what it has, as at max_search_steps; any other request changes nothing "
            "and is answered with 503. 0: no limit.",
        ),
        cfg.IntOpt(
            "max_answer_size",
            default=64 * 1024 * 1024,
            min=1,
            help="Most bytes of candidates in one answer, each counted as long as it could be. "
            "The list ends there, and a warning is logged.",
        ),
        cfg.IntOpt(
            "tree_cache_size",
            default=500_000,
            min=0,
            help="Resource providers kept in memory by each process, as immutable trees; "
            "some 0.8 KB each, half of that below a root, and twice where no two hosts are alike.",
        ),
        cfg.IntOpt(
            "max_request_body_size",
            default=32 * 1024 * 1024,
            min=1,
            help="Most bytes of a request body; a larger one is answered with 413.",
        ),
        cfg.FloatOpt(
            "slow_request",
            default=1.0,
            min=0,
            help="Seconds from which on a request is slow: the log has a warning that says where "
            "its time went. 0: none is.",
        ),
        cfg.IntOpt(
            "allocation_conflict_retry_count",
            default=10,
            min=0,
            help="Retries of a write whose providers other writers keep changing.",
        ),
        cfg.StrOpt(
            "incomplete_consumer_project_id",
            default=NIL_UUID,
            help="Project of consumers written below microversion 1.8.",
        ),
        cfg.StrOpt(
            "incomplete_consumer_user_id",
            default=NIL_UUID,
            help="User of consumers written below microversion 1.8.",
        ),
    ],
    "placement_database": [
        cfg.StrOpt(
            "connection",
            secret=True,
            help="Database URL; required: sqlite:////FILE, mysql+pymysql://USER:PASSWORD@HOST/DB, "
            "mysql+mysqldb://... with the extra mysqlclient, or postgresql+psycopg://... with the "
            "extra postgresql. Parameters of the driver follow a question mark.",
        ),
        cfg.StrOpt(
            "connection_parameters", default="", secret=True, help="Appended to the URL after '?'."
        ),
        cfg.StrOpt("slave_connection", secret=True, help="Database URL for reads."),
        cfg.BoolOpt(
            "sqlite_synchronous", default=True, help="Wait until SQLite has written to the disk."
        ),
        cfg.StrOpt(
            "mysql_sql_mode",
            default="TRADITIONAL",
            help="sql_mode of a session; empty keeps the server's.",
        ),
        cfg.IntOpt(
            "mysql_wsrep_sync_wait",
            help="Set to 1 on a Galera cluster that is written through several nodes: a read then "
            "waits until its node has what others have committed.",
        ),
        cfg.BoolOpt(
            "mariadb_prepared_statements",
            default=True,
            help="Have MariaDB keep the long statements of claims and searches prepared, up to 32 "
            "on each connection, which saves half of their cost there. max_prepared_stmt_count of "
            "the server bounds them for all connections together; beyond it, plain statements are "
            "sent. Set to false behind a proxy that hands transactions of one connection to "
            "several, such as ProxySQL.",
        ),
        cfg.IntOpt(
            "connection_recycle_time", default=3600, help="Seconds that a connection is kept."
        ),
        cfg.IntOpt("max_pool_size", help="Connections kept by a process."),
        cfg.IntOpt("max_overflow", help="Connections beyond the pool."),
        cfg.IntOpt("pool_timeout", help="Seconds to wait for a connection of the pool."),
        cfg.IntOpt(
            "max_retries", default=10, help="Retries of the first connection; -1: for ever."
        ),
        cfg.IntOpt("retry_interval", default=10, help="Seconds between these retries."),
        cfg.FloatOpt(
            "write_timeout",
            default=20.0,
            help="Seconds that a write may spend on retries before it is answered with 503.",
        ),
        cfg.FloatOpt(
            "statement_timeout",
            default=4.0,
            min=0,
            help="Seconds that one statement for a request may take before the database ends it "
            "and the request is answered with 503; 0 means no limit. A statement that writes may "
            "take write_timeout in addition, as it may have to wait for other writers. "
            "Commands such as db sync and db check have no limit.",
        ),
        cfg.IntOpt("connection_debug", default=0, min=0, max=100, help="From 50: log statements."),
        cfg.BoolOpt("connection_trace", default=False, help="Log statements."),
        cfg.BoolOpt("sync_on_startup", default=False, help="Migrate when the service starts."),
    ],
    "workarounds": [
        cfg.BoolOpt(
            "optimize_for_wide_provider_trees",
            default=False,
            help="Accepted for compatibility; wide trees need no workaround here.",
        ),
    ],
}
