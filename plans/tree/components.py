"""The components of a graph: which nodes depend on each other in a circle, and in which order the rest can be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


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
    place: dict[str, int] = {}  # of what is on the stack, from which only its end is ever taken
    found: list[list[str]] = []
    work: list[tuple[str, Iterator[str]]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        place[node] = len(stack)
        stack.append(node)
        work.append((node, iter(successors[node])))

    for root in successors:
        if root not in index:
            visit(root)
        while work:
            node, following = work[-1]
            for name in following:
                if name not in index:
                    visit(name)
                    break
                if name in place:
                    low[node] = min(low[node], index[name])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = stack[place[node] :]
                    del stack[place[node] :]
                    for name in members:
                        del place[name]
                    found.append(sorted(members, key=order.__getitem__) if len(members) > 1 else members)
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
