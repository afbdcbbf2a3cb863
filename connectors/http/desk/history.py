"""What became of alarms: each begin, each end, and all that people did, the last ones; in a file where a run is durable.

The file has a line of JSON an entry, and one behind all those that one commit stores, with how many events are stored then,
and in which form (`plans/data/forms.py`). So what a later version adds may have another form than what is there.
It is written before that commit: so what is answered is in there. What a killed run had written, and did not come to store,
is cut off by the run that goes on: it happens again, or did not happen. Beyond a size the file is renamed, and the renamed
one goes with the next time.
"""

from __future__ import annotations

import logging
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from tidelog.connectors.store.syncing import sync_name
from tidelog.plans.alarms.desk import Key, alarm_id
from tidelog.plans.alarms.entries import Entry, EntryKind
from tidelog.plans.data.forms import HISTORY, brought_up, check_form, written_by

logger = logging.getLogger("tidelog")

MOST_ENTRIES: Final = 20_000
"""How many entries are kept in memory: the last ones."""
MOST_BYTES: Final = 16 << 20
"""How large the file may grow; there are two of them at the most."""


class Mark(msgspec.Struct, frozen=True):
    """What was written up to here is stored with the so many first events of a run, in a form, by a version of tidelog.

    The first versions wrote neither. In each form the line of a mark begins with its run.
    """

    run: str
    events: int
    form: int = 1
    by: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode
_decode_mark = msgspec.json.Decoder(Mark).decode
_Read = TypeVar("_Read", Entry, Mark)
_MARK: Final = b'{"run":'
"""How the line of a mark begins."""


class History:
    """The last entries, the oldest first. With a `path`, they outlast the process.

    SpecError where a newer minor version has written them.
    """

    def __init__(self, path: Path | None = None, *, most: int = MOST_ENTRIES, size: int = MOST_BYTES) -> None:
        self._path, self._size, self._most = path, size, most
        self._entries: deque[Entry] = deque(maxlen=most)
        self._keys: set[tuple[object, ...]] = set()
        self._comments: dict[Key, list[Entry]] = {}
        self._counts: Counter[Key] = Counter()
        self._ids: dict[str, Key] = {}
        self._fresh: list[Entry] = []
        self._last: tuple[int, list[Entry], Mark] | None = None
        """What was written last, and where it begins: perhaps the run has not come to store it."""
        self._run = ""
        self.version = 0
        self.counts: Counter[tuple[EntryKind, str]] = Counter()
        """How often each kind of thing happened with each alarm, since the process began."""
        if path is not None:
            self._take(_batches(_old(path)))
            batches = [*_batches(path)]
            self._take(batches[:-1])
            self._last = batches[-1] if batches else None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __reversed__(self) -> Iterator[Entry]:
        return reversed(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def comments(self, key: Key) -> Sequence[Entry]:
        """What was said of an alarm, the oldest first."""
        return self._comments.get(key, ())

    def key_of(self, identity: str) -> Key | None:
        """The alarm, and its arguments, of which there are entries, and that has this name in addresses."""
        return self._ids.get(identity)

    def add(self, entries: Iterable[Entry]) -> None:
        """Note entries, but for those that are there already: what is told again after a restart is no other."""
        for entry in entries:
            if self._keep(entry):
                self.counts[entry.kind, entry.alarm] += 1
                if self._path is not None:
                    self._fresh.append(entry)

    def going_on(self, run: str, events: int) -> bool:
        """A run begins, or goes on with so many events stored; returns whether it is the one that wrote here last."""
        for entry in self._fresh:  # of a run that failed: it happens again
            self._lose(entry)
        self._fresh, self._run = [], run
        if self._path is None:
            return False
        begin, entries, mark = self._last or (0, [], Mark("", 0))
        is_stored = self._last is not None and (mark.run != run or mark.events <= events)
        for entry in entries:
            (self._keep if is_stored else self._lose)(entry)
        try:
            _cut(self._path, begin, keeps_batch=is_stored)
        except OSError as error:
            logger.warning("%s: the history of alarms cannot be written: %s", self._path, error.strerror)
        return mark.run == run

    def committing(self, events: int) -> None:
        """What was noted by now is going to be stored with so many events: before that, it goes to the file.

        Where that fails, it waits for the next time: alarms are worth more than their history.
        """
        if self._path is None or not self._fresh:
            return
        mark = Mark(self._run, events, HISTORY.version, written_by())
        try:
            begin = self._write(self._path, b"".join(_encode(each) + b"\n" for each in (*self._fresh, mark)))
        except OSError as error:
            logger.warning("%s: the history of alarms cannot be written: %s", self._path, error.strerror)
            del self._fresh[: -self._most]
        else:
            self._last, self._fresh = (begin, self._fresh, mark), []

    def _write(self, path: Path, lines: bytes) -> int:
        """Write lines for certain; returns where they begin."""
        if path.exists() and path.stat().st_size > self._size:
            path.replace(_old(path))
        is_new = not path.exists()
        with path.open("ab", buffering=0) as file:
            begin = file.tell()
            try:
                rest = memoryview(lines)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):
                    file.truncate(begin)
                raise
        if is_new:
            sync_name(path)
        return begin

    def _take(self, batches: Iterable[tuple[int, list[Entry], Mark]]) -> None:
        for _, entries, _ in batches:
            for entry in entries:
                self._keep(entry)

    def _keep(self, entry: Entry) -> bool:
        key = entry.key
        if key in self._keys:
            return False
        if len(self._entries) == self._entries.maxlen:
            self._forget(self._entries[0])
        self._entries.append(entry)
        named = entry.alarm, entry.args
        self._counts[named] += 1
        if self._counts[named] == 1:
            self._ids[alarm_id(*named)] = named
        if entry.comment:
            self._comments.setdefault((entry.alarm, entry.args), []).append(entry)
        self._keys.add(key)
        self.version += 1
        return True

    def _lose(self, entry: Entry) -> None:
        """Leave out an entry that is there."""
        with suppress(ValueError):  # there have been so many since
            self._entries.remove(entry)
            self._forget(entry)
            self.version += 1

    def _forget(self, entry: Entry) -> None:
        self._keys.discard(entry.key)
        named = entry.alarm, entry.args
        self._counts[named] -= 1
        if not self._counts[named]:
            del self._counts[named], self._ids[alarm_id(*named)]
        if entry.comment:
            said = self._comments[entry.alarm, entry.args]
            said.remove(entry)
            if not said:
                del self._comments[entry.alarm, entry.args]


def _batches(path: Path) -> Iterator[tuple[int, list[Entry], Mark]]:
    """What a file has, by commits, each with where it begins; what was cut short by a power cut is none."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return
    begin = at = 0
    waiting: list[bytes] = []
    for line in lines:
        at += len(line)
        if not line.endswith(b"\n"):
            logger.warning("%s: the last line of the history of alarms was cut short", path)
        elif not line.startswith(_MARK):
            waiting.append(line)
        elif mark := _read(path, line, _decode_mark):
            check_form(HISTORY, mark.form, f"the history of alarms in `{path}`", mark.by)
            decode = _decode if mark.form == HISTORY.version else partial(_decode_older, mark.form)
            yield begin, [entry for entry in (_read(path, each, decode) for each in waiting) if entry], mark
            begin, waiting = at, []


def _read(path: Path, line: bytes, decode: Callable[[bytes], _Read]) -> _Read | None:
    """What a line has; None, with a warning, where it cannot be read."""
    try:
        return decode(line)
    except msgspec.MsgspecError:
        logger.warning("%s: a line of the history of alarms cannot be read", path)
        return None


def _decode_older(form: int, line: bytes) -> Entry:
    """An entry that an earlier version has written in its form."""
    return msgspec.convert(brought_up(HISTORY, msgspec.json.decode(line), form, "the history of alarms"), Entry)


def _cut(path: Path, begin: int, *, keeps_batch: bool) -> None:
    """Cut off what is not stored: from a place on, or behind the batch that begins there."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        file.seek(begin)
        while keeps_batch and (line := file.readline()) and not line.startswith(_MARK):
            pass
        file.truncate(file.tell())


def _old(path: Path) -> Path:
    return path.with_name(path.name + ".1")
