"""Tables stay in few files, and let go what no version that is kept needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelog.connectors.lake.commits import alone
from tidelog.connectors.lake.library import Conflict, told
from tidelog.connectors.lake.syncing import sync_versions

if TYPE_CHECKING:
    from deltalake import DeltaTable

COMPACTED = 20
"""After how many versions small files become one."""
SMALL = 8 << 20
"""How many bytes a file has that such upkeep leaves alone."""
LARGE = 256 << 20
"""How many bytes a file of an optimised table has, about."""
VACUUMED = 200
"""After how many versions files are taken away that no version of the last `KEPT` hours needs."""
KEPT = 7 * 24
"""For how many hours older versions stay readable."""


def keep_up(table: DeltaTable, since: int) -> None:
    """What is due of a table whose last version was `since` before it was written."""
    version = table.version()
    try:
        if version // COMPACTED != max(since, 0) // COMPACTED:
            compact(table, SMALL)
        if version // VACUUMED != max(since, 0) // VACUUMED:
            vacuum(table, KEPT)
    except Conflict:  # another process writes it: it is due again soon
        return


def compact(table: DeltaTable, size: int) -> dict[str, Any]:
    """Make files of about so many bytes of smaller ones; returns what was done. Conflict where others write the same."""
    since = table.version()
    with told(f"cannot write the table `{table.table_uri}`"):
        done: dict[str, Any] = table.optimize.compact(target_size=size, commit_properties=alone())
        table.update_incremental()
    sync_versions(table, since)
    return done


def vacuum(table: DeltaTable, hours: int) -> list[str]:
    """Take away the files that no version of the last so many hours needs; returns their names.

    Versions that are older can then be read no more. A process that writes for longer than that loses its files.
    """
    with told(f"cannot clear the table `{table.table_uri}`"):
        return list(table.vacuum(retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True))
