"""Preview the changes that loading a file would make."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from falcon_placement_client.command_client import RestClient
from falcon_placement_client.identity import Identity
from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.loader.writing import inventory_text
from falcon_placement_client.rest import Version
from falcon_placement_client.yamlfile.problems import on_one_line

_PROVIDERS = "/resource_providers"
_NOUNS = {"resource_classes": "resource class", "traits": "trait"}

Part = Mapping[str, Any] | Sequence[str]


class DryRunClient(RestClient):
    """A client that reads from the server, but describes each write instead of sending it."""

    def __init__(self, url: str | None, token: Identity, tell: Callable[[str], None]) -> None:
        """Create a client. It calls `tell` with a description of each write."""
        super().__init__(url, token)
        self._tell = tell
        # Provider uuid -> name.
        self._names: dict[str, str] = {}
        # Path of the last read. Each replacement follows a read of the same path.
        self._last_path = ""
        # The response to the last read.
        self._last_answer: Mapping[str, Any] = {}

    @property
    def writes_trees(self) -> bool:
        """False, because each part of a tree is described separately."""
        return False

    def get(self, path: str, version: Version | None = None) -> Any:
        """Read from the server, and store the response."""
        answer = super().get(path, version)
        self._last_path, self._last_answer = path, answer
        if path == _PROVIDERS and isinstance(answer, dict):
            for provider in answer.get("resource_providers", ()):
                self._names[provider["uuid"]] = on_one_line(provider["name"])
        return answer

    def post(self, path: str, body: Mapping[str, Any], version: Version | None = None) -> Any:
        """Describe the creation of a provider, and return a response for it."""
        name = self._names[body["uuid"]] = on_one_line(body["name"])
        parent = body["parent_provider_uuid"]
        self._tell(f"create provider {name}{f' below {self._names[parent]}' if parent else ''}")
        return {"generation": 0}

    def put(
        self, path: str, body: Mapping[str, Any] | None = None, version: Version | None = None
    ) -> Any:
        """Describe a creation or a replacement, and return a response for it."""
        current = self._last_answer if self._last_path == path else {}
        match path.strip("/").split("/"):
            case [("resource_classes" | "traits") as kind, name]:
                self._tell(f"create {_NOUNS[kind]} {name}")
            case ["resource_providers", uuid, part] if body is not None:
                changes = _changes(current.get(part, ()), body[part])
                self._tell(f"provider {self._names[uuid]}: {part}: {'; '.join(changes)}")
            case ["allocations", uuid] if body is not None:
                stated = {key: current[key] for key in body.keys() & current.keys()}
                changes = _changes(self._consumer(stated), self._consumer(body))
                what = "; ".join(changes) or "permanent instead of a hold"
                self._tell(f"consumer {uuid}: {what}")
            case ["consumers", uuid, "spread_group"] if body is not None:
                name, most = body["name"], body["max_per_host"]
                self._tell(f"consumer {uuid}: spread group {name}, at most {most} on a host")
            case ["consumers", uuid, "request"]:
                self._tell(f"consumer {uuid}: request")
            case _:
                raise AssertionError(f"nothing is known of PUT {path}")
        return {"resource_provider_generation": 0}

    def _consumer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the owner of a consumer, and its allocations by provider."""
        keys = {"project_id": "project", "user_id": "user", "consumer_type": "type"}
        owner = {noun: body[key] for key, noun in keys.items() if key in body}
        return owner | {
            self._names.get(uuid, uuid): allocation["resources"]
            for uuid, allocation in body.get("allocations", {}).items()
        }


def _changes(old_part: Part, new_part: Part, prefix: str = "") -> Iterator[str]:
    """Yield additions, changes and removals, sorted by name."""
    old, new = _by_name(old_part), _by_name(new_part)
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield f"- {prefix}{name}"
        elif name not in old:
            yield f"+ {prefix}{name}{_shown(new[name])}"
        elif isinstance(new[name], Mapping):
            yield from _changes(old[name], new[name], f"{prefix}{name} ")
        elif old[name] != new[name]:
            yield f"{prefix}{name} {old[name]} → {new[name]}"


def _by_name(part: Part) -> Mapping[str, Any]:
    return part if isinstance(part, Mapping) else dict.fromkeys(part, "")


def _shown(value: Any) -> str:
    """Return a value with a leading blank, or nothing if it is empty."""
    if isinstance(value, Mapping) and "total" in value:
        return f" {inventory_text(InventoryRecord(**value))}"
    if isinstance(value, Mapping):
        return f" {{{', '.join(f'{key}: {member}' for key, member in value.items())}}}"
    return f" {value}" if value != "" else ""
