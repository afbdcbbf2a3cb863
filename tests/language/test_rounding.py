"""`timeline integer, unit 1 s, round down`: times in data that are finer than a tick belong to one, in every format."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.connectors.files.batch_files import BatchLoader
from tidelog.connectors.formats.formats import make_decoder
from tidelog.plans.data.times import TimeReader
from tidelog.plans.explaining.text import explain, explain_plan
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.stages import stages_of

TIMES = st.fractions(-50, 50, max_denominator=1000)
WAYS = ["down", "nearest", "up"]


def plan_of(rounding: str | None) -> Plan:
    way = f", round {rounding}" if rounding else ""
    return tidelog.compile(f"timeline integer, unit 1 s{way}. input p(x). q(X) :- p(X).")


PLANS = {way: plan_of(way) for way in WAYS}


def tick(way: str, time: Fraction) -> int:
    """The definition, written again: of two nearest ticks, the later."""
    if way == "nearest":
        return min(range(-60, 60), key=lambda tick: (abs(tick - time), -tick))
    return math.floor(time) if way == "down" else math.ceil(time)


@pytest.mark.parametrize("way", WAYS)
@given(time=TIMES)
def test_a_time_belongs_to_one_tick(way: str, time: Fraction) -> None:
    """Whole times are their own tick; the others are rounded as the program says."""
    record = PLANS[way].record("p", ["a"], time=time)
    assert record[2:] == (tick(way, time), tick(way, time))


@pytest.mark.parametrize("way", WAYS)
@given(low=TIMES, high=TIMES, brackets=st.tuples(st.sampled_from("[("), st.sampled_from("])")))
def test_ends_of_intervals_are_rounded_alike(way: str, low: Fraction, high: Fraction, brackets: tuple[str, str]) -> None:
    """An interval holds at the ticks between its rounded ends; one that holds at none is refused, and told so."""
    text = f"{brackets[0]}{low},{high}{brackets[1]}"
    lo, hi = tick(way, low) + (brackets[0] == "("), tick(way, high) - (brackets[1] == ")")
    if lo <= hi:
        assert PLANS[way].record("p", ["a"], interval=text)[2:] == (lo, hi)
    else:
        with pytest.raises(tidelog.DataError, match="is empty"):
            PLANS[way].record("p", ["a"], interval=text)


@pytest.mark.parametrize("way", WAYS)
@given(cuts=st.lists(TIMES, min_size=2, max_size=8, unique=True).map(sorted))
def test_what_touches_goes_on_touching(way: str, cuts: list[Fraction]) -> None:
    """Spells that follow one another, `[a,b)` and `[b,c)`, hold at each tick once after rounding, with no tick left out."""
    found: list[int] = []
    for low, high in pairwise(cuts):
        if tick(way, low) < tick(way, high):
            lo, hi = PLANS[way].record("p", ["a"], interval=f"[{low},{high})")[2:]
            found += range(lo, hi + 1)
    assert found == list(range(tick(way, cuts[0]), tick(way, cuts[-1])))


def test_what_collapses_says_so() -> None:
    """A spell shorter than a tick that holds at none is refused with what it was and what became of it."""
    with pytest.raises(tidelog.DataError) as caught:
        PLANS["down"].record("p", ["a"], interval="[0.25,0.75)")
    assert str(caught.value) == "`[1/4,3/4)` rounded down: interval [0,0) is empty"
    with pytest.raises(tidelog.DataError, match="rounded to the nearest tick"):
        PLANS["nearest"].record("p", ["a"], interval="(0.6,0.75]")
    with pytest.raises(tidelog.DataError, match=r"^interval \(1,1\) is empty$"):
        PLANS["down"].record("p", ["a"], interval="(1,1)")


@pytest.mark.parametrize(
    ("time", "down", "nearest", "up"),
    [
        (2.5, 2, 3, 3),
        ("2.4", 2, 2, 3),
        ("5/2", 2, 3, 3),
        ("2400 ms", 2, 2, 3),
        (-0.5, -1, 0, 0),
        ("1970-01-01T00:00:02.75Z", 2, 3, 3),
        (datetime(1970, 1, 1, 0, 0, 2, 1, tzinfo=UTC), 2, 2, 3),
        (7, 7, 7, 7),
    ],
)
def test_every_form_of_a_time_is_rounded(time: Any, down: int, nearest: int, up: int) -> None:
    """Numbers, fractions, units, ISO-8601 and datetimes, pushed into a session."""
    for way, expected in zip(WAYS, (down, nearest, up), strict=True):
        session = tidelog.Session(PLANS[way])
        session.push("p", ["a"], time=time)
        assert [record[2:] for record in session.pull_records()] == [(expected, expected)]


def test_without_it_a_finer_time_is_refused() -> None:
    """What the program does not say is not done."""
    with pytest.raises(tidelog.DataError, match="no whole number of units"):
        plan_of(None).record("p", ["a"], time="1970-01-01T00:00:02.75Z")


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("facts", [b"p(a)@2.75", b"p(a)@[2.75,1970-01-01T00:00:04.5Z]"]),
        ("jsonl", [b'{"p":{"x":"a"},"time":2.75}', b'{"predicate":"p","args":["a"],"interval":"[2.75,9/2]"}']),
        ("jsonl", [b'{"time":"1970-01-01T00:00:02.750Z","p":{"x":"a"}}', b'{"interval":"[2.75,9/2]","p":{"x":"a"}}']),
        ("csv", [b"from,to,x", b"2.75,1970-01-01T00:00:02.8Z,a", b"2.75,9/2,a"]),
    ],
)
def test_every_decoder_rounds(kind: str, lines: list[bytes]) -> None:
    """Text, JSON lines by both ways of reading, and CSV."""
    for way, point, end in (("down", 2, 4), ("nearest", 3, 5), ("up", 3, 5)):
        decoder = make_decoder(kind, PLANS[way].schema, "data", "p" if kind == "csv" else None, "")
        batch = decoder.decode(lines, 1)
        assert not batch.rejected
        assert [record[2:] for record in batch.records] == [(point, point), (point, end)]


def test_batch_commands_round(tmp_path: Path) -> None:
    """What all facts are loaded for at once is rounded as in a stream; `until` is a bound, and never rounded up."""
    plan = tidelog.compile_batch("timeline integer, unit 1 s, round up. boxplus[0,5] q(X) :- p(X).")
    (tmp_path / "facts.txt").write_text("p(a)@2.25\n")
    loader = BatchLoader(plan.schema)
    loader.load(str(tmp_path / "facts.txt"))
    done = tidelog.Materialisation(plan, until=4.75)
    done.load(loader.drain())
    done.run()
    assert sorted(record[2:] for record in done.facts()) == [(3, 3), (3, 4)]


def test_a_program_says_how_times_are_rounded_wherever_it_is_shown() -> None:
    """The plan, its stages and its text tell it."""
    plan = PLANS["nearest"]
    assert "timeline integer, unit 1 s, round nearest." in explain_plan(plan)
    assert json.loads(explain(plan, format="json"))["timeline"]["rounding"] == "nearest"
    assert all(stage.plan.timeline.rounding == "nearest" for stage in stages_of(plan).stages)


@pytest.mark.parametrize("way", WAYS)
@given(times=st.lists(TIMES, min_size=1, max_size=6), promised=TIMES)
def test_a_promise_is_kept_by_what_comes_after_it(way: str, times: list[Fraction], promised: Fraction) -> None:
    """After `advance(t)` no fact with a time behind t is late, and what can come no more is complete."""
    session = tidelog.Session(PLANS[way], lateness=200)
    session.advance(promised)
    behind = [time for time in times if time > promised]
    for time in behind:
        session.push("p", ["a"], time=time)
    reached = TimeReader(PLANS[way].timeline).promise(promised)
    assert session.frontier == reached
    assert tick(way, promised + Fraction(1, 10**6)) == reached + 1


def test_durations_are_not_rounded() -> None:
    """A lateness that is no whole number of ticks is a mistake: it is no time of a fact."""
    with pytest.raises(tidelog.DataError, match="not a whole number"):
        tidelog.Session(PLANS["down"], lateness="2.5 s")
