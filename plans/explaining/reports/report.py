"""All analyses of a plan together: what `tidelog check -v` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, groupby

from tidelog.plans.analysis.horizons.delay import OutputDelay, delays
from tidelog.plans.analysis.horizons.extent import Extent, extent_of
from tidelog.plans.analysis.horizons.forward import Obstacle, obstacles
from tidelog.plans.analysis.horizons.growth import GrowthHint, growth_hints
from tidelog.plans.analysis.horizons.memory import MemoryBound, memory_bounds
from tidelog.plans.analysis.horizons.numbers import format_bound
from tidelog.plans.analysis.horizons.retention import PredicateRetention, StoreRetention, predicate_retention, retention_of
from tidelog.plans.analysis.recursion.recursion import Recursion, recursions_of
from tidelog.plans.analysis.recursion.strata import Strata, strata_of
from tidelog.plans.data.facts import format_predicate
from tidelog.plans.data.timeline import format_time
from tidelog.plans.explaining.alarm_rules import alarm_of, alarm_rules
from tidelog.plans.explaining.reports.piecewise import Piecewise, piecewise
from tidelog.plans.explaining.reports.pruned import PrunedRule, pruned_rules
from tidelog.plans.explaining.reports.question_report import (
    QuestionReport,
    question_fields,
    question_lines,
    question_reports,
)
from tidelog.plans.explaining.reports.stage_report import stage_fields, stage_lines
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.partition import Partition, partitions_of
from tidelog.plans.stages.stages import StagePlan, stages_of
from tidelog.plans.tree.declared.alarms import Alarm
from tidelog.plans.tree.walk import forward_part


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known of a plan before anything runs. Times are in the program's own unit.

    The program is forward-propagating if there are no `obstacles`. `bounds` are those of Theorems 12 and 15.
    """

    obstacles: tuple[Obstacle, ...]
    delays: tuple[OutputDelay, ...]
    extent: Extent
    retention: tuple[PredicateRetention, ...]
    stores: tuple[StoreRetention, ...]
    bounds: tuple[MemoryBound, ...]
    strata: Strata
    recursions: tuple[Recursion, ...]
    pruned: tuple[PrunedRule, ...]
    pieces: tuple[Piecewise, ...]
    growth: tuple[GrowthHint, ...]
    partitions: tuple[Partition, ...]
    stages: StagePlan
    questions: tuple[QuestionReport, ...] = ()
    alarms: tuple[Alarm, ...] = ()

    @property
    def is_forward_propagating(self) -> bool:
        """Whether Definition 4 of Wałęga et al. 2023 holds."""
        return not self.obstacles


def analyse(plan: Plan, *, spacing: Fraction | None = None, step: Fraction | None = None) -> Analysis:
    """Every analysis of a plan.

    The memory bounds are for a stream whose timestamps are multiples of `spacing`, read in steps of `step`: both in the
    program's time, above 0, and the timeline's resolution unless told. ValueError if one is not above 0.
    """
    spacing = plan.timeline.resolution if spacing is None else spacing
    step = plan.timeline.resolution if step is None else step
    if spacing <= 0 or step <= 0:
        raise ValueError("the spacing of timestamps and the step must be above 0")
    forward = obstacles(forward_part(plan.program, plan.normal.kept if plan.questions else None))
    extent = extent_of(plan)
    asked = {rule.span for question in plan.questions for rule in question.rules}
    return Analysis(
        obstacles=forward,
        delays=delays(plan),
        extent=extent,
        retention=predicate_retention(plan),
        stores=retention_of(plan),
        bounds=memory_bounds(plan.normal, extent, forward, spacing, step),
        strata=strata_of(plan.normal),
        recursions=recursions_of(plan),
        pruned=pruned_rules(plan.program, plan.normal.kept, asked),
        pieces=piecewise(plan),
        growth=growth_hints(plan),
        partitions=partitions_of(plan),
        stages=stages_of(plan),
        questions=question_reports(plan),
        alarms=plan.alarms,
    )


# --- as text ------------------------------------------------------------------------------------------------------------


def format_analysis(analysis: Analysis, objects: int | None = None) -> str:
    """An analysis for people: one finding a line, its reason beside it, each line ended.

    `objects` is the number of distinct constants, for which the memory bounds are then worked out. Of what an alarm
    stands for, it says no more than that.
    """
    generated = alarm_rules(analysis.alarms)
    growth = [item for item in analysis.growth if item.rule not in generated]
    sections = (
        _forward(analysis),
        _section(
            "delay",
            [f"{format_predicate(item.predicate)}: {format_time(item.delay)} ({item.why})" for item in analysis.delays],
        ),
        _extent(analysis.extent),
        _section(
            "retention",
            [f"{format_predicate(item.predicate)}: {format_time(item.keeps)} ({item.why})" for item in _written(analysis)],
        ),
        _section("memory", _memory(analysis, objects)),
        _section("strata", [f"{i}: {_names(names)}" for i, names in enumerate(analysis.strata, 1)]),
        _section("recursion", [_recursion(item) for item in analysis.recursions]),
        _section("pruned rules", [f"{item.rule}  ({item.why})" for item in analysis.pruned if item.rule not in generated]),
        _section("told in pieces", [line for item in analysis.pieces for line in item.lines()]) if analysis.pieces else (),
        _section("grows without end", [f"{item.why}; {item.help}  ({item.rule})" for item in growth]),
        _section("partition keys", [line for part in analysis.partitions for line in _partition(part)]),
        _section("stages", stage_lines(analysis.stages)),
        _section("questions", [line for item in analysis.questions for line in question_lines(item)])
        if analysis.questions
        else (),
    )
    return "".join(f"{line}\n" for line in chain.from_iterable(sections))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    items = list(lines)
    yield f"{title}:" if items else f"{title}: none"
    yield from (f"  {line}" for line in items)


def _forward(analysis: Analysis) -> Iterator[str]:
    if analysis.is_forward_propagating:
        yield "forward-propagating: yes (rules read the past and derive the future)"
        return
    yield "forward-propagating: no"
    generated = alarm_rules(analysis.alarms)
    for name in dict.fromkeys(generated[item.rule] for item in analysis.obstacles if item.rule in generated):
        yield f"  alarm {format_predicate(name)}"
        yield "    its states rest on what is not so, and on what was done before"
    written = (item for item in analysis.obstacles if item.rule not in generated)
    for rule, items in groupby(written, key=lambda item: item.rule):
        yield f"  {rule}"
        yield from (f"    {item.what}" for item in items)


def _extent(extent: Extent) -> Iterator[str]:
    yield f"window: {format_time(extent.window)} ({_found(extent.window_rule, 'the largest endpoint, in')})"
    algorithm = "a time alone, Algorithm 1" if extent.granularity == 0 else "the shortest interval, Algorithm 6"
    yield f"granularity: {format_time(extent.granularity)} ({_found(extent.granularity_rule, algorithm + ', in')})"
    sharps = [
        f"{format_predicate(item.predicate)}: gaps of up to {format_time(item.reach)} are covered" for item in extent.sharps
    ]
    yield from _section("#-facts", sharps)


def _found(rule: str, where: str) -> str:
    return f"{where} {rule}" if rule else "no interval bounds it"


def _memory(analysis: Analysis, objects: int | None) -> Iterator[str]:
    """The theorems' bounds, and where there are none, what bounds the ranges that are stored."""
    yield from (_bound(bound, objects) for bound in analysis.bounds)
    if all(bound.factor is None for bound in analysis.bounds):
        yield "so by retention, for each different row, where spacing is the shortest distance between two of its times:"
        yield from (f"  {format_predicate(item.predicate)}: {_ranges(item)}" for item in _written(analysis))
    yield from (
        f"alarm {format_predicate(alarm.name)}: a few ranges for each alarm, and each person" for alarm in analysis.alarms
    )
    generated = alarm_rules(analysis.alarms)
    if any(item.rule not in generated for item in analysis.growth):
        yield "no bound but the number of different rows: see `grows without end`"


def _written(analysis: Analysis) -> list[PredicateRetention]:
    """What is known of the predicates that the text has, and of the states of alarms."""
    return [item for item in analysis.retention if alarm_of(item.predicate, analysis.alarms) is None]


def _ranges(item: PredicateRetention) -> str:
    if item.keeps == 0:
        return "what holds at the watermark, 1 range"
    if item.most is not None:
        return f"at most {item.most} facts"
    if isinstance(item.keeps, float):
        return "no bound in time: 1 range, or as many as there are gaps between them"
    return f"at most {format_time(item.keeps)} / spacing + 1 ranges"


def _bound(bound: MemoryBound, objects: int | None) -> str:
    title = f"Theorem {bound.theorem}"
    if bound.factor is None:
        return f"{title}: does not apply, since {bound.why}"
    power = {0: "", 1: " · n"}.get(bound.exponent, f" · n^{bound.exponent}")
    text = f"{title}: at most {format_bound(-(-bound.factor // 1))}{power} facts for n constants"
    if objects is not None:
        value = bound.value(objects)
        text += f", {'too many to write down' if value is None else format_bound(value)} for n = {objects}"
    return f"{text} ({bound.why})"


def _recursion(item: Recursion) -> str:
    if not item.through_time:
        return f"{_names(item.predicates)}: at one time, within each batch"
    return f"{_names(item.predicates)}: through time, the future waits behind {_names(item.held)}"


def _partition(part: Partition) -> Iterator[str]:
    if not part.keys:
        yield f"{_names(part.predicates)}: none, because of {part.prevented_by}"
        return
    yield ", ".join(_pattern(name, part) for name in part.predicates)


def _pattern(name: str, part: Partition) -> str:
    """A predicate with the keys in their places: `Flag(_, K1)`."""
    arguments = ["_"] * part.arities[name]
    for number, key in enumerate(part.keys, 1):
        arguments[key[name]] = "K" if len(part.keys) == 1 else f"K{number}"
    return f"{format_predicate(name)}({', '.join(arguments)})" if arguments else format_predicate(name)


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(format_predicate, names))


# --- as fields ----------------------------------------------------------------------------------------------------------


def analysis_fields(analysis: Analysis, objects: int | None = None) -> dict[str, object]:
    """An analysis for programs, fit for JSON; positions of arguments count from 1.

    Times and the bounds' factors are exact, and so are text: `5/2`, `inf`. A `bound` is text too, rounded up where it is
    long (`4.01e15`); it is null where the theorem does not apply, or `objects` is not told.
    """
    return {
        "forward_propagating": analysis.is_forward_propagating,
        "obstacles": [{"rule": item.rule, "what": item.what} for item in analysis.obstacles],
        "delay": {item.predicate: {"delay": format_time(item.delay), "why": item.why} for item in analysis.delays},
        **_extent_fields(analysis.extent),
        "retention": {item.predicate: {"keeps": format_time(item.keeps), "why": item.why} for item in analysis.retention},
        "stores": [
            {"step": item.step, "store": item.store, "predicate": item.predicate, "keeps": format_time(item.keeps)}
            for item in analysis.stores
        ],
        "memory": [_bound_fields(bound, objects) for bound in analysis.bounds],
        "strata": [list(names) for names in analysis.strata],
        "recursion": [_recursion_fields(item) for item in analysis.recursions],
        "pruned": [{"rule": item.rule, "why": item.why} for item in analysis.pruned],
        "told_in_pieces": [{"what": item.what, "rules": list(item.rules)} for item in analysis.pieces],
        "growth": [{"step": item.step, "rule": item.rule, "why": item.why, "help": item.help} for item in analysis.growth],
        "partitions": [_partition_fields(part) for part in analysis.partitions],
        "staged": stage_fields(analysis.stages),
        "questions": [question_fields(item) for item in analysis.questions],
    }


def _extent_fields(extent: Extent) -> dict[str, object]:
    return {
        "window": {"value": format_time(extent.window), "rule": extent.window_rule},
        "granularity": {
            "value": format_time(extent.granularity),
            "rule": extent.granularity_rule,
            "algorithm": 1 if extent.granularity == 0 else 6,
        },
        "sharp_facts": {item.predicate: format_time(item.reach) for item in extent.sharps},
    }


def _bound_fields(bound: MemoryBound, objects: int | None) -> dict[str, object]:
    applies = bound.factor is not None
    value = bound.value(objects) if objects is not None else None
    return {
        "theorem": bound.theorem,
        "applies": applies,
        "factor": str(bound.factor) if applies else None,
        "exponent": bound.exponent,
        "objects": objects,
        "bound": None if value is None else format_bound(value),
        "why": bound.why,
    }


def _recursion_fields(item: Recursion) -> dict[str, object]:
    return {
        "loop": item.loop,
        "predicates": list(item.predicates),
        "through_time": item.through_time,
        "held": list(item.held),
        "rules": list(item.rules),
    }


def _partition_fields(part: Partition) -> dict[str, object]:
    return {
        "predicates": list(part.predicates),
        "keys": [{name: key[name] + 1 for name in part.predicates} for key in part.keys],
        "prevented_by": part.prevented_by,
    }
