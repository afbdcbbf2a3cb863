"""The options of each command, as the parser of the command line knows them, in Markdown."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tidelog.cli import command_line
from tidelog.commands.arguments import Parser


def command_reference() -> str:
    """A section for each command: how it is called, and a table of its arguments and options."""
    return "\n".join(
        line for name, parser, help in _commands(command_line(), "tidelog") for line in _section(name, parser, help)
    )


def _commands(parser: Parser, name: str) -> Iterator[tuple[str, Parser, str]]:
    parser.fill()
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for word, command in action.choices.items():
            command.fill()
            full = f"{name} {word}"
            if any(isinstance(item, argparse._SubParsersAction) for item in command._actions):
                yield from _commands(command, full)
            else:
                yield full, command, helps.get(word, "")


def _section(name: str, parser: Parser, help: str) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield f"{help[:1].upper()}{help[1:]}."
    yield ""
    yield "| argument | meaning |"
    yield "| --- | --- |"
    for action in parser._actions:
        if action.dest != "help" and action.help is not argparse.SUPPRESS:
            yield f"| {_name(action)} | {_cell((action.help or '') % _values(action, parser))} |"
    yield ""


def _name(action: argparse.Action) -> str:
    value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper())
    value = value if isinstance(value, str) else " ".join(value)
    if not action.option_strings:
        return f"`{_cell(value)}`"
    suffix = "" if action.nargs == 0 else f" {value}"
    return ", ".join(f"`{_cell(option + suffix)}`" for option in action.option_strings)


def _values(action: argparse.Action, parser: Parser) -> dict[str, object]:
    """What a help text may name, such as `%(default)s`."""
    return {**vars(action), "prog": parser.prog}


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
