"""All that is proved of a plan, as diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.plan.plan import Plan
from tidelog.plans.proving.judging import Judge
from tidelog.plans.proving.numbers.thresholds import bands_of, threshold_findings
from tidelog.plans.proving.rulebook import Rulebook, rulebook
from tidelog.plans.tree.declared.alarms import alarms_of, is_of_alarm
from tidelog.plans.tree.walk import derived


def book_of(plan: Plan) -> Rulebook:
    """The rules of a plan for proofs. How the parts of an alarm hold, which its declaration stands for, is left open."""
    facts = [(name, row, plan.timeline.decode_interval(lo, hi)) for name, row, lo, hi in plan.facts]
    alarms = alarms_of(plan.program)
    relaxed = [name for name in derived(plan.program) if is_of_alarm(name, alarms)]
    return rulebook(
        plan.program, [name for name, item in plan.schema.predicates.items() if item.accepts_input], facts, relaxed
    )


def findings(plan: Plan, is_over: Callable[[], bool]) -> tuple[Diagnostic, ...]:
    """The findings about a plan, by place, as far as they are proved before it is over."""
    judge = Judge(book_of(plan), is_over)
    outputs = tuple(plan.outputs)
    judge.find_dead()
    return in_order([*judge.never(outputs), *beside(judge, outputs)])


def beside(judge: Judge, outputs: tuple[str, ...], ending: Collection[str] = ()) -> Iterator[Diagnostic]:
    """What is found once it is known what never holds; it is not asked whether those outputs end that are `ending`."""
    yield from judge.needless_rules()
    yield from judge.needless_conditions()
    yield from judge.hidden()
    yield from judge.together(outputs)
    yield from judge.lasting(name for name in outputs if name not in ending)
    yield from threshold_findings(judge.book, bands_of(judge.book))


def in_order(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By place."""
    return tuple(sorted(found, key=lambda item: (item.span, item.code)))
