"""YAML documents as plain values, with the line numbers of these values.

The module uses PyYAML's nodes, because they contain line numbers. ruamel.yaml also stores line
numbers in its values, but takes twice the time and stops at the first duplicate key.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from falcon_placement_client.yamlfile.problems import Problem, Steps, UnusableFile, render_path
from falcon_placement_client.yamlfile.values import ValueReader


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
        raise UnusableFile(source, [Problem(0, "", "nested too deeply")]) from None
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
