"""Shapes of responses, which are used both to render and to describe responses.

`schema` returns the JSON schema of a shape at a version, `renderer` a function that converts values
to that form. A schema with a title is a component of the OpenAPI document. Examples of bodies are
composed of the examples in schemas.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from placement.api.history import Microversion, Versioned, v

Fragment = Mapping[str, Any]  # a JSON schema, or a part of one
Renderer = Callable[[Any], Any]

T = TypeVar("T")


class View(NamedTuple):
    """The inputs that determine the form of a response."""

    version: Microversion
    # Prefix of all paths in links.
    mount: str = ""


class Shape(Protocol):
    """A form of JSON values. Shapes are compared by identity."""

    def __hash__(self) -> int:
        """Return the hash, because renderers are cached by shape."""

    def schema(self, version: Microversion) -> Fragment:
        """Return the JSON schema at a version.  Raises LookupError below the first one."""

    def renderer(self, view: View) -> Renderer:
        """Return a function that converts a value to this form."""


def itself(value: T) -> T:
    return value


@dataclass(frozen=True, eq=False)
class Json:
    """Values that are JSON already, such as numbers and texts."""

    # JSON schema of the values.
    fragment: Fragment

    @classmethod
    def of(cls, kind: str | Sequence[str], example: Any, **keywords: Any) -> "Json":
        """Return the shape of values of one type, or of several, with an example."""
        return cls({"type": kind, **keywords, "examples": [example]})

    def schema(self, version: Microversion) -> Fragment:
        return self.fragment

    def renderer(self, view: View) -> Renderer:
        return itself


@dataclass(frozen=True, eq=False)
class Custom:
    """Values that a function converts to the form of a shape."""

    shape: Shape
    # Returns the function.
    make_renderer: Callable[[View], Renderer]

    def schema(self, version: Microversion) -> Fragment:
        return self.shape.schema(version)

    def renderer(self, view: View) -> Renderer:
        return self.make_renderer(view)


def ready(shape: Shape) -> Custom:
    """Return the shape of values that have the form of a shape already.

    PERF: a function that makes a whole value is faster than a renderer for each member.
    """
    return Custom(shape, lambda _view: itself)


@dataclass(frozen=True, eq=False)
class Array:
    """A list of values with one shape."""

    items: Shape

    def schema(self, version: Microversion) -> Fragment:
        return {"type": "array", "items": self.items.schema(version)}

    def renderer(self, view: View) -> Renderer:
        render = self.items.renderer(view)
        return itself if render is itself else lambda values: [render(value) for value in values]


@dataclass(frozen=True, eq=False)
class Table:
    """An object with keys of one form, such as UUIDs, and values with one shape."""

    # JSON schema of the keys.
    keys: Fragment
    # Shape of each value.
    values: Shape

    def schema(self, version: Microversion) -> Fragment:
        values = self.values.schema(version)
        return {"type": "object", "propertyNames": self.keys, "additionalProperties": values}

    def renderer(self, view: View) -> Renderer:
        render = self.values.renderer(view)
        if render is itself:
            return itself
        return lambda table: {key: render(value) for key, value in table.items()}


@dataclass(frozen=True)
class Property:
    """A property of an object."""

    name: str
    shape: Shape
    # Gets the property from the object's value. None means the attribute of the same name.
    value: Renderer | None = None
    # First version with the property, if it is later than the object's.
    since: str = "1.0"

    @property
    def getter(self) -> Renderer:
        return self.value or attrgetter(self.name)

    def renderer(self, view: View) -> Renderer:
        value, render = self.getter, self.shape.renderer(view)
        if render is itself:
            return value
        return render if value is itself else lambda holder: render(value(holder))


class Object(Generic[T]):
    """An object whose properties depend on the version.

    It exists in all versions that contain it. A property that is declared again for a later version
    replaces the earlier declaration.
    """

    def __init__(self, title: str, *properties: Property, optional: Collection[str] = ()) -> None:
        """Declare the object.

        Args:
            title: name of the schema.
            properties: the properties in the order of the response.
            optional: names of properties that are omitted if their value is None.

        Raises:
            ValueError: a version does not exist.
        """
        self.title = title
        self.properties = Versioned(_by_version(properties))
        self.optional = frozenset(optional)

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema, which allows no other properties."""
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

    def renderer(self, view: View) -> Callable[[T], dict[str, Any]]:
        properties = self.properties.at(view.version)
        required = [
            (name, member.renderer(view))
            for name, member in properties.items()
            if name not in self.optional
        ]
        optional = [
            (name, member.getter, member.shape.renderer(view))
            for name, member in properties.items()
            if name in self.optional
        ]
        if not optional:
            # PERF: the most expensive part of a list of providers.
            return lambda value: {name: render(value) for name, render in required}

        def render_stated(value: T) -> dict[str, Any]:
            members = {name: render(value) for name, render in required}
            for name, get, render in optional:
                if (member := get(value)) is not None:
                    members[name] = render(member)
            return members

        return render_stated


def _by_version(properties: Sequence[Property]) -> Mapping[str, Mapping[str, Property]]:
    table: dict[str, Mapping[str, Property]] = {}
    versions = {member.since for member in properties}
    for since in sorted(versions, key=v):
        present: dict[str, Property] = {}
        for member in properties:
            # The last declaration of a name applies, at the position of the first one.
            if v(member.since) <= v(since):
                present[member.name] = member
        table[since] = present
    return table


@dataclass(frozen=True)
class Response:
    """The successful responses of an operation, with their statuses and the shape of the body."""

    # Shape of the body; None for responses without a body.
    shape: Shape | None = None
    statuses: tuple[int, ...] = (200,)
    # Whether the response contains the URL of the object.
    has_location: bool = False

    def render(self, value: Any, view: View) -> Any:
        """Return the body: a serialisable value, or JSON in pieces (a list of bytes)."""
        assert self.shape is not None
        return _renderer(self.shape, view)(value)


@lru_cache(maxsize=1000)
def _renderer(shape: Shape, view: View) -> Renderer:
    return shape.renderer(view)


CREATED = Response(statuses=(201,), has_location=True)
ENSURED = Response(statuses=(201, 204), has_location=True)
NO_CONTENT = Response(statuses=(204,))
