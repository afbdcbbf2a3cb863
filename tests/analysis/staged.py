"""Stages run side by side, one session for each stage and key: the reference for whatever runs them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from tidelog import Session
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.stages.stages import Stage, stages_of
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.migration.changing import Becoming
from tidelog.runtime.migration.staged import Paired, Spread, change_stage, pair_stages, reach_of
from tidelog.runtime.ports.interfaces import OpenStage, StageMode, StageSession
from tidelog.runtime.ports.stage_changes import StageStanding
from tidelog.runtime.sessions.staged import open_stage

Key = Value | None


class Worker:
    """One stage: its sessions by key, and the facts that wait for the next watermark.

    With `stores`, no session lives longer than until the next watermark: another one goes on from its snapshot. While it
    `sleeps`, a session is told neither facts nor watermarks, but where facts come for it, or its deadline has.
    """

    def __init__(
        self,
        stage: Stage,
        start: int | None,
        *,
        emit: StageMode,
        stores: bool,
        sleeps: bool,
        open_stage: OpenStage = open_stage,
    ) -> None:
        self.stage = stage
        self._open_stage = open_stage
        self.journal: dict[Key, list[bytes]] = {}
        self.blank: bytes | None = None
        self.noted: list[bytes] = []
        self.taken_over: set[Key] = set()
        self._start = start
        self._emit, self._stores, self._sleeps = emit, stores, sleeps
        self._told_up_to: int | None = None
        self._sessions: dict[Key, StageSession] = {}
        self._waiting: dict[Key, list[Record]] = {}
        self.told: list[Record] = []
        self.asked: list[HypotheticalAnswer] = []
        self._violations: set[tuple[str, tuple[str, ...]]] = set()
        for key in self._first_keys():
            self._sessions[key] = self._open(key)

    def _first_keys(self) -> list[Key]:
        if self.stage.key is None:
            return [None]
        if self.stage.seeds is None:
            return []
        start = None if self._start is None else self.stage.plan.timeline.decode_point(self._start)
        session = Session(self.stage.seeds, start=start)
        session.finish()
        return [row[0] for _, row, _, _ in session.pull_records()]

    def _open(self, key: Key, state: bytes | None = None) -> StageSession:
        return self._open_stage(
            self.stage, lambda value: value == key, emit=self._emit, start=self._start, state=state or self.blank
        )

    def take(self, source: int | None, record: Record) -> None:
        """A fact of the stream (`source` is None) or of an earlier stage, if this stage reads it."""
        predicate, row, lo, hi = record
        for item in self.stage.inputs:
            if (item.predicate, item.source) == (predicate, source):
                key = None if item.position is None else row[item.position]
                self._waiting.setdefault(key, []).append((item.name, row, lo, hi))

    def advance(self, watermark: int | None) -> list[Record]:
        """Hand the facts to their sessions, then tell all of them the watermark; what they pass on."""
        for key, records in self._waiting.items():
            if key not in self._sessions:
                self._sessions[key] = self._open(key)
            if self._told_up_to is not None:
                self._sessions[key].promise(self._told_up_to)
            assert self._sessions[key].take(records) == []
        woken = {key: session for key, session in self._sessions.items() if self._is_woken(key, watermark)}
        self._waiting.clear()
        if watermark is not None:
            self._told_up_to = watermark
            for session in woken.values():
                session.advance(watermark)
        passed = self._pull()
        if self._stores:
            self._sessions |= {key: self._stored(key, session) for key, session in woken.items()}
        return passed

    def _is_woken(self, key: Key, watermark: int | None) -> bool:
        if not self._sleeps or watermark is None or key in self._waiting:
            return True
        return self._sessions[key].deadline() <= watermark

    def finish(self) -> list[Record]:
        """The stream has ended."""
        passed = self.advance(None)
        for session in self._sessions.values():
            session.finish(None)
        return passed + self._pull()

    def _stored(self, key: Key, session: StageSession) -> StageSession:
        return self._open(key, session.snapshot())

    def _pull(self) -> list[Record]:
        passed: list[Record] = []
        for session in self._sessions.values():
            answers = session.pull()
            passed += answers.passed
            self.told += answers.told
            self.asked += answers.asked
            self._violations |= {(rule, facts) for rule, facts, *_ in answers.violations}
        return passed

    def states(self) -> dict[Key, bytes]:
        """The snapshots of its sessions; what these have noted is then in its journal."""
        for key, session in self._sessions.items():
            if key not in self.taken_over:
                self.journal.setdefault(key, [*self.noted])
            if (block := session.noted()) is not None:
                self.journal.setdefault(key, []).append(block)
        return {key: session.snapshot() for key, session in self._sessions.items()}

    def take_over(self, key: Key, state: bytes, told_up_to: int | None) -> None:
        """Go on with the state of a session of a program before."""
        self._told_up_to = told_up_to
        self.taken_over.add(key)
        self._sessions[key] = self._open(key, state)

    def begin_with(self, state: bytes, told_up_to: int | None, noted: bytes | None) -> None:
        """Let sessions that were not there before begin with a state, and perhaps with what was noted of that."""
        self._told_up_to, self.blank = told_up_to, state
        self.noted = [] if noted is None else [noted]
        self._sessions |= {key: self._open(key) for key in self._sessions if key not in self.taken_over}

    def violations(self) -> set[tuple[str, tuple[str, ...]]]:
        """The constraints violated since the last call, and by what."""
        found, self._violations = self._violations, set()
        return found

    @property
    def sessions(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)


class StagedRun:
    """All stages of a plan, one after another for each watermark."""

    def __init__(
        self,
        plan: Plan,
        start: Fraction | None = None,
        *,
        emit: StageMode = "intervals",
        stores: bool = False,
        sleeps: bool = False,
        open_stage: OpenStage = open_stage,
    ) -> None:
        self._plan = plan
        self._emit, self._open_stage = emit, open_stage
        begin = None if start is None else plan.timeline.encode_point(start)
        stages = stages_of(plan).stages
        self.workers = [
            Worker(stage, begin, emit=emit, stores=stores, sleeps=sleeps, open_stage=open_stage) for stage in stages
        ]

    def changed_to(
        self, plan: Plan, watermark: int | None, latest: int, *, keeps: bool
    ) -> tuple[StagedRun, list[Record], list[Becoming]]:
        """The run goes on with another plan: how, what is told at the change, and what becomes of what it tells.

        The `latest` fact of the stream begins at that time, whether it was read or not.
        """
        now = StagedRun(plan, emit=self._emit, open_stage=self._open_stage)
        before, after = ([worker.stage for worker in run.workers] for run in (self, now))
        pairs = pair_stages(before, after)
        states = {worker.stage.number: worker.states() for worker in self.workers}
        reached = [reach_of(state) for found in states.values() for state in found.values()]
        reach = max((last for last, _ in reached), default=NEG)
        reach = max(reach, latest)
        endless = frozenset(name for _, names in reached for name in names)
        told: list[Record] = []
        fates: dict[int, list[bytes]] = {}
        used = {pair.before for pair in pairs}
        for pair in [*pairs, *(Paired(0, stage.number) for stage in before if stage.number not in used)]:
            was = None if pair.before is None else self.workers[pair.before - 1]
            worker = now.workers[pair.now - 1] if pair.now else None
            for key, state in [*states.get(pair.before or 0, {}).items(), (None, None)]:
                journal = was.journal.get(key, []) if was is not None and keeps else []
                standing = StageStanding(state, None, watermark, reach, endless, pair.other, journal, keeps)
                changed = change_stage(
                    None if was is None else was.stage,
                    None if worker is None else worker.stage,
                    lambda value, key=key: value == key,
                    emit=self._emit,
                    standing=standing,
                )
                told += changed.told
                for record in changed.passed:
                    for later in now.workers[pair.now :]:
                        later.take(pair.now, record)
                fates.setdefault(pair.now, []).append(changed.becomings)
                if worker is None:
                    continue
                if state is not None:
                    worker.take_over(key, changed.state, watermark)
                    worker.journal[key] = journal
                elif worker.stage.key is not None or not worker.sessions or was is None:
                    worker.begin_with(changed.state, watermark, changed.noted)
        return now, told, Spread(before, after, pairs).becomings(fates)

    def push(self, records: Iterable[Record]) -> None:
        """Facts of the stream, in order of arrival."""
        for record in records:
            for worker in self.workers:
                worker.take(None, record)

    def advance(self, watermark: Fraction | None) -> list[Record]:
        """No later fact begins at or before the watermark, but for the delays that inputs declare; what users are told."""
        encoded = None if watermark is None else self._plan.timeline.encode_point(watermark)
        return self._pass_on(lambda worker: worker.advance(encoded))

    def finish(self) -> list[Record]:
        """The stream has ended."""
        return self._pass_on(Worker.finish)

    def violations(self) -> set[tuple[str, tuple[str, ...]]]:
        """The constraints violated since the last call, and by what."""
        return set().union(*(worker.violations() for worker in self.workers))

    def asked(self) -> list[HypotheticalAnswer]:
        """What became known of answers to questions, each of them in order."""
        return [answer for worker in self.workers for answer in worker.asked]

    def _pass_on(self, run: Callable[[Worker], list[Record]]) -> list[Record]:
        told: list[Record] = []
        for worker in self.workers:
            for record in run(worker):
                for later in self.workers[worker.stage.number :]:
                    later.take(worker.stage.number, record)
            told += worker.told
            worker.told = []
        return told
