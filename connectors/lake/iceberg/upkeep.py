"""Tables of Iceberg let go what no version that is kept needs: snapshots, and then files.

The library forgets snapshots, and leaves their files where they are. So files are looked for in the table's folders, and
those are taken away that nothing names, also those of processes that were killed before their commit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from pyarrow import fs
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table.update.snapshot import ExpireSnapshots

from tidelog.plans.diagnostics.errors import ConnectorError

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction

MOST = 500
"""How many snapshots are kept at most: each commit writes anew what the table says of all of them."""
_FOLDERS = ("write.data.path", "write.metadata.path")
"""The properties of a table that say where its files are, if not in its own folder."""


def expire(table: Table, transaction: Transaction, hours: int) -> None:
    """Forget the snapshots that were not the newest at any time of the last so many hours, and all but the newest `MOST`.

    The transaction commits by itself.
    """
    limit = (time.time() - hours * 3600) * 1000
    order = sorted(table.metadata.snapshots, key=lambda each: each.sequence_number or 0)
    kept = {reference.snapshot_id for reference in table.metadata.refs.values()}
    gone = [one.snapshot_id for one, next_ in pairwise(order) if next_.timestamp_ms < limit]
    gone += [each.snapshot_id for each in order[:-MOST]]
    old = [number for number in dict.fromkeys(gone) if number not in kept]
    if old:
        ExpireSnapshots(transaction).by_ids(old).commit()
        table.refresh()


def sweep(table: Table, hours: int) -> int:
    """Take away files that were written more than so many hours ago, and that nothing names; returns how many these were.

    ConnectorError where others than this library read the table's files, as the configuration of the catalog may say.
    """
    io = table.io
    if not isinstance(io, PyArrowFileIO):
        raise ConnectorError(
            f"files are read by {type(io).__name__}, which cannot list them: take `py-io-impl` out of the catalog's settings"
        )
    limit = time.time() - hours * 3600
    named: set[str] | None = None
    count = 0
    roots = [table.location(), *(path for name in _FOLDERS if (path := table.properties.get(name)) is not None)]
    for root in roots:
        scheme, netloc, path = io.parse_location(root, io.properties)
        files = io.fs_by_scheme(scheme, netloc)
        for info in files.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True)):
            if info.type != fs.FileType.File or info.mtime is None or info.mtime.timestamp() >= limit:
                continue
            if named is None:
                named = {io.parse_location(each, io.properties)[2] for each in _named(table)}
            if info.path not in named:
                files.delete_file(info.path)
                count += 1
    return count


def _named(table: Table) -> Iterator[str]:
    """The files that the table names: of each snapshot that is kept, and those that say what the table is."""
    metadata = table.metadata
    yield table.metadata_location
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield from (each.statistics_path for each in (*metadata.statistics, *metadata.partition_statistics))
    seen: set[str] = set()
    for snapshot in metadata.snapshots:
        yield snapshot.manifest_list
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path not in seen:
                seen.add(manifest.manifest_path)
                yield manifest.manifest_path
                for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                    yield entry.data_file.file_path
