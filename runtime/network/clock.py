"""How a clocked loop goes through time: one time after another at which something begins or ends, and nothing in between.

A pass lets each part of the loop that has something to do come as far as one time, in the order of the plan. What a part
tells of that time reaches those behind it in the same pass; what steps back in time is of a later one. Where no message
waits and no part has a deadline, nothing follows, so the next pass is at the first time at which there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.operators.loops.open_loop import OpenLoop
from tidelog.operators.operator import Operator
from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import BEGUN, NEG, POS
from tidelog.plans.plan.plan import Loop

END_PASSES = 10_000
"""How many passes a loop is followed beyond the end of the stream, to see whether it comes to an end."""

Message = tuple[int, Sequence[Fact], Notices | None]
"""What comes to a port of a part."""
Told = tuple[str, list[Fact], Notices | None]
"""What a step has sent."""
Entry = tuple[str, int]


@dataclass(slots=True)
class Part:
    """A step, or steps that feed each other at one time: its operator, and what it has to do.

    `ports` are those of the operator by step and port. `due` is the least time at which it has something to do.
    """

    members: tuple[str, ...]
    operator: Operator
    ports: dict[Entry, int]
    inbox: list[Message] = field(default_factory=list)
    due: int = POS

    def bring(self, port: Entry, facts: Sequence[Fact], notices: Notices | None, earliest: int) -> None:
        """Leave a message for it; it is of no use before a time."""
        self.inbox.append((self.ports[port], facts, notices))
        self.due = min(self.due, max(earliest, _time_of(facts, notices)))

    def come(self, time: int) -> list[Told]:
        """Take what waits, and come as far as a time; returns what follows."""
        operator, out = self.operator, list[Fact]()
        inbox, self.inbox = self.inbox, []
        operator.is_followed = True
        for port, facts, notices in inbox:
            out += operator.receive(port, facts, NEG, notices)
        operator.is_followed = False
        out += operator.advance([time] * len(operator.frontiers))
        operator.tidy()
        wanted = operator.deadline()
        self.due = POS if wanted is None else max(wanted[1], time + 1)
        told = operator.told_notices()
        if not out and told is None:
            return []
        if isinstance(operator, OpenLoop):
            sent = operator.by_member(out, told)
            return [(self.members[number], facts, notices) for number, (facts, notices) in sent.items()]
        return [(self.members[0], out, told)]


def _time_of(facts: Sequence[Fact], notices: Notices | None) -> int:
    """The least time at which a message changes something."""
    time = min([lo for _, lo, _ in facts], default=POS)
    if notices is not None:
        time = min([time, *notices.begun.values(), *[hi + 1 for _, _, hi in notices.ended]])
    return time


class Clock:
    """The parts of a clocked loop, and how far it has come.

    `known` is the time up to which all of it is known, `present` how far the stream has come, as its facts tell, too, and
    `running` the part that is or was at work last. `passes` are the times of those beyond the end of the stream.
    """

    def __init__(self, loop: Loop, parts: Sequence[Part], inner: Mapping[str, Sequence[Entry]]) -> None:
        self.loop = loop
        self.parts = parts
        self.running = parts[0]
        self.known = self.present = NEG
        self.unfinished = False
        self.passes: list[int] = []
        self._reached = dict.fromkeys(loop.entries, NEG)
        self._number = {name: number for number, part in enumerate(parts) for name in part.members}
        readers = {name: [(self._number[reader], (reader, port)) for reader, port in read] for name, read in inner.items()}
        self._inner = {  # what feeds each other at one time does so within a part
            name: [(number, entry) for number, entry in read if entry in parts[number].ports]
            for name, read in readers.items()
        }

    def bring(self, step: str, port: int, facts: Sequence[Fact], notices: Notices | None) -> None:
        """A message has come from outside."""
        part = self.parts[self._number[step]]
        part.bring((step, port), facts, notices, self.known + 1 if self.known > NEG else NEG)
        begins = [lo for _, lo, _ in facts] if notices is None else [*[lo for _, lo, _ in facts], *notices.begun.values()]
        self.present = max([self.present, *begins])

    def come_to(self, time: int) -> None:
        """The stream has come as far as a time."""
        self.present = max(self.present, time)

    def reach(self, step: str, port: int, frontier: int) -> None:
        """What feeds an entry is known up to a frontier."""
        self._reached[step, port] = max(self._reached[step, port], frontier)

    def frontier(self) -> int:
        """How far all is known that feeds the loop."""
        return min(self._reached.values(), default=POS)

    def told(self) -> int:
        """How far all is told: what has no begin is told as one, up to the first time that matters."""
        return self.known if self.known >= BEGUN else NEG

    def due(self) -> int:
        """The least time at which something is to be done."""
        return min(part.due for part in self.parts)

    def go_on(self) -> Iterator[Told]:
        """Come as far as all that feeds the loop, pass by pass; what follows, step by step.

        At the stream's end it goes as far as the stream has come, and no further: `follow` does.
        """
        frontier = self.frontier()
        until = frontier if frontier < POS else self.present
        yield from self._since_ever(until)
        while (time := self.due()) <= until:
            yield from self._pass(time)
        self.known = max(self.known, until)

    def _since_ever(self, until: int) -> Iterator[Told]:
        """Go on with what has no begin until nothing changes: what holds then does so since ever, and is told as one.

        ValueError where it never comes to that: such a loop would have come to any time in more than one way.
        """
        told: dict[str, tuple[list[Fact], Notices]] = {}
        for _ in range(END_PASSES):
            time = self.due()
            if time > until or time >= BEGUN:
                break
            for name, facts, notices in self._pass(time):
                said, heard = told.setdefault(name, ([], Notices()))
                if notices is not None:
                    heard.follow_with(notices, said)
                said += facts
        else:
            raise ValueError("it changes again and again since ever: facts that it follows from need a begin")
        for name, (facts, notices) in told.items():
            yield name, facts, notices if len(notices) else None

    def follow(self) -> Iterator[Told]:
        """When the stream has ended: go on as long as there is something to do.

        Where that does not end, the loop is to be stopped (`stop`), and what was told behind the present is void.
        """
        yield from self._since_ever(POS)
        for _ in range(END_PASSES):
            time = self.due()
            if time >= POS:
                yield from self._end()
                return
            self.passes.append(time)
            yield from self._pass(time)

    def stop(self) -> None:
        """It has no end: it has been followed as far as the stream has come."""
        self.unfinished = True
        self.known = self.present

    def _end(self) -> Iterator[Told]:
        """Nothing is to come any more: what stands does so for ever."""
        for number, part in enumerate(self.parts):
            self.running = part
            yield from self._tell(number, part.come(POS), POS)
        self.known = POS

    def _pass(self, time: int) -> Iterator[Told]:
        """Let all parts that have something to do come as far as a time, which is the next."""
        self.known = max(self.known, time - 1)
        for number, part in enumerate(self.parts):
            if part.due <= time:
                self.running = part
                yield from self._tell(number, part.come(time), time)
        self.known = time

    def _tell(self, number: int, told: Sequence[Told], time: int) -> Iterator[Told]:
        for name, facts, notices in told:
            for reader, entry in self._inner[name]:
                self.parts[reader].bring(entry, facts, notices, time if reader > number else time + 1)
            yield name, facts, notices

    # --- state ----------------------------------------------------------------------------------------------------------

    def waiting(self) -> Iterator[tuple[Entry, int]]:
        """The ports at which facts wait inside, and how many."""
        for part in self.parts:
            entries = {port: entry for entry, port in part.ports.items()}
            for port, facts, _ in part.inbox:
                yield entries[port], len(facts)

    def snapshot(self) -> dict[str, Any]:
        """How far it has come, and what waits inside, as plain data; the steps' operators are stored elsewhere."""
        return {
            "reached": [self._reached[entry] for entry in self.loop.entries],
            "present": self.present,
            "known": self.known,
            "unfinished": self.unfinished,
            "inboxes": [[_plain(message) for message in part.inbox] for part in self.parts],
            "groups": [part.operator.snapshot() for part in self.parts if isinstance(part.operator, OpenLoop)],
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot was taken; the steps' operators have been restored before."""
        self._reached = dict(zip(self.loop.entries, data["reached"], strict=True))
        self.present, self.known, self.unfinished = data["present"], data["known"], data["unfinished"]
        groups = iter(data["groups"])
        for part, inbox in zip(self.parts, data["inboxes"], strict=True):
            if isinstance(part.operator, OpenLoop):
                part.operator.restore(next(groups))
            part.inbox = [_message(stored) for stored in inbox]
            wanted = part.operator.deadline()
            dues = [_time_of(facts, notices) for _, facts, notices in part.inbox]
            part.due = max(min([*dues, POS if wanted is None else wanted[1]]), self.known + 1)


def has_no_end(passes: int) -> bool:
    """Whether so many passes beyond the end of the stream show that a loop has none."""
    return passes >= END_PASSES


def _plain(message: Message) -> list[Any]:
    port, facts, notices = message
    begun, ended = ({}, []) if notices is None else (notices.begun, notices.ended)
    stored = [[list(row), lo] for row, lo in begun.items()], [[list(row), lo, hi] for row, lo, hi in ended]
    return [port, [[list(row), lo, hi] for row, lo, hi in facts], *([] if notices is None else stored)]


def _message(stored: list[Any]) -> Message:
    port, facts, *rest = stored
    notices = None
    if rest:
        begun, ended = rest
        notices = Notices([(tuple(row), lo) for row, lo in begun], [(tuple(row), lo, hi) for row, lo, hi in ended])
    return port, [(tuple(row), lo, hi) for row, lo, hi in facts], notices
