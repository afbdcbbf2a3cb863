"""Files of tests: what may stand in one, read and checked key by key.

`program = "pump.tide"` names the program, from the file's own folder; each `[[test]]` is a test.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, cast, get_args

from tidelog.plans.diagnostics.errors import DataError, Diagnostic, ProgramError, Span
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.runtime.ports.interfaces import EmitMode
from tidelog.testing.toml_places import Entry, find_entries

MAX_FILE = 16 * 1024 * 1024
"""The most bytes that a file of tests may have."""
SUFFIX = ".tide.toml"
"""How the names of files end that are found in folders."""
_POSITION = re.compile(r"(.*) \(at line (\d+), column (\d+)\)\Z", re.DOTALL)
_KEYS = ("name", "facts", "start", "lateness", "emit", "only", "expect", "at", "asks")
_EMIT: tuple[str, ...] = get_args(EmitMode)


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a value, and the number of the line in the file at which the first of them stands."""

    lines: tuple[str, ...]
    first: int
    is_block: bool = True
    """Whether each further line stands in the next line of the file: so in a text over several lines."""

    def line(self, index: int) -> int:
        """The number of the line in the file."""
        return self.first + index if self.is_block else self.first


@dataclass(frozen=True, slots=True)
class RuleTest:
    """One test: facts in the order of their arrival, and what is expected of them; None where nothing is said of it.

    `expect` is what is told in the form of `emit`, `at` what holds at single times, `asks` lines of `ask`. With `only`,
    nothing but these outputs is compared. `places` are the numbers of the lines in which the values of keys stand.
    """

    name: str
    number: int
    line: int
    facts: Lines
    start: Any = None
    lateness: Any = 0
    emit: EmitMode = "final"
    expect: Lines | None = None
    at: Mapping[str, Lines] = field(default_factory=dict)
    asks: Lines | None = None
    only: tuple[str, ...] | None = None
    places: Mapping[str, int] = field(default_factory=dict)

    @property
    def expects_nothing(self) -> bool:
        """Whether it does not say what has to come."""
        return self.expect is None and self.asks is None and not self.at


@dataclass(frozen=True, slots=True)
class TestSuite:
    """A file of tests: its path, its text, with what its lines end, the path of its program, and its tests."""

    __test__ = False  # no test of pytest's, whatever its name

    path: str
    text: str
    line_end: str
    program: str
    tests: tuple[RuleTest, ...]


def read_suite(path: str, *, updates: bool = False) -> TestSuite:
    """The tests of a file. With `updates`, a test need not say what it expects.

    ProgramError with a diagnostic for each mistake, DataError for what is not UTF-8 or too long, OSError where it cannot be
    read.
    """
    with open(path, "rb") as file:
        raw = file.read(MAX_FILE + 1)
    if len(raw) > MAX_FILE:
        raise DataError(f"a file of tests has more than {MAX_FILE} bytes", path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"the tests are not UTF-8: {error.reason} at byte {error.start}", path) from error
    line_end = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProgramError([_broken(text, str(error))], path, text) from error
    return _Reader(path, text, updates).suite(data, line_end)


def _broken(text: str, message: str) -> Diagnostic:
    """What `tomllib` says, at its place."""
    match = _POSITION.match(message)
    at = len(text)
    if match is not None:
        message = match[1]
        lines = text.split("\n")
        at = sum(len(line) + 1 for line in lines[: int(match[2]) - 1]) + int(match[3]) - 1
    return Diagnostic("toml", f"this is no TOML: {message[:1].lower()}{message[1:]}", Span(at, at + 1))


class _Reader:
    """Reads the data of one file; collects what is wrong with it."""

    def __init__(self, path: str, text: str, updates: bool) -> None:
        self._path, self._text, self._updates = path, text, updates
        self._entries: dict[tuple[str | int, ...], Entry] = {entry.path: entry for entry in find_entries(text)}
        self._problems: list[Diagnostic] = []

    def suite(self, data: dict[str, Any], line_end: str) -> TestSuite:
        self._check_keys(data, ("program", "test"), (), "a file of tests")
        program = self._text_of(data, "program", ()) if "program" in data else ""
        if not program:
            self._problem((), "bad-test", "the file does not name its program", 'such as `program = "pump.tide"`')
        tests = data.get("test", [])
        if not isinstance(tests, list) or not all(isinstance(item, dict) for item in tests):
            self._problem(("test",), "bad-test", "a test is a table of its own", "begin it with `[[test]]`")
            tests = []
        elif not tests:
            self._problem((), "bad-test", "the file has no test", "a test begins with `[[test]]`")
        read = tuple(self._test(item, number) for number, item in enumerate(tests))
        self._check_names(read)
        if self._problems:
            raise ProgramError(sorted(self._problems, key=lambda item: item.span), self._path, self._text)
        return TestSuite(self._path, self._text, line_end, str(Path(self._path).parent / program), read)

    def _test(self, data: dict[str, Any], number: int) -> RuleTest:
        path = ("test", number)
        before = len(self._problems)
        self._check_keys(data, _KEYS, path, "a test")
        for key in ("name", "facts"):
            if key not in data:
                self._problem(path, "bad-test", f"a test needs `{key}`")
        emit = data.get("emit", "final")
        if emit not in _EMIT:
            self._problem((*path, "emit"), "bad-test", f"unknown mode {emit!r}: expected {', '.join(_EMIT)}")
            emit = "final"
        test = RuleTest(
            name=self._text_of(data, "name", path) if "name" in data else "",
            number=number,
            line=self._line(self._place(path).start),
            facts=self._lines(data.get("facts", ""), (*path, "facts")),
            start=self._time(data.get("start"), (*path, "start"), with_dates=True),
            lateness=self._time(data.get("lateness", 0), (*path, "lateness"), with_dates=False),
            emit=cast(EmitMode, emit),
            expect=self._lines(data["expect"], (*path, "expect")) if "expect" in data else None,
            at=self._at(data.get("at", {}), (*path, "at")),
            asks=self._lines(data["asks"], (*path, "asks")) if "asks" in data else None,
            only=self._only(data["only"], (*path, "only")) if "only" in data else None,
            places=self._lines_of(data, path),
        )
        is_misspelt = any(problem.code == "unknown-key" for problem in self._problems[before:])
        if test.expects_nothing and not self._updates and not is_misspelt:
            help = "give `expect`, `at` or `asks`; `tidelog test --update` writes what is told"
            self._problem(path, "bad-test", "a test has to say what it expects", help)
        return test

    def _lines_of(self, data: dict[str, Any], path: tuple[str | int, ...]) -> dict[str, int]:
        """The number of the line of each value; those of `at` as `at TIME`."""
        found = {key: (*path, key) for key in data}
        at = data.get("at")
        found |= {f"at {time}": (*path, "at", time) for time in (at if isinstance(at, dict) else ())}
        return {key: self._line(self._place(where).start) for key, where in found.items()}

    def _at(self, data: Any, path: tuple[str | int, ...]) -> dict[str, Lines]:
        if not isinstance(data, dict):
            self._problem(path, "bad-test", "`at` is told for single times", 'such as `at."5" = "alarm(p1)"`')
            return {}
        return {time: self._lines(value, (*path, time)) for time, value in data.items()}

    def _only(self, value: Any, path: tuple[str | int, ...]) -> tuple[str, ...]:
        """Names of outputs."""
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return tuple(value)
        self._problem(path, "bad-test", '`only` is an array of outputs, such as `only = ["alarm"]`')
        return ()

    def _lines(self, value: Any, path: tuple[str | int, ...]) -> Lines:
        """The lines of a text, or of an array of texts, or of tables that have the fields of JSON lines."""
        if isinstance(value, list):
            value = [json.dumps(item, default=_iso) if isinstance(item, dict) else item for item in value]
        place = self._place(path)
        first = self._line(place.start)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return Lines(tuple(line for item in value for line in item.split("\n")), first, is_block=False)
        if not isinstance(value, str):
            self._problem(
                path, "bad-test", f"`{path[-1]}` is text, a line each, or an array of texts or tables, got {_kind(value)}"
            )
            return Lines((), first)
        opens = self._text[place.start : place.start + 4]
        begins_below = opens in ('"""\n', "'''\n")
        return Lines(tuple(value.split("\n")), first + begins_below, is_block=opens[:3] in ('"""', "'''"))

    def _text_of(self, data: dict[str, Any], key: str, path: tuple[str | int, ...]) -> str:
        value = data[key]
        if not isinstance(value, str) or not value.strip():
            what = "an empty text" if isinstance(value, str) else _kind(value)
            self._problem((*path, key), "bad-test", f"`{key}` is text, got {what}")
            return " "
        return value

    def _time(self, value: Any, path: tuple[str | int, ...], *, with_dates: bool) -> Any:
        """A number, text as in data, or, where a time is meant, a date of TOML's."""
        if value is None or isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        if with_dates and isinstance(value, datetime):
            return value
        if with_dates and isinstance(value, date):
            return value.isoformat()
        what = "a time" if with_dates else "a length of time"
        self._problem(path, "bad-test", f'`{path[-1]}` is {what}, such as 5 or "5 min", got {_kind(value)}')
        return None

    def _check_keys(self, data: dict[str, Any], known: tuple[str, ...], path: tuple[str | int, ...], where: str) -> None:
        for key in data:
            if key not in known:
                near = suggest(key, known).removeprefix("; ")
                message = f"unknown key `{key}` of {where}"
                self._problem((*path, key), "unknown-key", message, near or f"known are {', '.join(known)}")

    def _check_names(self, tests: tuple[RuleTest, ...]) -> None:
        seen: set[str] = set()
        for test in tests:
            if test.name in seen and test.name.strip():
                self._problem(("test", test.number, "name"), "bad-test", f"two tests have the name `{test.name}`")
            seen.add(test.name)

    # --- places -----------------------------------------------------------------------------------------------------------

    def _problem(self, path: tuple[str | int, ...], code: str, message: str, help: str = "") -> None:
        self._problems.append(Diagnostic(code, message, self._key_place(path), help=help))

    def _place(self, path: tuple[str | int, ...]) -> Span:
        """Where a value stands; of a table, where its first key does."""
        entry = self._entries.get(path)
        return entry.value if entry else self._key_place(path)

    def _key_place(self, path: tuple[str | int, ...]) -> Span:
        """Where a key stands: its own, or, of a table, the first within it."""
        within = self._within(path)
        return next(within, Span(0, 1))

    def _within(self, path: tuple[str | int, ...]) -> Iterator[Span]:
        return (entry.key for entry in self._entries.values() if entry.path[: len(path)] == path)

    def _line(self, at: int) -> int:
        return self._text.count("\n", 0, at) + 1


def _iso(value: date) -> str:
    return value.isoformat()


def _kind(value: Any) -> str:
    """What a value is in TOML's words."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "an array", dict: "a table"}
    return names.get(type(value), "a date")
