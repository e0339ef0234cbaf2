"""YAML documents read into plain values that still know their lines."""

import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Step = str | int
Steps = tuple[Step, ...]

# Aliases can blow a small file up; these bound what one file may stand for.
MAX_VALUES = 2_000_000
MAX_DEPTH = 60
MAX_PROBLEMS_SHOWN = 20

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_SCALARS = frozenset(_TAG + kind for kind in ("null", "bool", "int", "float"))
# A date is read as the text that was written.
_TEXTS = frozenset((_TAG + "str", _TAG + "timestamp", _TAG + "value"))
_LOOP = "an alias refers to a value that contains it"
_PLAIN_KEY = re.compile(r"[\w-]+\Z")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file: ``line`` counts from 1, ``path`` names the key."""

    line: int
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class CloudFileError(Exception):
    """A cloud file cannot be used; the text has one line per problem.

    :param source: the file as the user named it
    :param problems: what is wrong; a problem of the file as a whole has line 0
    """

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(set(problems), key=lambda p: (p.line, p.path, p.text)))
        super().__init__("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        for problem in self.problems[:MAX_PROBLEMS_SHOWN]:
            where = f"{self.source}:{problem.line}" if problem.line else self.source
            yield f"{where}: {problem}"
        more = len(self.problems) - MAX_PROBLEMS_SHOWN
        if more > 0:
            yield f"{self.source}: and {more} more"


def render_path(steps: Iterable[Step]) -> str:
    """Return ``providers[3].inventories.VCPU`` for the steps that lead there."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.match(step):
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text


@dataclass(frozen=True)
class Document:
    """A file's value, made of dict, list, str, int, float, bool and None."""

    source: str
    value: Any
    _root: yaml.Node = field(repr=False)

    def line(self, steps: Steps) -> int:
        """Return the line where the value at ``steps`` is written, its key if it has one.

        Steps that lead nowhere give the line of the last value that exists.
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
        """Return a problem of the value at ``steps``."""
        return Problem(self.line(steps), render_path(steps), text)


def read(path: str | os.PathLike[str]) -> Document:
    """Read one YAML document.

    :raises CloudFileError: unreadable file, bad YAML, a key given twice, or a value that
        JSON does not know
    """
    source = os.fspath(path)
    text = _read_text(source)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        found = Problem(line, "", f"the character {error.character!r} is not allowed in YAML")
        raise CloudFileError(source, [found]) from None
    except yaml.MarkedYAMLError as error:
        raise CloudFileError(source, [_syntax_problem(error)]) from None
    except RecursionError:
        raise CloudFileError(source, [Problem(0, "", "nested too deeply")]) from None
    if root is None:
        raise CloudFileError(source, [Problem(1, "", "the file is empty")])
    reader = _Reader()
    value = reader.value(root, ())
    if reader.problems:
        raise CloudFileError(source, reader.problems)
    return Document(source, value, root)


def _read_text(source: str) -> str:
    try:
        raw = Path(source).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CloudFileError(source, [Problem(0, "", f"cannot be read: {reason}")]) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise CloudFileError(source, [Problem(line, "", "is not UTF-8 text")]) from None


def _syntax_problem(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    if isinstance(error, yaml.composer.ComposerError) and "single document" in str(error.context):
        return Problem(line, "", "a second document begins here; a file holds one")
    text = f"not valid YAML: {error.problem or error.context}"
    if error.context and error.problem and error.context_mark:
        text += f" ({error.context} from line {error.context_mark.line + 1})"
    return Problem(line, "", text)


class _Reader:
    """Turns nodes into values; merges (``<<``) are resolved in the nodes themselves."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._constructor = yaml.constructor.SafeConstructor()
        self._left = MAX_VALUES
        self._open: list[yaml.Node] = []

    def value(self, node: yaml.Node, steps: Steps, line: int = 0) -> Any:
        """Return the value of ``node``; what is wrong goes to ``problems``.

        :param line: of its key, or of the node itself; an alias has no line of its own
        """
        self._left -= 1
        if self._left < 0:
            if self._left == -1:
                self._wrong(line, steps, f"the file stands for over {MAX_VALUES} values")
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, steps, line)
        if any(node is parent for parent in self._open):
            return self._wrong(line, steps, _LOOP)
        if len(self._open) >= MAX_DEPTH:
            return self._wrong(line, steps, "nested too deeply")
        self._open.append(node)
        try:
            if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
                self._merge(node, steps)
                return {
                    key.value: self.value(value, (*steps, key.value), _line(key))
                    for key, value in node.value
                }
            if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
                return [
                    self.value(item, (*steps, i), _line(item)) for i, item in enumerate(node.value)
                ]
            return self._wrong(line, steps, f"the tag {node.tag} is not known")
        finally:
            self._open.pop()

    def _wrong(self, line: int, steps: Steps, text: str) -> None:
        self.problems.append(Problem(line + 1, render_path(steps), text))

    def _scalar(self, node: yaml.ScalarNode, steps: Steps, line: int) -> Any:
        if node.tag in _TEXTS:
            if any(0xD800 <= ord(character) <= 0xDFFF for character in node.value):
                return self._wrong(line, steps, "half a surrogate pair is not text")
            return node.value
        if node.tag not in _SCALARS:
            return self._wrong(line, steps, f"the tag {node.tag} is not known")
        try:
            value = self._constructor.construct_object(node)
        except (ValueError, KeyError, OverflowError):
            return self._wrong(line, steps, f"{node.value[:40]!r} is not a value of its kind")
        if isinstance(value, float) and not math.isfinite(value):
            return self._wrong(line, steps, f"{node.value} is not a finite number")
        return value

    def _merge(self, node: yaml.MappingNode, steps: Steps) -> None:
        """Leave in ``node`` one pair per key: its own, then those merged in."""
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: list[tuple[int, yaml.Node]] = []
        for key, value in node.value:
            line = _line(key)
            if key.tag == _MERGE:
                several = isinstance(value, yaml.SequenceNode)
                merged += [(line, other) for other in (value.value if several else [value])]
            elif not isinstance(key, yaml.ScalarNode) or key.tag not in _TEXTS:
                self._wrong(line, steps, "a key must be text")
            elif key.value in own:
                first = _line(own[key.value][0]) + 1
                text = f"the key is given twice, first in line {first}"
                self._wrong(line, (*steps, key.value), text)
            else:
                own[key.value] = (key, value)
        for line, other in merged:
            if not isinstance(other, yaml.MappingNode):
                self._wrong(line, steps, "only a mapping can be merged with <<")
            elif any(other is parent for parent in self._open):
                self._wrong(line, steps, _LOOP)
            else:
                self._open.append(other)
                self._merge(other, steps)
                self._open.pop()
                for key, value in other.value:
                    own.setdefault(key.value, (key, value))
        node.value = list(own.values())


def _line(node: yaml.Node) -> int:
    """Return the line of a node, counted from 0."""
    line: int = node.start_mark.line
    return line
