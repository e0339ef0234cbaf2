"""Random requests of a small cloud: mostly right, sometimes wrong, at random microversions.

A `Generator` stores the names that an episode uses and reads the current generations from the
server, so most writes succeed. The same seed results in the same requests as long as the responses
agree.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

from falcon_placement_client import responses

LATEST = 39
TRAITS = ("HW_CPU_X86_AVX2", "HW_NUMA_ROOT", "MISC_SHARES_VIA_AGGREGATE", "STORAGE_DISK_SSD")
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "VGPU")
WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 5.0, 5.5, 2**31, "", "x", "5", [], {}, [1], {"a": 1}, "a" * 300,
    "CUSTOM_A\n", 2**63, 1e40,
)  # fmt: skip

# The first version of each query parameter of allocation candidates.
CANDIDATE_KEYS = {
    "resources": 10, "limit": 16, "required": 17, "member_of": 21, "group_policy": 25,
    "in_tree": 31, "root_required": 35, "same_subtree": 36,
}  # fmt: skip
GROUP_KEYS = ("resources", "required", "member_of", "in_tree")


@dataclass(frozen=True)
class Request(responses.Request):
    """One request; `body` is None for a request without a body."""

    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)

    def all_headers(self) -> dict[str, str]:
        """Headers of the request; an empty value omits a header."""
        given = {
            "X-Auth-Token": "admin",
            "X-Roles": "admin,service",
            "OpenStack-API-Version": f"placement 1.{self.minor}",
            "Accept": "application/json",
            **({"Content-Type": "application/json"} if self.body is not None else {}),
            **self.headers,
        }
        return {key: value for key, value in given.items() if value is not _LEFT_OUT}

    def curl(self, url: str) -> str:
        """The request as a command line."""
        parts = [f"curl -i -X {self.method}"]
        parts += [f"-H '{key}: {value}'" for key, value in self.all_headers().items()]
        if self.body is not None:
            parts.append(f"-d '{self.body.decode(errors='replace')}'")
        return " ".join([*parts, f"'{url}{self.target}'"])


_LEFT_OUT = ""
Ask = Callable[[str], Any]  # path -> JSON of a GET at the newest version, {} for an error


class Generator:
    """Requests of one episode."""

    def __init__(self, seed: int, episode: int, ask: Ask) -> None:
        self.rng = random.Random(f"{seed}/{episode}")
        self.ask = ask
        tag = f"{seed % 1000:03d}{episode % 100000:05d}"
        self.providers = [f"{tag}-0000-4000-8000-{n:012d}" for n in range(7)]
        self.consumers = [f"{tag}-0000-4000-9000-{n:012d}" for n in range(5)]
        self.aggregates = [f"{tag}-0000-4000-a000-{n:012d}" for n in range(3)]
        self.names = [f"host{n}-{tag}" for n in range(9)]
        self.classes = (*CLASSES, f"CUSTOM_C{tag}", f"CUSTOM_D{tag}")
        self.traits = (*TRAITS, f"CUSTOM_T{tag}", f"CUSTOM_U{tag}")
        # An episode is careful or not: a careful one gets further before states differ.
        self.slips = self.rng.choice([0.0, 0.003, 0.02])

    # -- values -----------------------------------------------------------------------------

    def maybe(self, chance: float) -> bool:
        """Return True at a certain rate."""
        return self.rng.random() < chance

    def slip(self, value: Any) -> Any:
        """Return the value, or rarely an invalid value."""
        return self.rng.choice(WRONG) if self.maybe(self.slips) else value

    def generation(self, uuid: str) -> Any:
        """Return the current generation of a provider, or rarely a different one."""
        present = self.ask(f"/resource_providers/{uuid}").get("generation", 0)
        return self.slip(present + (1 if self.maybe(0.03) else 0))

    def consumer_generation(self, uuid: str) -> Any:
        """Return the current generation of a consumer, or rarely a different one."""
        present = self.ask(f"/allocations/{uuid}").get("consumer_generation")
        return self.slip(7 if self.maybe(0.03) else present)

    def uuid(self) -> str:
        """Return a provider of the episode, which may not exist."""
        return self.rng.choice(self.providers)

    def known(self) -> str:
        """Return an existing provider, if there is one."""
        found = [each["uuid"] for each in self.ask("/resource_providers")["resource_providers"]]
        return self.rng.choice(sorted(found)) if found else self.uuid()

    def class_name(self) -> str:
        """A class, which may not exist."""
        unlikely = (*self.classes, "NOPE", "vcpu")
        return self.rng.choice(unlikely if self.maybe(0.05) else self.classes)

    def trait(self) -> str:
        """A trait, which may not exist."""
        unlikely = (*self.traits, "NOPE", "")
        return self.rng.choice(unlikely if self.maybe(0.04) else self.traits)

    def record(self) -> dict[str, Any]:
        """An inventory."""
        rng = self.rng
        made = {"total": self.slip(rng.choice([1, 8, 16, 32]))}
        options = {
            "reserved": rng.choice([0, 0, 1, 2]),
            "min_unit": rng.choice([1, 1, 2]),
            "max_unit": rng.choice([4, 8, 16]),
            "step_size": rng.choice([1, 1, 2]),
            "allocation_ratio": rng.choice([1, 1.0, 1.5, 0.5, 16.0]),
        }
        made |= {key: self.slip(value) for key, value in options.items() if self.maybe(0.25)}
        if self.maybe(0.04):
            made["reserved"] = made["total"]
        if self.maybe(self.slips):
            made["surplus"] = 1
        return made

    def inventory_set(self, uuid: str) -> Any:
        """The body of a PUT of inventories."""
        count = self.rng.choice([0, 1, 2, 2, 3])
        return self.slip(
            {
                "resource_provider_generation": self.generation(uuid),
                "inventories": {self.class_name(): self.record() for _ in range(count)},
            }
        )

    def amounts(self) -> dict[str, Any]:
        """Amounts by class."""
        held = [self.class_name() for _ in range(self.rng.choice([1, 1, 2]))]
        return {name: self.slip(self.rng.choice([1, 1, 2, 4])) for name in held}

    def holding(self, minor: int, empty: bool) -> Any:
        """The member `allocations` of a consumer, in the form of the version."""
        count = 0 if empty else self.rng.choice([1, 1, 2])
        form = minor if self.maybe(0.97) else self.rng.randint(0, LATEST)
        found = {}
        for _ in range(count):
            uuid = self.known() if self.maybe(0.95) else self.uuid()
            stock = self.ask(f"/resource_providers/{uuid}/inventories").get("inventories") or {}
            name = self.rng.choice(sorted(stock)) if stock else self.class_name()
            found[uuid] = {name: self.rng.choice([1, 1, 2])} if self.maybe(0.8) else self.amounts()
        if form < 12:
            return [
                {"resource_provider": {"uuid": uuid}, "resources": amounts}
                for uuid, amounts in found.items()
            ]
        return {uuid: {"resources": amounts} for uuid, amounts in found.items()}

    def claim(self, consumer: str, minor: int, least: int = 0) -> Any:
        """The new allocations of the consumer, in the form of the version."""
        form = minor if self.maybe(0.97) else self.rng.randint(0, LATEST)
        known = self.ask(f"/allocations/{consumer}").get("allocations")
        body: dict[str, Any] = {
            "allocations": self.holding(max(minor, least), self.maybe(0.25) if known else False)
        }
        if form >= 8 or least:
            body["project_id"] = self.slip(self.rng.choice(["p", "q"]))
            body["user_id"] = self.slip(self.rng.choice(["u", "w"]))
        if form >= 28:
            body["consumer_generation"] = self.consumer_generation(consumer)
        if form >= 34 and self.maybe(0.2):
            body["mappings"] = self.slip({"": [self.uuid()], "_A": [self.uuid()]})
        if form >= 38:
            body["consumer_type"] = self.slip(self.rng.choice(["INSTANCE", "MIGRATION"]))
        if self.maybe(self.slips):
            body.pop(self.rng.choice(sorted(body)))
        return self.slip(body)

    def minor(self, least: int = 0) -> int:
        """A version, mostly one that has the operation."""
        if self.maybe(0.03):
            return self.rng.randint(0, LATEST)
        return self.rng.choice([self.rng.randint(least, LATEST), LATEST])

    # -- requests ---------------------------------------------------------------------------

    def send(
        self, method: str, path: str, minor: int, body: Any = None, query: str = "", **headers: str
    ) -> Request:
        """A request with a JSON body, rarely a broken one."""
        raw = None if body is None else json.dumps(body).encode()
        if raw is not None and self.maybe(self.slips / 4):
            raw = raw[: self.rng.randrange(len(raw))]
        return Request(method, path, minor, query, raw, headers)

    def post_provider(self) -> Request:
        """Create a provider, often a nested one."""
        minor = self.minor()
        body = {"name": self.slip(self.rng.choice(self.names)), "uuid": self.slip(self.uuid())}
        if minor >= 14 and self.maybe(0.5):
            body["parent_provider_uuid"] = self.slip(self.known())
        return self.send("POST", "/resource_providers", minor, self.slip(body))

    def put_provider(self) -> Request:
        """Rename or move a provider."""
        minor, uuid = self.minor(), self.known()
        name = self.ask(f"/resource_providers/{uuid}").get("name", "n")
        body: dict[str, Any] = {"name": self.rng.choice(self.names) if self.maybe(0.2) else name}
        if minor >= 14 and self.maybe(0.7):
            body["parent_provider_uuid"] = self.slip(
                None if self.maybe(0.2) else self.rng.choice([self.known(), self.uuid()])
            )
        return self.send("PUT", f"/resource_providers/{uuid}", minor, self.slip(body))

    def delete_something(self) -> Request:
        """Delete an object, which may be refused."""
        paths = [
            f"/resource_providers/{self.known()}",
            f"/allocations/{self.rng.choice(self.consumers)}",
            f"/resource_providers/{self.known()}/inventories",
            f"/resource_providers/{self.known()}/inventories/{self.class_name()}",
            f"/resource_providers/{self.known()}/traits",
            f"/traits/{self.trait() or 'x'}",
            f"/resource_classes/{self.class_name()}",
        ]
        return self.send("DELETE", self.rng.choice(paths), self.minor(6))

    def put_inventories(self) -> Request:
        """Replace the inventories of a provider."""
        uuid = self.known()
        path = f"/resource_providers/{uuid}/inventories"
        return self.send("PUT", path, self.minor(), self.inventory_set(uuid))

    def one_inventory(self) -> Request:
        """Add or change one inventory."""
        uuid = self.known()
        path = f"/resource_providers/{uuid}/inventories"
        record = self.record()
        if self.maybe(0.5):
            return self.send(
                "POST", path, self.minor(), record | {"resource_class": self.class_name()}
            )
        record["resource_provider_generation"] = self.generation(uuid)
        return self.send("PUT", f"{path}/{self.class_name()}", self.minor(), self.slip(record))

    def put_traits(self) -> Request:
        """Replace the traits of a provider."""
        uuid = self.known()
        body = {
            "traits": [self.slip(self.trait()) for _ in range(self.rng.choice([0, 1, 2, 3]))],
            "resource_provider_generation": self.generation(uuid),
        }
        return self.send(
            "PUT", f"/resource_providers/{uuid}/traits", self.minor(6), self.slip(body)
        )

    def put_aggregates(self) -> Request:
        """Replace the aggregates of a provider, in the form of the version."""
        uuid, minor = self.known(), self.minor(1)
        body: Any = self.rng.sample(self.aggregates, self.rng.choice([0, 1, 1, 2]))
        if self.maybe(self.slips):
            body.append(self.rng.choice(WRONG))
        if (minor >= 19) != self.maybe(0.03):
            body = {"aggregates": body, "resource_provider_generation": self.generation(uuid)}
        return self.send("PUT", f"/resource_providers/{uuid}/aggregates", minor, self.slip(body))

    def put_allocations(self) -> Request:
        """Write all allocations of a consumer."""
        minor, consumer = self.minor(), self.rng.choice(self.consumers)
        return self.send("PUT", f"/allocations/{consumer}", minor, self.claim(consumer, minor))

    def post_allocations(self) -> Request:
        """Write all allocations of several consumers."""
        minor = self.minor(13)
        chosen = self.rng.sample(self.consumers, self.rng.choice([1, 2, 2, 3]))
        body = {consumer: self.claim(consumer, minor, 13) for consumer in chosen}
        return self.send("POST", "/allocations", minor, self.slip(body))

    def reshape(self) -> Request:
        """Replace inventories and allocations together."""
        minor = self.minor(30)
        providers = {self.known() for _ in range(self.rng.choice([1, 1, 2]))}
        chosen = self.rng.sample(self.consumers, self.rng.choice([0, 1, 2]))
        body = {
            "inventories": self.slip(
                {uuid: self.inventory_set(uuid) for uuid in sorted(providers)}
            ),
            "allocations": self.slip({uuid: self.claim(uuid, minor, 30) for uuid in chosen}),
        }
        return self.send("POST", "/reshaper", minor, self.slip(body))

    def put_name(self) -> Request:
        """Create a custom trait or class, or rename a class as old versions did."""
        if self.maybe(0.4):
            name = self.slip(self.trait()) or "x"
            return self.send("PUT", f"/traits/{name}", self.minor(6))
        minor, name = self.minor(2), self.class_name()
        if self.maybe(0.2):
            return self.send("POST", "/resource_classes", minor, self.slip({"name": name}))
        body = {"name": self.slip(self.class_name())} if minor < 7 or self.maybe(0.1) else None
        return self.send("PUT", f"/resource_classes/{name}", minor, body)

    def read(self) -> Request:
        """Read an object or a list."""
        uuid = self.known() if self.maybe(0.9) else self.uuid()
        one = f"/resource_providers/{uuid}"
        paths = [
            "/", "/resource_classes", "/traits", one, f"{one}/inventories", f"{one}/usages",
            f"{one}/aggregates", f"{one}/traits", f"{one}/allocations",
            f"{one}/inventories/{self.class_name()}", f"/resource_classes/{self.class_name()}",
            f"/traits/{self.trait() or 'x'}", f"/allocations/{self.rng.choice(self.consumers)}",
        ]  # fmt: skip
        return self.send("GET", self.rng.choice(paths), self.minor(6))

    def trait_list(self, minor: int) -> str:
        """The value of a `required`."""
        names = [self.owned_trait() for _ in range(self.rng.choice([1, 1, 1, 2]))]
        if minor >= 39 and self.maybe(0.2):
            return "in:" + ",".join(names)
        forbid = 0.25 if minor >= 22 else 0.02
        return ",".join(("!" if self.maybe(forbid) else "") + name for name in names)

    def membership(self, minor: int) -> str:
        """The value of a `member_of`."""
        sign = "!" if self.maybe(0.2 if minor >= 32 else 0.02) else ""
        if self.maybe(0.3):
            return f"{sign}in:{','.join(self.rng.sample(self.aggregates, 2))}"
        return sign + str(self.slip(self.rng.choice(self.aggregates)))

    def stocked(self) -> str:
        """A class that some provider has, mostly."""
        path = f"/resource_providers/{self.known()}/inventories"
        stock = self.ask(path).get("inventories") if self.maybe(0.9) else None
        return self.rng.choice(sorted(stock)) if stock else self.class_name()

    def owned_trait(self) -> str:
        """A trait that some provider has, mostly."""
        path = f"/resource_providers/{self.known()}/traits"
        owned = self.ask(path).get("traits") if self.maybe(0.8) else None
        return self.rng.choice(sorted(owned)) if owned else self.trait()

    def resource_list(self) -> str:
        """The value of a `resources`."""
        count = self.rng.choice([1, 1, 1, 2])
        items = [f"{self.stocked()}:{self.rng.choice([1, 1, 1, 2])}" for _ in range(count)]
        if self.maybe(self.slips):
            items.append(self.rng.choice(["", "VCPU", "VCPU:0", "VCPU:x", "VCPU:1:2", "VCPU:-1"]))
        return ",".join(items)

    def list_providers(self) -> Request:
        """List providers by filters."""
        minor = self.minor()
        makers: dict[str, tuple[int, Callable[[], str]]] = {
            "name": (0, lambda: self.rng.choice(self.names)),
            "uuid": (0, self.uuid),
            "member_of": (3, lambda: self.membership(minor)),
            "resources": (4, self.resource_list),
            "in_tree": (14, self.uuid),
            "required": (18, lambda: self.trait_list(minor)),
        }
        keys = [key for key, (since, _make) in makers.items() if minor >= since or self.maybe(0.03)]
        pairs = [(key, makers[key][1]()) for key in keys if self.maybe(0.3)]
        if pairs and self.maybe(0.1 if minor >= 24 else 0.02):
            key = pairs[0][0]
            pairs.append((key, makers[key][1]()))
        return self.send("GET", "/resource_providers", minor, query=urlencode(pairs))

    def list_traits(self) -> Request:
        """List traits by filters."""
        names = f"in:{self.trait()},{self.trait()}"
        pairs = [("name", self.rng.choice([names, "startswith:CUSTOM_", "x:y", "z"]))]
        if self.maybe(0.5):
            pairs.append(("associated", self.rng.choice(["true", "False", "1"])))
        return self.send("GET", "/traits", self.minor(6), query=urlencode(pairs))

    def usages(self) -> Request:
        """The usages of a project."""
        pairs = [("project_id", self.rng.choice(["p", "q", "nobody"]))]
        if self.maybe(0.3):
            pairs.append(("user_id", self.rng.choice(["u", "nobody"])))
        minor = self.minor(9)
        if self.maybe(0.4 if minor >= 38 else 0.05):
            types = ["all", "unknown", "INSTANCE", "MIGRATION", "NOBODY", "x"]
            pairs.append(("consumer_type", self.rng.choice(types)))
        return self.send("GET", "/usages", minor, query=urlencode(pairs[self.maybe(0.03) :]))

    def candidates(self) -> Request:
        """Request allocation candidates."""
        minor, rng = self.minor(10), self.rng
        suffixes = [""]
        if minor >= 25:
            pool = ["1", "2", "3"] if minor < 33 else ["_A", "_B", "1"]
            suffixes = rng.choice([[""], pool[:1], pool[:2], ["", pool[0]], ["", *pool[:2]], pool])
        pairs = []
        bare = [suffix for suffix in suffixes if suffix and minor >= 36 and self.maybe(0.2)]
        for suffix in suffixes:
            values: dict[str, Callable[[], str]] = {
                "resources": self.resource_list,
                "required": lambda: self.trait_list(minor),
                "member_of": lambda: self.membership(minor),
                "in_tree": self.known,
            }
            for key, make in values.items():
                wanted = self.maybe(0.1)
                if key == "resources" or (suffix in bare and key == "required"):
                    wanted = (suffix in bare) == (key == "required")
                if wanted and (minor >= CANDIDATE_KEYS[key] or self.maybe(0.02)):
                    pairs.append((key + suffix, make()))
        if minor >= 25 and (len(suffixes) > 1 or self.maybe(0.2)) and self.maybe(0.97):
            pairs.append(("group_policy", rng.choice(["none", "none", "isolate"])))
        if minor >= 36 and (bare or self.maybe(0.3)):
            named = sorted({*bare, *rng.sample(suffixes, 1)} - {""})
            if named or self.maybe(0.1):
                pairs.append(("same_subtree", ",".join(named)))
        if minor >= 35 and self.maybe(0.15):
            pairs.append(("root_required", self.trait_list(22)))
        if minor >= 16 and self.maybe(0.15):
            pairs.append(("limit", rng.choice(["1", "2", "1000"])))
        rng.shuffle(pairs)
        if self.maybe(self.slips):
            pairs.append((rng.choice(["foo", "resources01", "limit", "required_X"]), "1"))
        return self.send("GET", "/allocation_candidates", minor, query=urlencode(pairs))

    def oddity(self) -> Request:
        """Send unusual headers, methods and paths."""
        rng = self.rng
        base = self.read() if self.maybe(0.5) else self.put_inventories()
        headers = rng.choice(
            [
                {"OpenStack-API-Version": rng.choice(
                    ["placement 1.40", "placement x", "compute 2.1", "1.39", "placement latest",
                     "Placement 1.10", "placement 1.2, placement 1.7", "placement 1.7.1", _LEFT_OUT]
                )},
                {"Accept": rng.choice(
                    ["text/html", "*/*", "application/*", "text/plain;q=0.5, application/json"]
                )},
                {"Content-Type": rng.choice(["text/plain", "application/json; charset=utf-8", ""])},
                {"X-Auth-Token": rng.choice([_LEFT_OUT, "u:p", "admin:x"])},
                {"X-Roles": rng.choice(["reader", "admin", "service", "member,reader"])},
                {"X-Roles": "admin", "OpenStack-System-Scope": "all"},
            ]
        )  # fmt: skip
        if headers.get("X-Auth-Token"):
            headers["X-Roles"] = _LEFT_OUT
        method, path = base.method, base.path
        if self.maybe(0.2):
            method = rng.choice(["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"])
        if self.maybe(0.1):
            path = rng.choice([path + "/", "/nowhere", path + "/x/y/z"])
        return Request(method, path, base.minor, base.query, base.body, headers)

    def requests_of_others(self) -> Request:
        """The usages of a project as its readers see them."""
        headers = {"X-Auth-Token": "u:p", "X-Roles": self.rng.choice(["reader", "member"])}
        query = urlencode({"project_id": self.rng.choice(["p", "q"])})
        return Request("GET", "/usages", self.minor(9), query, None, headers)

    def next(self) -> Request:
        """Return one more request."""
        makers = list(WEIGHTS)
        (make,) = self.rng.choices(makers, [WEIGHTS[each] for each in makers])
        return make(self)

    def beginning(self) -> list[Callable[[], Request]]:
        """Return the first requests of an episode: some providers with data."""
        custom_traits, classes = self.traits[len(TRAITS) :], self.classes[len(CLASSES) :]
        return [
            *[self.post_provider] * 6,
            *[partial(self.send, "PUT", f"/traits/{name}", LATEST) for name in custom_traits],
            *[partial(self.send, "PUT", f"/resource_classes/{name}", LATEST) for name in classes],
            *[self.put_inventories] * 10,
            *[self.put_traits] * 4,
            *[self.put_aggregates] * 4,
            *[self.put_allocations] * 4,
        ]


WEIGHTS: Mapping[Callable[[Generator], Request], int] = {
    Generator.candidates: 24,
    Generator.put_allocations: 12,
    Generator.post_allocations: 8,
    Generator.read: 12,
    Generator.list_providers: 10,
    Generator.put_inventories: 6,
    Generator.one_inventory: 6,
    Generator.put_provider: 5,
    Generator.post_provider: 4,
    Generator.put_traits: 4,
    Generator.put_aggregates: 4,
    Generator.reshape: 5,
    Generator.delete_something: 4,
    Generator.put_name: 3,
    Generator.oddity: 4,
    Generator.usages: 3,
    Generator.list_traits: 1,
    Generator.requests_of_others: 1,
}
