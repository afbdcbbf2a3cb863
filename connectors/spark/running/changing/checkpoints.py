"""The checkpoint of a stream: whose it is, by which program it was begun, and where Spark's own files for that one lie.

A checkpoint of Spark's belongs to one program. So with each program that takes the place of another one begins a folder of
its own in the checkpoint, `program-1`, `program-2` and so on; the first one's files lie in the checkpoint itself. The small
file `tidelog.json` says which of them counts. It is replaced at once, so a run that is killed goes on with one or the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

import msgspec

from tidelog.connectors.spark.running.job import Job
from tidelog.connectors.spark.running.outputs.folders import Folder
from tidelog.plans.diagnostics.errors import SpecError

CLAIM = "tidelog.json"
PROGRAM = frozenset({"program", "background"})
"""What may be another one, of what a checkpoint is good for."""


BUCKETS = "--buckets"
"""How many buckets each of its stages has, of what a checkpoint is good for."""


class Claim(msgspec.Struct, frozen=True):
    """Which checkpoint it is, and of what run; by the how manieth program, and how many batches those before have told."""

    id: str
    run: dict[str, str]
    program: int = 0
    batches: int = 0


def buckets_in(folder: Folder) -> int | None:
    """How many buckets the checkpoint in a folder has; None where there is none that says so."""
    try:
        text = folder.read(CLAIM)
        return None if text is None else int(msgspec.json.decode(text, type=Claim).run[BUCKETS])
    except (OSError, msgspec.MsgspecError, KeyError, ValueError):  # whoever opens it says what is wrong
        return None


class Checkpoint:
    """The checkpoint in a folder; SpecError where it belongs to another run than that of these options.

    `run` tells what must stay the same, each by what users call it; the `PROGRAM` may differ: then the checkpoint
    `has_changed`, and is that of the program before, until `begin` is called.
    """

    def __init__(self, folder: Folder, run: Mapping[str, str], job: Job) -> None:
        self.place = folder.place
        self._folder, self._run, self._job = folder, dict(run), job
        try:
            self.claim, self.has_changed = self._claimed()
            if not self.has_changed and folder.read(self._text(self.claim.program)) is None:
                self._store(self.claim.program)
        except OSError as error:
            raise SpecError(f"cannot write the checkpoint `{folder.place}`: {error.strerror}") from None

    def _claimed(self) -> tuple[Claim, bool]:
        text = self._folder.read(CLAIM)
        if text is None:
            if not self._folder.is_empty():
                raise self._foreign()
            return self._claim(Claim(uuid4().hex, self._run)), False
        try:
            found = msgspec.json.decode(text, type=Claim)
        except msgspec.MsgspecError:
            raise self._foreign() from None
        differing = [name for name in {**found.run, **self._run} if found.run.get(name) != self._run.get(name)]
        if others := [name for name in differing if name not in PROGRAM]:
            names = ", ".join(others)
            raise SpecError(
                f"the checkpoint `{self._folder.place}` is that of a run with another {names}: choose another folder"
            )
        return found, bool(differing)

    def _foreign(self) -> SpecError:
        place = self._folder.place
        return SpecError(f"`{place}` holds something else than a checkpoint of `spark run`: choose another folder")

    def _claim(self, claim: Claim) -> Claim:
        self._folder.write(CLAIM, msgspec.json.encode(claim).decode())
        return claim

    def _text(self, program: int) -> str:
        return f"tidelog-program-{program}.json"

    def _store(self, program: int) -> None:
        self._folder.write(self._text(program), msgspec.json.encode(self._job).decode())

    def within(self, program: int) -> str:
        """The name of the folder in the checkpoint that is Spark's own for a program; nothing for the first one."""
        return f"program-{program}" if program else ""

    def before(self) -> Job:
        """The run of the program before; SpecError where it is not stored, as by an earlier version."""
        text = self._folder.read(self._text(self.claim.program))
        if text is None:
            raise SpecError(
                f"the checkpoint `{self._folder.place}` is that of another program, of which an earlier version of tidelog "
                "did not store the text: run it once with that program, or choose another folder"
            )
        return msgspec.json.decode(text, type=Job)

    def begin(self, batches: int, *, anew: bool) -> None:
        """From now on it is that of this program, behind so many batches more; with `anew`, in a folder of its own."""
        number = self.claim.program + anew
        self._store(number)
        self.claim = self._claim(Claim(self.claim.id, self._run, number, self.claim.batches + batches))
        self.has_changed = False
