"""A graph of boxes as SVG, from left to right: each box stands in the column behind those that lead to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tidelog.plans.pictures.paint import Theme, fitted, label, number, picture, text_of, tone_class, width_of

_MARGIN, _LINE, _PAD = 16.0, 15.0, 9.0
_ACROSS, _DOWN = 46.0, 14.0
"""The room between columns, and between boxes under each other."""
_WIDEST = 260.0
_ROOM = "000/s · 0000 rows · 00 s behind"
"""What a live box has room for."""
_BOLD = 1.12
"""How much wider the first line is, which is bold."""
_TURNS = 12
"""How often the boxes of each column are put in order by their neighbours."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box: what stands in it, line by line, and a colour. The whole text is shown where the pointer rests."""

    id: str
    lines: Sequence[str]
    tone: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow between two boxes. One that leads `back` closes a loop: it is dotted, and decides about no column."""

    source: str
    target: str
    text: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes, and arrows between them."""

    boxes: Sequence[Box]
    edges: Sequence[Edge]
    title: str = ""


@dataclass(slots=True)
class _Placed:
    """A box, or the place where an arrow passes through a column, and where it stands."""

    box: Box | None
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    right: float = 0.0
    """Where its column ends."""

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(slots=True)
class _Layout:
    """Columns of places, and the course of each arrow through them."""

    places: dict[str, _Placed] = field(default_factory=dict)
    columns: list[list[str]] = field(default_factory=list)
    courses: list[tuple[Edge, list[str]]] = field(default_factory=list)


def draw_graph(graph: Graph, *, theme: Theme = "auto", live: frozenset[str] | None = None) -> str:
    """The graph as an SVG document.

    With `live`, it is for a page that has the style, and fills in a last line of these boxes: `data-box` names each of them.

    >>> draw_graph(Graph([Box("a", ["one"]), Box("b", ["two"])], [Edge("a", "b")])).count("<rect")
    3
    """
    live_boxes = live or frozenset()
    layout = _lay_out(_with_room(graph, live_boxes))
    shown = [place for place in layout.places.values() if place.box is not None]
    width = max((place.x + place.width for place in shown), default=100.0) + _MARGIN
    height = max((place.y + place.height for place in shown), default=20.0) + _MARGIN
    parts = [_draw_edge(edge, [layout.places[name] for name in course]) for edge, course in layout.courses]
    parts += [_draw_box(place, place.box, is_live=place.box.id in live_boxes) for place in shown if place.box is not None]
    return picture(width, height, "".join(parts), title=graph.title, theme=theme, is_styled=live is None)


def _with_room(graph: Graph, live: frozenset[str]) -> Graph:
    """The same with one more line in the boxes that are live, which is wide enough for what is filled in."""
    boxes = [
        replace(box, lines=[*box.lines, _ROOM], text=box.text or "\n".join(box.lines)) if box.id in live else box
        for box in graph.boxes
    ]
    return replace(graph, boxes=boxes)


def _lay_out(graph: Graph) -> _Layout:
    layout = _Layout()
    graph = closing_loops(graph)
    column_of = columns_of(graph)
    layout.columns = [[] for _ in range(max(column_of.values(), default=0) + 1)]
    for box in graph.boxes:
        lines = [fitted(line, _WIDEST) for line in box.lines]
        width = max(width_of(lines[0]) * _BOLD, *map(width_of, lines), 30.0) + 2 * _PAD
        layout.places[box.id] = _Placed(box, width=width, height=len(lines) * _LINE + _PAD)
        layout.columns[column_of[box.id]].append(box.id)
    for number_, edge in enumerate(graph.edges):
        layout.courses.append((edge, _course(layout, edge, number_, column_of)))
    _sort(layout)
    _place(layout)
    return layout


def columns_of(graph: Graph) -> dict[str, int]:
    """The column of each box: behind all that lead to it, but for arrows that lead back."""
    targets, waiting = _forward(graph), {box.id: 0 for box in graph.boxes}
    for others in targets.values():
        for target in others:
            waiting[target] += 1
    found = dict.fromkeys(waiting, 0)
    ready = [box.id for box in graph.boxes if not waiting[box.id]]
    for source in ready:  # those that become ready are behind it
        for target in targets[source]:
            found[target] = max(found[target], found[source] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return found


def closing_loops(graph: Graph) -> Graph:
    """The graph with each arrow leading back that closes a loop: one to a box from which the way to its source has come."""
    targets = _forward(graph)
    on_way: set[str] = set()
    done: set[str] = set()
    closing: set[tuple[str, str]] = set()
    for box in graph.boxes:
        way = [] if box.id in done else [(box.id, iter(targets[box.id]))]
        on_way |= {name for name, _ in way}
        while way:
            name, rest = way[-1]
            target = next(rest, None)
            if target is None:
                way.pop()
                on_way.discard(name)
                done.add(name)
            elif target in on_way:
                closing.add((name, target))
            elif target not in done:
                way.append((target, iter(targets[target])))
                on_way.add(target)
    edges = [replace(edge, back=True) if (edge.source, edge.target) in closing else edge for edge in graph.edges]
    return replace(graph, edges=edges)


def _forward(graph: Graph) -> dict[str, list[str]]:
    """Where arrows lead that do not lead back, from each box."""
    targets: dict[str, list[str]] = {box.id: [] for box in graph.boxes}
    for edge in graph.edges:
        if not edge.back:
            targets[edge.source].append(edge.target)
    return targets


def _course(layout: _Layout, edge: Edge, number_: int, column_of: Mapping[str, int]) -> list[str]:
    """The places that an arrow passes; where it crosses a column, it gets a place of its own in it."""
    begin, end = column_of[edge.source], column_of[edge.target]
    course = [edge.source]
    step = 1 if end > begin else -1
    for column in range(begin + step, end, step):
        name = f"\0{number_}/{column}"
        layout.places[name] = _Placed(None, height=4.0)
        layout.columns[column].append(name)
        course.append(name)
    return [*course, edge.target]


def _sort(layout: _Layout) -> None:
    """Bring the boxes of each column into the order of the middle of their neighbours, so that few arrows cross."""
    near: dict[str, list[str]] = defaultdict(list)
    for _, course in layout.courses:
        for one, other in pairwise(course):
            near[one].append(other)
            near[other].append(one)
    for turn in range(_TURNS):
        columns = layout.columns if turn % 2 == 0 else layout.columns[::-1]
        rank = {name: i / max(1, len(column)) for column in layout.columns for i, name in enumerate(column)}
        for column in columns:
            means = {name: _mean([rank[other] for other in near[name] if other in rank], rank[name]) for name in column}
            column.sort(key=lambda name: means[name])
            rank |= {name: i / max(1, len(column)) for i, name in enumerate(column)}


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _place(layout: _Layout) -> None:
    heights = [sum(layout.places[name].height + _DOWN for name in column) - _DOWN for column in layout.columns]
    tallest = max(heights, default=0.0)
    x = _MARGIN
    for column, height in zip(layout.columns, heights, strict=True):
        width = max((layout.places[name].width for name in column), default=0.0)
        y = _MARGIN + (tallest - height) / 2
        for name in column:
            place = layout.places[name]
            place.x, place.y, place.right = x, y, x + width
            place.width = width if place.box is None else place.width
            y += place.height + _DOWN
        x += width + _ACROSS


def _draw_box(place: _Placed, box: Box, *, is_live: bool) -> str:
    x, y = number(place.x), number(place.y)
    size = f'width="{number(place.width)}" height="{number(place.height)}"'
    whole = box.text or "\n".join(box.lines)
    stripe = ""
    if box.tone is not None:
        kind = tone_class(box.tone)
        stripe = f'<rect class="{kind}" stroke-width="0" x="{x}" y="{y}" width="4" height="{number(place.height)}" rx="2"/>'
    lines = [
        label(place.x + _PAD, place.y + _LINE * (i + 1) - 0.5, fitted(line, _WIDEST), "tl-name" if i == 0 else "tl-soft")
        for i, line in enumerate(box.lines[:-1] if is_live else box.lines)
    ]
    mark = ""
    if is_live:
        lines.append(label(place.x + _PAD, place.y + _LINE * len(box.lines) - 0.5, "", "tl-live"))
        mark = f' data-box="{text_of(box.id)}"'
    frame = f'<rect class="tl-box" x="{x}" y="{y}" {size} rx="4"/>'
    return f"<g{mark}><title>{text_of(whole)}</title>{frame}{stripe}{''.join(lines)}</g>"


def _draw_edge(edge: Edge, course: Sequence[_Placed]) -> str:
    is_forward = course[-1].x > course[0].x
    points = _points(course) if is_forward else _points(course[::-1])[::-1]
    path = f"M{number(points[0][0])} {number(points[0][1])}"
    for (x, y), (to_x, to_y) in pairwise(points):
        half = number((x + to_x) / 2)
        path += (
            f"H{number(to_x)}" if y == to_y else f"C{half} {number(y)} {half} {number(to_y)} {number(to_x)} {number(to_y)}"
        )
    x, y = points[-1]
    tip = f'<path class="tl-tip" d="M{number(x)} {number(y)}l{-6 if is_forward else 6} -3.5v7z"/>'
    kind = "tl-edge tl-back" if edge.back else "tl-edge"
    text = f"<title>{text_of(edge.text)}</title>" if edge.text else ""
    return f'<path class="{kind}" d="{path}">{text}</path>{tip}'


def _points(course: Sequence[_Placed]) -> list[tuple[float, float]]:
    """Where an arrow goes straight, from left to right: out of its box to the end of the column, and through all others."""
    first, *between, last = course
    points = [(first.x + first.width, first.middle), (first.right, first.middle)]
    for place in between:
        points += [(place.x, place.middle), (place.right, place.middle)]
    return [*points, (last.x, last.middle)]
