"""Facts as JSON lines, in the three forms of the language's contract.

On a stream the time is new and the rest repeats. So a line is cut before its last `"time":` (or `"interval":`), and each
half is looked up in a cache. A half is in there only if it has been read by itself: the first as an object that ends
before the comma, the second as an object with this one member. Two such halves make one valid object, and no key stands
twice in it, since the second key may not stand in the first half.

A new first half is decoded by msgspec into a struct. That no key stands twice is proved by counting: each member brings
a colon, so an object with as many colons as it must have members (beside those inside its values) has no further member.
What the fast paths cannot prove goes to `json_exact`, which is slower, knows every rule and gives the reasons.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tidelog.connectors.cache import BoundedCache
from tidelog.connectors.decoding import Admission, Collector, as_text
from tidelog.connectors.json_exact import ExactJson
from tidelog.connectors.lines import LineFramer
from tidelog.connectors.values import EXACT_FLOAT
from tidelog.plans.errors import DataError
from tidelog.plans.facts import PredicateSchema, Row, Schema
from tidelog.plans.numerals import MAX_INTEGER
from tidelog.plans.times import TimeReader
from tidelog.runtime.interfaces import Batch

Arguments = tuple[str | int | float, ...]

_ABSENT = msgspec.Raw(b"")
_UNPROVEN = (msgspec.MsgspecError, DataError, UnicodeDecodeError, RecursionError)
"""What the fast paths raise: the exact path then says why, or reads what only it can."""

_decode_text = msgspec.json.Decoder(str).decode
_decode_number: Callable[[bytes], int | float] = msgspec.json.Decoder(int | float).decode


class _Atom(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`{"predicate": "temp", "args": ["s1", 21.5]}`: a plain line's first half."""

    predicate: str
    args: Arguments


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A plain line whose time does not stand last."""

    predicate: str
    args: Arguments
    time: msgspec.Raw = _ABSENT
    interval: msgspec.Raw = _ABSENT


@dataclass(frozen=True, slots=True)
class _Keyed:
    """The first half `{"temp": {"sensor": "s1", "value": 21.5}}` of one declared input's lines."""

    predicate: str
    decoder: msgspec.json.Decoder[Any]
    members: int


class JsonDecoder:
    """Reads JSON lines. Blank lines are skipped; with `predicate`, facts of any other are refused.

    `timeless` is for facts that hold at all times: they must have neither `time` nor `interval`. `hint` is added to the
    reason where a line does not even look like JSON.
    """

    header: bytes | None = None
    framer = LineFramer

    def __init__(
        self, schema: Schema, name: str, predicate: str | None = None, *, timeless: bool = False, hint: str = ""
    ) -> None:
        self.name = name
        self._hint = hint
        self._timeless = timeless
        self._admission = Admission(schema, predicate)
        self._reader = TimeReader(schema.timeline)
        self._exact = ExactJson(schema, self._admission, self._reader, timeless)
        self._keyed = _keyed_forms(schema)
        self._decode_atom = msgspec.json.Decoder(_Atom).decode
        self._decode_line = msgspec.json.Decoder(_Line).decode
        self._heads: BoundedCache[bytes, tuple[str, Row]] = BoundedCache(self._read_head, _length)
        self._points: BoundedCache[bytes, tuple[int, int]] = BoundedCache(self._read_point, _length)
        self._ranges: BoundedCache[bytes, tuple[int, int]] = BoundedCache(self._read_range, _length)

    def for_stream(self, name: str) -> JsonDecoder:
        twin = copy.copy(self)
        twin.name = name
        return twin

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        collector = Collector(self.name, first_line)
        append, heads, points, ranges = collector.records.append, self._heads, self._points, self._ranges
        for line in lines:
            head, mark, tail = line.rpartition(b'"time":')
            try:
                if mark:
                    predicate, row = heads[head]
                    lo, hi = points[tail]
                else:
                    head, _, tail = line.rpartition(b'"interval":')
                    predicate, row = heads[head]
                    lo, hi = ranges[tail]
            except _UNPROVEN:
                self._decode_other(line, collector)
            else:
                append((predicate, row, lo, hi))
        return collector.batch()

    def _decode_other(self, line: bytes, collector: Collector) -> None:
        """A line whose time does not stand last, or that only the exact path understands, or a wrong one."""
        if not line.strip():
            collector.skip()
            return
        try:
            predicate, row, lo, hi = self._read_line(line)
        except _UNPROVEN:
            try:
                predicate, row, lo, hi = self._exact.read(line)
            except DataError as error:
                hint = f"; {self._hint}" if self._hint and line.lstrip()[:1] not in (b"{", b"[", b'"') else ""
                collector.reject(error.reason + hint, line)
                return
        collector.records.append((predicate, row, lo, hi))

    def _read_head(self, head: bytes) -> tuple[str, Row]:
        """The atom in a first half: all up to the comma before the time."""
        head = head.rstrip(b" \t")
        if self._timeless or head[-1:] != b",":
            raise DataError("the time does not stand last")
        document = head[:-1] + b"}"
        form = self._keyed.get(document[2 : document.find(b'"', 2)])
        if form is None:
            atom = self._decode_atom(document)
            _prove_unique(document, 2, (atom.predicate, *atom.args))
            return atom.predicate, self._row(atom.predicate, atom.args)
        values = msgspec.structs.astuple(form.decoder.decode(document).fact)
        _prove_unique(document, form.members, values)
        return form.predicate, self._row(form.predicate, values)

    def _read_line(self, line: bytes) -> tuple[str, Row, int, int]:
        fact = self._decode_line(line)
        time, interval = bytes(fact.time), bytes(fact.interval)
        _prove_unique(line, 3, (fact.predicate, *fact.args), time.count(b":") + interval.count(b":"))
        if self._timeless or bool(time) == bool(interval):
            raise DataError("one time, or none, is for the exact path")
        row = self._row(fact.predicate, fact.args)
        return fact.predicate, row, *(self._points[time + b"}"] if time else self._ranges[interval + b"}"])

    def _row(self, predicate: str, values: Arguments) -> Row:
        """The row of values as msgspec has read them; what may have lost digits is for the exact path."""
        if not predicate:
            raise DataError("`predicate` is empty")
        is_canonical = True
        for value in values:
            if isinstance(value, float):
                if not -EXACT_FLOAT < value < EXACT_FLOAT:
                    raise DataError("a whole number of this size is for the exact path")
                is_canonical = is_canonical and not value.is_integer()
            elif isinstance(value, int) and not -MAX_INTEGER < value < MAX_INTEGER:
                is_canonical = False
        if is_canonical:
            return self._admission.canonical_row(predicate, values)
        return self._admission.row(predicate, values)

    def _read_point(self, tail: bytes) -> tuple[int, int]:
        """The time in a second half, such as `17}`."""
        raw = _member(tail)
        if raw[:1] == b'"':
            point = self._reader.read_point(_decode_text(raw))
        else:
            _decode_number(raw)
            point = self._reader.read_point(as_text(raw))
        return point, point

    def _read_range(self, tail: bytes) -> tuple[int, int]:
        """The interval in a second half, such as `"[1,2)"}`."""
        return self._reader.read_interval(_decode_text(_member(tail)))


def _member(tail: bytes) -> bytes:
    """The value that an object's last member has: what stands before the closing brace."""
    tail = tail.strip()
    if tail[-1:] != b"}":
        raise DataError("an object ends with a brace")
    return tail[:-1].strip()


def _prove_unique(document: bytes, members: int, values: tuple[object, ...], inside: int = 0) -> None:
    """Raise DataError unless the colons prove that an object has no more than so many members.

    `inside` counts colons that are known to stand within values, those in `values` are counted here.
    """
    colons = document.count(b":")
    if colons == members:
        return
    inside += sum([value.count(":") for value in values if isinstance(value, str)])
    if colons - inside != members or b"\\" in document:
        raise DataError("a key may stand twice")


def _keyed_forms(schema: Schema) -> dict[bytes, _Keyed]:
    """A decoder for each input with named fields, by its key; the keys of a plain fact stay its keys."""
    return {
        predicate.name.encode(): _keyed_form(predicate)
        for predicate in schema.predicates.values()
        if predicate.fields and predicate.name not in ("predicate", "args", "time", "interval")
    }


def _keyed_form(predicate: PredicateSchema) -> _Keyed:
    slots = [f"field{i}" for i in range(len(predicate.fields))]
    fields = msgspec.defstruct(
        "Fields",
        [(slot, str | int | float) for slot in slots],
        rename=dict(zip(slots, predicate.fields, strict=True)),
        forbid_unknown_fields=True,
        gc=False,
    )
    fact = msgspec.defstruct("Fact", [("fact", fields)], rename={"fact": predicate.name}, forbid_unknown_fields=True)
    return _Keyed(predicate.name, msgspec.json.Decoder(fact), len(slots) + 1)


def _length(key: bytes, _: object) -> int:
    return len(key)
