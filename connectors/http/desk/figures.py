"""`GET /alarms/figures`: the key figures of a desk as an object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from tidelog.connectors.http.desk.desk import Desk
from tidelog.plans.alarms.desk import PRIORITIES, Key
from tidelog.plans.alarms.entries import Entry
from tidelog.plans.alarms.figures import Window, figures

_HALF: Final = Fraction(1, 2)
_MOST: Final = Fraction(9, 10)
_DIGITS: Final = 3


class FiguresOf:
    """The figures of a desk over a window, for so many operators."""

    def __init__(self, desk: Desk, window: Window, operators: int) -> None:
        self._desk, self._window = desk, window
        alarms = desk.plan.alarms
        self._priorities = {alarm.name: alarm.declared.priority for alarm in alarms}
        latched = [alarm.name for alarm in alarms if alarm.declared.latched]
        self._figures = figures(self._entries(), latched, window, operators)

    def _entries(self) -> Iterator[Entry]:
        """The history, and what is open still though its begin has been forgotten."""
        yield from self._desk.history
        for item in self._desk.open_alarms(self._window.until):
            if item.begins is not None and item.ends is None:
                yield Entry(item.begins, "began", item.alarm, item.args)
                for deed in item.acknowledged:
                    yield Entry(deed.at, "acknowledge", item.alarm, item.args)

    def object(self) -> dict[str, Any]:
        """All figures; times as the desk tells them, lengths in seconds."""
        found, window, time = self._figures, self._window, self._desk.time
        first = next(iter(self._desk.history), None)
        many = max(found.periods.values(), default=0)
        return {
            "since": time(window.since),
            "until": time(window.until),
            "known_since": None if first is None else time(first.at),
            "operators": found.operators,
            "alarms": found.alarms,
            "by_priority": self._by_priority(),
            "per_10_minutes": {
                "periods": window.periods,
                "average": _rounded(found.alarms / window.periods),
                "maximum": many,
                "flooded": found.flooded,
                "flooded_share": _rounded(found.flooded / window.periods),
            },
            "per_operator_10_minutes": {
                "average": _rounded(found.alarms / window.periods / found.operators),
                "maximum": _rounded(many / found.operators),
            },
            "floods": [
                {"begins": time(each.begins), "ends": time(each.ends), "alarms": each.alarms, "maximum": each.most}
                for each in found.floods
            ],
            "most_frequent": [
                {**self._named(key), "alarms": count, "share": _rounded(count / found.alarms)}
                for key, count in found.most_frequent()
            ],
            "chattering": [{**self._named(key), "alarms": count} for key, count in found.chattering.items()],
            "stale": [{**self._named(key), "begins": time(begin)} for key, begin in found.stale.items()],
            "unacknowledged": [
                {**self._named(each.key), "begins": time(each.begins), "ends": time(each.ends), "seconds": each.seconds}
                for each in found.waits
            ],
            "acknowledged": {
                "count": len(found.answered),
                "median_seconds": found.answered_within(_HALF),
                "p90_seconds": found.answered_within(_MOST),
            },
        }

    def _by_priority(self) -> dict[str, int]:
        """How many alarms began of each priority; those that the program does not declare any more have none."""
        counts: Counter[str] = Counter(dict.fromkeys(PRIORITIES, 0))
        for (alarm, _), count in self._figures.begins.items():
            counts[self._priorities.get(alarm, "none")] += count
        return dict(counts)

    def _named(self, key: Key) -> dict[str, Any]:
        return self._desk.named(key)


def _rounded(number: float) -> float:
    return round(number, _DIGITS)
