"""Tables of Delta Lake stay in few files, and let go what no version that is kept needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.connectors.lake.delta.commits import alone
from tidelog.connectors.lake.delta.library import told
from tidelog.connectors.lake.delta.syncing import sync_versions
from tidelog.connectors.lake.tables import Compacted

if TYPE_CHECKING:
    from deltalake import DeltaTable


def compact(table: DeltaTable, size: int) -> Compacted:
    """Make files of about so many bytes of smaller ones; Conflict where others write the same."""
    since = table.version()
    with told(f"cannot write the table `{table.table_uri}`"):
        done = table.optimize.compact(target_size=size, commit_properties=alone())
        table.update_incremental()
    sync_versions(table, since)
    return Compacted(done["numFilesAdded"], done["numFilesRemoved"])


def vacuum(table: DeltaTable, hours: int) -> int:
    """Take away the files that no version of the last so many hours needs; returns how many these were."""
    with told(f"cannot clear the table `{table.table_uri}`"):
        return len(table.vacuum(retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True))
