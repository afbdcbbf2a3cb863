"""Questions in a session: what is told, when, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import pytest

import tidelog
from ask.turbines import DEFECTS, TURBINES, feed, plan_of, pulled, shown
from tidelog import GroundLiteral, HypotheticalAnswer, Open, OperatorError, Session, SnapshotError
from tidelog.operators.ask.asker import Asker
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.questions import Status
from tidelog.runtime.ports.interfaces import Batch

FIRST, SECOND, THIRD = (f"temp(wt25,high)@{time}" for time in range(3))


def test_an_answer_becomes_possible_and_certain() -> None:
    """Examples 1 to 3: each reading moves one hypothesis into the evidence; the deadline stays."""
    session = Session(plan_of(TURBINES))
    feed(session, [0])
    (line,) = session.pull_hypothetical()
    assert line == HypotheticalAnswer(
        query="malf",
        answer={"X": "wt25", "T": 0},
        status="possible",
        evidence=(GroundLiteral("temp", ("wt25", "high"), 0),),
        hypotheses=(GroundLiteral("temp", ("wt25", "high"), 1), GroundLiteral("temp", ("wt25", "high"), 2)),
        at=0,
        deadline=2,
    )
    feed(session, [1, 2])
    told = [line for line in session.pull_hypothetical() if line.answer["T"] == 0]
    assert [shown(line)[1:] for line in told] == [
        ("possible", (FIRST, SECOND), (THIRD,)),
        ("certain", (FIRST, SECOND, THIRD), ()),
    ]
    assert [(line.at, line.deadline, line.is_final) for line in told] == [(1, 2, False), (2, None, True)]
    assert session.pull_hypothetical() == []


def test_an_answer_is_rejected_by_what_did_not_come() -> None:
    """The line names the premise that failed; time passes by `advance` as by facts, and the stream's end decides all."""
    session = Session(plan_of(TURBINES))
    feed(session, [0])
    session.advance(1)
    feed(session, [2], "wt42")
    rejected = [line for line in session.pull_hypothetical() if line.status == "rejected"]
    assert [(line.answer["X"], str(line.failed), line.at) for line in rejected] == [("wt25", SECOND, 1)]
    session.finish()
    assert [shown(line)[:2] for line in session.pull_hypothetical()] == [(("wt42", 2), "rejected")]


def test_forward_answers_come_beside() -> None:
    """`output` and `ask` in one program: each has answers of its own."""
    session = Session(plan_of(TURBINES))
    feed(session, [0, 1, 2])
    assert [str(answer) for answer in session.pull()] == [f"flag(wt25)@{time}" for time in range(3)]
    assert {line.status for line in session.pull_hypothetical()} == {"possible", "certain"}


def test_a_wait_that_nothing_bounds() -> None:
    """Example 10: the hypothesis has an open time, the answer no deadline; it is decided when the fact comes."""
    session = Session(plan_of(DEFECTS, outputs=False))
    feed(session, [0])
    (line,) = session.pull_hypothetical()
    assert (line.answer, line.status, line.deadline) == ({"X": "wt25", "T": 0}, "possible", None)
    (hypothesis,) = line.hypotheses
    assert isinstance(hypothesis.time, Open)
    assert str(hypothesis) == f"temp(wt25,broken)@{hypothesis.time.name}"
    feed(session, [900], level="broken")
    assert pulled(session) == [
        (("wt25", 0), "certain", (FIRST, "temp(wt25,broken)@900"), ()),
        (("wt25", None), "possible", ("temp(wt25,broken)@900",), ("temp(wt25,high)@T",)),
    ]


def test_several_questions_have_names() -> None:
    """Each by its predicate, a second one on the same by its text; lines, schemata and statistics go by them."""
    session = Session(plan_of(TURBINES + "ask shdn(X)@T. ask malf(wt42)@S.\n"))
    feed(session, [0])
    assert {line.query for line in session.pull_hypothetical()} == {"malf", "shdn"}
    assert [list(session.schemata(name)[0].answer) for name in ("malf", "shdn", "malf(wt42)@S")] == [["X", "T"]] * 2 + [
        ["S"]
    ]
    assert len(session.schemata()) == 3
    assert list(session.statistics().questions) == ["malf", "shdn", "malf(wt42)@S"]
    with pytest.raises(KeyError, match="flag"):
        session.schemata("flag")


def test_schemata_are_what_may_come_of_nothing() -> None:
    """Unsupported answers are never told; as schemata they have open columns and all premises as hypotheses."""
    (schema,) = Session(plan_of(TURBINES)).schemata()
    assert (schema.status, schema.evidence) == ("unsupported", ())
    assert schema.answer == {"X": None, "T": None}
    assert len(schema.hypotheses) == 3


def test_supported_answers_at_a_moment() -> None:
    """What facts speak for right now, told or not."""
    session = Session(plan_of(TURBINES), statuses=["certain"])
    feed(session, [0, 1])
    assert session.pull_hypothetical() == []
    assert sorted(shown(answer)[0] for answer in session.supported("malf")) == [("wt25", 0), ("wt25", 1)]


def test_a_query_in_place_of_the_program_s_own() -> None:
    """`queries` of compile replace `ask`; without outputs nothing is derived forward."""
    session = Session(plan_of(TURBINES, queries=["shdn(X)@T"], outputs=False))
    feed(session, [0])
    assert pulled(session) == [(("wt25", 2), "possible", (FIRST,), (SECOND, THIRD))]
    assert session.pull() == []


def test_statistics_count_what_a_question_does() -> None:
    """Facts that matter, lines, what is open; what is decided is let go."""
    session = Session(plan_of(TURBINES))
    feed(session, [0])
    feed(session, [0], level="low")
    stored = session.statistics().questions["malf"]
    assert (stored.received, stored.told, stored.open) == (1, 1, 1)
    session.advance(100)
    stored = session.statistics().questions["malf"]
    assert (stored.told, stored.open, stored.answers) == (2, 0, 0)


# --- which answers are told ---------------------------------------------------------------------------------------------


def test_min_evidence_keeps_back_what_little_speaks_for() -> None:
    """Possible from two facts on; the rejection of what was never told is not told, that of what was told is."""
    session = Session(plan_of(TURBINES), min_evidence=2)
    feed(session, [0])
    assert session.pull_hypothetical() == []
    feed(session, [1, 10])
    session.finish()
    assert [shown(line)[:2] for line in session.pull_hypothetical()] == [
        (("wt25", 0), "possible"),
        (("wt25", 0), "rejected"),
    ]


def test_what_is_certain_is_told_however_little_it_took() -> None:
    """An answer that one fact makes certain has no more evidence to wait for."""
    session = Session(plan_of(TURBINES, queries=["flag(X)@T"]), min_evidence=3)
    feed(session, [0])
    assert pulled(session) == [(("wt25", 0), "certain", (FIRST,), ())]


def test_absences_are_no_evidence_of_their_own() -> None:
    """`min_evidence` counts facts, not what did not come."""
    text = "timeline integer. input on(x). input off(x). p(X)@T :- on(X)@T, not off(X)@T+1, on(X)@T+5. ask p(X)@T."
    session = Session(plan_of(text), min_evidence=2)
    session.push("on", ["a"], 0)
    session.advance(3)
    assert session.pull_hypothetical() == []
    session.push("on", ["a"], 5)
    assert [line.status for line in session.pull_hypothetical()] == ["certain"]


@pytest.mark.parametrize("statuses", [["possible"], {"certain", "rejected"}, ("rejected",), [], None])
def test_statuses_choose_lines(statuses: Collection[Status] | None) -> None:
    """Each line by its own status, also the end of what was not told."""
    everything, some = Session(plan_of(TURBINES)), Session(plan_of(TURBINES), statuses=statuses)
    for session in (everything, some):
        feed(session, [0, 1, 2])
        session.finish()
    lines = everything.pull_hypothetical()
    assert {line.status for line in lines} == {"possible", "certain", "rejected"}
    assert some.pull_hypothetical() == [line for line in lines if statuses is None or line.status in statuses]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"min_evidence": -1}, ValueError, "`min_evidence` is 0 or more, got -1"),
        ({"min_evidence": "2"}, TypeError, "`min_evidence` is a whole number, got str"),
        ({"min_evidence": True}, TypeError, "got bool"),
        ({"statuses": ["maybe"]}, ValueError, "unknown status 'maybe': expected possible, certain, rejected"),
        ({"statuses": ["unsupported"]}, ValueError, "unknown status 'unsupported'"),
        ({"statuses": "certain"}, TypeError, r"`statuses` is a collection, such as \[\"certain\"\], got str"),
    ],
)
def test_wrong_choices(options: dict[str, Any], error: type[Exception], said: str) -> None:
    """A choice that is none is told at once."""
    with pytest.raises(error, match=said):
        Session(plan_of(TURBINES), **options)


def test_supports_of_an_open_answer_are_chosen_one_by_one() -> None:
    """Where a column is open, each support counts its own evidence, and has its own end."""
    text = "timeline integer. input a(x). input b(x). input c(x, y).\n"
    text += "p(X, Y)@T :- a(X)@T, b(X)@T+1, c(X, Y)@T+2. ask p(X, Y)@T."
    session = Session(plan_of(text), min_evidence=2)
    for predicate, time in (("a", 0), ("a", 1), ("b", 1), ("a", 3)):
        session.push(predicate, ["k"], time)
    told = [(line.status, len(line.evidence), line.answer["T"]) for line in session.pull_hypothetical()]
    assert told == [("possible", 2, 0), ("rejected", 2, 0)]


# --- state --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [TURBINES, DEFECTS])
@pytest.mark.parametrize("min_evidence", [0, 2])
@pytest.mark.parametrize("cut", range(7))
def test_a_snapshot_changes_nothing(text: str, min_evidence: int, cut: int) -> None:
    """Wherever it is taken, what goes on from it tells what would have been told without it."""
    facts = [(turbine, level, time) for time in range(6) for turbine in ("u", "v") for level in ("high", "broken")]
    facts = [fact for i, fact in enumerate(facts) if i % 5 not in (1, 3)]
    whole, first, second = (Session(plan_of(text, outputs=False), min_evidence=min_evidence) for _ in range(3))
    for fact in facts[: 2 * cut]:
        first.push("temp", fact[:2], fact[2])
    second.restore(json.loads(json.dumps(first.snapshot())))
    told = pulled(first)
    for session, given in ((whole, facts), (second, facts[2 * cut :])):
        for fact in given:
            session.push("temp", fact[:2], fact[2])
        session.finish()
    assert sorted(map(str, told + pulled(second))) == sorted(map(str, pulled(whole)))
    assert whole.statistics().questions == second.statistics().questions


def test_a_line_behind_a_snapshot_has_its_time() -> None:
    """A fact that comes after a restart, at the time of the last one before it, tells when it came."""
    plan = tidelog.compile("timeline integer. input p(x). a(X)@T :- p(X)@T. ask a(X)@T.", outputs=False)
    session = Session(plan)
    session.push("p", ("k",), 3)
    session.pull_hypothetical()
    other = Session(plan)
    other.restore(session.snapshot())
    other.push("p", ("l",), 3)
    assert [line.at for line in other.pull_hypothetical()] == [3]


def test_a_snapshot_of_other_questions_is_refused() -> None:
    """Another query, depth, choice or background is another plan."""
    state = Session(plan_of(TURBINES)).snapshot()
    for other in (plan_of(TURBINES, queries=["shdn(X)@T"]), plan_of(TURBINES, depth=3), plan_of(TURBINES, outputs=False)):
        with pytest.raises(SnapshotError):
            Session(other).restore(state)
    with pytest.raises(SnapshotError, match="other options of what is told"):
        Session(plan_of(TURBINES), min_evidence=2).restore(state)


# --- failure ------------------------------------------------------------------------------------------------------------


def test_a_question_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the question, and the fact on which it failed."""
    receive = Asker.receive

    def receive_unless_bad(
        self: Asker, records: Sequence[Record], watermark: int, start: int | None = None
    ) -> list[HypotheticalAnswer]:
        if any(row[0] == "bad" for _, row, _, _ in records):
            raise RuntimeError("cannot do this")
        return receive(self, records, watermark, start)

    monkeypatch.setattr(Asker, "receive", receive_unless_bad)
    session = Session(plan_of(TURBINES))
    with pytest.raises(OperatorError) as caught:
        session.push_records([session.plan.record("temp", [name, "high"], time=4) for name in ("good", "bad", "fine")])
    error = caught.value
    assert (error.step, error.rule) == ("malf", "ask malf(X)@T.")
    assert (error.fact, error.reason) == ("temp(bad,high)@4", "RuntimeError: cannot do this")
    assert isinstance(error.__cause__, RuntimeError)


def test_parts_of_a_source_that_stand_at_other_times_do_not_make_each_other_late() -> None:
    """In one batch, a part's fact may lie far behind another's; nothing is decided before it is taken."""
    plan = plan_of("timeline integer. input q(x). input r(x). p(X) :- q(X), diamondminus[0,5] r(X). ask p(X)@T.")
    facts = [("r", ("a",), 6, 6), ("q", ("a",), 100, 100), ("q", ("a",), 10, 10), *[("q", ("b",), t, t) for t in (101, 102)]]
    whole = Session(plan, sources=("s",), max_lead=1)
    whole.take("s", Batch(facts, parts=["one", "two", "one", "two", "two"]))
    whole.end("s")
    assert [line.answer for line in whole.pull_hypothetical() if line.status == "certain"] == [{"X": "a", "T": 10}]
