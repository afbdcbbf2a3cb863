"""The rules that alarms stand for: where people read of a program, one word says all of them."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.plans.language.printing import format_statement
from tidelog.plans.tree.declared.alarms import Alarm, is_of_alarm
from tidelog.plans.tree.syntax import Rule


def alarm_rules(alarms: Sequence[Alarm]) -> dict[str, str]:
    """Each rule that no text has, as text, and the alarm that it is of."""
    return {
        format_statement(item): alarm.name
        for alarm in alarms
        for item in alarm.statements(is_strict=False)
        if isinstance(item, Rule)
    }


def alarm_of(predicate: str, alarms: Sequence[Alarm]) -> str | None:
    """The alarm whose declaration stands for a predicate, other than its condition and its state."""
    found = (alarm for alarm in alarms if predicate != alarm.state and is_of_alarm(predicate, [alarm]))
    return next((alarm.name for alarm in found), None)
