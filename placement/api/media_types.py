"""The media types of request bodies and of acceptable responses."""

import re

import falcon

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_WEIGHT = r"[ \t]*;[ \t]*[qQ]=(0(\.[0-9]{0,3})?|1(\.0{0,3})?)"
_PARAMETER = rf"[ \t]*;[ \t]*(?![qQ]=){_NAME}=({_NAME}|\"[^\"\\]*\")"
_RANGE = re.compile(rf"{_NAME}/{_NAME}({_WEIGHT}|{_PARAMETER})*")


def is_json(req: falcon.Request) -> bool:
    """Return whether the body is declared as JSON, in any character set."""
    media_type = (req.content_type or "").partition(";")[0].strip().lower()
    return media_type == falcon.MEDIA_JSON


def accepts_json(req: falcon.Request) -> bool:
    """Return whether the client accepts a response in JSON.

    A malformed `Accept` is ignored.
    """
    return req.client_accepts(falcon.MEDIA_JSON) or not _is_well_formed(req.accept)


def _is_well_formed(accept: str) -> bool:
    items = [item.strip(" \t") for item in accept.split(",")]
    return all(_RANGE.fullmatch(item) for item in items if item)
