"""Names in a cloud file: their counters, and the UUIDs that are derived from them."""

import re
import uuid
from collections.abc import Iterator, Mapping

from falcon_placement_client.yamlfile.problems import shown

UUID_PATTERN = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z"

# Matches a doubled brace, which represents a literal brace, or a counter.
_COUNTER = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)(?::(0[1-9])d?)?\}")


def expand_counters(name: str, numbers: Mapping[str, int]) -> str:
    """Return a name in which counters are replaced with numbers, and doubled braces with braces."""
    return _COUNTER.sub(
        lambda match: format(numbers[match[1]], match[2] or "") if match[1] else match[0][0], name
    )


def escape_braces(name: str) -> str:
    """Return a name with doubled braces, as in a file."""
    return name.replace("{", "{{").replace("}", "}}")


def counter_faults(name: str, counters: tuple[str, ...]) -> Iterator[str]:
    """Yield the faults of the counters in a name, given the counters of the surrounding entries."""
    named = [match[1] for match in _COUNTER.finditer(name) if match[1]]
    for counter in dict.fromkeys(counters):
        if counter not in named:
            yield f"{shown(name)} must contain the counter {{{counter}}}"
    for counter in dict.fromkeys(named):
        if counter not in counters:
            yield f"{{{counter}}} is not the counter of a surrounding entry"
    if re.search(r"[{}]", _COUNTER.sub("", name)):
        yield f"{shown(name)}: braces hold a counter, such as {{n}} or {{n:02}}"


def provider_uuid(name: str) -> str:
    """Return the UUID of a provider for which the file contains no UUID."""
    return _uuid_of("provider", name)


def aggregate_uuid(name: str, uuids_by_name: Mapping[str, str]) -> str:
    """Return the UUID of an aggregate. The file contains its UUID or its name."""
    canonical = canonical_uuid(name)
    if canonical is not None:
        return canonical
    listed = uuids_by_name.get(name)
    return listed.lower() if listed else _uuid_of("aggregate", name)


def canonical_uuid(text: str) -> str | None:
    """Return the canonical form of a UUID in any spelling that the API accepts, or None."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def _uuid_of(kind: str, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:placement:{kind}:{name}"))
