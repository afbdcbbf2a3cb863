"""A plan as a graph: what enters, the steps, and what leaves."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.explaining.steps import StepView, feed_text, shared_text, views_of
from tidelog.plans.language.printing import format_formula, format_statement
from tidelog.plans.pictures.graph import Box, Edge, Graph, draw_graph
from tidelog.plans.pictures.paint import cool, warm
from tidelog.plans.pictures.picture import Picture
from tidelog.plans.plan.plan import Feed, Plan


def graph_of(plan: Plan) -> Graph:
    """The plan's graph. An arrow into a hold is one that closes a loop."""
    views = views_of(plan)
    feeds = dict.fromkeys(port.feed for view in views for port in view.inputs if port.feed.kind != "step")
    feeds |= dict.fromkeys(Feed("stream", name) for question in plan.questions for name in sorted(question.inputs))
    boxes = [Box(_id(feed), [feed_text(feed)], cool(0)) for feed in feeds]
    boxes += [_box(view) for view in views]
    edges = [edge for view in views for edge in _edges(view)]
    leaving = [*_outputs(plan), *_constraints(plan), *_questions(plan)]
    boxes += [box for box, _ in leaving]
    edges += [edge for _, own in leaving for edge in own]
    return Graph(boxes, edges, f"plan of {plan.name}")


def plan_picture(plan: Plan) -> Picture:
    """The plan's graph as SVG."""
    return Picture(draw_graph(graph_of(plan)))


def _id(feed: Feed) -> str:
    return f"step {feed.name}" if feed.kind == "step" else f"{feed.kind} {feed.name}"


def _box(view: StepView) -> Box:
    lines = view.lines()
    if view.loop is not None:
        lines.append(f"loop {view.loop}")
    shared = [f"stored once {shared_text(store)}" for store in view.shared]
    title = "\n".join([*lines, *shared, view.rule]).strip()
    return Box(f"step {view.id}", lines, None if view.loop is None else cool(1), title)


def _edges(view: StepView) -> Iterator[Edge]:
    for port in view.inputs:
        yield Edge(_id(port.feed), f"step {view.id}", port.role, back=view.operator == "hold")


def _outputs(plan: Plan) -> Iterator[tuple[Box, list[Edge]]]:
    for name, step in plan.outputs.items():
        yield Box(f"output {name}", [f"output {name}"], warm(0)), [Edge(f"step {step}", f"output {name}")]


def _constraints(plan: Plan) -> Iterator[tuple[Box, list[Edge]]]:
    for step, rule in plan.constraints.items():
        name = f"constraint {step}"
        yield Box(name, [format_statement(rule)], "alarm"), [Edge(f"step {step}", name)]


def _questions(plan: Plan) -> Iterator[tuple[Box, list[Edge]]]:
    for i, question in enumerate(plan.questions):
        name = f"ask {i}"
        sources = [Edge(f"stream {input}", name) for input in sorted(question.inputs)]
        yield Box(name, [f"ask {format_formula(question.query)}"], warm(1)), sources
