"""Comparing what is told of alarms with what the table of their states says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from oracle.agreement import Runs
from oracle.alarm_programs import Alarming
from oracle.alarms import NORMAL
from tidelog.plans.alarms.desk import Deed, OpenAlarm
from tidelog.plans.plan.plan import Plan


def placed(plan: Plan, time: Fraction) -> int:
    """A time, encoded; one between two whole times lies in the gap between them."""
    return plan.timeline.encode_point(time)


def wrong_states(drawn: Alarming, plan: Plan, runs: Runs, points: Iterable[Fraction] | None = None) -> list[str]:
    """Where the states that are told are others than those of the table, in all cells, or at these times."""
    times = drawn.times()
    chosen = drawn.known() if points is None else sorted(points)
    ranges: dict[object, list[tuple[str, int, int]]] = {}
    for (name, row), spells in runs.items():
        if name == "hot_state":
            ranges.setdefault(row[:-1], []).extend((str(row[-1]), lo, hi) for lo, hi in spells)
    found = [f"{row} is no row of the alarm" for row in ranges if row not in drawn.rows]
    for row in drawn.rows:
        wanted = dict(zip(times, drawn.moments(row, times), strict=True))
        for time in chosen:
            at = placed(plan, time)
            told = sorted(state for state, lo, hi in ranges.get(row, []) if lo <= at <= hi)
            state = wanted[time].state
            if told != ([] if state == NORMAL else [state]):
                found.append(f"{row}@{time}: told {told}, wanted {state}")
    return found


def wrong_desk(drawn: Alarming, plan: Plan, told: Sequence[OpenAlarm], frontier: int) -> list[str]:
    """Where the alarms of a desk are others than those of the table at a frontier, encoded."""
    times = drawn.times()
    known = [time for time in times if placed(plan, time) <= frontier]
    found = {item.args: item for item in told}
    wrong = [f"told twice: {told}"] if len(found) != len(told) else []
    for row in drawn.rows if known else ():
        now = drawn.moments(row, known)[-1]
        item = found.pop(row, None)
        if item is None or now.state == NORMAL:
            wrong += [f"{row}: told {item}, wanted {now}"] if item is not None or now.state != NORMAL else []
            continue
        wanted = [
            now.state,
            *map(sorted, (now.acknowledged, now.shelved, now.removed)),
            None if now.until is None else placed(plan, Fraction(now.until)),
            _begin(plan, now.begins),
            _end(plan, now.ends),
        ]
        has = [
            item.state,
            *map(_people, (item.acknowledged, item.shelved, item.removed)),
            item.shelved_until,
            item.begins,
            item.ends,
        ]
        wrong += [f"{row}: told {has}, wanted {wanted}"] if has != wanted else []
    return wrong + [f"{row}: told {item}" for row, item in found.items()]


def _people(deeds: Iterable[Deed]) -> list[str]:
    return sorted({deed.who for deed in deeds})


def _end(plan: Plan, time: Fraction | None) -> int | None:
    """The last time before the cell in which it returned; its begin where that is closed on a dense timeline."""
    begin = _begin(plan, time)
    return begin if begin is None or not (plan.timeline.is_integer or begin & 1) else begin - 1


def _begin(plan: Plan, time: Fraction | None) -> int | None:
    """Where a cell begins: a gap begins behind the whole time before it."""
    if time is None:
        return None
    return placed(plan, time) if time.denominator == 1 else placed(plan, Fraction(int(time))) + 1
