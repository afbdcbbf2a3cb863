"""What is told of answers."""

from __future__ import annotations

from tidelog.operators.ask.partials import Answer, Partial
from tidelog.operators.ask.supports import literals_of
from tidelog.operators.sld.preconditions import Unfolding
from tidelog.plans.questions import NEVER, GroundLiteral, HypotheticalAnswer, Question, Status

Proof = tuple[GroundLiteral, ...]


class Lines:
    """Puts what is known of the answers to a question into the public form."""

    def __init__(self, question: Question, unfolding: Unfolding) -> None:
        self._name, self._columns = question.name, unfolding.main.columns

    def time(self, line: HypotheticalAnswer) -> int:
        """The time of the answer that a line is about; after all others where it is open."""
        time = line.answer[self._columns[-1]]
        return time if isinstance(time, int) else NEVER

    def possible(self, answer: Answer, partial: Partial, at: int, deadline: int) -> HypotheticalAnswer:
        """An answer with one of its supports."""
        evidence, hypotheses = literals_of(partial)
        return self._line(answer, "possible", at, evidence, hypotheses, None if deadline >= NEVER else deadline)

    def certain(self, answer: Answer, proof: Proof, at: int) -> HypotheticalAnswer:
        """An answer that nothing can hinder any more."""
        return self._line(answer, "certain", at, list(proof))

    def rejected(self, answer: Answer, at: int) -> HypotheticalAnswer:
        """An answer that nothing can make one any more, with what spoke for it last."""
        line = self._line(answer, "rejected", at, [literal for proof in answer.proofs[:1] for literal in proof])
        return HypotheticalAnswer(line.query, line.answer, line.status, line.evidence, at=at, failed=answer.failed)

    def schema(self, blank: Partial, at: int) -> HypotheticalAnswer:
        """A precondition as it is."""
        return self._line(blank.answer, "unsupported", at, *literals_of(blank))

    def evidence(self, partial: Partial) -> Proof:
        """What speaks for a partial answer."""
        return tuple(literals_of(partial)[0])

    def _line(
        self,
        answer: Answer,
        status: Status,
        at: int,
        evidence: list[GroundLiteral],
        hypotheses: list[GroundLiteral] | None = None,
        deadline: int | None = None,
    ) -> HypotheticalAnswer:
        values = dict(zip(self._columns, answer.columns, strict=True))
        return HypotheticalAnswer(self._name, values, status, tuple(evidence), tuple(hypotheses or ()), at, deadline)
