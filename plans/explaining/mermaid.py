"""A plan as a Mermaid flowchart: what enters on the left, the steps, loops as boxes, what leaves on the right."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.explaining.steps import PortView, StepView, feed_text, shared_text, views_of
from tidelog.plans.language.printing import format_formula, format_statement
from tidelog.plans.plan.plan import Feed, Plan

_PLAIN = frozenset(" ()[]{},.:/+-*=!?@_'")


def explain_mermaid(plan: Plan) -> str:
    """The flowchart's text.

    Steps are `s0`, `s1`, … in the plan's order; inputs `i…`, outputs `o…`, constraints `c…`, questions `q…`. What one task
    runs is in one box. The edge into a hold is dotted: there a loop closes.
    """
    views = views_of(plan)
    names = {view.id: f"s{i}" for i, view in enumerate(views)}
    feeds = dict.fromkeys(port.feed for view in views for port in view.inputs if port.feed.kind != "step")
    feeds |= dict.fromkeys(Feed("stream", name) for question in plan.questions for name in sorted(question.inputs))
    inputs = {feed: f"i{i}" for i, feed in enumerate(feeds)}
    lines = ["flowchart LR"]
    lines += [f'  {name}(["{escape(feed_text(feed))}"])' for feed, name in inputs.items()]
    lines += ['  subgraph task0 ["one task"]'] if views else []
    lines += [f"    {_node(view, names)}" for view in views if view.loop is None]
    lines += _subgraphs(plan, views, names)
    lines += ["  end"] if views else []
    lines += [f"  {edge}" for view in views for edge in _edges(view, names, inputs)]
    lines += _leaving(plan, names)
    lines += _questions(plan, inputs)
    return "".join(f"{line}\n" for line in lines)


def escape(text: str) -> str:
    """Text for a label between double quotes: what could end it, or mean something in it, as a numbered entity.

    >>> escape('p("a") <= q')
    'p(#34;a#34;) #60;= q'
    """
    return "".join(char if char.isalnum() or char in _PLAIN else f"#{ord(char)};" for char in text)


def _node(view: StepView, names: dict[str, str]) -> str:
    parts = [*view.lines(), *(f"stored once {shared_text(store)}" for store in view.shared)]
    return f'{names[view.id]}["{"<br/>".join(map(escape, parts))}"]'


def _subgraphs(plan: Plan, views: list[StepView], names: dict[str, str]) -> Iterator[str]:
    for loop in plan.loops:
        yield f'    subgraph loop{loop.number} ["loop {loop.number}"]'
        yield from (f"      {_node(view, names)}" for view in views if view.loop == loop.number)
        yield "    end"


def _edges(view: StepView, names: dict[str, str], inputs: dict[Feed, str]) -> Iterator[str]:
    for port in view.inputs:
        source = names[port.feed.name] if port.feed.kind == "step" else inputs[port.feed]
        yield f"{source} {_arrow(view, port)} {names[view.id]}"


def _arrow(view: StepView, port: PortView) -> str:
    line = "-.->" if view.operator == "hold" else "-->"
    return f'{line}|"{escape(port.role)}"|' if port.role else line


def _questions(plan: Plan, inputs: dict[Feed, str]) -> Iterator[str]:
    for i, question in enumerate(plan.questions):
        yield f'  q{i}(["{escape(f"ask {format_formula(question.query)}")}"])'
        yield from (f"  {inputs[Feed('stream', name)]} --> q{i}" for name in sorted(question.inputs))


def _leaving(plan: Plan, names: dict[str, str]) -> Iterator[str]:
    for i, (predicate, step) in enumerate(plan.outputs.items()):
        yield f'  o{i}(["{escape(f"output {predicate}")}"])'
        yield f"  {names[step]} --> o{i}"
    for i, (step, rule) in enumerate(plan.constraints.items()):
        yield f'  c{i}{{{{"{escape(format_statement(rule))}"}}}}'
        yield f"  {names[step]} --> c{i}"
