"""Hypothetical answers as JSON lines."""

from __future__ import annotations

import json
from fractions import Fraction

from tidelog import GroundLiteral, HypotheticalAnswer, Open
from tidelog.connectors import JsonEncoder, TextEncoder
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.timeline import Timeline

SECONDS = Schema(Timeline("integer", unit=Fraction(60)), questions={"late": "T"})
CAME = GroundLiteral("sent", ("p1", 2.5), 10)
ABSENT = GroundLiteral("back", ("p1",), 11, negated=True)
OPEN = GroundLiteral("seen", ("p1", Open("Who")), Open("S", 2))
POSSIBLE = HypotheticalAnswer("late", {"P": "p1", "N": 10, "T": 10}, "possible", (CAME, ABSENT), (OPEN,), 11, 14)


def line_of(answer: HypotheticalAnswer, iso: bool = False) -> str:
    return JsonEncoder(SECONDS, iso=iso).encode([answer]).decode()


def test_a_line_is_as_documented() -> None:
    """Premises are facts in text, absences with `not`, what is open a variable; numbers stay numbers."""
    assert line_of(POSSIBLE) == (
        '{"query":"late","answer":{"P":"p1","N":10,"T":10},"status":"possible",'
        '"evidence":["sent(p1,2.5)@10","not back(p1)@11"],"hypotheses":["seen(p1,Who)@S+2"],"at":11,"deadline":14}\n'
    )


def test_a_deadline_that_nothing_bounds_is_null() -> None:
    """Likewise an open column; a final line has no deadline at all, a rejection says what failed."""
    unbounded = HypotheticalAnswer("late", {"P": None, "T": 3}, "possible", (CAME,), (OPEN,), 11)
    found = json.loads(line_of(unbounded))
    assert (found["answer"], found["deadline"]) == ({"P": None, "T": 3}, None)
    certain = json.loads(line_of(HypotheticalAnswer("late", {"P": "p1", "T": 3}, "certain", (CAME,), (), 11)))
    assert ("deadline" in certain, "failed" in certain, certain["hypotheses"]) == (False, False, [])
    rejected = HypotheticalAnswer("late", {"P": "p1", "T": 3}, "rejected", (CAME,), (), 12, failed=ABSENT)
    assert json.loads(line_of(rejected))["failed"] == "not back(p1)@11"


def test_iso_writes_what_is_a_time() -> None:
    """The question's own column, premises, `at` and `deadline`; no other numbers, and nothing that is open."""
    found = json.loads(line_of(POSSIBLE, iso=True))
    assert found["answer"] == {"P": "p1", "N": 10, "T": "1970-01-01T00:10:00Z"}
    assert found["evidence"] == ["sent(p1,2.5)@1970-01-01T00:10:00Z", "not back(p1)@1970-01-01T00:11:00Z"]
    assert found["hypotheses"] == ["seen(p1,Who)@S+2"]
    assert (found["at"], found["deadline"]) == ("1970-01-01T00:11:00Z", "1970-01-01T00:14:00Z")


def test_iso_leaves_what_is_beyond_the_calendar() -> None:
    """A time that has no date stays a number, as in facts."""
    far = HypotheticalAnswer("late", {"T": 10**15}, "certain", (GroundLiteral("sent", ("@",), 10**15),), (), 10**15)
    found = json.loads(line_of(far, iso=True))
    assert (found["answer"], found["at"], found["evidence"]) == ({"T": 10**15}, 10**15, [f'sent("@")@{10**15}'])


def test_both_kinds_share_a_stream() -> None:
    """Facts are written as without questions; text facts leave hypothetical answers out."""
    fact = ("p", ("a",), 3, 4)
    plain = JsonEncoder(Schema(Timeline("integer"))).encode([fact])
    assert JsonEncoder(SECONDS).encode([POSSIBLE, fact, POSSIBLE]).splitlines()[1] + b"\n" == plain
    assert TextEncoder(SECONDS).encode([POSSIBLE, fact, POSSIBLE]) == b"p(a)@[3,4]\n"
