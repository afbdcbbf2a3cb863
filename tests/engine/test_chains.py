"""Chains of steps that share an actor."""

import tidelog
from tidelog.runtime.actors import chains_of
from tidelog.runtime.graph import Graph


def chains(text: str) -> tuple[Graph, dict[str, list[str]]]:
    graph = Graph(tidelog.compile(text))
    return graph, chains_of(graph)


def test_each_step_outside_loops_is_in_one_chain() -> None:
    """Loops run by themselves; every other step is run by one actor, in the plan's order."""
    graph, found = chains(
        """
        timeline integer.
        near(X,Y) :- boxminus[0,2] link(X,Y), diamondminus[0,1] up(X).
        reach(X,Y) :- near(X,Y).
        reach(X,Z) :- reach(X,Y), near(Y,Z).
        far(X) :- diamondminus[0,5] reach(X,Y), up(Y).
        """
    )
    outside = [step.id for step in graph.plan.steps if step.loop is None]
    assert sorted(name for chain in found.values() for name in chain) == sorted(outside)
    assert all(chain == [name for name in outside if name in chain] for chain in found.values())
    assert all(chain[-1] == last for last, chain in found.items())
    assert max(map(len, found.values())) > 1


def test_what_several_read_ends_its_chain() -> None:
    """A step that two others read, or that is an output, sends through channels."""
    graph, found = chains("output q. output r. q(X) :- boxminus[0,2] p(X). r(X) :- boxminus[0,3] p(X), q(X).")
    assert {"p", *graph.plan.outputs.values()} <= set(found)
