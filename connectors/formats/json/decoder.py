"""Facts as JSON lines, in the three forms of the language's contract.

msgspec decodes a line into a struct, and code compiled for its predicate makes the row (`plans/data/row_code.py`). That no
key stands twice is proved by counting: each member brings a colon, so an object with as many colons as it must have members
(beside those inside its values) has no further member.

On many streams the time is new and the rest repeats. So a line is cut before its last `"time":` (or `"interval":`), and each
half is looked up in a cache. A half is in there only if it has been read by itself: the first as an object that ends
before the comma, the second as an object with this one member. Two such halves make one valid object, and no key stands
twice in it, since the second key may not stand in the first half. Where first halves do not repeat, the caches are left
alone for a while, and lines are decoded as a whole.

Either is done for all lines of a batch at once. What proves then that each line is a fact by itself stands at `_cut` and
`_decode_all`. Where it does not hold of a batch, its lines are read one by one.

A last member `"id":["RUN",17]`, which at-least-once sinks add, is cut off before the rest is read.

What these ways cannot prove goes to `exact.py` beside this module, which is slower, knows every rule and gives the reasons.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import msgspec

from tidelog.connectors.formats.cache import MAX_TIMES, BoundedCache, key_length
from tidelog.connectors.formats.decoding import FEW, Admission, Collector
from tidelog.connectors.formats.json.exact import ExactJson
from tidelog.connectors.formats.json.flat import FlatForm
from tidelog.connectors.formats.json.forms import Arguments, Atom, Line, first_key, keyed_forms, prove_unique
from tidelog.connectors.formats.lines import LineFramer
from tidelog.connectors.formats.numbers import WholeTimes
from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import Record, Row, Schema, as_text, plain_row
from tidelog.plans.data.foreign_times import make_reader
from tidelog.plans.data.row_code import row_maker
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import EXACT_FLOAT, MAX_INTEGER
from tidelog.runtime.ports.interfaces import Batch

_TIME, _INTERVAL = b'"time":', b'"interval":'
_PAUSE = 32
"""So many batches are read without the caches after one in which most lines had no first half that was known."""
_UNPROVEN = (msgspec.MsgspecError, DataError, UnicodeDecodeError, RecursionError)
"""What the fast paths raise: the exact path then says why, or reads what only it can."""

_ID = re.compile(rb',"id":\["[0-9A-Za-z]+",(?:0|[1-9][0-9]*)\]}\s*\Z')
"""The id of an answer as sinks write it, behind the fact."""

_decode_text = msgspec.json.Decoder(str).decode
_decode_texts = msgspec.json.Decoder(list[str]).decode
_decode_number: Callable[[bytes], int | float] = msgspec.json.Decoder(int | float).decode


class JsonDecoder:
    """Reads JSON lines. Blank lines are skipped; with `predicate`, facts of any other are refused.

    `timeless` is for facts that hold at all times: they must have neither `time` nor `interval`. `hint` is added to the
    reason where a line does not even look like JSON. With `retracts`, a fact with `"retract":true` is taken back; without
    it, it is refused. With `predicate`, flat objects are its facts, too; with a `dialect`, all objects are flat.
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
        dialect: Dialect = OURS,
    ) -> None:
        self.name = name
        self._retracts = retracts
        self._hint = hint
        self._timeless = timeless
        self._admission = Admission(schema, predicate)
        self._reader = make_reader(schema.timeline, dialect)
        self._whole = WholeTimes(self._reader)
        self._is_flat = dialect != OURS
        flat = FlatForm(schema, predicate, self._admission, self._reader, dialect) if predicate and not timeless else None
        self._exact = ExactJson(schema, self._admission, self._reader, timeless, flat)
        self._keyed = keyed_forms(schema)
        self._rows = {
            name: row_maker(known)
            for name, known in schema.predicates.items()
            if known.accepts_input and predicate in (None, name)
        }
        self._pause = 0
        self._decode_atom = msgspec.json.Decoder(Atom).decode
        self._plain = msgspec.json.Decoder(Line)
        self._heads: BoundedCache[bytes, tuple[str, Row]] = BoundedCache(self._read_head, key_length)
        self._points: BoundedCache[bytes, tuple[int, int]] = BoundedCache(self._read_point, key_length, MAX_TIMES)
        self._ranges: BoundedCache[bytes, tuple[int, int]] = BoundedCache(self._read_range, key_length, MAX_TIMES)
        self._instants: BoundedCache[str, int] = BoundedCache(self._reader.read_point, key_length, MAX_TIMES)
        self._texts: BoundedCache[str, tuple[int, int]] = BoundedCache(self._reader.read, key_length, MAX_TIMES)

    def for_stream(self, name: str) -> JsonDecoder:
        twin = copy.copy(self)
        twin.name = name
        return twin

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        collector = Collector(self.name, first_line)
        if self._is_flat:
            for line in lines:
                self._decode_exactly(line, collector)
        elif self._pause:
            self._pause -= 1
            self._decode_new(lines, collector)
        else:
            self._decode_known(lines, collector)
        return collector.batch()

    def _decode_new(self, lines: Sequence[bytes], collector: Collector) -> None:
        """Lines that hardly ever repeat anything."""
        if len(lines) >= FEW and self._take(self._decode_all, lines, collector):
            return
        append, read = collector.records.append, self._read_line
        for line in lines:
            try:
                append(read(line))
            except _UNPROVEN:
                self._decode_other(line, collector)

    def _decode_known(self, lines: Sequence[bytes], collector: Collector) -> None:
        """Lines whose halves are known; those that are not are remembered."""
        missed, others = self._heads.missed, 0
        if len(lines) < FEW or not self._take(self._cut, lines, collector):
            others = self._cut_each(lines, collector)
        if 2 * (self._heads.missed - missed + others) > len(lines):
            self._pause = _PAUSE

    def _cut_each(self, lines: Sequence[bytes], collector: Collector) -> int:
        """Lines of which some may be anything; returns how many had no two halves."""
        append, heads, points, ranges = collector.records.append, self._heads, self._points, self._ranges
        others = 0
        for line in lines:
            head, mark, tail = line.rpartition(_TIME)
            try:
                if mark:
                    predicate, row = heads[head]
                    lo, hi = points[tail]
                else:
                    head, _, tail = line.rpartition(_INTERVAL)
                    predicate, row = heads[head]
                    lo, hi = ranges[tail]
            except _UNPROVEN:
                others += 1
                self._decode_other(line, collector)
            else:
                append((predicate, row, lo, hi))
        return others

    # --- a batch at once ------------------------------------------------------------------------------------------------

    def _take(
        self, read: Callable[[Sequence[bytes]], list[Record] | None], lines: Sequence[bytes], collector: Collector
    ) -> bool:
        """Whether lines could be read at once, and were."""
        try:
            records = read(lines)
        except _UNPROVEN:
            return False
        collector.records += records or ()
        return records is not None

    def _cut(self, lines: Sequence[bytes]) -> list[Record] | None:
        """Lines of two halves each; one of the errors of `_UNPROVEN`, where some may be none."""
        key = _TIME if _TIME in lines[0] else _INTERVAL
        heads, _, tails = zip(*[line.rpartition(key) for line in lines], strict=True)
        points = self._read_points(tails) if key is _TIME else None
        atoms = map(self._heads.__getitem__, heads)
        if points is not None:
            return [(predicate, row, point, point) for (predicate, row), point in zip(atoms, points, strict=True)]
        times = map((self._points if key is _TIME else self._ranges).__getitem__, tails)
        return [(predicate, row, lo, hi) for (predicate, row), (lo, hi) in zip(atoms, times, strict=True)]

    def _read_points(self, tails: Sequence[bytes]) -> list[int] | None:
        """The times in second halves such as `17}`; None unless all of them are plain whole numbers, or all are text.

        Where all halves end with a brace, one time stands in each: there are as many times as halves, a list with a gap is
        not JSON, and text that went over a joint would have a comma, which no time has.
        """
        joined = b"\n".join(tails)
        listed = joined.replace(b"}\n", b",")
        if len(joined) - len(listed) != len(tails) - 1 or listed[-1:] != b"}":
            return None
        if listed[:1] != b'"':
            return self._whole.read(listed[:-1], len(tails))
        texts = _decode_texts(b"[%b]" % listed[:-1])
        return list(map(self._instants.__getitem__, texts)) if len(texts) == len(tails) else None

    def _decode_all(self, lines: Sequence[bytes]) -> list[Record] | None:
        """Lines of one form; None, or one of the errors of `_UNPROVEN`, where some may be none.

        A brace, a line end and a brace stand between two facts, and nowhere else: no text has a line end, and no member of a
        fact begins with a brace. So each line is one fact, if there are as many. Each has all its members, so that none has
        one more, if there are as many colons.
        """
        if self._timeless:
            return None
        form = self._keyed.get(first_key(lines[0])) if self._keyed else None
        text = b"\n".join(lines)
        facts: list[Any] = (self._plain if form is None else form.line).decode_lines(text)
        if len(facts) != len(lines) or text.count(b"}\n{") != len(lines) - 1:
            return None
        times = [fact.time for fact in facts]
        points = self._whole.encode(times) if set(map(type, times)) == {int} else None
        if form is None:
            predicates, values, members = [fact.predicate for fact in facts], [fact.args for fact in facts], 3
        else:
            predicates, members = [form.predicate] * len(facts), form.members + 1
            values = list(map(form.values, [fact.fact for fact in facts]))
        if text.count(b":") != members * len(facts):
            intervals = [fact.interval for fact in facts]
            prove_unique(text, members * len(facts), chain(predicates, chain.from_iterable(values), times, intervals))
        rows = self._rows_of(predicates, values)
        if points is not None:
            return list(zip(predicates, rows, points, points, strict=True))
        ranges = [self._time_of(fact, line) for fact, line in zip(facts, lines, strict=True)]
        return [(predicate, row, *range_) for predicate, row, range_ in zip(predicates, rows, ranges, strict=True)]

    def _rows_of(self, predicates: list[str], values: list[Arguments]) -> list[Row]:
        """The row of each fact."""
        make = self._rows.get(predicates[0]) if len(set(predicates)) == 1 else None
        if make is None:
            return list(map(self._row, predicates, values))
        rows = list(map(make, values))
        return [self._other_row(predicates[0], values[i]) if row is None else row for i, row in enumerate(rows)]

    # --- a line ----------------------------------------------------------------------------------------------------------

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
        form = self._keyed.get(first_key(document))
        if form is None:
            atom = self._decode_atom(document)
            prove_unique(document, 2, (atom.predicate, *atom.args))
            return atom.predicate, self._row(atom.predicate, atom.args)
        values = form.values(form.head.decode(document).fact)
        prove_unique(document, form.members, values)
        return form.predicate, self._row(form.predicate, values)

    def _read_line(self, line: bytes) -> Record:
        """A whole line, in whatever order its keys stand."""
        form = self._keyed.get(first_key(line)) if self._keyed else None
        if form is None:
            fact = self._plain.decode(line)
            predicate, values, members = fact.predicate, fact.args, 3
        else:
            fact = form.line.decode(line)
            predicate, values, members = form.predicate, form.values(fact.fact), form.members + 1
        if line.count(b":") != members:
            prove_unique(line, members, (predicate, *values, fact.time, fact.interval))
        return predicate, self._row(predicate, values), *self._time_of(fact, line)

    def _time_of(self, fact: Any, line: bytes) -> tuple[int, int]:
        """The time of a line; one with a fraction as it is written, which has to stand last."""
        if fact.time.__class__ is int and fact.interval is None and not self._timeless:
            point = self._reader.read_whole(fact.time)
            return point, point
        if self._timeless or (fact.time is None) == (fact.interval is None):
            raise DataError("one time, or none, is for the exact path")
        if isinstance(fact.time, float):
            return self._points[line.rpartition(_TIME)[2]]
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
