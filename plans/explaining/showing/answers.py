"""The answers of a session: a list that can draw itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Unpack
from typing import TypeVar as TypingTypeVar

from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Answer, Record
from tidelog.plans.plan.plan import Plan

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from tidelog.plans.explaining.showing.plots import PlotOptions
    from tidelog.plans.pictures.picture import Picture

    A = TypeVar("A", bound=Answer, default=Answer)
else:  # to check types, an answer is one of `changes` where it is known to be; at run time there is no difference
    A = TypingTypeVar("A")


_SHOWN = 5
"""So many answers a list of them shows as text."""


class Answers(list[A], Generic[A]):
    """What `Session.pull` returns: a list of answers, which notebooks show as a timeline and a table."""

    def __init__(self, plan: Plan, records: list[Record]) -> None:
        self._plan, self._records = plan, records
        if records:
            answers: list[Any] = [plan.answer(record) for record in records]
            super().__init__(answers)

    def plot(self, predicates: Sequence[str] | None = None, **options: Unpack[PlotOptions]) -> Picture:
        """A timeline of what was pulled, as SVG: see `Materialisation.plot`.

        Of the two changes of an interval, the one that tells its end counts.
        """
        from tidelog.plans.explaining.showing.plots import plot  # noqa: PLC0415 - few who pull answers draw them

        return plot(self._told(), self._plan.schema, self._plan.program, predicates, **options)

    def _told(self) -> list[Record]:
        ended = {record[:3] for record in self._records if isinstance(record, ChangeRecord) and record.has_ended}
        return [record for record in self._records if not _is_begin(record) or record[:3] not in ended]

    def __repr__(self) -> str:
        if len(self) <= _SHOWN:
            return super().__repr__()
        shown = ", ".join(map(repr, self[:_SHOWN]))
        return f"[{shown}, … {len(self) - _SHOWN:,} more]"

    def _repr_html_(self) -> str:
        from tidelog.plans.explaining.showing.plots import facts_table  # noqa: PLC0415 - few who pull answers draw them

        table = facts_table(self._told(), self._plan.schema)
        return self.plot().svg + table if self._records else table


def _is_begin(record: Record) -> bool:
    return isinstance(record, ChangeRecord) and not record.has_ended
