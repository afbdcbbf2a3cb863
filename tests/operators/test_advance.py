"""All frontiers of an operator at once: what follows is what follows from them one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.operators.stores.coverage import Coverage
from tidelog.runtime.network.deploy import build_operator

RULES = {
    "union": "o(X) :- p(X). o(X) :- q(X).",
    "join": "o(X) :- p(X), q(X).",
    "since": "o(X) :- p(X) since q(X).",
    "until": "o(X) :- p(X) until[0,3] q(X).",
    "negation": "o(X) :- p(X), not q(X).",
}
FACTS = st.tuples(st.integers(0, 1), st.integers(2, 6), st.integers(0, 3))


@drawn(40)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(data=st.data())
def test_frontiers_at_once_equal_frontiers_one_by_one(rule: str, data: st.DataObject) -> None:
    """The same coverage is sent, and the same is promised; what is found out later does not differ either."""
    plan = tidelog.compile(f"timeline integer. input p(x). input q(x). {rule}")
    step = max(plan.steps, key=lambda step: len(step.inputs))
    one, other = build_operator(step, plan.timeline), build_operator(step, plan.timeline)
    ports = [Coverage(keeps=True) for _ in step.inputs]  # what a channel carries is disjoint
    known = 0
    for _ in range(4):
        for port, begin, length in data.draw(st.lists(FACTS, max_size=4)):
            fresh = ports[port].insert([(("a",), known + begin, known + begin + length)])
            assert one.feed(port, fresh) == other.feed(port, fresh)
        known += 10
        frontiers = [known + data.draw(st.integers(0, 1)) for _ in step.inputs]
        told = [fact for port, frontier in enumerate(frontiers) for fact in one.receive(port, (), frontier)]
        assert sorted(told) == sorted(other.advance(frontiers))
        assert one.frontier == other.frontier
        if data.draw(st.booleans()):
            other.tidy()
