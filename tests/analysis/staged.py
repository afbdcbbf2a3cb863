"""Stages run as plain sessions, one for each stage and key: the reference for whatever runs them elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from tidelog import Session
from tidelog.plans.analysis.stages import Stage, stages_of
from tidelog.plans.facts import Record
from tidelog.plans.plan import Plan
from tidelog.plans.syntax import Value

Key = Value | None


class Worker:
    """One stage: its sessions by key, and the facts that wait for the next watermark."""

    def __init__(self, stage: Stage, start: Fraction | None) -> None:
        self.stage = stage
        self._start = start
        self._sessions: dict[Key, Session] = {}
        self._waiting: dict[Key, list[Record]] = {}
        for key in self._first_keys():
            self._open(key)

    def _first_keys(self) -> list[Key]:
        if self.stage.key is None:
            return [None]
        if self.stage.seeds is None:
            return []
        session = Session(self.stage.seeds, start=self._start)
        session.finish()
        return [row[0] for _, row, _, _ in session.pull_records()]

    def _open(self, key: Key) -> None:
        if key not in self._sessions:
            self._sessions[key] = Session(self.stage.plan, lateness=math.inf, start=self._start)

    def take(self, source: int | None, record: Record) -> None:
        """A fact of the stream (`source` is None) or of an earlier stage, if this stage reads it."""
        predicate, row, lo, hi = record
        for item in self.stage.inputs:
            if (item.predicate, item.source) == (predicate, source):
                key = None if item.position is None else row[item.position]
                self._waiting.setdefault(key, []).append((item.name, row, lo, hi))

    def advance(self, watermark: Fraction | None) -> list[Record]:
        """Hand the facts to their sessions, then tell all of them the watermark; what they answer."""
        for key, records in self._waiting.items():
            self._open(key)
            self._sessions[key].push_records(records)
        self._waiting.clear()
        if watermark is not None:
            for session in self._sessions.values():
                session.advance(watermark)
        return self._answers()

    def finish(self) -> list[Record]:
        """The stream has ended."""
        answers = self.advance(None)
        for session in self._sessions.values():
            session.finish()
        return answers + self._answers()

    def _answers(self) -> list[Record]:
        return [
            record for key, session in self._sessions.items() for record in session.pull_records() if self._own(key, record)
        ]

    def _own(self, key: Key, record: Record) -> bool:
        name, row, _, _ = record
        if name not in self.stage.outputs:
            return False
        return self.stage.key is None or name not in self.stage.key or row[self.stage.key[name]] == key

    def violations(self) -> set[tuple[str, tuple[str, ...]]]:
        """The constraints violated, and by what."""
        sessions = self._sessions.values()
        return {(found.rule, found.facts) for session in sessions for found in session.pull_violations()}

    @property
    def sessions(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)


class StagedRun:
    """All stages of a plan, one after another for each watermark."""

    def __init__(self, plan: Plan, start: Fraction | None = None) -> None:
        self.workers = [Worker(stage, start) for stage in stages_of(plan).stages]

    def push(self, records: Iterable[Record]) -> None:
        """Facts of the stream, in order of arrival."""
        for record in records:
            for worker in self.workers:
                worker.take(None, record)

    def advance(self, watermark: Fraction | None) -> list[Record]:
        """No later fact begins at or before the watermark, but for the delays that inputs declare."""
        return self._pass_on(lambda worker: worker.advance(watermark))

    def finish(self) -> list[Record]:
        """The stream has ended."""
        return self._pass_on(Worker.finish)

    def violations(self) -> set[tuple[str, tuple[str, ...]]]:
        """The constraints violated since the last call, and by what."""
        return set().union(*(worker.violations() for worker in self.workers))

    def _pass_on(self, run: Callable[[Worker], list[Record]]) -> list[Record]:
        told: list[Record] = []
        for worker in self.workers:
            answers = run(worker)
            for record in answers:
                for later in self.workers[worker.stage.number :]:
                    later.take(worker.stage.number, record)
            told += [record for record in answers if record[0] in worker.stage.told]
        return told
