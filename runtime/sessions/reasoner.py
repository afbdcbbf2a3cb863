"""The reasoner: a plan at work, synchronous, in the caller's thread, told by its sources what they say."""

from __future__ import annotations

import math
from base64 import b85decode, b85encode
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.alarms.desk import OpenAlarm
from tidelog.plans.analysis.horizons.absences import absences
from tidelog.plans.data.facts import Record
from tidelog.plans.data.forms import STATE, brought_up, written_by
from tidelog.plans.data.saved import seal, taking, unseal
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.diagnostics.errors import MethodError, OperatorError, SnapshotError, SpecError, StateError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.plan.stored import can_stand_in, pack_plan, plan_digest, unpack_plan
from tidelog.plans.tree.brief import brief, number
from tidelog.runtime.emission.board import Board
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.intake.arguments import require_stream_plan
from tidelog.runtime.intake.intake import Delivery, Intake
from tidelog.runtime.intake.watermarks import Watermarks
from tidelog.runtime.network.graph import Hear, Port
from tidelog.runtime.network.network import Network
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.state_bound import ON_THE_WAY, Holding, StateBound
from tidelog.runtime.ports.actors import ActorStatistics
from tidelog.runtime.ports.interfaces import Batch, Rejected, Tick
from tidelog.runtime.sessions.history import History
from tidelog.runtime.sessions.leaping.leap import leaps_of
from tidelog.runtime.sessions.questions import inquiries
from tidelog.runtime.sessions.settings import SOURCE, Settings
from tidelog.runtime.sessions.statistics import SessionStatistics

if TYPE_CHECKING:
    from tidelog.runtime.why.memory import Memory

_COMPILED = "compiled"
"""The key under which a snapshot has its plan."""


class Reasoner:
    """Takes what each source says, each with a watermark of its own, and tells what follows: what a `Session` is built on.

    Engine, journal, corrections, migration and stages on a cluster use it as it is. A port that is `muted` gets nothing from
    the step that feeds it. Raises DataError for a time among the settings that is none.
    """

    is_spread = False
    """Whether actors do the work, each of which may fail by itself."""

    @uncollected()
    def __init__(self, plan: Plan, settings: Settings, *, muted: Collection[Port] = ()) -> None:
        require_stream_plan(plan)
        self.plan = plan
        self.settings = settings
        encoded = settings.encoded(plan.timeline)
        lateness = encoded.lateness
        self._intake = Intake(plan, settings.sources, lateness, encoded.start, encoded.max_ahead, settings.max_lead)
        self._bound = StateBound(settings.max_state)
        self._outlet = Outlet(plan, settings.emit, self._bound, keeps_held=settings.held)
        renew = partial(Network, plan, self._outlet, self._bound, settings.prospects, muted)
        self._network = renew()
        self._leaps = leaps_of(plan, self._network, self._outlet, renew)
        self._bound.watch("answers", self._holdings)
        self._inquiries = inquiries(plan, settings.answer_filter(encoded.warn), lateness, self._bound)
        self._hypothetical: list[HypotheticalAnswer] = []
        self._told = 0
        self._memory = self._remembering(settings.remember) if settings.remember else None
        self._explains = settings.explain
        self.has_failed = False
        """Whether a part of it has failed for good, which lives elsewhere: its state is of no use then."""
        self.begun_with: History | None = None
        """The history with which the stream has begun, as long as nothing else has come."""

    def begin_at(self, start: int | None) -> None:
        """The stream starts at this encoded time, which may be a gap, or `NEG`; before anything is handed in."""
        self._intake.given_start = start

    @property
    def is_beginning(self) -> bool:
        """Whether nothing but a history was handed in as yet, by one source, and nobody asks for more than what follows."""
        is_followed = self._memory is not None or self._inquiries or self._outlet.held is not None
        if is_followed or len(self.watermarks.sources) > 1 or self.settings.max_ahead is not None:
            return False
        is_fresh = self._intake.is_fresh and not self._network.has_begun
        return (is_fresh or self.begun_with is not None) and not self._network.graph.hearing

    def begin_with(self, source: str, history: History) -> bool:
        """Let a history go by in place of facts, where the stream `is_beginning`, or more of it, and go on from there.

        False, and nothing done, where an operator fails, or too much is held: who goes row by row says at which fact.
        """
        self.begun_with = None
        twin = Reasoner(self.plan, self.settings)
        twin._outlet.answers += self._outlet.answers
        try:
            twin._network.restore(history.go_through(twin._network.graph, twin._outlet, twin._bound))
            twin._bound.count()
        except (OperatorError, StateError, NoRoomError):
            return False
        history.enter(self._intake, source)
        self.go_on_as(twin)
        self.begun_with = history
        return True

    def open(self, source: str) -> None:
        """A further source has come: it holds back the others from now on, and is forgotten once it has ended."""
        self._deliver(self._intake.open(source))

    def take(self, source: str, batch: Batch, moment: float = 0.0) -> list[Rejected]:
        """Hand in what a source says; returns what was refused of it: late, too far ahead, or too long to be asked for.

        `moment` is when it said so, by any clock, for `ignore`.
        """
        records = batch.records
        is_alone = len(records) == 1 and batch.parts is None and batch.watermark is None
        if is_alone and self._take_one(source, records[0], moment):
            return []
        delivery = self._intake.take(source, batch, moment)
        self._deliver(delivery)
        return delivery.refused

    def ignore(self, source: str, before: float = math.inf) -> list[Rejected]:
        """The source is idle: it no longer holds back the others, until it speaks again.

        Where it is divided, this is so for those of its parts that said nothing after the moment `before`. Returns what was
        refused of its first facts (`max_ahead`), which wait for others no longer.
        """
        delivery = self._intake.ignore(source, before)
        self._deliver(delivery)
        return delivery.refused

    def leave(self, source: str) -> list[Rejected]:
        """The source will say nothing more, though the stream has not ended; returns what was refused of its first facts."""
        deliveries = self._intake.leave(source)
        for delivery in deliveries:
            self._deliver(delivery)
        return [item for delivery in deliveries for item in delivery.refused]

    def pass_time(self, tick: Tick) -> None:
        """The machine's clock has gone on: a floor for what every source promises."""
        if tick.unheard:
            until = {step: tick.present + min(size, tick.unheard) for step, size in absences(self.plan).items()}
            self._network.presume(until)
        self._deliver(self._intake.pass_time(tick))

    def end(self, source: str) -> list[Rejected]:
        """The source has ended, and with the last of them the stream; returns what was refused of its first facts."""
        return [item for delivery in self._end(source) for item in delivery.refused]

    def _end(self, source: str) -> list[Delivery]:
        deliveries = self._intake.finish(source)
        for delivery in deliveries:
            self._deliver(delivery)
        if self.is_finished:
            self._outlet.finish()
        return deliveries

    def rest(self) -> None:
        """Nothing more is handed in, though the stream has not ended: what is known by now waits to be pulled."""
        self.begun_with = None
        self._network.rest()

    def actors(self) -> list[ActorStatistics]:
        """What became of each actor so far, where there are several."""
        return []

    def set_aside(self) -> list[tuple[str, str]]:
        """The actors that were set aside, by their names, with the reasons."""
        return []

    def silent(self) -> list[str]:
        """The outputs of actors that were set aside: of these, answers are missing."""
        return []

    def listen(self, step: str, hear: Hear | None) -> None:
        """Tell `hear` what a step takes and sends from now on; with None, nobody any more."""
        self._network.listen(step, hear)

    def watch(self, name: str, holder: Callable[[], Iterable[Holding]]) -> None:
        """What somebody else holds for this session counts for `max_state`, too."""
        self._bound.watch(name, holder)

    def __repr__(self) -> str:
        return brief(self, self.plan.name, f"emit {self.settings.emit}", *self.standing())

    def standing(self) -> tuple[str, str, str]:
        """What was accepted, how far the stream is complete, and what waits to be pulled, at once and in words."""
        told = "" if self.frontier <= NEG else f"complete up to {self.plan.timeline.format_point(self.frontier)}"
        waiting = len(self._outlet.answers) + len(self._hypothetical)
        return (
            number(self._intake.accepted, "fact") + " accepted",
            "finished" if self.is_finished else told,
            f"{number(waiting, 'answer')} to be pulled" if waiting else "",
        )

    @property
    def watermarks(self) -> Watermarks:
        """How far each source has come."""
        return self._intake.watermarks

    @property
    def frontier(self) -> int:
        """Up to when (encoded) the stream is complete."""
        return self._intake.frontier

    @property
    def deadline(self) -> int:
        """The least frontier (encoded) at which something is to be told though no fact comes; POS where nothing is."""
        return min([self._network.deadline(), *(inquiry.deadline for inquiry in self._inquiries)])

    @property
    def may_wait(self) -> bool:
        """Whether there may ever be a `deadline`: a plan without absences, loops, long ranges and questions has none."""
        return bool(self._inquiries) or self._network.may_wait()

    @property
    def is_finished(self) -> bool:
        """Whether the stream has ended."""
        return self._intake.frontier >= POS

    # --- what is told --------------------------------------------------------------------------------------------------

    def pull_records(self) -> list[Record]:
        """The answers since the last call as encoded records, in order; with `changes`, each is a `ChangeRecord`."""
        outlet = self._outlet
        if not self._network.has_begun:
            self._network.begin()
        answers = outlet.answers
        if answers:
            outlet.answers = []
            self._told += len(answers)
            return self._memory.explained(answers) if self._explains and self._memory is not None else answers
        return []

    def pull_hypothetical(self) -> list[HypotheticalAnswer]:
        """What became known of the answers to the program's questions since the last call, in order."""
        answers, self._hypothetical = self._hypothetical, []
        self._told += len(answers)
        return answers

    def pull_violations(self) -> list[Violation]:
        """The constraints violated since the last call."""
        self._network.begin()
        violated, self._outlet.violated = self._outlet.violated, []
        return violated

    def holding(self, present: int) -> list[Record]:
        """All answers that hold at a time (encoded), or have no end that is known; what begins last comes first.

        Each has the range over which it is known to hold, `POS` standing for an end that is not known. Empty without `held`.
        """
        return [] if self._outlet.held is None else self._outlet.held.at(present, self._intake.frontier, self.plan.told)

    def open_alarms(self, present: int | None = None) -> list[OpenAlarm]:
        """All alarms that are not normal, as far as the stream is complete; and those that have begun up to the present
        (encoded), where there is one. The most urgent ones come first, and of these what began last.

        MethodError without `held`, and where the plan was not made for a desk (`tidelog.compile(…, desk=True)`).
        """
        board = self._look(present)
        return [] if board is None else [*board.items()]

    def open_alarm(self, identity: str, present: int | None = None) -> OpenAlarm | None:
        """The one of these that has this `id`; None where it is normal. Raises what `open_alarms` does."""
        board = self._look(present)
        return None if board is None else board.find(identity)

    def alarms_version(self, present: int | None = None) -> tuple[int, int]:
        """Tells what `open_alarms` says from all that it has said before. Raises what that does."""
        board = self._look(present)
        return (0, 0) if board is None else board.version

    def _look(self, present: int | None) -> Board | None:
        plan, board = self.plan, self._outlet.board
        if plan.alarms and not plan.silent:
            raise MethodError("the plan has no desk: make it with `tidelog.compile(..., desk=True)`")
        if self._outlet.held is None:
            raise MethodError("the session does not keep what holds: make it with `Session(plan, held=True)`")
        if board is not None:
            board.look(self._intake.frontier, NEG if present is None else present)
        return board

    @property
    def memory(self) -> Memory:
        """The facts that the session remembers; MethodError where it remembers none."""
        if self._memory is None:
            raise MethodError(
                "the session remembers no facts: make it with `remember`, such as `Session(plan, remember=10_000)`"
            )
        return self._memory

    def _remembering(self, most: int) -> Memory:
        from tidelog.runtime.why.memory import Memory  # noqa: PLC0415 - only who asks for reasons loads what finds them

        alone = Settings(lateness=math.inf, max_state=self.settings.max_state)

        def replay(plan: Plan, facts: Sequence[Record], start: int | None, frontier: int) -> list[Record]:
            twin = Reasoner(plan, alone)
            twin.begin_at(start)
            twin.take(SOURCE, Batch(list(facts), watermark=None if frontier >= POS else frontier))
            if frontier >= POS:
                twin.end(SOURCE)
            return twin.pull_records()

        return Memory(self.plan, most, replay)

    def unfinished(self) -> list[str]:
        """After `finish`: what is recursive without an end, and was followed only as far as the stream went, or was to."""
        return self._network.graph.unfinished() + [line for inquiry in self._inquiries for line in inquiry.unfinished()]

    # --- state ----------------------------------------------------------------------------------------------------------

    def statistics(self) -> SessionStatistics:
        """An immutable record of what has been done and what is stored."""
        questions = {inquiry.question.name: inquiry.statistics() for inquiry in self._inquiries}
        steps = self._network.graph.statistics()
        sources = self.watermarks.statistics()
        return SessionStatistics(self._intake.statistics(), steps, self._outlet.violations, questions, sources)

    @property
    def intake(self) -> Intake:
        """Where facts enter; its statistics are there at once."""
        return self._intake

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain data (numbers, text, lists, dicts with text keys), fit for JSON or MessagePack.

        Pull the answers first: those not pulled are not part of it.
        """
        return seal({**self.state(), _COMPILED: b85encode(pack_plan(self.plan)).decode()})

    def state(self) -> dict[str, Any]:
        """The same without a checksum and without the plan, for who has one for what he stores, and has the plan."""
        return self._state_of(self._network.snapshot(), self._outlet.snapshot())

    def _state_of(self, network: dict[str, Any], outlet: dict[str, Any]) -> dict[str, Any]:
        return {
            **self._kind(),
            "version": STATE.version,
            "writer": written_by(),
            "intake": self._intake.snapshot(),
            "network": network,
            "outlet": outlet,
            "questions": [inquiry.snapshot() for inquiry in self._inquiries],
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot of the same program was taken, also by an older version of tidelog.

        Where that has made another plan of the program, the session goes on with the plan of the snapshot: nothing is lost.
        SnapshotError if it was another program or mode, or a newer version, or if the snapshot is damaged: the session is
        then as before.
        """
        content = unseal(data)
        packed = content.pop(_COMPILED, None)
        self.load(content, None if content.get("plan") == plan_digest(self.plan) else self._carried(packed))

    def _carried(self, packed: object) -> Plan | None:
        """The plan that a snapshot has, if this session can go on with it."""
        if not isinstance(packed, str):
            return None
        try:
            stored = unpack_plan(b85decode(packed), "the snapshot", self.plan)
        except (SpecError, ValueError) as error:
            raise SnapshotError(str(error)) from error
        return replace(stored, program=self.plan.program) if can_stand_in(stored, self.plan) else None

    def load(self, state: dict[str, Any], plan: Plan | None = None) -> None:
        """Continue where a `state` of the same plan was taken, or with this other plan of the same program, from its state;
        raises what `restore` does."""
        twin = Reasoner(plan or self.plan, self.settings)
        twin.begin_at(self._intake.given_start)
        twin.go_on_from(state)
        self.plan = twin.plan
        if twin._memory is not None:
            twin._memory.begin_anew(twin.frontier, twin._intake.accepted)
        self._intake, self._told = twin._intake, 0
        self.go_on_as(twin)

    def go_on_as(self, twin: Reasoner) -> None:
        """Go on with all that has followed in a twin, which is of no use any more; who listens to a step goes on listening.

        The intake stays: what the twin knows of sources and of time is the same.
        """
        twin._network.hear_as(self._network)
        self._network, self._outlet, self._bound, self._leaps = twin._network, twin._outlet, twin._bound, twin._leaps
        self._take_over(twin)

    def _take_over(self, twin: Reasoner) -> None:
        """Go on with what a twin has beside network and outlet."""
        self.begun_with = None
        self._inquiries, self._hypothetical, self._memory = twin._inquiries, twin._hypothetical, twin._memory
        self._bound.watch("answers", self._holdings)  # no longer those of the twin

    def come_up(self) -> None:
        """Let all be told that is known, as before a state is stored with those of others."""

    def check_whole(self) -> None:
        """SnapshotError where a part of it is gone, so that it has no state."""

    def close(self) -> None:
        """Nothing more is handed in or asked: let go what belongs to the session alone."""

    def go_on_from(self, state: dict[str, Any]) -> None:
        """What `load` does, for a session that is new: where this raises SnapshotError, it is of no use any more."""
        try:
            state = brought_up(STATE, state, state.get("version"), "the snapshot", str(state.get("writer", "")))
        except SpecError as error:
            raise SnapshotError(str(error)) from error
        if any(state.get(name) != value for name, value in self._kind().items()):
            other = "another program or mode, with other sources, or with other prospects"
            raise SnapshotError(f"the snapshot was taken from {other}")
        with taking():
            self._load(state)

    def _kind(self) -> dict[str, Any]:
        """What a session has to share with the one that a snapshot was taken from."""
        return {
            "plan": plan_digest(self.plan),
            "emit": self.settings.emit,
            "prospects": self.settings.prospects,
            "sources": list(self.settings.sources),
        }

    def _load(self, state: dict[str, Any]) -> None:
        self._intake.restore(state["intake"])
        self._outlet.restore(state["outlet"])
        self._network.restore(state["network"])  # it asks the outlet what is due
        for inquiry, saved in zip(self._inquiries, state["questions"], strict=True):
            inquiry.restore(saved)
        self._hypothetical.clear()

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _deliver(self, delivery: Delivery) -> None:
        outlet, bound = self._outlet, self._bound
        self.begun_with = None
        waiting = len(outlet.answers)
        if self._memory is not None:
            self._memory.take(delivery)
        try:
            if self._leaps is not None and delivery.frontier - self._network.watermark >= self._leaps.least:
                self._network = self._leaps.approach(self._network, delivery.frontier)
            self._network.deliver(delivery)
            told = len(outlet.answers) - waiting
            for inquiry in self._inquiries:
                known = inquiry.take(delivery)
                self._hypothetical += known
                told += len(known)
            if outlet.held is not None:
                outlet.forget(self._intake.frontier)
            bound.left -= told
            if bound.left < 0:
                bound.count()
        except (StateError, NoRoomError) as full:
            raise self._too_much(full) from None

    def _take_one(self, source: str, record: Record, moment: float = 0.0) -> bool:
        """Take a fact that comes by itself, by a short way; False, and nothing done, where something is to be found out.

        It goes straight to the units that it concerns, unless somebody wants to know more than what follows.
        """
        intake, network = self._intake, self._network
        is_followed = self._memory is not None or self._inquiries or self._outlet.held is not None
        leaps = self._leaps is not None and record[2] - network.watermark >= self._leaps.least
        if not (is_followed or leaps) and intake.start_told and network.takes_one:
            self.begun_with = None
            try:
                return network.take_one(intake, source, record, moment)
            except (StateError, NoRoomError) as full:
                raise self._too_much(full) from None
        is_taken = intake.take_one(source, record, moment) is not None
        if is_taken:
            self._deliver(intake.one(record))
        return is_taken

    def _too_much(self, full: StateError | NoRoomError) -> StateError:
        error = self._bound.too_many_answers(full) if isinstance(full, NoRoomError) else full
        error.accepted, error.told = self._intake.accepted, self._told
        return error

    def _holdings(self) -> Iterator[Holding]:
        """What waits to be told, and to be pulled."""
        for name, rows in self._outlet.entries():
            yield self._network.graph.answers_of(name, rows)
        waiting = len(self._outlet.answers) + len(self._hypothetical) + len(self._outlet.violated)
        yield Holding(waiting // ON_THE_WAY, lambda: ("answers that wait to be pulled", ""))
