"""Recursion that can never begin: all that would derive it rests on it.

The least model of such rules is empty, whatever comes. So their steps feed each other no more, and it does not matter how
far they look ahead.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tidelog.plans.plan.plan import AntiJoinShape, DilateShape, ErodeShape, Feed, JoinShape, PairShape, Step, UnionShape
from tidelog.plans.tree.components import components
from tidelog.plans.tree.reaching import reachable


def cut_what_never_begins(steps: Mapping[str, Step], watched: Collection[str]) -> dict[str, Step]:
    """The steps, with those of a recursion that can never hold as unions of nothing, and without what these alone read.

    >>> ahead = Step("q", "q", UnionShape(), (Feed("step", "q"),), "q :- q.")
    >>> cut_what_never_begins({"q": ahead}, ["q"])["q"].inputs
    (Feed(kind='facts', name='q'),)
    """
    possible = _possible(steps)
    if len(possible) == len(steps):
        return dict(steps)
    found = dict(steps)
    following: dict[str, list[str]] = {name: [] for name in steps if name not in possible}
    for name in following:
        for feeder in steps[name].feeders:
            if feeder in following:
                following[feeder].append(name)
    for members in components(following):
        if len(members) > 1 or members[0] in following[members[0]]:
            found |= {name: _without_facts(steps[name]) for name in members}
    needed = reachable([name for name in watched if name in found], lambda name: found[name].feeders)
    return {name: step for name, step in found.items() if name in needed}


def _without_facts(step: Step) -> Step:
    """A step of a predicate that never holds, so that there are no facts of it either."""
    return replace(step, shape=UnionShape(), inputs=(Feed("facts", step.predicate),))


def _possible(steps: Mapping[str, Step]) -> set[str]:
    """The steps that may hold at some time: from below, each as soon as what it needs may."""
    readers: dict[str, list[Step]] = {name: [] for name in steps}
    for step in steps.values():
        for name in set(step.feeders):
            readers[name].append(step)
    possible: set[str] = set()
    waiting = list(steps.values())
    while waiting:
        step = waiting.pop()
        if step.id not in possible and _may_hold(step, possible):
            possible.add(step.id)
            waiting += readers[step.id]
    return possible


def _may_hold(step: Step, possible: set[str]) -> bool:
    fed = [feed.kind != "step" or feed.name in possible for feed in step.inputs]
    match step.shape:
        case UnionShape():
            return any(fed)
        case JoinShape() | DilateShape() | ErodeShape():
            return all(fed)
        case PairShape():
            return fed[1]
        case AntiJoinShape():
            return fed[0]
    return True
