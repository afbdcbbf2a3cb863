"""The online part: hypothetical answers, kept up to date as facts come and time passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.operators.ask.answers import Query
from tidelog.operators.ask.horizons import horizons, queries_of, retentions
from tidelog.operators.ask.lines import Lines
from tidelog.operators.ask.outlook import Outlook, columns_of
from tidelog.operators.ask.partials import Answer, Columns, Partial
from tidelog.operators.ask.patterns import Awaited, Binding, Pattern
from tidelog.operators.ask.saving import load_answer, save_answer
from tidelog.operators.ask.supports import hide_what_needs_more
from tidelog.operators.ask.waiting import Calendar, Relevant, WaitingFor
from tidelog.operators.sld.preconditions import Unfolding
from tidelog.plans.errors import DataError
from tidelog.plans.facts import Fact, Row
from tidelog.plans.questions import NEVER, GroundLiteral, HypotheticalAnswer, Question
from tidelog.plans.timeline import NEG, POS

MOST_OPEN = 1_000_000
"""The most partial answers that may be open at once."""


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

    def __init__(self, question: Question, unfolding: Unfolding) -> None:
        self.question, self.unfolding = question, unfolding
        far, kept = horizons(question, unfolding), retentions(question, unfolding)
        sources = queries_of(unfolding)
        asked = {name: (query, far[name]) for name, query in unfolding.auxiliary.items()}
        self._queries = {name: Query(query, name, question, asked) for name, query in sources.items()}
        self._spans = {name: max(far[name], kept[name]) for name in sources}
        self._main = self._queries[""]
        self._telling = Lines(question, unfolding)
        self._known = Outlook(self._queries)
        self._kept = {name: kept[name] for name in question.inputs}
        patterns = [pattern for query in self._queries.values() for pattern in query.patterns]
        self._relevant = Relevant(patterns)
        self._needs_start = any(pattern.asks_start for pattern in patterns)
        self._held: list[Mapping[str, Sequence[Fact]]] = []
        self._waiting, self._calendar = WaitingFor(), Calendar()
        self._changed: dict[Answer, None] = {}
        self._clock = NEG
        self._lines: list[HypotheticalAnswer] = []
        self._open = self._received = self._told = 0

    def receive(
        self, facts: Mapping[str, Sequence[Fact]], watermark: int, start: int | None = None
    ) -> list[HypotheticalAnswer]:
        """Take facts, by predicate, and a watermark behind them; returns what is to be told, in order.

        Facts are taken in the order of their times. `start` is the stream's start, once it is known. With the watermark
        `POS` the stream has ended, and all is decided. DataError where more partial answers are open than can be kept.
        """
        if start is not None:
            self._known.start = start
        if self._needs_start and self._known.start is None and watermark < POS:
            self._held.append({name: list(found) for name, found in facts.items()})
            return []
        for batch in (*self._held, facts):
            self._replay(batch, watermark)
        self._held.clear()
        self._pass(watermark)
        if watermark >= POS:
            self._end()
        lines, self._lines = self._lines, []
        self._told += len(lines)
        return lines

    def _replay(self, facts: Mapping[str, Sequence[Fact]], watermark: int) -> None:
        """Take the facts that can matter, time by time."""
        times: dict[int, list[tuple[str, Row]]] = {}
        for predicate in self._relevant.predicates():
            for row, lo, hi in self._relevant.select(predicate, facts.get(predicate, ())):
                for time in range(lo, hi + 1):
                    times.setdefault(time, []).append((predicate, row))
        for time in sorted(times):
            self._pass(min(time - 1, watermark))
            self._clock = max(self._clock, time)
            for predicate, row in times[time]:
                self._take(predicate, row, time)
            self._review(self._clock)

    # --- facts ----------------------------------------------------------------------------------------------------------

    def _take(self, predicate: str, row: Row, time: int) -> None:
        is_new, is_first = self._known.arrived.add(predicate, row, time)
        if not is_new:
            return
        self._received += 1
        if is_first and self._kept[predicate] < NEVER:
            self._calendar.add(time + self._kept[predicate], (predicate, time))
        for partial, i in self._waiting.met_by(predicate, row, time):
            if not partial.alive:
                continue
            if i < 0:
                self._drop(partial, partial.pattern.negated[-1 - i])
            else:
                self._advance(partial, i, row, time)
        for pattern, i in self._relevant.started_by(predicate, row):
            binding: Binding = [None] * len(pattern.names)
            if pattern.premises[i].unify(row, time, binding):
                self._add(pattern, binding, pattern.all & ~(1 << i), pattern.all_negated)

    def _advance(self, partial: Partial, i: int, row: Row, time: int) -> None:
        """What a partial answer waits for has come: it needs one less; where the fact gives it values, a new one does."""
        pattern, item = partial.pattern, partial.pattern.premises[i]
        if item.is_ground(partial.binding):
            self._waiting.remove((partial, i), item, partial.binding)
            partial.missing &= ~(1 << i)
            self._change(partial.answer)
            return
        binding = list(partial.binding)
        if item.unify(row, time, binding):
            self._add(pattern, binding, partial.missing & ~(1 << i), partial.pending)

    def _add(self, pattern: Pattern, binding: Binding, missing: int, pending: int) -> None:
        """A new partial answer, unless it cannot be one, or another one stands for it."""
        if not pattern.settle(binding, self._known.start) or not self._known.is_viable(pattern, binding, missing):
            return
        query, columns = self._queries[pattern.query], pattern.row(binding)
        answer = query.answers.get(columns) or Answer(pattern.query, columns)
        partial = Partial(pattern, binding, missing, pending, answer)
        if answer.certain or not self._decide_absences(partial):
            return
        if self._open >= MOST_OPEN:
            raise DataError(f"more than {MOST_OPEN:,} partial answers are open at once")
        self._open += 1
        query.keep(answer)
        answer.supports[partial] = None
        for i, item in pattern.missing(missing):
            self._waiting.add((partial, i), item, binding)
        self._schedule(partial)
        self._change(answer)

    # --- absences -------------------------------------------------------------------------------------------------------

    def _decide_absences(self, partial: Partial) -> bool:
        """Look up the negated premises that have all their values; False if one of them is there, so that it fails."""
        pattern, binding = partial.pattern, partial.binding
        waiting: list[tuple[int, Awaited]] = []
        for i, item in pattern.pending(partial.pending):
            if not item.is_ground(binding):
                continue
            is_there = self._is_there(item, binding)
            if is_there:
                return False
            if is_there is None:
                waiting.append((i, item))
            else:
                partial.pending &= ~(1 << i)
        for i, item in waiting:
            self._watch(partial, i, item)
        return True

    def _watch(self, partial: Partial, i: int, item: Awaited) -> None:
        """Let a partial answer be told when it is known whether a negated premise holds."""
        query = self._queries.get(item.premise.predicate)
        if query is None:
            self._waiting.add((partial, -1 - i), item, partial.binding)
        else:
            query.answers[columns_of(item, partial.binding)].watchers.append((partial, i))

    def _is_there(self, item: Awaited, binding: Binding) -> bool | None:
        """Whether what is negated holds; None while that is open."""
        query = self._queries.get(item.premise.predicate)
        if query is not None:
            return self._state_of(query, columns_of(item, binding))
        if self._known.has_come(item, binding):
            return True
        return False if item.fact(binding)[1] + item.delay <= self._known.watermark else None

    def _state_of(self, query: Query, columns: Columns) -> bool | None:
        """Whether an auxiliary query holds; None while that is open, and then it is looked at again in time."""
        answer = query.answers.get(columns) or Answer(query.name, columns)
        query.keep(answer)
        if not answer.is_asked:
            answer.is_asked = True
            for pattern in query.patterns:
                binding = None if pattern.premises else pattern.binding_of(columns)
                if binding is not None:
                    self._add(pattern, binding, 0, pattern.all_negated)
        if answer.certain or any(partial.is_complete for partial in answer.supports):
            return True
        if answer.supports:
            return None
        first, _ = self._known.prospect(answer)
        if first is None:
            if not answer.is_awaited:
                query.remove(answer)
            return False
        self._calendar_add(first, answer)
        return None

    def _calendar_add(self, time: int, item: object) -> None:
        if time < NEVER:
            self._calendar.add(max(time, self._known.watermark + 1), item)

    # --- time -----------------------------------------------------------------------------------------------------------

    def _schedule(self, partial: Partial) -> None:
        """Look at a partial answer again when the first of what it needs is decided."""
        first = partial.first_deadline()
        for _, item in partial.pattern.pending(partial.pending):
            if item.premise.predicate not in self._queries and item.is_ground(partial.binding):
                first = min(first, partial.pattern.deadline(item, partial.binding))
        self._calendar_add(first, partial)

    def _pass(self, watermark: int) -> None:
        """Let time pass: decide what can no longer come, time by time."""
        if watermark <= self._known.watermark:
            return
        for time, items in self._calendar.due(watermark):
            self._known.watermark = max(self._known.watermark, time)
            for item in items:
                if isinstance(item, Partial):
                    self._expire(item)
                elif isinstance(item, Answer):
                    self._look_again(item)
                else:
                    self._known.arrived.forget(*item)
            self._review(max(self._clock, time))
        self._known.watermark = watermark

    def _look_again(self, answer: Answer) -> None:
        if answer.certain:
            self._queries[answer.query].remove(answer)
        else:
            self._change(answer)

    def _expire(self, partial: Partial) -> None:
        """Drop a partial answer if something that it needs can no longer come; settle what can no longer hinder it."""
        if not partial.alive:
            return
        pattern, binding, watermark = partial.pattern, partial.binding, self._known.watermark
        for _, item in pattern.missing(partial.missing):
            if pattern.deadline(item, binding) <= watermark:
                self._drop(partial, item)
                return
            if pattern.is_connected:
                break  # the others come later
        for i, item in pattern.pending(partial.pending):
            if item.premise.predicate in self._queries or not item.is_ground(binding):
                continue
            if pattern.deadline(item, binding) <= watermark:
                self._waiting.remove((partial, -1 - i), item, binding)
                partial.pending &= ~(1 << i)
                self._change(partial.answer)
        if watermark < POS:
            self._schedule(partial)

    def _end(self) -> None:
        """The stream has ended: what nothing bounded is decided, too."""
        for query in self._queries.values():
            for answer in list(query.answers.values()):
                for partial in list(answer.supports):
                    self._expire(partial)
                self._change(answer)
        self._review(self._clock)

    def _drop(self, partial: Partial, failed: Awaited | None = None) -> None:
        """A partial answer is none any more, because of a premise, or because its answer has been decided."""
        pattern, binding, answer = partial.pattern, partial.binding, partial.answer
        partial.alive = False
        self._open -= 1
        del answer.supports[partial]
        for i, item in pattern.missing(partial.missing):
            self._waiting.remove((partial, i), item, binding)
        for i, item in pattern.pending(partial.pending):
            if item.premise.predicate not in self._queries and item.is_ground(binding):
                self._waiting.remove((partial, -1 - i), item, binding)
        if failed is not None:
            if answer.told:
                answer.proofs = [self._telling.evidence(partial)]
            answer.failed = failed.literal(binding, pattern.names)
            self._change(answer, is_new=answer.has_hidden)

    # --- answers --------------------------------------------------------------------------------------------------------

    def _change(self, answer: Answer, is_new: bool = True) -> None:
        """Look at an answer in the next review; `is_new` where its supports are to be compared again."""
        self._changed[answer] = None
        answer.is_new |= is_new

    def _review(self, at: int) -> None:
        """Say what has become of the answers that have changed; those on which it bears may change in turn."""
        first = len(self._lines)
        while self._changed:
            changed, self._changed = self._changed, {}
            for answer in changed:
                self._review_one(answer, at)
        if len(self._lines) > first + 1:
            self._lines[first:] = sorted(self._lines[first:], key=self._telling.time)

    def _review_one(self, answer: Answer, at: int) -> None:
        query = self._queries[answer.query]
        if answer.certain or query.answers.get(answer.columns) is not answer:
            return
        complete = [partial for partial in answer.supports if partial.is_complete]
        if complete:
            self._make_certain(answer, complete, at)
        elif answer.supports:
            if query.is_main:
                self._tell_possible(answer, at)
        else:
            self._review_unsupported(query, answer, at)

    def _review_unsupported(self, query: Query, answer: Answer, at: int) -> None:
        dependents, answer.dependents = answer.dependents, {}
        self._changed |= dependents
        first, failed = self._known.prospect(answer)
        if first is None:
            self._reject(answer, answer.failed or failed, at)
        elif answer.is_awaited:
            answer.failed = None  # it is something else that decides
            self._calendar_add(first, answer)
        else:
            query.remove(answer)

    def _make_certain(self, answer: Answer, complete: list[Partial], at: int) -> None:
        hide_what_needs_more(complete, ())
        minimal = [partial for partial in complete if not partial.hidden]
        answer.certain = True
        answer.proofs = [self._telling.evidence(partial) for partial in minimal]
        if self._queries[answer.query].is_main:
            self._fill(answer)
            self._lines.append(self._telling.certain(answer, answer.proofs[0], at))
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

    def _reject(self, answer: Answer, failed: GroundLiteral | None, at: int) -> None:
        """Nothing can make it an answer any more."""
        if answer.told and not answer.filled:
            answer.failed = failed
            self._lines.append(self._telling.rejected(answer, at))
        for partial, i in answer.watchers:
            if partial.alive and partial.pending >> i & 1:
                partial.pending &= ~(1 << i)
                self._change(partial.answer)
        self._queries[answer.query].remove(answer)

    def _tell_possible(self, answer: Answer, at: int) -> None:
        if not answer.is_new:
            return
        answer.is_new = False
        partials = list(answer.supports)
        if len(partials) > 1 or partials[0].hidden or partials[0].pattern.rivals:
            hide_what_needs_more(partials, self._known.unsupported(answer))
            answer.has_hidden = any(partial.hidden for partial in partials)
        deadline: int | None = None
        for partial in partials:
            state = (partial.missing, partial.pending)
            if not partial.hidden and partial.told != state and not self._is_due(partial):
                partial.told = state
                answer.told = True
                self._fill(answer)
                deadline = self._known.deadline(answer) if deadline is None else deadline
                self._lines.append(self._telling.possible(answer, partial, at, deadline))

    def _fill(self, answer: Answer) -> None:
        """Lines are told of it: from now on they stand for those with open columns that it came from."""
        for general in self._main.covering(answer.columns):
            general.filled = True

    def _is_due(self, partial: Partial) -> bool:
        """Whether something that it needs is decided by the time point at which facts are coming in.

        Hypotheses lie in the future (Definition 1): until the facts of this time point are complete, nothing is told of it.
        """
        limit = min(self._clock, self._known.watermark + 1)
        if partial.first_deadline() <= limit:
            return True
        pattern, binding = partial.pattern, partial.binding
        pending = pattern.pending(partial.pending)
        return any(item.is_ground(binding) and pattern.deadline(item, binding) <= limit for _, item in pending)

    # --- for the caller -------------------------------------------------------------------------------------------------

    def supported(self) -> list[HypotheticalAnswer]:
        """The supported answers at this moment: 𝓔(Q, D, τ), but for certain answers that nobody can ask for any more."""
        found: list[HypotheticalAnswer] = []
        for answer in self._main.answers.values():
            if answer.certain:
                found += [self._telling.certain(answer, proof, self._clock) for proof in answer.proofs]
                continue
            partials = list(answer.supports)
            hide_what_needs_more(partials, self._known.unsupported(answer))
            deadline = self._known.deadline(answer) if partials else NEVER
            shown = [partial for partial in partials if not partial.hidden]
            found += [self._telling.possible(answer, partial, self._clock, deadline) for partial in shown]
        return found

    def schemata(self) -> list[HypotheticalAnswer]:
        """The hypothetical answers for which nothing speaks yet, as schemata: every instance in the future is one."""
        found = []
        for pattern in self._main.patterns:
            nothing: Binding = [None] * len(pattern.names)
            blank = Partial(pattern, nothing, pattern.all, pattern.all_negated, Answer("", pattern.row(nothing)))
            found.append(self._telling.schema(blank, self._clock))
        return found

    def statistics(self) -> AskerStatistics:
        """An immutable record of what has been done and what is stored."""
        answers = sum(len(query.answers) for query in self._queries.values())
        return AskerStatistics(self._received, self._told, self._open, self._known.arrived.entries(), answers)

    def snapshot(self) -> dict[str, Any]:
        """The whole state, between two calls of `receive`, as plain data."""
        return {
            "watermark": self._known.watermark,
            "clock": self._clock,
            "start": self._known.start,
            "counters": [self._received, self._told],
            "held": [
                {name: [[list(row), lo, hi] for row, lo, hi in facts] for name, facts in batch.items()}
                for batch in self._held
            ],
            "arrived": self._known.arrived.snapshot(),
            "answers": [save_answer(answer) for query in self._queries.values() for answer in query.answers.values()],
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Continue where a snapshot was taken."""
        self.__init__(self.question, self.unfolding)  # type: ignore[misc] # all state is replaced
        self._known.watermark, self._clock, self._known.start = data["watermark"], data["clock"], data["start"]
        self._received, self._told = data["counters"]
        self._held = [
            {name: [(tuple(row), lo, hi) for row, lo, hi in facts] for name, facts in batch.items()}
            for batch in data["held"]
        ]
        for predicate, time in self._known.arrived.restore(data["arrived"]):
            if self._kept[predicate] < NEVER:
                self._calendar_add(time + self._kept[predicate], (predicate, time))
        loaded = [load_answer(item, self._queries) for item in data["answers"]]
        for answer in loaded:
            self._queries[answer.query].keep(answer)
        for answer in loaded:
            self._resume(answer)
        self._review(self._clock)

    def _resume(self, answer: Answer) -> None:
        """Let an answer and its partial answers wait again for what they waited for."""
        if answer.certain:
            self._keep_certain(answer)
        elif not answer.supports:
            self._change(answer)
        for partial in answer.supports:
            self._open += 1
            pattern, binding = partial.pattern, partial.binding
            for i, item in pattern.missing(partial.missing):
                self._waiting.add((partial, i), item, binding)
            for i, item in pattern.pending(partial.pending):
                if item.is_ground(binding):
                    self._watch(partial, i, item)
            self._schedule(partial)
