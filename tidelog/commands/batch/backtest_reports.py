"""What a backtest has found, as text for people, or as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from tidelog.commands.batch.sweeping import Sweep
from tidelog.commands.outcome import count
from tidelog.connectors.formats.formatting import TimeFormatter, number_or_text
from tidelog.plans.data.facts import Fact, format_atom
from tidelog.plans.data.timeline import format_time

if TYPE_CHECKING:
    from tidelog.runtime.columns.backtest import Backtest, Side

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_SIDES = ("old", "new")
_encode = msgspec.json.Encoder().encode

_NAMES = (
    ("intervals", "intervals"),
    ("total", "time in alarm"),
    ("a_day", "a day"),
    ("flaps", "flaps"),
    ("longest", "longest"),
    ("precision", "precision"),
    ("recall", "recall"),
    ("delay", "delay (median)"),
    ("longest_delay", "longest delay"),
)
"""Each figure in JSON, and as people read it."""


def text_report(found: Backtest, times: TimeFormatter, shown: int) -> str:
    """The figures of each output side by side, and the first intervals that one program tells alone."""
    lines = [_heading(found, times)]
    for name, compared in found.outputs.items():
        sides = (compared.old, compared.new)
        told = [{} if side is None else _shown(side, found) for side in sides]
        lines += [
            "",
            *_table([name, *_SIDES], [[label, *(one.get(key, "–") for one in told)] for key, label in _used(told)]),
        ]
        for side, label in zip(sides, ("OLD", "NEW"), strict=True):
            lines += _alone(found, name, side, label, times, shown)
    return "\n".join(lines) + "\n"


def json_report(found: Backtest, times: TimeFormatter) -> str:
    """A line with the figures of each output, and one for each interval that only one program tells."""
    return "".join(f"{_encode(line).decode()}\n" for line in _json_lines(found, times))


def sweep_report(sweep: Sweep, compared: Sequence[Backtest], times: TimeFormatter, format: str) -> str:
    """A line for each candidate and output, with the figures of the new program."""
    rows = [
        (values, name, side, found)
        for values, found in zip(sweep, compared, strict=True)
        for name, outputs in found.outputs.items()
        if (side := outputs.new) is not None
    ]
    if format == "json":
        lines = [
            {"set": dict(values), "output": name, **_plain(side), "only_new": len(side.alone)}
            for values, name, side, _ in rows
        ]
        return "".join(f"{_encode(line).decode()}\n" for line in lines)
    told = [_shown(side, found) for _, _, side, found in rows]
    used = _used(told)
    several = len({name for _, name, _, _ in rows}) > 1
    header = [*sweep.values, *(["output"] if several else []), *(label for _, label in used)]
    body = [
        [*map(str, values.values()), *([name] if several else []), *(one.get(key, "–") for key, _ in used)]
        for (values, name, _, _), one in zip(rows, told, strict=True)
    ]
    return "\n".join([_heading(compared[0], times), "", *_table(header, body)]) + "\n"


def _heading(found: Backtest, times: TimeFormatter) -> str:
    if not found.rows:
        return "history: no facts"
    span = f"{times.at(found.span.first, found.span.first)} to {times.at(found.span.last, found.span.last)}"
    return f"history: {count(found.rows, 'fact')}, {span}"


def _used(told: Iterable[Mapping[str, str]]) -> list[tuple[str, str]]:
    there = {key for one in told for key in one}
    return [(key, label) for key, label in _NAMES if key in there]


def _shown(side: Side, found: Backtest) -> dict[str, str]:
    """The figures of an output as text, those that there are."""
    unit = found.old.timeline.unit
    figures, judged = side.figures, side.judged
    told = {"intervals": f"{figures.count:,}", "total": duration(figures.total, unit)}
    if figures.a_day is not None:
        told["a_day"] = f"{figures.a_day:,.0f}" if figures.a_day >= 100 else f"{figures.a_day:.3g}"
    told |= {"flaps": f"{figures.flaps:,}", "longest": duration(figures.longest, unit)}
    if judged is None:
        return told
    shares = {"precision": judged.precision, "recall": judged.recall}
    told |= {key: f"{share:.3f}" for key, share in shares.items() if share is not None}
    delays = {"delay": judged.delay, "longest_delay": judged.longest_delay}
    return told | {key: duration(delay, unit) for key, delay in delays.items() if delay is not None}


def _alone(found: Backtest, name: str, side: Side | None, label: str, times: TimeFormatter, shown: int) -> Iterator[str]:
    """What only one of the programs tells."""
    if side is None or not len(side.alone):
        return
    yield f"only {label}: {count(len(side.alone), 'interval')}"
    facts = sorted(side.alone.facts(found.pool), key=lambda fact: fact[1:])
    for row, lo, hi in facts[:shown]:
        yield f"  {format_atom(name, row)}@{times.at(lo, hi)}"
    if len(facts) > shown > 0:
        yield f"  … and {len(facts) - shown:,} more (`--show`, or `--format json` for all)"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns side by side: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))])
        for row in (header, *rows)
    ]


def duration(length: Fraction, unit: Fraction | None) -> str:
    """A length of time as people read it, where the program has a unit.

    >>> duration(Fraction(5400), Fraction(1)), duration(Fraction(3, 2), None), duration(Fraction(30), Fraction(1))
    ('1.5 h', '3/2', '30 s')
    """
    if unit is None:
        return format_time(length)
    seconds = length * unit
    for name, size in _UNITS:
        if seconds >= size:
            return f"{float(seconds / size):.3g} {name}"
    return f"{float(seconds):.3g} s"


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json_lines(found: Backtest, times: TimeFormatter) -> Iterator[dict[str, object]]:
    yield {
        "facts": found.rows,
        "from": _time(times, found.span.first) if found.rows else None,
        "to": _time(times, found.span.last) if found.rows else None,
    }
    for name, compared in found.outputs.items():
        sides = dict(zip(_SIDES, (compared.old, compared.new), strict=True))
        yield {"output": name, **{label: None if side is None else _plain(side) for label, side in sides.items()}}
        for label, side in sides.items():
            facts: list[Fact] = [] if side is None else side.alone.facts(found.pool)
            for row, lo, hi in sorted(facts, key=lambda fact: fact[1:]):
                yield {"only": label, "predicate": name, "args": row, "interval": times.at(lo, hi)}


def _time(times: TimeFormatter, point: int) -> int | str:
    return number_or_text(times.at(point, point))


def _plain(side: Side) -> dict[str, object]:
    """The figures of an output, exact numbers as text where they are not whole."""
    figures, judged = side.figures, side.judged
    told: dict[str, object] = {
        "intervals": figures.count,
        "total": number_or_text(format_time(figures.total)),
        "a_day": figures.a_day,
        "flaps": figures.flaps,
        "longest": number_or_text(format_time(figures.longest)),
    }
    if judged is None:
        return told
    return told | {
        "labels": judged.labels,
        "found": judged.found,
        "precision": judged.precision,
        "recall": judged.recall,
        "delay": None if judged.delay is None else number_or_text(format_time(judged.delay)),
        "longest_delay": None if judged.longest_delay is None else number_or_text(format_time(judged.longest_delay)),
    }
