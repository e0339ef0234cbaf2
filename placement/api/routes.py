"""Every operation: method, path, handler, first version, policy rule, body. Read top to bottom."""

from collections.abc import Callable
from dataclasses import dataclass

from placement.api.body import Schema
from placement.api.exchange import Call, Reply
from placement.api.history import HISTORY, v
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
from placement.api.schemas import aggregates as aggregate_bodies
from placement.api.schemas import allocations as allocation_bodies
from placement.api.schemas import inventories as inventory_bodies
from placement.api.schemas import providers as provider_bodies
from placement.api.schemas import reshaper as reshaper_bodies
from placement.api.schemas import resource_classes as class_bodies
from placement.api.schemas import traits as trait_bodies
from placement.api.versioned import Versioned

Handler = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation.

    since: below it the answer is `below`. rule: the policy rule, None: free for all. target: the
    query parameter that the rule is checked against, None: the caller's own project.
    body: schemas by version; None: a body is ignored. precheck: runs before the body is read,
    and may raise. existence_first: a missing provider is 404 even when the body is wrong.
    accepts: an `Accept` header without JSON is 406. public: neither authentication nor a
    version that is served is asked for.
    """

    method: str
    path: str
    handler: Handler
    since: str
    rule: str | None
    body: Versioned[Schema] | None = None
    below: int = 404
    precheck: Callable[[Call], None] | None = None
    existence_first: bool = False
    accepts: bool = False
    public: bool = False
    target: str | None = None

    def __post_init__(self) -> None:
        if v(self.since) not in HISTORY:
            raise ValueError(f"{self.method} {self.path}: no such microversion: {self.since}")


def _get(path: str, handler: Handler, since: str, rule: str) -> Route:
    return Route("GET", path, handler, since, rule, accepts=True)


RP = "/resource_providers"
ONE_RP = "/resource_providers/{uuid}"
INVENTORIES = f"{ONE_RP}/inventories"
ONE_INVENTORY = f"{INVENTORIES}/{{resource_class}}"
RULE = "placement:resource_providers"

# fmt: off
ROUTES: tuple[Route, ...] = (
    Route("GET", "/", root.versions, "1.0", None, public=True),
    Route("GET", "/healthcheck", root.healthcheck, "1.0", None, public=True),

    _get(RP, providers.list_providers, "1.0", f"{RULE}:list"),
    Route("POST", RP, providers.create, "1.0", f"{RULE}:create", provider_bodies.CREATE),
    _get(ONE_RP, providers.show, "1.0", f"{RULE}:show"),
    Route("PUT", ONE_RP, providers.update, "1.0", f"{RULE}:update", provider_bodies.UPDATE,
          existence_first=True),
    Route("DELETE", ONE_RP, providers.delete, "1.0", f"{RULE}:delete"),

    _get(INVENTORIES, inventories.list_inventories, "1.0", f"{RULE}:inventories:list"),
    Route("POST", INVENTORIES, inventories.create, "1.0", f"{RULE}:inventories:create",
          inventory_bodies.CREATE, existence_first=True),
    Route("PUT", INVENTORIES, inventories.replace, "1.0", f"{RULE}:inventories:update",
          inventory_bodies.REPLACE, existence_first=True),
    Route("DELETE", INVENTORIES, inventories.delete_all, "1.5", f"{RULE}:inventories:delete",
          below=405),
    _get(ONE_INVENTORY, inventories.show, "1.0", f"{RULE}:inventories:show"),
    Route("PUT", ONE_INVENTORY, inventories.update, "1.0", f"{RULE}:inventories:update",
          inventory_bodies.UPDATE, existence_first=True),
    Route("DELETE", ONE_INVENTORY, inventories.delete, "1.0", f"{RULE}:inventories:delete"),

    _get(f"{ONE_RP}/usages", inventories.usages, "1.0", f"{RULE}:usages"),
    _get(f"{ONE_RP}/allocations", allocations.on_provider, "1.0", f"{RULE}:allocations:list"),

    _get(f"{ONE_RP}/aggregates", aggregates.of_provider, "1.1", f"{RULE}:aggregates:list"),
    Route("PUT", f"{ONE_RP}/aggregates", aggregates.replace, "1.1", f"{RULE}:aggregates:update",
          aggregate_bodies.REPLACE, existence_first=True),

    _get(f"{ONE_RP}/traits", traits.of_provider, "1.6", f"{RULE}:traits:list"),
    Route("PUT", f"{ONE_RP}/traits", traits.replace, "1.6", f"{RULE}:traits:update",
          trait_bodies.REPLACE),
    Route("DELETE", f"{ONE_RP}/traits", traits.clear, "1.6", f"{RULE}:traits:delete"),

    _get("/allocations/{consumer}", allocations.show, "1.0", "placement:allocations:list"),
    Route("PUT", "/allocations/{consumer}", allocations.replace, "1.0",
          "placement:allocations:update", allocation_bodies.REPLACE,
          precheck=allocations.check_consumer),
    Route("DELETE", "/allocations/{consumer}", allocations.delete, "1.0",
          "placement:allocations:delete"),
    Route("POST", "/allocations", allocations.manage, "1.13", "placement:allocations:manage",
          allocation_bodies.MANAGE),

    _get("/resource_classes", resource_classes.list_classes, "1.2",
         "placement:resource_classes:list"),
    Route("POST", "/resource_classes", resource_classes.create, "1.2",
          "placement:resource_classes:create", class_bodies.CREATE),
    _get("/resource_classes/{name}", resource_classes.show, "1.2",
         "placement:resource_classes:show"),
    Route("PUT", "/resource_classes/{name}", resource_classes.ensure, "1.7",
          "placement:resource_classes:update"),
    Route("DELETE", "/resource_classes/{name}", resource_classes.delete, "1.2",
          "placement:resource_classes:delete"),

    _get("/traits", traits.list_traits, "1.6", "placement:traits:list"),
    Route("GET", "/traits/{name}", traits.show, "1.6", "placement:traits:show"),
    Route("PUT", "/traits/{name}", traits.ensure, "1.6", "placement:traits:update"),
    Route("DELETE", "/traits/{name}", traits.delete, "1.6", "placement:traits:delete"),

    Route("GET", "/usages", usages.show, "1.9", "placement:usages", accepts=True,
          target="project_id"),
    _get("/allocation_candidates", candidates.list_candidates, "1.10",
         "placement:allocation_candidates:list"),
    Route("POST", "/reshaper", reshaper.post, "1.30", "placement:reshaper:reshape",
          reshaper_bodies.RESHAPE),
)
# fmt: on

PUBLIC_PATHS = frozenset(route.path for route in ROUTES if route.public)
