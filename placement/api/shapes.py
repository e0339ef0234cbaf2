"""Shapes of answers: each is declared once, and rendered and described by that declaration.

`schema` returns the JSON schema of a shape at a version, `renderer` the function that brings a
value into it. A schema with a title is a component of the API's document. The examples there are
made of those of the schemas.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from placement.api.history import v
from placement.api.microversion import Microversion
from placement.api.versioned import Versioned

Fragment = Mapping[str, Any]  # a JSON schema, or a piece of one
Renderer = Callable[[Any], Any]

T = TypeVar("T")


class View(NamedTuple):
    """How a client sees an answer: at a version, and with the prefix of all paths in links."""

    version: Microversion
    mount: str = ""


class Shape(Protocol):
    """A form of JSON values; no two shapes are equal."""

    def __hash__(self) -> int:
        """Return the hash: renderers are kept by shape."""

    def schema(self, version: Microversion) -> Fragment:
        """Return the JSON schema at a version.  Raises LookupError where there is none yet."""

    def renderer(self, view: View) -> Renderer:
        """Return what brings a value into this form."""


def itself(value: T) -> T:
    """Return the value as it is."""
    return value


@dataclass(frozen=True, eq=False)
class Json:
    """Values that are JSON already, such as numbers and texts."""

    fragment: Fragment

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema, which no version changes."""
        return self.fragment

    def renderer(self, view: View) -> Renderer:
        """Return what does nothing."""
        return itself


@dataclass(frozen=True, eq=False)
class Ready:
    """Values that are in a shape already.

    PERF: functions that make all of a value at once are faster than renderers of each member.
    """

    shape: Shape

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of the shape."""
        return self.shape.schema(version)

    def renderer(self, view: View) -> Renderer:
        """Return what does nothing."""
        return itself


@dataclass(frozen=True, eq=False)
class Array:
    """A list of values of one shape."""

    items: Shape

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of the list."""
        return {"type": "array", "items": self.items.schema(version)}

    def renderer(self, view: View) -> Renderer:
        """Return what takes any iterable of such values."""
        render = self.items.renderer(view)
        return itself if render is itself else lambda values: [render(value) for value in values]


@dataclass(frozen=True, eq=False)
class Table:
    """An object of values of one shape by keys of one form, such as UUIDs."""

    keys: Fragment
    values: Shape

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of the object."""
        values = self.values.schema(version)
        return {"type": "object", "propertyNames": self.keys, "additionalProperties": values}

    def renderer(self, view: View) -> Renderer:
        """Return what takes a mapping to such values."""
        render = self.values.renderer(view)
        if render is itself:
            return itself
        return lambda table: {key: render(value) for key, value in table.items()}


@dataclass(frozen=True)
class Property:
    """A property of an object: its name, its shape, and the first version that has it.

    value: takes what is shown from the value that the object stands for; None: its attribute of
    this name.
    """

    name: str
    shape: Shape
    value: Renderer | None = None
    since: str = "1.0"

    def renderer(self, view: View) -> Renderer:
        """Return what renders the property of a value."""
        value = self.value or attrgetter(self.name)
        render = self.shape.renderer(view)
        if render is itself:
            return value
        return render if value is itself else lambda holder: render(value(holder))


class Object(Generic[T]):
    """An object whose properties come with versions.

    A property that is declared again, for a later version, takes the place of the earlier one.
    """

    def __init__(self, title: str, *properties: Property, optional: Collection[str] = ()) -> None:
        """`optional`: properties that are not always present.

        Raises ValueError for an unknown version.
        """
        self.title = title
        self.properties = Versioned(_by_version(properties))
        self.optional = frozenset(optional)

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema: these properties and no others."""
        properties = self.properties.at(version)
        return {
            "title": self.title,
            "type": "object",
            "properties": {
                name: member.shape.schema(version) for name, member in properties.items()
            },
            "required": [name for name in properties if name not in self.optional],
            "additionalProperties": False,
        }

    def renderer(self, view: View) -> Callable[[T], Mapping[str, Any]]:
        """Return what renders a value, property by property."""
        return self.renderer_without((), view)

    def renderer_without(
        self, names: Collection[str], view: View
    ) -> Callable[[T], Mapping[str, Any]]:
        """Return what renders a value without the properties of these names."""
        properties = self.properties.at(view.version)
        renderers = [
            (name, member.renderer(view))
            for name, member in properties.items()
            if name not in names
        ]
        # PERF: this is most of what a list of providers costs.
        return lambda value: {name: render(value) for name, render in renderers}


def _by_version(properties: Sequence[Property]) -> Mapping[str, Mapping[str, Property]]:
    table: dict[str, Mapping[str, Property]] = {}
    versions = {member.since for member in properties}
    for since in sorted(versions, key=v):
        present: dict[str, Property] = {}
        for member in properties:
            # Of two that have one name the last one counts, in the place of the first.
            if v(member.since) <= v(since):
                present[member.name] = member
        table[since] = present
    return table


@dataclass(frozen=True)
class Response:
    """What an operation answers when it succeeds: one of these statuses, and a body or none."""

    shape: Shape | None = None
    statuses: tuple[int, ...] = (200,)

    def render(self, value: Any, view: View) -> Any:
        """Return the body: JSON-serialisable, or JSON in pieces (a list of bytes)."""
        assert self.shape is not None
        return _renderer(self.shape, view)(value)


@lru_cache(maxsize=1000)
def _renderer(shape: Shape, view: View) -> Renderer:
    return shape.renderer(view)


CREATED = Response(statuses=(201,))
ENSURED = Response(statuses=(201, 204))
NO_CONTENT = Response(statuses=(204,))
