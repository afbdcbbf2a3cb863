"""The emit modes where they are hardest: lateness, delays, background, and the end."""

from __future__ import annotations

import pytest

import tidelog
from engine.running import BACKENDS, engine_answers, plan_of, records, session_answers, shown
from tidelog import MemorySource, Session
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import Announced
from tidelog.runtime.emission.agenda import Agenda
from tidelog.runtime.emission.emission import Final


def test_points_are_answered_where_only_background_holds() -> None:
    """An output that does not depend on the stream is answered at each of its points."""
    text = "timeline integer. input tick. edge(a,b). path(X,Y) :- edge(X,Y). output path."
    assert session_answers(text, ["tick@1", "tick@4"], emit="points") == ["path(a,b)@1", "path(a,b)@4"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_engine_answers_background_at_points(backend: str) -> None:
    """The same on engines."""
    plan = plan_of("timeline integer. input tick. edge(a,b). path(X,Y) :- edge(X,Y). output path.")
    answers = engine_answers(backend, plan, [MemorySource(records(plan, ["tick@1", "tick@4"]), batch_size=1)], emit="points")
    assert shown(plan, answers) == ["path(a,b)@1", "path(a,b)@4"]


def test_points_wait_for_late_facts() -> None:
    """A point is answered when no earlier one can arrive any more, though the output is known far ahead of the watermark."""
    text = "timeline integer. seen(X) :- diamondminus[5,20] p(X). output seen."
    facts = ["p(a)@0", "p(a)@10", "p(a)@8", "p(a)@6", "p(a)@12"]
    assert session_answers(text, facts, emit="points", lateness=4) == [f"seen(a)@{t}" for t in (6, 8, 10, 12)]


def test_points_wait_for_what_looks_ahead() -> None:
    """With a delay, a point is answered once what lies ahead of it is known."""
    plan = plan_of("timeline integer. soon(X) :- p(X), diamondplus[1,3] q(X). output soon.")
    session = Session(plan, emit="points")
    for fact in ("p(a)@0", "p(a)@2", "q(a)@4"):
        session.push_records(records(plan, [fact]))
    assert session.pull() == []
    session.advance(5)
    assert shown(plan, session.pull_records()) == ["soon(a)@2"]


def test_facts_at_one_point_are_answered_once() -> None:
    """Several facts at one time make one point."""
    text = "timeline integer. seen(X) :- p(X). output seen."
    assert session_answers(text, ["p(b)@1", "p(a)@1", "p(b)@1"], emit="points") == ["seen(a)@1", "seen(b)@1"]


def test_final_waits_for_both_ends() -> None:
    """A maximal interval is told once it can grow on neither side, also where facts come out of order."""
    plan = plan_of("timeline integer. seen(X) :- p(X). output seen.")
    session = Session(plan, emit="final", lateness=5)
    found = []
    for fact in ("p(a)@7", "p(a)@5", "p(a)@6", "p(a)@9", "p(a)@13", "p(a)@8"):
        session.push_records(records(plan, [fact]))
        found.append(shown(plan, session.pull_records()))
    session.advance(10)
    assert found == [[]] * 6
    assert shown(plan, session.pull_records()) == ["seen(a)@[5,9]"]


def test_final_has_an_order_of_its_own() -> None:
    """What becomes final together is sorted by end, begin and text, not by how it came: so a restored session agrees."""
    text = "timeline integer. seen(X) :- p(X). output seen."
    facts = ["p(c)@1", "p(a)@1", "p(b)@2", "p(a)@2", "p(1)@2"]
    found = session_answers(text, facts, batch=5, emit="final")
    assert found == ["seen(c)@1", "seen(a)@[1,2]", "seen(1)@2", "seen(b)@2"]


def test_final_tells_what_never_ends_once_its_begin_is_known() -> None:
    """An interval without end is final as soon as nothing can come before it."""
    plan = plan_of("timeline integer. ever(X) :- diamondminus p(X). output ever.")
    session = Session(plan, emit="final", lateness=3)
    session.push("p", ["a"], 5)
    session.push("p", ["a"], 4)
    assert session.pull() == []
    session.advance(3)
    assert shown(plan, session.pull_records()) == ["ever(a)@[4,inf)"]


@pytest.mark.parametrize("emit", ["intervals", "final", "points"])
def test_negation_of_the_stream_beside_background(emit: str) -> None:
    """Facts that hold at all times, less what the stream says: from minus infinity on, each time once."""
    text = "timeline integer. input p(x). q(a). quiet(X) :- q(X), not p(X). output quiet."
    found = session_answers(text, ["p(a)@3", "p(b)@5"], emit=emit)
    if emit == "points":
        assert found == ["quiet(a)@5"]
    else:
        ends = {"intervals": ["(-inf,2]", "4", "[5,inf)"], "final": ["(-inf,2]", "[4,inf)"]}[emit]
        assert found == [f"quiet(a)@{end}" for end in ends]


def test_what_is_scheduled_does_not_pile_up() -> None:
    """A row that is to be looked at much later, and meanwhile now and then, is kept once for the far time."""
    agenda, row = Agenda(), ("a",)
    for time in range(1000):
        agenda.schedule(row, time)
        assert list(agenda.reached(time)) == [row]
        agenda.schedule(row, 10**9)
    assert len(agenda._due) < 100
    assert list(agenda.reached(10**9)) == [row]


def test_what_never_ends_is_told_once_in_pieces_too() -> None:
    """At the end of the stream a latch may tell the same row without an end twice, from two begins."""
    final = Final(["on"], {"on": Announced()})
    row = ("a",)
    assert final.receive("on", [], 4, Notices([(row, 3)])) == []
    assert final.receive("on", [], POS, Notices([], [(row, 3, POS)])) == [("on", row, 3, POS)]
    assert final.receive("on", [(row, 6, POS)], POS) == []
    restored = Final(["on"], {"on": Announced()})
    restored.restore(final.snapshot())
    assert restored.receive("on", [(row, 9, POS)], POS) == []


def test_what_never_ends_is_told_once_though_it_is_open_when_a_snapshot_is_taken() -> None:
    """A row that was told to hold for ever goes on in another rule, too, while a session is restored."""
    plan = tidelog.compile("timeline integer. s(X) :- q(X), not r(X). s(X) :- diamondminus p(X). output s.")
    session = Session(plan, emit="final")
    session.push("p", ["a"], 0)
    session.push("q", ["a"], interval="[5,100]")
    session.advance(8)
    assert [str(answer) for answer in session.pull()] == ["s(a)@[0,inf)"]
    restored = Session(plan, emit="final")
    restored.restore(session.snapshot())
    restored.push("r", ["a"], 20)
    restored.finish()
    assert restored.pull() == []
