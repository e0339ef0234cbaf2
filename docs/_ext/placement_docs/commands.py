"""`.. command-help::`: the arguments of every command, from its parser."""

import argparse
import re
import textwrap
from collections.abc import Iterator, Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement.cli.commands import COMMANDS, Command, setup_of
from placement_docs import text


def parsers() -> Mapping[str, argparse.ArgumentParser]:
    """Return command -> its parser, with all arguments; the name contains the group's."""
    return dict(_parsers(COMMANDS, ""))


def _parsers(
    commands: Mapping[str, Command], group: str
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for name, command in commands.items():
        full = f"{group}{name}"
        if command.actions:
            yield from _parsers(command.actions, f"{full} ")
            continue
        parser = argparse.ArgumentParser(prog=f"placement-manage {full}", add_help=False)
        set_up = setup_of(full.split())
        assert set_up is not None
        set_up(parser)
        parser.description = command.describe(parser.description)
        yield full, parser


def command_sections() -> str:
    """Return a section for each command: usage, what it does, its arguments."""
    return "\n".join(_section(name, parser) for name, parser in parsers().items())


def _section(name: str, parser: argparse.ArgumentParser) -> str:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    usage = textwrap.fill(usage, 76, subsequent_indent=" " * 8, break_on_hyphens=False)
    arguments = "\n".join(
        f"{', '.join(f'``{each}``' for each in _forms(action))}\n    {_meaning(action)}"
        for action in parser._actions
    )
    return (
        f"{text.heading(name, '-')}\n{text.block('none', usage)}\n"
        f"{_escaped(parser.description or '')}\n\n{arguments}\n"
    )


def _forms(action: argparse.Action) -> list[str]:
    """Return an argument as it is written, with what it takes."""
    value = action.metavar or ("|".join(action.choices) if action.choices else action.dest.upper())
    if not action.option_strings:
        return [str(action.metavar or action.dest)]
    if action.nargs == 0:
        return list(action.option_strings)
    repeated = " …" if action.nargs in {"+", "*"} else ""
    return [f"{option} {value}{repeated}" for option in action.option_strings]


def _meaning(action: argparse.Action) -> str:
    return _escaped(_sentence((action.help or "") % {"default": action.default}))


def _sentence(phrase: str) -> str:
    return f"{phrase[:1].upper()}{phrase[1:]}".rstrip(".") + "."


def _escaped(phrase: str) -> str:
    """Return a text of a command, where `x` and --x are literal, as reStructuredText."""
    phrase = re.sub(r"`[^`]*`|(--[a-z-]+)", lambda match: f"`{match[0].strip('`')}`", phrase)
    return phrase.replace("*", r"\*").replace("|", r"\|").replace("`", "``")


class CommandHelp(SphinxDirective):
    """The commands of placement-manage."""

    def run(self) -> list[nodes.Node]:
        """Return their sections."""
        return self.parse_text_to_nodes(command_sections(), allow_section_headings=True)


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("command-help", CommandHelp)
