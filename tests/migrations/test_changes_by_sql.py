"""Changes by SQL under running services, as guides for operators describe them.

For each change: `db check` finds it, or it leaves no trace; `db check --repair` heals it; services
that have cached the old state respond like a new one; and the next check finds nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement import app
from placement.objects import integrity
from tests.kit.builders import database_url
from tests.kit.rows import damage
from tests.kit.service import Service

OWNER = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}
INCOMPLETE = ("incomplete-p", "incomplete-u")
_numbers = itertools.count(1)


class Host:
    """A tree of two providers with a consumer, whose names are unique."""

    def __init__(self, service: Service) -> None:
        number = next(_numbers)
        self.service = service
        self.root = f"{number:08d}-0000-4000-8000-000000000000"
        self.child = f"{number:08d}-0000-4000-8000-000000000001"
        self.other = f"{number:08d}-0000-4000-8000-000000000002"
        self.consumer = f"{number:08d}-0000-4000-8000-00000000000c"
        self.aggregate = f"{number:08d}-0000-4000-8000-00000000000a"
        self.trait = f"CUSTOM_T{number}"
        parts = {"aggregates": [self.aggregate]}
        self.put_tree(
            {
                "uuid": self.root,
                "name": f"host {number}",
                "inventories": {"VCPU": {"total": 8}},
                "traits": [self.trait],
                **parts,
            },
            {
                "uuid": self.child,
                "name": f"card {number}",
                "parent_provider_uuid": self.root,
                "inventories": {"VGPU": {"total": 4}},
                **parts,
            },
        )
        self.put_tree({"uuid": self.other, "name": f"other {number}"})
        claims = {self.root: {"resources": {"VCPU": 5}}, self.child: {"resources": {"VGPU": 2}}}
        body = {"allocations": claims, "consumer_generation": None, **OWNER}
        service.expect(204, "PUT", f"/allocations/{self.consumer}", body)

    def put_tree(self, *providers: Mapping[str, object]) -> None:
        """Create a tree."""
        body = {"create_names": True, "providers": providers}
        root = providers[0]["uuid"]
        answer = self.service.send("PUT", f"/provider_trees/{root}", body, version="2.0")
        assert answer.status_code < 300, answer.text

    def names(self) -> Mapping[str, str]:
        """Return what the SQL of a change may name."""
        ids = "(SELECT id FROM resource_providers WHERE uuid = '{}')"
        return {
            "root": self.root,
            "consumer": self.consumer,
            "aggregate": self.aggregate,
            "trait": self.trait,
            "root_id": ids.format(self.root),
            "child_id": ids.format(self.child),
            "other_id": ids.format(self.other),
        }

    def look(self, service: Service) -> list[Any]:
        """Return the responses of a service about the host."""
        return [
            (path, answer.status_code, _without_times(answer.json))
            for path in self._paths()
            for answer in [service.send("GET", path, version=VERSION)]
        ]

    def _paths(self) -> Iterator[str]:
        for uuid in (self.root, self.child):
            for part in ("", "/inventories", "/usages", "/traits", "/aggregates", "/allocations"):
                yield f"/resource_providers/{uuid}{part}"
            yield f"/resource_providers?in_tree={uuid}&include=traits,aggregates,inventories,usages"
        yield f"/resource_providers?member_of={self.aggregate}"
        yield f"/allocations/{self.consumer}"
        yield f"/allocation_candidates?resources=VCPU:1&in_tree={self.root}"
        yield f"/allocation_candidates?resources=VCPU:3,VGPU:2&in_tree={self.root}"
        yield f"/allocation_candidates?resources=VCPU:1&required={self.trait}"
        yield f"/allocation_candidates?resources=VGPU:1&member_of={self.aggregate}"
