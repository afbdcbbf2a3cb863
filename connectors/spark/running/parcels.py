"""Parcels: the rows that pass between the stages of a program on Spark, each addressed to a stage and to a bucket in it.

A parcel is a pack of facts, or something else that has to come out in the end: a record that could not be used, a constraint
that is violated, a count. What is addressed to stage `OUT` is for users; stages pass it on as it is. What Spark does costs
it as much for each row as a rule does for each fact, so a row holds many facts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any
from zlib import crc32

import msgspec
import pyarrow as pa

from tidelog.connectors.formats.cache import BoundedCache
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.stages.needed import needed_rows
from tidelog.plans.stages.stages import Stage
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.ports.changelog import plain_hypothetical, read_hypothetical
from tidelog.runtime.ports.interfaces import Rejected, Told

OUT = 0
"""The address of what is for users; stages are numbered from 1."""

FACT, LETTER, VIOLATION, COUNT, NOTE, SPAN, WAKE, TOLD, ASKED, COLUMN, STATE, JOURNAL, FATE = range(13)
"""Kinds of parcels. A span tells the first and the last begin of some facts of the stream, read by a stage or not; to wake
is to let a bucket's session begin, though no fact may ever come. `TOLD` sums up what else a worker tells users, so that the
driver need not look at it. `ASKED` is a line about an answer to a question. `COLUMN` is a pack of facts as columns. Of a
program that changes, `STATE` is the snapshot of a bucket, and `lo` when it is due in Spark's time, if ever; `JOURNAL` is a
block of what it was told, with its first event in `lo`, and when it was noted in `hi`; `FATE` is what becomes of its
answers."""

SCHEMA = pa.schema(
    [
        pa.field("stage", pa.int32(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("kind", pa.int32(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("number", pa.int32(), nullable=False),
        pa.field("row", pa.binary(), nullable=False),
        pa.field("lo", pa.int64(), nullable=False),
        pa.field("hi", pa.int64(), nullable=False),
    ]
)
COLUMNS = "stage int, bucket int, kind int, name string, number int, row binary, lo bigint, hi bigint"
"""The same for Spark.

A pack has `number` facts in its row, the first of which begins at `lo` (encoded), and the last at `hi`; in a pack for users,
and in one of columns, all are of the predicate `name`. A letter's row holds its place, its reason and what it said; that of
a violation its rule and its facts, and `lo … hi` is when; that of a line about an answer is the answer as plain data, `lo`
is its time, and `hi` its place among the lines of its task. A count is in `lo`, and what is counted in `name`, as is the
text of a note; that of a span is the number of its input. Beside facts, letters, violations and lines about answers comes a
parcel of kind `TOLD` for each kind (in `hi`) and predicate: `number` of them have `lo` bytes together.
"""

PACK = 1000
"""How many facts one pack holds, at most."""
PACK_BYTES = 1 << 20
"""A pack is not larger, unless one fact is."""

_Wants = BoundedCache[Row, bool]
Placed = tuple[str, Row, int, int, bytes]
"""A fact, and what sorts facts that begin at the same time by their arrival."""

Block = tuple[int, int, bytes]
"""A block of a journal, behind the number of its first event and when it was noted, in microseconds since 1970."""

_encode = msgspec.msgpack.Encoder().encode
_decode_facts: Callable[[bytes], list[Record]] = msgspec.msgpack.Decoder(
    list[tuple[str, tuple[str | int | float, ...], int, int]]
).decode
_decode_placed: Callable[[bytes], list[Placed]] = msgspec.msgpack.Decoder(
    list[tuple[str, tuple[str | int | float, ...], int, int, bytes]]
).decode
decode_block: Callable[[bytes], tuple[int, int, int, int, bytes]] = msgspec.msgpack.Decoder(
    tuple[int, int, int, int, bytes]
).decode
"""A block as it was noted: its first and its last event, how many facts, when it was noted, and the events, packed."""
_begin = itemgetter(2)
_order = itemgetter(2, 4)
_decode_letter = msgspec.msgpack.Decoder(tuple[str, str, bytes]).decode
_decode_asked = msgspec.msgpack.Decoder(dict[str, Any]).decode
_decode_violation = msgspec.msgpack.Decoder(tuple[str, tuple[str, ...], str]).decode


def bucket_of(value: Value, buckets: int) -> int:
    """The bucket of a key; the same for the same value, in every process."""
    text = f"t{value}" if isinstance(value, str) else f"n{value!r}"
    return crc32(text.encode()) % buckets


class Parcels:
    """Parcels to be sent, taken as Arrow batches: packs of the facts that were added, and other rows."""

    def __init__(self) -> None:
        self._columns: list[list[Any]] = [[] for _ in SCHEMA]
        self._facts: dict[tuple[int, int, str], list[Any]] = {}
        self._number = 0
        self._asked = 0

    def __len__(self) -> int:
        return self._number + len(self._columns[0])

    def facts(self, stage: int, bucket: int, records: Sequence[Record | Placed]) -> None:
        """Facts for a stage, or, all of one predicate, for users."""
        name = "" if stage != OUT else records[0][0]
        found = self._facts.get((stage, bucket, name))
        if found is None:
            self._facts[stage, bucket, name] = list(records)
        else:
            found += records
        self._number += len(records)

    def columns(self, stage: int, bucket: int, name: str, number: int, span: tuple[int, int], row: bytes) -> None:
        """A pack of so many facts for a stage, in columns, and when its first and its last begin."""
        self._add(stage, bucket, COLUMN, name, number, row, *span)

    def letters(self, rejected: Iterable[Rejected]) -> None:
        """Records that cannot be used."""
        for item in rejected:
            self._add(OUT, 0, LETTER, "", 1, _encode((item.place, item.reason, item.raw)), 0, 0)

    def violations(self, violations: Iterable[Told]) -> None:
        """Constraints that are violated."""
        for rule, facts, during, lo, hi in violations:
            self._add(OUT, 0, VIOLATION, "", 1, _encode((rule, facts, during)), lo, hi)

    def asked(self, bucket: int, answers: Iterable[HypotheticalAnswer]) -> None:
        """What is known of answers to a question, in the order in which it became known."""
        for answer in answers:
            row = _encode(plain_hypothetical(answer))
            self._add(OUT, bucket, ASKED, answer.query, 1, row, answer.at or 0, self._asked)
            self._asked += 1

    def count(self, name: str, number: int) -> None:
        """So many of something."""
        if number:
            self._add(OUT, 0, COUNT, name, 1, b"", number, 0)

    def notes(self, lines: Iterable[str]) -> None:
        """What users should know."""
        for line in lines:
            self._add(OUT, 0, NOTE, line, 1, b"", 0, 0)

    def span(self, number: int, first: int, last: int) -> None:
        """Facts of the input with this number begin between these times."""
        self._add(OUT, 0, SPAN, str(number), 1, b"", first, last)

    def handed_over(self, stage: int, bucket: int, state: bytes, due: int | None, blocks: Iterable[Block]) -> None:
        """The state of a stage's bucket, and its journal."""
        self._add(stage, bucket, STATE, "", 1, state, due or 0, 0)
        for first, at, block in blocks:
            self._add(stage, bucket, JOURNAL, "", 1, block, first, at)

    def fate(self, stage: int, told: bytes) -> None:
        """What becomes of the answers of a bucket of a stage."""
        self._add(stage, 0, FATE, "", 1, told, 0, 0)

    def take(self) -> pa.RecordBatch:
        """What was added since the last call."""
        for (stage, bucket, name), facts in self._facts.items():
            facts.sort(key=_begin)  # those that begin at the same time stay as they came
            for pack, row in _packed(facts):
                self._add(stage, bucket, FACT, name, len(pack), row, pack[0][2], pack[-1][2])
        self._sum_up()
        arrays = [pa.array(column, field.type) for column, field in zip(self._columns, SCHEMA, strict=True)]
        self._columns, self._facts, self._number = [[] for _ in SCHEMA], {}, 0
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    def _sum_up(self) -> None:
        """Add what there is for users, in a few parcels."""
        sums: dict[tuple[int, str], tuple[int, int]] = {}
        stages, _, kinds, names, numbers, rows, _, _ = self._columns
        for stage, kind, name, number, row in zip(stages, kinds, names, numbers, rows, strict=True):
            if stage == OUT and kind in (FACT, LETTER, VIOLATION, ASKED):
                before, size = sums.get((kind, name), (0, 0))
                sums[kind, name] = before + number, size + len(row)
        for (kind, name), (number, size) in sums.items():
            self._add(OUT, 0, TOLD, name, number, b"", size, kind)

    def _add(self, *parcel: Any) -> None:
        for column, value in zip(self._columns, parcel, strict=True):
            column.append(value)


def _packed(facts: Sequence[Any]) -> Iterator[tuple[Sequence[Any], bytes]]:
    """The facts in packs, in their order."""
    for begin in range(0, len(facts), PACK):
        yield from _halved(facts[begin : begin + PACK])


def _halved(facts: Sequence[Any]) -> Iterator[tuple[Sequence[Any], bytes]]:
    row = _encode(facts)
    if len(row) <= PACK_BYTES or len(facts) == 1:
        yield facts, row
        return
    half = len(facts) // 2
    yield from _halved(facts[:half])
    yield from _halved(facts[half:])


class Routes:
    """Where facts go: from the stream, or from a stage, to those stages that read them; with `whole`, also such as no rule
    there can match."""

    def __init__(self, stages: Sequence[Stage], buckets: int, *, whole: bool = False) -> None:
        self._bucket: BoundedCache[Value, int] = BoundedCache(lambda value: bucket_of(value, buckets), _size)
        self._routes: dict[int | None, dict[str, list[tuple[int, str, int | None, _Wants | None]]]] = {}
        self._is_ordered = needs_places(stages)
        for stage in stages:
            for item in stage.inputs:
                needed = None if whole else needed_rows(stage.program, item.name)
                wants = None if needed is None else BoundedCache(needed, _row_size)
                route = (stage.number, item.name, item.position, wants)
                self._routes.setdefault(item.source, {}).setdefault(item.predicate, []).append(route)

    def send_all(
        self, source: int | None, records: Sequence[Record], parcels: Parcels, places: Iterable[bytes] = repeat(b"")
    ) -> list[str]:
        """Address facts of the stream (`source` is None) or of a stage, but to no stage whose rules pass over them.

        Returns the predicates of those that no stage reads at all.
        """
        routes, bucket = self._routes.get(source, {}), self._bucket
        sent: dict[tuple[int, int], list[Any]] = {}
        unread = []
        for record, place in zip(records, places, strict=False):
            predicate, row, lo, hi = record
            if predicate not in routes:
                unread.append(predicate)
                continue
            for stage, name, position, wants in routes[predicate]:
                if wants is not None and not wants[row]:
                    continue
                address = (stage, 0 if position is None else bucket[row[position]])
                fact: Any = (name, row, lo, hi, place) if self._is_ordered else (name, row, lo, hi)
                if address in sent:
                    sent[address].append(fact)
                else:
                    sent[address] = [fact]
        for (stage, number), facts in sent.items():
            parcels.facts(stage, number, facts)
        return unread


def needs_places(stages: Iterable[Stage]) -> bool:
    """Whether facts have to come in the order of their arrival."""
    return any(stage.needs_order for stage in stages)


class InOrder:
    """Packs, as they come in the order of their first begins; facts, in the order in which they begin.

    It holds the packs that overlap: where facts come sorted, few; where not, one of each that a task has sorted.
    """

    def __init__(self, *, placed: bool) -> None:
        self._unpack = _decode_placed if placed else _decode_facts
        self._key = _order if placed else _begin
        self._is_placed = placed
        self._sorted: list[Any] = []
        self._new: list[Any] = []

    def take(self, packs: Sequence[bytes], reached: int, facts: Iterable[Record] = ()) -> list[Record]:
        """Take packs, and facts; all that begins before `reached`, behind which no later one begins, or less, while that is
        little."""
        for pack in packs:
            self._new += self._unpack(pack)
        self._new += facts
        if len(self._new) < max(PACK, len(self._sorted) // 2):  # so that no fact is sorted over and over
            return []
        self._sort()
        end = bisect_left(self._sorted, reached, key=_begin)
        found, self._sorted = self._sorted[:end], self._sorted[end:]
        return self._records(found)

    def rest(self) -> list[Record]:
        """All the others."""
        self._sort()
        found, self._sorted = self._sorted, []
        return self._records(found)

    def _sort(self) -> None:
        self._sorted += self._new
        self._sorted.sort(key=self._key)
        self._new = []

    def _records(self, facts: list[Any]) -> list[Record]:
        return [fact[:4] for fact in facts] if self._is_placed else facts


def facts_of(packs: Iterable[bytes]) -> list[Record]:
    """The facts in packs for users."""
    return [fact for pack in packs for fact in _decode_facts(pack)]


def _row_size(row: Row, _: object) -> int:
    return sum([len(value) for value in row if isinstance(value, str)])


def _size(value: Value, _: object) -> int:
    return len(value) if isinstance(value, str) else 1


def letter_of(row: bytes) -> Rejected:
    """The record that could not be used, from its parcel's row."""
    return Rejected(*_decode_letter(row))


def violation_of(row: bytes, lo: int, hi: int) -> Told:
    """The violation, from its parcel."""
    return *_decode_violation(row), lo, hi


def asked_of(row: bytes) -> HypotheticalAnswer:
    """The line about an answer, from its parcel's row."""
    return read_hypothetical(_decode_asked(row))
