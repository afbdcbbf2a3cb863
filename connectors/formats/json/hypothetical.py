"""Hypothetical answers as JSON lines: `{"query":"malf","answer":{"X":"wt25","T":0},"status":"possible",…}`."""

from __future__ import annotations

import msgspec

from tidelog.connectors.formats.conditions import dated_conditions
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.plans.data.facts import Schema
from tidelog.plans.plan.questions import GroundLiteral, HypotheticalAnswer, Open
from tidelog.plans.plan.stretches import in_stretches
from tidelog.plans.tree.syntax import Value


class HypotheticalEncoder:
    """Writes one answer a line: premises as facts in text, what is open as `null` or as a variable.

    `deadline` stands where the answer is not decided yet, `null` where nothing bounds it; `failed` where it was rejected.
    Times are as `times` writes them: those of premises, `at`, `deadline`, and the time that the question asks for.
    """

    def __init__(self, schema: Schema, times: TimeFormatter) -> None:
        self._times = times
        self._time_columns = schema.questions

    def encode(self, answer: HypotheticalAnswer) -> bytes:
        """The line of an answer, with its newline."""
        values = dict(answer.answer)
        column = self._time_columns[answer.query]
        values[column] = self._time(values[column])
        fields: dict[str, object] = {
            "query": answer.query,
            "answer": values,
            "status": answer.status,
            "evidence": [self._premise(premise) for premise in in_stretches(answer.evidence)],
            "hypotheses": [self._premise(premise) for premise in in_stretches(answer.hypotheses)],
            "at": self._time(answer.at),
        }
        if answer.where:
            fields["where"] = self._conditions(answer)
        if not answer.is_final:
            fields["deadline"] = self._time(answer.deadline)
        if answer.group:
            fields["group"] = answer.group
        if answer.failed is not None:
            fields["failed"] = self._premise(answer.failed)
        return msgspec.json.encode(fields) + b"\n"

    def _premise(self, premise: GroundLiteral) -> str:
        if self._times.is_plain:
            return str(premise)
        first, last = self._end(premise.time), premise.until
        return f"{premise.untimed}@{first if last is None else f'[{first},{self._end(last)}]'}"

    def _end(self, time: int | Open) -> str:
        return self._times.point(time) if isinstance(time, int) else str(time)

    def _conditions(self, answer: HypotheticalAnswer) -> list[str]:
        """The conditions on what is open; times that they name are written as all others are."""
        if self._times.is_plain:
            return list(answer.conditions)
        return [*dated_conditions(answer, self._time_columns[answer.query], self._times.point)]

    def _time(self, time: Value | None) -> Value | None:
        """A time as JSON: a number, unless it is a date."""
        if self._times.is_plain or not isinstance(time, int):
            return time
        text = self._times.point(time)
        return time if text.removeprefix("-").isdigit() else text
