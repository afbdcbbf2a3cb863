"""The islands of a plan as one network: what a delivery brings is divided among actors, and their answers put together.

A delivery **passes** the islands level by level: those that import nothing first, then those that read what these send. An
actor is told of it where it gets facts, or where the frontier has come to its `look`; all others are not waited for. So a
shard without facts holds back nobody. Deliveries pass one behind the other, several at a time: an island is told of one once
the one before has been told, and what it imports is there. They **land** in their order, each with all that follows from it.

Behind the stream's end, shards follow a loop together: each tells the times that come, then all hear whether they end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Fact, Record, format_atom
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.islands.island import Island, owner
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.intake.intake import Delivery
from tidelog.runtime.islands.actors import Actor
from tidelog.runtime.islands.messages import (
    Begin,
    Conclude,
    Finish,
    Follow,
    Hear,
    Outcome,
    Portion,
    Presume,
    Reply,
    Rest,
    Step,
    Told,
    in_order,
)
from tidelog.runtime.network.clock import has_no_end

MOST_OWNERS = 1_000_000
"""How many values of keys are known with their shards, before all of them are forgotten."""


class Landed(NamedTuple):
    """A delivery has passed: all that follows from it, in the order of the islands. `number` is its own.

    All is known up to the `frontier`.
    """

    number: int
    frontier: int
    answers: list[Record]
    violations: list[Violation]
    held: list[Step]
    heard: list[tuple[str, Step]]


@dataclass(slots=True)
class _Passage:
    """A delivery, or a message to all, on its way: the `level` that it was told to, and how many answers it waits for."""

    number: int
    frontier: int
    message: Told | None = None
    start: int | None = None
    points: Sequence[int] = ()
    arrivals: Sequence[Fact] = ()
    comes_up: bool = False
    is_for_all: bool = False
    facts: dict[int, dict[str, Sequence[Fact]]] = field(default_factory=dict)
    """For each actor what it gets."""
    remote: dict[int, list[Step]] = field(default_factory=dict)
    level: int = -1
    waits: int = 0
    outcomes: list[tuple[int, Outcome]] = field(default_factory=list)
    open_loops: dict[int, dict[int, int]] = field(default_factory=dict)
    """For each actor the loops that shards have to follow behind the stream's end."""
    ends: dict[int, dict[str, int]] = field(default_factory=dict)
    """For each actor the steps that are not known for all times then."""
    followed: tuple[int, int] | None = None
    passes: set[int] = field(default_factory=set)
    """The island and its loop that is followed just now, and the times that it has come to."""


class IslandNetwork:
    """Islands, each with its actors: one, or one for each shard of its key. `held` are outputs that somebody keeps."""

    def __init__(
        self,
        islands: Sequence[Island],
        actors: Sequence[Sequence[Actor]],
        *,
        follows_arrivals: bool,
        are_changes: bool,
        held: Collection[str] = (),
    ) -> None:
        self._islands = islands
        self.shards = actors
        self.actors = [actor for shards in actors for actor in shards]
        self._first = _firsts(actors)
        self._levels = _levels(islands)
        self._readers = _readers(islands)
        self._importers = _importers(islands)
        self._tellers = _tellers(islands, self._first, actors)
        self._owners: list[dict[object, int]] = [{} for _ in islands]
        self._follows_arrivals, self._are_changes = follows_arrivals, are_changes
        self._held = frozenset(held)
        self._open: deque[_Passage] = deque()
        self._number = 0
        self._frontier = self._landed_at = self._before = NEG
        self._is_advancing = False
        for actor in self.actors:
            actor.set_aside = self._set_aside
        self.landed: deque[Landed] = deque()
        """What has passed, and nobody has taken yet."""
        self.has_begun = False

    # --- what is told ---------------------------------------------------------------------------------------------------

    def begin(self) -> int:
        """Let all tell what the program's own facts give."""
        self.has_begun = True
        return self._send(_Passage(0, self._frontier, Begin()))

    def deliver(self, delivery: Delivery, *, is_last: bool = False) -> int:
        """Send a delivery on its way, to all actors if it is one of the last; returns its number."""
        if self._frontier < POS:
            self._before = self._frontier
        self._frontier = max(self._frontier, delivery.frontier)
        passage = _Passage(0, self._frontier, None, delivery.start, delivery.points, delivery.arrivals, is_for_all=is_last)
        for predicate, facts in delivery.facts.items():
            for number, place in self._readers.get(predicate, ()):
                for index, some in self._divided(number, place, facts):
                    passage.facts.setdefault(index, {})[predicate] = some
        return self._send(passage)

    def come_up(self) -> int:
        """Let all steps come as far as the frontier allows."""
        return self._send(_Passage(0, self._frontier, comes_up=True))

    def presume(self, until: Mapping[str, int]) -> int:
        """Let steps that negate take it that what is there stays so, each until a time (encoded)."""
        return self._send(_Passage(0, self._frontier, Presume(dict(until))))

    def rest(self) -> int:
        """The stream stops before its end: let all be told that is known."""
        return self._send(_Passage(0, self._frontier, Rest()))

    def finish(self) -> int:
        """The stream has ended, and all has been delivered."""
        return self._send(_Passage(0, self._frontier, Finish()))

    def listen(self, steps: Sequence[str]) -> int:
        """Let all tell what these steps take and send from now on, and of no other."""
        return self._send(_Passage(0, self._frontier, Hear(steps)))

    def go_on(self, frontier: int) -> None:
        """The actors go on from states that have come to this frontier."""
        self.has_begun, self._frontier, self._landed_at = True, frontier, frontier

    def _send(self, passage: _Passage) -> int:
        self._number += 1
        passage.number = self._number
        self._open.append(passage)
        self._advance()
        return self._number

    def _divided(self, island: int, place: int | None, facts: Sequence[Fact]) -> Iterator[tuple[int, Sequence[Fact]]]:
        """Facts by the actors of an island that own them; `place` is the column of its key."""
        first, shards = self._first[island], len(self.shards[island])
        if place is None or shards == 1:
            yield first, facts
            return
        owners = self._owners[island]
        parts: list[list[Fact]] = [[] for _ in range(shards)]
        for fact in facts:
            value = fact[0][place]
            shard = owners.get(value)
            if shard is None:
                if len(owners) >= MOST_OWNERS:
                    owners.clear()
                shard = owners[value] = owner(value, shards)
            parts[shard].append(fact)
        for shard, part in enumerate(parts):
            if part:
                yield first + shard, part

    # --- on the way -----------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Take the answers that have come."""
        for actor in self.actors:
            if actor.has_news:
                actor.pump()
        self._advance()

    def drain(self, patience: float | None = None) -> bool:
        """Wait until all that is on its way has landed, and say whether it has.

        With a patience, not where a process has not answered for about as many seconds.
        """
        while self._open:
            awaited = next(actor for actor in self.actors if actor.is_awaited)
            if patience is not None and awaited.unanswered:
                return False
            awaited.pump(patience)
            for actor in self.actors:
                if actor.has_news:
                    actor.pump()
            self._advance()
        return True

    @property
    def on_the_way(self) -> int:
        """How many deliveries have not landed."""
        return len(self._open)

    @property
    def number(self) -> int:
        """That of the last delivery."""
        return self._number

    def _advance(self) -> None:
        """Tell the next level of each delivery, in their order, as far as what it imports is there."""
        if self._is_advancing:
            return
        self._is_advancing = True
        try:
            while self._move_on():  # an actor that is set aside meanwhile lets earlier deliveries get on
                pass
        finally:
            self._is_advancing = False
        while self._open and self._is_through(self._open[0]):
            self.landed.append(self._land(self._open.popleft()))

    def _move_on(self) -> bool:
        """Returns whether any delivery has got on."""
        ahead = len(self._levels)
        has_moved = False
        for passage in self._open:
            while not passage.waits:
                if not self._go_behind_the_end(passage):
                    if passage.level + 1 >= ahead:
                        break
                    passage.level += 1
                    for island in self._levels[passage.level]:
                        self._tell(passage, island)
                has_moved = True
            ahead = passage.level if passage.is_for_all and passage.waits else passage.level + 1  # shards may have to go on
            if ahead <= 0:
                break
        return has_moved

    def _go_behind_the_end(self, passage: _Passage) -> bool:
        """All shards have said how far they are: tell them what to do about a loop; returns whether there is one."""
        message: Follow | Conclude
        if passage.followed is not None:
            island, loop = passage.followed
            message = Conclude(loop, is_endless=has_no_end(len(passage.passes)))
            passage.followed, passage.passes = None, set()
        else:
            index = next((index for index, loops in passage.open_loops.items() if loops), None)
            if index is None:
                return False
            island, loop = self.actors[index].island, min(passage.open_loops[index])
            own = range(self._first[island], self._first[island] + len(self.shards[island]))
            present = max(loops[loop] for index in own if loop in (loops := passage.open_loops.get(index, {})))
            message = Follow(loop, present)
            passage.followed = island, loop
        for index, actor in enumerate(self.shards[island], self._first[island]):
            self._ask(passage, index, actor, message)
        return True

    def _is_through(self, passage: _Passage) -> bool:
        return not passage.waits and passage.level + 1 >= len(self._levels)

    def _tell(self, passage: _Passage, island: int) -> None:
        first = self._first[island]
        for index, actor in enumerate(self.shards[island], first):
            facts, remote = passage.facts.pop(index, {}), in_order(passage.remote.pop(index, []))
            is_due = remote or (
                isinstance(passage.message, Presume | Rest)  # which ask of all times so far
                if passage.message is not None
                else facts
                or passage.start is not None
                or passage.comes_up
                or passage.is_for_all
                or (passage.arrivals and self._islands[island].key is None)
                or (passage.points and self._follows_arrivals)
                or actor.is_awaited
                or passage.frontier >= actor.look
            )
            if is_due:
                portion = Portion(
                    passage.frontier,
                    facts,
                    remote,
                    passage.start,
                    passage.points if self._follows_arrivals else (),
                    passage.arrivals,
                    passage.comes_up,
                    self._before,
                    self._ends_of(passage, island),
                )
                self._ask(passage, index, actor, portion)
            if passage.message is not None:
                self._ask(passage, index, actor, passage.message)

    def _ends_of(self, passage: _Passage, island: int) -> dict[str, int]:
        """What an island imports that is not known for all times though the stream has ended: up to when all know it."""
        imports = self._islands[island].imports
        found: dict[str, int] = {}
        for step, known in (item for ends in passage.ends.values() for item in ends.items() if item[0] in imports):
            found[step] = min(known, found.get(step, POS))
        return found

    def _ask(self, passage: _Passage, index: int, actor: Actor, message: Told) -> None:
        passage.waits += 1

        def take(_: Actor, reply: Reply) -> None:
            passage.waits -= 1
            if isinstance(reply, Outcome):
                passage.outcomes.append((index, reply))
                passage.passes.update(reply.passes)
                if passage.is_for_all:
                    passage.open_loops[index], passage.ends[index] = reply.open_loops, reply.ends
                for item in reply.sent:
                    self._pass_on(passage, item)

        if isinstance(message, Hear):
            actor.listen([step for step in message.steps if index in self._tellers[step]], take)
        else:
            actor.tell(message, take)
        if actor.is_local:
            actor.pump()

    def _pass_on(self, passage: _Passage, sent: Step) -> None:
        """What a step sends goes to the islands that read it."""
        for island, place in self._importers.get(sent.step, ()):
            first, shards = self._first[island], len(self.shards[island])
            if place is None or shards == 1:
                passage.remote.setdefault(first, []).append(sent)
                continue
            for index, part in self._divided_sent(island, place, sent):
                passage.remote.setdefault(index, []).append(part)

    def _divided_sent(self, island: int, place: int, sent: Step) -> Iterator[tuple[int, Step]]:
        """The same for what a step sends, notices and all."""
        facts = dict(self._divided(island, place, sent.facts))
        if sent.begun is None:
            for index, some in facts.items():
                yield index, Step(sent.step, some)
            return
        begun: dict[int, list[Fact]] = {
            index: list(some) for index, some in self._divided(island, place, [(row, lo, lo) for row, lo in sent.begun])
        }
        ended = dict(self._divided(island, place, sent.ended))
        for index in sorted({*facts, *begun, *ended}):
            yield (
                index,
                Step(
                    sent.step, facts.get(index, ()), [(row, lo) for row, lo, _ in begun.get(index, ())], ended.get(index, ())
                ),
            )

    def _set_aside(self, actor: Actor) -> None:
        """Who reads what an actor sends would know less than it takes for granted: it is set aside, too."""
        sent = {*self._islands[actor.island].exports}
        for island in self._islands:
            if not sent.isdisjoint(island.imports):
                for other in self.shards[island.number]:
                    other.put_aside(f"it reads what `{actor.name}` sends, which was set aside")

    def standing(self) -> Iterator[tuple[Actor, int, int, str]]:
        """For each actor how many of its answers are still to come, up to when it knows all, and what it waits for.

        That is facts, or the islands that an open delivery is at.
        """
        for depth, islands in enumerate(self._levels):
            for actor in (actor for number in islands for actor in self.shards[number]):
                frontier, waits_for = self._landed_at, "" if actor.is_awaited else "facts"
                for passage in self._open:
                    if passage.level < depth or (passage.level == depth and actor.is_awaited):
                        if not actor.is_awaited:
                            waits_for = self._busy(passage)
                        break
                    frontier = passage.frontier
                yield actor, actor.waits, frontier, "" if actor.aside else waits_for

    def _busy(self, passage: _Passage) -> str:
        """The islands whose answers a delivery waits for, by their names."""
        levels = self._levels[: passage.level + 1]
        busy = [number for islands in levels for number in islands if any(actor.is_awaited for actor in self.shards[number])]
        return ", ".join(self._islands[number].name for number in busy)

    def _land(self, passage: _Passage) -> Landed:
        """What follows from a delivery, in the order of the actors."""
        self._landed_at = passage.frontier
        passage.outcomes.sort(key=_index)
        answers: list[Record] = []
        violations: list[Violation] = []
        held: list[Step] = []
        heard: list[tuple[str, Step]] = []
        for _, outcome in passage.outcomes:
            if self._are_changes:
                answers += [ChangeRecord(*record) for record in outcome.answers]
            else:
                answers += outcome.answers
            violations += [Violation(*found) for found in outcome.violated]
            heard += outcome.heard
            if self._held:
                held += [item for item in outcome.sent if item.step in self._held]
        if self._follows_arrivals:
            answers.sort(key=_point)
        return Landed(passage.number, passage.frontier, answers, violations, held, heard)

    def look(self) -> int:
        """The least frontier of which somebody has to be told though nothing comes; all has landed."""
        return min(actor.look for actor in self.actors)

    def close(self) -> None:
        """No actor is told anything more."""
        for actor in self.actors:
            actor.close()


def _point(answer: Record) -> tuple[int, str]:
    return answer[2], format_atom(answer[0], answer[1])


def _index(outcome: tuple[int, Outcome]) -> int:
    return outcome[0]


def _firsts(actors: Sequence[Sequence[Actor]]) -> list[int]:
    """For each island the number of its first actor."""
    firsts, count = [], 0
    for shards in actors:
        firsts.append(count)
        count += len(shards)
    return firsts


def _tellers(
    islands: Sequence[Island], firsts: Sequence[int], actors: Sequence[Sequence[Actor]]
) -> dict[str, Collection[int]]:
    """For each step the actors that tell what it takes and sends, each a part of it; where several have all, one of them."""
    found: dict[str, Collection[int]] = {}
    for island, first, shards in zip(islands, firsts, actors, strict=True):
        for step in island.steps:
            is_divided = island.key is not None and step in island.columns
            found.setdefault(step, range(first, first + (len(shards) if is_divided else 1)))
    return found


def _levels(islands: Sequence[Island]) -> list[list[int]]:
    """Islands by how many others stand before them."""
    makers = {step: number for number, island in enumerate(islands) for step in island.exports}
    level: list[int] = []
    for island in islands:
        level.append(max((level[makers[step]] + 1 for step in island.imports), default=0))
    return [[number for number, found in enumerate(level) if found == depth] for depth in range(max(level, default=0) + 1)]


def _readers(islands: Sequence[Island]) -> dict[str, list[tuple[int, int | None]]]:
    """For each predicate the islands that read it, with the place of their key."""
    found: dict[str, list[tuple[int, int | None]]] = {}
    for number, island in enumerate(islands):
        for name in island.reads:
            found.setdefault(name, []).append((number, None if island.key is None else island.key[name]))
    return found


def _importers(islands: Sequence[Island]) -> dict[str, list[tuple[int, int | None]]]:
    """For each step that others read, the islands that do, with the column of their key."""
    found: dict[str, list[tuple[int, int | None]]] = {}
    for number, island in enumerate(islands):
        for step in island.imports:
            found.setdefault(step, []).append((number, island.columns[step] if island.key is not None else None))
    return found
