"""The options of `placement.conf`, by group."""

from oslo_config import cfg

from placement.config.database_options import DATABASE_OPTIONS

NIL_UUID = "00000000-0000-0000-0000-000000000000"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "api": [
        cfg.StrOpt(
            "auth_strategy",
            default="keystone",
            choices=("keystone", "noauth2"),
            deprecated_group="DEFAULT",
            help="Authentication of callers: keystone validates their tokens, and noauth2 accepts "
            "every caller, which is suitable for tests only.",
        ),
    ],
    "metrics": [
        cfg.BoolOpt(
            "enabled",
            default=True,
            help="Count events of the service and serve them as metrics for Prometheus.",
        ),
        cfg.StrOpt("path", default="/metrics", help="URL path of the metrics."),
        cfg.BoolOpt(
            "token_required",
            default=True,
            help="Whether a scrape needs a token whose owner passes the policy rule "
            "placement:metrics. If false, anyone who can reach the port can read the names of "
            "all providers.",
        ),
        cfg.PortOpt(
            "bind_port",
            min=1,
            help="A separate port that serves only the metrics; the API's ports then do not serve "
            "them. The WSGI server must be configured to listen on this port, too (uWSGI: a second "
            "http-socket; gunicorn: a second bind; placement.socket: a second ListenStream). If "
            "unset, the metrics are served on the ports of the API.",
        ),
        cfg.StrOpt(
            "directory",
            help="Directory on this host for the counters of the service, with separate files for "
            "each process. It must not be shared with other services. Counters survive a "
            "restart. If unset, a temporary directory is created at the start and removed at the "
            "end. This works if one process loads the service and forks the others, as with "
            "gunicorn and uWSGI. If each process loads the service separately, set this "
            "option. A change takes effect after a restart.",
        ),
        cfg.FloatOpt(
            "inventory_seconds",
            default=60.0,
            min=0,
            help="Seconds for which the inventory metrics (openstack_placement_*, five for each "
            "provider and class) are cached. 0 disables these metrics.",
        ),
        cfg.BoolOpt(
            "allocations",
            default=False,
            help="Whether the inventory metrics include the allocations "
            "(openstack_placement_resource_provider_allocations), with one line for each consumer, "
            "provider and class.",
        ),
        cfg.StrOpt(
            "headroom_file",
            help="YAML file that maps names to flavors or requests. The metrics then contain how "
            "many more of each fit (placement_headroom). The file is read again when it changes. "
            "It needs the package falcon-placement-client. If unset, no headroom is measured.",
        ),
        cfg.FloatOpt(
            "headroom_interval",
            default=60.0,
            min=1,
            help="Minimum seconds between two measurements of headroom_file, by all processes of "
            "the service together. A scrape in between returns the latest numbers.",
        ),
    ],
    "explorer": [
        cfg.BoolOpt(
            "enabled",
            help="Whether /explorer/ serves a page that shows the cloud to callers with a token. "
            "If unset, the page is served only with auth_strategy = noauth2.",
        ),
    ],
    "placement": [
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            help="Return a random selection of the candidates, in random order.",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=100_000,
            min=-1,
            help="Maximum number of candidates generated for one request. -1 means no limit.",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="breadth-first",
            choices=("breadth-first", "depth-first"),
            help="breadth-first takes one candidate of each tree in turn. depth-first takes all "
            "candidates of a tree before the next tree.",
        ),
        cfg.IntOpt(
            "max_search_steps",
            default=2_000_000,
            min=1,
            help="Maximum work of the search for one request, in steps of about a microsecond. "
            "Trying a provider for a group costs one step, plus one for each condition that "
            "links the group to others; checking two providers costs one; reading a provider from "
            "the database costs fifteen. All searches of one claim share this budget. An "
            "explanation that follows a search uses the rest of its budget, or at least a quarter.",
        ),
        cfg.IntOpt(
            "max_simulation_steps",
            default=20_000_000,
            min=1,
            help="Maximum work of all searches of one simulation, in steps like those of "
            "max_search_steps. A simulation takes at most 30 seconds. When either limit is "
            "reached, the response lists the consumers that were not examined.",
        ),
        cfg.FloatOpt(
            "request_deadline",
            min=0,
            help="Maximum seconds of work for one request, in the service and in reads of the "
            "database. The default is 30 at microversions 1.x and 5 at 2.0. Waiting for locks of "
            "other writers does not count; [placement_database] write_timeout limits it. A search "
            "or an explanation that reaches the deadline returns its results so far, as at "
            "max_search_steps. Any other request fails with 503 and changes nothing. GET requests "
            "at 1.x are repeated until the deadline if the database fails or has no free "
            "connection. GET /allocation_candidates at 1.x with a limit, which nova sends, fails "
            "with 503 only at the deadline: it is also repeated if the database cancels a "
            "statement, and while it has no candidate, the search continues beyond "
            "max_search_steps. 0 means no limit; requests are then not repeated.",
        ),
        cfg.IntOpt(
            "max_answer_size",
            default=64 * 1024 * 1024,
            min=1,
            help="Maximum size of the candidates of one response, in bytes, with each candidate "
            "counted at its maximum length. The list ends there, and a warning is logged.",
        ),
        cfg.IntOpt(
            "tree_cache_size",
            default=500_000,
            min=0,
            help="Number of resource providers that each process caches, as immutable trees. A "
            "root takes about 0.8 KB, and a provider below a root takes half of that. These sizes "
            "double if all hosts have different inventories.",
        ),
        cfg.ListOpt(
            "taints",
            default=[],
            help="Traits, separated by commas, that take a host out of service. While the root of "
            "a tree has one of these traits, searches exclude the whole tree, except for requests "
            "that tolerate or require the trait. Allocations, moves and releases are not affected. "
            "A trait that does not exist yet has no effect. All servers need the same value. "
            "A reload (SIGHUP) applies a new value.",
        ),
        cfg.ListOpt(
            "exclusive",
            default=[],
            help="Traits, separated by commas, of devices that are reported in several ways, such "
            "as a card and its virtual GPUs. A provider with one of these traits serves either by "
            "itself, one class at a time, or by its descendants: searches return no candidates, "
            "and writes of allocations are refused with 409, if it already serves otherwise. "
            "Existing allocations may stay and shrink. A trait that does not exist yet has no "
            "effect. All servers need the same value. A reload (SIGHUP) applies a new value.",
        ),
        cfg.StrOpt(
            "order",
            default="",
            help="Order of the hosts in GET /allocation_candidates with a limit at 1.x, which nova "
            "sends: up to 8 keys as JSON, as in the member order of requests at 2.0, such as "
            '[{"by": "free", "resource_class": "MEMORY_MB", "first": "most"}]. The limit is '
            "applied after the hosts are sorted. A class or trait that does not exist yet has no "
            "effect. All servers need the same value. A reload (SIGHUP) applies a new value. If "
            "empty, the hosts have no particular order.",
        ),
        cfg.IntOpt(
            "changes_kept",
            default=7 * 24 * 3600,
            min=1,
            help="Seconds for which GET /changes remembers deleted trees and cursors. A client "
            "whose cursor is older receives 410 and must list the resource providers again.",
        ),
        cfg.IntOpt(
            "max_holds_per_project",
            default=0,
            min=0,
            help="Maximum number of holds of one project. A claim with expires_in beyond it is "
            "refused with 409; claims that are made at the same time may exceed it. 0: no maximum.",
        ),
        cfg.IntOpt(
            "max_hold_age",
            default=86_400,
            min=1,
            help="Maximum seconds from the claim of a hold to its end, including all extensions.",
        ),
        cfg.IntOpt(
            "max_request_body_size",
            default=32 * 1024 * 1024,
            min=1,
            help="Maximum size of a request body, in bytes. Larger bodies are rejected with 413.",
        ),
        cfg.FloatOpt(
            "slow_request",
            default=1.0,
            min=0,
            help="Seconds after which a request counts as slow. For slow requests, a warning in "
            "the log contains the duration of each phase. 0 disables these warnings.",
        ),
        cfg.IntOpt(
            "allocation_conflict_retry_count",
            default=10,
            min=0,
            help="Maximum number of retries of a write that conflicts with concurrent writes to "
            "the same providers.",
        ),
        cfg.StrOpt(
            "incomplete_consumer_project_id",
            default=NIL_UUID,
            help="Project of consumers that are created with microversions before 1.8, in which "
            "requests state none.",
        ),
        cfg.StrOpt(
            "incomplete_consumer_user_id",
            default=NIL_UUID,
            help="User of consumers that are created with microversions before 1.8, in which "
            "requests state none.",
        ),
    ],
    "placement_database": DATABASE_OPTIONS,
    "workarounds": [
        cfg.BoolOpt(
            "optimize_for_wide_provider_trees",
            default=False,
            help="Accepted for compatibility. Wide trees need no workaround in this service.",
        ),
    ],
}
