"""Questions at work: each with its own operator, fed by the intake, and the choice of which answers are told."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, get_args

from tidelog.operators.ask.telling.telling import Telling
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Record, format_record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import OperatorError, SnapshotError
from tidelog.plans.language.places import place_of
from tidelog.plans.language.printing import format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import HypotheticalAnswer, Question, Status
from tidelog.plans.tree.syntax import Ask
from tidelog.runtime.intake.intake import MOST_POINTS, Delivery
from tidelog.runtime.network.state_bound import Holding, StateBound

if TYPE_CHECKING:
    from tidelog.operators.ask.asker import Asker, AskerStatistics

TOLD: tuple[Status, ...] = tuple(status for status in get_args(Status) if status != "unsupported")
"""The statuses that lines of answers have."""


@dataclass(frozen=True, slots=True)
class AnswerFilter:
    """Which answers are told: those of `statuses`, possible ones as `telling` says.

    What is certain needs no more evidence. That an answer is rejected is told where it was told, or would have been but for
    `statuses`: nobody learns of the end of what was never told, and what was told is ended. Raises TypeError or ValueError
    for what is no such number or status.
    """

    telling: Telling = field(default_factory=Telling)
    statuses: frozenset[Status] = frozenset(TOLD)

    def __post_init__(self) -> None:
        evidence = self.telling.min_evidence
        if not isinstance(evidence, Integral) or isinstance(evidence, bool):
            raise TypeError(f"`min_evidence` is a whole number, got {type(evidence).__name__}")
        if evidence < 0:
            raise ValueError(f"`min_evidence` is 0 or more, got {evidence}")
        if self.telling.warn is not None and self.telling.warn < 0:
            raise ValueError("`warn` is 0 or more, got a negative duration")
        for status in self.statuses:
            if status not in TOLD:
                raise ValueError(f"unknown status {status!r}: expected {', '.join(TOLD)}")


def answer_filter(telling: Telling, statuses: Collection[Status] | None) -> AnswerFilter:
    """The filter of an engine's or a session's options; `statuses` of None are all."""
    if isinstance(statuses, str):
        raise TypeError(f'`statuses` is a collection, such as ["{statuses}"], got str')
    return AnswerFilter(telling, frozenset(TOLD if statuses is None else statuses))


def inquiries(plan: Plan, chosen: AnswerFilter, lateness: int, bound: StateBound) -> list[Inquiry]:
    """The questions of a plan, ready for the first delivery; `lateness` is encoded, and POS where facts tell no time."""
    if not plan.questions:
        return []
    from tidelog.operators.ask.asker import Asker  # noqa: PLC0415 - only a program with questions loads what answers them

    lateness = 0 if lateness >= POS else lateness
    pairs = zip(plan.questions, plan.unfoldings, strict=True)
    return [
        Inquiry(plan, question, Asker(question, unfolding, lateness, chosen.telling), chosen, bound)
        for question, unfolding in pairs
    ]


class Inquiry:
    """One question of a plan at work: takes the intake's deliveries, and says what is to be told. `bound` counts it."""

    def __init__(self, plan: Plan, question: Question, asker: Asker, chosen: AnswerFilter, bound: StateBound) -> None:
        self.question = question
        self._program, self._timeline = plan.program, plan.timeline
        self._asker = asker
        self._bound = bound
        bound.watch(f"ask {question.name}", self._holdings)
        asker.room = bound.room
        self._filter = chosen
        self._watermark = NEG

    def take(self, delivery: Delivery) -> list[HypotheticalAnswer]:
        """What is to be told after a delivery of the intake.

        Where it fails, an OperatorError names question and fact; StateError where more is held than may be.
        """
        course: Sequence[Record] = delivery.course
        if delivery.long:
            inputs = self.question.inputs
            course = [record for record in course if record[0] not in inputs or record[3] - record[2] < MOST_POINTS]
        if not course and delivery.start is None and delivery.watermark <= self._watermark:
            return []
        before = self._asker.received
        try:
            answers = self._asker.receive(course, delivery.watermark, delivery.start)
        except NoRoomError as full:
            raise self._bound.error(Holding(full.rows, self._tell)) from None
        except Exception as error:
            raise self._failure(course, error) from error
        self._bound.moved(self._asker.received - before + len(answers))
        self._watermark = max(self._watermark, delivery.watermark)
        return [answer for answer in answers if answer.status in self._filter.statuses]

    def _failure(self, course: Sequence[Record], error: Exception) -> OperatorError:
        """Name the fact on which it fails, by taking one by one; all stops then, so the state may suffer."""
        culprit = "(the watermark)"
        for record in course:
            try:
                self._asker.receive([record], self._watermark)
            except Exception:
                culprit = format_record(record, self._timeline)
                break
        reason = f"{type(error).__name__}: {error}"
        return OperatorError(self.question.name, format_statement(Ask(self.question.query)), culprit, reason)

    def _holdings(self) -> Iterator[Holding]:
        statistics = self._asker.statistics()
        yield Holding(statistics.open + statistics.facts + statistics.answers, self._tell)

    def _tell(self) -> tuple[str, str]:
        """The question as it is written, and its place, if it is one of the program."""
        asked = format_statement(Ask(self.question.query))
        return f"the question `{asked}`", place_of(self._program, asked)

    @property
    def deadline(self) -> int:
        """The least watermark at which there may be something to tell though no fact comes; POS where nothing is."""
        return self._asker.deadline

    # --- what is known of it --------------------------------------------------------------------------------------------

    def supported(self) -> list[HypotheticalAnswer]:
        """All answers that facts speak for at this moment."""
        return self._asker.supported()

    def schemata(self) -> list[HypotheticalAnswer]:
        """All answers that may still come, supported by facts or not."""
        return self._asker.schemata()

    def unfinished(self) -> list[str]:
        """What was not looked into: a recursion behind the depth to which it was followed."""
        if not self._asker.unfolding.is_cut:
            return []
        asked = format_statement(Ask(self.question.query)).rstrip(".")
        return [f"the recursion behind `{asked}` was followed {self.question.depth} deep: what needs more steps is not told"]

    def statistics(self) -> AskerStatistics:
        """An immutable record of what has been done and what is stored."""
        return self._asker.statistics()

    def snapshot(self) -> dict[str, Any]:
        """The state as plain data."""
        return {
            "asker": self._asker.snapshot(),
            "watermark": self._watermark,
            "filter": self._filter_data(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken; SnapshotError where others were told then."""
        if data["filter"] != self._filter_data():
            raise SnapshotError("the snapshot was taken with other options of what is told, such as `min_evidence`")
        self._asker.restore(data["asker"])
        self._watermark = data["watermark"]

    def _filter_data(self) -> list[Any]:
        chosen = self._filter
        return [*astuple(chosen.telling), sorted(chosen.statuses)]
