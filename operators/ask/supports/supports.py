"""Which supports of an answer are minimal (Cruz-Filipe, Gaspar and Nunes 2020, Definitions 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidelog.operators.ask.premises.partials import Partial
from tidelog.operators.ask.supports.covering import Literals, Support, is_covered, needs_less, support_of
from tidelog.plans.plan.questions import GroundLiteral

_FEW = 8
"""So many supports are compared with all others."""


class Comparison:
    """The supports of one answer, compared: `hidden` are those that need more than another one does, or have more evidence
    for the same needs.

    Where there are many, a support that has changed is compared with those alone whose hypotheses have one in common with
    its own.
    """

    def __init__(self) -> None:
        self._supports: dict[Partial, Support] = {}
        self._open: dict[Partial, None] = {}
        self._by_needs: dict[Literals, dict[int, dict[Literals, dict[Partial, None]]]] = {}
        self._needing: dict[GroundLiteral, dict[Literals, None]] = {}
        self._is_indexed = False
        self.hidden: dict[Partial, None] = {}

    def __contains__(self, partial: Partial) -> bool:
        return partial in self._supports

    def remove(self, partial: Partial) -> None:
        """It is no support any more, or not as it was."""
        support = self._supports.pop(partial, None)
        self.hidden.pop(partial, None)
        self._open.pop(partial, None)
        if support is None or not self._is_indexed:
            return
        by_size = self._by_needs[support.hypotheses]
        by_evidence = by_size[len(support.evidence)]
        del by_evidence[support.evidence][partial]
        if not by_evidence[support.evidence]:
            del by_evidence[support.evidence]
        if not by_evidence:
            del by_size[len(support.evidence)]
        if not by_size:
            del self._by_needs[support.hypotheses]
            for literal in support.hypotheses:
                del self._needing[literal][support.hypotheses]
                if not self._needing[literal]:
                    del self._needing[literal]

    def update(self, changed: Iterable[Partial], beside: Sequence[Support]) -> None:
        """Compare supports that are new or have changed with the others, and with what stands `beside` them."""
        found = [(partial, support_of(partial)) for partial in changed]
        for partial, support in found:
            self.remove(partial)
            self._add(partial, support)
        for partial, support in found:
            others = [other for other in self._related(support) if other is not partial]
            for other in others:
                if partial not in self.hidden and self._hides(other, partial):
                    self.hidden[partial] = None
                if other not in self.hidden and self._hides(partial, other):
                    self.hidden[other] = None
            if partial not in self.hidden and self._is_covered(support, others, beside):
                self.hidden[partial] = None

    def _is_covered(self, support: Support, others: Iterable[Partial], beside: Sequence[Support]) -> bool:
        """Whether what stands beside a support needs less, or several together do: some here, some there."""
        near = [self._supports[other] for other in others if other not in self.hidden] if support.is_open else []
        return is_covered(support, [*beside, *near])

    def _add(self, partial: Partial, support: Support) -> None:
        self._supports[partial] = support
        if support.is_open:
            self._open[partial] = None
        if self._is_indexed:
            self._note(partial, support)
        elif len(self._supports) > _FEW:
            self._is_indexed = True
            for other, known in self._supports.items():
                self._note(other, known)

    def _note(self, partial: Partial, support: Support) -> None:
        by_evidence = self._by_needs.setdefault(support.hypotheses, {}).setdefault(len(support.evidence), {})
        by_evidence.setdefault(support.evidence, {})[partial] = None
        for literal in support.hypotheses:
            self._needing.setdefault(literal, {})[support.hypotheses] = None

    def _related(self, support: Support) -> Iterator[Partial]:
        """The supports that could hide one, or be hidden by it."""
        if support.is_open or not self._is_indexed:
            yield from list(self._supports)
            return
        yield from list(self._open)
        for size, by_evidence in list(self._by_needs[support.hypotheses].items()):
            if size == len(support.evidence):
                yield from list(by_evidence[support.evidence])
            else:
                yield from [partial for partials in by_evidence.values() for partial in partials]
        needs = support.hypotheses
        related = dict.fromkeys(other for literal in needs for other in self._needing[literal] if len(other) != len(needs))
        for other in related:
            by_size = self._by_needs[other].values()
            yield from [partial for by_evidence in by_size for partials in by_evidence.values() for partial in partials]

    def _hides(self, one: Partial, other: Partial) -> bool:
        """Whether the first one needs less; of two that need the same, the first that came does."""
        support, against = self._supports[one], self._supports[other]
        if not support.is_open and not against.is_open:
            return needs_less(support, against) and (one not in self.hidden or not needs_less(against, support))
        if not is_covered(against, [support]):
            return False
        return one not in self.hidden or not is_covered(support, [against])
