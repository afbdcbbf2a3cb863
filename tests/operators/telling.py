"""Messages of operators in tests: facts, and beside them what begins to stand, and what stands no longer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from limits import LEAST, limits

from tidelog.operators.operator import Operator
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact, Row


class Message(NamedTuple):
    """What comes at a port, or is told by an operator."""

    facts: list[Fact]
    begun: dict[Row, int]
    ended: list[Fact]


def said(facts: Iterable[Fact] = (), begun: Mapping[Row, int] | None = None, ended: Iterable[Fact] = ()) -> Message:
    return Message(list(facts), dict(begun or {}), list(ended))


def notices_of(message: Message) -> Notices | None:
    return Notices(message.begun.items(), message.ended) if message.begun or message.ended else None


def hear(operator: Operator, port: int, message: Message | list[Fact], frontier: int) -> Message:
    """Let an operator take a message; returns what it tells."""
    if not isinstance(message, Message):
        message = said(message)
    return _told(operator, operator.receive(port, message.facts, frontier, notices_of(message)))


def move(operator: Operator, frontiers: Sequence[int]) -> Message:
    """Let an operator take the frontiers of its ports, and forget; returns what it tells."""
    facts = operator.advance(frontiers)
    operator.tidy()
    return _told(operator, facts)


def _told(operator: Operator, facts: list[Fact]) -> Message:
    notices = operator.told_notices()
    return said(facts) if notices is None else said(facts, notices.begun, notices.ended)


def play(make: Callable[[], Operator], table: Sequence[tuple[int, Message, int, Message]], *, again: bool) -> None:
    """Let an operator take the messages of a table: a port, what comes there, how far this is known then, and what is told.

    With the usual limits and with the least ones; `again` lets it go on from a snapshot behind each message.
    """
    for least in (False, True):
        with limits(**(LEAST if least else {})):
            operator = make()
            for at, (port, message, known, told) in enumerate(table):
                assert hear(operator, port, message, known) == told, at
                if again:
                    state = json.dumps(operator.snapshot())
                    operator = make()
                    operator.restore(json.loads(state))
