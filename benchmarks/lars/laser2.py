"""Laser2's benchmarks (2021, Evaluation): rules that cannot fire for a while, with prospects and without.

Laser2's window of n time points is `in [n-1]`. Evaluations are how often an operator was given facts. In the best case and
in the cascade they must be a tenth at most; in the worst case, where there is next to nothing to gain, prospects may cost
a twentieth of the time at most. The plan leaves windows alone that are too short for a sleep, as the paper proposes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tidelog
from benchmarks.figures import Figure
from benchmarks.lars.panels import Findings, Panel
from benchmarks.lars.sessions import FromStart, cpu_in_both_orders, peak_memory
from benchmarks.lars.sizes import Sizes
from benchmarks.lars.streams import Stream, absent_at, same, together
from tidelog.plans.plan.plan import Plan

WORST_TARGET, BEST_TARGET = 1.05, 0.1
SHORT, ALWAYS_THERE = (1, 2, 3), (9, 20)
WITH, WITHOUT = "with prospects", "without"

_INPUTS = "timeline integer. input p(x, y). input q(x, y).\n"
_RULE = "{head}(X, Y) :- sometime p(X, Y) in [{some}], always {below}(X, Y) in [{all}].\n"


@dataclass(frozen=True, slots=True)
class _Case:
    """A program over a stream; `line` and `x` are its place in a plot."""

    plan: Plan
    stream: Stream
    line: str
    x: int
    span: int
    filled: int
    """After how many time points its windows are full."""


@dataclass(frozen=True, slots=True)
class _Side:
    """What a case costs with prospects, or without: CPU a fact in µs, evaluations, the peak of memory in MB."""

    cpu: float
    evaluations: int
    memory: float


_Sides = tuple[_Side, _Side]


def best(sizes: Sizes) -> Findings:
    """One rule whose □ never holds, since its facts are absent at every n-th time point."""
    cases = [
        _Case(
            tidelog.compile(_INPUTS + _rule("m", period, "q", period)),
            together(same("p", rate), absent_at(period, same("q", rate))),
            f"{rate} facts",
            period,
            sizes.span_of(rate),
            2 * period,
        )
        for rate in sizes.batches
        for period in sizes.periods
    ]
    title = "One rule that can never fire: the best case (Laser2, Fig. 2)"
    return _compared("laser2_best", title, "n", cases, sizes.repeats, _fewer_evaluations)


def worst(sizes: Sizes) -> Findings:
    """Rules that get nothing from a sleep: windows too short for it (n = 1, 2, 3; no q), and those always awake (9 is the
    shortest that may sleep; 20)."""
    cases = [
        _Case(
            tidelog.compile(_INPUTS + _rule("m", 10, "q", length)),
            same("p", rate) if length in SHORT else together(same("p", rate), same("q", rate)),
            f"{rate} facts",
            length,
            sizes.span_of(rate, sizes.worst_facts),
            2 * length,
        )
        for rate in sizes.batches
        for length in (*SHORT, *ALWAYS_THERE)
    ]
    title = "One rule with nothing to gain: the worst case (Laser2, Fig. 3; n ≥ 9 with q always there)"
    return _compared("laser2_worst", title, "n", cases, sizes.many_repeats, _hardly_slower)


def cascade(sizes: Sizes) -> Findings:
    """A chain of rules, each over □ of the one before; the first is over facts that never come."""
    cases = [
        _Case(
            tidelog.compile(_INPUTS + _chain(levels, window)),
            same("p", sizes.cascade_rate),
            f"w = {window}",
            levels,
            sizes.span_of(sizes.cascade_rate),
            2 * window,
        )
        for window in sizes.cascade_windows
        for levels in sizes.levels
    ]
    title = "A chain of rules that never fire (Laser2, Fig. 4)"
    return _compared("laser2_cascade", title, "rules", cases, sizes.repeats, _fewer_evaluations)


def _rule(head: str, some: int, below: str, every: int) -> str:
    """A rule over windows of so many time points."""
    return _RULE.format(head=head, some=some - 1, below=below, all=every - 1)


def _chain(levels: int, window: int) -> str:
    return "".join(_rule(f"h{i}", window, f"h{i - 1}" if i > 1 else "q", window) for i in range(1, levels + 1))


def _compared(
    benchmark: str,
    title: str,
    x: str,
    cases: Sequence[_Case],
    repeats: int,
    judge: Callable[[_Sides], tuple[str, float, float]],
) -> Findings:
    """Each case with prospects and without, by turns; `judge` names the ratio that has a target."""
    found = [_measure(case, repeats) for case in cases]
    ratios = []
    for case, sides in zip(cases, found, strict=True):
        what, ratio, target = judge(sides)
        ratios.append(Figure(benchmark, f"{case.line}, {x} {case.x}: {what}, with / without", ratio, target=target))
    panels = [
        _panel("evaluations", "evaluations", x, cases, found, lambda side: side.evaluations),
        _panel("CPU a fact", "µs", x, cases, found, lambda side: side.cpu),
        _panel("peak memory", "MB", x, cases, found, lambda side: side.memory),
    ]
    return Findings(benchmark, title, panels, ratios)


def _measure(case: _Case, repeats: int) -> _Sides:
    batches = [case.stream(tick) for tick in range(case.span)]
    facts = sum(map(len, batches))
    sides = [FromStart(case.plan, batches, prospects) for prospects in (True, False)]
    times = cpu_in_both_orders([side.prepare for side in sides], repeats)
    memory = [peak_memory(case.plan, case.stream, case.filled, prospects) for prospects in (True, False)]
    on, off = (
        _Side(spent / facts * 1e6, side.evaluations(), peak) for side, spent, peak in zip(sides, times, memory, strict=True)
    )
    return on, off


def _fewer_evaluations(sides: _Sides) -> tuple[str, float, float]:
    on, off = sides
    return "evaluations", on.evaluations / off.evaluations, BEST_TARGET


def _hardly_slower(sides: _Sides) -> tuple[str, float, float]:
    on, off = sides
    return "CPU", on.cpu / off.cpu, WORST_TARGET


def _panel(
    title: str, unit: str, x: str, cases: Sequence[_Case], found: Sequence[_Sides], pick: Callable[[_Side], float]
) -> Panel:
    lines: dict[str, dict[int, float]] = {}
    for number, name in enumerate((WITH, WITHOUT)):
        for case, sides in zip(cases, found, strict=True):
            lines.setdefault(f"{case.line}, {name}", {})[case.x] = pick(sides[number])
    return Panel(title, x, unit, lines, is_wide=unit == "evaluations")
