"""How a stage of a program that runs elsewhere goes on when the program changes: what its runner and its changer share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tidelog.plans.data.facts import Record
from tidelog.plans.stages.stages import Stage
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.ports.interfaces import StageMode


@dataclass(frozen=True, slots=True)
class StageStanding:
    """Where a session of a stage stands whose program changes. Times are encoded.

    `state` is its snapshot, None where it was never there. `watermark` is what all sessions have been told, None before the
    first. Over all sessions, the last fact that has come ends at `reach`, but for those of the predicates `endless`. Of the
    predicates `other` the stage now gets other facts than the one before. `journal` holds the blocks that are kept, if the
    run `keeps` them.
    """

    state: bytes | None
    start: int | None
    watermark: int | None
    reach: int
    endless: frozenset[str]
    other: frozenset[str] = frozenset()
    journal: Sequence[bytes] = ()
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class ChangedStage:
    """How it goes on: its snapshot, when it is due, what is to be told at the change to users, and to later stages
    (`passed`), and, packed, what becomes of what it tells. With `keeps_all`, it tells what the stage before did, so that one
    that was never there need not begin. `noted` is a block of its journal that was not kept by then."""

    state: bytes
    deadline: int
    told: list[Record]
    passed: list[Record]
    becomings: bytes
    keeps_all: bool
    noted: bytes | None = None


class ChangeStage(Protocol):
    """Lets a session of a stage go on as one of a stage of a changed program; None where there was, or is, no such stage."""

    def __call__(
        self,
        before: Stage | None,
        now: Stage | None,
        owns: Callable[[Value], bool],
        *,
        emit: StageMode,
        standing: StageStanding,
    ) -> ChangedStage: ...
