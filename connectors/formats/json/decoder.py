"""Facts as JSON lines, in the three forms of the language's contract.

msgspec decodes a line into a struct, and code compiled for its predicate makes the row (`plans/data/row_code.py`). That no
key stands twice is proved by counting: each member brings a colon, so an object with as many colons as it must have members
(beside those inside its values) has no further member.

On many streams the time is new and the rest repeats. So a line is cut before its last `"time":` (or `"interval":`), and each
half is looked up in a cache. A half is in there only if it has been read by itself: the first as an object that ends
before the comma, the second as an object with this one member. Two such halves make one valid object, and no key stands
twice in it, since the second key may not stand in the first half. Where first halves do not repeat, the caches are left
alone for a while.

A last member `"id":["RUN",17]`, which at-least-once sinks add, is cut off before the rest is read.

What these ways cannot prove goes to `exact.py` beside this module, which is slower, knows every rule and gives the reasons.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec

from tidelog.connectors.formats.cache import MAX_TIMES, BoundedCache, key_length
from tidelog.connectors.formats.decoding import Admission, Collector
from tidelog.connectors.formats.json.exact import ExactJson
from tidelog.connectors.formats.lines import LineFramer
from tidelog.plans.data.facts import PredicateSchema, Record, Row, Schema, as_text, plain_row
from tidelog.plans.data.row_code import row_maker
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import EXACT_FLOAT, MAX_INTEGER
from tidelog.runtime.ports.interfaces import Batch

Arguments = tuple[str | int | float | bool, ...]

_PAUSE = 32
"""So many batches are read without the caches after one in which most first halves were new."""
_UNPROVEN = (msgspec.MsgspecError, DataError, UnicodeDecodeError, RecursionError)
"""What the fast paths raise: the exact path then says why, or reads what only it can."""

_ID = re.compile(rb',"id":\["[0-9A-Za-z]+",(?:0|[1-9][0-9]*)\]}\s*\Z')
"""The id of an answer as sinks write it, behind the fact."""

_decode_text = msgspec.json.Decoder(str).decode
_decode_number: Callable[[bytes], int | float] = msgspec.json.Decoder(int | float).decode


class _Atom(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`{"predicate": "temp", "args": ["s1", 21.5]}`: a plain line's first half."""

    predicate: str
    args: Arguments


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A plain line."""

    predicate: str
    args: Arguments
    time: int | float | str | None = None
    interval: str | None = None


@dataclass(frozen=True, slots=True)
class _Keyed:
    """The lines `{"temp": {"sensor": "s1", "value": 21.5}, "time": 17}` of one declared input, and their first halves."""

    predicate: str
    decode_head: Callable[[bytes], Any]
    decode_line: Callable[[bytes], Any]
    values: Callable[[Any], Arguments]
    members: int


class JsonDecoder:
    """Reads JSON lines. Blank lines are skipped; with `predicate`, facts of any other are refused.

    `timeless` is for facts that hold at all times: they must have neither `time` nor `interval`. `hint` is added to the
    reason where a line does not even look like JSON. With `retracts`, a fact with `"retract":true` is taken back; without
    it, it is refused.
    """

    header: bytes | None = None
    framer = LineFramer

    def __init__(
        self,
        schema: Schema,
        name: str,
        predicate: str | None = None,
        *,
        timeless: bool = False,
        hint: str = "",
        retracts: bool = False,
    ) -> None:
        self.name = name
        self._retracts = retracts
        self._hint = hint
        self._timeless = timeless
        self._admission = Admission(schema, predicate)
        self._reader = TimeReader(schema.timeline)
        self._exact = ExactJson(schema, self._admission, self._reader, timeless)
        self._keyed = _keyed_forms(schema)
        self._rows = {
            name: row_maker(known)
            for name, known in schema.predicates.items()
            if known.accepts_input and predicate in (None, name)
        }
        self._pause = 0
        self._decode_atom = msgspec.json.Decoder(_Atom).decode
        self._decode_line = msgspec.json.Decoder(_Line).decode
        self._heads: BoundedCache[bytes, tuple[str, Row]] = BoundedCache(self._read_head, key_length)
        self._points: BoundedCache[bytes, tuple[int, int]] = BoundedCache(self._read_point, key_length, MAX_TIMES)
        self._ranges: BoundedCache[bytes, tuple[int, int]] = BoundedCache(self._read_range, key_length, MAX_TIMES)
        self._texts: BoundedCache[str, tuple[int, int]] = BoundedCache(self._reader.read, key_length, MAX_TIMES)

    def for_stream(self, name: str) -> JsonDecoder:
        twin = copy.copy(self)
        twin.name = name
        return twin

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        collector = Collector(self.name, first_line)
        if self._pause:
            self._pause -= 1
            self._decode_new(lines, collector)
        else:
            self._decode_known(lines, collector)
        return collector.batch()

    def _decode_new(self, lines: Sequence[bytes], collector: Collector) -> None:
        """Lines that hardly ever repeat anything."""
        append, read = collector.records.append, self._read_line
        for line in lines:
            try:
                append(read(line))
            except _UNPROVEN:
                self._decode_other(line, collector)

    def _decode_known(self, lines: Sequence[bytes], collector: Collector) -> None:
        """Lines whose halves are known; those that are not are remembered."""
        append, heads, points, ranges = collector.records.append, self._heads, self._points, self._ranges
        missed = heads.missed
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
        if 2 * (heads.missed - missed) > len(lines):
            self._pause = _PAUSE

    def _decode_other(self, line: bytes, collector: Collector) -> None:
        """A line whose time does not stand last, that has an id, or that only the exact path understands, or a wrong one."""
        try:
            collector.records.append(self._read_line(_without_id(line)))
        except _UNPROVEN:
            self._decode_exactly(line, collector)

    def _decode_exactly(self, line: bytes, collector: Collector) -> None:
        """A line that is blank, or that only the exact path understands, or a wrong one."""
        if not line.strip():
            collector.skip()
            return
        try:
            record, is_retracted = self._exact.read(line)
        except DataError as error:
            hint = f"; {self._hint}" if self._hint and line.lstrip()[:1] not in (b"{", b"[", b'"') else ""
            collector.reject(error.reason + hint, line)
            return
        if is_retracted:
            collector.retract(record, line, is_taken=self._retracts)
        else:
            collector.records.append(record)

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
        values = form.values(form.decode_head(document).fact)
        _prove_unique(document, form.members, values)
        return form.predicate, self._row(form.predicate, values)

    def _read_line(self, line: bytes) -> Record:
        """A whole line, in whatever order its keys stand."""
        form = self._keyed.get(line[2 : line.find(b'"', 2)]) if self._keyed else None
        if form is None:
            fact = self._decode_line(line)
            predicate, values, members = fact.predicate, fact.args, 3
        else:
            fact = form.decode_line(line)
            predicate, values, members = form.predicate, form.values(fact.fact), form.members + 1
        time = fact.time
        if line.count(b":") != members:
            _prove_unique(line, members, (predicate, *values, time, fact.interval))
        make = self._rows.get(predicate)
        row = make(values) if make is not None else None
        if row is None:
            row = self._other_row(predicate, values)
        if time.__class__ is int and fact.interval is None and not self._timeless:
            point = self._reader.read_whole(time)
            return predicate, row, point, point
        return predicate, row, *self._time_of(fact, line)

    def _time_of(self, fact: Any, line: bytes) -> tuple[int, int]:
        """The time of a line that is no whole number; one with a fraction as it is written, which has to stand last."""
        if self._timeless or (fact.time is None) == (fact.interval is None):
            raise DataError("one time, or none, is for the exact path")
        if isinstance(fact.time, float):
            return self._points[line.rpartition(b'"time":')[2]]
        text = fact.time if fact.interval is None else fact.interval
        if (text[:1] in ("[", "(")) != (fact.interval is not None):
            raise DataError("a time is no interval")
        return self._texts[text]

    def _row(self, predicate: str, values: Arguments) -> Row:
        """The row of values as msgspec has read them; what may have lost digits is for the exact path."""
        make = self._rows.get(predicate)
        row = make(values) if make is not None else None
        return self._other_row(predicate, values) if row is None else row

    def _other_row(self, predicate: str, values: Arguments) -> Row:
        """The row of values that have to be looked at one by one, and the reason where they make none."""
        if not predicate:
            raise DataError("`predicate` is empty")
        if bool in map(type, values):
            return self._row(predicate, plain_row(values))
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
        whole = tail[:-1]
        if whole.isdigit() and tail[-1:] == b"}" and whole[:1] != b"0":
            point = self._reader.read_whole(int(whole))
            return point, point
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


def _without_id(line: bytes) -> bytes:
    """A line without the id that a sink has added."""
    found = _ID.search(line) if line.rstrip().endswith(b"]}") else None
    return line if found is None or b'"id"' in line[: found.start()] else line[: found.start()] + b"}"


def _member(tail: bytes) -> bytes:
    """The value that an object's last member has: what stands before the closing brace."""
    tail = tail.strip()
    if tail[-1:] != b"}":
        raise DataError("an object ends with a brace")
    return tail[:-1].strip()


def _prove_unique(document: bytes, members: int, values: tuple[object, ...]) -> None:
    """Raise DataError unless the colons that stand outside `values` prove that an object has so many members at the most."""
    colons = document.count(b":")
    if colons == members:
        return
    inside = sum([value.count(":") for value in values if isinstance(value, str)])
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
        [(slot, str | int | float | bool) for slot in slots],
        rename=dict(zip(slots, predicate.fields, strict=True)),
        forbid_unknown_fields=True,
        gc=False,
    )
    renamed = {"fact": predicate.name}
    head = msgspec.defstruct("Fact", [("fact", fields)], rename=renamed, forbid_unknown_fields=True)
    line = msgspec.defstruct(
        "Line",
        [("fact", fields), ("time", int | float | str | None, None), ("interval", str | None, None)],
        rename=renamed,
        forbid_unknown_fields=True,
    )
    decode_head, decode_line = msgspec.json.Decoder(head).decode, msgspec.json.Decoder(line).decode
    values = attrgetter(*slots) if len(slots) > 1 else msgspec.structs.astuple
    return _Keyed(predicate.name, decode_head, decode_line, values, len(slots) + 1)
