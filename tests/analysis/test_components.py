"""The components of a graph, by their definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from tidelog.plans.tree.components import components

NODES = "abcdefg"
GRAPHS = st.integers(0, len(NODES)).flatmap(
    lambda size: st.fixed_dictionaries(
        {node: st.lists(st.sampled_from(NODES[:size]), max_size=4) if size else st.just([]) for node in NODES[:size]}
    )
)


def reached(graph: Mapping[str, Sequence[str]], node: str) -> set[str]:
    """All nodes that a node leads to, itself among them."""
    found, waiting = {node}, [node]
    while waiting:
        following = set(graph[waiting.pop()]) - found
        found |= following
        waiting += following
    return found


@given(GRAPHS)
def test_a_component_is_what_leads_to_each_other(graph: dict[str, list[str]]) -> None:
    """Each node is in one, with those that lead to it and that it leads to, in the order of the graph."""
    ways = {node: reached(graph, node) for node in graph}
    found = components(graph)
    assert sorted(node for members in found for node in members) == sorted(graph)
    for members in found:
        assert members == [node for node in graph if node in ways[members[0]] and members[0] in ways[node]]


@given(GRAPHS)
def test_a_component_comes_behind_those_that_feed_it(graph: dict[str, list[str]]) -> None:
    """No edge leads back to an earlier component."""
    place = {node: i for i, members in enumerate(components(graph)) for node in members}
    assert all(place[node] <= place[target] for node, targets in graph.items() for target in targets)
