"""The lease: which gateway leads, decided by files in one folder on shared storage, and by nothing else.

Who leads has **claimed** an epoch: it has made the file of that name, `7` say, which did not exist. A claim is made with
`link`, which succeeds for one alone, on POSIX file systems and over NFS. The highest epoch is that of the leader. It renews
its claim by putting a file with a higher `beat` in the place of the old one (`rename`).

No two machines compare clocks. Each reads its own monotonic clock, and measures lengths of time alone:

* The leader may tell something for `seconds` after it **began** a renewal that succeeded before the last one was over. A
  renewal that comes back later is none.
* Another one may claim the next epoch once it has **seen** the same beat for `DRIFT` times as long. That is later, since it
  saw the beat after the leader began to write it.

So two never lead at once where clocks go at about the same pace, and whoever reads a file sees what was written last. A
process that was stopped, and goes on within a write, and a file system that shows old contents, are beyond what a lease can
do. What is told has the epoch, and who takes it refuses one that is older than what it has seen.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import msgspec

from tidelog.plans.diagnostics.errors import ConnectorError, FencedError

DRIFT = 1.1
"""How many times as long as the lease a claim has to stand still before it counts as over: clocks differ in their pace."""
_KEPT = 16
"""How many claims before the last one stay: nobody who has slept that long takes an old one for the last."""


class Claim(msgspec.Struct, frozen=True):
    """What stands in the file of an epoch: who leads, for how many seconds after each beat, and who has a full copy.

    With `ended`, it leads no more, and says so. As long as it `waits` for the one before to stop, it has told nothing: then
    its end says nothing of that one.
    """

    epoch: int
    node: str
    seconds: float
    beat: int = 0
    copied: str = ""
    ended: bool = False
    waits: bool = False

    @property
    def has_stopped(self) -> bool:
        """Whether nobody who led up to it tells anything any more, as it says."""
        return self.ended and not self.waits


class Claims(Protocol):
    """Where claims are. Every method raises OSError where the storage cannot be reached."""

    def newest(self) -> Claim | None:
        """The claim of the highest epoch; None where nobody has ever led."""
        ...

    def get(self, epoch: int) -> Claim | None:
        """The claim of an epoch; None where there is none."""
        ...

    def put(self, claim: Claim) -> None:
        """Replace the claim of an epoch, by who has made it."""
        ...

    def make(self, claim: Claim) -> bool:
        """Make the claim of a new epoch; False where it is there already, or a higher one."""
        ...


class ClaimFolder:
    """Claims as files of a folder, which is there: so a share that is not mounted is not taken for an empty one."""

    def __init__(self, path: str, node: str) -> None:
        self._path, self._node = path, node

    def newest(self) -> Claim | None:
        """The claim of the highest epoch; None where nobody has ever led."""
        while True:
            epoch = self._highest()
            found = self.get(epoch) if epoch else None
            if found is not None or not epoch:
                return found  # otherwise it was forgotten since then, as others were made

    def _highest(self) -> int:
        return max((int(name) for name in os.listdir(self._path) if name.isascii() and name.isdigit()), default=0)

    def get(self, epoch: int) -> Claim | None:
        """The claim of an epoch; None where there is none."""
        try:
            with open(os.path.join(self._path, str(epoch)), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None
        try:
            return msgspec.json.decode(data, type=Claim)
        except msgspec.MsgspecError as error:
            raise OSError(f"the claim of epoch {epoch} in `{self._path}` cannot be read: {error}") from error

    def put(self, claim: Claim) -> None:
        """Replace the claim of an epoch: whoever reads it finds the old one or this."""
        os.replace(self._written(claim), os.path.join(self._path, str(claim.epoch)))

    def make(self, claim: Claim) -> bool:
        """Make the claim of a new epoch; False where it is there already, or a higher one."""
        new = self._written(claim)
        try:
            with suppress(FileExistsError):
                os.link(new, os.path.join(self._path, str(claim.epoch)))
            # Over NFS, a reply that was lost is asked for again, and is told that the name exists: this one made it.
            if os.stat(new).st_nlink != 2:
                return False
        finally:
            os.unlink(new)
        if self._highest() != claim.epoch:
            return False
        self._forget(claim.epoch - _KEPT)
        return True

    def _forget(self, before: int) -> None:
        for name in os.listdir(self._path):
            if name.isascii() and name.isdigit() and int(name) < before:
                with suppress(OSError):
                    os.unlink(os.path.join(self._path, name))

    def _written(self, claim: Claim) -> str:
        """A file of this process alone, which is on the disk."""
        path = os.path.join(self._path, f".{claim.epoch}.{self._node}")
        with open(path, "wb") as file:
            file.write(msgspec.json.encode(claim) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return path


@dataclass(frozen=True, slots=True)
class Seen:
    """What somebody who does not lead has seen: the newest claim, and whether it is over."""

    claim: Claim | None
    is_over: bool


class Lease:
    """The lease as one node sees it. Used by one thread at a time, but for `may_tell`, `epoch` and `copied`.

    It lasts for `seconds` after each beat. `clock` is a monotonic clock. ConnectorError where the folder is missing.
    """

    def __init__(self, claims: Claims, node: str, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.node, self.seconds = node, seconds
        self.epoch = 0
        """The epoch under which this node leads, or has led last."""
        self.until = 0.0
        """Up to when, by the clock, it may tell something."""
        self.copied = ""
        """Which node has all that this one has told, as the claim says."""
        self._claims, self._clock = claims, clock
        self._claim: Claim | None = None
        self._seen: Claim | None = None
        self._since = 0.0
        self._may_begin, self._before = 0.0, 0

    def may_tell(self) -> bool:
        """Whether this node leads, and may tell something now."""
        return self._clock() < self.until

    def check(self) -> None:
        """FencedError where this node may tell nothing any more."""
        if not self.may_tell():
            raise FencedError(f"the lease of epoch {self.epoch} is over: another gateway may lead")

    # --- who does not lead ----------------------------------------------------------------------------------------------

    def look(self) -> Seen:
        """See who leads. OSError where the storage cannot be reached."""
        began = self._clock()
        claim = self._claims.newest()
        if claim != self._seen:
            self._seen, self._since = claim, self._clock()  # it was written before
        # Up to when it stood still is known from before the look: the storage may have been slow to answer.
        return Seen(claim, claim is None or claim.has_stopped or began - self._since >= claim.seconds * DRIFT)

    def claim(self, expected: Claim | None, least: int = 0, *, now: bool = False) -> bool:
        """Claim the epoch behind the last one, and behind `least`. False where another one was quicker, or the last claim is
        not the one that was expected, or not over, unless it is to be taken `now`: then `may_begin` says when the one before
        has stopped.

        OSError where the storage cannot be reached.
        """
        seen = self.look()
        before = seen.claim
        is_free = seen.is_over or (before is not None and before.node == self.node and not before.waits)
        # Under a claim of this node nobody tells anything: the process that made it has ended, or holds it no more.
        if not now and not (is_free and before == expected):
            return False
        began = self._clock()
        waits = before is not None and not is_free
        new = Claim(max(0 if before is None else before.epoch, least) + 1, self.node, self.seconds, waits=waits)
        if not self._claims.make(new):
            return False
        self._claim, self.epoch, self.until, self.copied = new, new.epoch, began + self.seconds, ""
        self._before = 0 if before is None else before.epoch
        # Behind the claim, the one before renews no more: it would see it.
        self._may_begin = self._clock() + (before.seconds * DRIFT if before is not None and waits else 0.0)
        return True

    def may_begin(self) -> bool:
        """Whether the one before has stopped, so that this node may tell something. OSError as for `look`."""
        if self._clock() < self._may_begin:
            before = self._claims.get(self._before)
            if before is None or not before.has_stopped:
                return False
        if self._claim is not None:
            self._claim = msgspec.structs.replace(self._claim, waits=False)  # which the next renewal says
        return True

    # --- who leads ------------------------------------------------------------------------------------------------------

    def renew(self, copied: str) -> None:
        """Go on leading; `copied` is the node that has all that was told. FencedError where that is over, which stays so.

        OSError where the storage cannot be reached: to be tried again until the lease is over.
        """
        self.check()
        if self._claim is None:
            raise FencedError("this node does not lead")
        began = self._clock()
        self._check_newest()
        new = msgspec.structs.replace(self._claim, beat=self._claim.beat + 1, copied=copied)
        self._claim = new  # what failed may have been written: no beat is told twice
        self._claims.put(new)
        self._check_newest()
        self.check()  # a renewal that comes back too late is none
        self.until, self.copied = began + self.seconds, copied

    def _check_newest(self) -> None:
        newest = self._claims.newest()
        if newest is None or newest.epoch > self.epoch:
            self.until = 0.0
            who = "nobody" if newest is None else f"epoch {newest.epoch}"
            raise FencedError(f"epoch {self.epoch} is over: {who} stands in its place")

    def end(self) -> None:
        """Lead no more, and tell so, where that can be told: the next one need not wait."""
        claim, self._claim, self.until = self._claim, None, 0.0
        if claim is not None:
            with suppress(OSError):
                self._claims.put(msgspec.structs.replace(claim, beat=claim.beat + 1, copied=self.copied, ended=True))


def check_folder(path: str) -> None:
    """ConnectorError where the folder of a lease is missing."""
    if not os.path.isdir(path):
        told = "is it mounted? Make it once, on the storage that both gateways reach"
        raise ConnectorError(f"there is no folder `{path}` for the lease: {told}")
