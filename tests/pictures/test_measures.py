"""Which arguments of a predicate are values over time, which lines share a scale, and in which colours lanes are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.plans.data.facts import Record
from tidelog.plans.explaining.showing.order import shown_order
from tidelog.plans.explaining.showing.timelines import Choice, timeline_of
from tidelog.plans.explaining.showing.usage import usage_of
from tidelog.plans.pictures.lanes import BarLane, Lane, Note, ValueLane

READING = "timeline integer. input reading(sensor: text, kind: text, value: number)."


def _lanes(text: str, facts: str, rows: int = 12) -> Sequence[Lane]:
    plan = tidelog.compile(text)
    records: list[Record] = []
    for each in facts.split():
        atom, time = each.split("@")
        name, _, arguments = atom.rstrip(")").partition("(")
        row = tuple(_value(argument) for argument in arguments.split(",") if argument)
        records.append((name, row, int(time), int(time)))
    choice = Choice(order=shown_order(plan.program), rows=rows)
    return timeline_of(records, plan.schema, choice, usage_of(plan.program)).lanes


def _value(text: str) -> str | float:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _shown(lanes: Sequence[Lane]) -> list[tuple[str, list[str], list[str]]]:
    """The name of each lane, its lines, and its thresholds."""
    return [
        (lane.name, [series.name for series in lane.series], [limit.text for limit in lane.thresholds])
        for lane in lanes
        if isinstance(lane, ValueLane)
    ]


def test_each_measure_of_a_reading_has_a_scale_of_its_own() -> None:
    """With the thresholds that are its own, and a line for each sensor."""
    rules = "hot(S) :- reading(S, temp, V), V > 30. wet(S) :- reading(S, humidity, V), V >= 80."
    facts = (
        "reading(a,temp,20)@1 reading(a,humidity,70)@1 reading(b,temp,21)@1 reading(a,temp,25)@2 reading(a,humidity,75)@2"
    )
    assert _shown(_lanes(f"{READING} {rules}", facts)) == [
        ("reading humidity: value", ["a"], [">= 80"]),
        ("reading temp: value", ["a", "b"], ["> 30"]),
    ]


@pytest.mark.parametrize("rule", ["hot :- reading(T, _), T > 30.", "muggy :- reading(T, H), T + H / 10 > 30.", "x :- top."])
def test_each_number_of_a_row_that_is_measured_has_a_scale(rule: str) -> None:
    """One that rules reckon with, or that has fractions: `reading(temp, humidity)` is no line of humidity for each temp."""
    text = f"timeline integer. input reading(temp: number, humidity: number). {rule}"
    lanes = _shown(_lanes(text, "reading(20.5,60)@1 reading(21.5,61)@2 reading(20.5,61)@3"))
    assert [(name, lines) for name, lines, _ in lanes] == [("reading: temp", [""]), ("reading: humidity", [""])]


def test_a_number_that_is_a_name_is_none() -> None:
    """A sensor's number is whole, and no rule reckons with it; where several rows begin at once, a number is their name."""
    hot = "timeline integer. hot(S) :- temp(S, V), V > 30."
    assert _shown(_lanes(hot, "temp(1,20)@1 temp(2,21)@2 temp(1,22)@3 temp(2,25)@4")) == [("temp", ["1", "2"], ["> 30"])]
    grid = "timeline integer. hot(X) :- temp(X, V), V > 30."
    assert _shown(_lanes(grid, "temp(0.5,20)@1 temp(1.5,21)@1 temp(0.5,22)@2 temp(1.5,25)@2")) == [
        ("temp", ["0.5", "1.5"], ["> 30"])
    ]


def test_lines_that_would_be_flat_have_scales_of_their_own() -> None:
    """Even if no rule and no field tells their measures apart; lines of like size share a scale."""
    text = "timeline integer. p(S) :- v(S, _, _)."
    apart = _lanes(text, "v(a,temp,20)@1 v(a,air,1010)@1 v(a,temp,22)@2 v(a,air,1020)@2 v(b,temp,25)@1 v(b,air,990)@1")
    assert _shown(apart) == [("v air", ["a", "b"], []), ("v temp", ["a", "b"], [])]
    together = _lanes(text, "v(a,in,20)@1 v(a,out,10)@1 v(a,in,24)@2 v(a,out,17)@2")
    assert _shown(together) == [("v", ["a, in", "a, out"], [])]


def test_a_single_argument_says_whose_value_it_is() -> None:
    """Machines of which one is cold are compared on one scale; those that rules have limits of their own for are not."""
    facts = "temp(a,20)@1 temp(b,90)@1 temp(a,21)@2 temp(b,99)@2"
    assert _shown(_lanes("timeline integer. hot(S) :- temp(S, V), V > 95.", facts)) == [("temp", ["a", "b"], ["> 95"])]
    own = _lanes("timeline integer. hot :- temp(a, V), V > 30. cold :- temp(b, V), V < 80.", facts)
    assert _shown(own) == [("temp a", [""], ["> 30"]), ("temp b", [""], ["< 80"])]


@given(st.integers(1, 14), st.integers(1, 14))
def test_there_are_no_more_scales_than_rows(kinds: int, rows: int) -> None:
    """And it is told how many are left out."""
    facts = " ".join(f"reading(s,k{kind:02},{kind + time})@{time}" for kind in range(kinds) for time in (1, 2))
    lanes = _lanes(f"{READING} p(S) :- reading(S, _, _).", facts, rows)
    assert len(_shown(lanes)) == min(kinds, rows)
    notes = [lane.text for lane in lanes if isinstance(lane, Note)]
    assert notes == ([f"and {kinds - rows} more measures of reading"] if kinds > rows else [])


def test_what_rules_derive_is_warm_and_what_comes_in_is_cool() -> None:
    """Bars and lines; an output, such as an alarm, is never in a colour of what is given, and a line keeps its own."""
    rules = "alarm(S) :- reading(S, temp, V), V > 30. half(S, W) :- reading(S, _, V), W = V / 2."
    given = "reading(a,temp,20)@1 reading(b,temp,25)@1 reading(a,temp,35)@2 reading(b,wet,9)@1 door(x)@1"
    lanes = _lanes(f"{READING} input door(room: text). {rules}", f"{given} alarm(a)@2 half(a,10.5)@1 half(a,17.5)@2")
    bars = {lane.name: lane.tone for lane in lanes if isinstance(lane, BarLane)}
    lines = {(lane.name, line.name): line.tone for lane in lanes if isinstance(lane, ValueLane) for line in lane.series}
    assert bars == {"door(x)": "c1", "alarm(a)": "w0"}
    assert lines == {
        ("reading temp: value", "a"): "c0",
        ("reading temp: value", "b"): "c1",
        ("reading wet: value", "b"): "c1",
        ("half", "a"): "w0",
    }
