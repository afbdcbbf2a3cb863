"""Tables of Delta Lake stay in few files, and let go what no version that is kept needs."""

from __future__ import annotations

import posixpath
import time
from datetime import date
from typing import TYPE_CHECKING

from pyarrow import fs

from tidelog.connectors.lake.columns import DATE
from tidelog.connectors.lake.delta.commits import alone
from tidelog.connectors.lake.delta.files import TableFiles
from tidelog.connectors.lake.delta.library import deltalake, storage_options, told
from tidelog.connectors.lake.delta.syncing import sync_versions
from tidelog.connectors.lake.places import LOG
from tidelog.connectors.lake.tables import Compacted

if TYPE_CHECKING:
    from deltalake import DeltaTable


def compact(table: DeltaTable, size: int, day: date | None) -> Compacted:
    """Make files of about so many bytes of a day's smaller ones; Conflict where others have written the table."""
    since = table.version()
    is_by_days = DATE in table.metadata().partition_columns
    days = [(DATE, "=", "" if day is None else day.isoformat())] if is_by_days else None
    with told(f"cannot write the table `{table.table_uri}`"):
        done = table.optimize.compact(days, target_size=size, commit_properties=alone())
        table.update_incremental()
    sync_versions(table, since)
    return Compacted(done["numFilesAdded"], done["numFilesRemoved"])


def vacuum(table: DeltaTable, uri: str, hours: int) -> int:
    """Take away files of the table at a path or a URI that no version of the last so many hours needs, and return how many.

    The log forgets the versions before, too: it says of each file that it ever had which nodes and arguments were in it.
    """
    with told(f"cannot clear the table `{uri}`"):
        everything = TableFiles(uri).system.get_file_info(fs.FileSelector("", recursive=True))
        there = {info.base_name for info in everything}
        gone = table.vacuum(retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True)
        table.update_incremental()
        _forget(table, uri, hours)
        return sum(posixpath.basename(path) in there for path in gone)  # of which it tells also who have gone before


def _forget(table: DeltaTable, uri: str, hours: int) -> None:
    """Take away entries of the log that are older than so many hours; a checkpoint stands for them."""
    files = TableFiles(uri).system
    limit = time.time() - hours * 3600
    entries: dict[int, list[fs.FileInfo]] = {}
    for info in files.get_file_info(fs.FileSelector(LOG)):
        number = info.base_name.partition(".")[0]
        if info.type == fs.FileType.File and number.isdecimal():
            entries.setdefault(int(number), []).append(info)
    young = (number for number, infos in entries.items() if any(info.mtime.timestamp() >= limit for info in infos))
    first = min(young, default=table.version())
    old = [info for number, infos in entries.items() if number < first for info in infos]
    if old:
        if not any(".checkpoint" in info.base_name for info in entries[first]):
            deltalake().DeltaTable(uri, version=first, storage_options=storage_options(uri)).create_checkpoint()
        for info in old:
            files.delete_file(info.path)
