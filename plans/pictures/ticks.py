"""Where the marks of an axis stand, and what is written at them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEPS = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    10800,
    21600,
    43200,
    86400,
    2 * 86400,
    7 * 86400,
    14 * 86400,
)
"""Seconds between marks, where they are less than a month."""
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)

Tick = tuple[float, str]


def number_ticks(low: float, high: float, most: int, *, is_whole: bool = False) -> list[Tick]:
    """Round numbers from `low` to `high`, `most` of them or fewer; with `is_whole`, only whole ones.

    >>> number_ticks(0, 10, 5)
    [(0, '0'), (2, '2'), (4, '4'), (6, '6'), (8, '8'), (10, '10')]
    """
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return []
    rough = max(span / most, 1.0 if is_whole else 0.0)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(_plain(i * step, places), f"{_plain(i * step, places):,.{places}f}") for i in range(first, last + 1)]


def _plain(number: float, places: int) -> float:
    rounded = round(number, places)
    return int(rounded) if places == 0 else rounded + 0.0


def date_ticks(low: float, high: float, most: int) -> list[Tick]:
    """Round times of the calendar (UTC) between two times in seconds since 1970, `most` of them or fewer.

    Each says what has changed since the one before it: the day where a day begins, otherwise the time of day.

    >>> [text for _, text in date_ticks(0, 86400, 4)]
    ['1 Jan 1970', '06:00', '12:00', '18:00', '2 Jan']
    """
    span = high - low
    if span < most:  # finer than a second: the seconds of the minute, as numbers
        base = math.floor(low / 60) * 60.0
        clock = _at(base)
        shown = number_ticks(low - base, high - base, most)
        return (
            [(base + at, f"{clock:%H:%M}:{text.zfill(2) if '.' not in text else text}") for at, text in shown]
            if clock
            else []
        )
    step = next((step for step in _STEPS if span / step <= most), None)
    times = _months(low, high, most) if step is None else _regular(low, high, step)
    return list(_named([time for time in times if time is not None]))


def _regular(low: float, high: float, step: int) -> Iterator[datetime | None]:
    first = math.ceil(low / step) * step
    return (_at(first + i * step) for i in range(int((high - first) // step) + 1))


def _months(low: float, high: float, most: int) -> Iterator[datetime | None]:
    begin, end = _at(low), _at(high)
    if begin is None or end is None:
        return
    months = (end.year - begin.year) * 12 + end.month - begin.month + 1
    step = next((step for step in _MONTHS if months / step <= most), _MONTHS[-1])
    number = -(-(begin.year * 12 + begin.month - 1) // step) * step
    while number // 12 <= end.year:
        month = datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)
        if begin <= month <= end:
            yield month
        number += step
        if number // 12 > 9999:
            return


def _at(seconds: float) -> datetime | None:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:  # beyond the years 1 to 9999
        return None


def _named(times: list[datetime]) -> Iterator[Tick]:
    before: datetime | None = None
    for time in times:
        yield (time - _EPOCH).total_seconds(), _name(time, before)
        before = time


def _name(time: datetime, before: datetime | None) -> str:
    day = f"{time.day} {time:%b}"
    if before is None or time.year != before.year:
        text = f"{day} {time.year}"
    elif time.date() != before.date():
        text = day
    else:
        return f"{time:%H:%M:%S}" if time.second else f"{time:%H:%M}"
    return text if (time.hour, time.minute, time.second) == (0, 0, 0) else f"{text} {time:%H:%M}"
