"""The islands of a plan, which are run as actors: as text, as fields, as a flowchart and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.plans.data.facts import format_predicate
from tidelog.plans.explaining.alarm_rules import alarm_of
from tidelog.plans.explaining.json import as_json
from tidelog.plans.explaining.mermaid import escape
from tidelog.plans.islands.island import Island
from tidelog.plans.islands.islands import Cut, islands_of
from tidelog.plans.islands.sub_plan import island_plan
from tidelog.plans.pictures.graph import Box, Edge, Graph, draw_graph
from tidelog.plans.pictures.paint import cool, warm
from tidelog.plans.plan.feeds import widths_of
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree import brief
from tidelog.plans.tree.declared.alarms import Alarm

_MOST = 3
"""So many steps are named on an arrow; of more it tells how many there are."""


@dataclass(frozen=True, slots=True)
class IslandView:
    """An island with what it tells, in words."""

    island: Island
    outputs: tuple[str, ...]
    constraints: tuple[str, ...]
    widths: Mapping[tuple[str, str], int]
    alarms: tuple[Alarm, ...]

    @property
    def title(self) -> str:
        """What it is called."""
        return format_predicate(self.island.name)

    def read(self, name: str) -> str:
        """An input with the key in its place: `temp(K, _)`."""
        return self._pattern(format_predicate(name), "stream", name, (self.island.key or {}).get(name))

    @property
    def reads(self) -> list[str]:
        """The inputs; what people do with an alarm is one."""
        of_alarm = {name: alarm_of(name, self.alarms) for name in self.island.reads}
        shown = [
            self.read(name) if (alarm := of_alarm[name]) is None else f"what people do with {format_predicate(alarm)}"
            for name in self.island.reads
        ]
        return list(dict.fromkeys(shown))

    def passed(self, step: str) -> str:
        """A step of it, or one that it imports, with the key in its place."""
        return self._pattern(format_predicate(step), "step", step, self.island.columns.get(step))

    def _pattern(self, shown: str, kind: str, name: str, column: int | None) -> str:
        arguments = ["K" if place == column else "_" for place in range(self.widths.get((kind, name), 0))]
        return f"{shown}({', '.join(arguments)})" if arguments else shown

    @property
    def how(self) -> str:
        """Whether it is spread, and why not."""
        island = self.island
        if island.key is not None:
            return "spread by K"
        if not island.reads and not island.imports:
            return "not spread, since it rests on no stream"
        return f"not spread, because of {island.prevented_by}" if island.prevented_by else "not spread"


def views_of_islands(plan: Plan, how: Cut = "islands") -> list[IslandView]:
    """The islands of a plan as they are shown; by `rule`, as many as there can be."""
    widths = widths_of(plan)
    views = []
    for island in islands_of(plan, how):
        own = island_plan(plan, island)
        views.append(IslandView(island, tuple(own.outputs), tuple(own.constraints), widths, plan.alarms))
    return views


def explain_islands(plan: Plan, format: str = "text", how: Cut = "islands") -> str:
    """The islands of a plan, each line ended; `format` is one of those of `explain`."""
    views = views_of_islands(plan, how)
    if format == "json":
        return as_json(island_fields(views))
    if format == "mermaid":
        return "".join(f"{line}\n" for line in _flowchart(views))
    if format == "svg":
        return draw_graph(_graph(plan, views))
    return "".join(f"{line}\n" for line in (f"actors of {plan.name}", *_lines(views)))


# --- as text ------------------------------------------------------------------------------------------------------------


def _lines(views: Sequence[IslandView]) -> Iterator[str]:
    for view in views:
        island = view.island
        yield ""
        yield f"{island.number}: {view.title}, {brief.number(len(island.steps), 'step')}, {view.how}"
        if island.reads:
            yield f"  reads:   {', '.join(view.reads)}"
        for earlier, steps in _imports(views, view):
            yield f"  takes:   {', '.join(map(view.passed, steps))} from {earlier.number}"
        told = [format_predicate(name) for name in view.outputs] + ["bottom"] * bool(view.constraints)
        if told:
            yield f"  tells:   {', '.join(told)}"
        for later, steps in _exports(views, view):
            yield f"  passes:  {', '.join(map(view.passed, steps))} to {later.number}"


def _imports(views: Sequence[IslandView], view: IslandView) -> Iterator[tuple[Island, list[str]]]:
    """The islands from which one takes something, and what."""
    for other in views:
        steps = [step for step in view.island.imports if step in other.island.exports]
        if steps:
            yield other.island, steps


def _exports(views: Sequence[IslandView], view: IslandView) -> Iterator[tuple[Island, list[str]]]:
    for other in views:
        steps = [step for step in view.island.exports if step in other.island.imports]
        if steps:
            yield other.island, steps


# --- as fields ----------------------------------------------------------------------------------------------------------


def island_fields(views: Sequence[IslandView]) -> dict[str, object]:
    """The same as fields, fit for JSON; places of arguments count from 1.

    `islands`: `number` and `name`; `key` (input to place, or null) and `prevented_by` (a rule, or empty); `reads`; `takes`
    (`step`, `island`, and `key`, its place or null); `passes` (the same); `outputs`, `constraints`; `steps`
    """
    return {"islands": [_fields(views, view) for view in views]}


def _fields(views: Sequence[IslandView], view: IslandView) -> dict[str, object]:
    island = view.island
    return {
        "number": island.number,
        "name": island.name,
        "key": None if island.key is None else {name: place + 1 for name, place in island.key.items()},
        "prevented_by": island.prevented_by,
        "reads": list(island.reads),
        "takes": [_passed(island, other, step) for other, steps in _imports(views, view) for step in steps],
        "passes": [_passed(island, other, step) for other, steps in _exports(views, view) for step in steps],
        "outputs": list(view.outputs),
        "constraints": list(view.constraints),
        "steps": list(island.steps),
    }


def _passed(island: Island, other: Island, step: str) -> dict[str, object]:
    column = island.columns.get(step)
    return {"step": step, "island": other.number, "key": None if column is None else column + 1}


# --- as pictures --------------------------------------------------------------------------------------------------------


def _boxed(view: IslandView) -> list[str]:
    how = "spread by K" if view.island.key is not None else "not spread"
    return [f"{view.island.number}: {view.title}", f"{brief.number(len(view.island.steps), 'step')}, {how}"]


def _arrow(view: IslandView, steps: Sequence[str]) -> str:
    """What passes between two islands, in few words."""
    return ", ".join(map(view.passed, steps)) if len(steps) <= _MOST else brief.number(len(steps), "step")


def _flowchart(views: Sequence[IslandView]) -> Iterator[str]:
    yield "flowchart LR"
    numbers = {name: i for i, name in enumerate(_inputs(views))}
    yield from (f'  i{i}(["{escape(name)}"])' for name, i in numbers.items())
    for view in views:
        number = view.island.number
        yield f'  n{number}["{"<br/>".join(map(escape, _boxed(view)))}"]'
        yield from (f"  i{numbers[name]} --> n{number}" for name in view.reads)
        for other, steps in _imports(views, view):
            yield f'  n{other.number} -->|"{escape(_arrow(view, steps))}"| n{number}'
        told = _told(view)
        if told:
            yield f'  o{number}(["{"<br/>".join(map(escape, told))}"])'
            yield f"  n{number} --> o{number}"


def _inputs(views: Sequence[IslandView]) -> list[str]:
    """What comes in, with the keys by which it goes to islands."""
    return list(dict.fromkeys(name for view in views for name in view.reads))


def _told(view: IslandView) -> list[str]:
    return [f"output {format_predicate(name)}" for name in view.outputs] + ["bottom"] * bool(view.constraints)


def _graph(plan: Plan, views: Sequence[IslandView]) -> Graph:
    boxes = [Box(f"input {name}", [name], cool(0)) for name in _inputs(views)]
    edges: list[Edge] = []
    for view in views:
        name = f"island {view.island.number}"
        boxes.append(Box(name, _boxed(view), cool(1) if view.island.key is not None else None, view.how))
        edges += [Edge(f"input {read}", name) for read in view.reads]
        edges += [Edge(f"island {other.number}", name, _arrow(view, steps)) for other, steps in _imports(views, view)]
        told = _told(view)
        if told:
            boxes.append(Box(f"told by {name}", told, warm(0)))
            edges.append(Edge(name, f"told by {name}"))
    return Graph(boxes, edges, f"actors of {plan.name}")
