"""What became of alarms: each begin, each end, and all that people did, the last ones; in a file where a run is durable.

The file has a line of JSON an entry. It is written when a commit is done, before those are answered who wait for it, so what
was answered is in there. A line that was cut short by a power cut is left out. Behind a size the file is renamed, and the
renamed one goes with the next time.
"""

from __future__ import annotations

import logging
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tidelog.plans.alarms.entries import Entry, EntryKind
from tidelog.plans.data.facts import Row

logger = logging.getLogger("tidelog")

MOST_ENTRIES: Final = 20_000
"""How many entries are kept in memory: the last ones."""
MOST_BYTES: Final = 16 << 20
"""How large the file may grow; there are two of them at the most."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode


class History:
    """The last entries, the oldest first. With a `path`, they outlast the process."""

    def __init__(self, path: Path | None = None, *, most: int = MOST_ENTRIES, size: int = MOST_BYTES) -> None:
        self._path, self._size = path, size
        self._entries: deque[Entry] = deque(maxlen=most)
        self._keys: set[tuple[object, ...]] = set()
        self._comments: dict[tuple[str, Row], list[Entry]] = {}
        self._fresh: list[Entry] = []
        self._storing: list[Entry] = []
        self.version = 0
        self.counts: Counter[tuple[EntryKind, str]] = Counter()
        """How often each kind of thing happened with each alarm, since the process began."""
        for old in () if path is None else (_old(path), path):
            self._read(old)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __reversed__(self) -> Iterator[Entry]:
        return reversed(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def comments(self, alarm: str, args: Row) -> Sequence[Entry]:
        """What was said of an alarm, the oldest first."""
        return self._comments.get((alarm, args), ())

    def add(self, entries: Iterable[Entry]) -> None:
        """Note entries, but for those that are there already: what is told again after a restart is no other."""
        for entry in entries:
            if self._keep(entry):
                self._fresh.append(entry)
                self.counts[entry.kind, entry.alarm] += 1

    def committing(self) -> None:
        """What was noted by now is going to be stored with the run's state."""
        self._storing += self._fresh
        self._fresh = []

    def committed(self) -> None:
        """It is stored: it goes to the file."""
        entries, self._storing = self._storing, []
        if self._path is None or not entries:
            return
        try:
            self._write(self._path, entries)
        except OSError as error:  # alarms are worth more than their history
            logger.warning("%s: the history of alarms cannot be written: %s", self._path, error.strerror)

    def _write(self, path: Path, entries: list[Entry]) -> None:
        with path.open("ab") as file:
            file.write(b"".join(_encode(entry) + b"\n" for entry in entries))
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        if size > self._size:
            path.replace(_old(path))

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                self._keep(_decode(line))
            except msgspec.MsgspecError:  # cut short by a power cut
                logger.warning("%s: a line of the history of alarms cannot be read", path)

    def _keep(self, entry: Entry) -> bool:
        key = entry.key
        if key in self._keys:
            return False
        if len(self._entries) == self._entries.maxlen:
            self._forget(self._entries[0])
        self._entries.append(entry)
        if entry.comment:
            self._comments.setdefault((entry.alarm, entry.args), []).append(entry)
        self._keys.add(key)
        self.version += 1
        return True

    def _forget(self, entry: Entry) -> None:
        self._keys.discard(entry.key)
        if entry.comment:
            said = self._comments[entry.alarm, entry.args]
            said.remove(entry)
            if not said:
                del self._comments[entry.alarm, entry.args]


def _old(path: Path) -> Path:
    return path.with_name(path.name + ".1")
