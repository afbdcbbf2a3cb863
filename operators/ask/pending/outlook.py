"""What may still become of an answer, and by when that is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tidelog.operators.ask.pending.answers import Query
from tidelog.operators.ask.pending.waiting import Arrived
from tidelog.operators.ask.premises.awaited import Awaited, Binding
from tidelog.operators.ask.premises.partials import Answer, Columns, Partial
from tidelog.operators.ask.premises.patterns import Pattern
from tidelog.operators.ask.supports.covering import Support, support
from tidelog.plans.data.timeline import NEG
from tidelog.plans.plan.questions import NEVER, GroundLiteral


class Outlook:
    """What is known: what has `arrived`, the time of the latest fact (`clock`), the watermark, the stream's `start`."""

    def __init__(self, queries: Mapping[str, Query]) -> None:
        self.queries = queries
        self.arrived = Arrived()
        self.watermark = self.clock = NEG
        self.start: int | None = None
        for query in queries.values():
            for pattern in query.patterns:
                pattern.passed, pattern.came = self.passed, self.arrived.has
                pattern.start = self.known_start

    def passed(self, item: Awaited) -> int:
        """Up to when it is known of an input what has come."""
        return self.watermark - item.delay

    def known_start(self) -> int | None:
        """The stream's start, once it is known."""
        return self.start

    def begun(self, item: Awaited) -> int:
        """Up to when facts of an input are no hypotheses: the time point at which facts are coming in counts, too."""
        return max(self.watermark, min(self.clock, self.watermark + 1)) - item.delay

    def has_come(self, item: Awaited, binding: Binding) -> bool:
        """Whether the fact of a premise has come, as far as the premise stands for one."""
        if (item.at(binding) or 0) > self.arrived.newest or not item.is_ground(binding):
            return False
        return self.arrived.has_any(item.premise.predicate, item.row(binding), item.times(binding))

    def is_viable(self, pattern: Pattern, binding: Binding, missing: int) -> bool:
        """Whether all that is missing can still come.

        What has come already cannot: the partial answer that began with it stands for this one.
        """
        if pattern.has_one_twice(binding, missing) or pattern.contradicts_itself(binding, missing):
            return False
        if pattern.first_deadline(binding, missing) <= self.watermark:
            return False
        newest = self.arrived.newest
        runs, alone = pattern.divided(missing, binding)
        for run in runs:
            first = run.item.at(binding) or 0
            if first <= newest and run.item.is_ground(binding):
                row, own = run.item.row(binding), first - run.item.offset
                places = ((offset, i) for offset, i in run.places.items() if missing >> i & 1 and own + offset <= newest)
                if any(self.arrived.has(run.item.premise.predicate, row, own + offset) for offset, _ in places):
                    return False
        return not any(self.has_come(item, binding) for _, item in pattern.missing(alone))

    def is_due(self, partial: Partial) -> bool:
        """Whether a fact that it needs has to come within the time point at which facts are coming in.

        Hypotheses lie in the future (Definition 1): until this time point is complete, or that fact there, nothing is told.
        """
        return partial.first_deadline() <= min(self.clock, self.watermark + 1)

    def prospect(self, answer: Answer) -> tuple[int | None, GroundLiteral | None]:
        """How an answer could come about by what has not come yet.

        The watermark up to which some way stays open unless an absence closes it, None if there is no way; and the premise
        that failed last where there is none.
        """
        longest: int | None = None
        failed: GroundLiteral | None = None
        for pattern, binding, open_until, missed in self.ways(answer):
            if open_until is not None:
                longest = open_until if longest is None else max(longest, open_until)
            elif failed is None and missed is not None:
                failed = missed.literal(binding, pattern.names)
        for partial in self.general(answer):
            partial.answer.dependents[answer] = None
            longest = max(-NEVER if longest is None else longest, partial.first_deadline())
        return longest, failed

    def denials(self, answer: Answer, until: int) -> Iterator[tuple[Awaited, Binding]]:
        """What would close the way to an answer that stays open until then: its negated premises that stand for one fact."""
        for pattern, binding, open_until, _ in self.ways(answer):
            if open_until == until:
                yield from ((item, binding) for item in pattern.negated if item.is_ground(binding))
                return

    def deadline(self, answer: Answer, partial: Partial) -> int:
        """The watermark at which an answer is decided at the latest; with open columns, what this support rests on is."""
        if answer.is_open:
            same = (other for other in answer.supports if other.threads[-1:] == partial.threads[-1:])
            return max([partial.last_deadline(), *(other.last_deadline() for other in same)])
        found = -NEVER
        latest = self.queries[answer.query].by_last[0].last
        limit = answer.time + latest if answer.time < NEVER and latest < NEVER else NEVER
        for other in answer.supports:
            found = max(found, other.last_deadline())
            if found >= limit:
                return found  # nothing is decided later
        for pattern in self.queries[answer.query].by_last:
            if found >= NEVER or (pattern.last < NEVER and answer.time + pattern.last <= found):
                break  # neither this one nor those behind it are decided later
            binding = pattern.binding_of(answer.columns) if pattern.premises else None
            for fit in () if binding is None else pattern.fits(binding, self.start):
                if self._open_until(pattern, fit)[0] is not None:
                    found = max(found, Partial(pattern, fit, pattern.all, pattern.all_negated, answer).last_deadline())
        return max([found, *(partial.last_deadline() for partial in self.general(answer))])

    def general(self, answer: Answer, concerns: Callable[[Partial], bool] | None = None) -> Iterator[Partial]:
        """The partial answers with open columns that may become this answer, as they would then be; those it `concerns`."""
        for general in self.queries[answer.query].covering(answer.columns):
            for partial in general.supports if concerns is None else filter(concerns, general.supports):
                pattern = partial.pattern
                binding = pattern.binding_of(answer.columns, partial.binding)
                for fit in () if binding is None else pattern.fits(binding, self.start):
                    if self.is_viable(pattern, fit, partial.missing):
                        yield Partial(pattern, fit, partial.missing, partial.pending, general)

    def unsupported(self, answer: Answer) -> Iterator[Support]:
        """What could make it an answer with nothing having come, where that needs less than one of its supports."""
        for pattern in dict.fromkeys(rival for partial in answer.supports for rival in partial.pattern.rivals):
            binding = pattern.binding_of(answer.columns)
            for fit in () if binding is None else pattern.fits(binding, self.start):
                if tuple(pattern.row(fit)) == answer.columns:  # and not only for some values of what is open in it
                    found = self._without_evidence(pattern, fit, answer)
                    if found is not None:
                        yield found

    def _without_evidence(self, pattern: Pattern, binding: Binding, answer: Answer) -> Support | None:
        """A precondition of which no fact has come; what is absent for sure speaks for it. None where it cannot hold."""
        needed = [item.literal(binding, pattern.names) for item in pattern.premises]
        absent: list[GroundLiteral] = []
        for item in pattern.negated:
            literal = item.literal(binding, pattern.names)
            if item.is_ground(binding):
                if self._is_known(item, binding):
                    return None
                if self._is_absent(item, binding, literal, answer):
                    absent.append(literal)
                    continue
            needed.append(literal)
        return support(pattern, binding, absent, needed)

    def _is_absent(self, item: Awaited, binding: Binding, literal: GroundLiteral, answer: Answer) -> bool:
        """Whether what is negated is known not to hold: by its time, or as a support of the answer has found out."""
        if item.premise.predicate not in self.queries:
            return self.is_gone(item, binding)
        return any(
            not partial.pending >> i & 1
            and other.is_ground(partial.binding)
            and literal == other.literal(partial.binding, partial.pattern.names)
            for partial in answer.supports
            for i, other in enumerate(partial.pattern.negated)
            if other.premise.predicate == item.premise.predicate
        )

    def ways(self, answer: Answer) -> Iterator[tuple[Pattern, Binding, int | None, Awaited | None]]:
        """The preconditions that give an answer, each with the watermark that decides on it, or the premise that fails."""
        for pattern in self.queries[answer.query].by_first:
            if pattern.first < NEVER and answer.time < NEVER and answer.time + pattern.first < self.watermark:
                return  # neither this one nor those behind it
            binding = pattern.binding_of(answer.columns) if pattern.premises else None
            for fit in () if binding is None else pattern.fits(binding, self.start):
                yield pattern, fit, *self._open_until(pattern, fit)

    def _open_until(self, pattern: Pattern, binding: Binding) -> tuple[int | None, Awaited | None]:
        first, is_begun, missed = NEVER, False, False
        for item in pattern.premises:
            deadline = pattern.deadline(item, binding)
            if self.has_come(item, binding):
                is_begun = True
            elif deadline == self.watermark:
                return None, item
            else:
                missed |= deadline < self.watermark
                first = min(first, deadline)
        if missed or is_begun:  # it failed before, or is among the supports, or has failed there
            return None, None
        for item in pattern.negated:
            if item.is_ground(binding) and self._is_known(item, binding):
                return None, item
        return first, None

    def is_gone(self, item: Awaited, binding: Binding) -> bool:
        """Whether a negated fact can no longer come."""
        if item.premise.predicate in self.queries or not item.is_ground(binding):
            return False
        return item.times(binding)[-1] + item.delay <= self.watermark

    def _is_known(self, item: Awaited, binding: Binding) -> bool:
        """Whether what is negated has come, or is certain."""
        query = self.queries.get(item.premise.predicate)
        if query is None:
            return self.has_come(item, binding)
        answer = query.answers.get(columns_of(item, binding))
        return answer is not None and answer.certain


def columns_of(item: Awaited, binding: Binding) -> Columns:
    """The answer of an auxiliary query for which a ground premise stands."""
    row, time = item.fact(binding)
    return (*row, time)
