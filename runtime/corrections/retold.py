"""A session that is told a journal again, as if what is retracted in it had never been said."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tidelog.plans.plan.plan import Plan
from tidelog.runtime.corrections.retractions import Cuts, Numbered
from tidelog.runtime.journal.events import Event, tell
from tidelog.runtime.network.graph import Port
from tidelog.runtime.ports.interfaces import Rejected
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import Settings


class Retold(Reasoner):
    """Takes events by their numbers, and of each fact what no later event takes back.

    Facts that are taken back still say what time it is: watermarks, what is late, and the start of the stream are those of
    the run. So after the same events it has taken in the same.
    """

    def __init__(
        self, plan: Plan, settings: Settings, retractions: Sequence[Numbered] = (), *, muted: Collection[Port] = ()
    ) -> None:
        super().__init__(plan, settings, muted=muted)
        self.without(retractions)

    @classmethod
    def like(cls, session: Reasoner, retractions: Sequence[Numbered]) -> Retold:
        """One with the settings of another session, that has been told nothing yet."""
        twin = cls(session.plan, session.settings, retractions)
        twin.begin_at(session.intake.given_start)
        return twin

    def without(self, retractions: Sequence[Numbered]) -> None:
        """From now on take nothing of what these take back."""
        self.cuts = Cuts(retractions)
        self._intake.cut = self.cuts if retractions else None

    def load(self, state: dict[str, Any], plan: Plan | None = None) -> None:
        """Continue where a `state` was taken, as `Reasoner.load` does; raises what that does."""
        cut = self._intake.cut
        super().load(state, plan)
        self._intake.cut = cut

    def tell(self, number: int, event: Event) -> list[Rejected]:
        """Take the event with this number; returns what it refused."""
        self.cuts.event = number
        return tell(self, event)
