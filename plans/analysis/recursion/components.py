"""The components of a graph: which nodes depend on each other in a circle, and in which order the rest can be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def components(successors: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected components (Tarjan), each behind those that it depends on, without recursion.

    `successors[n]` are the nodes that n feeds. Nodes of one component are in the order of the mapping.

    >>> components({"a": ["b"], "b": ["c"], "c": ["b"], "d": []})
    [['d'], ['a'], ['b', 'c']]
    """
    order = {node: i for i, node in enumerate(successors)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    place: dict[str, int] = {}  # on the stack, from which only its end is ever taken
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in successors:
        if root in index:
            continue
        work: list[tuple[str, int]] = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                place[node] = len(stack)
                stack.append(node)
                on_stack.add(node)
            elif successors[node][position - 1] in on_stack:
                low[node] = min(low[node], low[successors[node][position - 1]])
            if position < len(successors[node]):
                work.append((node, position + 1))
                following = successors[node][position]
                if following not in index:
                    work.append((following, 0))
            elif low[node] == index[node]:
                at = place[node]
                found.append(sorted(stack[at:], key=order.__getitem__))
                on_stack.difference_update(stack[at:])
                del stack[at:]
    return found[::-1]


def back_edges(successors: Mapping[str, Sequence[str]], members: Sequence[str]) -> list[tuple[str, str]]:
    """Edges of a component whose removal leaves no circle: those that lead back to a node on the way to them."""
    inside = set(members)
    found: list[tuple[str, str]] = []
    state: dict[str, int] = {}  # 1 on the way, 2 done
    work: list[tuple[str, int]] = [(members[0], 0)]
    while work:
        node, position = work.pop()
        if position == 0:
            state[node] = 1
        following = [name for name in successors[node] if name in inside]
        if position == len(following):
            state[node] = 2
            continue
        work.append((node, position + 1))
        target = following[position]
        if target not in state:
            work.append((target, 0))
        elif state[target] == 1:
            found.append((node, target))
    return found
