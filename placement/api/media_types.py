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
    # Types have no case. Falcon does not know that, and refuses empty items.
    items = [item.strip(" \t") for item in req.accept.lower().split(",")]
    ranges = [item for item in items if item]
    if not ranges or not all(map(_RANGE.fullmatch, ranges)):
        return True
    return falcon.mediatypes.quality(falcon.MEDIA_JSON, ",".join(ranges)) > 0
