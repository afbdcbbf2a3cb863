"""Lines about answers: possible, certain and rejected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from tidelog.operators.ask.pending.outlook import Outlook
from tidelog.operators.ask.premises.partials import Answer, Partial
from tidelog.operators.ask.supports.covering import literals_of, order
from tidelog.operators.ask.telling.shown import ranging, where_of
from tidelog.plans.plan.preconditions import Unfolding
from tidelog.plans.plan.questions import NEVER, GroundLiteral, HypotheticalAnswer, Question, Status

Proof = tuple[GroundLiteral, ...]


class Lines:
    """Puts what is known of the answers to a question into the public form."""

    def __init__(self, question: Question, unfolding: Unfolding, lateness: int, known: Outlook) -> None:
        self._known = known
        self._name, self._columns, self._lateness = question.name, unfolding.main.columns, lateness

    def in_order(self, lines: Iterable[HypotheticalAnswer]) -> list[HypotheticalAnswer]:
        """By the times of the answers that lines are about, those that are open last; and by what they say."""
        found = list(lines)
        if len(found) == 1:
            return found
        ordered = []
        keyed = sorted([(_time(line), line) for line in found], key=_key)
        for _, same in groupby(keyed, key=_key):
            together = [line for _, line in same]
            ordered += together if len(together) == 1 else sorted(together, key=_Content)
        return ordered

    def possible(
        self, answer: Answer, way: Sequence[Partial], at: int, deadline: int, lost: GroundLiteral | None = None
    ) -> HypotheticalAnswer:
        """An answer with a support, or with several that differ in the time of a hypothesis; `lost` is one less."""
        until = None if deadline >= NEVER else deadline + self._lateness
        evidence, hypotheses = literals_of(way[0])
        where = [*where_of(way[0], self._columns, self._known.start)]
        if len(way) > 1:
            hypotheses, bounds = ranging(way)
            where += bounds
        values = dict(zip(self._columns, answer.columns, strict=True))
        return HypotheticalAnswer(
            self._name, values, "possible", tuple(evidence), tuple(hypotheses), at, until, lost, tuple(where)
        )

    def distance(self, partial: Partial) -> tuple[int, list[str]]:
        """How much a support still needs, and an order among those that need as much."""
        hypotheses = literals_of(partial)[1]
        return len(hypotheses), [*map(str, hypotheses)]

    def certain(self, answer: Answer, proof: Proof, at: int) -> HypotheticalAnswer:
        """An answer that nothing can hinder any more."""
        return self._line(answer, "certain", at, list(proof))

    def rejected(self, answer: Answer, at: int) -> HypotheticalAnswer:
        """An answer that nothing can make one any more, with what spoke for it last."""
        evidence = answer.proofs[0] if answer.proofs else ()
        values = dict(zip(self._columns, answer.columns, strict=True))
        return HypotheticalAnswer(self._name, values, "rejected", evidence, at=at, failed=answer.failed)

    def schema(self, blank: Partial, at: int) -> HypotheticalAnswer:
        """A precondition as it is."""
        line = self._line(blank.answer, "unsupported", at, *literals_of(blank))
        return replace(line, where=tuple(where_of(blank, self._columns, None)))

    def evidence(self, partial: Partial) -> Proof:
        """What speaks for a partial answer."""
        return tuple(literals_of(partial)[0])

    def joint(self, partials: Iterable[Partial]) -> Proof:
        """What speaks for several partial answers together."""
        literals = dict.fromkeys(literal for partial in partials for literal in literals_of(partial)[0])
        return tuple(sorted(literals, key=order))

    def _line(
        self,
        answer: Answer,
        status: Status,
        at: int,
        evidence: list[GroundLiteral],
        hypotheses: list[GroundLiteral] | None = None,
    ) -> HypotheticalAnswer:
        values = dict(zip(self._columns, answer.columns, strict=True))
        return HypotheticalAnswer(self._name, values, status, tuple(evidence), tuple(hypotheses or ()), at)


_key = itemgetter(0)


def _time(line: HypotheticalAnswer) -> int:
    *_, time = line.answer.values()
    return time if isinstance(time, int) else NEVER


class _Content:
    """What a line says, in an order; its premises are put into words only where two lines are about the same answer."""

    __slots__ = ("_line", "_values")

    def __init__(self, line: HypotheticalAnswer) -> None:
        self._line, self._values = line, str([*line.answer.values()])

    def __lt__(self, other: _Content) -> bool:
        if self._values != other._values:
            return self._values < other._values
        return _premises(self._line) < _premises(other._line)


def _premises(line: HypotheticalAnswer) -> tuple[list[str], list[str], str]:
    return [*map(str, line.hypotheses)], [*map(str, line.evidence)], str(line.failed)
