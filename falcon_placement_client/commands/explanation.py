"""The text of an explanation for a terminal.

The input is a server's response to `explain`. It contains the number of hosts after each condition,
the reasons for rejections, and the conditions that could be relaxed.
"""

import os
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self, TextIO

from falcon_placement_client import candidates
from falcon_placement_client.commands.over_rest import Call, json_text
from falcon_placement_client.errors import RefusedError, RestError
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.listing import provider_names
from falcon_placement_client.messages import escaped
from falcon_placement_client.terms import GROUP_FORMS, REQUEST_FORMS, ROOT_FORMS

Explanation = Mapping[str, Any]
NameOf = Callable[[str], str]  # UUID of a provider -> its name
KeyOf = Callable[[str], str]  # path of a condition in a request -> the keys of its flavor

WIDEST = 120  # columns; longer lines are hard to read
NARROWEST = 40
_COLOURS = {"bold": "1", "dim": "2", "good": "32", "bad": "31"}
BAR = 24  # columns
EXAMPLES = 3  # maximum number of hosts that are listed for a reason
BETWEEN_CAUSES = "; "  # separates the causes in a detail

# Member of a JSON request -> text for the request without one of the conditions in this member.
_DROPS: Mapping[str, str] = {
    "required": "without the trait {}",
    "forbidden": "with the trait {} allowed",
    "member_of": "without the aggregate {}",
    "not_member_of": "with the aggregate {} allowed",
    "in_tree": "without in_tree {}",
    "subtree": "without subtree {}",
    "isolate": "with other groups on the provider of {}",
    "group_policy": "with several groups on one provider",
    "same_subtree": "without same_subtree={}",
    "taints": "with the taint {} tolerated",
}
_PATH = re.compile(
    r'(?:groups(?:\[""\]|\.(?P<suffix>[\w-]+))\.|(?P<root>root)\.)?'
    r"(?P<member>\w+)(?:\.(?P<name>\w+)|\[(?P<index>\d+)\](?:\[\d+\])*)?\Z",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Terminal:
    """The layout of lines."""

    # Columns.
    width: int = 80
    colour: bool = False
    # Character of bars.
    block: str = "█"

    @classmethod
    def of(cls, out: TextIO) -> Self:
        """Return the layout for a stream.

        Colours are used only on a terminal and without NO_COLOR.
        """
        width = shutil.get_terminal_size().columns
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(
            min(max(width, NARROWEST), WIDEST),
            out.isatty() and not plain,
            "█" if _can_show(out, "█") else "#",
        )

    def paint(self, text: str, kind: str) -> str:
        """Return the text in the colour of a kind (bold, dim, good, bad), if colours are used."""
        return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if self.colour and text else text

    def bar(self, part: int, total: int, width: int) -> str:
        """Return a bar for a part of a total, padded to the width.

        If the part is above zero, the bar has at least one block.
        """
        blocks = 0 if not part or not total else max(1, round(width * part / total))
        return (self.block * blocks).ljust(width)

    def wrap(self, text: str, indent: str = "", first: str | None = None) -> Iterator[str]:
        """Yield the text in lines of the width.

        Args:
            indent: begins each line.
            first: begins the first line instead of `indent`.
        """
        beginning = indent if first is None else first
        lines = textwrap.wrap(
            escaped(text),
            max(self.width, len(indent) + NARROWEST // 2),
            initial_indent=beginning,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,  # names can be copied
        )
        yield from lines or [beginning.rstrip()]


def _can_show(out: TextIO, text: str) -> bool:
    try:
        text.encode(out.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def print_explanation(
    call: Call,
    request: JsonRequest,
    detail: str,
    *,
    as_json: bool = False,
    key_of: KeyOf | None = None,
) -> int:
    """Print the explanation of a request. Return the number of hosts that can serve it.

    Args:
        call: the call of the command.
        request: the request.
        detail: see `request_explanation`.
        as_json: whether to print the document as it is.
        key_of: see `lines`.

    Raises:
        RestError: the server does not explain requests.
        ClientError: the request failed.
    """
    client = call.api
    try:
        document = candidates.request_explanation(client, request, detail)
    except RefusedError as refusal:
        if refusal.status in (404, 405):
            raise RestError(f"{client.url} is not a placement server: {refusal}") from None
        raise
    if not isinstance(document, dict):
        raise RestError(f"{client.url} is not a placement server that explains requests")
    if as_json:
        call.print(json_text(document))
    else:
        names, terminal = provider_names(client), Terminal.of(call.out)
        for line in lines(document, request, terminal, lambda uuid: escaped(names(uuid)), key_of):
            call.print(line)
    return int(document["hosts"]["served"])


def lines(
    explanation: Explanation,
    request: JsonRequest,
    terminal: Terminal,
    name_of: NameOf,
    key_of: KeyOf | None = None,
) -> Iterator[str]:
    """Yield the lines of an explanation of a request, whose flavor may state its conditions."""
    yield from _headline(explanation, terminal)
    for suffix, steps in explanation["groups"].items():
        conditions = _conditions(request["groups"].get(suffix, {}))
        title = f"Group {suffix}" if suffix else "Group without suffix"
        yield from _funnel(title, conditions, steps, terminal)
    together, several = explanation.get("together"), len(explanation["groups"]) > 1
    if together and (several or together[0]["before"]):
        title = "All groups together" if several else "Group as a whole"
        yield from _funnel(title, _conditions(request), together, terminal)
    yield from _reasons(explanation["blocked"], terminal, name_of)
    yield from _relaxations(explanation["relaxations"], terminal, key_of)
    if "providers" in explanation:
        steps = chain(*explanation["groups"].values(), explanation["blocked"])
        meanings = {step["code"]: _meaning(step) for step in steps}
        yield from _hosts(explanation["providers"], meanings, terminal, name_of)


def _headline(explanation: Explanation, terminal: Terminal) -> Iterator[str]:
    """Yield the summary with its first sentence in colour, and the extent of the search."""
    hosts = explanation["hosts"]
    rows = list(terminal.wrap(explanation["text"]))
    yield terminal.paint(rows[0], "good" if hosts["served"] else "bad")
    yield from rows[1:]
    if not hosts["complete"]:
        total = "the" if hosts["all"] is None else f"{hosts['all']:,}"
        yield from terminal.wrap(
            f"{hosts['looked']:,} of {total} hosts were examined: the limit on work was reached."
        )


def _conditions(members: Mapping[str, Any]) -> str:
    """Return the conditions of a group, or of the whole request, in the form of a query."""
    root = members.get("root") or {}
    said = [
        f"{keyword}={value}"
        for keyword, form in (*GROUP_FORMS.items(), *REQUEST_FORMS.items())
        for value in form.write(members)
    ]
    said += [f"{keyword}={v}" for keyword, form in ROOT_FORMS.items() for v in form.write(root)]
    return "  ".join(said)


def _funnel(
    title: str, conditions: str, steps: Sequence[Mapping[str, Any]], terminal: Terminal
) -> Iterator[str]:
    """Yield the number of hosts after each step that rejected hosts."""
    yield ""
    heading = next(iter(terminal.wrap(conditions, "    ", f"{title}: ")), title)
    yield terminal.paint(heading, "bold")
    yield from list(terminal.wrap(conditions, "    ", f"{title}: "))[1:]
    if not steps:
        return
    total = steps[0]["before"]
    if not total:
        yield "  no host has a provider for each group"
        return
    digits = len(f"{total:,}")
    yield f"  {total:>{digits},}  {terminal.bar(total, total, BAR)}  hosts"
    for step in steps:
        if step["after"] == step["before"]:
            continue
        lost = f"-{step['before'] - step['after']:,}"
        bar = terminal.bar(step["after"], total, BAR)
        first = f"  {step['after']:>{digits},}  {bar}  {lost:>{digits + 1}}  "
        rows = list(terminal.wrap(_reason(step), " " * len(first), first))
        yield rows[0].replace(bar, terminal.paint(bar, "good" if step["after"] else "bad"), 1)
        yield from rows[1:]


def _reason(step: Mapping[str, Any]) -> str:
    """Return the meaning of a code, and the value in the request if the step contains it."""
    meaning = _meaning(step)
    return f"{meaning}: {step['detail']}" if step.get("detail") else meaning


def _meaning(step: Mapping[str, Any]) -> str:
    return str(step.get("meaning") or step["code"])  # older servers do not send the meaning


def _reasons(
    blocked: Sequence[Mapping[str, Any]], terminal: Terminal, name_of: NameOf
) -> Iterator[str]:
    """Yield the reasons for rejections: a line for each cause, with the names of some hosts."""
    if not blocked:
        return
    yield ""
    yield terminal.paint("Why hosts cannot serve it: the first condition that fails", "bold")
    digits = max(len(f"{entry['hosts']:,}") for entry in blocked)
    for entry in blocked:
        group = f" (group {entry['group']})" if entry.get("group") else ""
        first = f"  {entry['hosts']:>{digits},}  "
        indent = " " * len(first)
        causes = (entry["detail"] or _meaning(entry)).split(BETWEEN_CAUSES)
        causes[0] += f"{group}  [{entry['code']}]"
        for number, cause in enumerate(causes):
            yield from terminal.wrap(cause, indent, indent if number else first)
        names = [name_of(uuid) for uuid in entry["examples"][:EXAMPLES]]
        more = ", …" if entry["hosts"] > len(names) else ""
        for row in terminal.wrap(f"{', '.join(names)}{more}", indent):
            yield terminal.paint(row, "dim")


def _relaxations(
    relaxations: Sequence[Mapping[str, Any]], terminal: Terminal, key_of: KeyOf | None
) -> Iterator[str]:
    if not relaxations:
        return
    yield ""
    yield terminal.paint("What would help", "bold")
    digits = max(len(f"{entry['hosts']:,}") for entry in relaxations)
    for entry in relaxations:
        plural = " " if entry["hosts"] == 1 else "s"
        first = f"  {entry['hosts']:>{digits},} host{plural}  "
        keys = key_of(entry.get("drop") or entry["reduce"]) if key_of else ""
        text = describe_relaxation(entry, keys)
        yield from terminal.wrap(text, " " * len(first), first)


def parameter_of(path: str) -> str:
    """Return the parameter of a query with a condition of a request, given by its path."""
    match = _PATH.match(path)
    if match is None:
        return path
    member = match["member"]
    name = {"forbidden": "required", "not_member_of": "member_of"}.get(member, member)
    return f"{'root_' if match['root'] else ''}{name}{match['suffix'] or ''}"


def key_of_flavor(path: str, groups: Mapping[str, Any]) -> str:
    """Return the key of a flavor with a condition of these groups, as `flavor_of_request`."""
    match = _PATH.match(path)
    member, suffix = (match["member"], match["suffix"] or "") if match else ("", "")
    if match and member == "resources":
        return f"resources{suffix}:{match['name']}"
    if match and member in ("required", "forbidden") and not match["root"]:
        value = groups[suffix][member][int(match["index"])]
        if isinstance(value, str):
            return f"trait{suffix}:{value}"
    return parameter_of(path)


def describe_relaxation(entry: Mapping[str, Any], keys: str = "") -> str:
    """Return a text for the condition that a relaxation removes or reduces.

    Args:
        entry: the relaxation.
        keys: the keys of a flavor that state the condition. They are named instead of the group.
    """
    path = entry.get("drop") or entry["reduce"]
    match = _PATH.match(path)
    if match is None:
        return f"without {path}" if "drop" in entry else f"with {path} = {entry['to']:,}"
    where = f" (group {match['suffix']})" if match["suffix"] else " (root)" * bool(match["root"])
    where = f" ({keys})" if keys else where
    if "reduce" in entry:
        return f"with {entry['to']:,} {match['name']}{where}"
    form = _DROPS.get(match["member"], f"without {match['member']}={{}}")
    return form.format(_value(entry["value"])) + where


def _value(value: Any) -> str:
    """Return the value of a condition in the form of a query."""
    if isinstance(value, Mapping):  # a rule of same_subtree
        outside = [f"!{suffix}" for suffix in value.get("not") or ()]
        return ",".join([*(value.get("of") or ()), *outside])
    return " or ".join(value) if isinstance(value, list) else str(value)


def _hosts(
    providers: Sequence[Mapping[str, Any]],
    meanings: Mapping[str, str],
    terminal: Terminal,
    name_of: NameOf,
) -> Iterator[str]:
    """Yield a paragraph for each host with a separate explanation."""
    yield ""
    yield terminal.paint("Host by host", "bold")
    if not providers:
        yield "  every host that was examined can serve it"
    for entry in providers:
        meaning = meanings.get(entry["code"], entry["code"])
        yield from terminal.wrap(_host(entry, meaning, name_of), "      ", "  ")


def _host(entry: Mapping[str, Any], meaning: str, name_of: NameOf) -> str:
    parts = [f"{name_of(entry['host'])}: {meaning}"]
    if entry.get("group"):
        parts[0] += f" (group {entry['group']})"
    if entry.get("provider") not in (None, entry["host"]):
        parts.append(name_of(entry["provider"]))
    if "resource_class" in entry:
        amount = f", asked {entry['asked']:,}" if "asked" in entry else ""
        parts.append(f"{entry['resource_class']}{amount}{_amounts(entry)}")
    return "; ".join(parts)


def _amounts(entry: Mapping[str, Any]) -> str:
    """Return how the free capacity is computed, and the units of the inventory."""
    text = f", room {entry['room']:,}" if "room" in entry else ""
    if "total" in entry:
        text += (
            f" = ({entry['total']:,} - {entry.get('reserved', 0):,} reserved)"
            f" x {entry.get('allocation_ratio', 1.0):g} - {entry.get('used', 0):,} used"
        )
    if "max_unit" in entry:
        text += f", units {entry.get('min_unit', 1):,} to {entry['max_unit']:,}"
        step = entry.get("step_size", 1)
        text += f" by {step:,}" if step > 1 else ""
    return text
