"""Runs the benchmarks of batch reasoning, one after the other, and keeps what they find."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from benchmarks.batch import university, weather
from benchmarks.batch.random_programs import PROGRAMS, random_facts, random_program
from benchmarks.batch.rounds import WAYS, Case, Cost, Way, collecting_nothing, measure, peak_memory
from benchmarks.batch.wide_programs import NINE, nine_facts, wide_facts, wide_program
from benchmarks.figures import Figure, print_table
from benchmarks.lars.panels import Findings, Panel, print_panels
from benchmarks.lars.suite import keep_and_plot

OPTIMISED_TARGET, GROWTH_TARGET, MEMORY_TARGET = 1.05, 1.15, 1024.0
COLUMNS_TARGET = 1.0
"""Seconds for ten rounds of `RECURRING` over 100,000 facts."""
FACT_TARGET = 10.0
"""µs an input fact in a round: 100,000 facts a second."""
ROUNDS = 10
"""How many rounds recursion is followed, as in the paper's Figure 3."""

FLAT = Case("batch_university", "University, 21 rules without recursion", university.FLAT, university.university)
RECURRING = Case("batch_nine", "Nine rules of up to five columns", NINE, nine_facts, ROUNDS)
CASES = (
    FLAT,
    Case("batch_recursive", "University, all 29 rules", university.RULES, university.university, ROUNDS),
    Case("batch_weather", "Weather, 4 rules", weather.RULES, weather.weather),
    *(
        Case(f"batch_random_{name}", f"Random program {name}", random_program(name), random_facts, ROUNDS)
        for name in PROGRAMS
    ),
    RECURRING,
    Case("batch_wide", "Random program of up to five columns, with joins", wide_program(), wide_facts, ROUNDS),
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many facts, and how often each number of them is measured; the naive strategy up to `naive` of them."""

    repeats: Mapping[int, int]
    naive: int = 100_000


USUAL = Sizes({10_000: 9, 100_000: 3})
FULL = Sizes({10_000: 9, 100_000: 3, 1_000_000: 1})
SMOKE = Sizes({50: 1, 200: 1})

_Costs = dict[int, dict[Way, Cost]]
_Memory = dict[int, dict[Way, int]]
"""The peak in bytes. The naive strategy is left out: it keeps no state, but makes it anew in each round."""
_IN_MEMORY: tuple[Way, ...] = ("seminaive", "optimised", "columns")


def run(is_smoke: bool = False, is_full: bool = False) -> None:
    """Print every figure, then the ratios with their targets, and keep CSVs and plots; of few facts figures alone."""
    sizes = SMOKE if is_smoke else FULL if is_full else USUAL
    ratios: list[Figure] = []
    for case in CASES:
        print(f"{case.name} …", file=sys.stderr, flush=True)
        with collecting_nothing():
            costs = {facts: measure(case, facts, repeats, sizes.naive) for facts, repeats in sizes.repeats.items()}
            memory = {facts: {name: peak_memory(case, facts, name) for name in _IN_MEMORY} for facts in costs}
        findings = _find(case, costs, memory)
        print_panels(findings)
        ratios += findings.ratios
        if not is_smoke:
            keep_and_plot(findings)
    if not is_smoke:
        print()
        print_table(ratios)


def _find(case: Case, costs: _Costs, memory: _Memory) -> Findings:
    most = max(costs)
    peaks: dict[str, dict[int, float]] = {
        name: {facts: found[name] / 1e6 for facts, found in memory.items()} for name in _IN_MEMORY
    }
    panels = [
        _by_round(f"CPU up to a round, {most:,} facts", "s", costs[most], lambda cost: cost.cpu_so_far),
        _by_round(f"CPU of a round, {most:,} facts", "s", costs[most], lambda cost: list(cost.rounds)),
        _by_size("CPU", "s", costs, lambda cost: cost.cpu),
        Panel("peak memory", "facts", "MB", peaks),
        _by_size("stored in the end", "facts", costs, lambda cost: cost.stored),
        _by_size("evaluations", "evaluations", costs, lambda cost: cost.done.evaluations),
    ]
    ratios = [*_ratios(case, costs), *_bytes_a_fact(case, costs, memory), *_facts_a_second(case, costs)]
    return Findings(case.name, case.title, panels, ratios)


def _by_round(title: str, unit: str, costs: dict[Way, Cost], pick: Callable[[Cost], list[float]]) -> Panel:
    lines: dict[str, dict[int, float]] = {way: dict(enumerate(pick(costs[way]), 1)) for way in WAYS if way in costs}
    return Panel(title, "round", unit, lines)


def _by_size(title: str, unit: str, costs: _Costs, pick: Callable[[Cost], float]) -> Panel:
    lines: dict[str, dict[int, float]] = {
        way: {facts: pick(found[way]) for facts, found in costs.items() if way in found} for way in WAYS
    }
    return Panel(title, "facts", unit, lines)


def _ratios(case: Case, costs: _Costs) -> list[Figure]:
    figure = partial(Figure, case.name)
    figures = []
    for facts, found in costs.items():
        once = found["optimised"].cpu / found["seminaive"].cpu
        figures.append(figure(f"{facts:,} facts, CPU, optimised / seminaive", once, target=OPTIMISED_TARGET))
        columns = found["columns"].cpu
        target = COLUMNS_TARGET if case is RECURRING and facts == 100_000 else None
        figures.append(figure(f"{facts:,} facts, CPU in columns", columns, "s", target))
        figures.append(figure(f"{facts:,} facts, CPU, seminaive / columns", found["seminaive"].cpu / columns))
        figures.append(figure(f"{facts:,} facts, rules discarded", found["optimised"].done.discarded))
    numbers = sorted(costs)
    for few, many in pairwise(numbers):
        for name in costs[many]:
            growth = costs[many][name].cpu / costs[few][name].cpu / (many / few)
            title = f"CPU an input fact, {name}, {many:,} / {few:,} facts"
            figures.append(figure(title, growth, target=GROWTH_TARGET))
    return figures


def _bytes_a_fact(case: Case, costs: _Costs, memory: _Memory) -> list[Figure]:
    return [
        Figure(case.name, f"{facts:,} facts, {name}, a stored fact", peak / costs[facts][name].stored, "B", MEMORY_TARGET)
        for facts, peaks in memory.items()
        for name, peak in peaks.items()
    ]


def _facts_a_second(case: Case, costs: _Costs) -> list[Figure]:
    """Each round is over all input facts; the target is for the university's rules without recursion."""
    figures = []
    for facts, found in costs.items():
        for name in found:
            rounds = found[name].rounds
            each = found[name].cpu / len(rounds) / facts
            target = FACT_TARGET if case is FLAT and name != "naive" else None
            figures += [
                Figure(case.name, f"{facts:,} facts, {name}, a fact in a round", each * 1e6, "µs", target),
                Figure(case.name, f"{facts:,} facts, {name}, facts a second in a round", 1 / each),
                Figure(case.name, f"{facts:,} facts, {name}, facts a second in the slowest round", facts / max(rounds)),
            ]
    return figures
