"""Why a session told what it told: `Session.why`, and the premises that changes carry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidelog
from tidelog import Session
from tidelog.cli import main
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.runtime.why.memory import ExplainedChange

PLAN = tidelog.compile(
    "timeline integer. hot(P) :- temp(P,V), V >= 100. alarm(P) :- boxminus[0,2] hot(P), not ok(P). output alarm."
)


def fed(session: Session) -> Session:
    for time in range(1, 7):
        session.push("temp", ["p1", 100 + time], time)
    session.push("ok", ["p1"], 6)
    return session


def test_a_session_explains_what_holds_so_far() -> None:
    """Derived facts, also those that are no output, are explained from the facts that were accepted."""
    session = fed(Session(PLAN, remember=100))
    assert session.why("alarm", ["p1"], 4).text().splitlines()[2:] == [
        "  hot(p1)@2",
        "    by hot(P) :- temp(P, V), V >= 100.  where P = p1, V = 102",
        "    temp(p1,102)@2  (input)",
        "  hot(p1)@3",
        "    by hot(P) :- temp(P, V), V >= 100.  where P = p1, V = 103",
        "    temp(p1,103)@3  (input)",
        "  hot(p1)@4",
        "    by hot(P) :- temp(P, V), V >= 100.  where P = p1, V = 104",
        "    temp(p1,104)@4  (input)",
        "  not ok(p1)@4  (absent)",
    ]
    assert session.why("hot", ["p1"], 4).holds


def test_what_is_not_decided_yet_is_said_so() -> None:
    """Beyond the time up to which the stream is complete, nothing is claimed of what is absent."""
    session = fed(Session(PLAN, remember=100))
    answer = session.why("alarm", ["p1"], 7)
    assert not answer.holds
    assert answer.notes == ("the stream is complete up to 5 alone: it may still come to hold later",)
    assert answer.text().endswith(f"({answer.notes[0]})")
    session.finish()
    assert session.why("alarm", ["p1"], 6).notes == ()


def test_what_is_forgotten_is_said_so() -> None:
    """The memory is bounded; an answer that may rest on what was forgotten says it."""
    session = fed(Session(PLAN, remember=5))
    known = session.why("alarm", ["p1"], 5)
    assert known.holds
    assert known.notes == ("2 earlier facts, which held up to 2, are not known any more",)
    gone = session.why("alarm", ["p1"], 4)
    assert not gone.holds
    assert gone.notes == ("2 earlier facts, which held up to 2, are not known any more: one of them might change this",)


def test_what_is_known_stays_as_it_is() -> None:
    """Who asks in another thread gets reasons from what was known when he was handed it, whatever comes meanwhile."""
    session = fed(Session(PLAN, remember=7))
    known = session.memory.known(lambda lo, hi: f"t{lo}")
    session.push("temp", ["p1", 99], 8)
    answer = known.why(("alarm", ("p1",), 4, 4))
    assert answer.holds
    assert "not ok(p1)@t4  (absent)" in answer.text()
    assert not session.memory.known().why(("hot", ("p1",), 1, 1)).holds


def test_a_session_that_remembers_nothing_says_how_to() -> None:
    """Nothing is kept unless it is asked for."""
    with pytest.raises(MethodError, match="remember=10_000"):
        fed(Session(PLAN)).why("alarm", ["p1"], 4)


def test_a_restored_session_has_forgotten_what_was_before() -> None:
    """A snapshot holds no facts: those before it are counted as forgotten."""
    first = fed(Session(PLAN, remember=100))
    second = Session(PLAN, remember=100)
    second.restore(first.snapshot())
    answer = second.why("alarm", ["p1"], 4)
    assert not answer.holds
    assert answer.notes[0].startswith("7 earlier facts, which held up to 5,")


def test_changes_carry_their_premises() -> None:
    """What begins and what has ended, each with what it follows from, one level deep; nothing where it is forgotten."""
    session = fed(Session(PLAN, emit="changes", remember=100, explain=True))
    session.finish()
    told = session.pull_records()
    assert all(isinstance(each, ExplainedChange) for each in told)
    assert [each.because for each in told if isinstance(each, ExplainedChange)] == [
        ("hot(p1)@1", "hot(p1)@2", "hot(p1)@3", "not ok(p1)@3"),
        ("hot(p1)@1", "hot(p1)@2", "hot(p1)@3", "hot(p1)@4", "hot(p1)@5", "not ok(p1)@[3,5]"),
    ]
    short = fed(Session(PLAN, emit="changes", remember=2, explain=True))
    short.finish()
    assert {each.because for each in short.pull_records() if isinstance(each, ExplainedChange)} == {None}


def test_run_explains(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`run --explain` writes them as `because`; it wants changes, and JSON lines."""
    program, facts = str(tmp_path / "p.tide"), str(tmp_path / "facts.txt")
    Path(program).write_text("timeline integer. alarm(P) :- boxminus[0,1] hot(P), not ok(P). output alarm.")
    Path(facts).write_text("hot(p1)@[1,3]\nok(p1)@5\n")
    assert main(["run", program, "--in", facts, "--emit", "changes", "--explain"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["because"] for line in lines] == [["hot(p1)@[1,2]", "not ok(p1)@2"], ["hot(p1)@[1,3]", "not ok(p1)@[2,3]"]]
    assert main(["run", program, "--in", facts, "--explain"]) == 2
    assert "--emit changes" in capfd.readouterr().err
    assert main(["run", program, "--in", facts, "--emit", "changes", "--explain", "--out", "facts+-"]) == 2
    assert "JSON lines" in capfd.readouterr().err
