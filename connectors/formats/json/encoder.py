"""Answers as JSON lines: a fact is `{"predicate":"temp","args":["s1",21.5],"time":17}`.

Where an output names its arguments, it is `{"temp":{"sensor":"s1","value":21.5},"time":17}`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from tidelog.connectors.formats.cache import MAX_TIMES, BoundedCache
from tidelog.connectors.formats.fact_lines import FactLines
from tidelog.connectors.formats.formatting import TimeFormatter, number_or_text
from tidelog.connectors.formats.json.hypothetical import HypotheticalEncoder
from tidelog.connectors.formats.json.names import names_of
from tidelog.plans.data.changes import ChangeRecord, RetractedChange
from tidelog.plans.data.facts import Record, Row, Schema
from tidelog.plans.data.timeline import NEG, POS

_Time = int | str
_encode_lines = msgspec.json.Encoder().encode_lines


class _Fact(msgspec.Struct, gc=False):
    """A fact's line: one of its last two members is there."""

    predicate: str
    args: Row
    time: _Time | UnsetType = UNSET
    interval: str | UnsetType = UNSET


class _Change(msgspec.Struct, gc=False):
    """A change's line."""

    predicate: str
    args: Row
    begins: _Time | None
    ends: _Time | UnsetType = UNSET
    retracted: bool | UnsetType = UNSET
    because: object = UNSET


class JsonEncoder(FactLines):
    """Writes one object a line: a single time as `time`, anything else as `interval`.

    A time that is no integer is text, as `"5/2"`, so that it stays exact; with `iso`, times are ISO-8601 in UTC. Where the
    program asks, hypothetical answers are written as `HypotheticalEncoder` does.

    A change has `begins`, and, once it has ended, `ends`: times as above; an open end is text, `"(3"` and `"7)"`, and what
    began at no finite time has `null`. One that takes another back has `"retracted":true`, too.
    """

    def __init__(self, schema: Schema, *, iso: bool = False) -> None:
        self._times = TimeFormatter(schema.timeline, iso)
        self._is_whole = self._times.is_whole
        self._ranges: BoundedCache[tuple[int, int], tuple[_Time | UnsetType, str | UnsetType]]
        self._ranges = BoundedCache(self._range, _small, MAX_TIMES)
        self._ends: BoundedCache[tuple[int, int], tuple[_Time | None, _Time | UnsetType]]
        self._ends = BoundedCache(self._both_ends, _small, MAX_TIMES)
        self._named = names_of(schema)
        super().__init__(HypotheticalEncoder(schema, self._times) if schema.questions else None, asks=bool(schema.questions))

    def _facts(self, facts: Sequence[Record]) -> bytes:
        is_whole, ranges = self._is_whole, self._ranges
        if self._named:
            return _encode_lines([self._fact(fact) for fact in facts])
        return _encode_lines(
            [
                _Fact(predicate, row, lo) if is_whole and lo == hi else _Fact(predicate, row, *ranges[lo, hi])
                for predicate, row, lo, hi in facts
            ]
        )

    def _fact(self, fact: Record) -> _Fact | dict[str, object]:
        """A fact of a program whose outputs name their arguments."""
        predicate, row, lo, hi = fact
        line = _Fact(predicate, row, *self._ranges[lo, hi])
        names = self._named.get(predicate)
        return line if names is None else names.line(line)

    def _changes(self, changes: Sequence[Record]) -> bytes:
        return _encode_lines([self._change(change) for change in changes])

    def _change(self, change: Record) -> _Change | dict[str, object]:
        """A change, with what it follows from where it is explained: null where that is not known any more."""
        predicate, row, lo, hi = change
        line = _Change(predicate, row, *self._ends[lo, hi])
        if isinstance(change, RetractedChange):
            line.retracted = True
        elif change.__class__ is not ChangeRecord:
            line.because = getattr(change, "because", None)
        names = self._named.get(predicate)
        return line if names is None else names.line(line)

    def _range(self, key: tuple[int, int]) -> tuple[_Time | UnsetType, str | UnsetType]:
        """`time` and `interval` of a fact."""
        lo, hi = key
        is_point = self._times.is_point(lo, hi)
        return (number_or_text(self._times.point(lo)), UNSET) if is_point else (UNSET, self._times.range(lo, hi))

    def _both_ends(self, key: tuple[int, int]) -> tuple[_Time | None, _Time | UnsetType]:
        """`begins` and `ends` of a change."""
        lo, hi = key
        begins = None if lo <= NEG else number_or_text(self._times.begin(lo).removeprefix("["))
        return begins, UNSET if hi >= POS else number_or_text(self._times.end(hi).removesuffix("]"))


def _small(_key: object, _times: object) -> int:
    """The size of an entry, which is always small."""
    return 1
