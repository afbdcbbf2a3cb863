"""The online part: hypothetical answers, kept up to date as facts come and time passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.operators.ask.pending.answers import Query
from tidelog.operators.ask.pending.board import Board
from tidelog.operators.ask.pending.saving import load_answers, load_batches, save_answers, save_batches
from tidelog.operators.ask.pending.waiting import Reminder
from tidelog.operators.ask.premises.awaited import Binding
from tidelog.operators.ask.premises.partials import Answer, Partial
from tidelog.operators.ask.supports.supports import Comparison
from tidelog.operators.ask.telling.lines import Proof
from tidelog.operators.ask.telling.teller import Teller
from tidelog.operators.ask.telling.telling import Telling
from tidelog.operators.stores.room import NoRoomError, Room
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.preconditions import Unfolding
from tidelog.plans.plan.questions import NEVER, GroundLiteral, HypotheticalAnswer, Question


@dataclass(frozen=True, slots=True)
class AskerStatistics:
    """What has been done and what is stored: relevant facts received, lines told, open partial answers, facts and answers
    kept."""

    received: int
    told: int
    open: int
    facts: int
    answers: int


class Asker:
    """Keeps the supported answers 𝓔(Q, D, τ) of a query as facts come (Cruz-Filipe, Gaspar and Nunes 2020, Proposition 11).

    A fact advances those partial answers that wait for it at its time and with its row, and starts new ones. When the
    watermark has reached the time of a premise (and its input's delay), the premise has come or never will. Negation is
    decided by auxiliary queries (section 6), which are kept the same way: an absence is certain as soon as nothing that can
    still come makes the negated query true. State: the open partial answers; the facts and the certain answers that
    somebody may still ask for.

    Unlike step 3 of the paper's algorithm, an absence does not count as certain while the auxiliary query lacks evidence
    alone: facts of the future may still make it true.
    """

    def __init__(self, question: Question, unfolding: Unfolding, lateness: int = 0, telling: Telling | None = None) -> None:
        self.question, self.unfolding = question, unfolding
        self.room = Room()
        self._board = Board(question, unfolding)
        self._teller = Teller(question, unfolding, lateness, Telling() if telling is None else telling, self._board)
        self._board.outcome = self._teller
        self._known, self._lateness = self._board.known, lateness
        self._main = self._board.queries[""]
        self._held: list[tuple[list[Record], int]] = []
        self._told = 0

    def receive(self, records: Iterable[Record], watermark: int, start: int | None = None) -> list[HypotheticalAnswer]:
        """Take facts in the order of their arrival, and a watermark behind them; returns what is to be told, in order.

        What is told does not depend on how facts were batched: each moves the watermark up to its begin less the lateness,
        but never beyond the one given. Facts of inputs that the question does not read tell the time alone. `start` is the
        stream's start, once it is known. With the watermark `POS` the stream has ended, and all is decided. NoRoomError
        where there is too little room for what it has to keep, or to tell.
        """
        self._board.most_open = self._board.open + self.room.rows
        if start is not None:
            self._known.start = start
        if self._board.needs_start and self._known.start is None and watermark < POS:
            self._held.append((list(records), watermark))
            return []
        for batch, reached in (*self._held, (records, watermark)):
            self._replay(batch, reached)
            self._pass(reached)
        self._held.clear()
        if watermark >= POS:
            self._end()
        lines = self._teller.pull()
        self._told += len(lines)
        return lines

    def _replay(self, records: Iterable[Record], watermark: int) -> None:
        """Take the facts one by one, each with all of its time points."""
        board, teller, known = self._board, self._teller, self._known
        concerns = board.concerns
        clock, behind = known.clock, self._lateness + 1
        most = known.arrived.entries() + self.room.rows
        for predicate, row, lo, hi in records:
            if lo > clock:
                self._pass(min(lo - behind, watermark))
                clock = known.clock = teller.at = lo
            test = concerns.get(predicate)
            if test is not None and test(row):
                board.take(predicate, row, range(lo, hi + 1))
                if known.arrived.entries() > most:
                    raise NoRoomError(known.arrived.entries())
                if board.changed:
                    teller.mark = len(teller.lines)  # what the fact itself has told comes first
                    self._review()

    # --- time -----------------------------------------------------------------------------------------------------------

    def _pass(self, watermark: int) -> None:
        """Let time pass: decide what can no longer come, time by time."""
        if watermark <= self._known.watermark:
            return
        board, known = self._board, self._known
        for time, items in board.calendar.due(watermark):
            known.watermark = max(known.watermark, time)
            self._teller.at = max(known.clock, time + self._lateness)
            for item in items:
                board.fall_due(item)
            self._review()
        self._known.watermark = watermark

    def _end(self) -> None:
        """The stream has ended: what nothing bounded is decided, too."""
        for query in self._board.queries.values():
            for answer in list(query.answers.values()):
                for partial in list(answer.supports):
                    self._board.expire(partial)
                self._board.change(answer)
        self._review()

    # --- answers --------------------------------------------------------------------------------------------------------

    def _review(self) -> None:
        """Say what has become of the answers that have changed; those on which it bears may change in turn.

        What is negated is decided first, so that nothing is told that the same moment refutes.
        """
        changed = self._board.changed
        while changed:
            some = [answer for answer in changed if answer.query] or list(changed)
            for answer in some:
                del changed[answer]
            for answer in some:
                self._review_one(answer)
        waiting = self._teller.put_in_order()
        if waiting > self.room.rows:
            raise NoRoomError(waiting)

    def _review_one(self, answer: Answer) -> None:
        query = self._board.queries[answer.query]
        if answer.certain or query.answers.get(answer.columns) is not answer:
            return
        ways = answer.supports if answer.is_open or query.is_main else (*answer.supports, *self._known.general(answer))
        complete = [partial for partial in ways if partial.is_complete]
        by_cases = query.has_cases and query.has_ways and not complete and not answer.is_open
        deciding = self._board.cases.deciding(answer) if by_cases else None
        if complete and answer.is_open:
            self._keep_certain(answer)
            for covered in query.covered_by(answer):
                self._board.change(covered)
        elif complete:
            compared = Comparison()
            compared.update(complete, ())
            minimal = [partial for partial in complete if partial not in compared.hidden]
            self._make_certain(answer, complete, [self._teller.texts.evidence(partial) for partial in minimal])
        elif deciding:
            self._make_certain(answer, deciding, [self._teller.texts.joint(deciding)])
        elif answer.supports:
            if query.is_main:
                self._teller.tell_possible(answer)
        else:
            self._review_unsupported(query, answer)

    def _review_unsupported(self, query: Query, answer: Answer) -> None:
        if answer.is_open:  # each of its supports has had an end of its own
            query.remove(answer)
            return
        first, failed = self._known.prospect(answer)
        if first is None:
            is_now = answer.rank[:1] == (self._teller.at,)  # otherwise it was something else that decided
            self._reject(answer, answer.failed if is_now else failed or answer.failed)
        elif answer.is_awaited:
            self._board.wait_until(answer, first)
        else:
            query.remove(answer)

    def _make_certain(self, answer: Answer, by: list[Partial], proofs: list[Proof]) -> None:
        answer.certain = True
        answer.proofs = sorted(proofs, key=str)
        self._board.changed |= answer.dependents
        if self._board.queries[answer.query].is_main:
            for partial in by:
                partial.fill()
            self._teller.lines.append(self._teller.texts.certain(answer, answer.proofs[0], self._teller.at))
        for partial in list(answer.supports):
            self._board.drop(partial)
        for partial, i in answer.watchers:
            if partial.alive and partial.pending >> i & 1:
                self._board.drop(partial, partial.pattern.negated[i])
        answer.watchers.clear()
        self._keep_certain(answer)

    def _keep_certain(self, answer: Answer) -> None:
        """Keep what is certain as long as more facts may come for it, or somebody may ask."""
        span = self._board.spans[answer.query]
        if answer.time < NEVER and span < NEVER:
            self._board.look_at(answer.time + span, answer)

    def _reject(self, answer: Answer, failed: GroundLiteral | None) -> None:
        """Nothing can make it an answer any more."""
        if answer.told:
            answer.failed = failed
            self._teller.lines.append(self._teller.texts.rejected(answer, self._teller.at))
        for partial, i in answer.watchers:
            if partial.alive and partial.pending >> i & 1:
                partial.pending &= ~(1 << i)
                self._board.change(partial.answer, partial)
        self._board.queries[answer.query].remove(answer)

    # --- for the caller -------------------------------------------------------------------------------------------------

    def supported(self) -> list[HypotheticalAnswer]:
        """The supported answers at this moment: 𝓔(Q, D, τ), but for certain answers that nobody can ask for any more."""
        found: list[HypotheticalAnswer] = []
        for answer in self._main.answers.values():
            if answer.certain:
                found += [self._teller.texts.certain(answer, proof, self._known.clock) for proof in answer.proofs]
                continue
            compared = Comparison()
            compared.update(answer.supports, self._teller.beside(answer))
            minimal = [partial for partial in answer.supports if partial not in compared.hidden]
            for partial in (partial for partial in minimal if self._teller.is_meant(partial, self._known.passed)):
                deadline = self._known.deadline(answer, partial)
                clock = self._known.clock
                found.append(self._teller.texts.possible(answer, [partial], clock, deadline))
        return found

    @property
    def received(self) -> int:
        """How many relevant facts have come, each counted at each of its time points."""
        return self._board.received

    @property
    def deadline(self) -> int:
        """The least watermark at which there may be something to tell, or to forget, though no fact comes; POS for none."""
        return self._board.calendar.next

    def schemata(self) -> list[HypotheticalAnswer]:
        """The hypothetical answers for which nothing speaks yet, as schemata: every instance in the future is one."""
        found = []
        for pattern in self._main.patterns:
            nothing: Binding = [None] * len(pattern.names)
            blank = Partial(pattern, nothing, pattern.all, pattern.all_negated, Answer("", pattern.row(nothing)))
            found.append(self._teller.texts.schema(blank, self._known.clock))
        return found

    def statistics(self) -> AskerStatistics:
        """An immutable record of what has been done and what is stored."""
        answers = sum(len(query.answers) for query in self._board.queries.values())
        return AskerStatistics(self._board.received, self._told, self._board.open, self._known.arrived.entries(), answers)

    def snapshot(self) -> dict[str, Any]:
        """The whole state, between two calls of `receive`, as plain data."""
        return {
            "watermark": self._known.watermark,
            "clock": self._known.clock,
            "at": self._teller.at,
            "start": self._known.start,
            "counters": [self._board.received, self._told],
            "situations": self._teller.situations.snapshot(),
            "held": save_batches(self._held),
            "arrived": self._known.arrived.snapshot(),
            "answers": save_answers(query.answers.values() for query in self._board.queries.values()),
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Continue where a snapshot was taken, before anything has come."""
        self._known.watermark, self._known.clock, self._known.start = data["watermark"], data["clock"], data["start"]
        self._teller.at = data.get("at", data["clock"])  # older snapshots lack it
        self._board.received, self._told = data["counters"]
        self._held = load_batches(data["held"])
        self._teller.situations.restore(data["situations"])
        self._board.restore_facts(data["arrived"])
        loaded = load_answers(data["answers"], self._board.queries)
        for answer in loaded:
            self._board.queries[answer.query].keep(answer)
        for answer in loaded:
            self._resume(answer)
        self._review()

    def _resume(self, answer: Answer) -> None:
        """Let an answer and its partial answers wait again for what they waited for."""
        if answer.certain:
            self._keep_certain(answer)
        elif not answer.supports:
            self._board.change(answer)
        elif answer.told and self._teller.choice.warn is not None:
            self._board.look_at(self._known.watermark + 1, Reminder(answer))
        for partial in answer.supports:
            if self._teller.choice.count_absences and partial.told is None:
                self._board.change(answer, partial)
            self._board.resume(partial)
