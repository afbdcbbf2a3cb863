"""The lease: two never lead at once, whoever is slow, stopped or cut off, as long as files are read as they were written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Barrier, Thread

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidelog.connectors.standby.lease import DRIFT, Claim, ClaimFolder, Lease, check_folder
from tidelog.plans.diagnostics.errors import ConnectorError, FencedError

SECONDS = 1.5
STEPS = 150


class World:
    """A time that passes as one chance says, storage that is slow or fails, and nodes whose clocks go at their own pace."""

    def __init__(self, chance: Random) -> None:
        self.chance, self.time = chance, 0.0
        self.claims: dict[int, Claim] = {}
        self.nodes = [Node(self, name, 1 + chance.uniform(-0.04, 0.04), chance.uniform(0, 100)) for name in "abc"]
        self.busy: list[Node] = []
        self.led: set[int] = set()

    def step(self) -> None:
        """Something happens to one of the nodes that do not wait for the storage."""
        free = [node for node in self.nodes if node not in self.busy]
        if free:
            node = self.chance.choice(free)
            self.busy.append(node)
            try:
                node.act()
            finally:
                self.busy.remove(node)
        self.check()

    def wait(self) -> None:
        """Time passes, mostly a little, sometimes for long, and others act meanwhile."""
        chance = self.chance
        if chance.random() < 0.9:
            self.time += chance.choice((0.0, 0.005, 0.02))
        else:
            for _ in range(chance.choice((0, 1, 4, 12)) if len(self.busy) < len(self.nodes) else 0):
                self.time += chance.choice((0.05, 0.2, 0.4))
                self.check()
                self.step()
        self.check()

    def check(self) -> None:
        """No two tell something at one time, and no epoch is that of two."""
        telling = [node for node in self.nodes if node.tells()]
        assert len(telling) <= 1, [(node.name, node.lease.epoch) for node in telling]
        self.led |= {node.lease.epoch for node in telling}


class Node:
    """A node, and its way to the storage: each call takes a while before and after it counts, and may fail at either."""

    def __init__(self, world: World, name: str, pace: float, offset: float) -> None:
        self.world, self.name = world, name
        self.clock: Callable[[], float] = lambda: offset + world.time * pace
        self.lease = Lease(self, name, SECONDS, self.clock)
        self.begins = False

    def tells(self) -> bool:
        return self.begins and self.lease.may_tell()

    def act(self) -> None:
        chance, lease = self.world.chance, self.lease
        try:
            if lease.may_tell():
                self.lead()
            elif chance.random() < 0.02:
                self.begins = False
                lease.claim(None, now=True)
            else:
                self.begins = False
                seen = lease.look()
                if seen.is_over or (seen.claim is not None and seen.claim.node == self.name):
                    lease.claim(seen.claim)
        except OSError:
            pass

    def lead(self) -> None:
        chance, lease = self.world.chance, self.lease
        if not self.begins:
            self.begins = lease.may_begin() and lease.may_tell()
        elif chance.random() < 0.02:
            self.begins = False  # nothing is told any more, and then this is said
            lease.end()
        try:
            if lease.may_tell():
                lease.renew("")
        except FencedError:
            self.begins = False

    # --- the storage ----------------------------------------------------------------------------------------------------

    def _reach(self) -> None:
        self.world.wait()
        if self.world.chance.random() < 0.01:
            raise OSError("the storage is away")

    def newest(self) -> Claim | None:
        self._reach()
        claims = self.world.claims
        found = claims[max(claims)] if claims else None
        self._reach()
        return found

    def get(self, epoch: int) -> Claim | None:
        self._reach()
        found = self.world.claims.get(epoch)
        self._reach()
        return found

    def put(self, claim: Claim) -> None:
        self._reach()
        self.world.claims[claim.epoch] = claim
        self._reach()

    def make(self, claim: Claim) -> bool:
        self._reach()
        is_new = claim.epoch not in self.world.claims
        if is_new:
            self.world.claims[claim.epoch] = claim
        self._reach()
        is_last = max(self.world.claims) == claim.epoch
        self._reach()
        return is_new and is_last


@given(st.integers(0, 2**32))
@example(1)
@example(2)
def test_two_never_lead_at_once(seed: int) -> None:
    """Whatever is slow, fails, or comes back after others have acted: one at most may tell something."""
    for round_ in range(8):
        world = World(Random(seed * 8 + round_))
        for _ in range(STEPS):
            world.step()
            world.time += world.chance.choice((0.0, 0.05, 0.15))
            world.check()


def test_the_lease_passes_on() -> None:
    """The model can fail: nodes do come to lead, one after the other."""
    led = 0
    for seed in range(20):
        world = World(Random(seed))
        for _ in range(STEPS):
            world.step()
            world.time += 0.1
            world.check()
        led += len(world.led)
    assert led > 60


class Clock:
    time = 100.0

    def __call__(self) -> float:
        return self.time


def two(folder: Path) -> tuple[Clock, Lease, Lease]:
    """Two nodes with one folder; the first one leads."""
    clock = Clock()
    first, second = (Lease(ClaimFolder(str(folder), name), name, SECONDS, clock) for name in "ab")
    assert first.claim(None)
    assert first.epoch == 1 and first.may_begin() and first.may_tell()
    return clock, first, second


def test_a_leader_that_renews_stays(tmp_path: Path) -> None:
    """Its lease lasts from the begin of the last renewal; nobody else can claim it meanwhile."""
    clock, first, second = two(tmp_path)
    for _ in range(20):
        clock.time += 1.0
        first.renew("b")
        seen = second.look()
        assert seen.claim is not None and (seen.claim.node, seen.claim.copied, seen.is_over) == ("a", "b", False)
        assert not second.claim(seen.claim)
    clock.time += 0.6
    assert first.may_tell()
    clock.time += 1.0
    assert not first.may_tell()
    with pytest.raises(FencedError, match="the lease of epoch 1 is over"):
        first.renew("b")


def test_whoever_waits_claims_what_stands_still(tmp_path: Path) -> None:
    """A claim is over once it has stood still for longer than it may last; the next epoch is claimed once."""
    clock, first, second = two(tmp_path)
    assert not second.look().is_over
    clock.time += SECONDS
    assert not first.may_tell() and not second.look().is_over
    clock.time += SECONDS * (DRIFT - 1) + 0.01
    seen = second.look()
    assert seen.is_over and second.claim(seen.claim)
    assert second.epoch == 2 and second.may_begin()
    assert not first.claim(seen.claim)  # it is another one by now
    assert sorted(os.listdir(tmp_path)) == ["1", "2"]


def test_who_comes_late_waits_from_when_it_came(tmp_path: Path) -> None:
    """A claim that is seen for the first time may have been renewed a moment ago."""
    clock, _, second = two(tmp_path)
    clock.time += 1000
    assert not second.look().is_over


def test_a_claim_that_is_taken_is_seen_at_the_next_renewal(tmp_path: Path) -> None:
    """Who is told to lead claims at once, and begins when the one before says that it has stopped, or its lease is over."""
    _, first, second = two(tmp_path)
    assert second.claim(None, now=True) and not second.may_begin()
    with pytest.raises(FencedError, match="epoch 2 stands in its place"):
        first.renew("")
    assert not first.may_tell()
    assert not second.may_begin()
    first.end()
    assert second.may_begin()


def test_who_only_waited_to_lead_says_nothing_of_the_one_before(tmp_path: Path) -> None:
    """A claim that was taken while another one led, and given up at once, lets nobody lead before that one has stopped."""
    clock, first, second = two(tmp_path)
    third = Lease(ClaimFolder(str(tmp_path), "c"), "c", SECONDS, clock)
    assert second.claim(None, now=True)
    second.end()
    seen = third.look()
    assert first.may_tell() and not seen.is_over and not third.claim(seen.claim)
    assert not second.claim(second.look().claim)  # though its own
    assert third.claim(None, now=True) and not third.may_begin()
    clock.time += SECONDS * DRIFT
    assert not first.may_tell() and third.may_begin()


def test_a_silent_one_is_waited_for(tmp_path: Path) -> None:
    """Of one that does not answer the lease is waited for."""
    clock, _, second = two(tmp_path)
    assert second.claim(None, now=True)
    clock.time += SECONDS
    assert not second.may_begin()
    clock.time += SECONDS
    assert second.may_begin()


def test_a_renewal_that_comes_back_too_late_is_none(tmp_path: Path) -> None:
    """The storage took it after the lease was over: another one may have claimed it by then."""
    clock, _, _ = two(tmp_path)

    class Slow(ClaimFolder):
        def put(self, claim: Claim) -> None:
            clock.time += SECONDS
            super().put(claim)

    slow = Lease(Slow(str(tmp_path), "a"), "a", SECONDS, clock)
    assert slow.claim(Claim(1, "a", SECONDS))
    with pytest.raises(FencedError, match="is over"):
        slow.renew("")
    assert not slow.may_tell()


def test_a_look_that_takes_long_sees_no_end(tmp_path: Path) -> None:
    """What the storage says late was so when it was asked: the one that leads may have renewed its lease since then."""
    clock, first, _ = two(tmp_path)

    class Slow(ClaimFolder):
        seconds = 0.0

        def newest(self) -> Claim | None:
            found = super().newest()
            clock.time += self.seconds
            return found

    claims = Slow(str(tmp_path), "b")
    second = Lease(claims, "b", SECONDS, clock)
    second.look()
    clock.time += 1
    claims.seconds = 1
    assert not second.look().is_over
    claims.seconds = 0
    assert second.look().is_over and not first.may_tell()


def test_own_claims_need_not_be_waited_for(tmp_path: Path) -> None:
    """A node that was started again claims at once what it held: the process that held it has ended."""
    clock, _, _ = two(tmp_path)
    again = Lease(ClaimFolder(str(tmp_path), "a"), "a", SECONDS, clock)
    assert again.claim(again.look().claim)
    assert again.epoch == 2 and again.may_begin()


def test_an_epoch_is_never_used_again(tmp_path: Path) -> None:
    """A folder that was emptied does not begin anew where a state knows a higher epoch."""
    clock = Clock()
    lease = Lease(ClaimFolder(str(tmp_path), "a"), "a", SECONDS, clock)
    assert lease.claim(None, 7)
    assert lease.epoch == 8


def test_old_claims_are_forgotten(tmp_path: Path) -> None:
    """The folder does not grow for ever."""
    lease = Lease(ClaimFolder(str(tmp_path), "a"), "a", SECONDS, Clock())
    for _ in range(40):
        assert lease.claim(lease.look().claim)
    assert sorted(map(int, os.listdir(tmp_path))) == list(range(24, 41))


def test_one_of_many_makes_a_claim(tmp_path: Path) -> None:
    """Threads that claim at one moment: one of them has it."""
    for _ in range(20):
        nodes = [Lease(ClaimFolder(str(tmp_path), name), name, SECONDS) for name in "abcd"]
        barrier, won = Barrier(4), list[str]()

        def claim(lease: Lease, barrier: Barrier = barrier, won: list[str] = won) -> None:
            barrier.wait()
            if lease.claim(None, now=True) and lease.may_tell():
                won.append(f"{lease.epoch}")

        threads = [Thread(target=claim, args=(node,)) for node in nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert won and len(set(won)) == len(won)


def test_storage_that_is_away_is_an_error(tmp_path: Path) -> None:
    """Nobody leads without it, and a folder is not made where a share is not mounted."""
    with pytest.raises(ConnectorError, match=r"there is no folder .* for the lease: is it mounted"):
        check_folder(str(tmp_path / "share"))
    clock, first, second = two(tmp_path)
    os.rename(tmp_path, f"{tmp_path}.away")
    with pytest.raises(OSError):
        first.renew("")
    assert first.may_tell()  # until it is over
    with pytest.raises(OSError):
        second.look()
    os.rename(f"{tmp_path}.away", tmp_path)
    clock.time += 1
    first.renew("")


def test_a_damaged_claim_is_told(tmp_path: Path) -> None:
    """What cannot be read is nobody's to take."""
    _, _, second = two(tmp_path)
    (tmp_path / "1").write_text("{")
    with pytest.raises(OSError, match=r"the claim of epoch 1 .* cannot be read"):
        second.look()
