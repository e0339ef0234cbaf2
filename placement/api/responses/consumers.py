"""Responses about one consumer, and about lists of consumers."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from placement.api import samples
from placement.api.responses.allocations import BY_PROVIDER
from placement.api.responses.common import LINK
from placement.api.responses.times import UTC_TIME
from placement.api.shapes import Array, Json, Object, Property, Renderer, View
from placement.objects.claims import SpreadGroup
from placement.objects.consumer_list import ListedConsumer
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

_TEXT = {"type": "string"}
_GROUP: Object[SpreadGroup] = Object(
    "SpreadGroup",
    Property("name", Json({**_TEXT, "examples": ["web"]})),
    Property("max_per_host", Json({"type": "integer", "examples": [1]})),
)
_REQUEST = Json(
    {
        "type": "object",
        "additionalProperties": True,
        "examples": [{"groups": {"": {"resources": samples.AMOUNTS}}}],
    }
)


_OPTIONAL = ("spread_group", "expires_at", "allocations", "request")


class _ListedConsumer(Object[ListedConsumer]):
    """A consumer; members without a value are left out."""

    def renderer(self, view: View) -> Renderer:
        """Return a function that renders a consumer."""
        render = self.renderer_without(_OPTIONAL, view)
        members = self.properties.at(view.version)
        optional = [
            (name, attrgetter(name), members[name].shape.renderer(view)) for name in _OPTIONAL
        ]

        def render_all(consumer: ListedConsumer) -> dict[str, Any]:
            rendered = dict(render(consumer))
            for name, value_of, render_value in optional:
                value = value_of(consumer)
                if value is not None:
                    rendered[name] = render_value(value)
            return rendered

        return render_all


CONSUMER = _ListedConsumer(
    "Consumer",
    Property("uuid", Json({**_TEXT, "examples": [samples.CONSUMER]})),
    Property("project_id", Json({**_TEXT, "examples": [samples.PROJECT]}), attrgetter("project")),
    Property("user_id", Json({**_TEXT, "examples": [samples.USER]}), attrgetter("user")),
    Property(
        "consumer_type",
        Json({**_TEXT, "examples": ["INSTANCE"]}),
        lambda consumer: consumer.consumer_type or UNKNOWN_CONSUMER_TYPE,
    ),
    Property("generation", Json({"type": "integer", "examples": [1]})),
    Property("spread_group", _GROUP),
    Property("expires_at", UTC_TIME),
    Property("allocations", BY_PROVIDER),
    Property("request", _REQUEST),
    optional=_OPTIONAL,
)


class ListedConsumers(NamedTuple):
    """A page of consumers."""

    # The consumers of the page.
    consumers: Sequence[ListedConsumer]
    # Query string of the next page; None on the last page.
    more: str | None = None


class _ConsumerPage(Object[ListedConsumers]):
    """A list, with links only if there is a next page."""

    def renderer(self, view: View) -> Renderer:
        """Return a function that renders a list."""
        render = Array(CONSUMER).renderer(view)
        path = f"{view.mount}/consumers"

        def render_page(page: ListedConsumers) -> dict[str, Any]:
            rendered: dict[str, Any] = {"consumers": render(page.consumers)}
            if page.more is not None:
                link = {"rel": "next", "href": f"{path}?{page.more}"}
                rendered["consumers_links"] = [link]
            return rendered

        return render_page


CONSUMERS = _ConsumerPage(
    "Consumers",
    Property("consumers", Array(CONSUMER)),
    Property("consumers_links", Json({"type": "array", "items": LINK})),
    optional=["consumers_links"],
)
