"""Partial answers on their way: begun and advanced by facts, ended by time, with what they wait for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from tidelog.operators.ask.pending.answers import Query, mark_cases
from tidelog.operators.ask.pending.completions import Completions
from tidelog.operators.ask.pending.horizons import horizons, queries_of, retentions
from tidelog.operators.ask.pending.outlook import Outlook, columns_of
from tidelog.operators.ask.pending.waiting import (
    Calendar,
    Concern,
    Dormant,
    Forgetting,
    Refusal,
    Relevant,
    Reminder,
    WaitingFor,
)
from tidelog.operators.ask.premises.awaited import Awaited, Binding
from tidelog.operators.ask.premises.partials import Answer, Columns, Partial, Thread
from tidelog.operators.ask.premises.patterns import MOST_TIMES, Pattern
from tidelog.operators.ask.premises.runs import goes_on
from tidelog.operators.ask.premises.spells import Spells
from tidelog.operators.ask.supports.covering import facts_of
from tidelog.operators.stores.room import UNBOUNDED, NoRoomError
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.plan.preconditions import Unfolding
from tidelog.plans.plan.questions import NEVER, Question

MOST_NESTED = 200
"""How deep negations may lead to others that no fact decides."""


class Outcome(ABC):
    """Is told what becomes of partial answers beside that their answers change."""

    @abstractmethod
    def remind(self, answer: Answer) -> None:
        """The deadline of an answer is near."""

    @abstractmethod
    def tell_failed(self, partial: Partial, failed: Awaited, time: int | None) -> None:
        """What became of a partial answer that can be none any more."""

    @abstractmethod
    def tell_failed_for(self, answer: Answer, partial: Partial, failed: Awaited) -> None:
        """What became of a partial answer with open columns that this one waited for."""


class Board:
    """All partial answers of a question and of its auxiliary queries, and who waits for what.

    Whoever reviews the answers that have `changed` decides what becomes of them; `outcome` is told what has failed, and is
    there before the first fact. There are `open` partial answers, at most `most_open`.
    """

    outcome: Outcome

    def __init__(self, question: Question, unfolding: Unfolding) -> None:
        self.most_open = UNBOUNDED
        far, kept = horizons(question, unfolding), retentions(question, unfolding)
        sources = queries_of(unfolding)
        asked = {name: (query, far[name]) for name, query in unfolding.auxiliary.items()}
        calendars = {name: Spells(calendar) for name, calendar in question.calendars.items()}
        self.queries = {name: Query(query, name, question, asked, calendars) for name, query in sources.items()}
        self.spans = {name: max(far[name], kept[name]) for name in sources}
        mark_cases(self.queries)
        self.known = Outlook(self.queries)
        self.cases = Completions(self.known)
        self._kept = {name: kept[name] for name in question.inputs}
        patterns = [pattern for query in self.queries.values() for pattern in query.patterns]
        self._relevant = Relevant(patterns)
        self.concerns = self._relevant.tests()
        self.needs_start = any(pattern.asks_start for pattern in patterns)
        self._waiting, self.calendar = WaitingFor(), Calendar()
        self.changed: dict[Answer, None] = {}
        self._dormant = Dormant()
        self.open = self.received = self._nested = 0

    # --- going on from a snapshot ---------------------------------------------------------------------------------------

    def restore_facts(self, arrived: list[Any]) -> None:
        """Take over the facts of a snapshot, and forget them in time."""
        for predicate, time in self.known.arrived.restore(arrived):
            if self._kept[predicate] < NEVER:
                self._forget_at(predicate, time)

    def resume(self, partial: Partial) -> None:
        """Let a partial answer of a snapshot wait again for what it waited for."""
        self.open += 1
        self._wait(partial)
        for i, item in partial.pattern.pending(partial.pending):
            if partial.watched >> i & 1:
                self._watch(partial, i, item)
        self._schedule(partial)

    # --- facts ----------------------------------------------------------------------------------------------------------

    def take(self, predicate: str, row: Row, times: Iterable[int]) -> None:
        """A fact has come, at all of these time points."""
        made: list[Partial] = []
        for time in times:
            made += self._take_point(predicate, row, time)
        for new in made:  # only now: what they negate may be among them
            self._decide_absences(new)

    def _take_point(self, predicate: str, row: Row, time: int) -> list[Partial]:
        is_new, is_first = self.known.arrived.add(predicate, row, time)
        if not is_new:
            return []
        self.received += 1
        if is_first and self._kept[predicate] < NEVER:
            self._forget_at(predicate, time)
        for answer in self._dormant.woken_by(predicate, row, time):
            self.change(answer)
        made: list[Partial] = []
        for partial, i in self._concerned(predicate, row, time):
            if not partial.alive:
                continue
            if i >= len(partial.pattern.premises):
                place = partial.pattern.runs[i - len(partial.pattern.premises)].place(time, partial.binding)
                if place is None or not partial.missing >> place & 1:
                    continue
                i = place
            if i < 0:
                self._refute(partial, partial.pattern.negated[-1 - i], time)
            else:
                made += self._advance(partial, i, row, time)
        for pattern, i in self._relevant.started_by(predicate, row, time - self.known.watermark):
            binding: Binding = [None] * len(pattern.names)
            if pattern.premises[i].unify(row, time, binding):
                made += self._add(pattern, binding, pattern.all & ~(1 << i), pattern.all_negated)
        return made

    def _refute(self, partial: Partial, absent: Awaited, time: int) -> None:
        """What must not come at a time has come; where that is open still, there is one time less for it."""
        if not absent.is_ground(partial.binding):
            self._schedule(partial)
        elif time in absent.times(partial.binding):
            self.drop(partial, absent, time)

    def _concerned(self, predicate: str, row: Row, time: int) -> list[Concern]:
        """Who waits for a fact; who wants it for sure is last, so that it still is missing where it would do for others."""
        found = self._waiting.met_by(predicate, row, time)
        if len(found) > 1:
            found.sort(key=_is_for_sure)
        return found

    def _forget_at(self, predicate: str, time: int) -> None:
        """Keep the facts of a time point until all that asks for them has been reviewed."""
        self.look_at(time + self._kept[predicate] + 1, Forgetting(predicate, time))

    def _advance(self, partial: Partial, i: int, row: Row, time: int) -> list[Partial]:
        """What a partial answer waits for has come: it needs one less; where the fact gives it values, new ones do."""
        pattern, item = partial.pattern, partial.pattern.premises[i]
        if item.is_ground(partial.binding):
            partial.missing &= ~(1 << i)
            self._wait_no_more(partial, i)
            self._enter_thread(partial)
            if not self._only_goes_on(partial):
                self.change(partial.answer, partial)
            return []
        binding = list(partial.binding)
        if not item.unify(row, time, binding):
            return []
        if item.time is not None and partial.binding[item.time] is None:
            self._schedule(partial)  # for itself this time is none any more
        return self._add(pattern, binding, partial.missing & ~(1 << i), partial.pending, partial)

    def _add(
        self, pattern: Pattern, binding: Binding, missing: int, pending: int, parent: Partial | None = None
    ) -> list[Partial]:
        """New partial answers, for each choice of intervals of calendars that the values leave."""
        found = (self._enter(pattern, fit, missing, pending, parent) for fit in pattern.fits(binding, self.known.start))
        return [made for made in found if made is not None]

    def _enter(
        self, pattern: Pattern, binding: Binding, missing: int, pending: int, parent: Partial | None
    ) -> Partial | None:
        """A new partial answer, unless it cannot be one, or another one stands for it; its absences are not decided yet."""
        if not self.known.is_viable(pattern, binding, missing):
            return None
        query, columns = self.queries[pattern.query], pattern.row(binding)
        answer = query.answers.get(columns) or Answer(pattern.query, columns)
        if answer.certain:
            return None
        partial = Partial(pattern, binding, missing, pending, answer, parent)
        if parent is not None and parent.told is not None and parent.answer is answer and _adds_own(partial, parent):
            partial.told = parent.told
        if self.open >= self.most_open:
            raise NoRoomError(self.open + 1)
        self.open += 1
        query.keep(answer)
        answer.supports[partial] = None
        self._enter_thread(partial)
        self._wait(partial)
        self.change(answer, partial)
        return partial

    def _wait(self, partial: Partial) -> None:
        """Wait for what is missing."""
        for i, item in self._awaited(partial):
            self._waiting.add((partial, i), item, partial.binding)

    @staticmethod
    def _awaited(partial: Partial) -> Iterator[tuple[int, Awaited]]:
        """What is missing, a run of premises at once, and the absences that leave less of a time that is open."""
        pattern, binding = partial.pattern, partial.binding
        runs, alone = pattern.divided(partial.missing, binding)
        for run in runs:
            yield len(pattern.premises) + run.number, run.item
        yield from pattern.missing(alone)
        for time, items in pattern.excluding.items():
            if time is not None and binding[time] is None:
                for item in items:
                    yield -1 - pattern.negated.index(item), item

    def _wait_no_more(self, partial: Partial, i: int) -> None:
        """A premise has come."""
        pattern, binding = partial.pattern, partial.binding
        run = pattern.run_of(i, binding)
        if run is None:
            self._waiting.remove((partial, i), pattern.premises[i], binding)
        elif not run.mask & partial.missing:
            self._waiting.remove((partial, len(pattern.premises) + run.number), run.item, binding)

    def _stop_waiting(self, partial: Partial) -> None:
        """Nothing of what is missing is waited for any more."""
        for i, item in self._awaited(partial):
            self._waiting.remove((partial, i), item, partial.binding)

    def _only_goes_on(self, partial: Partial) -> bool:
        """Whether nothing is told or decided by a fact that has come: what is needed in a row goes on as it was told."""
        answer, pattern = partial.answer, partial.pattern
        query = self.queries[answer.query]
        if partial.is_complete or query.has_cases or answer.is_open:
            return False
        if not query.is_main:
            return True
        if len(answer.supports) > 1 or answer.compared is not None or pattern.rivals or query.has_open:
            return False
        is_told = partial.told is not None and len(partial.threads) == 1 and partial.threads[0].told
        return is_told and goes_on(pattern.lasting, partial.told or 0, partial.missing)

    def _enter_thread(self, partial: Partial) -> None:
        """What speaks for an answer with open columns is followed by itself."""
        answer = partial.answer
        if answer.is_open and self.queries[answer.query].is_main:
            partial.enter(answer.threads.setdefault(facts_of(partial), Thread()))

    # --- absences -------------------------------------------------------------------------------------------------------

    def _decide_absences(self, partial: Partial) -> None:
        """Look up the negated premises that have all their values: what is there makes the partial answer fail."""
        pattern, binding = partial.pattern, partial.binding
        for i, item in pattern.pending(partial.pending) if partial.pending else ():
            if not partial.alive:
                return
            if not item.is_ground(binding):
                continue
            is_there = self._is_there(item, binding)
            if is_there is None:
                self._watch(partial, i, item)
                partial.watched |= 1 << i
            elif is_there:
                self.drop(partial, item)
            else:
                partial.pending &= ~(1 << i)
        if partial.alive:
            self._schedule(partial)

    def _watch(self, partial: Partial, i: int, item: Awaited) -> None:
        """Let a partial answer be told when it is known whether a negated premise holds."""
        query = self.queries.get(item.premise.predicate)
        if query is None:
            self._waiting.add((partial, -1 - i), item, partial.binding)
        else:
            query.answers[columns_of(item, partial.binding)].watchers.append((partial, i))

    def _is_there(self, item: Awaited, binding: Binding) -> bool | None:
        """Whether what is negated holds; None while that is open."""
        query = self.queries.get(item.premise.predicate)
        if query is not None:
            return self._state_of(query, columns_of(item, binding))
        if self.known.has_come(item, binding):
            return True
        return False if self.known.is_gone(item, binding) else None

    def _state_of(self, query: Query, columns: Columns) -> bool | None:
        """Whether an auxiliary query holds; None while that is open, and then it is looked at again in time."""
        answer = query.answers.get(columns) or Answer(query.name, columns)
        query.keep(answer)
        if not answer.is_asked:
            self._ask(query, answer)
        if answer.certain or any(partial.is_complete for partial in (*answer.supports, *self.known.general(answer))):
            return True
        if answer.supports:
            return None
        first, _ = self.known.prospect(answer)
        if first is None:
            if not answer.is_awaited:
                query.remove(answer)
            return False
        self.wait_until(answer, first)
        return None

    def _ask(self, query: Query, answer: Answer) -> None:
        """Somebody asks for an answer: what makes it true without any fact is looked at now. DataError without an end."""
        answer.is_asked = True
        if self._nested >= MOST_NESTED:
            raise DataError(f"more than {MOST_NESTED} negations lead from one to the next, and no fact decides them")
        self._nested += 1
        for pattern in query.patterns:
            binding = None if pattern.premises else pattern.binding_of(answer.columns)
            for new in () if binding is None else self._add(pattern, binding, 0, pattern.all_negated):
                self._decide_absences(new)
        self._nested -= 1

    def wait_until(self, answer: Answer, until: int) -> None:
        """Nothing has come for an answer yet: look again when the way is closed that stays open for longest.

        As long as one way is open, it does not matter what becomes of the others.
        """
        self.look_at(until, answer)
        for item, binding in self.known.denials(answer, until):
            query = self.queries.get(item.premise.predicate)
            if query is None:
                row, times = item.row(binding), item.times(binding)
                begin = max(times[0], self.known.watermark - item.delay + 1)
                if begin <= times[-1] and self._dormant.add(item.premise.predicate, row, answer, begin, times[-1]):
                    refusal = Refusal(item.premise.predicate, row, answer, times[-1])
                    self.look_at(times[-1] + item.delay, refusal)
            elif self._state_of(query, columns_of(item, binding)) is not False:  # or it holds, and is made certain next
                query.answers[columns_of(item, binding)].dependents[answer] = None

    def look_at(self, time: int, item: object) -> None:
        """Look at something once the watermark has come to this time; never where that is no time."""
        if time < NEVER:
            self.calendar.add(max(time, self.known.watermark + 1), item)

    # --- time -----------------------------------------------------------------------------------------------------------

    def _schedule(self, partial: Partial) -> None:
        """Look at a partial answer again when the first of what it needs is decided."""
        pattern, first = partial.pattern, partial.first_deadline()
        for i, item in pattern.pending(partial.pending) if partial.pending else ():
            if item.premise.predicate not in self.queries and partial.watched >> i & 1:
                first = min(first, pattern.deadline(item, partial.binding))
        if pattern.excluding and first - MOST_TIMES > self.known.watermark:
            first -= MOST_TIMES  # from there on it is looked at which of the times that are left are none
        self.look_at(first, partial)

    def fall_due(self, item: object) -> None:
        """The time has come for which something was put into the calendar."""
        match item:
            case Partial():
                self.expire(item)
            case Answer():
                self._look_again(item)
            case Forgetting():
                self.known.arrived.forget(item.predicate, item.time)
            case Refusal():
                self._dormant.forget(item)
            case Reminder(answer, None):
                self.outcome.remind(answer)
            case Reminder(answer, Partial() as partial) if partial.alive:
                self.change(answer, partial)

    def _look_again(self, answer: Answer) -> None:
        if answer.certain:
            if answer.time + self.spans[answer.query] <= self.known.watermark:  # otherwise it was noted before it was so
                self.queries[answer.query].remove(answer)
            return
        if answer.is_open and answer.time < NEVER:  # nobody can ask any more for what it may become
            for partial in [partial for partial in answer.supports if partial.is_complete]:
                self.drop(partial)
        self.change(answer)

    def expire(self, partial: Partial) -> None:
        """Drop a partial answer if something that it needs can no longer come; settle what can no longer hinder it."""
        if not partial.alive:
            return
        pattern, binding, watermark = partial.pattern, partial.binding, self.known.watermark
        if pattern.is_connected and not partial.pending:
            first = partial.first_deadline()
            if first > watermark:  # what it needed by now has come
                self.look_at(first, partial)
                return
        for _, item in pattern.missing(partial.missing):
            if pattern.deadline(item, binding) <= watermark:
                self.drop(partial, item)
                return
            if pattern.is_connected:
                break  # the others come later
        for i, item in pattern.pending(partial.pending):
            if item.premise.predicate in self.queries or not partial.watched >> i & 1:
                continue
            if pattern.deadline(item, binding) <= watermark:
                self._waiting.remove((partial, -1 - i), item, binding)
                partial.pending &= ~(1 << i)
                self.change(partial.answer, partial)
        if watermark < POS:
            self._schedule(partial)

    def drop(self, partial: Partial, failed: Awaited | None = None, time: int | None = None) -> None:
        """Let go of a partial answer: a premise has failed at this time, or its answer has been decided."""
        pattern, binding, answer = partial.pattern, partial.binding, partial.answer
        partial.alive = False
        self.open -= 1
        del answer.supports[partial]
        if answer.compared is not None:
            if partial in answer.compared.hidden and not answer.is_open:  # another one that needs less has taken its place
                for thread in partial.threads:
                    thread.filled = True
            answer.compared.remove(partial)
            answer.is_new |= bool(answer.compared.hidden)
        self._stop_waiting(partial)
        for i, item in pattern.pending(partial.pending) if partial.pending else ():
            if item.premise.predicate not in self.queries and partial.watched >> i & 1:
                self._waiting.remove((partial, -1 - i), item, binding)
        self._inform_dependents(partial, failed)
        if failed is not None:
            self.outcome.tell_failed(partial, failed, time)
            self.change(answer)
        for thread in [*partial.threads]:
            partial.leave(thread)
            if not thread.alive:
                answer.threads = {facts: other for facts, other in answer.threads.items() if other is not thread}

    def _inform_dependents(self, partial: Partial, failed: Awaited | None) -> None:
        """Look again at the answers that waited for what this one with open columns might become."""
        answer = partial.answer
        if not answer.dependents:
            return
        for dependent in answer.dependents:
            if failed is not None and dependent.told:
                self.outcome.tell_failed_for(dependent, partial, failed)
            self.change(dependent)
            dependent.is_new = True
        answer.dependents = {}

    def change(self, answer: Answer, partial: Partial | None = None) -> None:
        """Look at an answer in the next review, and at this support of it."""
        self.changed[answer] = None
        if partial is not None:
            answer.fresh[partial] = None


def _is_for_sure(concern: Concern) -> bool:
    """Whether a premise is this fact, rather than that it may be."""
    partial, i = concern
    pattern = partial.pattern
    if i >= len(pattern.premises):
        return pattern.runs[i - len(pattern.premises)].item.is_ground(partial.binding)
    return i >= 0 and pattern.premises[i].is_ground(partial.binding)


def _adds_own(partial: Partial, parent: Partial) -> bool:
    """Whether all values that a partial answer has beside its parent's are of variables that nothing else needs."""
    pairs = enumerate(zip(partial.binding, parent.binding, strict=True))
    return all(i in partial.pattern.own for i, (value, before) in pairs if before is None and value is not None)
