"""A program as text, at three stages: as read, in normal form, and as the plan that runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import format_predicate
from tidelog.plans.data.timeline import format_time
from tidelog.plans.explaining.alarm_rules import alarm_of, alarm_rules
from tidelog.plans.explaining.json import explain_json, explain_program
from tidelog.plans.explaining.mermaid import explain_mermaid
from tidelog.plans.explaining.showing.graphs import plan_picture
from tidelog.plans.explaining.steps import PortView, StepView, feed_text, listed, shared_text, views_of
from tidelog.plans.language.printing import format_formula, format_program, format_statement
from tidelog.plans.normal.program import as_program
from tidelog.plans.plan.plan import Loop, Plan, Step
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree import brief
from tidelog.plans.tree.syntax import Program, TimelineDeclaration

STAGES = ("text", "normal", "plan")
FORMATS = ("text", "mermaid", "json", "svg")


def explain(plan: Plan | BatchPlan, stage: str = "plan", format: str = "text", *, unfold: bool = False) -> str:
    """One stage of a program, each line ended.

    `stage` is `text` (the program as read), `normal` (one rule, one operator) or `plan` (the operators, what feeds them and
    how far behind they are). `format` is `text`, `json` (`explain_json` tells its fields) or, for the plan alone,
    `mermaid` or `svg`, of which what is too wide is folded unless told to `unfold`. ValueError for anything else. A plan for
    batch reasoning has the first two stages alone.
    """
    if stage not in STAGES or format not in FORMATS:
        raise ValueError(f"cannot show the stage `{stage}` as `{format}`")
    if format in ("mermaid", "svg") and stage != "plan":
        raise ValueError(f"{format} draws the plan alone, not the stage `{stage}`")
    if stage != "plan":
        program = _program(plan, stage)
        return explain_program(program, stage) if format == "json" else format_program(program)
    if not isinstance(plan, Plan):
        raise ValueError("the stage `plan` is of streams: batch reasoning shows `text` and `normal`")
    if format == "svg":
        return plan_picture(plan, unfold=unfold).svg
    if format == "mermaid":
        return explain_mermaid(plan)
    return explain_json(plan) if format == "json" else explain_plan(plan)


def _program(plan: Plan | BatchPlan, stage: str) -> Program:
    return plan.program if stage == "text" else as_program(plan.normal, plan.name)


def explain_plan(plan: Plan) -> str:
    """The plan as text: a block for each step, in the order in which they run, each loop before its first step.

    Of the steps that an alarm's declaration stands for, it is told how many there are.
    """
    loops = {loop.number: loop for loop in plan.loops}
    steps = {step.id: step for step in plan.steps}
    lines = [f"plan of {plan.name}", f"  {_timeline(plan)}"]
    rules, of_alarms = alarm_rules(plan.alarms), Counter[str]()
    for view in views_of(plan):
        if (alarm := rules.get(view.source) or alarm_of(steps[view.id].predicate, plan.alarms)) is not None:
            of_alarms[alarm] += 1
            continue
        if view.loop in loops:
            lines += ["", *_loop(loops.pop(view.loop), steps, plan)]
        lines += ["", *_step(view)]
    lines += [line for name, count in of_alarms.items() for line in ("", _alarm(name, count, plan))]
    lines += _list("outputs", [f"{format_predicate(name)} from {step}" for name, step in plan.outputs.items()])
    lines += _list("constraints", [f"{step}: {format_statement(rule)}" for step, rule in plan.constraints.items()])
    lines += _list("questions", [_question(question) for question in plan.questions])
    run = [name for name, found in (("steps", plan.steps), ("questions", plan.questions)) if found]
    lines += _list("tasks", [f"all {listed(run)} run in one; each source and each sink has its own"] if run else [])
    return "".join(f"{line}\n" for line in lines)


def _alarm(name: str, count: int, plan: Plan) -> str:
    declared = next(alarm.declared for alarm in plan.alarms if alarm.name == name)
    reads = [format_predicate(name), *(format_formula(atom) for atom in declared.inhibitors), "what people do"]
    return f"alarm {format_predicate(name)}: its states, in {brief.number(count, 'step')}, from {listed(reads)}"


def _question(question: Question) -> str:
    """A question is unfolded, not run by steps: what it needs is told by the inputs that feed it."""
    names = [
        f"stream {format_predicate(name)}" + (f" (up to {question.delays[name]} late)" if name in question.delays else "")
        for name in sorted(question.inputs)
    ]
    depth = "" if question.depth is None else f", followed {question.depth} deep"
    return f"{format_formula(question.query)} from {', '.join(names) or 'facts alone'}{depth}"


def _timeline(plan: Plan) -> str:
    timeline = plan.timeline
    resolution = None if timeline.is_integer else timeline.resolution
    return format_statement(TimelineDeclaration(timeline.kind, timeline.unit, resolution, timeline.rounding))


def _loop(loop: Loop, steps: Mapping[str, Step], plan: Plan) -> Iterator[str]:
    yield f"loop {loop.number}: {', '.join(loop.members)}"
    entries = [f"{name} port {port} from {feed_text(steps[name].inputs[port])}" for name, port in loop.entries]
    yield f"  entries: {'; '.join(entries) or 'none'}"
    yield f"  holds:   {', '.join(loop.holds) or 'none'}"
    announcing = [name for name in loop.members if name in plan.announcing]
    if announcing:
        yield f"  open:    takes notices; {', '.join(announcing)} announced"


def _step(view: StepView) -> Iterator[str]:
    yield f"{view.id}: {view.operator} {view.parameters}".rstrip() + ("" if view.loop is None else f" (loop {view.loop})")
    yield f"  inputs:  {'; '.join(map(_port, view.inputs))}"
    yield f"  delay:   {_delay(view)}"
    if view.reach is not None:
        yield f"  #-facts: gaps of up to {format_time(view.reach)} are covered"
    if view.sleeps:
        yield f"  sleeps:  while {format_predicate(view.sleeps)} is absent"
    if view.spared:
        yield f"  spared:  {', '.join(_port(view.inputs[port]) for port in view.spared)}, while it can be of no use"
    for number, store in enumerate(view.shared):
        yield f"  {'' if number else 'stored:':8} once {shared_text(store)}"
    if view.fused:
        yield f"  fused:   {listed(view.fused)} in one"
    if view.rule:
        yield f"  rule:    {view.rule}"
    if view.source and view.source != view.rule:
        yield f"  of:      {view.source}"


def _port(port: PortView) -> str:
    return f"{port.role}: {feed_text(port.feed)}" if port.role else feed_text(port.feed)


def _delay(view: StepView) -> str:
    if isinstance(view.lead, float):
        return "0 (complete from the start)"
    if view.lead > 0:
        return f"0 (final {format_time(view.lead)} ahead of the watermark)"
    return format_time(view.delay)


def _list(title: str, lines: Iterable[str]) -> list[str]:
    items = list(lines)
    return ["", f"{title}:", *(f"  {line}" for line in items)] if items else []
