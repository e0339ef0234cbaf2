"""YAML documents as plain values, with the line numbers of these values.

The module uses PyYAML's nodes, because they contain line numbers. ruamel.yaml also stores line
numbers in its values, but takes twice the time and stops at the first duplicate key.
"""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from falcon_placement_client.yamlfile.problems import Problem, Steps, UnusableFile, render_path

# Limits on the expansion of aliases. Aliases can make a small file huge.
MAX_VALUES = 2_000_000
MAX_DEPTH = 60

_TAG = "tag:yaml.org,2002:"
_MAPPING = _TAG + "map"
_SEQUENCE = _TAG + "seq"
_MERGE = _TAG + "merge"
_SCALARS = frozenset(_TAG + kind for kind in ("null", "bool", "int", "float"))
# Dates are read as strings.
_TEXTS = frozenset((_TAG + "str", _TAG + "timestamp", _TAG + "value"))
_LOOP = "an alias refers to a value that contains it"
_TOO_DEEP = "nested too deeply"
_NO_MERGE = "only a mapping can be merged with <<"

_Pair = tuple[yaml.Node, yaml.Node]  # key and value of a mapping


@dataclass(frozen=True)
class Document:
    """The content of a file."""

    source: str
    # The content, which consists of dict, list, str, int, float, bool and None.
    value: Any
    # The nodes of the file. They contain the lines of all values.
    _root: yaml.Node = field(repr=False)

    def line(self, steps: Steps) -> int:
        """Return the line of the value at `steps`, or of its key if it has one.

        If the value does not exist, the line is the line of the last existing value on the path.
        """
        node, line = self._root, self._root.start_mark.line
        for step in steps:
            if isinstance(node, yaml.MappingNode):
                pair = next((pair for pair in node.value if pair[0].value == step), None)
                if pair is None:
                    break
                line, node = pair[0].start_mark.line, pair[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
                line = node.start_mark.line
            else:
                break
        return line + 1

    def problem(self, steps: Steps, text: str) -> Problem:
        """Return a problem with the value at `steps`."""
        return Problem(self.line(steps), render_path(steps), text)


def read(path: str | os.PathLike[str]) -> Document:
    """Read a YAML document.  Raises UnusableFile."""
    source = os.fspath(path)
    text = _read_text(source)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = Problem(line, "", f"the character {error.character!r} is not allowed in YAML")
        raise UnusableFile(source, [problem]) from None
    except yaml.MarkedYAMLError as error:
        raise UnusableFile(source, [_syntax_problem(error)]) from None
    except RecursionError:
        raise UnusableFile(source, [Problem(0, "", _TOO_DEEP)]) from None
    if root is None:
        raise UnusableFile(source, [Problem(1, "", "the file is empty")])
    reader = ValueReader(len(text))
    value = reader.value(root, ())
    if reader.problems:
        raise UnusableFile(source, reader.problems)
    return Document(source, value, root)


def _read_text(source: str) -> str:
    try:
        raw = Path(source).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnusableFile(source, [Problem(0, "", f"cannot be read: {reason}")]) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnusableFile(source, [Problem(line, "", "is not UTF-8 text")]) from None


def _syntax_problem(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    if isinstance(error, yaml.composer.ComposerError) and "single document" in str(error.context):
        return Problem(line, "", "a second document begins here; a file holds one")
    text = f"not valid YAML: {error.problem or error.context}"
    if error.context and error.problem and error.context_mark:
        text += f" ({error.context} from line {error.context_mark.line + 1})"
    return Problem(line, "", text)


class ValueReader:
    """Converts nodes to values."""

    def __init__(self, length: int) -> None:
        """length: length of the document. A document cannot have more values than characters."""
        # Faults of the nodes that have been read so far.
        self.problems: list[Problem] = []
        # Converts scalars in the same way as PyYAML.
        self._constructor = yaml.constructor.SafeConstructor()
        # Maximum number of values. Each use of an alias counts.
        self._max_values = max(MAX_VALUES, length)
        # Number of values that may still be converted.
        self._values_left = self._max_values
        # Ancestors of the current node.
        self._open: list[yaml.Node] = []

    def value(self, node: yaml.Node, steps: Steps, line: int = 0) -> Any:
        """Return the value of `node`, made of dict, list, str, int, float, bool and None.

        `line` is the line of its key, or of the node itself (from 0). An alias has no line of its
        own.
        """
        self._values_left -= 1
        if self._values_left < 0:
            if self._values_left == -1:
                self._report(line, steps, f"the file expands to over {self._max_values} values")
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, steps, line)
        if self._is_open(node):
            return self._report(line, steps, _LOOP)
        if len(self._open) >= MAX_DEPTH:
            return self._report(line, steps, _TOO_DEEP)
        self._open.append(node)
        try:
            if isinstance(node, yaml.MappingNode) and node.tag == _MAPPING:
                return self._mapping(node, steps)
            if isinstance(node, yaml.SequenceNode) and node.tag == _SEQUENCE:
                return self._sequence(node, steps)
        finally:
            self._open.pop()
        return self._report(line, steps, f"the tag {node.tag} is not known")

    def _mapping(self, node: yaml.MappingNode, steps: Steps) -> dict[str, Any]:
        self._flatten(node, steps)
        return {
            key.value: self.value(value, (*steps, key.value), _line(key))
            for key, value in node.value
        }

    def _sequence(self, node: yaml.SequenceNode, steps: Steps) -> list[Any]:
        return [self.value(item, (*steps, i), _line(item)) for i, item in enumerate(node.value)]

    def _scalar(self, node: yaml.ScalarNode, steps: Steps, line: int) -> Any:
        if _is_text(node):
            if any(0xD800 <= ord(character) <= 0xDFFF for character in node.value):
                return self._report(line, steps, "half a surrogate pair is not text")
            return node.value
        if node.tag not in _SCALARS:
            return self._report(line, steps, f"the tag {node.tag} is not known")
        try:
            value = self._constructor.construct_object(node)
            # The largest numbers are integers in hexadecimal form, which cannot be printed.
            is_finite = not isinstance(value, int | float) or math.isfinite(value)
        except (ValueError, KeyError, OverflowError):
            text = f"{node.value[:40]!r} is not a value of its kind"
            return self._report(line, steps, text)
        if not is_finite:
            return self._report(line, steps, f"{node.value} is not a finite number")
        return value

    def _flatten(self, node: yaml.MappingNode, steps: Steps) -> None:
        """Reduce a mapping to one pair for each key: its own pairs, then pairs merged with <<."""
        own: dict[str, _Pair] = {}
        merged: dict[str, _Pair] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    # If several sources have the same key, the first one takes precedence.
                    merged = self._merged_pairs(source, steps, _line(key)) | merged
            elif not _is_text(key):
                self._report(_line(key), steps, "a key must be text")
            elif key.value in own:
                text = f"duplicate key, first in line {_line(own[key.value][0]) + 1}"
                self._report(_line(key), (*steps, key.value), text)
            else:
                own[key.value] = (key, value)
        node.value = list((own | merged | own).values())

    def _merged_pairs(self, source: yaml.Node, steps: Steps, line: int) -> dict[str, _Pair]:
        if not isinstance(source, yaml.MappingNode):
            self._report(line, steps, _NO_MERGE)
        elif self._is_open(source) or len(self._open) >= MAX_DEPTH:
            self._report(line, steps, _LOOP if self._is_open(source) else _TOO_DEEP)
        else:
            self._open.append(source)
            self._flatten(source, steps)
            self._open.pop()
            return {pair[0].value: pair for pair in source.value}
        return {}

    def _is_open(self, node: yaml.Node) -> bool:
        return any(node is parent for parent in self._open)

    def _report(self, line: int, steps: Steps, text: str) -> None:
        self.problems.append(Problem(line + 1, render_path(steps), text))


def _is_text(node: yaml.Node) -> bool:
    # 1:30 is also a string, as in YAML 1.2. YAML 1.1 would read it as 90, in base 60.
    return isinstance(node, yaml.ScalarNode) and (node.tag in _TEXTS or ":" in node.value)


def _line(node: yaml.Node) -> int:
    """Return the line of a node, starting at 0."""
    line: int = node.start_mark.line
    return line
