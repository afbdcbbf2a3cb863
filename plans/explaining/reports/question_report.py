"""What is known of a question before anything runs: whether it recurs, and how long an answer can stay open."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.plans.asking.termination import is_recursive
from tidelog.plans.asking.time_edges import TimeEdge, edges_of
from tidelog.plans.asking.time_strata import TimeStratum, time_strata
from tidelog.plans.language.printing import format_formula, format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree.syntax import Rule, Time


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """A question, `query`, and what bounds its answers, in ticks (Cruz-Filipe, Gaspar and Nunes 2020, section 5).

    It is connected if in each rule every atom's time lies at a bounded distance from the head's; `unconnected` is the first
    rule of which this is not true. An answer at T needs facts from `T + earliest` to `T + latest`; these are infinite where
    nothing bounds them. It is decided at `T + settled`, late facts included. `strata` are told where something is negated.
    """

    name: str
    query: str
    inputs: Mapping[str, int]
    is_recursive: bool
    unconnected: str
    earliest: Time
    latest: Time
    settled: Time
    strata: tuple[TimeStratum, ...] = ()
    depth: int | None = None

    @property
    def delay(self) -> int | None:
        """The least delay of Definition 5: how far behind an answer's time it is decided; None if there is none."""
        return None if math.isinf(self.latest) else max(0, int(self.latest))

    @property
    def window(self) -> int | None:
        """The least window size of Definition 5: how many time points up to the decision matter; None without a bound."""
        delay = self.delay
        return None if delay is None or math.isinf(self.earliest) else delay - int(self.earliest) + 1


def question_reports(plan: Plan) -> tuple[QuestionReport, ...]:
    """What is known of each question of a plan, in order."""
    return tuple(map(_report, plan.questions))


def _report(question: Question) -> QuestionReport:
    edges = edges_of(question.rules)
    shift = question.query.at.shift if question.query.at is not None else 0
    low, high = _furthest(question, edges, -1), _furthest(question, edges, 1)
    late = _furthest(question, edges, 1, question.delays)
    has_negation = any(edge.negated for edge in edges)
    return QuestionReport(
        name=question.name,
        query=format_formula(question.query),
        inputs={name: question.delay(name) for name in sorted(question.inputs)},
        is_recursive=is_recursive(question),
        unconnected=_unconnected(edges),
        earliest=shift - low,
        latest=shift + high,
        settled=shift + late,
        strata=time_strata(question.rules) if has_negation else (),
        depth=question.depth,
    )


def _unconnected(edges: Sequence[TimeEdge]) -> str:
    rule: Rule | None = next((edge.rule for edge in edges if math.isinf(edge.low) or math.isinf(edge.high)), None)
    return "" if rule is None else format_statement(rule)


def _furthest(question: Question, edges: Sequence[TimeEdge], sign: int, delays: Mapping[str, int] | None = None) -> Time:
    """How far ahead of its time (with `sign` -1: behind) a query needs inputs: a longest way, infinite if it has rounds."""
    reach: dict[str, Time] = {name: (delays or {}).get(name, 0) for name in question.inputs}
    names = {edge.head.predicate for edge in edges}
    for number in range(2 * len(names) + 2):
        is_endless = number > len(names)  # a way that still gets longer goes round
        changed = False
        for edge in edges:
            if edge.atom.predicate not in reach:
                continue
            far = reach[edge.atom.predicate] + (edge.high if sign > 0 else -edge.low)
            if far > reach.get(edge.head.predicate, -math.inf):
                reach[edge.head.predicate] = math.inf if is_endless else far
                changed = True
        if not changed:
            break
    return reach.get(question.query.predicate, 0)


# --- as text and as fields ----------------------------------------------------------------------------------------------


def question_lines(report: QuestionReport) -> list[str]:
    """A question's lines in `check -v`."""
    kind = "recursive" if report.is_recursive else "non-recursive"
    depth = f", followed {report.depth} deep" if report.is_recursive and report.depth is not None else ""
    lines = [f"{report.query}: {kind}{depth}, {'not connected' if report.unconnected else 'connected'}"]
    if report.unconnected:
        lines.append(f"  several times, far apart, in {report.unconnected}")
    lines += [f"  {_delay(report)}", f"  {_window(report)}"]
    if report.strata:
        lines.append(f"  T-strata: {'; '.join(map(str, report.strata))}")
    return lines


def _delay(report: QuestionReport) -> str:
    if report.delay is None:
        return "delay: none, nothing bounds how long an answer stays open"
    settled = max(0, int(report.settled))
    late = " and ".join(f"`{name}`" for name, delay in report.inputs.items() if delay)
    by = f"; with late facts of {late} by {_time(settled)}" if settled != report.delay else ""
    return f"delay: {report.delay} (an answer at T is decided by {_time(report.delay)}{by})"


def _window(report: QuestionReport) -> str:
    if report.window is None:
        return "window: none, nothing bounds what an answer needs"
    first, last = int(report.earliest), int(report.latest)
    needs = f"at {_time(first)}" if first == last else f"from {_time(first)} to {_time(last)}"
    return f"window: {report.window} (it needs facts {needs})"


def _time(shift: int) -> str:
    return f"T{shift:+}" if shift else "T"


def question_fields(report: QuestionReport) -> dict[str, object]:
    """A question for programs: `delay` and `window` are null where there is none."""
    return {
        "name": report.name,
        "query": report.query,
        "recursive": report.is_recursive,
        "depth": report.depth,
        "connected": not report.unconnected,
        "unconnected": report.unconnected or None,
        "delay": report.delay,
        "window": report.window,
        "settled": None if math.isinf(report.settled) else max(0, int(report.settled)),
        "inputs": dict(report.inputs),
        "strata": [
            {"predicate": item.predicate, "stratum": item.stratum, "rate": item.rate, "offset": item.offset}
            for item in report.strata
        ],
    }
