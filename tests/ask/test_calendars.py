"""Questions that rest on calendars: what is told is what the definitions say of the same calendars as facts."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tidelog
from ask.hypothetical_cases import (
    ANY,
    LISTS,
    Case,
    case_of,
    check_absences,
    check_restored,
    check_supports,
    check_three_values,
    check_verdicts,
    deliver,
)
from oracle.calendar_questions import calendar_questions, declared, read_calendars, with_facts
from oracle.hypothetical_agreement import Claims
from oracle.hypothetical_programs import (
    ABSENCES,
    COMPARED,
    EVERYTHING,
    METRIC,
    NEGATIVE,
    POSITIVE,
    SEVERAL_TIMES,
    TEMPORAL,
    WINDOWS,
    Shapes,
    queries,
)
from oracle.hypothetical_streams import Arrival, in_order, out_of_order, universes
from tidelog.operators.sld import limits
from tidelog.plans.data.timeline import POS

FEW = settings(max_examples=max((settings.default or settings()).max_examples // 8, 1))
POSITIVE_SHAPES = {
    "temporal": TEMPORAL,
    "several": SEVERAL_TIMES,
    "metric": METRIC,
    "windows": WINDOWS,
    "positive": POSITIVE,
    "compared": COMPARED,
}
NEGATIVE_SHAPES = {"negation": NEGATIVE, "everything": EVERYTHING, "absences": ABSENCES}


def calendar_case(data: st.DataObject, shapes: Shapes) -> Case:
    """A drawn program with calendars that can be asked; its oracle has them as facts."""
    program = data.draw(calendar_questions(shapes))
    assume(read_calendars(program))
    query = data.draw(queries(program))
    with patch.object(limits, "LONGEST_LIST", data.draw(st.sampled_from(LISTS))):
        case = case_of(with_facts(program), query, lambda: data.draw(universes(program, size=7)), written=declared(program))
    assume(not case.oracle.table.meets_edge)
    return case


@pytest.mark.slow
@pytest.mark.parametrize("shape", POSITIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_what_is_supported_is_what_the_definitions_say(shape: str, data: st.DataObject) -> None:
    """At each time point of a stream in order; a calendar that is negated is known as one that is not."""
    case = calendar_case(data, POSITIVE_SHAPES[shape])
    claims = Claims(case.program, case.query, 0)
    for log, known, watermark in deliver(case, in_order(case.history(data))):
        check_supports(log, known, watermark, claims)
        check_verdicts(log, known, watermark, claims)
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


@pytest.mark.slow
@pytest.mark.parametrize("shape", NEGATIVE_SHAPES)
@settings(FEW)
@given(data=st.data())
def test_with_negation_verdicts_are_sound_and_in_the_end_exact(shape: str, data: st.DataObject) -> None:
    """In any order, with delays."""
    case = calendar_case(data, NEGATIVE_SHAPES[shape])
    claims = Claims(case.program, case.query, 0)
    arrivals = data.draw(out_of_order(case.history(data), case.delays))
    for log, known, watermark in deliver(case, [*arrivals, Arrival((), POS)], ANY):
        check_three_values(log, known, watermark)
        check_absences(log, known, claims)
    wrong = claims.wrong()
    assert not wrong, f"{case.text}\n{wrong[0]}"


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["positive", "everything"])
@settings(FEW)
@given(data=st.data())
def test_snapshot_and_restore_change_nothing(shape: str, data: st.DataObject) -> None:
    """An asker that is restored from a snapshot, through JSON, goes on with the intervals that were chosen."""
    check_restored(calendar_case(data, replace({**POSITIVE_SHAPES, **NEGATIVE_SHAPES}[shape], delays=True)), data)


# --- by example ---

SHOP = """timeline integer, unit 1 h.
input motion(room: text).
input guard(room: text).
calendar shop = mon-fri 08:00-18:00, except holiday.
calendar holiday = 1970-01-06.
calendar day(D) = each day.
"""
MONDAY = 4 * 24


def lines(text: str, facts: list[tuple[str, str, int]], until: int) -> list[str]:
    """What is told of a program when facts come, the last watermark being this; without when it is told."""
    session = tidelog.Session(tidelog.compile(SHOP + text, outputs=False))
    for name, room, time in facts:
        session.push(name, [room], time=time)
    session.advance(until)
    return [
        f"{line.status} {[*line.answer.values()]} {[*map(str, line.evidence)]} {[*map(str, line.hypotheses)]} "
        f"{[*line.conditions]} {line.failed or ''} {line.deadline}"
        for line in session.pull_hypothetical()
    ]


def test_an_answer_whose_calendar_is_shut_at_its_time_is_not_told() -> None:
    """The other one is certain at once, and a calendar is no evidence."""
    facts = [("motion", "hall", MONDAY + 7), ("motion", "hall", MONDAY + 8)]
    assert lines("seen(R) :- motion(R), shop. ask seen(R)@T.", facts, MONDAY + 9) == [
        f"certain ['hall', {MONDAY + 8}] ['motion(hall)@{MONDAY + 8}'] [] []  None"
    ]


def test_what_may_come_does_so_within_an_interval() -> None:
    """The bounds of a time are those of the interval, and it is decided when that ends."""
    text = "met(R) :- motion(R), diamondplus[1,23] (guard(R), shop). ask met(R)@T."
    evening, holiday = MONDAY + 18, MONDAY + 24 + 10
    assert lines(text, [("motion", "hall", MONDAY + 12)], MONDAY + 13) == [
        f"possible ['hall', {MONDAY + 12}] ['motion(hall)@{MONDAY + 12}'] ['guard(hall)@T2'] "
        f"['T2 >= {MONDAY + 13}', 'T2 <= {MONDAY + 17}']  {MONDAY + 17}"
    ]
    assert lines(text, [("motion", "hall", evening)], evening + 1) == []
    assert lines(text, [("motion", "hall", holiday)], holiday + 1) == [
        f"possible ['hall', {holiday}] ['motion(hall)@{holiday}'] ['guard(hall)@T2'] "
        f"['T2 <= {holiday + 23}', 'T2 >= {MONDAY + 48 + 8}']  {holiday + 23}"
    ]


def test_a_negated_calendar_is_no_hypothesis() -> None:
    """It is known when the shop is shut: two stretches of the night, and the day between them is none."""
    text = "met(R) :- motion(R), diamondplus[1,27] (guard(R), not shop). ask met(R)@T."
    found = lines(text, [("motion", "hall", MONDAY + 48 + 16)], MONDAY + 48 + 16)
    assert found == [
        f"possible ['hall', {MONDAY + 64}] ['motion(hall)@{MONDAY + 64}'] ['guard(hall)@T2'] "
        f"['T2 >= {MONDAY + 66}', 'T2 <= {MONDAY + 79}']  {MONDAY + 91}",
        f"possible ['hall', {MONDAY + 64}] ['motion(hall)@{MONDAY + 64}'] ['guard(hall)@T2'] "
        f"['T2 <= {MONDAY + 91}', 'T2 >= {MONDAY + 90}']  {MONDAY + 91}",
    ]


def test_one_interval_does_for_a_box() -> None:
    """A week of hours is one premise, not 168."""
    text = "open(R) :- motion(R), boxplus[0,8] shop. shut(R) :- motion(R), boxminus[0,167] not shop."
    assert len(lines(f"{text} ask open(R)@T.", [("motion", "hall", MONDAY + h) for h in range(24)], MONDAY + 24)) == 2
    assert lines(f"{text} ask shut(R)@T.", [("motion", "hall", MONDAY + h) for h in range(24)], MONDAY + 24) == []


def test_the_name_of_a_period_is_a_value() -> None:
    """Of the day on which it begins, and the answer has it."""
    text = "late(R, D)@T :- motion(R)@T, day(D)@T, not shop@T, guard(R)@S, day(D)@S, S > T. ask late(R, D)@T."
    found = lines(text, [("motion", "hall", MONDAY + 20), ("guard", "hall", MONDAY + 25)], MONDAY + 26)
    assert found == [
        f"possible ['hall', '1970-01-05', {MONDAY + 20}] ['motion(hall)@{MONDAY + 20}'] ['guard(hall)@S'] "
        f"['S >= {MONDAY + 21}', 'S <= {MONDAY + 23}']  {MONDAY + 23}",
        f"rejected ['hall', '1970-01-05', {MONDAY + 20}] ['motion(hall)@{MONDAY + 20}'] [] [] guard(hall)@S None",
    ]


def test_cost_does_not_follow_how_long_the_stream_lasts() -> None:
    """Two facts that lie a thousand years apart, and one that waits without an end."""
    text = "met(R)@T :- motion(R)@T, guard(R)@S, shop@S, S > T. ask met(R)@T."
    far = 365 * 24 * 1000 + 6
    found = lines(text, [("motion", "hall", 0), *(("guard", "hall", far + h) for h in range(24))], far + 24)
    assert [line.partition(" ")[0] for line in found] == ["possible", "certain"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seen(R, N) :- N = count() over motion(R) per day by R. ask seen(R, N)@T.", "`per day`"),
        ("seen(R) :- count() over motion(R) per shop by R >= 2. ask seen(R)@T.", "`per shop`"),
        ("seen :- shop. ask seen@T.", "holds whatever comes"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    """What is known when a period has ended, and what no input decides."""
    with pytest.raises(tidelog.ProgramError) as refused:
        tidelog.Session(tidelog.compile(SHOP + text, outputs=False))
    assert said in str(refused.value)
