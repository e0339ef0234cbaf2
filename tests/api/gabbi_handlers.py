"""Checks of allocation candidates in a readable form.

``response_candidates`` is the exact set of candidates, in any order::

    response_candidates:
    - CN1{VCPU:1,MEMORY_MB:512} + SS1{DISK_GB:500}
    - FPGA1_0{FPGA:1} + FPGA1_1{FPGA:1} | _NUMA=NUMA1 _ACCEL1=FPGA1_0 _ACCEL2=FPGA1_1

The mappings follow the bar: each group and its providers, joined by commas, with the
unsuffixed group as ``""``. Without them any mappings are accepted, and a line is repeated
for each candidate that differs only in its mappings. An empty list means that there are
none.

``response_summaries`` is the exact set of providers in the summaries, by name.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from gabbi.case import HTTPTestCase
from gabbi.exception import GabbiFormatError
from gabbi.handlers.base import ResponseHandler

from tests.api.gabbi_fixtures import provider_names

PROVIDER = re.compile(r"(?P<name>[^\s{}]+)\{(?P<amounts>\w+:\d+(,\w+:\d+)*)\}")

Amounts = frozenset[tuple[str, str, int]]
Mappings = frozenset[tuple[str, tuple[str, ...]]]


@dataclass(frozen=True)
class Candidate:
    """An assignment for a request; without mappings, any assignment of the same amounts."""

    amounts: Amounts
    mappings: Mappings | None

    @classmethod
    def parse(cls, line: str) -> Candidate:
        providers, bar, groups = line.partition(" | ")
        amounts: list[tuple[str, str, int]] = []
        for text in providers.split(" + "):
            match = PROVIDER.fullmatch(text.strip())
            if match is None:
                raise GabbiFormatError(f"not a candidate: {line!r}, at {text!r}")
            for item in match["amounts"].split(","):
                name, _, amount = item.partition(":")
                amounts.append((match["name"], name, int(amount)))
        pairs = [group.partition("=")[::2] for group in groups.split()] if bar else []
        mappings = frozenset((key.strip('"'), _sorted(names.split(","))) for key, names in pairs)
        if len(set(amounts)) < len(amounts) or len(mappings) < len(pairs):
            raise GabbiFormatError(f"not a candidate: {line!r} says something twice")
        return cls(frozenset(amounts), mappings if bar else None)

    @classmethod
    def from_answer(cls, item: dict[str, Any], names: dict[str, str]) -> Candidate:
        allocations = item["allocations"]
        if isinstance(allocations, list):  # as versions below 1.12 show it
            allocations = {each["resource_provider"]["uuid"]: each for each in allocations}
        mappings = item.get("mappings")  # from 1.34 on
        return cls(
            frozenset(
                (names.get(uuid, uuid), resource_class, amount)
                for uuid, allocation in allocations.items()
                for resource_class, amount in allocation["resources"].items()
            ),
            None
            if mappings is None
            else frozenset(
                (suffix, _sorted(names.get(uuid, uuid) for uuid in uuids))
                for suffix, uuids in mappings.items()
            ),
        )

    def __str__(self) -> str:
        by_provider: dict[str, list[str]] = {}
        for name, resource_class, amount in sorted(self.amounts):
            by_provider.setdefault(name, []).append(f"{resource_class}:{amount}")
        text = " + ".join(f"{name}{{{','.join(v)}}}" for name, v in by_provider.items())
        if self.mappings is None:
            return text
        groups = (f"{suffix or chr(34) * 2}={','.join(v)}" for suffix, v in sorted(self.mappings))
        return f"{text} | {' '.join(groups)}"


def differences(expected: list[Candidate], answered: list[Candidate]) -> list[str]:
    """Return the differences between the actual and the expected response. Empty if they agree."""
    extra = Counter(answered)
    # Older versions show no mappings, so candidates that differ only in these are equal.
    twice = (c for c, times in extra.items() if times > 1 and c.mappings is not None)
    lines = [f"  twice   {c}" for c in twice]
    for candidate in sorted(expected, key=lambda c: c.mappings is None):
        alike = (c for c in extra if c.amounts == candidate.amounts)
        match = next((c for c in alike if candidate.mappings in (None, c.mappings)), None)
        if match is None:
            lines.append(f"  missing {candidate}")
        else:
            extra -= Counter([match])
    return sorted(lines) + sorted(f"  extra   {c}" for c in extra.elements())


class _Unset(list[Any]):
    """Distinguishes a test without a check from a test that expects an empty list."""


class _ListHandler(ResponseHandler):  # type: ignore[misc]
    """A check of a whole list, which may be empty. The base class would skip an empty list."""

    test_key_value = _Unset()

    def __call__(self, test: HTTPTestCase) -> None:
        expected = test.test_data[self._key]
        if isinstance(expected, _Unset):
            return
        if not isinstance(expected, list):
            raise GabbiFormatError(f"{self._key} must be a list, not {expected!r}")
        self.check(test, expected, json.loads(test.output), _names(test))

    def check(
        self, test: HTTPTestCase, expected: list[str], answer: Any, names: dict[str, str]
    ) -> None:
        raise NotImplementedError


class CandidatesHandler(_ListHandler):
    test_key_suffix = "candidates"

    def check(
        self, test: HTTPTestCase, expected: list[str], answer: Any, names: dict[str, str]
    ) -> None:
        candidates = [Candidate.parse(line) for line in expected]
        answers = [Candidate.from_answer(c, names) for c in answer["allocation_requests"]]
        lines = differences(candidates, answers)
        if lines:
            query = test.test_data["query_parameters"]
            counts = f"expected {len(candidates)} candidates, answered {len(answers)}"
            test.fail("\n".join([f"{query}: {counts}", *lines]))


class SummariesHandler(_ListHandler):
    test_key_suffix = "summaries"

    def check(
        self, test: HTTPTestCase, expected: list[str], answer: Any, names: dict[str, str]
    ) -> None:
        summaries = [names.get(uuid, uuid) for uuid in answer["provider_summaries"]]
        if sorted(expected) != sorted(summaries):
            test.fail(f"expected summaries of {sorted(expected)}, answered {sorted(summaries)}")


def _names(test: HTTPTestCase) -> dict[str, str]:
    """Return the names of the providers in the cloud of this file and in the file itself."""
    names: dict[str, str] = {}
    for fixture in test.fixtures:
        if getattr(fixture, "cloud", None):
            names |= provider_names(fixture.cloud)
    for case in test.history.values():
        if (case.test_data["method"], case.test_data["url"]) == ("POST", "/resource_providers"):
            names[case.test_data["data"]["uuid"]] = case.test_data["data"]["name"]
    return names


def _sorted(names: Any) -> tuple[str, ...]:
    return tuple(sorted(names))
