"""A part of a plan at work: what an actor runs, in whatever process it lives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import msgspec

from tidelog.operators.stores.notices import Notices
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import OperatorError, StateError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.intake.intake import Delivery
from tidelog.runtime.islands.dividing import catch_up
from tidelog.runtime.islands.messages import (
    Begin,
    Conclude,
    Counted,
    Failed,
    Finish,
    Follow,
    Hear,
    Load,
    Outcome,
    Portion,
    Presume,
    Reply,
    Rest,
    Save,
    Saved,
    Step,
    Told,
    packed_sent,
    unpacked_sent,
)
from tidelog.runtime.network.network import Network
from tidelog.runtime.network.outlet import Exporting
from tidelog.runtime.network.state_bound import StateBound
from tidelog.runtime.ports.collecting import not_collecting
from tidelog.runtime.ports.interfaces import EmitMode


@dataclass(frozen=True, slots=True)
class Work:
    """What an actor is to run: the plan of its island, the form of its answers, the steps that others read.

    `most` is how many rows it may hold, `shared` the loops of which other actors have other rows. Of
    the outputs of all islands, the one known least is so far `ahead` of the watermark.
    """

    plan: Plan
    emit: EmitMode
    exports: tuple[str, ...] = ()
    prospects: bool = True
    most: int | None = None
    shared: frozenset[int] = frozenset()
    ahead: int = 0


class Part:
    """Runs a part of a plan, told one message after the other."""

    def __init__(self, work: Work) -> None:
        self._bound = StateBound(work.most)
        self._outlet = Exporting(work.plan, work.emit, self._bound, work.exports)
        self._outlet.emission.ahead = work.ahead
        self._network = Network(work.plan, self._outlet, self._bound, work.prospects, (), work.exports, work.shared)
        self._bound.watch("answers", self._waiting)
        self._heard: list[tuple[str, Step]] = []
        self._listened: set[str] = set()
        self._exports = work.exports
        self._seconds = 0.0

    def tell(self, message: Told) -> Reply:
        """Take a message, and answer it; where that is `Failed`, the part is of no use any more."""
        began = perf_counter()
        try:
            return self._take(message)
        except OperatorError as failure:
            return Failed("OperatorError", (failure.step, failure.rule, failure.fact, failure.reason))
        except (StateError, NoRoomError) as full:
            error = self._bound.too_many_answers(full) if isinstance(full, NoRoomError) else full
            return Failed("StateError", (error.holder, error.place, error.rows, error.most))
        except Exception as found:
            return Failed(type(found).__name__, (str(found),))
        finally:
            self._seconds += perf_counter() - began

    def _take(self, message: Told) -> Reply:
        network = self._network
        if isinstance(message, Portion):
            if message.frontier >= POS and network.watermark < POS:
                network.ends.come(message.before, message.ends)
            network.deliver(_delivery(message), unpacked_sent(message.remote))
            if message.comes_up:
                catch_up(network)
            self._bound.moved(len(self._outlet.answers))
        elif isinstance(message, Begin):
            network.begin()
        elif isinstance(message, Presume):
            operators = network.graph.operators
            network.presume({step: time for step, time in message.until.items() if step in operators})
        elif isinstance(message, Rest):
            network.rest()
        elif isinstance(message, Finish):
            self._outlet.finish()
        elif isinstance(message, Follow | Conclude):
            return self._go_behind_the_end(message)
        elif isinstance(message, Hear):
            self._listen(message.steps)
        elif isinstance(message, Save):
            return self._save()
        elif isinstance(message, Load):
            self._load(message.state)
        else:
            return self._count()
        return self._outcome()

    def _go_behind_the_end(self, message: Follow | Conclude) -> Outcome:
        ends = self._network.ends
        if isinstance(message, Follow):
            return self._outcome(ends.follow(message.loop, message.present))
        ends.conclude(message.loop, is_endless=message.is_endless)
        return self._outcome()

    def _outcome(self, passes: Sequence[int] = ()) -> Outcome:
        outlet, network = self._outlet, self._network
        answers, outlet.answers = outlet.answers, []
        violated, outlet.violated = outlet.violated, []
        sent, outlet.sent = outlet.sent, []
        heard, self._heard = self._heard, []
        return Outcome(
            answers,
            [(item.rule, item.facts, item.during, item.lo, item.hi) for item in violated],
            packed_sent(sent),
            network.next_look(),
            heard,
            network.ends.open_loops() if network.watermark >= POS else {},
            passes,
            network.ends.known(self._exports) if network.watermark >= POS else {},
        )

    # --- state ----------------------------------------------------------------------------------------------------------

    def _save(self) -> Saved:
        with not_collecting():
            state = {"network": self._network.snapshot(), "outlet": self._outlet.snapshot()}
            packed = msgspec.msgpack.encode(state)
            del state
        return Saved(packed, self._network.next_look())

    def _load(self, packed: bytes) -> None:
        with not_collecting():
            state = msgspec.msgpack.decode(packed)
            self._outlet.restore(state["outlet"])
            self._network.restore(state["network"])  # it asks the outlet what is due
            del state

    def _count(self) -> Counted:
        graph = self._network.graph
        steps = {name: asdict(found) for name, found in graph.statistics().items()}
        return Counted(steps, graph.unfinished(), self._bound.held(), self._seconds)

    def _waiting(self) -> list[Any]:
        return [self._network.graph.answers_of(name, rows) for name, rows in self._outlet.entries()]

    # --- who listens ----------------------------------------------------------------------------------------------------

    def _listen(self, steps: Collection[str]) -> None:
        for step in self._listened - {*steps}:
            self._network.listen(step, None)
        for step in {*steps} - self._listened:
            self._network.listen(step, _Ear(step, self._heard_of))
        self._listened = {*steps}

    def _heard_of(self, step: str, source: str, facts: Sequence[Fact], notices: Notices | None) -> None:
        self._heard.append((source, packed_sent([(step, list(facts), notices)])[0]))


@dataclass(slots=True)
class _Ear:
    """Hears one step."""

    step: str
    tell: Any = field(repr=False)

    def __call__(self, source: str, facts: Sequence[Fact], notices: Notices | None) -> None:
        self.tell(self.step, source, facts, notices)


def _delivery(portion: Portion) -> Delivery:
    """A portion as a network takes it."""
    return Delivery(
        facts={name: list(facts) for name, facts in portion.facts.items()},
        arrivals=portion.arrivals,
        frontier=portion.frontier,
        points=portion.points,
        start=portion.start,
        watermark=NEG,
    )
