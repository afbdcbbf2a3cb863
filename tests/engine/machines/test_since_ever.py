"""Machines that are assigned by facts without a begin: what they say holds since ever, in streams, columns and batch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from columns.stretches import answers_over_columns
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.machines.test_assignments import LAST, OUTPUTS, held_by, told
from oracle.agreement import records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.machine_programs import events_since_ever, machine_programs
from oracle.machines import run_machines
from tidelog import Materialisation, Session, compile
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.timeline import LIMIT, NEG, POS
from tidelog.plans.diagnostics.errors import EndlessError, OperatorError
from tidelog.plans.language.parser import parse

LONG = 40
"""So long before time 0 the interpreter begins: where it has come to rest then, that is what holds since ever."""
MODE = "timeline integer. input s(m: text, v: text). mode(M) := V :- s(M, V). output mode."
SINCE_EVER = [("s", ("a", "x"), NEG, 0), ("s", ("a", "y"), 5, 5)]
TURNING = """\
timeline integer. input e(m: text). output mode.
mode(M) := on :- e(M), not mode(M, _).
mode(M) := off :- e(M), mode(M, on).
mode(M) := on :- e(M), mode(M, off).
"""


def at_rest(text: str, facts: Sequence[GroundFact]) -> dict[int, set[tuple[str, tuple[object, ...]]]] | None:
    """What the interpreter says of each time from 0 on; None where it never comes to rest before."""
    model = run_machines(parse(text), facts, LAST, -LONG)
    held = [{(name, row) for name in OUTPUTS for row in each[name]} for each in model]
    if any(each != held[LONG - 1] for each in held[LONG // 2 : LONG]):
        return None
    return dict(enumerate(held[LONG:]))


@given(machine_programs(), events_since_ever(), st.integers(1, 12), st.sampled_from(["intervals", "final", "changes"]))
def test_facts_without_a_begin(text: str, facts: list[GroundFact], batch: int, emit: str) -> None:
    """Rows, columns and batch say what the interpreter says that began long before."""
    assume(" for " not in text)  # how long something has lasted long ago decides what comes of it
    wanted = at_rest(text, facts)
    plan, batch_plan = compile_program(parse(text)), compile_batch(parse(text))
    records = records_of(plan, facts)
    done = Materialisation(batch_plan)
    done.load(records)
    if wanted is None:
        for run in (lambda: told(plan, records, batch), done.run):
            with pytest.raises(OperatorError, match="again and again since ever"):
                run()
        return
    found = told(plan, records, batch, emit)
    assert all(lo <= NEG or -LIMIT < lo < LIMIT for _, _, lo, _ in found), text
    if emit != "changes":
        assert held_by(found) == wanted, text
    assert held_by(answers_over_columns(plan, records, [])) == wanted, text
    try:
        done.run()
    except EndlessError:  # it goes from state to state for ever
        assume(False)
    assert held_by([record for record in done.facts() if record[0] in OUTPUTS]) == wanted, text


def test_a_machine_since_ever_has_no_begin() -> None:
    """Its begin was shown as a number far below all times, and `begins_at` was a ValueError."""
    session = Session(compile("timeline integer, unit 1 h." + MODE[len("timeline integer.") :]))
    session.push_records(SINCE_EVER)
    session.finish()
    first, *_, last = session.pull()
    assert (first.text, first.begins_at, last.text) == ("mode(a,x)@(-inf,4]", None, "mode(a,y)@[6,inf)")


def test_a_machine_since_ever_in_batch() -> None:
    """It was refused as beyond what the timeline can hold; and it is drawn, and has reasons."""
    plan = compile_batch(parse(MODE))
    done = Materialisation(plan)
    done.load(SINCE_EVER)
    done.run()
    assert runs_of(record for record in done.facts() if record[0] == "mode") == {
        ("mode", ("a", "x")): [(NEG, 5)],
        ("mode", ("a", "y")): [(6, POS)],
    }
    assert "mode" in done.plot().svg
    assert "s(a,x)" in done.why(("mode", ("a", "x"), 3, 3)).text()


@pytest.mark.parametrize("batch", [1, 3])
def test_a_machine_that_turns_since_ever_is_refused(batch: int) -> None:
    """It went from time to time since the begin of all times, and no run came to an end."""
    plan = compile_program(parse(TURNING))
    with pytest.raises(OperatorError, match="again and again since ever: facts that it follows from need a begin"):
        told(plan, [("e", ("a",), NEG, 0), ("e", ("b",), 3, 3)], batch)
