"""One component of a plan by itself: what it reads stands for facts, and it derives only what may change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.plans.analysis.horizons.reach import outlook
from tidelog.plans.analysis.recursion.rounds import Component, RoundPlanner
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.timeline import POS, Metric
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    Feed,
    JoinShape,
    LatchShape,
    LatestShape,
    PairShape,
    PeriodShape,
    Step,
    SteppedShape,
    ThresholdShape,
    UnionShape,
)
from tidelog.plans.plan.shapes import TOP
from tidelog.plans.tree.syntax import Atom, Variable
from tidelog.runtime.batch.demand.bindings import Pattern


@dataclass(frozen=True, slots=True)
class Part:
    """A component: its `steps` between predicates of the text, its `rules` (the steps that end at a predicate, and at
    which), the `unions` of its predicates and their `widths` (how many columns they have), and how far they look `back` and
    `ahead` (encoded; `POS` without end)."""

    component: Component
    steps: Mapping[str, Step]
    rules: Mapping[str, str]
    unions: Mapping[str, Step]
    widths: Mapping[str, int]
    back: int
    ahead: int

    @property
    def text(self) -> tuple[str, ...]:
        """The predicates that it derives, and those that it reads."""
        return (*self.component.predicates, *self.component.reads)

    def cut(self) -> dict[str, Step]:
        """Its steps, with the predicates of the text as facts."""
        return {name: given(name) for name in self.text} | dict(self.steps)

    def plan(
        self, whole: BatchPlan, periods: Mapping[str, Sequence[int]], guards: Iterable[tuple[str, Pattern]]
    ) -> BatchPlan:
        """The component as a plan. Where there are `guards`, facts of `changed(P, columns)` say which rows of a predicate P
        may be derived, and when, by the values of these columns; those of `again(P, N)` repeat after each of P's `periods`
        (encoded; below 0 back in time), by number."""
        guarded: dict[str, list[Pattern]] = {}
        for name, pattern in guards:
            guarded.setdefault(name, []).append(pattern)
        steps = {step.id: step for step in self._steps(guarded)}
        text = dict.fromkeys([*self.text, *(changed(name, pattern) for name in guarded for pattern in guarded[name])])
        for name, lengths in periods.items():
            feeds = []
            for number, period in enumerate(lengths):
                for step in _repeating(again(name, number), period):
                    steps[step.id] = step
                text[again(name, number)] = None
                feeds.append(Feed("step", f"{again(name, number)}/2"))
            steps[name] = replace(steps[name], inputs=(*steps[name].inputs, *feeds))
        planner = RoundPlanner(steps.values(), text, ())
        levels = dict.fromkeys(self.component.predicates, 1)  # what repeats is known before it is negated
        return replace(
            whole,
            steps=planner.in_order(),
            strata=planner.strata(levels),
            constraints={},
            facts=tuple(fact for fact in whole.facts if fact[0] == TOP and TOP in self.text),  # no data may say it
            calendars={},
            over_calendars={},
        )

    def _steps(self, guarded: Mapping[str, Sequence[Pattern]]) -> Iterator[Step]:
        yield from (given(name) for name in self.component.reads)
        yield from self.steps.values()
        for name, union in self.unions.items():
            if not guarded:
                yield union
                continue
            feeds = [feed for feed in union.inputs if feed.kind != "step"]
            columns = tuple(Variable(f"X{i}") for i in range(self.widths[name]))
            for pattern in guarded[name]:
                guard = changed(name, pattern)
                yield given(guard)
                shape = JoinShape(columns, (columns, tuple(columns[i] for i in pattern)))
                for rule in union.feeders:
                    step, place = self.steps[rule], f"{rule}'{guard}"
                    yield Step(place, name, shape, (Feed("step", rule), Feed("step", guard)), step.rule, step.source)
                    feeds.append(Feed("step", place))
            yield replace(union, inputs=tuple(feeds))


def widths_of(plan: BatchPlan) -> dict[str, int]:
    """How many arguments each predicate has, also what only a machine's rules know of it, which nobody declares."""
    of_rules = {rule.head.predicate: len(rule.head.arguments) for rule in plan.normal.rules if isinstance(rule.head, Atom)}
    return of_rules | {name: item.arity for name, item in plan.schema.predicates.items()}


def part_of(plan: BatchPlan, component: Component, widths: Mapping[str, int]) -> Part:
    """A component of a plan by itself; `widths` are those of the plan's predicates."""
    known = {step.id: step for step in plan.steps}
    unions = {name: known[name] for name in component.predicates}
    rules = {rule: name for name, union in unions.items() for rule in union.feeders}
    reach = outlook(rules, known, [*component.predicates, *component.reads]).reach
    back, ahead = reach.within(0)
    return Part(
        component=component,
        steps={name: known[name] for name in component.steps},
        rules=rules,
        unions=unions,
        widths={name: widths[name] for name in component.predicates},
        back=POS if reach.past else back,
        ahead=POS if reach.future else ahead,
    )


def part_of_constraint(plan: BatchPlan, constraint: str) -> Part:
    """A constraint by itself: a component with a predicate that holds where it is violated."""
    known = {step.id: step for step in plan.steps}
    text = {step.id for step in plan.steps if step.id in plan.schema.predicates or step.id == TOP}
    found = outlook([constraint], known, text)
    name = f"violated'{constraint}"
    component = Component((name,), found.reads, found.steps, is_recursive=False, looks_back=False, ending="finite")
    back, ahead = found.reach.within(0)
    return Part(
        component=component,
        steps={step: known[step] for step in found.steps},
        rules={constraint: name},
        unions={name: Step(name, name, UnionShape(), (Feed("facts", name), Feed("step", constraint)))},
        widths={name: _width(plan, known, constraint)},
        back=POS if found.reach.past else back,
        ahead=POS if found.reach.future else ahead,
    )


def _width(plan: BatchPlan, steps: Mapping[str, Step], name: str) -> int:
    """How many columns the rows of a step have; 0 where that is known only of its rows."""
    if name in plan.schema.predicates:
        return plan.schema.predicates[name].arity
    match steps[name].shape:
        case JoinShape(head=head):
            return len(head)
        case PairShape(left=left, right=right):
            return len({*left, *right})
        case AntiJoinShape(columns=columns) | LatchShape(columns=columns):
            return len(columns)
        case AggregateShape(by=by) | PeriodShape(by=by):
            return len(by) + 1
        case ThresholdShape(by=by):
            return len(by)
        case UnionShape() | DilateShape() | ErodeShape() | SteppedShape() | LatestShape() if steps[name].feeders:
            return _width(plan, steps, steps[name].feeders[0])
        case _:
            return 0


def given(name: str) -> Step:
    """A predicate that has facts alone."""
    return Step(name, name, UnionShape(), (Feed("facts", name),))


def changed(name: str, pattern: Pattern) -> str:
    """The predicate that says what of another may change, by the values of some columns; no program has one that is so
    called."""
    return f"changed'{','.join(map(str, pattern))}'{name}"


def again(name: str, number: int) -> str:
    """The predicate that says what of another returns for ever after one of its periods."""
    return f"again'{number}'{name}"


def _repeating(name: str, period: int) -> Iterator[Step]:
    shift = DilateShape(Metric(abs(period), abs(period)), future=period < 0)
    yield Step(f"{name}/1", name, shift, (Feed("step", name),))
    yield Step(name, name, UnionShape(), (Feed("facts", name), Feed("step", f"{name}/1")))
    yield Step(f"{name}/2", name, DilateShape(Metric(0, 0), future=False), (Feed("step", name),))
