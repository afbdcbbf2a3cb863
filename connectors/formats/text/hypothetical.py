"""Hypothetical answers as sentences for people: `possible: malf(wt25) at 0, if temp(wt25,high) at 1; decided by 1`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.connectors.formats.conditions import dated_conditions
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.plans.data.facts import Schema, format_constant
from tidelog.plans.plan.questions import GroundLiteral, HypotheticalAnswer, Open
from tidelog.plans.plan.stretches import in_stretches


class HypotheticalSentences:
    """Writes one answer a line. With dates, a time on the day of the line's `at` is told by its clock alone."""

    def __init__(self, schema: Schema, times: TimeFormatter) -> None:
        self._times = times
        self._time_columns = schema.questions

    def encode(self, answer: HypotheticalAnswer) -> bytes:
        """The sentence of an answer, with its newline."""
        sentence = f"{answer.status}: {self._subject(answer)}{self._reason(answer)}"
        return f"{sentence}\n".encode()

    def _subject(self, answer: HypotheticalAnswer) -> str:
        column = self._time_columns[answer.query]
        values = [
            name if value is None else format_constant(value) for name, value in answer.answer.items() if name != column
        ]
        time = answer.answer[column]
        name = answer.query.partition("(")[0].partition("@")[0]
        atom = f"{name}({','.join(values)})" if values else name
        if not isinstance(time, int):
            return f"{atom} at some {column}"
        return f"{atom} at {self._time(time, answer.at)}"

    def _reason(self, answer: HypotheticalAnswer) -> str:
        at = answer.at
        if answer.status == "certain":
            return f", by {self._list(answer.evidence, at)}"
        if answer.status == "rejected":
            return "" if answer.failed is None else f", as {self._failed(answer.failed, at)}"
        with_what = f" with {' and '.join(self._conditions(answer))}" if answer.where else ""
        lost = "" if answer.failed is None else f"; {self._failed(answer.failed, at)}"
        end = "open without an end" if answer.deadline is None else f"decided by {self._time(answer.deadline, at)}"
        return f", if {self._list(answer.hypotheses, at)}{with_what}; {end}{lost}"

    def _conditions(self, answer: HypotheticalAnswer) -> Iterable[str]:
        if self._times.is_plain:
            return answer.conditions
        return dated_conditions(answer, self._time_columns[answer.query], lambda time: self._time(time, answer.at))

    def _list(self, literals: Iterable[GroundLiteral], at: int | None) -> str:
        """`p(a) at 1 and 2, not q(a) from 3 to 9`."""
        found: dict[str, list[str]] = {}
        for literal in in_stretches(literals):
            found.setdefault(literal.untimed, []).append(self._when(literal, at))
        return ", ".join(f"{name} {_joined(times)}" for name, times in found.items())

    def _failed(self, literal: GroundLiteral, at: int | None) -> str:
        atom = literal.untimed.removeprefix("not ")
        return f"{atom} {'came' if literal.negated else 'did not come'} {self._when(literal, at)}"

    def _when(self, literal: GroundLiteral, at: int | None) -> str:
        first = self._time(literal.time, at)
        return f"at {first}" if literal.until is None else f"from {first} to {self._time(literal.until, at)}"

    def _time(self, time: int | Open, at: int | None) -> str:
        if isinstance(time, Open):
            return str(time)
        text = self._times.point(time)
        if self._times.is_plain or at is None:
            return text
        day, _, clock = text.partition("T")
        return clock.removesuffix("Z") if clock and self._times.point(at).partition("T")[0] == day else text


def _joined(times: Sequence[str]) -> str:
    """`at 1 and 2` for `at 1` and `at 2`."""
    first, *others = times
    return " and ".join([first, *(time.removeprefix("at ") if first.startswith("at ") else time for time in others)])
