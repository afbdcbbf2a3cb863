"""Tables on disk: plain Parquet for whoever reads, and for the one who writes all or nothing.

```
TABLES/hot              a link to `.current/hot`: one table for each predicate, partitioned by node
TABLES/.current         a link to the newest version
TABLES/.versions/00000012/_manifest.json
TABLES/.versions/00000012/hot/node=n1/part-00000009-000.parquet
```

A version is a folder with all tables. It is made beside the others, of new files and of hard links to those that stay the
same; it is complete and on the disk when the link `.current` is turned to it, which is one atomic step. A process that dies
before leaves the tables as they were, one that dies after leaves them as they should be.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import msgspec

from tidelog.connectors.folders import escape_value, folder_of
from tidelog.connectors.spark.places import held_alone, on_this_machine
from tidelog.plans.errors import ConnectorError, SpecError

FORMAT = 1
KEPT = 20
"""How many versions are kept, for those who still read an older one."""

_MANIFEST = "_manifest.json"


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
        """Where it is in a version."""
        return os.path.join(folder_of(self.predicate), f"node={escape_value(self.node)}", self.name)


class Manifest(msgspec.Struct, frozen=True):
    """A version: what it is made of, and the last batch, of the stream with this checkpoint, that is in it."""

    version: int = 0
    checkpoint: str = ""
    batch: int = -1
    dates: bool = False
    nodes: dict[str, NodeTime] = {}
    tables: dict[str, TableFields] = {}
    segments: tuple[Segment, ...] = ()
    format: int = FORMAT


def table_paths(tables: str) -> dict[str, str]:
    """For each predicate the folder of its table in the newest version, which stays as it is for some batches to come.

    SpecError where there are no tables.
    """
    current = Path(tables, ".current")
    if not current.exists():
        raise SpecError(f"there are no tables in `{tables}`")
    version = current.resolve()
    return {predicate: os.fspath(version / folder_of(predicate)) for predicate in _read(version).tables}


class Tables:
    """The writer's side: one at a time. Used with `with`.

    SpecError where another process writes these tables, or they are of another format; ConnectorError where they cannot be
    written.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(on_this_machine(path, "tables of `ingest`"))
        self._versions = self.path / ".versions"
        self._held = ExitStack()
        self.manifest = Manifest()

    def __enter__(self) -> Tables:
        with ExitStack() as stack:
            stack.enter_context(held_alone(os.fspath(self.path), "tables"))
            try:
                self._versions.mkdir(exist_ok=True)
            except OSError as error:
                raise SpecError(f"cannot write tables to `{self.path}`: {error.strerror}") from None
            self._recover()
            self._held = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._held.close()

    def _recover(self) -> None:
        """Go by the version that `.current` leads to, and take away what a process that died has left behind."""
        current = self.path / ".current"
        if current.exists():
            self.manifest = _read(current)
        for folder in self._versions.iterdir():
            if not folder.name.isdecimal() or int(folder.name) > self.manifest.version:
                shutil.rmtree(folder)
        self._link_tables()

    @property
    def current(self) -> str:
        """The folder of the newest version."""
        return os.fspath(self._folder(self.manifest.version))

    def _folder(self, version: int) -> Path:
        return self._versions / f"{version:08d}"

    def begin(self) -> str:
        """An empty folder for what is new in the next version."""
        staging = self._versions / f"{self.manifest.version + 1:08d}.new"
        if staging.exists():  # a batch that failed
            shutil.rmtree(staging)
        staging.mkdir()
        return os.fspath(staging)

    def publish(self, staging: str, manifest: Manifest) -> None:
        """Make the next version, whose new files are on the disk in `staging`, the newest one; for good."""
        folder = self._folder(manifest.version)
        try:
            _link_missing(Path(self.current), Path(staging), manifest.segments)
            _write(Path(staging, _MANIFEST), msgspec.json.encode(manifest))
            for each, _, _ in os.walk(staging):
                _sync(each)
            os.rename(staging, folder)
            _sync(self._versions)
            self._turn(self.path / ".current", os.path.join(".versions", folder.name))
            self.manifest = manifest
            self._link_tables()
            self._forget()
        except OSError as error:
            raise ConnectorError(f"cannot write tables to `{self.path}`: {error}") from error

    def _link_tables(self) -> None:
        for predicate in self.manifest.tables:
            name = folder_of(predicate)
            if not (self.path / name).is_symlink():
                self._turn(self.path / name, os.path.join(".current", name))

    def _turn(self, link: Path, target: str) -> None:
        """Let a symbolic link lead to another target, in one step."""
        new = link.with_name(f".{link.name}.new")
        new.unlink(missing_ok=True)
        new.symlink_to(target)
        os.replace(new, link)
        _sync(self.path)

    def _forget(self) -> None:
        oldest = self.manifest.version - KEPT
        for folder in self._versions.iterdir():
            if folder.name.isdecimal() and int(folder.name) <= oldest:
                shutil.rmtree(folder)


def _read(version: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode((version / _MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise ConnectorError(f"the tables in `{version}` are damaged: {error}") from error
    if manifest.format != FORMAT:
        raise SpecError(f"the tables in `{version}` have format {manifest.format}, and this version reads {FORMAT}")
    return manifest


def _link_missing(current: Path, staging: Path, segments: Iterable[Segment]) -> None:
    for segment in segments:
        target = staging / segment.path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(current / segment.path, target)


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: str | Path) -> None:
    """Bring the entries of a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
