"""A commit: files that are added and removed, and up to where something is in the table, all at once or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tidelog.connectors.lake.columns import DATE
from tidelog.connectors.lake.delta.library import deltalake

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable, Transaction
    from deltalake.transaction import AddAction, RemoveAction


def alone() -> CommitProperties:
    """The properties of a commit that follows the version that was read, or is none.

    The library would try again behind what others have committed, unless it contradicts. It does not see that rows that are
    removed here have been moved to other files, where that was a compaction.
    """
    return _properties([], 0)


def _properties(transactions: Sequence[Transaction], retries: int) -> CommitProperties:
    properties: CommitProperties = deltalake().CommitProperties(
        app_transactions=list(transactions) or None, max_commit_retries=retries
    )
    return properties


def commit(
    table: DeltaTable,
    actions: Sequence[AddAction | RemoveAction],
    schema: pa.Schema,
    upto: Sequence[tuple[str, int]],
    *,
    retries: int = 0,
) -> None:
    """Make the next version of a table; `upto` has the number that it is told of each application.

    The library raises CommitFailedError where another process has made that version meanwhile; what only adds may try again
    behind it (`retries`). What else it raises does not tell whether the version is there.
    """
    library = deltalake()
    transactions = [library.Transaction(name, number) for name, number in upto]
    table.create_write_transaction(
        list(actions),
        "append",
        library.Schema.from_arrow(schema),
        partition_by=[DATE] if DATE in schema.names else [],
        commit_properties=_properties(transactions, retries),
    )
    table.update_incremental()
