"""Two nodes, faults at drawn steps: what is told, in order, under one id each, is what a run without faults tells."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from engine.running import multiset, run
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from state.pair_worlds import PairWorld
from tidelog.plans.data.facts import Record
from tidelog.runtime.durable import ledger, snapshots
from tidelog.runtime.ports import channels
from tidelog.runtime.ports.interfaces import EmitMode

pytestmark = pytest.mark.usefixtures("no_threads", "often")

PROGRAM = """timeline integer.
input hot(pump). input off(pump).
output alarm, long.
alarm(P) :- hot(P) since[0, 3] hot(P), not off(P).
long(P) :- alarm(P) for 2.
"""
PLAN = tidelog.compile(PROGRAM)
LIVES = 8
SPREADS: tuple[dict[str, Any], ...] = ({}, {"actors": "islands"}, {"actors": "rule"})
"""How a run is spread over actors of this process."""
QUICK_DISK = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108 - folders in it have names of their own
"""Power does not fail here, so nothing has to be on a disk."""


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a commit for each event, and now and then a snapshot."""
    monkeypatch.setattr(channels, "CHANNEL_BOUND", 0)
    monkeypatch.setattr(ledger, "MOST_NEW", 1)
    monkeypatch.setattr(snapshots, "MOST_REPLAYED", 7)


def facts_of(chance: Random) -> list[Record]:
    """Readings of some pumps, in order."""
    return [
        (chance.choice(("hot", "hot", "hot", "off")), (chance.choice("xyz"),), time, time + chance.choice((0, 0, 1)))
        for time in sorted(chance.randint(0, 30) for _ in range(chance.randint(20, 40)))
    ]


def told_in(seed: int, *, disturbed: bool, kinds: set[str], is_forced: bool = False) -> list[object]:
    """What is told in a world in the end, in order."""
    chance = Random(seed)
    facts = facts_of(chance)
    emit: EmitMode = chance.choice(("intervals", "changes"))
    spread = SPREADS[chance.randrange(len(SPREADS))]
    with tempfile.TemporaryDirectory(dir=QUICK_DISK) as folder:
        world = PairWorld(Path(folder), PLAN, facts, emit, chance, is_forced=is_forced, spread=spread)

        async def main() -> None:
            for life in range(LIVES):
                if await world.live(disturbed=disturbed and life < LIVES - 1):
                    break
            assert disturbed or life == 0

        run("trio", main)
        kinds |= world.kinds
        return list(world.told.values())


def check(seed: int, kinds: set[str]) -> None:
    expected = told_in(seed, disturbed=False, kinds=set())
    found = told_in(seed, disturbed=True, kinds=kinds)
    assert multiset(found) == multiset(expected)
    assert found == expected


@given(st.integers(0, 2**32))
def test_nothing_is_lost_and_nothing_is_told_as_something_new(seed: int) -> None:
    """Killed at a write, fenced, cut off, in whatever order: all that has a receipt is there, and told once under one id."""
    check(seed, set())


@given(st.integers(0, 2**32))
def test_one_id_is_that_of_one_answer_whoever_leads(seed: int) -> None:
    """Also one that lacks what the other one has told, and then tells other answers, tells them under ids of their own."""
    told_in(seed, disturbed=True, kinds=set(), is_forced=True)


def test_the_worlds_have_each_kind_of_fault() -> None:
    """What is drawn are takeovers by who is hot, restarts, runs alone and together, and each fault."""
    kinds: set[str] = set()
    for seed in range(24):
        check(seed, kinds)
    faults = {"kill", "fence", "cut", "follower", "both"}
    assert kinds >= {"again", "taken over", "hot", "alone", "together", *faults}
