"""Tables as a log of manifests: files of Parquet, and for each version one that says which of them make it up.

```
TABLES/_log/00000000000000000012.json                                   version 12 of all tables
TABLES/_data/hot/node=n1/part-00000009-5f1c7a3e9b20-000.parquet         a file, of version 9 and all later ones that name it
```

A version is made by writing its manifest, in one step, unless there is one of its number. So of two writers one is told that
the other was first, and a process that dies leaves a version or none. A writer that gets no reply asks whose manifest is
there. Files never change, and are taken away once no version that is kept names them. Nothing is linked, renamed or locked,
so tables can be in an object store that has conditional writes.
"""

from __future__ import annotations

import os
import re
import uuid
from types import TracebackType
from typing import Any
from urllib.parse import unquote

import msgspec

from tidelog.connectors.files.folders import escape_value, folder_of
from tidelog.connectors.spark.places import is_remote
from tidelog.connectors.spark.tables.stores import Store, is_part, open_store
from tidelog.plans.data.forms import TABLES, brought_up, check_form, written_by
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

KEPT = 20
"""How many versions are kept, for those who still read an older one."""

_LOG, _DATA = "_log", "_data"
_ATTEMPTS = 5
_MADE_FOR = re.compile(r"part-(\d+)-")


class NodeTime(msgspec.Struct, frozen=True):
    """How a node counts time: `timeline` and `unit` of its outbox."""

    timeline: str
    unit: str | None


class TableFields(msgspec.Struct, frozen=True):
    """The fields of a table's arguments, and their types; none if they are an array."""

    fields: tuple[str, ...]
    types: tuple[str, ...]


class Segment(msgspec.Struct, frozen=True):
    """One file: the predicate and node that it belongs to, its rows, and between which times they lie.

    `low` and `high` are exact numbers as text, None where a row has no end on that side.
    """

    predicate: str
    node: str
    name: str
    rows: int
    low: str | None
    high: str | None

    @property
    def path(self) -> str:
        """The file's name in the store."""
        return f"{_DATA}/{folder_of(self.predicate)}/node={escape_value(self.node)}/{self.name}"


class Manifest(msgspec.Struct, frozen=True):
    """A version: what it is made of, who made it, by which version of tidelog, and the last batch, of the stream with this
    checkpoint, that is in it."""

    version: int = 0
    writer: str = ""
    checkpoint: str = ""
    batch: int = -1
    dates: bool = False
    nodes: dict[str, NodeTime] = {}
    tables: dict[str, TableFields] = {}
    segments: tuple[Segment, ...] = ()
    format: int = TABLES.version
    by: str = msgspec.field(default_factory=written_by)


def table_files(tables: str) -> dict[str, list[str]]:
    """For each predicate the files of its table in the newest version; they stay as they are for some batches to come.

    SpecError where there are no tables.
    """
    store = open_store(tables)
    manifest = newest(store)
    found: dict[str, list[str]] = {predicate: [] for predicate in manifest.tables}
    for segment in manifest.segments:
        found[segment.predicate].append(store.path(segment.path))
    return found


def table_at(path: str) -> tuple[str, str]:
    """Where tables are, and of which predicate, for the path of one of them.

    >>> table_at("s3://plant/tables/hot")
    ('s3://plant/tables', 'hot')
    """
    place, _, name = (path if is_remote(path) else os.path.abspath(path)).rstrip("/").rpartition("/")
    return place, unquote(name)


def is_table(path: str) -> bool:
    """Whether a path of this machine means one of our tables: there are tables in the folder above it."""
    return not os.path.lexists(path) and os.path.isdir(os.path.join(table_at(path)[0], _LOG))


def newest(store: Store) -> Manifest:
    """The newest version. SpecError where there is none, ConnectorError where it cannot be read."""
    for _ in range(_ATTEMPTS):
        try:
            versions = _versions(store)
            if not versions:
                raise SpecError(f"there are no tables in `{store.place}`")
            return _read(store, versions[-1])
        except FileNotFoundError:  # taken away since
            continue
        except OSError as error:
            raise ConnectorError(f"cannot read the tables in `{store.place}`: {error}") from error
    raise ConnectorError(f"cannot read the tables in `{store.place}`: their versions go faster than they can be read")


class Tables:
    """The writer's side. Used with `with`.

    SpecError where tables are of another format; ConnectorError where they cannot be written, and where another process
    writes them, too.
    """

    def __init__(self, place: str) -> None:
        self.store = open_store(place)
        self.writer = uuid.uuid4().hex[:12]
        self.manifest = Manifest()

    def __enter__(self) -> Tables:
        self.manifest = Manifest()
        try:
            if self.store.names(".versions"):
                check_form(TABLES, 1, f"what is in `{self.store.place}`")
            versions = _versions(self.store)
            if versions:
                self.manifest = _read(self.store, versions[-1])
            self._clean([version for version in versions if version > self.manifest.version - KEPT])
        except OSError as error:
            raise SpecError(f"cannot write tables to `{self.store.place}`: {error}") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing is held."""

    def _clean(self, kept: list[int]) -> None:
        """Take away what no version that is kept names, and no writer can name any more."""
        named = {segment.path for version in kept for segment in _read(self.store, version).segments}
        oldest = self.manifest.version - KEPT
        for name in self.store.names(_DATA):
            made = _MADE_FOR.match(os.path.basename(name))
            if name not in named and made and int(made[1]) <= oldest:
                self.store.remove(name)
        for name in self.store.names(_LOG):
            if is_part(name) or 0 < _version(name) <= oldest:
                self.store.remove(name)

    def publish(self, manifest: Manifest) -> None:
        """Make the next version, whose files are in the store, the newest one; for good.

        ConnectorError where another process has made one of this number.
        """
        name, data = _name(manifest.version), msgspec.json.encode(manifest)
        try:
            if not self.store.put_new(name, data) and self.store.get(name) != data:
                raise self._second(manifest.version)
            if _versions(self.store)[-1] >= manifest.version + KEPT:  # there was one, and it has been taken away since
                self.store.remove(name)
                raise self._second(manifest.version)
            self.manifest = manifest
            self._forget(manifest.version - KEPT)
        except OSError as error:
            raise ConnectorError(f"cannot write tables to `{self.store.place}`: {error}") from error

    def _second(self, version: int) -> ConnectorError:
        return ConnectorError(
            f"another process has written version {version} of the tables in `{self.store.place}`: "
            "one process writes them at a time"
        )

    def _forget(self, version: int) -> None:
        """Take away a version, and the files that the next one does not name."""
        try:
            old, following = _read(self.store, version), _read(self.store, version + 1)
        except FileNotFoundError:
            return
        named = {segment.path for segment in following.segments}
        for segment in old.segments:
            if segment.path not in named:
                self.store.remove(segment.path)
        self.store.remove(_name(version))


def _name(version: int) -> str:
    return f"{_LOG}/{version:020d}.json"


def _version(name: str) -> int:
    """The version of a manifest; 0 for what is none."""
    stem, suffix = os.path.splitext(os.path.basename(name))
    return int(stem) if suffix == ".json" and stem.isascii() and stem.isdecimal() else 0


def _versions(store: Store) -> list[int]:
    """The numbers of all versions, in order."""
    return sorted(version for name in store.names(_LOG) if (version := _version(name)) > 0)


def _read(store: Store, version: int) -> Manifest:
    """One version; FileNotFoundError where it is gone, ConnectorError where it is damaged, SpecError for one that a newer
    version of tidelog has made."""
    data = store.get(_name(version))
    try:
        found = msgspec.json.decode(data, type=dict[str, Any])
        found = brought_up(TABLES, found, found.get("format"), f"what is in `{store.place}`", str(found.get("by", "")))
        return msgspec.convert(found, Manifest)
    except msgspec.MsgspecError as error:
        raise ConnectorError(f"version {version} of the tables in `{store.place}` is damaged: {error}") from error
