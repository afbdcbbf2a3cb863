"""Numbers of other types, as NumPy's and Decimal, in rows and as times: they become plain ones, or are refused by name."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tidelog

PLAN = tidelog.compile("timeline integer. q(X) :- p(X).")
BIG = 9007199254740993  # no float has this value


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.int64(3), 3),
        (np.uint8(200), 200),
        (np.int64(BIG), BIG),
        (np.float64(21.5), 21.5),
        (np.float64(3.0), 3),
        (np.float32(0.5), 0.5),
        (np.longdouble(1.5), 1.5),
        (Decimal("21.5"), 21.5),
        (Decimal("3.00"), 3),
        (Decimal(BIG), BIG),
        (Decimal("1e3"), 1000),
        (Fraction(5, 2), 2.5),
        (Fraction(4, 2), 2),
        (np.bool_(True), "true"),
        (np.bool_(False), "false"),
        (True, "true"),
        (np.str_("a"), "a"),
    ],
)
def test_a_number_of_another_type_is_the_plain_number(given: Any, kept: object) -> None:
    """It meets the plain number, prints as it does, and fits into a snapshot."""
    session = tidelog.Session(PLAN)
    session.push("p", [given], time=1)
    [(_, (value,), _, _)] = session.pull_records()
    assert (value, type(value)) == (kept, type(kept))
    json.dumps(session.snapshot())


@pytest.mark.parametrize(
    "given",
    [
        np.float64("nan"),
        np.float32("inf"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
        Decimal("1e1000000"),
        Decimal(2**63),
        np.uint64(2**63),
        Fraction(10**400, 3),
        np.timedelta64(5, "s"),
        np.complex128(1),
        np.datetime64("2020-01-01"),
        None,
    ],
)
def test_what_is_no_number_of_ours_is_refused(given: Any) -> None:
    """What is not finite, too large, or no number at all is a DataError, and nothing is pushed."""
    session = tidelog.Session(PLAN)
    with pytest.raises(tidelog.DataError):
        session.push("p", [given], time=1)
    assert session.statistics().intake.accepted == 0


def test_declared_types_see_the_plain_number() -> None:
    """`np.int64` is an integer, `np.float64` a number, `np.bool_` a boolean; text is none of them."""
    plan = tidelog.compile("input p(a: integer, b: number, c: boolean). q(X) :- p(X, _, _).")
    assert plan.record("p", [np.int64(1), np.float64(2.5), np.bool_(True)], time=0)[1] == (1, 2.5, "true")
    with pytest.raises(tidelog.DataError, match="expects integer for `a`"):
        plan.record("p", [np.float64(1.5), 1, True], time=0)


@pytest.mark.parametrize("time", [np.int64(3), np.float64(3.0), np.float32(3.0), Decimal(3), Decimal("3.0"), Fraction(3)])
def test_a_number_of_another_type_is_a_time(time: Any) -> None:
    """A time is encoded as a plain integer."""
    record = PLAN.record("p", [1], time=time)
    assert (record[2], type(record[2])) == (3, int)


@pytest.mark.parametrize("time", [True, np.bool_(True), np.timedelta64(5, "s"), None.__class__])
def test_what_is_no_time_is_a_type_error(time: Any) -> None:
    """Booleans and durations are no times."""
    with pytest.raises(TypeError, match="a time is a number"):
        PLAN.record("p", [1], time=time)


@pytest.mark.parametrize("time", [np.float64("nan"), np.float32("inf"), Decimal("NaN")])
def test_a_time_is_finite(time: Any) -> None:
    """A time that is not finite is a DataError."""
    with pytest.raises(tidelog.DataError):
        PLAN.record("p", [1], time=time)


def test_options_take_numbers_of_other_types() -> None:
    """Durations, seconds and counts may come from NumPy, too."""
    tidelog.Session(PLAN, lateness=np.int64(2), max_ahead=np.float64(5), start=np.int32(0), min_evidence=np.int64(1))
    tidelog.Engine(PLAN, [], [], idle_after=np.float32(1.5))
    assert tidelog.RestartPolicy(attempts=np.int64(1), delay=np.float64(0.5)).wait_before(1) == 0.5
