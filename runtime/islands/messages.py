"""What an actor is told, and what it answers: one message for each, in order, as data that passes between processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import OperatorError, StateError, TidelogError
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.network.graph import Sent

Row = tuple[Value, ...]
Fact = tuple[Row, int, int]
Record = tuple[str, Row, int, int]


class Step(msgspec.Struct, array_like=True, frozen=True):
    """What a step has sent: facts, and notices where it tells any."""

    step: str
    facts: Sequence[Fact]
    begun: Sequence[tuple[Row, int]] | None = None
    ended: Sequence[Fact] = ()


class Portion(msgspec.Struct, array_like=True, frozen=True, tag=0):
    """What of a delivery concerns an actor: facts of the stream, what steps of other islands have sent, the frontier.

    The other members are those of a `Delivery`. With `comes_up` all steps come as far as the frontier allows. At the
    stream's end, `before` is how far all was known until then, and `ends` has the imported steps that are not known for all
    times, with up to when they are.
    """

    frontier: int
    facts: dict[str, Sequence[Fact]]
    remote: Sequence[Step] = ()
    start: int | None = None
    points: Sequence[int] = ()
    arrivals: Sequence[Fact] = ()
    comes_up: bool = False
    before: int = NEG
    ends: dict[str, int] = {}


class Presume(msgspec.Struct, array_like=True, frozen=True, tag=1):
    """Steps that negate take it that what is there stays so, each until a time."""

    until: dict[str, int]


class Rest(msgspec.Struct, array_like=True, frozen=True, tag=2):
    """The stream stops before its end: all is told that is known."""


class Finish(msgspec.Struct, array_like=True, frozen=True, tag=3):
    """The stream has ended, and all has been delivered."""


class Save(msgspec.Struct, array_like=True, frozen=True, tag=4):
    """Tell the state."""


class Load(msgspec.Struct, array_like=True, frozen=True, tag=5):
    """Go on from a state, as `Saved` has it."""

    state: bytes


class Hear(msgspec.Struct, array_like=True, frozen=True, tag=6):
    """Tell from now on what these steps take and send, and of no other."""

    steps: Sequence[str]


class Count(msgspec.Struct, array_like=True, frozen=True, tag=7):
    """Tell the statistics of each step, and what is recursive without an end."""


class Begin(msgspec.Struct, array_like=True, frozen=True, tag=8):
    """The first message, but where a state follows: what do the program's own facts give?"""


class Follow(msgspec.Struct, array_like=True, frozen=True, tag=9):
    """The stream has ended, and has come as far as `present` for some shard: follow a loop to its own end, and keep that."""

    loop: int
    present: int


class Conclude(msgspec.Struct, array_like=True, frozen=True, tag=10):
    """It is known of all shards whether a loop that was followed comes to an end: tell what follows."""

    loop: int
    is_endless: bool


Told = Begin | Portion | Presume | Rest | Finish | Save | Load | Hear | Count | Follow | Conclude
"""What an actor is told."""


class Outcome(msgspec.Struct, array_like=True, frozen=True, tag=0):
    """What follows: answers, violations, and what the steps send that others read.

    `look` is the least frontier of which the actor has to be told though it gets no fact, `heard` what a step took (from
    whom) or sent (no name), where somebody listens. When the stream has ended, `open_loops` are those that are to be
    followed by all shards together, each with how far the stream has come, `passes` the times of one that was followed, and
    `ends` the steps that others read that are not known for all times, with up to when they are.
    """

    answers: Sequence[Record] = ()
    violated: Sequence[tuple[str, tuple[str, ...], str, int, int]] = ()
    sent: Sequence[Step] = ()
    look: int = POS
    heard: Sequence[tuple[str, Step]] = ()
    open_loops: dict[int, int] = {}
    passes: Sequence[int] = ()
    ends: dict[str, int] = {}


class Saved(msgspec.Struct, array_like=True, frozen=True, tag=1):
    """The state of an actor, packed."""

    state: bytes
    look: int = NEG


class Counted(msgspec.Struct, array_like=True, frozen=True, tag=2):
    """For each step its statistics, as plain data; what is recursive without an end; the rows that are held.

    The part has been at work for so many `seconds` since it was made.
    """

    steps: dict[str, dict[str, Any]]
    unfinished: list[str]
    rows: int = 0
    seconds: float = 0.0


class Failed(msgspec.Struct, array_like=True, frozen=True, tag=3):
    """The actor could not take what it was told, and is of no use any more: an error by its name and its arguments."""

    error: str
    arguments: Sequence[str | int]

    def as_error(self) -> TidelogError:
        """The error itself; one that no part of a plan should make is an OperatorError of no step."""
        if self.error == "StateError":
            holder, place, rows, most = self.arguments
            return StateError(str(holder), str(place), int(rows), int(most))
        if self.error == "OperatorError":
            step, rule, fact, reason = map(str, self.arguments)
            return OperatorError(step, rule, fact, reason)
        return OperatorError("", "", "(an actor)", f"{self.error}: {', '.join(map(str, self.arguments))}")


Reply = Outcome | Saved | Counted | Failed
"""What an actor answers."""

_encoder = msgspec.msgpack.Encoder()
pack = _encoder.encode
unpack_told = msgspec.msgpack.Decoder(Told).decode
unpack_reply = msgspec.msgpack.Decoder(Reply).decode


def packed_sent(sent: Sequence[Sent]) -> list[Step]:
    """What steps have sent, as messages have it."""
    return [
        Step(step, facts) if notices is None else Step(step, facts, list(notices.begun.items()), notices.ended)
        for step, facts, notices in sent
    ]


def unpacked_sent(sent: Sequence[Step]) -> list[Sent]:
    """The other way."""
    return [(item.step, item.facts, None if item.begun is None else Notices(item.begun, item.ended)) for item in sent]


def in_order(sent: list[Step]) -> list[Step]:
    """What several shards have sent of one step as one message, by the begins of its facts, as one network would."""
    if len({item.step for item in sent}) == len(sent):
        return sent
    by_step: dict[str, list[Step]] = {}
    for item in sent:
        by_step.setdefault(item.step, []).append(item)
    return [_together(name, parts) if len(parts) > 1 else parts[0] for name, parts in by_step.items()]


def _together(step: str, parts: Sequence[Step]) -> Step:
    facts = [fact for part in parts for fact in part.facts]
    if all(part.begun is None for part in parts):
        return Step(step, sorted(facts, key=_begin))
    notices = Notices()
    for part in parts:  # what begins and ends within them is a fact
        notices.follow_with(Notices(part.begun or (), part.ended), facts)
    return Step(step, sorted(facts, key=_begin), list(notices.begun.items()), notices.ended)


def _begin(fact: Fact) -> int:
    return fact[1]
