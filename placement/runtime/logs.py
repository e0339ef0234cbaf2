"""Log lines that clients cannot forge. Unprintable characters are escaped."""

import copy
import logging
from collections.abc import Iterator
from typing import Any

from placement.runtime.messages import escaped

# Attributes of a record that formatters and handlers set.
_TRUSTED = frozenset({"color", "exc_text", "stack_info"})


def guard() -> None:
    """Make the handlers of all loggers write one line for each record, before the traceback."""
    for handler in _handlers():
        formatter: Any = handler.formatter or logging.Formatter()
        if "formatMessage" not in vars(formatter):
            formatter.formatMessage = _one_line(formatter.formatMessage)
            formatter.formatException = _lines(formatter.formatException)
        handler.setFormatter(formatter)


def _handlers() -> Iterator[logging.Handler]:
    root = logging.getLogger()
    for logger in (root, *root.manager.loggerDict.values()):
        yield from getattr(logger, "handlers", ())


def _one_line(format_message: Any) -> Any:
    # Escape the record instead of the formatted line, because a format may contain colours.
    def guarded(record: logging.LogRecord) -> Any:
        line = format_message(record)
        if line.isprintable():
            return line
        texts = {
            name: escaped(value)
            for name, value in vars(record).items()
            if isinstance(value, str) and not value.isprintable() and name not in _TRUSTED
        }
        record = copy.copy(record)
        vars(record).update(texts)
        return format_message(record)

    return guarded


def _lines(format_exception: Any) -> Any:
    def guarded(*args: Any, **kwargs: Any) -> str:
        return "\n".join(map(escaped, format_exception(*args, **kwargs).split("\n")))

    return guarded
