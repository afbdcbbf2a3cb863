"""A plan as a graph, in the words of the program: what enters, what is computed, and what leaves."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.plans.data.facts import format_predicate
from tidelog.plans.explaining.showing.folding import folded
from tidelog.plans.explaining.showing.words import Words
from tidelog.plans.explaining.steps import StepView, shared_text, views_of
from tidelog.plans.language.printing import format_formula, format_statement
from tidelog.plans.pictures.graph import Box, Edge, Graph, draw_graph
from tidelog.plans.pictures.paint import cool, warm
from tidelog.plans.pictures.picture import Picture
from tidelog.plans.plan.plan import Feed, Plan


def graph_of(plan: Plan, *, unfold: bool = False) -> Graph:
    """The plan's graph: what is too wide to be read is folded, unless told otherwise. Arrows that close a loop lead back."""
    views = views_of(plan)
    feeds = dict.fromkeys(port.feed for view in views for port in view.inputs if port.feed.kind != "step")
    feeds |= dict.fromkeys(Feed("stream", name) for question in plan.questions for name in sorted(question.inputs))
    boxes = [Box(_id(feed), [_entering(feed)], cool(0)) for feed in feeds]
    words = Words(plan)
    boxes += [_box(view, words) for view in views]
    edges = [edge for view in views for edge in _edges(view)]
    leaving = [*_outputs(plan), *_constraints(plan), *_questions(plan)]
    boxes += [box for box, _ in leaving]
    edges += [edge for _, own in leaving for edge in own]
    graph = Graph(boxes, edges, f"plan of {plan.name}")
    return graph if unfold else folded(graph)


def plan_picture(plan: Plan, *, unfold: bool = False) -> Picture:
    """The plan's graph as SVG."""
    return Picture(draw_graph(graph_of(plan, unfold=unfold)))


def _id(feed: Feed) -> str:
    return f"step {feed.name}" if feed.kind == "step" else f"{feed.kind} {feed.name}"


def _entering(feed: Feed) -> str:
    """What enters: `input temp`, the program's facts, or what tells how time goes on."""
    if feed.kind in ("start", "clock", "arrivals"):
        return {"start": "the start of the stream", "clock": "the clock", "arrivals": "how facts arrive"}[feed.kind]
    return f"{'input' if feed.kind == 'stream' else feed.kind} {format_predicate(feed.name)}"


def _box(view: StepView, words: Words) -> Box:
    """A step in the program's words; where the pointer rests, as `explain` has it."""
    shared = [f"stored once {shared_text(store)}" for store in view.shared]
    loop = [] if view.loop is None else [f"loop {view.loop}"]
    title = "\n".join([*view.lines(), *loop, *shared, view.rule]).strip()
    return Box(f"step {view.id}", [*words.lines(view), *loop], None if view.loop is None else cool(1), title)


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
