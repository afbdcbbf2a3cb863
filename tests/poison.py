"""Poison: answers that a sink cannot deliver, between good ones. What every sink has to do with them is checked here.

A test says which kinds of poison there are for its sink, and why another kind cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import anyio

from children import WAIT
from tidelog.plans.data.facts import Record
from tidelog.runtime.actors.supervision import Group, RestartPolicy, SinkActor
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import Rejected, Sink, SinkStatistics

Kind = Literal["too long", "not encodable", "refused for good", "refused for now"]
KINDS: tuple[Kind, ...] = ("too long", "not encodable", "refused for good", "refused for now")

UNENCODABLE = "\ud800"
"""Half a surrogate pair, which no encoding has: a source that is no part of tidelog may bring it."""


def hot(name: str) -> Record:
    """An answer with this name."""
    return ("hot", (name, 5), 3, 3)


GOOD = [hot(f"good{i}") for i in range(6)]


class ListFeed:
    """A feed of groups that are given beforehand, numbered as in a run with a state."""

    def __init__(self, groups: Sequence[Sequence[Record]]) -> None:
        self._groups: list[Group] = []
        first = 1
        for answers in groups:
            self._groups.append((Heading("run1", first, 3), answers))
            first += len(answers)

    async def receive(self) -> Sequence[Group]:
        if not self._groups:
            raise anyio.EndOfStream
        return [self._groups.pop(0)]

    def close(self) -> None:
        pass


@dataclass
class Delivery:
    """What a sink has made of its answers: the dead letters, and what is counted."""

    letters: list[Rejected]
    statistics: SinkStatistics


async def deliver(sink: Sink, groups: Sequence[Sequence[Record]]) -> Delivery:
    """Let a sink have its answers from the actor that an engine runs for it, to the end."""
    letters: list[Rejected] = []

    async def take(name: str, found: Sequence[Rejected]) -> None:
        assert name == sink.name
        await anyio.lowlevel.checkpoint()
        letters.extend(found)

    actor = SinkActor(sink, RestartPolicy(attempts=0), take)
    with anyio.fail_after(WAIT):
        await actor.run(ListFeed(groups))
    return Delivery(letters, actor.statistics())


async def check_poison(sink: Sink, poison: Record, delivered: Callable[[], Sequence[str]], reason: str) -> None:
    """Poison between good answers is a dead letter with its reason, counted; all others are delivered, in order."""
    done = await deliver(sink, [[*GOOD[:2], poison, *GOOD[2:4]], [poison], GOOD[4:]])
    assert [name_of(text) for text in delivered()] == [row[0] for _, row, _, _ in GOOD]
    assert [item.record for item in done.letters] == [poison, poison]
    assert [item.place for item in done.letters] == [sink.name] * 2
    for item in done.letters:
        assert re.search(reason, item.reason), item.reason
        assert item.raw
    assert done.statistics == SinkStatistics(undelivered=2)


async def check_owed(sink: Sink, answers: Sequence[Record], delivered: Callable[[], Sequence[str]]) -> None:
    """What is refused for now is owed: every answer is delivered in the end, none is a dead letter."""
    done = await deliver(sink, [answers[:3], answers[3:]])
    assert sorted(name_of(text) for text in delivered()) == sorted(str(row[0]) for _, row, _, _ in answers)
    assert done == Delivery([], SinkStatistics())


def name_of(text: str) -> str:
    """The name in an answer, however it is written."""
    found = re.search(r"(good|poison)\w*", text)
    assert found is not None, text
    return found[0]
