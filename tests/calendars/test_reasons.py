"""Answers over calendars and periods have reasons, which the verifier takes though it works calendars out by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from engine.standing.test_programs import compiled, shown
from hypothesis import assume, given
from hypothesis import strategies as st

from calendars.test_engine_law import Foreseen
from drawing import drawn
from oracle.agreement import records_of, runs_of
from oracle.calendar_programs import calendar_programs, calendar_streams, with_calendars
from oracle.programs import Kind
from tidelog import Materialisation, compile_batch, entails
from tidelog.cli import main
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError, MethodError
from tidelog.runtime.sessions.explained import explainer_of_stream
from tidelog.runtime.why.explain import Reason
from tidelog.runtime.why.told import telling_all
from tidelog.verifier.certificate import Verifier
from tidelog.verifier.times import Refused


def refusal(verifier: Verifier, certificate: Any) -> str | None:
    """Why a certificate is refused; None if it is taken."""
    try:
        verifier.check(certificate)
    except Refused as refused:
        return str(refused)
    return None


@drawn(20)
@pytest.mark.parametrize("kind", ["integer", "rational"])
@given(data=st.data())
def test_answers_over_calendars_are_proved(kind: Kind, data: st.DataObject) -> None:
    """What a stream has told has a proof that is taken; what it has not has none."""
    text, declared = data.draw(calendar_programs(kind))
    whole = with_calendars(text, declared)
    _, plan = compiled(whole)
    facts = data.draw(calendar_streams(kind, text))
    records = records_of(plan, facts)
    explainer = explainer_of_stream(telling_all(plan), records)
    expected = Foreseen(text, plan, facts)
    verifier = Verifier(whole, facts)
    for predicate in plan.outputs:
        for row in sorted({*expected.model.rows(predicate), ("k1",)}, key=repr)[:3]:
            for time, encoded, cell in expected._times[:: max(1, len(expected._times) // 4)]:
                try:
                    answer = explainer.why((predicate, row, encoded, encoded))
                except MethodError:
                    assume(False)
                    raise
                holds = cell in expected.model.cells(predicate, row)
                assert isinstance(answer, Reason) == holds, (predicate, row, time, shown(whole, facts))
                answer.text()
                refused = refusal(verifier, json.loads(answer.json()))
                assert refused is None, f"{refused}\n{shown(whole, facts)}\n{answer.text()}\n{answer.json()}"


@drawn(20)
@pytest.mark.parametrize("kind", ["integer", "rational"])
@given(data=st.data())
def test_batch_says_the_same(kind: Kind, data: st.DataObject) -> None:
    """Materialisation, to which calendars are facts as far as they matter, derives what the oracle says."""
    text, declared = data.draw(calendar_programs(kind))
    whole = with_calendars(text, declared)
    _, stream = compiled(whole)
    facts = data.draw(calendar_streams(kind, text))
    plan = compile_batch(whole)
    done = Materialisation(plan)
    records = records_of(stream, facts)
    scale = stream.timeline.resolution / plan.timeline.resolution
    assert scale == 1
    done.load(records)
    done.run()
    runs = runs_of(record for record in done.facts() if record[0] in stream.outputs)
    assert not Foreseen(text, stream, facts).differences(runs), shown(whole, facts)
    assert all(lo > NEG and hi < POS for ranges in runs.values() for lo, hi in ranges if ranges)


WEEKDAYS = """\
timeline integer, unit 6 h.
calendar work = mon-fri 06:00-18:00.
idle(X) :- diamondminus on(X), not work.
n(X,N) :- N = count() over (diamondminus on(X)) per day by X.
idle_days(X,N) :- N = count() over idle(X) per day by X.
"""


def batch_of(text: str, records: list[Any], until: int | None = None) -> dict[str, list[tuple[Any, int, int]]]:
    """What batch reasoning derives, by predicate."""
    done = Materialisation(compile_batch(text), until=until)
    done.load(records)
    done.run()
    found: dict[str, list[tuple[Any, int, int]]] = {}
    for predicate, row, lo, hi in sorted(done.facts(), key=lambda record: record[2]):
        found.setdefault(predicate, []).append((row, lo, hi))
    return found


def test_batch_negates_a_calendar_as_far_as_it_is_known() -> None:
    """What negates a calendar would hold for ever behind the last day of it; 1970-01-02 is a Friday."""
    found = batch_of(WEEKDAYS, [("on", ("p",), 5, 5)])
    assert found["idle"] == [(("p",), 7, 9)]  # the answer ends a day behind the last fact
    assert found["n"] == [(("p", 3), 4, 7)]  # the next day is not over
    later = batch_of(WEEKDAYS, [("on", ("p",), 5, 5)], until=19)
    assert later["idle"] == [(("p",), 7, 16), (("p",), 19, 19)]
    assert later["n"] == [(("p", 3), 4, 7), (("p", 4), 8, 19)]
    assert later["idle_days"] == [(("p", 1), 4, 7), (("p", 4), 8, 15), (("p", 2), 16, 19)]


@pytest.mark.parametrize(("time", "holds"), [(24, True), (25, False), (26, False), (27, True), (37, True)])
def test_batch_reaches_as_far_as_what_is_asked(time: int, holds: bool) -> None:
    """Whether a fact follows may depend on days of the calendar that lie far behind all data."""
    plan = compile_batch(WEEKDAYS)
    found = entails(plan, [("on", ("p",), 5, 5)], ("idle", ("p",), time, time))
    assert found.answer == ("true" if holds else "false")


def test_batch_knows_a_calendar_long_before_all_data() -> None:
    """What is asked for tells from when on a calendar is needed, as well as until when; 1970-01-01 is a Thursday."""
    plan = compile_batch(WEEKDAYS.replace("diamondminus on(X)", "on(X)"))
    given = [("on", ("p",), NEG, 400)]
    found = [entails(plan, given, ("idle", ("p",), time, time)).answer for time in (0, 1, 2, 3)]
    assert found == ["true", "false", "false", "true"]


def test_a_calendar_itself_has_a_reason() -> None:
    """Though no facts are needed for it."""
    text = "timeline integer, unit 6 h. calendar work = mon-fri 06:00-18:00. idle(X) :- on(X), not work."
    done = Materialisation(compile_batch(text))
    done.ask(("work", (), 1, 2))
    done.run()
    assert isinstance(done.why(("work", (), 1, 2)), Reason)
    assert not isinstance(done.why(("work", (), 3, 3)), Reason)


def test_batch_asks_for_a_time_where_no_fact_says_one() -> None:
    """Nothing tells then for which days a calendar is meant; without any facts nothing follows."""
    with pytest.raises(DataError, match="no fact says a time"):
        batch_of(WEEKDAYS, [("on", ("p",), NEG, POS)])
    assert batch_of(WEEKDAYS, []) == {}


@pytest.mark.parametrize("method", ["auto", "materialise", "automata", "ltl"])
@pytest.mark.parametrize(("fact", "answer"), [("work@[1,2]", "true"), ("work@3", "false"), ("busy(p)@5", "true")])
def test_the_command_answers_for_a_calendar_itself(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], method: str, fact: str, answer: str
) -> None:
    """It was refused as derived, and no input; and models were looked for without calendars."""
    text = "timeline integer, unit 6 h. input on(x). calendar work = mon-fri 06:00-18:00. busy(X) :- on(X), work."
    (tmp_path / "work.tide").write_text(text)
    (tmp_path / "on.txt").write_text("on(p)@5\n")
    command = ["entails", str(tmp_path / "work.tide"), str(tmp_path / "on.txt"), "--fact", fact, "--method", method]
    main(command)
    assert capfd.readouterr().out == f"{answer}\n"
