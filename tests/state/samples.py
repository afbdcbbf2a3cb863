"""Samples of all that is stored, as one version of tidelog leaves it: `python -m state.samples`, from `tests/`, writes them.

They go to `tests/fixtures/stored/VERSION/NAME.zip`, with what a run that was never stopped tells behind them. Those of a
version that is released never change again: later versions go on from them (`test_stored_samples.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio

import tidelog
from crashing import CrashError, ReplayableSource
from state.changing import Memory, half
from tidelog import Engine, Keep, Session, StateDirectory, version
from tidelog.connectors.outbox.outbox import Outbox
from tidelog.connectors.outbox.sink import OutboxSink
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.declared.storms import Storm
from tidelog.runtime.ports.durability import Changes, Kept

ROOT = Path(__file__).parents[1] / "fixtures/stored"
KEEP = Keep(seconds=1e9)
PLANT = """timeline integer, unit 20 s.
input gone(pump: text).
input feeds(pump: text, line: text).
input heat(room: text).
input closed(room: text).
stopped(P) :- gone(P).
dry(L, P) :- stopped(P), feeds(P, L).
hot(R) :- heat(R).
alarm stopped(pump: text), priority high, acknowledge.
alarm dry(line: text, pump: text), priority low.
alarm hot(room: text), priority medium, acknowledge, shelve at most 8 h, inhibited by closed(room).
"""


@dataclass(frozen=True)
class Sample:
    """A program and its facts: after so many of them a run is stopped in order, and after so many the next is killed."""

    name: str
    text: str
    facts: Sequence[Record]
    stopped: int
    killed: int
    emit: str
    is_kept: bool = False
    desk: bool = False

    def plan(self) -> Plan:
        """The plan that this version makes of it."""
        storms = (Storm("pager", "active", 3),) if self.desk else ()
        return tidelog.compile(self.text, name=self.name, desk=self.desk, storms=storms)

    @property
    def options(self) -> dict[str, Any]:
        """How the run is started."""
        return {"emit": self.emit, "keep": KEEP if self.is_kept else None}


def _operators() -> list[Record]:
    """Facts for all operators, some with an end that lies ahead."""
    found: list[Record] = []
    for time in range(18):
        a, b, c = ("abc"[(time + i) % 3] for i in range(3))
        found.append(("p", (a, b), time, time + (4 if time % 7 == 0 else 0)))
        found += [("q", (b, c), time, time)] if time % 2 else []
        found += [("r", (c,), time, time)] if time % 5 == 3 else []
        found += [("v", (a, time % 4), time, time)] if time % 3 else []
    return found


def _plant() -> list[Record]:
    """A plant with a flood of alarms, of which some are acknowledged, shelved, taken out of service and brought back."""
    end = 999
    return [
        ("feeds", ("p1", "l1"), 0, end),
        ("feeds", ("p2", "l2"), 0, end),
        ("heat", ("r1",), 3, end),
        ("heat", ("r2",), 4, end),
        ("hot acknowledge", ("r1", "anna", "on my way", "web"), 6, 6),
        ("hot shelve", ("r2", "ben", "known", "web", "7", "60"), 7, 60),
        ("gone", ("p1",), 9, 30),
        ("gone", ("p2",), 9, end),
        ("heat", ("r3",), 10, 40),
        ("heat", ("r4",), 10, end),
        ("hot remove", ("r4", "anna", "broken", "web"), 12, 12),
        ("closed", ("r3",), 14, 20),
        ("stopped acknowledge", ("p2", "ben", "", "web"), 15, 15),
        ("hot unshelve", ("r2", "ben", "", "web"), 22, 22),
        ("hot restore", ("r4", "anna", "", "web"), 25, 25),
        ("heat", ("r5",), 50, 55),
        ("stopped acknowledge", ("p1", "anna", "", "web"), 52, 52),
        ("gone", ("p1",), 70, 75),
        ("heat", ("r6",), 90, 91),
    ]


def samples() -> list[Sample]:
    """What is stored: all operators, in each form of answers, with a journal and without; and a desk."""
    text, facts = (ROOT / "operators.tide").read_text(), _operators()
    half_way, later = len(facts) // 2, len(facts) * 2 // 3
    return [
        *(Sample(f"operators-{emit}", text, facts, half_way, later, emit) for emit in ("intervals", "final", "changes")),
        Sample("operators-kept", text, facts, half_way, later, "changes", is_kept=True),
        Sample("plant", PLANT, _plant(), 9, 13, "changes", desk=True),
        Sample("plant-kept", PLANT, _plant(), 9, 13, "changes", is_kept=True, desk=True),
    ]


class Killed(StateDirectory):
    """A state whose run is killed before it stores where it stands in the end: what came is in the journal alone."""

    def commit(self, changes: Changes) -> Kept:
        if changes.parts is not None:
            raise CrashError
        return super().commit(changes)


def read_sample(folder: Path) -> Sample:
    """A sample that was unpacked here."""
    data = json.loads((folder / "sample.json").read_text())
    facts = [(name, tuple(row), lo, hi) for name, row, lo, hi in data.pop("facts")]
    return Sample(facts=facts, **data)


def told(records: Sequence[Record]) -> list[list[Any]]:
    """Answers as plain data."""
    return [[record[0], list(record[1]), *record[2:4]] for record in records]


def go_on(
    folder: Path, sample: Sample, plan: Plan, facts: Sequence[Record], kind: type[StateDirectory], **more: Any
) -> None:
    """Run over these facts, with a state and an outbox in a folder."""
    options = {**sample.options, **more}

    async def main() -> None:
        outbox = Outbox(str(folder / "outbox"), plan, node="n", holds_changes=sample.emit == "changes")
        with kind(str(folder / "state")) as store, outbox as box:
            sinks = [OutboxSink(box, hidden=plan.silent)]
            await Engine(plan, [ReplayableSource(facts)], sinks, state=store, commit_every=0, **options).run()

    anyio.run(main, backend="trio")


def write(sample: Sample, folder: Path) -> None:
    """Store a sample, and what a run tells that is never stopped."""
    plan = sample.plan()
    go_on(folder, sample, plan, sample.facts[: sample.stopped], StateDirectory, at_end="stop")
    try:
        go_on(folder, sample, plan, sample.facts[: sample.killed], Killed, at_end="stop")
    except* CrashError:
        pass
    for lock in folder.glob("*/*.lock"):
        lock.unlink()
    always = Memory()
    before, _ = half(plan, always, sample.facts[: sample.killed], **sample.options)
    behind, _ = half(plan, always, sample.facts, last=True, **sample.options)
    session = Session(plan, emit=sample.emit, held=sample.desk)  # type: ignore[call-overload]
    session.push_records(sample.facts[: sample.killed])
    session.pull_records()
    session.pull_violations()
    (folder / "snapshot.json").write_text(json.dumps(session.snapshot()) + "\n")
    session.push_records(sample.facts[sample.killed :])
    session.finish()
    expected = {
        "told": told([record for record in [*before, *behind] if record[0] in plan.told]),
        "session": told(session.pull_records()),
        "violations": [str(found) for found in session.pull_violations()],
    }
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in expected.items())
    (folder / "sample.json").write_text(json.dumps(asdict(sample)) + "\n")
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    """Write the samples of this version anew."""
    place = ROOT / version.VERSION
    shutil.rmtree(place, ignore_errors=True)
    for sample in samples():
        folder = place / sample.name
        os.makedirs(folder)
        write(sample, folder)
        shutil.make_archive(str(folder), "zip", folder)
        shutil.rmtree(folder)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    sys.stdout.write(f"{place}: {size:,} bytes\n")


if __name__ == "__main__":
    main()
