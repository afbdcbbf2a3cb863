"""What was expected and what was told, line by line: what both have, what is missing, what nobody expected."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tidelog.connectors.formats.text.encoder import TextEncoder
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.intervals import maximal
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.runtime.ports.interfaces import EmitMode
from tidelog.testing.files import Lines
from tidelog.testing.written import FactReader, is_object, is_open

VIOLATED = "bottom"
"""The predicate under which violated constraints are expected and told."""
_OPEN = ".."

Sign = Literal[" ", "-", "+"]
"""As in a diff: both have it, it was expected and not told, it was told and not expected."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One expectation that was not met: its name (`expect`, `at 5`, `asks`), and its lines, each with its sign.

    `record` of a line is what it stands for, where it is a fact: what a reason can be asked for. `reasons` are those that
    have been found, as lines.
    """

    what: str
    lines: tuple[tuple[Sign, str, Record | None], ...]
    reasons: Mapping[Record, tuple[str, ...]] = field(default_factory=dict)


def compare(what: str, expected: Iterable[Record], told: Iterable[Record], encoder: TextEncoder) -> Difference | None:
    """None where both are the same facts, in any order, each as often."""
    wanted, given = Counter(expected), Counter(told)
    if wanted == given:
        return None
    lines: list[tuple[Sign, str, Record | None]] = []
    for record in sorted({*wanted, *given}, key=lambda item: (*_order(item), line_of(item, encoder))):
        text = line_of(record, encoder)
        both = min(wanted[record], given[record])
        lines += [(" ", text, record)] * both
        lines += [("-", text, record)] * (wanted[record] - both)
        lines += [("+", text, record)] * (given[record] - both)
    return Difference(what, tuple(lines))


def _order(record: Record) -> tuple[int, int]:
    """By begin; what has no end yet comes before it has ended."""
    _, _, lo, hi = record
    return lo, NEG if isinstance(record, ChangeRecord) and not record.has_ended else hi


def compare_texts(what: str, expected: Sequence[str], told: Sequence[str]) -> Difference | None:
    """The same for JSON lines: what is an object is compared by its fields."""
    wanted, given = Counter(map(_canonical, expected)), Counter(map(_canonical, told))
    if wanted == given:
        return None
    lines: list[tuple[Sign, str, Record | None]] = []
    for text in expected:
        sign: Sign = " " if given[_canonical(text)] > 0 else "-"
        given[_canonical(text)] -= 1
        lines.append((sign, text, None))
    for text in told:
        if wanted[_canonical(text)] <= 0:
            lines.append(("+", text, None))
        wanted[_canonical(text)] -= 1
    return Difference(what, tuple(lines))


def _canonical(line: str) -> str:
    return json.dumps(json.loads(line), sort_keys=True)


def line_of(record: Record, encoder: TextEncoder) -> str:
    """A record as a line of `tidelog run`."""
    line = encoder.encode([record]).decode().rstrip("\n")
    return line.replace(f"'{VIOLATED}'", VIOLATED, 1) if record[0] == VIOLATED else line  # a head, as a rule has it


def coalesced(records: Iterable[Record]) -> list[Record]:
    """The same coverage in maximal intervals.

    >>> coalesced([("p", ("a",), 4, 6), ("p", ("a",), 1, 3), ("p", ("b",), 9, 9)])
    [('p', ('a',), 1, 6), ('p', ('b',), 9, 9)]
    """
    in_order = sorted(records, key=lambda item: (item[0], repr(item[1])))
    whole = maximal((record[:2], *record[2:]) for record in in_order)
    return [(predicate, row, lo, hi) for (predicate, row), lo, hi in whole]


class Expectations:
    """Reads what a test expects; DataError, with its place, for a line that is none of a program's answers."""

    def __init__(self, schema: Schema, outputs: Iterable[str], path: str, *, is_part: bool = False) -> None:
        self._outputs, self._path = (*outputs, VIOLATED), path
        self._kind = "is none of the outputs of `only`" if is_part else "is no output of the program"
        self._reader = FactReader(schema, path, opens_all=True)

    def told(self, lines: Lines, emit: EmitMode) -> list[Record]:
        """Facts, or, with `changes`, begins and ends."""
        records = list(self._records(lines, emit == "changes"))
        return coalesced(records) if emit == "intervals" else records

    def at(self, lines: Lines, point: int) -> list[Record]:
        """What holds at this time point: facts without a time, or with this one."""
        found: list[Record] = []
        for index, line in enumerate(lines.lines):
            for predicate, row, lo, hi in self._read(line, lines.line(index), point):
                if not lo <= point <= hi:
                    raise DataError(f"`{line.strip()}` is no fact of this time", f"{self._path}:{lines.line(index)}")
                found.append((predicate, row, point, point))
        return found

    def asks(self, lines: Lines) -> list[str]:
        """Lines of `ask`, each a JSON object."""
        found = []
        for index, line in enumerate(lines.lines):
            if not line.strip():
                continue
            try:
                is_object = isinstance(json.loads(line), dict)
            except ValueError:
                is_object = False
            if not is_object:
                raise DataError(
                    "a line of `asks` is a JSON object, as `tidelog ask` prints it", f"{self._path}:{lines.line(index)}"
                )
            found.append(line.strip())
        return found

    def _records(self, lines: Lines, changes: bool) -> Iterable[Record]:
        for index, line in enumerate(lines.lines):
            place = lines.line(index)
            if not changes:
                yield from self._read(line, place)
                continue
            text = line.partition("%")[0].rstrip()
            if is_object(text) and is_open(text):
                yield from (ChangeRecord(predicate, row, lo, POS) for predicate, row, lo, _ in self._read(text, place))
            elif text.endswith(_OPEN):
                found = self._read(f"{text.removesuffix(_OPEN)},inf)", place)
                yield from (ChangeRecord(predicate, row, lo, POS) for predicate, row, lo, _ in found)
            else:
                yield from (ChangeRecord(*record) for record in self._read(line, place))

    def _read(self, line: str, number: int, at: int | None = None) -> list[Record]:
        batch = self._reader.read(line, number, at)
        place = f"{self._path}:{number}"
        for rejected in batch.rejected:
            raise DataError(rejected.reason, place)
        for record in batch.records:
            if record[0] not in self._outputs:
                raise DataError(f"`{record[0]}` {self._kind}{suggest(record[0], self._outputs)}", place)
        return batch.records
