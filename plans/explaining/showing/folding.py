"""Folding a graph that is too wide or too high to be read: boxes of a kind become one, with their number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelog.plans.pictures.graph import Box, Edge, Graph, closing_loops, columns_of

MOST_BOXES, MOST_LEVELS = 12, 12
"""So many boxes stand on a level, and so many levels behind each other."""
_MOST_TOLD = 40
"""So many of the boxes in one are told where the pointer rests."""
_NAMES = re.compile(r"[\w.'\"-]+")


def folded(graph: Graph) -> Graph:
    """The graph with few levels, and few boxes on each: those that read alike are one, then all that are too many.

    >>> boxes = [Box(f"step r{i}", [f"hot{i}(P) :-", f"temp{i}(P)"]) for i in range(37)]
    >>> folded(Graph(boxes, [])).boxes[0].lines
    ['37 rules like', 'hot0(P) :-', 'temp0(P)']
    """
    graph = closing_loops(graph)
    return _narrow(_short(graph))


def _short(graph: Graph) -> Graph:
    """The same with all boxes of the middle levels in one, where there are too many levels."""
    column_of = columns_of(graph)
    last = max(column_of.values(), default=0)
    if last < MOST_LEVELS:
        return graph
    first = MOST_LEVELS // 2
    end = last - (MOST_LEVELS - first - 1)  # the first of the levels behind
    inside = [box for box in graph.boxes if first <= column_of[box.id] <= end]
    return _merged(graph, [(inside, f"{_number(inside)} on {end - first + 1:,} levels, such as")])


def _narrow(graph: Graph) -> Graph:
    """The same with boxes of a level in one, where a level has too many."""
    column_of = columns_of(graph)
    levels: dict[int, list[Box]] = {}
    for box in graph.boxes:
        levels.setdefault(column_of[box.id], []).append(box)
    found = [fold for boxes in levels.values() if len(boxes) > MOST_BOXES for fold in _folds(boxes)]
    return _merged(graph, found)


def _folds(boxes: Sequence[Box]) -> list[tuple[list[Box], str]]:
    """The boxes of a level that become one, and what is said of them: the largest groups that read alike, then the last."""
    groups: dict[str, list[Box]] = {}
    for box in boxes:
        groups.setdefault(_form(box), []).append(box)
    found: list[list[Box]] = []
    number = len(boxes)
    for group in sorted(groups.values(), key=len, reverse=True):
        if number > MOST_BOXES:
            found.append(group)
            number -= len(group) - 1
        else:
            found += [[box] for box in group]
    if len(found) > MOST_BOXES:
        found[MOST_BOXES - 1 :] = [[box for group in found[MOST_BOXES - 1 :] for box in group]]
    return [(group, _said(group)) for group in found if len(group) > 1]


def _said(group: Sequence[Box]) -> str:
    return f"{_number(group)} like" if len({*map(_form, group)}) == 1 else f"{_number(group)}, such as"


def _form(box: Box) -> str:
    """How a box reads, whatever the names and the numbers in it."""
    return f"{_kind(box)} {_NAMES.sub('x', ' '.join(box.lines))}"


def _kind(box: Box) -> str:
    kind = box.id.split(" ", 1)[0]
    if kind == "step" and box.lines[0].endswith(":-"):
        return "rule"
    return "input" if kind == "stream" else kind


def _number(boxes: Sequence[Box]) -> str:
    kinds = {_kind(box) for box in boxes}
    return f"{len(boxes):,} {kinds.pop() + 's' if len(kinds) == 1 else 'boxes'}"


def _merged(graph: Graph, folds: Sequence[tuple[Sequence[Box], str]]) -> Graph:
    """The graph with one box for each of these groups, where the first of the group stood."""
    names: dict[str, str] = {}
    made: dict[str, Box] = {}
    for group, said in folds:
        first = group[0]
        names |= {box.id: f"folded {first.id}" for box in group}
        told = [" ".join(box.lines) for box in group[:_MOST_TOLD]]
        text = "\n".join([said, *told, *(["…"] if len(group) > len(told) else [])])
        made[first.id] = Box(f"folded {first.id}", [said, *first.lines], first.tone, text)
    boxes = [made.get(box.id, box) for box in graph.boxes if box.id in made or box.id not in names]
    return replace(graph, boxes=boxes, edges=_renamed(graph.edges, names))


def _renamed(edges: Sequence[Edge], names: Mapping[str, str]) -> list[Edge]:
    """The arrows between what has been folded, each once."""
    found: dict[tuple[str, str, bool], Edge] = {}
    for edge in edges:
        source, target = names.get(edge.source, edge.source), names.get(edge.target, edge.target)
        if source != target:
            found.setdefault((source, target, edge.back), replace(edge, source=source, target=target))
    return list(found.values())
