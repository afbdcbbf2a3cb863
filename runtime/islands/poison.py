"""Poison: facts by which an actor fails, found by halves, so that it can take all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG
from tidelog.plans.diagnostics.errors import OperatorError, TidelogError
from tidelog.runtime.islands.messages import Failed, Outcome, Portion, Reply, Save, Saved, Told, unpack_told


class Entry(NamedTuple):
    """A message that was told: its number, what was sent, and what becomes of the answer."""

    number: int
    message: bytes | Told
    then: Any


class Trial(Protocol):
    """An actor that may fail, and be started anew."""

    @property
    def saved(self) -> bytes | None:
        """The state from which it would go on."""
        ...

    def try_again(self, messages: Sequence[bytes | Told], state: bytes | None) -> list[Reply]:
        """Start anew from a state, be told these messages, and return the answers, up to the first failure."""
        ...

    def ask_now(self, message: Told) -> Reply:
        """Tell it something beside all else, and wait for the answer."""
        ...


class UnfitError(Exception):
    """An actor fails, and by no single fact."""

    def __init__(self, error: TidelogError | None) -> None:
        super().__init__()
        self.error = error


class Search:
    """Finds by halves the facts of a portion by which an actor fails, and lets it take all others.

    It begins from a state taken just before, so that each trial costs as much as to read that.
    """

    def __init__(self, actor: Trial, before: Sequence[Entry]) -> None:
        self.before: list[Entry] = list(before)
        self.poisons: list[tuple[str, Fact, str]] = []
        self._actor = actor
        self._taken: list[tuple[Portion, Outcome]] = []
        self._frontier = max((found.frontier for entry in before if (found := portion_of(entry.message))), default=NEG)
        replies = actor.try_again([entry.message for entry in before], actor.saved)
        if replies and isinstance(replies[-1], Failed):
            raise UnfitError(replies[-1].as_error())
        saved = actor.ask_now(Save())
        if not isinstance(saved, Saved):
            raise UnfitError(None)
        self._state = saved.state

    def take(self, portion: Portion) -> tuple[Outcome, list[Portion]]:
        """What follows from a portion without its poisons, and the pieces in which it was taken."""
        facts = [(name, fact) for name, found in portion.facts.items() for fact in found]
        if portion.start is not None:
            self._require(Portion(self._frontier, {}, start=portion.start))
        self._take_facts(facts)
        self._require(msgspec.structs.replace(portion, facts={}, start=None))
        answers = [answer for _, outcome in self._taken for answer in outcome.answers]
        violated = [found for _, outcome in self._taken for found in outcome.violated]
        sent = [found for _, outcome in self._taken for found in outcome.sent]
        heard = [found for _, outcome in self._taken for found in outcome.heard]
        last = self._taken[-1][1]  # how far all is known then
        whole = msgspec.structs.replace(last, answers=answers, violated=violated, sent=sent, heard=heard)
        return whole, [piece for piece, _ in self._taken]

    def _require(self, piece: Portion) -> None:
        failed = self._try(piece)
        if failed is not None:
            raise UnfitError(failed.as_error())

    def _take_facts(self, facts: Sequence[tuple[str, Fact]]) -> None:
        waiting = [facts]
        while waiting:
            part = waiting.pop()
            if not part:
                continue
            failed = self._try(Portion(self._frontier, _by_predicate(part)))
            if failed is None:
                continue
            if len(part) == 1:
                self.poisons.append((*part[0], str(failed.as_error())))
            else:
                waiting += [part[len(part) // 2 :], part[: len(part) // 2]]

    def _try(self, piece: Portion) -> Failed | None:
        """Let the actor take a piece; where it fails, it stands behind the pieces before again."""
        reply = self._actor.ask_now(piece)
        if isinstance(reply, Outcome):
            self._taken.append((piece, reply))
            return None
        replies = self._actor.try_again([found for found, _ in self._taken], self._state)
        if replies and isinstance(replies[-1], Failed):
            raise UnfitError(replies[-1].as_error())
        return reply if isinstance(reply, Failed) else Failed("", ())


def is_of_memory(error: TidelogError) -> bool:
    """Whether an actor failed since there was no memory: no fact is to blame."""
    return isinstance(error, OperatorError) and error.reason.startswith("MemoryError")


def _by_predicate(facts: Sequence[tuple[str, Fact]]) -> dict[str, Sequence[Fact]]:
    found: dict[str, list[Fact]] = {}
    for name, fact in facts:
        found.setdefault(name, []).append(fact)
    return {**found}


def portion_of(message: bytes | Told) -> Portion | None:
    found = unpack_told(message) if isinstance(message, bytes) else message
    return found if isinstance(found, Portion) else None
