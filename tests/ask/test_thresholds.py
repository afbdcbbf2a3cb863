"""Thresholds of aggregates in questions: the facts that reach them are premises."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from ask.test_regressions import short, tell
from drawing import drawn
from oracle.hypothetical import Answer, Oracle
from oracle.hypothetical_agreement import is_instance_of, triple_of
from oracle.hypothetical_streams import in_order
from oracle.worlds import Fact, subsets
from tidelog.operators.ask.asker import Asker
from tidelog.operators.sld import limits

FAILS = """input fail(s). ask alarm(S)@T.
alarm(S)@T :- fail(S)@T, often(S)@T.
often(S) :- count() over fail(S) in [10] by S >= 3.
"""


def test_a_count_needs_so_many_facts_within_the_window() -> None:
    """Two failures are evidence; the third may come until the first leaves the window."""
    lines = [short(line) for line in tell(FAILS, ["fail(a)@1"], ["fail(a)@4"], ["fail(a)@6"], finish=False)]
    assert lines[1] == "possible a,?: fail(a)@1 fail(a)@4 | fail(a)@T where T >= 5, T <= 11 by 11"
    assert "certain a,6: fail(a)@1 fail(a)@4 fail(a)@6" in lines


def test_rows_of_one_time_are_counted_if_they_differ() -> None:
    """What `_` stands for counts as well: each row and time is one."""
    rules = "input fail(s, e). alarm(S) :- count() over fail(S,_) in [2] by S >= 2. ask alarm(S)@T."
    lines = [short(line) for line in tell(rules, ["fail(a,x)@1"], ["fail(a,y)@1"], finish=False)]
    assert lines[0] == "possible a,2: fail(a,x)@1 | fail(a,Any2)@2 by 2"
    assert lines[-3:] == [f"certain a,{time}: fail(a,x)@1 fail(a,y)@1" for time in (1, 2, 3)]


def test_a_maximum_needs_one_reading() -> None:
    """One reading above the threshold will do, at any time in the window."""
    rules = "input temp(s, v: number). input go. high(S) :- go, max(V) over temp(S,V) in [9] by S > 80. ask high(S)@T."
    lines = tell(rules, ["temp(a,90)@1"], ["temp(b,70)@2"], ["go@4"], finish=False)
    assert [short(line) for line in lines if line.answer["S"] == "a"] == [
        "possible a,?: temp(a,90)@1 | go@T where T >= 1, T <= 10 by 10",
        "certain a,4: temp(a,90)@1 go@4",
    ]
    assert not [line for line in lines if line.answer["S"] == "b"]


def test_distinct_values_differ() -> None:
    """The second value is another one, and `where` says so."""
    rules = "input at(s, v). moved(S) :- distinct(V) over at(S,V) in [1] by S >= 2. ask moved(S)@T."
    assert short(tell(rules, ["at(a,x)@1"], finish=False)[0]) == "possible a,2: at(a,x)@1 | at(a,V)@2 where V != x by 2"


def test_a_threshold_under_not_is_told_as_it_reads() -> None:
    """As long as it may be reached it is a hypothesis that it is not."""
    rules = "input go(s). input fail(s). calm(S) :- go(S), not count() over fail(S) in [4] by S >= 2. ask calm(S)@T."
    lines = [short(line) for line in tell(rules, ["fail(a)@1"], ["go(a)@2"], ["go(a)@7"], finish=False)]
    assert lines[0] == "possible a,2: go(a)@2 | not 'count() over fail(S) in [4] by S >= 2'(a)@2 by 2"
    assert lines[1].startswith("certain a,2: go(a)@2")


# --- by the definitions -------------------------------------------------------------------------------------------------


class _ByDefinition(Oracle):
    """The answers over every subset of a universe, as a function of it says."""

    def __init__(self, universe: Sequence[Fact], holding: Callable[[Collection[Fact]], set[Answer]]) -> None:
        self.universe, self.size = list(universe), len(universe)
        self._number = {fact: index for index, fact in enumerate(self.universe)}
        self._having = list(subsets(self.universe).values())
        self.answers = {}
        for world in range(1 << self.size):
            for answer in holding([fact for i, fact in enumerate(self.universe) if world >> i & 1]):
                self.answers[answer] = self.answers.get(answer, 0) | 1 << world


COUNTED = {
    "count() over p(X) in [{n}] by X >= {k}": lambda facts, k: len(facts) >= k,
    "count() over q(X,_) in [{n}] by X >= {k}": lambda facts, k: len(facts) >= k,
    "distinct(Y) over q(X,Y) in [{n}] by X >= {k}": lambda facts, k: len({row[1] for _, row, _ in facts}) >= k,
    "max(Y) over q(X,Y) in [{n}] by X >= {k}": lambda facts, k: any(row[1] >= k for _, row, _ in facts),
}
PLACES: dict[str, list[Fact]] = {
    "p": [("p", ("a",), time) for time in range(5)],
    "q": [("q", ("a", value), time) for time in range(5) for value in (1, 2)],
}


@pytest.mark.slow
@drawn(30)
@given(data=st.data())
def test_thresholds_are_reached_as_the_definitions_say(data: st.DataObject) -> None:
    """What is supported is ℰ(Q, D, τ) of all sets of pairs in the window, at each time point of a stream."""
    text, passes = data.draw(st.sampled_from(sorted(COUNTED.items(), key=str)))
    n, k, beside = data.draw(st.integers(0, 3)), data.draw(st.integers(1, 3)), data.draw(st.booleans())
    rules = (
        f"input p(x). input q(x, y: number). input r. a(X) :- {text.format(n=n, k=k)}{', r' if beside else ''}. ask a(X)@T."
    )
    with patch.object(limits, "LONGEST_LIST", data.draw(st.sampled_from([1, 5]))):
        plan = tidelog.compile(f"timeline integer. {rules}", outputs=False)
    name = "p" if "p(X)" in text else "q"
    places = [*PLACES[name], *([("r", (), time) for time in range(5)] if beside else [])]
    universe: list[Fact] = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=8, unique=True))

    def holding(facts: Collection[Fact]) -> set[Answer]:
        times = {time for each, _, time in facts if each == "r"} if beside else set(range(12))
        inside = {t: [fact for fact in facts if fact[0] == name and t - n <= fact[2] <= t] for t in times}
        return {("a", t) for t, found in inside.items() if found and passes(found, k)}

    oracle, asker, known = _ByDefinition(universe, holding), Asker(plan.questions[0], plan.unfoldings[0]), list[Fact]()
    certain: set[Answer] = set()
    history = [fact for fact in universe if data.draw(st.booleans())]
    for arrival in in_order(history, until=9):
        known += arrival.facts
        records = [(each, row, time, time) for each, row, time in arrival.facts]
        lines = asker.receive(records, arrival.watermark, 0)
        certain |= {(line.answer["X"], line.answer["T"]) for line in lines if line.status == "certain"}
        pending = [fact for fact in universe if fact not in known and fact[2] > arrival.watermark]
        supported = asker.supported()
        told = [triple_of(line, plan.questions[0].query) for line in supported]
        for item in oracle.supported(known, pending):
            is_certain = not item.hypotheses  # of what is certain, one proof is told
            found = any(is_instance_of(item, triple) for triple in told)
            assert found or is_certain, f"{rules} {known} up to {arrival.watermark}: missing {item}, told {told}"
        for triple in told:
            if triple.is_ground:
                facts = [(each.predicate, each.arguments, each.time) for each in triple.hypotheses]
                assert triple.answer in holding([*triple.evidence, *facts]), f"{rules} {known}: {triple}"
                for fact in facts:
                    less = [other for other in (*known, *facts) if other != fact]
                    assert triple.answer not in holding(less), f"{rules} {known}: {triple} needs {fact} too much"
        assert certain == holding(known), f"{rules} {known} up to {arrival.watermark}"
