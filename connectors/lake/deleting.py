"""Rows that are to be forgotten: in one commit, beside those who write the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.connectors.lake.conditions import Conditions, Mask, mask_of
from tidelog.connectors.lake.tables import Keep, Table
from tidelog.connectors.lake.upkeep import insist


@dataclass(slots=True)
class Deleted:
    """What a deletion has removed, or would remove: rows, and from how many files."""

    rows: int = 0
    files: int = 0


def delete(table: Table, wheres: Sequence[Conditions], *, is_tried: bool = False) -> Deleted:
    """Delete the rows that one of the conditions means, all of them or none; with `is_tried` they are only counted.

    Where another process changes the table meanwhile, they are looked for anew. Older versions keep them until a vacuum.
    SpecError where a condition does not fit the table's columns; ConnectorError where it cannot be read or written.
    """
    found = Deleted()

    def work() -> None:
        table.refresh()
        since, schema = table.version, table.schema()
        mask = mask_of(wheres, schema)
        found.rows = found.files = 0
        old: dict[object, Keep] = {}
        for file in table.files():
            if rows := sum(pc.sum(mask(batch)).as_py() or 0 for batch in table.rows(file, schema)):
                old[file] = partial(_others, mask)
                found.rows += rows
                found.files += 1
        if old and not is_tried:
            table.replace(old, schema.empty_table(), {})
            table.secure(since)

    insist(work)
    return found


def _others(mask: Mask, batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(pc.invert(mask(batch)))
