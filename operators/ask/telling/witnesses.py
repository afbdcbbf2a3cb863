"""Whether a support with open times has an instance: times with which it is a minimal support of a single answer.

What is open in a line stands for something only if there are values that make it an answer as the definitions have it
(Cruz-Filipe, Gaspar and Nunes 2020, Definitions 1 and 2). A time that is left to a hypothesis may be no multiple of a
window's step; the answer of that time may be certain already; or another support of it may need less. So times are tried,
the earliest first; what is open beside them is compared as it is (`covering.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial as partial_of
from itertools import chain

from tidelog.operators.ask.pending.outlook import Outlook
from tidelog.operators.ask.premises.awaited import Awaited, Binding
from tidelog.operators.ask.premises.partials import Answer, Partial
from tidelog.operators.ask.premises.patterns import Pattern
from tidelog.operators.ask.supports.covering import Support, is_covered, support_of
from tidelog.plans.data.timeline import NEG, POS

MOST_TRIES = 1_000
"""After so many tries without one it counts as if there were an instance: that may tell more, and hides nothing."""
MOST_COMPARED = 5_000
"""So it does after so many comparisons with other supports."""
_NEAR, _FAR = 8, 1_000
"""Of a time without an end so many are tried one after the other; and then some that lie behind all that has come."""


class Witnesses:
    """The instances of partial answers, as an outlook has it."""

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        self._compared = 0
        self._supports: dict[Partial, Support] = {}
        """What those are that were compared in one search."""

    def has_instance(self, partial: Partial, decided: Callable[[Awaited], int]) -> bool:
        """Whether some times make a partial answer a support that needs no more than another one.

        `decided` tells up to when a fact is no hypothesis any more.
        """
        pattern = partial.pattern
        if pattern.is_closed(partial.binding):
            return True
        tries = self._compared = 0
        self._supports.clear()
        waiting = [iter((partial.binding,))]
        while waiting and tries < MOST_TRIES and self._compared < MOST_COMPARED:
            binding = next(waiting[-1], None)
            if binding is None:
                waiting.pop()
                continue
            tries += 1
            variable = _open_time(pattern, binding)
            if variable is not None:
                waiting.append(self._given(partial, binding, variable, decided))
            elif binding is partial.binding or self._is_instance(partial, binding):
                return True
        return bool(waiting)

    def _given(
        self, partial: Partial, binding: Binding, variable: int, decided: Callable[[Awaited], int]
    ) -> Iterator[Binding]:
        """The values of the variables with one more time among them, the earliest first."""
        pattern, start = partial.pattern, self._outlook.start
        for time in self._times(partial, binding, variable, decided):
            made = list(binding)
            made[variable] = time
            yield from (fit for fit in pattern.fits(made, start) if fit[variable] == time)

    def _times(self, partial: Partial, binding: Binding, variable: int, decided: Callable[[Awaited], int]) -> Iterator[int]:
        """The times that are left to a variable; of those without an end, some near and some far."""
        pattern = partial.pattern
        low, high = pattern.left(variable, binding, self._outlook.start)
        for _, item in pattern.missing(partial.missing):
            if item.time == variable:
                low = max(low, decided(item) - item.offset + 1)
        if low <= NEG:
            low = self._outlook.watermark if high >= POS else high - _FAR
        if high < POS:
            yield from range(low, high + 1)
        else:
            far = max(low, self._outlook.arrived.newest, self._outlook.clock) + _FAR
            yield from chain(range(low, low + _NEAR), range(far, far + max(_NEAR, pattern.conditions.period)))

    def _is_instance(self, partial: Partial, binding: Binding) -> bool:
        pattern, known = partial.pattern, self._outlook
        if not known.is_viable(pattern, binding, partial.missing):
            return False
        columns = pattern.row(binding)
        found = known.queries[pattern.query].answers.get(columns)
        if found is not None and found.certain:
            return False
        answer = Answer(pattern.query, columns)
        made = Partial(pattern, binding, partial.missing, partial.pending, answer)
        answer.supports[made] = None
        may_hide = partial_of(_may_hide, made)
        beside = [*filter(may_hide, found.supports if found is not None else ()), *known.general(answer, may_hide)]
        others = [*map(self._support_of, beside), *known.unsupported(answer)]
        if not others:
            return True
        self._compared += len(others)
        own = support_of(made)
        return not is_covered(own, [other for other in others if _may_need_less(other, own)])

    def _support_of(self, partial: Partial) -> Support:
        """The evidence and the hypotheses of a partial answer as a support; those of an answer are kept, since each try
        compares them."""
        if partial not in partial.answer.supports:  # it was made for this try alone
            return support_of(partial)
        found = self._supports.get(partial)
        if found is None:
            found = self._supports[partial] = support_of(partial)
        return found


def _may_hide(made: Partial, other: Partial) -> bool:
    """Whether it is worth a closer look: of two supports of one precondition, the one that needs less has more of it."""
    if other.pattern is not made.pattern or made.pattern.stretches:
        return True
    return other.missing.bit_count() + other.pending.bit_count() < made.missing.bit_count() + made.pending.bit_count()


def _may_need_less(other: Support, own: Support) -> bool:
    """Whether a support is another one, and does not say the same, or that for one of its values."""
    return len(other.hypotheses) < len(own.hypotheses) or other.evidence < own.evidence


def _open_time(pattern: Pattern, binding: Binding) -> int | None:
    """A time that has no value yet, that of a premise if there is one."""
    return next((variable for variable in pattern.times if binding[variable] is None), None)
