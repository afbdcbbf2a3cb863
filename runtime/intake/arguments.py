"""What is given from Python: what is no plan for streams, or no fact, is told, and never answered with `false`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan

AtEnd = Literal["finish", "stop"]
"""Whether the end of all sources is the stream's end, or nothing is claimed about later times."""


def require_stream_plan(plan: Plan) -> None:
    """TypeError for anything but a plan for streams."""
    if not isinstance(plan, Plan):
        raise TypeError(f"a stream takes a plan of `compile`, got {type(plan).__name__}")


def check_at_end(at_end: str) -> None:
    """ValueError for anything but `finish` and `stop`."""
    if at_end not in get_args(AtEnd):
        raise ValueError(f"unknown end {at_end!r}: expected {', '.join(get_args(AtEnd))}")


def require_record(record: Record) -> None:
    """TypeError for anything that is no record."""
    if not isinstance(record, tuple) or len(record) != 4:
        raise TypeError(f'a fact is a record, such as plan.record("p", ["a"], time=1), got {_shown(record)}')


def records_of(facts: Iterable[Record]) -> Iterator[Record]:
    """The facts, one by one; TypeError at the first that is no record.

    >>> list(records_of([("p", ("a",), 2, 2)]))
    [('p', ('a',), 2, 2)]
    """
    if isinstance(facts, str | bytes):
        raise TypeError(f'facts are records, such as [plan.record("p", ["a"], time=1)], got {_shown(facts)}')
    return _each(facts)


def _each(facts: Iterable[Record]) -> Iterator[Record]:
    for record in facts:
        if not isinstance(record, tuple) or len(record) != 4:
            require_record(record)
        yield record


def _shown(value: object) -> str:
    return f"a {type(value).__name__} of {len(value)}" if isinstance(value, tuple) else type(value).__name__


def check_lead(max_lead: object) -> int:
    """By how many facts a source may run ahead; TypeError or ValueError where it is no whole number above 0."""
    if not isinstance(max_lead, int) or isinstance(max_lead, bool):
        raise TypeError(f"`max_lead` is a whole number of facts, got {type(max_lead).__name__}")
    if max_lead < 1:
        raise ValueError(f"`max_lead` is 1 or more, got {max_lead}")
    return max_lead
