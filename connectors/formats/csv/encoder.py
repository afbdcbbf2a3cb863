"""Facts of one predicate as CSV: a header with the names of its arguments, then a row for each fact."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidelog.connectors.formats.fact_lines import FactLines
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.plans.data.facts import PredicateSchema, Record, Schema
from tidelog.plans.data.header import beside
from tidelog.plans.tree.syntax import Value

_QUOTED = re.compile(r'[,"\r\n]|\A\s|\s\Z')
"""What a cell holds that stands in quotes."""


class CsvEncoder(FactLines):
    """Writes rows of one predicate, and leaves others out; `header` stands before the first of them.

    Behind the arguments stand `from` and `to`, the ends of the interval; on a rational timeline also `from_open` and
    `to_open`, which say whether they are left out. With `iso`, times are ISO-8601 in UTC. ValueError for changes.

    >>> from tidelog.plans.data.timeline import Timeline
    >>> encoder = CsvEncoder(Schema(Timeline("integer")), PredicateSchema("hot", 1, ("room",)))
    >>> print((encoder.header + encoder.encode([("hot", ("hall, west",), 3, 5)])).decode(), end="")
    room,from,to
    "hall, west",3,5
    """

    def __init__(self, schema: Schema, predicate: PredicateSchema, *, iso: bool = False) -> None:
        super().__init__(None, asks=bool(schema.questions))
        self._times = TimeFormatter(schema.timeline, iso)
        self._predicate = predicate.name
        self._has_open_ends = not schema.timeline.is_integer
        names = predicate.fields or [f"x{place + 1}" for place in range(predicate.arity)]
        times = ("from", "to", "from_open", "to_open") if self._has_open_ends else ("from", "to")
        self.header = _line([*names, *beside(names, times)])

    def _facts(self, facts: Sequence[Record]) -> bytes:
        rows = (self._row(row, lo, hi) for predicate, row, lo, hi in facts if predicate == self._predicate)
        return b"".join(rows)

    def _row(self, row: Sequence[Value], lo: int, hi: int) -> bytes:
        begin, end = self._times.begin(lo), self._times.end(hi)
        cells = [*map(str, row), begin[1:], end[:-1]]
        if self._has_open_ends:
            cells += ["true" if begin[0] == "(" else "false", "true" if end[-1] == ")" else "false"]
        return _line(cells)

    def _changes(self, changes: Sequence[Record]) -> bytes:
        raise ValueError("csv holds facts, and what has only begun is none")


def _line(cells: Sequence[str]) -> bytes:
    return f"{','.join(map(_cell, cells))}\n".encode()


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
