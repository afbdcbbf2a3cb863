"""Parsers of the command line: what is added to `argparse` for every command, and for commands of commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NoReturn

from tidelog.commands.help_pages import GROUP_OF, TITLES
from tidelog.commands.outcome import USAGE, say, write_out


class Parser(argparse.ArgumentParser):
    """Takes options by their whole names only, names the nearest where one is unknown, and is filled when it is first used.

    Options may stand between a command's arguments, as in `materialise PROGRAM A --until 3 B`. The help page shows them in
    groups.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)
        self._fill: Callable[[Parser], None] | None = None
        self._is_inside = False
        self._titled: dict[str, argparse._ArgumentGroup] = {}

    def fill_with(self, fill: Callable[[Parser], None]) -> None:
        """Let `fill` add the options when the parser is first used."""
        self._fill = fill

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an argument, an option to the group that it belongs to."""
        title = next((GROUP_OF[name] for name in names if name in GROUP_OF), None)
        if title is None:
            return super().add_argument(*names, **options)
        if title not in self._titled:
            self._titled[title] = self.add_argument_group(title)
        return self._titled[title].add_argument(*names, **options)

    def format_usage(self) -> str:
        """The arguments alone: the options stand below."""
        if self.usage is not None:  # as this method has made it, while arguments are read
            return f"usage: {self.usage}"
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, [action for action in self._actions if not action.option_strings], [])
        begin = f"usage: {self.prog}"
        return begin + " [OPTIONS]" + formatter.format_help().removeprefix(begin)

    def format_help(self) -> str:
        """The command's sentence, its arguments and options, and examples."""
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        for group in sorted(self._action_groups, key=lambda group: TITLES.get(group.title or "", 0)):
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        end = f"\n{self.epilog}\n" if self.epilog else ""
        return f"{self.format_usage()}\n{formatter.format_help()}{end}"

    def fill(self) -> None:
        """Add the options now, if they are not there yet."""
        fill, self._fill = self._fill, None
        if fill is not None:
            fill(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As `argparse` does it, but a wrong option is told by the parser that does not know it."""
        self.fill()
        if self._is_inside:
            return super().parse_known_args(args, namespace)
        args = sys.argv[1:] if args is None else list(args)
        if self._subparsers is not None:  # intermixed arguments cannot be parsed where there are commands
            self._check_first(args)
            return super().parse_known_args(args, namespace)
        self._is_inside = True
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_inside = False
        if unknown:
            self._refuse(next((text for text in unknown if text.startswith("-")), unknown[0]))
        return found, unknown

    def _check_first(self, args: list[str]) -> None:
        """Refuse an unknown option before the command, rather than say that the command is missing."""
        first = args[0] if args else ""
        if first.startswith("-") and first not in self._option_string_actions:
            self._refuse(first)

    def _refuse(self, text: str) -> NoReturn:
        name = text.partition("=")[0]
        if name.startswith("-"):
            self.error(f"unknown option `{name}`{_nearest(name, self._option_string_actions)}")
        self.error(f"unexpected argument `{text}`")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        what = "unknown command" if isinstance(action, argparse._SubParsersAction) else "invalid choice:"
        message = f"{what} {value!r} (choose from {', '.join(known)}){_nearest(str(value), known)}"
        raise argparse.ArgumentError(action, message)

    def error(self, message: str) -> NoReturn:
        say(f"error: {message}; see `{self.prog} --help`")
        raise SystemExit(USAGE)

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stdout:
            write_out(message, is_ours=True)
        else:
            super()._print_message(message, file)


def _nearest(name: str, known: Any) -> str:
    near = get_close_matches(name[:80], [text for text in known if len(text) > 2], n=1)
    return f"; did you mean `{near[0]}`?" if near else ""
