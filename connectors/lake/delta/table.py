"""A table of Delta Lake, as those who write it see it.

Why a fact counts once: a commit says, for each outbox, up to which number its facts are in the table, in an application
transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import partial, reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.connectors.lake.arguments import ArgumentColumn
from tidelog.connectors.lake.columns import DATE
from tidelog.connectors.lake.delta import rewriting, upkeep
from tidelog.connectors.lake.delta.commits import commit
from tidelog.connectors.lake.delta.files import File, TableFiles
from tidelog.connectors.lake.delta.library import deltalake, storage_options, told
from tidelog.connectors.lake.delta.syncing import sync_versions
from tidelog.connectors.lake.intervals import Run
from tidelog.connectors.lake.rows import bounds, by_day, runs_of
from tidelog.connectors.lake.tables import Compacted, Conflict, Keep
from tidelog.connectors.lake.times import TimeColumn

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, RemoveAction


def application(outbox: str) -> str:
    """What a table calls the facts of an outbox (by its identity) in its transactions."""
    return f"tidelog/{outbox}"


@dataclass(slots=True)
class DeltaLakeTable:
    """The newest version of the table at a path or a URI, when it was looked at last."""

    uri: str
    table: DeltaTable
    _is_stale: bool = False

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """What the library raises, as an error of ours. After a conflict the table is opened anew: what the library keeps of
        the log may name entries that a vacuum of another process has let go."""
        try:
            with told(f"cannot {doing} the table `{self.uri}`"):
                yield
        except Conflict:
            self._is_stale = True
            raise

    def _reopen(self) -> None:
        with told(f"cannot read the table `{self.uri}`"):
            self.table = deltalake().DeltaTable(self.uri, storage_options=storage_options(self.uri))
        self._is_stale = False

    @property
    def version(self) -> int:
        return self.table.version()

    def refresh(self) -> None:
        if not self._is_stale:
            with suppress(Conflict), self._told("read"):
                self.table.update_incremental()
        if self._is_stale:
            self._reopen()

    def schema(self) -> pa.Schema:
        return pa.schema(self.table.schema().to_arrow())

    def properties(self) -> Mapping[str, str]:
        return self.table.metadata().configuration

    def note(self, properties: Mapping[str, str]) -> None:
        with self._told("write"):
            self.table.alter.set_table_properties(dict(properties), raise_if_not_exists=False)

    def upto(self, outbox: str) -> int | None:
        with self._told("read"):
            return self.table.transaction_version(application(outbox))

    def has_rows(self, node: str) -> bool:
        with self._told("read"):
            return bool(self.table.to_pyarrow_dataset().head(1, filter=pc.field("node") == node).num_rows)

    def evolve(self, predicate: str, column: ArgumentColumn, wanted: ArgumentColumn, schema: pa.Schema) -> None:
        with self._told("write"):
            rewriting.evolve(self.table, predicate, column, wanted, schema)

    def touched(self, schema: pa.Schema, facts: Sequence[Run], times: Mapping[str, TimeColumn]) -> dict[Any, list[Run]]:
        keys = {run.key for run in facts}
        low, high = bounds(facts, times)
        found: dict[File, list[Run]] = {}
        with self._told("read"):
            files = TableFiles(self.uri)
            for file in _files_with(self.table, {str(run.key[0]) for run in facts}, low, high):
                for batch in files.rows(file, schema, (low, high)):
                    if runs := runs_of(batch, keys):
                        found.setdefault(file, []).extend(runs)
        return found

    def files(self) -> Sequence[File]:
        return list(_files_of(pa.table(self.table.get_add_actions(flatten=True))))

    def rows(self, file: File, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._told("read"):
            yield from TableFiles(self.uri).rows(file, schema)

    def replace(self, old: Mapping[Any, Keep], new: pa.Table, upto: Mapping[str, int]) -> None:
        numbers = [(application(outbox), number) for outbox, number in upto.items()]
        with self._told("write"):
            actions = _replaced(TableFiles(self.uri), new.schema, old, new)
            commit(self.table, actions, new.schema, numbers)  # where it fails, a vacuum takes the files away

    def secure(self, since: int) -> None:
        sync_versions(self.table, since)

    def scattered(self, size: int) -> list[date | None]:
        small = Counter(file.day for file in self.files() if file.size < size)
        return [day for day, count in small.items() if count > 1]

    def compact(self, size: int, day: date | None) -> Compacted:
        with self._told("write"):
            return upkeep.compact(self.table, size, day)

    def vacuum(self, hours: int) -> int:
        self._reopen()
        with self._told("clear"):
            found = upkeep.vacuum(self.table, self.uri, hours)
        self._reopen()
        return found


def _replaced(
    files: TableFiles, schema: pa.Schema, old: Mapping[File, Keep], new: pa.Table
) -> list[AddAction | RemoveAction]:
    """Write the files anew of which rows have gone, and those that are new, a file for each day; the actions of that."""
    days: dict[date | None, list[Iterable[pa.RecordBatch]]] = {}
    for file, keep in old.items():
        days.setdefault(file.day, []).append(map(keep, files.rows(file, schema)))
    for day, rows in by_day(new):
        days.setdefault(day, []).append(rows.to_batches())
    added = [files.write(chain.from_iterable(each), schema, day) for day, each in days.items()]
    return [*(file.action() for file in added if file is not None), *(file.removal(schema) for file in old)]


def _files_with(table: DeltaTable, nodes: set[str], low: float | int | None, high: float | int | None) -> Iterator[File]:
    """The files of a table that may have rows of these nodes within these times, by what its log says of them."""
    actions = pa.table(table.get_add_actions(flatten=True))
    if not len(actions):
        return
    may = partial(_may, actions)
    kept = [may("max.node", pc.greater_equal, min(nodes)), may("min.node", pc.less_equal, max(nodes))]
    for name, compare, bound in (("end_time", pc.greater_equal, low), ("start_time", pc.less_equal, high)):
        edge = "max" if name == "end_time" else "min"
        is_near = may(f"{edge}.{name}", compare, bound)
        kept.append(pc.or_(is_near, may(f"null_count.{name}", pc.greater, 0)))  # NULL has no end there
    yield from _files_of(actions.filter(reduce(pc.and_, kept)))


def _files_of(actions: pa.Table) -> Iterator[File]:
    days = f"partition.{DATE}"
    for row in actions.select([name for name in ("path", "size_bytes", days) if name in actions.column_names]).to_pylist():
        yield File(row["path"], row["size_bytes"], row.get(days))


def _may(actions: pa.Table, name: str, compare: Callable[..., Any], bound: Any) -> Any:
    """Whether a comparison may hold: also where the log says nothing of it."""
    if bound is None or name not in actions.column_names:
        return pa.chunked_array([pa.repeat(True, len(actions))])
    column = actions.column(name)
    return pc.fill_null(compare(column, pa.scalar(bound, column.type)), True)
