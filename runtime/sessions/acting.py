"""What people do with alarms, for a session: facts like all others, made of who acts, and on which alarm."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from tidelog.plans.data.actions import Action, action_record
from tidelog.plans.data.facts import Record, ValueLike
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.plan.plan import Plan

Arguments = Sequence[ValueLike] | Mapping[str, ValueLike]


class Acting:
    """Hands in actions. Each raises what `push` raises, and DataError where the alarm does not take it."""

    plan: Plan

    @abstractmethod
    def push_records(self, records: Iterable[Record]) -> None:
        """Hand in facts."""

    def acknowledge(
        self, alarm: str, args: Arguments = (), *, who: str, time: TimeLike, comment: str = "", via: str = ""
    ) -> None:
        """Somebody takes on an alarm: by its predicate and arguments, in order or by their names."""
        self._act(Action("acknowledge", alarm, args, who, comment, via), time)

    def comment(self, alarm: str, args: Arguments = (), *, who: str, time: TimeLike, comment: str, via: str = "") -> None:
        """Somebody says something of an alarm."""
        self._act(Action("comment", alarm, args, who, comment, via), time)

    def shelve(
        self,
        alarm: str,
        args: Arguments = (),
        *,
        who: str,
        time: TimeLike,
        lasting: TimeLike | timedelta,
        comment: str = "",
        via: str = "",
    ) -> None:
        """Somebody hides an alarm for a while, at most for as long as it allows."""
        self._act(Action("shelve", alarm, args, who, comment, via, lasting), time)

    def unshelve(
        self, alarm: str, args: Arguments = (), *, who: str, time: TimeLike, comment: str = "", via: str = ""
    ) -> None:
        """Somebody ends all shelves of an alarm."""
        self._act(Action("unshelve", alarm, args, who, comment, via), time)

    def remove_from_service(
        self, alarm: str, args: Arguments = (), *, who: str, time: TimeLike, comment: str = "", via: str = ""
    ) -> None:
        """Somebody takes an alarm out of service, until it is restored."""
        self._act(Action("remove", alarm, args, who, comment, via), time)

    def restore_to_service(
        self, alarm: str, args: Arguments = (), *, who: str, time: TimeLike, comment: str = "", via: str = ""
    ) -> None:
        """Somebody takes an alarm back into service."""
        self._act(Action("restore", alarm, args, who, comment, via), time)

    def _act(self, action: Action, time: TimeLike) -> None:
        self.push_records([action_record(self.plan.schema, TimeReader(self.plan.timeline), action, time)])
