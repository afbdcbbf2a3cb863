"""Questions that rest on calendars: what is told is what the definitions say of the same calendars as facts."""

from __future__ import annotations

import json
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ask.hypothetical_cases import (
    ANY,
    LISTS,
    Case,
    Log,
    case_of,
    check_absences,
    check_supports,
    check_three_values,
    check_verdicts,
    deliver,
)
from ask.test_equals_oracle import told
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
        case = case_of(with_facts(program), query, lambda: data.draw(universes(program, size=10)), written=declared(program))
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
    case = calendar_case(data, replace({**POSITIVE_SHAPES, **NEGATIVE_SHAPES}[shape], delays=True))
    arrivals = [*data.draw(out_of_order(case.history(data), case.delays)), Arrival((), POS)]
    cut = data.draw(st.integers(0, len(arrivals)))
    whole, first, second = (Log(case, case.asker(ANY)) for _ in range(3))
    for arrival in arrivals[:cut]:
        whole.receive(arrival.facts, arrival.watermark)
        first.receive(arrival.facts, arrival.watermark)
    second.asker.restore(json.loads(json.dumps(first.asker.snapshot())))
    second.told = first.told
    for arrival in arrivals[cut:]:
        whole.receive(arrival.facts, arrival.watermark)
        second.receive(arrival.facts, arrival.watermark)
    assert told([*first.lines, *second.lines]) == told(whole.lines), case.text
