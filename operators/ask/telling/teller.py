"""Which possible answers are told, and when again."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.operators.ask.pending.board import Board, Outcome
from tidelog.operators.ask.pending.waiting import Reminder
from tidelog.operators.ask.premises.awaited import Awaited
from tidelog.operators.ask.premises.partials import Answer, Columns, Partial, Thread
from tidelog.operators.ask.premises.runs import goes_on
from tidelog.operators.ask.supports.covering import Support, support_of
from tidelog.operators.ask.supports.supports import Comparison
from tidelog.operators.ask.supports.voids import has_void_cases
from tidelog.operators.ask.telling.lines import Lines, Proof
from tidelog.operators.ask.telling.shown import as_ways
from tidelog.operators.ask.telling.situations import Situations
from tidelog.operators.ask.telling.telling import Telling
from tidelog.operators.ask.telling.witnesses import Witnesses
from tidelog.plans.plan.preconditions import Unfolding
from tidelog.plans.plan.questions import NEVER, GroundLiteral, HypotheticalAnswer, Question


class Teller(Outcome):
    """Makes lines of the partial answers of a board: of each change of meaning, and of what has failed.

    There is one when an answer becomes possible, when another fact speaks for it, when a way to it is lost that was told,
    and, if that is wanted, when its deadline comes near. What is needed at three time points in a row is told as one, and
    has its next line once all of it has come. `at` is the time that lines tell as that of the decision; the lines from
    `mark` on are told together, so in an order of their own.
    """

    def __init__(self, question: Question, unfolding: Unfolding, lateness: int, telling: Telling, board: Board) -> None:
        self._board, self._known, self._cases = board, board.known, board.cases
        self.choice, self._lateness = telling, lateness
        self._main = board.queries[""]
        self._witnesses = Witnesses(self._known)
        self.texts = Lines(question, unfolding, lateness, self._known)
        self.situations = Situations(telling.grouped)
        self.lines: list[HypotheticalAnswer] = []
        self.mark = 0
        self.at = self._known.clock
        self._reminded: dict[Answer, None] = {}

    def put_in_order(self) -> int:
        """All that is told together is there; returns how many lines wait in all."""
        if len(self.lines) > self.mark:
            lines = self.texts.in_order(self.lines[self.mark :])
            self.lines[self.mark :] = self.situations.choose(lines, self._line_of)
        self.mark = len(self.lines)
        self._reminded.clear()
        return self.mark

    def pull(self) -> list[HypotheticalAnswer]:
        """The lines since the last call."""
        lines, self.lines, self.mark = self.lines, [], 0
        return lines

    # --- what is possible -----------------------------------------------------------------------------------------------

    def tell_possible(self, answer: Answer) -> None:
        """Tell what is new: another support, or more facts that speak for it; or that one is lost, and what is left."""
        news = [partial for partial in self._minimal(answer) if self._is_news(partial)]
        news = [partial for partial in news if not self._goes_on(partial)]
        lost, answer.lost = answer.lost, None
        is_reminded = answer in self._reminded and not news
        for way in as_ways(news):
            thread = Thread()
            for partial in way:
                partial.told = partial.missing
                partial.fill()
                if not answer.is_open:
                    partial.enter(thread)
                partial.tell()
            self._tell(answer, way, lost)
            lost = None
        if (lost is not None or is_reminded) and (left := self._nearest(answer)) is not None:
            self._tell(answer, [left], lost)

    def _goes_on(self, partial: Partial) -> bool:
        """Whether only a part of a stretch has come, of which a line told: the partial answer stands for that line."""
        if partial.told is None or not goes_on(partial.pattern.lasting, partial.told, partial.missing):
            return False
        partial.fill()
        if not partial.threads:
            partial.enter(Thread())
        partial.tell()
        return True

    def _tell(self, answer: Answer, way: list[Partial], lost: GroundLiteral | None = None) -> None:
        answer.told = True
        deadline = self._known.deadline(answer, way[0])
        self.lines.append(self.texts.possible(answer, way, self.at, deadline, lost))
        self._remind_at(answer, deadline)

    def _line_of(self, columns: Columns) -> HypotheticalAnswer | None:
        """The line of an answer that may be told and was not told before; None if there is none."""
        answer = self._main.answers.get(columns)
        left = None if answer is None or answer.certain else self._nearest(answer)
        if answer is None or left is None:
            return None
        return self.texts.possible(answer, [left], self.at, self._known.deadline(answer, left))

    def _is_news(self, partial: Partial) -> bool:
        """Whether a partial answer gets a line: once enough facts speak for the answer, and for each further fact."""
        if partial.told == partial.missing or self._known.is_due(partial) or not self.is_meant(partial, self._known.begun):
            return False
        is_enough = partial.told is not None or self.choice.min_evidence <= 1
        lacking = 0 if is_enough else self.choice.lacks(self.texts.evidence(partial))
        if lacking and self.choice.count_absences:
            self._look_when_absent(partial, lacking)
        return not lacking

    def _look_when_absent(self, partial: Partial, number: int) -> None:
        """Look at a partial answer again when so many more of the absences that it needs are certain."""
        pattern, binding = partial.pattern, partial.binding
        waiting = [(pattern.passed(item), item) for _, item in pattern.pending(partial.pending) if item.is_ground(binding)]
        times = sorted(
            t + item.delay for known, item in waiting if item.asked is None for t in item.times(binding) if t > known
        )
        if len(times) >= number:
            self._board.look_at(times[number - 1], Reminder(partial.answer, partial))

    def _nearest(self, answer: Answer) -> Partial | None:
        """The support that needs least, of those that were told."""
        told = [
            p for p in answer.supports if p.told is not None and (not answer.compared or p not in answer.compared.hidden)
        ]
        return min(told, key=self.texts.distance, default=None)

    def _remind_at(self, answer: Answer, deadline: int) -> None:
        """Look at an answer again when its deadline comes near, if that is to be told."""
        warn = self.choice.warn
        if warn is None or answer.is_open or answer.warned or deadline >= NEVER:
            return
        if deadline - warn <= max(self._known.watermark, self.at - self._lateness):  # as the line says that is told now
            answer.warned = True
        else:
            self._board.look_at(deadline - warn, Reminder(answer))

    def remind(self, answer: Answer) -> None:
        """An answer is near its deadline, unless that has moved."""
        if answer.certain or answer.warned or self._main.answers.get(answer.columns) is not answer:
            return
        left = self._nearest(answer)
        if left is None:
            return
        self._remind_at(answer, self._known.deadline(answer, left))
        if answer.warned:
            self._reminded[answer] = None  # the line tells what is left once all of this moment is known
            self._board.change(answer)

    def is_meant(self, partial: Partial, decided: Callable[[Awaited], int]) -> bool:
        """Whether all that a partial answer needs can hold together, and some values of its open variables make it a support
        of their answer."""
        can_be_met = not self._main.has_cases or self._cases.can_be_met(partial)
        return can_be_met and self._witnesses.has_instance(partial, decided)

    def _minimal(self, answer: Answer) -> list[Partial]:
        """Those of an answer's supports that are new or have changed, or are to be looked at again, and need least."""
        compared = answer.compared
        fresh = list(answer.supports) if answer.is_new else [partial for partial in answer.fresh if partial.alive]
        answer.is_new, answer.fresh = False, {}
        if len(answer.supports) == 1 and compared is not None and not self.beside(answer):
            fresh += [partial for partial in compared.hidden if partial in answer.supports]
            compared = answer.compared = None
        if compared is None:
            if len(answer.supports) == 1 and not self.beside(answer) and not any(map(has_void_cases, fresh)):
                return fresh
            compared = answer.compared = Comparison()
            compared.update(answer.supports, self.beside(answer))
        elif fresh:
            before = list(compared.hidden)
            compared.update(fresh, self.beside(answer))
            fresh += [partial for partial in before if partial not in compared.hidden]
        return [partial for partial in dict.fromkeys(fresh) if partial not in compared.hidden]

    def beside(self, answer: Answer) -> list[Support]:
        """What could make it an answer as well: with nothing having come, or with open columns."""
        if not self._main.has_open and not (
            self._main.has_rivals and any(partial.pattern.rivals for partial in answer.supports)
        ):
            return []
        general = [support_of(partial) for partial in self._known.general(answer)]
        return [*self._known.unsupported(answer), *general]

    # --- what has failed ------------------------------------------------------------------------------------------------

    def tell_failed(self, partial: Partial, failed: Awaited, time: int | None) -> None:
        """Remember what speaks against an answer last, and for it; an answer with open columns ends evidence by evidence."""
        answer = partial.answer
        literal = failed.literal(partial.binding, partial.pattern.names, time)
        is_last = any(thread.alive == 1 and thread.told and not thread.filled for thread in partial.threads)
        if not answer.is_open:
            self._note_failed(answer, literal, self.texts.evidence(partial) if answer.told else ())
            answer.lost = literal if is_last else answer.lost
        elif is_last:
            answer.proofs, answer.failed = [self.texts.evidence(partial)], literal
            self.lines.append(self.texts.rejected(answer, self.at))

    def tell_failed_for(self, answer: Answer, partial: Partial, failed: Awaited) -> None:
        """So for an answer that one with open columns might have become."""
        binding = partial.pattern.binding_of(answer.columns, partial.binding)
        if binding is not None:
            self._note_failed(answer, failed.literal(binding, partial.pattern.names), self.texts.evidence(partial))

    def _note_failed(self, answer: Answer, literal: GroundLiteral, evidence: Proof) -> None:
        if answer.certain:
            return  # what speaks for it stays as it was told
        if not answer.told:
            answer.failed = literal
            return
        rank = self.at, len(evidence)
        if answer.failed is not None and rank < answer.rank:
            return
        if answer.failed is not None and rank == answer.rank and not _is_behind(literal, evidence, answer):
            return
        answer.proofs, answer.failed, answer.rank = [evidence], literal, rank


def _is_behind(failed: GroundLiteral, evidence: Proof, answer: Answer) -> bool:
    """Of what failed at one moment and had as much evidence, the last one is told, as they are written."""
    known = str(answer.failed), *(str(literal) for proof in answer.proofs[:1] for literal in proof)
    return (str(failed), *map(str, evidence)) > known
