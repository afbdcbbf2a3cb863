"""What Session, Engine and Plan take from Python, and what they say to what they do not take."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import anyio
import pytest

import tidelog
from tidelog import DataError, Engine, LateError, MemorySink, MemorySource, RestartPolicy, Session
from tidelog.connectors import TextEncoder
from tidelog.plans.tree.syntax import Interval
from tidelog.runtime.intake.intake import IntakeStatistics

PLAN = tidelog.compile("timeline rational, unit 1 s, resolution 1 ms. input hot(p: text). seen(X) :- hot(X). output seen.")
BARE = tidelog.compile("timeline integer. seen(X) :- hot(X).")


def engine(**options: Any) -> Engine:
    return Engine(PLAN, [MemorySource([])], [MemorySink()], **options)


# --- records and times --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "point"),
    [
        (1, 2000),
        (0.5, 1000),
        (Decimal("0.25"), 500),
        ("1 min", 120_000),
        (datetime(1970, 1, 1, 0, 0, 1, 500_000), 3000),  # noqa: DTZ001 - without a time zone on purpose
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 2000),
        (datetime(1970, 1, 1, 2, 0, 1, tzinfo=timezone(timedelta(hours=2))), 2000),
    ],
)
def test_a_plan_makes_records(time: Any, point: int) -> None:
    """A time may be a number, text or a datetime, exact and in UTC; the record is what a session would take."""
    record = PLAN.record("hot", ["a"], time=time)
    assert record == ("hot", ("a",), point, point)
    session = Session(PLAN)
    session.push("hot", ["a"], time=time)
    assert session.pull_records() == [("seen", *record[1:])]


def test_records_feed_an_own_source() -> None:
    """A record over an interval, from plan to sink."""
    sink = MemorySink()
    source = MemorySource([PLAN.record("hot", ("a",), interval="[1,2)")])
    anyio.run(Engine(PLAN, [source], [sink]).run)
    assert [str(PLAN.answer(record)) for record in sink.answers] == ["seen(a)@[1,2)"]


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (("hot", ["a"]), {}, "either a time or an interval"),
        (("hot", ["a"]), {"time": 1, "interval": "[1,2]"}, "either a time or an interval"),
        (("hot", ["a"]), {"interval": (1, 2)}, r'an interval is text, such as "\[1,2\)", got tuple'),
        (("hot", "a"), {"time": 1}, r'a row is a list or a tuple, such as \["s1", 21.5\], got str'),
        (("hot", {"p": "a"}), {"time": 1}, "a row is a list or a tuple, .* got dict"),
        (("hot", 5), {"time": 1}, "a row is a list or a tuple, .* got int"),
        ((5, ["a"]), {"time": 1}, "a predicate is text, got int"),
        (("hot", ["a"]), {"time": [1]}, "a time is a number, text or a datetime, got list"),
        (("hot", ["a"]), {"time": True}, "a time is a number, text or a datetime, got bool"),
        (("hot", ["a"]), {"time": timedelta(1)}, "a time is a number, text or a datetime, got timedelta"),
    ],
)
def test_what_is_no_fact_is_a_type_error(arguments: tuple[Any, ...], options: dict[str, Any], said: str) -> None:
    """Said with the form that is expected, by Plan.record and Session.push alike."""
    for take in (PLAN.record, Session(PLAN).push):
        with pytest.raises(TypeError, match=said):
            take(*arguments, **options)


@pytest.mark.parametrize(
    ("plan", "row", "time", "said"),
    [
        (PLAN, ["a", "b"], 1, "takes 1 argument, got 2"),
        (PLAN, [3], 1, "expects text for `p`, got 3"),
        (PLAN, ["a"], "1.00001", "finer than the resolution"),
        (PLAN, ["a"], float("nan"), "nan"),
        (PLAN, ["a"], Decimal("inf"), "Infinity"),
        (BARE, ["a"], datetime(2024, 1, 1, tzinfo=UTC), "needs a unit"),
    ],
)
def test_a_fact_that_the_program_cannot_take_is_a_data_error(plan: tidelog.Plan, row: Any, time: Any, said: str) -> None:
    """Arity, types and times are checked by the program's own declarations."""
    with pytest.raises(DataError, match=said):
        plan.record("hot", row, time=time)


def test_answers_as_iso() -> None:
    """An encoder of the connectors writes a session's answers as `--iso` does."""
    session = Session(PLAN)
    session.push("hot", ["a"], time=datetime(2010, 7, 1, tzinfo=UTC))
    written = TextEncoder(PLAN.schema, iso=True).encode(session.pull_records())
    assert written == b"seen(a)@2010-07-01T00:00:00Z\n"


# --- options ------------------------------------------------------------------------------------------------------------


def session(**options: Any) -> Session:
    return Session(PLAN, **options)


@pytest.mark.parametrize("make", [session, engine])
@pytest.mark.parametrize(
    ("option", "value", "error", "said"),
    [
        ("emit", "sometimes", ValueError, "unknown emit mode 'sometimes': expected intervals, final, changes, points"),
        ("lateness", [1], TypeError, "a time is a number"),
        ("lateness", -1, DataError, "a duration of 0 or more"),
        ("lateness", datetime(2024, 1, 1, tzinfo=UTC), DataError, "expected a duration, got the time"),
        ("max_ahead", timedelta(seconds=-1), DataError, "a duration of 0 or more"),
        ("start", {}, TypeError, "a time is a number"),
    ],
)
def test_wrong_options(make: Callable[..., Any], option: str, value: Any, error: type[Exception], said: str) -> None:
    """A wrong option is told at once, where it is given."""
    with pytest.raises(error, match=said):
        make(**{option: value})


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"restarts": 1}, TypeError, r"`restarts` is a RestartPolicy, such as RestartPolicy\(attempts=1\), got int"),
        ({"restarts": 0}, TypeError, "got int"),
        ({"idle_after": "1 s"}, TypeError, "`idle_after` is a number of seconds, got str"),
        ({"idle_after": -1}, ValueError, "`idle_after` is 0 s or more"),
    ],
)
def test_wrong_options_of_engines(options: dict[str, Any], error: type[Exception], said: str) -> None:
    """What only an engine takes is told at its construction too."""
    with pytest.raises(error, match=said):
        engine(**options)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"attempts": 1.5}, TypeError),
        ({"attempts": -1}, ValueError),
        ({"delay": "1"}, TypeError),
        ({"longest": -1}, ValueError),
    ],
)
def test_wrong_restart_policies(options: dict[str, Any], error: type[Exception]) -> None:
    """A policy that cannot be followed cannot be made."""
    with pytest.raises(error, match=next(iter(options))):
        RestartPolicy(**options)


def test_lateness_as_a_timedelta() -> None:
    """Exactly as many microseconds as it says."""
    open_ = Session(PLAN, lateness=timedelta(milliseconds=1500))
    for time in ("10", "8.5"):
        open_.push("hot", ["a"], time=time)
    with pytest.raises(LateError):
        open_.push("hot", ["a"], time="8.499")


# --- the end, sources that are none, and wrong clocks -------------------------------------------------------------------


def test_nothing_comes_behind_the_end() -> None:
    """After `finish`, also in a session restored from then, facts and time are refused; finishing again says nothing new."""
    ended = Session(PLAN, emit="final")
    ended.push("hot", ["a"], time=1)
    ended.finish()
    ended.finish()
    assert [str(answer) for answer in ended.pull()] == ["seen(a)@1"]
    restored = Session(PLAN, emit="final")
    restored.restore(ended.snapshot())
    for one in (ended, restored):
        for step in (lambda one=one: one.push("hot", ["a"], time=2), lambda one=one: one.advance(3)):
            with pytest.raises(LateError, match="the stream has finished"):
                step()


class ListSource(MemorySource):
    """A source as one writes it first: it returns records, not a Batch."""

    async def receive(self) -> Any:
        return [("hot", ("a",), 0, 0)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_source_that_returns_no_batch(backend: str) -> None:
    """The engine stops with an error that names the source and says what is expected."""
    run = Engine(PLAN, [ListSource([], name="mine"), MemorySource([])], [MemorySink()]).run
    with pytest.raises(TypeError, match="source `mine`: `receive` returns a Batch, or None at the end, got list"):
        anyio.run(run, backend=backend)


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_wrong_clock_costs_one_fact(cut: int) -> None:
    """However the stream is cut, what lies more than `max_ahead` beyond the latest fact is refused; the first never is."""
    times = ["100", "103", "200", "113", "112.5", "123.001", "123"]
    facts = [PLAN.record("hot", ["a"], time=time) for time in times]
    one = Session(PLAN, lateness=1, max_ahead=timedelta(seconds=10))
    refused = []
    for i in range(0, len(facts), cut):
        try:
            one.push_records(facts[i : i + cut])
        except DataError as error:
            refused.append(str(error))
            assert not isinstance(error, LateError)
    assert [str(answer) for answer in one.pull()] == [f"seen(a)@{time}" for time in ("100", "103", "113", "225/2", "123")]
    assert refused[0] == "hot(a)@200: ahead: begins more than 10 after 103, where its source stood"
    assert one.statistics().intake == IntakeStatistics(accepted=5, unused=0, late=0, ahead=2)


def test_advance_moves_what_is_ahead() -> None:
    """Where the time stands after `advance`, the next fact counts from there; nothing is locked out by a long silence."""
    one = Session(PLAN, max_ahead=10)
    one.push("hot", ["a"], time=0)
    one.advance(100)
    one.push("hot", ["a"], time=110)
    with pytest.raises(DataError, match="more than 10 after 110"):
        one.push("hot", ["a"], time="120.001")


def test_a_boolean_in_a_record_is_what_push_makes_of_it() -> None:
    """`push_records` takes Python's `True` as the constant `true`, and never as the number 1."""
    session = tidelog.Session(tidelog.compile("timeline integer. q(X, Y) :- p(X, Y)."))
    session.push_records([("p", (True, 1), 1, 1), ("p", (2, False), 2, 2)])
    session.push("p", [True, 1], 3)
    assert [(record[1], record[2]) for record in session.pull_records()] == [
        (("true", 1), 1),
        ((2, "false"), 2),
        (("true", 1), 3),
    ]


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(Fraction(1), Fraction(5, 2), right_open=True), "[1,5/2)"),
        (Interval(-math.inf, math.inf), "(-inf,inf)"),
        (Interval(Fraction(0), Fraction(5), left_open=True, high_unit="min"), "(0,5min]"),
    ],
)
def test_an_interval_is_short(interval: Interval, text: str) -> None:
    """As text it is what a program and data have, and in notebooks too; all fields of a dataclass stood there."""
    assert str(interval) == text
    assert repr(interval) == f"<Interval {text}>"
