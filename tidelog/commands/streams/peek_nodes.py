"""`tidelog peek opc.tcp://…`: the nodes of a server as a source of a gateway's file, with the predicates of a program."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence

from tidelog.commands.outcome import DONE, say, write_out
from tidelog.connectors.field.opcua.settings import OpcUaAccess
from tidelog.connectors.files.peeking import identifier_of
from tidelog.connectors.transport.secret import Secret
from tidelog.plans.diagnostics.errors import SpecError

SCHEME = "opc.tcp://"
_FORBIDDEN = re.compile(r"[/+#\x00-\x1f{}]")
"""What no level of a topic can hold, and what a pattern of topics has a meaning for."""
_TYPES = {"number": ": number", "flag": ": integer", "text": ": text"}


def run(options: argparse.Namespace) -> int:
    """Print a source, its maps, and, as comments, the program's beginning."""
    try:
        from tidelog.connectors.field.opcua.browsing import browse  # noqa: PLC0415 - it loads asyncua
    except ModuleNotFoundError as error:
        raise SpecError(f"to look at a server, `{error.name}` is needed: install `tidelog[opcua]`") from None
    password = None if options.password_file is None else Secret(file=options.password_file)
    access = OpcUaAccess(url=options.file, user=options.user or "", password=password, security=options.security or "")
    try:
        found, are_all = browse(access)
    except OSError as error:
        raise SpecError(str(error)) from None
    plain = [one for one in found if one.is_plain]
    if not plain:
        raise SpecError(f"{options.file} has no variable that holds a number, a flag or a text")
    write_out(_written(access, [(one.id, one.path, one.kind) for one in plain]))
    others = [one for one in found if not one.is_plain]
    for one in others[: options.rows]:
        say(f"note: {'/'.join(one.path)} ({one.id}) is left out: {one.kind}")
    if len(others) > options.rows:
        say(f"note: {len(others) - options.rows} more are left out")
    if not are_all:
        say(f"note: there are more variables: the first {len(found)} were looked at")
    return DONE


def _written(access: OpcUaAccess, variables: Sequence[tuple[str, tuple[str, ...], str]]) -> str:
    """The file: variables of one name, at one depth, are one predicate."""
    groups: dict[tuple[str, int], list[tuple[str, str]]] = {}
    nodes: list[str] = []
    topics: set[str] = set()
    for node, path, kind in variables:
        levels = [_FORBIDDEN.sub("_", name) or "_" for name in path]
        topic = "/".join(levels)
        while topic in topics:  # two nodes of one name below one object
            levels[-1] += "_"
            topic = "/".join(levels)
        topics.add(topic)
        groups.setdefault((levels[-1], len(levels)), []).append((node, kind))
        nodes.append(f"  {{ name = {_quoted(topic)}, id = {_quoted(node)} }},\n")
    inputs, maps = [], []
    names: set[str] = set()
    for (last, depth), members in groups.items():
        predicate = identifier_of(last)
        while predicate in names:
            predicate += "_"
        names.add(predicate)
        kinds = {kind for _, kind in members}
        above = _above(depth - 1)
        kind = _TYPES[kinds.pop()] if len(kinds) == 1 else ""
        is_flag = {kind for _, kind in members} == {"flag"}
        inputs.append(f"#   input {predicate}({', '.join([*(f'{name}: text' for name in above), f'value{kind}'])}).\n")
        topic = "/".join([*(f"{{{name}}}" for name in above), last])
        maps.append(f"\n[[source.map]]\ntopic = {_quoted(topic)}\npredicate = {_quoted(predicate)}\n")
        if is_flag:
            maps.append('fields.value = { path = "value", values = { true = 1, false = 0 } }\n')
    return (
        "# plant.tide begins so:\n#   timeline integer, unit 1 ms, round down.\n"
        + "".join(inputs)
        + f'\nprogram = "plant.tide"\nclock = "10 s"\n\n[[source]]\nname = "plant"\ntype = "opcua"\n{_access(access)}'
        + "node = [\n"
        + "".join(nodes)
        + "]\n"
        + "".join(maps)
    )


def _above(depth: int) -> list[str]:
    """What the levels above a variable are called."""
    names = ["object", "area", "site"]
    return (names[:depth] if depth <= len(names) else [f"level{at}" for at in range(depth, 0, -1)])[::-1]


def _access(access: OpcUaAccess) -> str:
    told = [("url", access.url), ("user", access.user), ("security", access.security)]
    lines = "".join(f"{name} = {_quoted(text)}\n" for name, text in told if text)
    password = access.password
    return lines if password is None else f"{lines}password = {{ file = {_quoted(password.file)} }}\n"


def _quoted(text: str) -> str:
    """A text as TOML has it: as JSON, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
