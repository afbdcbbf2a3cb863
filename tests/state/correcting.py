"""Runs that take facts back, in tests: from a text file into a text file, crashed at commits or not."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import anyio

import tidelog
from crashing import CrashError, CrashingDirectory
from tidelog import Engine, Keep, Session
from tidelog.connectors.formats.formats import make_encoder
from tidelog.plans.data.facts import Record, format_record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.corrections.retractions import without
from tidelog.runtime.ports.interfaces import Rejected, Source

Step = tuple[bool, Record]
"""A line of a stream: whether it takes the record back, and the record."""
KEEP = Keep(seconds=10**9)


@dataclass
class Letters:
    """What was refused."""

    rejected: list[Rejected] = field(default_factory=list)

    async def send(self, rejected: Sequence[Rejected]) -> None:
        self.rejected += rejected

    @property
    def reasons(self) -> list[str]:
        """Why."""
        return [item.reason for item in self.rejected]

    @property
    def lines(self) -> set[int]:
        """In which lines."""
        return {int(item.place.rpartition(":")[2]) for item in self.rejected}


class ApartDirectory(CrashingDirectory):
    """Is read beside the event loop alone: a sink that reads what it is owed meanwhile would share a transaction."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._reading, self.file.reading = self.file.reading, self._apart  # type: ignore[method-assign] # all reads go through it

    @contextmanager
    def _apart(self) -> Iterator[None]:
        assert current_thread() is not main_thread(), "read within the event loop"
        with self._reading():
            yield


def write(plan: Plan, path: Path, steps: Iterable[Step]) -> None:
    """A file of these lines."""
    lines = ["retract " * is_back + format_record(record, plan.timeline) for is_back, record in steps]
    path.write_text("".join(f"{line}\n" for line in lines))


def engine(plan: Plan, folder: Path, state: CrashingDirectory, **options: Any) -> Engine:
    """A run from `facts.txt` into `told.txt`."""
    source = tidelog.open_source(str(folder / "facts.txt"), plan.schema, retracts=True)
    sink = tidelog.open_sink(f"facts+file:{folder / 'told.txt'}", plan.schema)
    return corrected(plan, [source], [sink], state, **options)


def corrected(plan: Plan, sources: Sequence[Source], sinks: Sequence[Any], state: Any, **options: Any) -> Engine:
    """An engine that takes facts back."""
    given: dict[str, Any] = {"emit": "changes", "keep": KEEP, "commit_every": 0, "corrections": True, **options}
    return Engine(plan, sources, sinks, state=state, **given)


def run(plan: Plan, folder: Path, *, crashes: Iterable[int] = (), backend: str = "trio", **options: Any) -> list[str]:
    """Run to the end, and return what was told; first, runs that crash before a commit, or, if negative, behind it."""
    for at in [*crashes, 0]:
        with ApartDirectory(str(folder / "state")) as state:
            state.crash_at, state.is_after = abs(at) or -1, at < 0
            try:
                anyio.run(engine(plan, folder, state, **options).run, backend=backend)
                break
            except CrashError:
                continue
    return (folder / "told.txt").read_text().splitlines()


def in_sum(told: Iterable[str]) -> Counter[str]:
    """What was told, without what was taken back; each line that takes one back has to have one."""
    held: Counter[str] = Counter()
    for line in told:
        if line.startswith("retract "):
            held[line.removeprefix("retract ")] -= 1
            assert held[line.removeprefix("retract ")] >= 0, line
        else:
            held[line] += 1
    return +held


def expected(plan: Plan, steps: Sequence[Step], **options: Any) -> Counter[str]:
    """What is told of a stream in which what is taken back was never said, wherever time was then."""
    session = Session(plan, emit="changes", lateness=10**6, **options)
    session.push_records(left_of(steps))
    session.finish()
    return Counter(make_encoder("facts", plan.schema, False).encode(session.pull_records()).decode().splitlines())


def left_of(steps: Sequence[Step]) -> list[Record]:
    """The facts of a stream without what is taken back of them later."""
    left: list[Record] = []
    for is_back, record in steps:
        if is_back:
            left = [piece for fact in left for piece in cut(fact, record)]
        else:
            left.append(record)
    return left


def cut(fact: Record, back: Record) -> list[Record]:
    """What a retraction leaves of a fact."""
    return [fact] if fact[:2] != back[:2] else list(without(fact, back[2], back[3]))


def some_taken_back(records: Sequence[Record], draw: random.Random, count: int) -> list[Step]:
    """A stream of these facts in which some are taken back, whole or in part, at once or later."""
    steps: list[Step] = [(False, record) for record in records]
    for _ in range(count):
        at = draw.randint(1, len(steps))
        predicate, row, lo, hi = draw.choice([record for is_back, record in steps[:at] if not is_back])
        if draw.random() < 0.5 and hi - lo > 1 and hi < 10**6 and lo > -(10**6):
            lo, hi = sorted(2 * (draw.randint(lo, hi) // 2) for _ in range(2))
        steps.insert(at, (True, (predicate, row, lo, hi)))
    return steps
