"""Every operation: method, path, handler, first version, policy rule, body. Read top to bottom."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from placement.api import answers
from placement.api.handler import Call, Reply
from placement.api.history import HISTORY, v
from placement.api.json_body import Schema
from placement.api.query import Parameter
from placement.api.query import candidates as candidate_query
from placement.api.query import providers as provider_query
from placement.api.query import traits as trait_query
from placement.api.query import usages as usage_query
from placement.api.request_schemas import aggregates as aggregate_bodies
from placement.api.request_schemas import allocations as allocation_bodies
from placement.api.request_schemas import inventories as inventory_bodies
from placement.api.request_schemas import providers as provider_bodies
from placement.api.request_schemas import reshaper as reshaper_bodies
from placement.api.request_schemas import resource_classes as class_bodies
from placement.api.request_schemas import traits as trait_bodies
from placement.api.request_schemas.common import Fragment
from placement.api.resources import (
    aggregates,
    allocations,
    candidates,
    inventories,
    providers,
    reshaper,
    resource_classes,
    root,
    traits,
    usages,
)
from placement.api.versioned import Versioned

Handler = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation, or what it is from a version on.

    since: it holds from this version until that of the next route of the same method and path;
    below the first one the answer is `below`. rule: the policy rule, None: free for all.
    target: the query parameter that the rule is checked against, None: the caller's own project.
    answer: the shape of a success's body by version, None: it has none. success: its statuses.
    body_schema: schemas by version, None: a body is ignored. parameters: those it reads, None: any
    are ignored. precheck: runs before the body is read, and may raise. existence_first: a
    missing provider is 404 even when the body is wrong. accepts: an `Accept` header without
    JSON is 406. types_first: that, or a wrong type of body, is told even below the first version.
    public: no authentication is asked for.
    """

    method: str
    path: str
    handler: Handler
    since: str
    rule: str | None
    answer: Versioned[Fragment] | None = None
    success: tuple[int, ...] = (200,)
    body_schema: Versioned[Schema] | None = None
    parameters: Mapping[str, Parameter] | None = None
    below: int = 404
    precheck: Callable[[Call], None] | None = None
    existence_first: bool = False
    accepts: bool = False
    types_first: bool = False
    public: bool = False
    target: str | None = None

    def __post_init__(self) -> None:
        if v(self.since) not in HISTORY:
            raise ValueError(f"{self.method} {self.path}: no such microversion: {self.since}")
        for table in (self.body_schema, self.answer):
            if table is not None and table.since > v(self.since):
                raise ValueError(f"{self.method} {self.path}: no schema before {table.since}")


Shape = Versioned[Fragment]


def _get(path: str, handler: Handler, since: str, rule: str, answer: Shape, **more: Any) -> Route:
    return Route("GET", path, handler, since, rule, answer, accepts=True, **more)


def _delete(path: str, handler: Handler, since: str, rule: str, below: int = 404) -> Route:
    return Route("DELETE", path, handler, since, rule, success=(204,), below=below)


RP = "/resource_providers"
ONE_RP = "/resource_providers/{uuid}"
INVENTORIES = f"{ONE_RP}/inventories"
ONE_INVENTORY = f"{INVENTORIES}/{{resource_class}}"
RULE = "placement:resource_providers"

# fmt: off
ROUTES: tuple[Route, ...] = (
    Route("GET", "/", root.versions, "1.0", None, answers.VERSIONS, public=True),
    Route("GET", "/healthcheck", root.healthcheck, "1.0", None, answers.HEALTH, public=True),

    _get(RP, providers.list_providers, "1.0", f"{RULE}:list", answers.PROVIDERS,
         parameters=provider_query.PARAMETERS),
    Route("POST", RP, providers.create, "1.0", f"{RULE}:create",
          body_schema=provider_bodies.CREATE, success=(201,)),
    Route("POST", RP, providers.create_and_show, "1.20", f"{RULE}:create", answers.PROVIDER,
          body_schema=provider_bodies.CREATE),
    _get(ONE_RP, providers.show, "1.0", f"{RULE}:show", answers.PROVIDER),
    Route("PUT", ONE_RP, providers.update, "1.0", f"{RULE}:update", answers.PROVIDER,
          body_schema=provider_bodies.UPDATE, existence_first=True),
    _delete(ONE_RP, providers.delete, "1.0", f"{RULE}:delete"),

    _get(INVENTORIES, inventories.list_inventories, "1.0", f"{RULE}:inventories:list",
         answers.INVENTORIES),
    Route("POST", INVENTORIES, inventories.create, "1.0", f"{RULE}:inventories:create",
          answers.INVENTORY, success=(201,), body_schema=inventory_bodies.CREATE,
          existence_first=True),
    Route("PUT", INVENTORIES, inventories.replace, "1.0", f"{RULE}:inventories:update",
          answers.INVENTORIES, body_schema=inventory_bodies.REPLACE, existence_first=True),
    _delete(INVENTORIES, inventories.delete_all, "1.5", f"{RULE}:inventories:delete", below=405),
    _get(ONE_INVENTORY, inventories.show, "1.0", f"{RULE}:inventories:show", answers.INVENTORY),
    Route("PUT", ONE_INVENTORY, inventories.update, "1.0", f"{RULE}:inventories:update",
          answers.INVENTORY, body_schema=inventory_bodies.UPDATE, existence_first=True),
    _delete(ONE_INVENTORY, inventories.delete, "1.0", f"{RULE}:inventories:delete"),

    _get(f"{ONE_RP}/usages", inventories.usages, "1.0", f"{RULE}:usages",
         answers.PROVIDER_USAGES),
    _get(f"{ONE_RP}/allocations", allocations.on_provider, "1.0", f"{RULE}:allocations:list",
         answers.PROVIDER_ALLOCATIONS),

    _get(f"{ONE_RP}/aggregates", aggregates.of_provider, "1.1", f"{RULE}:aggregates:list",
         answers.AGGREGATES, types_first=True),
    Route("PUT", f"{ONE_RP}/aggregates", aggregates.replace, "1.1", f"{RULE}:aggregates:update",
          answers.AGGREGATES, body_schema=aggregate_bodies.REPLACE, existence_first=True,
          types_first=True),

    _get(f"{ONE_RP}/traits", traits.of_provider, "1.6", f"{RULE}:traits:list",
         answers.PROVIDER_TRAITS),
    Route("PUT", f"{ONE_RP}/traits", traits.replace, "1.6", f"{RULE}:traits:update",
          answers.PROVIDER_TRAITS, body_schema=trait_bodies.REPLACE),
    _delete(f"{ONE_RP}/traits", traits.clear, "1.6", f"{RULE}:traits:delete"),

    _get("/allocations/{consumer}", allocations.show, "1.0", "placement:allocations:list",
         answers.ALLOCATIONS),
    Route("PUT", "/allocations/{consumer}", allocations.replace, "1.0",
          "placement:allocations:update", success=(204,), body_schema=allocation_bodies.REPLACE,
          precheck=allocations.check_consumer),
    _delete("/allocations/{consumer}", allocations.delete, "1.0", "placement:allocations:delete"),
    Route("POST", "/allocations", allocations.manage, "1.13", "placement:allocations:manage",
          success=(204,), body_schema=allocation_bodies.MANAGE),

    _get("/resource_classes", resource_classes.list_classes, "1.2",
         "placement:resource_classes:list", answers.RESOURCE_CLASSES),
    Route("POST", "/resource_classes", resource_classes.create, "1.2",
          "placement:resource_classes:create", success=(201,), body_schema=class_bodies.CREATE),
    _get("/resource_classes/{name}", resource_classes.show, "1.2",
         "placement:resource_classes:show", answers.RESOURCE_CLASS),
    Route("PUT", "/resource_classes/{name}", resource_classes.rename, "1.2",
          "placement:resource_classes:update", answers.RESOURCE_CLASS,
          body_schema=class_bodies.RENAME),
    Route("PUT", "/resource_classes/{name}", resource_classes.ensure, "1.7",
          "placement:resource_classes:update", success=(201, 204)),
    _delete("/resource_classes/{name}", resource_classes.delete, "1.2",
            "placement:resource_classes:delete"),

    _get("/traits", traits.list_traits, "1.6", "placement:traits:list", answers.TRAITS,
         parameters=trait_query.PARAMETERS),
    Route("GET", "/traits/{name}", traits.show, "1.6", "placement:traits:show", success=(204,)),
    Route("PUT", "/traits/{name}", traits.ensure, "1.6", "placement:traits:update",
          success=(201, 204)),
    _delete("/traits/{name}", traits.delete, "1.6", "placement:traits:delete"),

    _get("/usages", usages.show, "1.9", "placement:usages", answers.USAGES,
         target="project_id", parameters=usage_query.PARAMETERS),
    _get("/allocation_candidates", candidates.list_candidates, "1.10",
         "placement:allocation_candidates:list", answers.CANDIDATES,
         parameters=candidate_query.PARAMETERS),
    Route("POST", "/reshaper", reshaper.post, "1.30", "placement:reshaper:reshape",
          success=(204,), body_schema=reshaper_bodies.RESHAPE),
)
# fmt: on


def operations(routes: Iterable[Route]) -> dict[str, dict[str, Versioned[Route]]]:
    """Path -> method -> the routes of that operation by version.

    Raises ValueError when two routes say of one version what the operation is, or when those
    of one operation do not stand in the order of their versions.
    """
    declared: dict[tuple[str, str], list[Route]] = {}
    for route in routes:
        declared.setdefault((route.path, route.method), []).append(route)
    found: dict[str, dict[str, Versioned[Route]]] = {}
    for (path, method), same in declared.items():
        table = {route.since: route for route in same}
        if len(table) < len(same):
            raise ValueError(f"{method} {path} is declared twice for one version")
        found.setdefault(path, {})[method] = Versioned(table)
    return found


OPERATIONS = operations(ROUTES)
PUBLIC_PATHS = frozenset(route.path for route in ROUTES if route.public)
# (policy rule, method, path) of every operation that asks for leave.
GUARDED = tuple(
    dict.fromkeys((route.rule, route.method, route.path) for route in ROUTES if route.rule)
)
