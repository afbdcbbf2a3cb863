"""Laser's benchmarks (2017, section 4): ◇, □, a join, many rules, and the cooling system, each with windows of many lengths.

Laser's window of n is `in [n]`. With ◇ and □ a fact must not cost more where the window is longer; a join and the cooling
system have more answers then. The rows of a window meet those of the join in such numbers that a fact has a few answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tidelog
from benchmarks.figures import Figure
from benchmarks.lars.panels import Findings, Panel
from benchmarks.lars.sessions import FullWindow, cpu_in_both_orders, peak_memory
from benchmarks.lars.sizes import Sizes
from benchmarks.lars.streams import Stream, pairs, readings, same, unique
from tidelog.plans.plan.plan import Plan

WINDOW_TARGET, RULES_TARGET = 1.2, 100.0

DIAMOND = "q(A, B) :- sometime p(A, B) in [{n}].\n"
BOX = "q(A, B) :- always p(A, B) in [{n}].\n"
JOIN = "q(A, C) :- sometime p(A, B) in [{n}], sometime p(B, C) in [{n}].\n"
COOLING = Path(__file__).parents[2] / "examples" / "cooling" / "cooling.tide"

Streams = Callable[[int], Stream]
"""The stream with so many facts at each time point."""


@dataclass(frozen=True, slots=True)
class _Cost:
    """What a window costs: CPU a fact in µs, the peak of memory in MB, answers a fact."""

    cpu: float
    memory: float
    answers: float


_Lines = dict[str, dict[int, float]]
_Costs = dict[str, dict[int, _Cost]]
"""For each line of a plot the cost of each window."""


def diamond(sizes: Sizes) -> Findings:
    """◇: a fact holds for a window's length."""
    return _one_atom("laser_diamond", "◇ in a window (Laser, Fig. 2a)", DIAMOND, sizes)


def box(sizes: Sizes) -> Findings:
    """□: a fact has come at each time point of a window."""
    return _one_atom("laser_box", "□ in a window (Laser, Fig. 2b)", BOX, sizes)


def _one_atom(benchmark: str, title: str, rule: str, sizes: Sizes) -> Findings:
    streams: dict[str, Streams] = {"the same facts": partial(same, "p"), "unique facts": partial(unique, "p")}
    costs = {kind: _by_window(partial(_plan, rule), stream, sizes, sizes.many_repeats) for kind, stream in streams.items()}
    panels = [_panel(f"{kind}, CPU a fact", "µs", found, lambda cost: cost.cpu) for kind, found in costs.items()]
    panels += [_panel(f"{kind}, peak memory", "MB", found, lambda cost: cost.memory) for kind, found in costs.items()]
    ratios = [ratio for kind in costs for ratio in _long_by_short(benchmark, f"{kind}, ", costs[kind], WINDOW_TARGET)]
    return Findings(benchmark, title, panels, ratios)


def join(sizes: Sizes) -> Findings:
    """Two ◇ of one stream, joined: random pairs."""
    costs = _by_window(partial(_plan, JOIN), partial(pairs, "p"), sizes, sizes.fewest_repeats)
    return _with_answers("laser_join", "A join of two windows (Laser, Fig. 3a)", costs)


def cooling(sizes: Sizes) -> Findings:
    """The cooling system, which is an example of ours, over random temperatures."""
    return _with_answers(
        "laser_cooling", "The cooling system (Laser, Fig. 5)", _by_window(_cooling, readings, sizes, sizes.repeats)
    )


def _with_answers(benchmark: str, title: str, costs: _Costs) -> Findings:
    panels = [
        _panel("CPU a fact", "µs", costs, lambda cost: cost.cpu),
        _panel("peak memory", "MB", costs, lambda cost: cost.memory),
        _panel("answers a fact", "answers", costs, lambda cost: cost.answers),
    ]
    return Findings(benchmark, title, panels, _long_by_short(benchmark, "", costs, None))


def rules(sizes: Sizes) -> Findings:
    """Copies of one rule, under names of their own, over one stream.

    A join's stream is thinner than Laser's, except in the last ratio.
    """
    benchmark, thin, full = "laser_rules", sizes.copied_rate, sizes.rates[0]
    few, many = sizes.copies[0], sizes.copies[-1]

    def measure(rule: str, stream: Stream, windows: Sequence[int], copies: Sequence[int], ticks: int) -> _Lines:
        return {f"window {n}": _by_copies(rule, stream, n, copies, (ticks, sizes.fewest_repeats)) for n in windows}

    diamonds = measure(DIAMOND, unique("p", full), sizes.copied_windows, sizes.copies, sizes.few_ticks)
    joins = measure(JOIN, pairs("p", thin), sizes.copied_windows, sizes.copies, sizes.few_ticks)
    full_joins = measure(JOIN, pairs("p", full), sizes.windows[1:2], (few, many), sizes.fewest_ticks)
    compared = {f"◇, {full} facts": diamonds, f"join, {thin} facts": joins, f"join, {full} facts": full_joins}
    ratios = [
        Figure(benchmark, f"{name} a time point, {line}, {many} rules / {few}", found[many] / found[few], "", RULES_TARGET)
        for name, lines in compared.items()
        for line, found in lines.items()
    ]
    panels = [
        Panel(f"◇, {full} facts a time point, CPU a fact", "rules", "µs", diamonds),
        Panel(f"join, {thin} facts a time point, CPU a fact", "rules", "µs", joins),
    ]
    return Findings(benchmark, "Many rules over one stream (Laser, Fig. 3b)", panels, ratios)


def _plan(rule: str, window: int, copies: int = 1) -> Plan:
    """So many rules with heads q0, q1, …, and the same window."""
    heads = [rule.replace("q(", f"q{i}(", 1).format(n=window) for i in range(copies)]
    return tidelog.compile(f"timeline integer. input p(a, b).\n{''.join(heads)}")


def _cooling(window: int) -> Plan:
    """The example's program, all of its windows of this length."""
    return tidelog.compile(re.sub(r"in \[\d+\]", f"in [{window}]", COOLING.read_text("utf-8")), name="cooling")


def _by_window(plan_of: Callable[[int], Plan], streams: Streams, sizes: Sizes, repeats: int) -> _Costs:
    """For each rate the cost of each window, all windows of a rate measured by turns."""
    return {f"{rate} facts a time point": _costs(plan_of, streams(rate), sizes, repeats) for rate in sizes.rates}


def _costs(plan_of: Callable[[int], Plan], stream: Stream, sizes: Sizes, repeats: int) -> dict[int, _Cost]:
    plans = {window: plan_of(window) for window in sizes.windows}
    sessions = [FullWindow(plan, stream, window, sizes.ticks) for window, plan in plans.items()]
    times = cpu_in_both_orders([session.next_ticks for session in sessions], repeats)
    return {
        window: _Cost(spent / session.facts * 1e6, peak_memory(plan, stream, window + 2), session.answers / session.facts)
        for (window, plan), session, spent in zip(plans.items(), sessions, times, strict=True)
    }


def _by_copies(rule: str, stream: Stream, window: int, copies: Sequence[int], length: tuple[int, int]) -> dict[int, float]:
    """The CPU of a fact with each number of rules, by turns; `length`: time points of a turn, and how many turns."""
    ticks, repeats = length
    sessions = [FullWindow(_plan(rule, window, number), stream, window, ticks) for number in copies]
    times = cpu_in_both_orders([session.next_ticks for session in sessions], repeats)
    return {number: spent / session.facts * 1e6 for number, session, spent in zip(copies, sessions, times, strict=True)}


def _panel(title: str, unit: str, costs: _Costs, pick: Callable[[_Cost], float]) -> Panel:
    lines = {line: {window: pick(cost) for window, cost in found.items()} for line, found in costs.items()}
    return Panel(title, "window", unit, lines)


def _long_by_short(benchmark: str, kind: str, costs: _Costs, target: float | None) -> list[Figure]:
    """What the longest window costs over the shortest, for each rate."""
    return [
        Figure(benchmark, f"{kind}{line}, window {max(found)} / window {min(found)}", _ratio(found), target=target)
        for line, found in costs.items()
    ]


def _ratio(found: dict[int, _Cost]) -> float:
    return found[max(found)].cpu / found[min(found)].cpu
