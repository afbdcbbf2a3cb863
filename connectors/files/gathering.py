"""What has been read of a stretch of a file, as columns by predicate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.connectors.formats.decoding import Places
from tidelog.plans.data.facts import Fact
from tidelog.runtime.frames.columns import Array, Batch, ColumnBatch, Pool, batch_of, empty, joined, np, numbered
from tidelog.runtime.ports import interfaces
from tidelog.runtime.ports.interfaces import Rejected


class Gathered:
    """Facts of lines, as columns by predicate in the order of their lines, and what is none."""

    def __init__(self, name: str, pool: Pool) -> None:
        self._name, self._pool = name, pool
        self.rejected: list[Rejected] = []
        self._count = 0
        # Only a predicate that is not the program's has rows of several lengths.
        self._parts: dict[tuple[str, int], list[tuple[Batch, Array]]] = {}

    def __len__(self) -> int:
        """How many facts there are, and how many lines that are none."""
        return self._count + len(self.rejected)

    def add(self, predicate: str, facts: Batch, lines: Sequence[int]) -> None:
        """Take the facts of these lines."""
        if len(facts):
            self._parts.setdefault((predicate, facts.width), []).append((facts, numbered(lines)))
            self._count += len(facts)

    def add_records(self, batch: interfaces.Batch) -> None:
        """Take what a decoder made of some lines."""
        self.rejected += batch.rejected
        lines = batch.places.lines() if isinstance(batch.places, Places) else range(len(batch.records))
        found: dict[tuple[str, int], tuple[list[Fact], list[int]]] = {}
        for record, line in zip(batch.records, lines, strict=True):
            key = record[0], len(record[1])
            kept = found.get(key)
            if kept is None:
                kept = found[key] = ([], [])
            kept[0].append(record[1:])
            kept[1].append(line)
        for (predicate, width), (facts, numbers) in found.items():
            self.add(predicate, batch_of(facts, width, self._pool), numbers)

    def drain(self) -> Iterator[ColumnBatch]:
        """Hand out all of it, and keep none. What is rejected is with the first predicate's facts, or with none."""
        rejected = sorted(self.rejected, key=_line)
        parts, self._parts, self._count = self._parts, {}, 0
        self.rejected = []
        for (predicate, width), found in parts.items():
            facts = joined([facts for facts, _ in found], width, self._pool)
            numbers = np.concatenate([lines for _, lines in found])
            yield ColumnBatch(predicate, facts, numbers, self._name, rejected, counts_lines=True)
            rejected = []
        if rejected:
            yield ColumnBatch("", empty(0), np.empty(0, np.int64), self._name, rejected, counts_lines=True)


def _line(rejected: Rejected) -> int:
    return int(rejected.place.rpartition(":")[2])
