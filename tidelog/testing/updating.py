"""Writing what was told into a file of tests (`tidelog test --update`): the rest of the file stays as it is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidelog.plans.diagnostics.errors import DataError
from tidelog.testing.files import TestSuite
from tidelog.testing.running import Outcome
from tidelog.testing.toml_places import Path, find_entries


def updated(suite: TestSuite, outcomes: Iterable[Outcome]) -> tuple[str, dict[str, str]]:
    """The text of the file with what was told in place of what was expected, in the tests that failed.

    A test that expects nothing gets an `expect`. With it, by the names of tests, why they could not be written: a value
    stands where it cannot be replaced, as in tables within a line.
    """
    problems: dict[str, str] = {}
    for outcome in outcomes:
        if outcome.error or not (outcome.differences or outcome.test.expects_nothing):
            continue
        try:
            suite = replace(suite, text=_put(suite, _values(outcome)))
        except DataError as error:
            problems[outcome.test.name] = str(error)
    return suite.text, problems


def _values(outcome: Outcome) -> dict[Path, str]:
    path: Path = ("test", outcome.test.number)
    differing = {difference.what for difference in outcome.differences}
    told = outcome.told
    values: dict[Path, str] = {}
    if told.expect is not None and ("expect" in differing or outcome.test.expects_nothing):
        values[*path, "expect"] = _block(told.expect)
    if told.asks is not None and "asks" in differing:
        values[*path, "asks"] = _array(told.asks)
    values.update({(*path, "at", when): _block(lines) for when, lines in told.at.items() if f"at {when}" in differing})
    return values


def _put(suite: TestSuite, values: dict[Path, str]) -> str:
    text = suite.text
    entries = find_entries(text)
    places = {entry.path: entry.value for entry in entries}
    edits = []
    for path, value in values.items():
        if path in places:
            edits.append((places[path].start, places[path].end, value))
            continue
        ends = [entry.value.end for entry in entries if entry.path[:-1] == path[:-1]]
        if not ends or path[-1] != "expect":
            raise DataError(
                f"`{path[-1]}` of test {path[1]} cannot be written where it stands: give it a line of its own", suite.path
            )
        edits.append((max(ends), max(ends), f"\n{path[-1]} = {value}"))
    for begin, end, value in sorted(edits, reverse=True):
        text = text[:begin] + value + text[end:]
    _require_right(suite, text, values)
    return text


def _require_right(suite: TestSuite, text: str, values: dict[Path, str]) -> None:
    """DataError unless the new text holds the new values, and otherwise what the old one did."""
    wanted = tomllib.loads(suite.text)
    for path, value in values.items():
        place = wanted
        for part in path[:-1]:
            place = place[part]  # type: ignore[index] # a path leads through tables and arrays
        place[str(path[-1])] = tomllib.loads(f"value = {value}")["value"]
    try:
        is_right = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise DataError("the tests cannot be updated as they are written: give each key a line of its own", suite.path)


def _block(lines: Sequence[str]) -> str:
    """Lines as a text of TOML: over several lines, and as they are, where that can be."""
    if len(lines) < 2:
        return _text("".join(lines))
    whole = "\n".join(lines)
    if "'''" in whole or not all(line.isprintable() for line in lines):
        return _text(whole + "\n")
    return f"'''\n{whole}\n'''"


def _array(lines: Sequence[str]) -> str:
    return "[\n" + "".join(f"    {_text(line)},\n" for line in lines) + "]"


def _text(line: str) -> str:
    """One line: in single quotes where it holds double ones, else as JSON writes it, which is how TOML does, too."""
    if '"' in line and "'" not in line and line.isprintable():
        return f"'{line}'"
    return json.dumps(line, ensure_ascii=False).replace("\x7f", "\\u007f")
