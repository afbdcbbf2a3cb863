"""The online part: hypothetical answers, kept up to date as facts come and time passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.operators.ask.pending.answers import Query
from tidelog.operators.ask.pending.saving import load_answers, load_batches, save_answers, save_batches
from tidelog.operators.ask.pending.waiting import Reminder
from tidelog.operators.ask.premises.awaited import Awaited, Binding
from tidelog.operators.ask.premises.partials import Answer, Partial
from tidelog.operators.ask.supports.supports import Comparison
from tidelog.operators.ask.telling.lines import Proof
from tidelog.operators.ask.telling.teller import Teller
from tidelog.operators.ask.telling.telling import Telling
from tidelog.operators.stores.room import NoRoomError
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


class Asker(Teller):
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
        super().__init__(question, unfolding, lateness, Telling() if telling is None else telling)
        self._held: list[tuple[list[Record], int]] = []
        self._told = 0
        self._mark = 0  # the lines from here on are told together, so in an order of their own

    def receive(self, records: Iterable[Record], watermark: int, start: int | None = None) -> list[HypotheticalAnswer]:
        """Take facts in the order of their arrival, and a watermark behind them; returns what is to be told, in order.

        What is told does not depend on how facts were batched: each moves the watermark up to its begin less the lateness,
        but never beyond the one given. Facts of inputs that the question does not read tell the time alone. `start` is the
        stream's start, once it is known. With the watermark `POS` the stream has ended, and all is decided. NoRoomError
        where there is too little room for what it has to keep, or to tell.
        """
        self._most_open = self._open + self.room.rows
        if start is not None:
            self._known.start = start
        if self._needs_start and self._known.start is None and watermark < POS:
            self._held.append((list(records), watermark))
            return []
        for batch, reached in (*self._held, (records, watermark)):
            self._replay(batch, reached)
            self._pass(reached)
        self._held.clear()
        if watermark >= POS:
            self._end()
        lines, self._lines = self._lines, []
        self._told += len(lines)
        return lines

    def _replay(self, records: Iterable[Record], watermark: int) -> None:
        """Take the facts one by one, each with all of its time points."""
        concerns, known = self._concerns, self._known
        clock, behind = known.clock, self._lateness + 1
        most = known.arrived.entries() + self.room.rows
        for predicate, row, lo, hi in records:
            if lo > clock:
                self._pass(min(lo - behind, watermark))
                clock = known.clock = self._at = lo
            test = concerns.get(predicate)
            if test is not None and test(row):
                self._take(predicate, row, range(lo, hi + 1))
                if known.arrived.entries() > most:
                    raise NoRoomError(known.arrived.entries())
                if self._changed:
                    self._mark = len(self._lines)
                    self._review()

    # --- time -----------------------------------------------------------------------------------------------------------

    def _pass(self, watermark: int) -> None:
        """Let time pass: decide what can no longer come, time by time."""
        if watermark <= self._known.watermark:
            return
        for time, items in self._calendar.due(watermark):
            self._known.watermark = max(self._known.watermark, time)
            self._at = max(self._known.clock, time + self._lateness)
            self._mark = len(self._lines)
            for item in items:
                self._fall_due(item)
            self._review()
        self._known.watermark = watermark

    def _end(self) -> None:
        """The stream has ended: what nothing bounded is decided, too."""
        self._mark = len(self._lines)
        for query in self._queries.values():
            for answer in list(query.answers.values()):
                for partial in list(answer.supports):
                    self._expire(partial)
                self._change(answer)
        self._review()

    # --- answers --------------------------------------------------------------------------------------------------------

    def _tell_failed(self, partial: Partial, failed: Awaited, time: int | None) -> None:
        """Remember what speaks against an answer last, and for it; an answer with open columns ends evidence by evidence."""
        answer = partial.answer
        literal = failed.literal(partial.binding, partial.pattern.names, time)
        is_last = any(thread.alive == 1 and thread.told and not thread.filled for thread in partial.threads)
        if not answer.is_open:
            self._note_failed(answer, literal, self._telling.evidence(partial) if answer.told else ())
            answer.lost = literal if is_last else answer.lost
        elif is_last:
            answer.proofs, answer.failed = [self._telling.evidence(partial)], literal
            self._lines.append(self._telling.rejected(answer, self._at))

    def _tell_failed_for(self, answer: Answer, partial: Partial, failed: Awaited) -> None:
        """So for an answer that one with open columns might have become."""
        binding = partial.pattern.binding_of(answer.columns, partial.binding)
        if binding is not None:
            self._note_failed(answer, failed.literal(binding, partial.pattern.names), self._telling.evidence(partial))

    def _note_failed(self, answer: Answer, literal: GroundLiteral, evidence: Proof) -> None:
        if answer.certain:
            return  # what speaks for it stays as it was told
        if not answer.told:
            answer.failed = literal
            return
        rank = self._at, len(evidence)
        if answer.failed is not None and rank < answer.rank:
            return
        if answer.failed is not None and rank == answer.rank and not _is_behind(literal, evidence, answer):
            return
        answer.proofs, answer.failed, answer.rank = [evidence], literal, rank

    def _review(self) -> None:
        """Say what has become of the answers that have changed; those on which it bears may change in turn.

        What is negated is decided first, so that nothing is told that the same moment refutes.
        """
        while self._changed:
            some = [answer for answer in self._changed if answer.query] or list(self._changed)
            for answer in some:
                del self._changed[answer]
            for answer in some:
                self._review_one(answer)
        if len(self._lines) > self._mark:
            lines = self._telling.in_order(self._lines[self._mark :])
            self._lines[self._mark :] = self._situations.choose(lines, self._line_of)
        self._mark = len(self._lines)
        self._reminded.clear()
        if self._mark > self.room.rows:
            raise NoRoomError(self._mark)

    def _review_one(self, answer: Answer) -> None:
        query = self._queries[answer.query]
        if answer.certain or query.answers.get(answer.columns) is not answer:
            return
        ways = answer.supports if answer.is_open or query.is_main else (*answer.supports, *self._known.general(answer))
        complete = [partial for partial in ways if partial.is_complete]
        by_cases = query.has_cases and query.has_ways and not complete and not answer.is_open
        deciding = self._cases.deciding(answer) if by_cases else None
        if complete and answer.is_open:
            self._keep_certain(answer)
            for covered in query.covered_by(answer):
                self._change(covered)
        elif complete:
            compared = Comparison()
            compared.update(complete, ())
            minimal = [partial for partial in complete if partial not in compared.hidden]
            self._make_certain(answer, complete, [self._telling.evidence(partial) for partial in minimal])
        elif deciding:
            self._make_certain(answer, deciding, [self._telling.joint(deciding)])
        elif answer.supports:
            if query.is_main:
                self._tell_possible(answer)
        else:
            self._review_unsupported(query, answer)

    def _review_unsupported(self, query: Query, answer: Answer) -> None:
        if answer.is_open:  # each of its supports has had an end of its own
            query.remove(answer)
            return
        first, failed = self._known.prospect(answer)
        if first is None:
            is_now = answer.rank[:1] == (self._at,)  # otherwise it was something else that decided
            self._reject(answer, answer.failed if is_now else failed or answer.failed)
        elif answer.is_awaited:
            self._await(answer, first)
        else:
            query.remove(answer)

    def _make_certain(self, answer: Answer, by: list[Partial], proofs: list[Proof]) -> None:
        answer.certain = True
        answer.proofs = sorted(proofs, key=str)
        self._changed |= answer.dependents
        if self._queries[answer.query].is_main:
            for partial in by:
                partial.fill()
            self._lines.append(self._telling.certain(answer, answer.proofs[0], self._at))
        for partial in list(answer.supports):
            self._drop(partial)
        for partial, i in answer.watchers:
            if partial.alive and partial.pending >> i & 1:
                self._drop(partial, partial.pattern.negated[i])
        answer.watchers.clear()
        self._keep_certain(answer)

    def _keep_certain(self, answer: Answer) -> None:
        """Keep what is certain as long as more facts may come for it, or somebody may ask."""
        span = self._spans[answer.query]
        if answer.time < NEVER and span < NEVER:
            self._calendar_add(answer.time + span, answer)

    def _reject(self, answer: Answer, failed: GroundLiteral | None) -> None:
        """Nothing can make it an answer any more."""
        if answer.told:
            answer.failed = failed
            self._lines.append(self._telling.rejected(answer, self._at))
        for partial, i in answer.watchers:
            if partial.alive and partial.pending >> i & 1:
                partial.pending &= ~(1 << i)
                self._change(partial.answer, partial)
        self._queries[answer.query].remove(answer)

    # --- for the caller -------------------------------------------------------------------------------------------------

    def supported(self) -> list[HypotheticalAnswer]:
        """The supported answers at this moment: 𝓔(Q, D, τ), but for certain answers that nobody can ask for any more."""
        found: list[HypotheticalAnswer] = []
        for answer in self._main.answers.values():
            if answer.certain:
                found += [self._telling.certain(answer, proof, self._known.clock) for proof in answer.proofs]
                continue
            compared = Comparison()
            compared.update(answer.supports, self._beside(answer))
            minimal = [partial for partial in answer.supports if partial not in compared.hidden]
            for partial in (partial for partial in minimal if self._is_meant(partial, self._known.passed)):
                deadline = self._known.deadline(answer, partial)
                clock = self._known.clock
                found.append(self._telling.possible(answer, [partial], clock, deadline))
        return found

    @property
    def received(self) -> int:
        """How many relevant facts have come, each counted at each of its time points."""
        return self._received

    @property
    def deadline(self) -> int:
        """The least watermark at which there may be something to tell, or to forget, though no fact comes; POS for none."""
        return self._calendar.next

    def schemata(self) -> list[HypotheticalAnswer]:
        """The hypothetical answers for which nothing speaks yet, as schemata: every instance in the future is one."""
        found = []
        for pattern in self._main.patterns:
            nothing: Binding = [None] * len(pattern.names)
            blank = Partial(pattern, nothing, pattern.all, pattern.all_negated, Answer("", pattern.row(nothing)))
            found.append(self._telling.schema(blank, self._known.clock))
        return found

    def statistics(self) -> AskerStatistics:
        """An immutable record of what has been done and what is stored."""
        answers = sum(len(query.answers) for query in self._queries.values())
        return AskerStatistics(self._received, self._told, self._open, self._known.arrived.entries(), answers)

    def snapshot(self) -> dict[str, Any]:
        """The whole state, between two calls of `receive`, as plain data."""
        return {
            "watermark": self._known.watermark,
            "clock": self._known.clock,
            "at": self._at,
            "start": self._known.start,
            "counters": [self._received, self._told],
            "situations": self._situations.snapshot(),
            "held": save_batches(self._held),
            "arrived": self._known.arrived.snapshot(),
            "answers": save_answers(query.answers.values() for query in self._queries.values()),
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Continue where a snapshot was taken, before anything has come."""
        self._known.watermark, self._known.clock, self._known.start = data["watermark"], data["clock"], data["start"]
        self._at = data.get("at", data["clock"])  # older snapshots lack it
        self._received, self._told = data["counters"]
        self._held = load_batches(data["held"])
        self._situations.restore(data["situations"])
        for predicate, time in self._known.arrived.restore(data["arrived"]):
            if self._kept[predicate] < NEVER:
                self._forget_at(predicate, time)
        loaded = load_answers(data["answers"], self._queries)
        for answer in loaded:
            self._queries[answer.query].keep(answer)
        for answer in loaded:
            self._resume(answer)
        self._review()

    def _resume(self, answer: Answer) -> None:
        """Let an answer and its partial answers wait again for what they waited for."""
        if answer.certain:
            self._keep_certain(answer)
        elif not answer.supports:
            self._change(answer)
        elif answer.told and self._choice.warn is not None:
            self._calendar_add(self._known.watermark + 1, Reminder(answer))
        for partial in answer.supports:
            if self._choice.count_absences and partial.told is None:
                self._change(answer, partial)
            self._open += 1
            self._wait(partial)
            for i, item in partial.pattern.pending(partial.pending):
                if partial.watched >> i & 1:
                    self._watch(partial, i, item)
            self._schedule(partial)


def _is_behind(failed: GroundLiteral, evidence: Proof, answer: Answer) -> bool:
    """Of what failed at one moment and had as much evidence, the last one is told, as they are written."""
    known = str(answer.failed), *(str(literal) for proof in answer.proofs[:1] for literal in proof)
    return (str(failed), *map(str, evidence)) > known
