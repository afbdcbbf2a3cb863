"""Which rows of a backtest are drawn, and what of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.operators.columns.arrays import Array, np
from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.keys import keys_of
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact
from tidelog.plans.explaining.showing.differences import Difference, RowDifference, Told
from tidelog.runtime.columns.comparing import Span, only_in, within

if TYPE_CHECKING:
    from tidelog.runtime.columns.backtest import Compared


def difference_of(name: str, compared: Compared, labels: Batch | None, span: Span, pool: Pool, most: int) -> Difference:
    """The rows of an output that one program alone tells for the longest; then those that have labels, and the others."""
    sides = [side for side in (compared.old, compared.new) if side is not None]
    own = labels if labels is not None and labels.width == sides[0].told.width else None
    tables = [table for side in sides for table in (side.told, side.alone)] + ([] if own is None else [own])
    keys, size = keys_of([table.columns for table in tables], [len(table) for table in tables], pool)
    lengths, is_labelled = np.zeros(size), np.zeros(size, np.bool_)
    for place in range(1, 2 * len(sides), 2):
        lo, hi = within(tables[place].lo, tables[place].hi, span)
        lengths += np.bincount(keys[place], (hi - lo + 1).astype(np.float64), size)
    if own is not None:
        is_labelled[keys[-1]] = True
    there = np.unique(np.concatenate(keys))
    order = there[np.lexsort((~is_labelled[there], -lengths[there]))]
    rows = [_row(key, tables, keys, compared, own is not None, pool) for key in order[:most].tolist()]
    rest = order[most:]
    everywhere = labels.tidied(pool).facts(pool) if labels is not None and own is None else []
    return Difference(name, everywhere, rows, len(rest), int(np.count_nonzero(lengths[rest])))


def _row(
    key: int, tables: Sequence[Batch], keys: Sequence[Array], compared: Compared, has_labels: bool, pool: Pool
) -> RowDifference:
    """What is told of one row."""
    found = [table.take(own == key) for table, own in zip(tables, keys, strict=True)]
    parts = iter(found)
    old, new = (None if side is None else _told(next(parts), next(parts), pool) for side in (compared.old, compared.new))
    labels = next(parts).tidied(pool).facts(pool) if has_labels else None
    first: Fact = next(batch for batch in found if len(batch)).take(np.array([0])).facts(pool)[0]
    return RowDifference(first[0], labels, old, new)


def _told(told: Batch, alone: Batch, pool: Pool) -> Told:
    return Told(only_in(told, alone, pool).facts(pool), alone.facts(pool))
