"""All operations in the order of their paths."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from placement.api import dry_run
from placement.api.bodies import Schema
from placement.api.candidate_requests import query_form, schema
from placement.api.handler import Call, Reply
from placement.api.history import HISTORY, Versioned, v
from placement.api.operations import (
    aggregates,
    allocations,
    candidates,
    changes,
    claims,
    consumers,
    headroom,
    holds,
    inventories,
    provider_shapes,
    provider_trees,
    providers,
    reshaper,
    resource_classes,
    rollup,
    root,
    simulations,
    traits,
    usages,
)
from placement.api.parameters import Parameter
from placement.api.policy import EXPLAIN, METRICS_RULE
from placement.api.shapes import CREATED, ENSURED, NO_CONTENT, Response, Shape

Handler = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class Order:
    """The order of checks, which determines the reported error of several errors."""

    # Status at versions below the first one of the path.
    below: int = 404
    # Whether wrong media types are refused even below the first version.
    types_below: bool = False
    # Check of the path before the body is read; raises an error.
    before_body: Callable[[Call], None] | None = None
    # Check of the path before an invalid body is refused; raises an error.
    at_bad_body: Callable[[Call], None] | None = None


USUAL = Order()
PROVIDER_FIRST = Order(at_bad_body=providers.check_provider)


@dataclass(frozen=True, slots=True)
class Route:
    """One operation, or its form from a version on."""

    method: str
    # Template of the path, with its variables in braces.
    path: str
    # Function whose name is the public id of the operation, and whose docstring describes it.
    handler: Handler
    # First version. The route is valid until the next route of the same method and path.
    since: str
    # Policy rule. None means public, without a token.
    rule: str | None
    # Statuses and the body of successful responses.
    response: Response
    # Schema of the body, by version. None means that the body is ignored.
    body_schema: Versioned[Schema] | None = None
    # Parameters of the query. None means that there are none; before 2.0, the query is ignored.
    parameters: Mapping[str, Parameter] | None = None
    # Order of the checks of a request.
    order: Order = USUAL
    # Whether the operation changes nothing, although its method is not GET.
    reads: bool = False
    # Parameter that the rule is checked against. None means the caller's own project.
    target: str | None = None
    # Part that `include` may name -> additional rule.
    part_rules: Mapping[str, str] | None = None
    # Whether responses have entity tags, at versions with tags.
    tagged: bool = False
    # Statuses of errors that few operations have.
    failures: tuple[int, ...] = ()
    # Additional rules of some requests.
    asks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        since = v(self.since)
        if since not in HISTORY:
            raise ValueError(f"{self.method} {self.path}: no such microversion: {self.since}")
        if self.body_schema is not None and self.body_schema.since > since:
            raise ValueError(
                f"{self.method} {self.path}: no schema before {self.body_schema.since}"
            )

    @property
    def operation(self) -> str:
        """The operation's public id."""
        return self.handler.__name__

    @property
    def public(self) -> bool:
        """Whether the operation needs no token."""
        return self.rule is None

    @property
    def has_dry_runs(self) -> bool:
        """Whether `dry_run` is a parameter: for each write, and for each read with a body."""
        return self.method not in dry_run.READING_METHODS

    @property
    def accepts_json_only(self) -> bool:
        """Whether requests are refused if their `Accept` excludes JSON."""
        reads = self.reads or self.method == "GET"
        return reads and not self.public and self.response.shape is not None


def _get(path: str, handler: Handler, since: str, rule: str, shape: Shape, **more: Any) -> Route:
    return Route("GET", path, handler, since, rule, Response(shape), **more)


def _delete(path: str, handler: Handler, since: str, rule: str, order: Order = USUAL) -> Route:
    return Route("DELETE", path, handler, since, rule, NO_CONTENT, order=order)


RP = "/resource_providers"
ONE_RP = "/resource_providers/{uuid}"
INVENTORIES_PATH = f"{ONE_RP}/inventories"
ONE_INVENTORY = f"{INVENTORIES_PATH}/{{resource_class}}"
CONSUMER_PATH = "/allocations/{consumer}"
HOLD_PATH = "/holds/{consumer}"
TREE_PATH = "/provider_trees/{root}"
RULE = "placement:resource_providers"
# `include=PART` requires the policy rule of `GET …/PART`.
PART_RULES = {
    "inventories": f"{RULE}:inventories:list",
    "usages": f"{RULE}:usages",
    "traits": f"{RULE}:traits:list",
    "aggregates": f"{RULE}:aggregates:list",
    "allocations": f"{RULE}:allocations:list",
}
CONSUMER_PART_RULES = {"allocations": "placement:allocations:list"}

# fmt: off
ROUTES: tuple[Route, ...] = (
    Route("GET", "/", root.list_versions, "1.0", None, Response(root.VERSIONS)),
    Route("GET", "/healthcheck", root.check_health, "1.0", None, Response(root.HEALTH)),
    Route("GET", "/openapi.json", root.show_document, "1.0", None, Response(root.DOCUMENT)),

    _get(RP, providers.list_resource_providers, "1.0", f"{RULE}:list", provider_shapes.PROVIDERS,
         parameters=providers.PARAMETERS),
    _get(RP, providers.list_resource_providers, "2.0", f"{RULE}:list", provider_shapes.PROVIDERS,
         parameters=providers.PARAMETERS, part_rules=PART_RULES, tagged=True),
    Route("POST", RP, providers.create_resource_provider, "1.0", f"{RULE}:create", CREATED,
          providers.CREATE),
    Route("POST", RP, providers.create_resource_provider, "1.20", f"{RULE}:create",
          Response(provider_shapes.PROVIDER, has_location=True), providers.CREATE),
    _get(ONE_RP, providers.show_resource_provider, "1.0", f"{RULE}:show", provider_shapes.SHOWN),
    _get(ONE_RP, providers.show_resource_provider, "2.0", f"{RULE}:show", provider_shapes.SHOWN,
         parameters=providers.SHOW_PARAMETERS, part_rules=PART_RULES, tagged=True),
    Route("PUT", ONE_RP, providers.update_resource_provider, "1.0", f"{RULE}:update",
          Response(provider_shapes.PROVIDER), providers.UPDATE, order=PROVIDER_FIRST),
    _delete(ONE_RP, providers.delete_resource_provider, "1.0", f"{RULE}:delete"),

    _get(INVENTORIES_PATH, inventories.list_inventories, "1.0", f"{RULE}:inventories:list",
         inventories.INVENTORIES, tagged=True),
    Route("POST", INVENTORIES_PATH, inventories.create_inventory, "1.0",
          f"{RULE}:inventories:create", Response(inventories.INVENTORY, (201,), has_location=True),
          inventories.CREATE, order=PROVIDER_FIRST),
    Route("PUT", INVENTORIES_PATH, inventories.replace_inventories, "1.0",
          f"{RULE}:inventories:update", Response(inventories.INVENTORIES), inventories.REPLACE,
          order=PROVIDER_FIRST),
    _delete(INVENTORIES_PATH, inventories.delete_inventories, "1.5", f"{RULE}:inventories:delete",
            Order(below=405)),
    _get(ONE_INVENTORY, inventories.show_inventory, "1.0", f"{RULE}:inventories:show",
         inventories.INVENTORY, tagged=True),
    Route("PUT", ONE_INVENTORY, inventories.update_inventory, "1.0", f"{RULE}:inventories:update",
          Response(inventories.INVENTORY), inventories.UPDATE, order=PROVIDER_FIRST),
    _delete(ONE_INVENTORY, inventories.delete_inventory, "1.0", f"{RULE}:inventories:delete"),

    _get(f"{ONE_RP}/usages", inventories.show_provider_usages, "1.0", f"{RULE}:usages",
         inventories.USAGES, tagged=True),
    _get(f"{ONE_RP}/rollup", rollup.show_provider_rollup, "2.0", f"{RULE}:usages", rollup.ROLLUP),
    _get(f"{ONE_RP}/allocations", allocations.list_provider_allocations, "1.0",
         f"{RULE}:allocations:list", allocations.ON_PROVIDER, tagged=True),

    _get(f"{ONE_RP}/aggregates", aggregates.list_aggregates, "1.1", f"{RULE}:aggregates:list",
         aggregates.AGGREGATES, order=Order(types_below=True), tagged=True),
    Route("PUT", f"{ONE_RP}/aggregates", aggregates.replace_aggregates, "1.1",
          f"{RULE}:aggregates:update", Response(aggregates.AGGREGATES), aggregates.REPLACE,
          order=Order(types_below=True, at_bad_body=providers.check_provider)),

    _get(f"{ONE_RP}/traits", traits.list_provider_traits, "1.6", f"{RULE}:traits:list",
         traits.PROVIDER_TRAITS, tagged=True),
    Route("PUT", f"{ONE_RP}/traits", traits.replace_provider_traits, "1.6",
          f"{RULE}:traits:update", Response(traits.PROVIDER_TRAITS), traits.REPLACE),
    _delete(f"{ONE_RP}/traits", traits.delete_provider_traits, "1.6", f"{RULE}:traits:delete"),

    _get(CONSUMER_PATH, allocations.show_allocations, "1.0", "placement:allocations:list",
         allocations.CONSUMER),
    Route("PUT", CONSUMER_PATH, allocations.replace_allocations, "1.0",
          "placement:allocations:update", NO_CONTENT, allocations.REPLACE,
          order=Order(before_body=allocations.check_consumer)),
    _delete(CONSUMER_PATH, allocations.delete_allocations, "1.0", "placement:allocations:delete"),
    _get("/allocations", allocations.list_allocations, "2.0", "placement:allocations:list",
         allocations.CONSUMERS, parameters=allocations.PARAMETERS, order=Order(below=405)),
    Route("POST", "/allocations", allocations.manage_allocations, "1.13",
          "placement:allocations:manage", NO_CONTENT, allocations.MANAGE),

    _get("/consumers", consumers.list_consumers, "2.0", "placement:consumers:list",
         consumers.CONSUMERS, parameters=consumers.PARAMETERS, part_rules=CONSUMER_PART_RULES),
    _get("/consumers/{consumer}", consumers.show_consumer, "2.0", "placement:consumers:show",
         consumers.CONSUMER, parameters=consumers.SHOW_PARAMETERS,
         part_rules=CONSUMER_PART_RULES),
    Route("PUT", "/consumers/{consumer}/request", consumers.remember_request, "2.0",
          "placement:consumers:remember", NO_CONTENT, consumers.REMEMBER),
    Route("PUT", "/consumers/{consumer}/spread_group", consumers.join_spread_group, "2.0",
          "placement:consumers:join", NO_CONTENT, consumers.JOIN),
    Route("PUT", HOLD_PATH, holds.update_hold, "2.0", "placement:holds:update",
          Response(holds.HOLD), holds.UPDATE),
    _delete(HOLD_PATH, holds.delete_hold, "2.0", "placement:holds:delete"),

    _get("/resource_classes", resource_classes.list_resource_classes, "1.2",
         "placement:resource_classes:list", resource_classes.RESOURCE_CLASSES),
    Route("POST", "/resource_classes", resource_classes.create_resource_class, "1.2",
          "placement:resource_classes:create", CREATED, resource_classes.CREATE),
    _get("/resource_classes/{name}", resource_classes.show_resource_class, "1.2",
         "placement:resource_classes:show", resource_classes.RESOURCE_CLASS),
    Route("PUT", "/resource_classes/{name}", resource_classes.rename_resource_class, "1.2",
          "placement:resource_classes:update", Response(resource_classes.RESOURCE_CLASS),
          resource_classes.RENAME),
    Route("PUT", "/resource_classes/{name}", resource_classes.ensure_resource_class, "1.7",
          "placement:resource_classes:update", ENSURED),
    _delete("/resource_classes/{name}", resource_classes.delete_resource_class, "1.2",
            "placement:resource_classes:delete"),

    _get("/traits", traits.list_traits, "1.6", "placement:traits:list", traits.TRAITS,
         parameters=traits.PARAMETERS),
    Route("GET", "/traits/{name}", traits.check_trait, "1.6", "placement:traits:show",
          NO_CONTENT),
    Route("PUT", "/traits/{name}", traits.ensure_trait, "1.6", "placement:traits:update",
          ENSURED),
    _delete("/traits/{name}", traits.delete_trait, "1.6", "placement:traits:delete"),

    _get("/usages", usages.show_usages, "1.9", "placement:usages", usages.USAGES,
         parameters=usages.PARAMETERS, target="project_id"),
    _get("/allocation_candidates", candidates.list_allocation_candidates, "1.10",
         "placement:allocation_candidates:list", candidates.CANDIDATES,
         parameters=query_form.PARAMETERS, asks=(EXPLAIN,)),
    Route("POST", "/allocation_candidates", candidates.find_allocation_candidates, "2.0",
          "placement:allocation_candidates:list", Response(candidates.CANDIDATES), schema.FIND,
          order=Order(below=405), reads=True, asks=(EXPLAIN,)),
    Route("POST", "/claims", claims.create_claims, "2.0", "placement:claims:create",
          Response(claims.CLAIMED, (201,), has_location=True), claims.CREATE, asks=(EXPLAIN,)),
    _get("/changes", changes.list_changes, "2.0", "placement:changes:list", changes.CHANGES,
         parameters=changes.PARAMETERS, failures=(410,)),
    Route("POST", "/headroom", headroom.measure_headroom, "2.0", "placement:headroom",
          Response(headroom.HEADROOMS), headroom.MEASURE, reads=True),
    _get(TREE_PATH, provider_trees.show_provider_tree, "2.0", "placement:provider_trees:show",
         provider_trees.TREE),
    Route("PUT", TREE_PATH, provider_trees.replace_provider_tree, "2.0",
          "placement:provider_trees:update", Response(provider_trees.WRITTEN), provider_trees.PUT,
          asks=tuple(provider_trees.CREATION_RULES.values())),
    Route("POST", "/simulations", simulations.create_simulation, "2.0",
          "placement:simulations:create", Response(simulations.SIMULATION), simulations.RUN,
          reads=True),
    Route("POST", "/reshaper", reshaper.reshape, "1.30", "placement:reshaper:reshape",
          NO_CONTENT, reshaper.RESHAPE),
)
# fmt: on


def operations(routes: Iterable[Route]) -> dict[str, dict[str, Versioned[Route]]]:
    """Return path -> method -> the routes of that operation by version.

    Raises:
        ValueError: two routes of an operation are for the same version, or they are not in the
            order of their versions.
    """
    tables: dict[tuple[str, str], dict[str, Route]] = {}
    for route in routes:
        table = tables.setdefault((route.path, route.method), {})
        if route.since in table:
            raise ValueError(f"{route.method} {route.path} is declared twice for one version")
        table[route.since] = route
    by_path: dict[str, dict[str, Versioned[Route]]] = {}
    for (path, method), table in tables.items():
        by_method = by_path.setdefault(path, {})
        by_method[method] = Versioned(table)
    return by_path


OPERATIONS = operations(ROUTES)
# The first version of each path.
FIRST_VERSIONS = {
    path: min(routes.since for routes in methods.values()) for path, methods in OPERATIONS.items()
}
PUBLIC_PATHS = frozenset(route.path for route in ROUTES if route.public)


def _guarded() -> Iterator[tuple[str, str, str]]:
    for route in ROUTES:
        if route.rule is not None:
            yield route.rule, route.method, route.path
        for rule in route.asks:
            yield rule, route.method, route.path
        for name, rule in (route.part_rules or {}).items():
            yield rule, route.method, f"{route.path}?include={name}"
    yield METRICS_RULE, "GET", "/metrics"


# (policy rule, method, path) of every operation that has a rule.
GUARDED = tuple(dict.fromkeys(_guarded()))
