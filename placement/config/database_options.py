"""The options of the group `[placement_database]`."""

from oslo_config import cfg

DATABASE_OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt(
        "connection",
        secret=True,
        help="Database URL (required): sqlite:////FILE, "
        "mysql+pymysql://USER:PASSWORD@HOST/DB, mysql+mysqldb://... (with the extra "
        "mysqlclient) or postgresql+psycopg://... (with the extra postgresql). Parameters of "
        "the driver follow a question mark.",
    ),
    cfg.StrOpt(
        "connection_parameters",
        default="",
        secret=True,
        help="Parameters that are appended to the URL after '?'.",
    ),
    cfg.StrOpt("slave_connection", secret=True, help="Database URL of a replica for reads."),
    cfg.BoolOpt(
        "sqlite_synchronous", default=True, help="Wait until SQLite has written to the disk."
    ),
    cfg.StrOpt(
        "mysql_sql_mode",
        default="TRADITIONAL",
        help="sql_mode of each session. An empty value keeps the sql_mode of the server.",
    ),
    cfg.IntOpt(
        "mysql_wsrep_sync_wait",
        help="wsrep_sync_wait of each session. Set it to 1 on a Galera cluster if clients "
        "write through several nodes: a read then waits until its node has applied the "
        "commits of the other nodes.",
    ),
    cfg.BoolOpt(
        "mariadb_prepared_statements",
        default=True,
        help="Prepare the statements of writes and searches on MariaDB, up to 32 on each "
        "connection, which saves a third of their cost on the server. The writes of a "
        "transaction are then one statement (MariaDB 10.6.2). The server's "
        "max_prepared_stmt_count limits them for all connections together; beyond this limit, "
        "statements are sent unprepared. Set this option to false behind a proxy that "
        "distributes the transactions of one connection over several server connections.",
    ),
    cfg.BoolOpt(
        "postgresql_prepared_statements",
        default=True,
        help="Prepare repeated statements on PostgreSQL, which then parses and plans them "
        "less often. Set this option to false behind a proxy that distributes the "
        "transactions of one connection over several server connections, unless the proxy "
        "manages prepared statements, as PgBouncer 1.21 does with max_prepared_statements.",
    ),
    cfg.IntOpt(
        "connection_recycle_time",
        default=3600,
        help="Seconds after which a connection is replaced, by the next request that uses it.",
    ),
    cfg.IntOpt(
        "max_pool_size",
        default=5,
        help="Maximum number of connections of each of the two pools of a process, together "
        "with max_overflow. A pool opens a connection only if its other connections are in "
        "use, and keeps the connection for later requests. A pool therefore has at most one "
        "connection for each thread. 0 means no limit.",
    ),
    cfg.IntOpt(
        "max_overflow",
        default=10,
        help="Added to max_pool_size. The service does not close these connections earlier "
        "than others. -1 means no limit.",
    ),
    cfg.IntOpt(
        "pool_timeout",
        help="Maximum time, in seconds, to wait for a connection from the pool (default of "
        "SQLAlchemy: 30).",
    ),
    cfg.IntOpt(
        "max_retries",
        default=10,
        help="Maximum number of retries of the first connection to the database, when the "
        "service starts. -1 means no limit.",
    ),
    cfg.IntOpt("retry_interval", default=10, help="Seconds between these retries."),
    cfg.FloatOpt(
        "write_timeout",
        default=20.0,
        help="Seconds that a write may spend on retries before it fails with 503.",
    ),
    cfg.FloatOpt(
        "statement_timeout",
        default=4.0,
        min=0,
        help="Seconds that one statement of a request may take before the database cancels "
        "it and the request fails with 503. 0 means no limit. A statement that writes may "
        "take write_timeout in addition, because it may have to wait for other writers. "
        "Commands such as db sync and db check have no limit.",
    ),
    cfg.IntOpt(
        "connection_debug",
        default=0,
        min=0,
        max=100,
        help="Log statements if the value is 50 or more.",
    ),
    cfg.BoolOpt(
        "connection_trace", default=False, help="Log statements, as connection_debug = 50 does."
    ),
    cfg.BoolOpt(
        "sync_on_startup", default=False, help="Migrate the schema when the service starts."
    ),
]
