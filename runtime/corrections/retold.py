"""A session that is told a journal again, as if what is retracted in it had never been said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.plans.plan.plan import Plan
from tidelog.runtime.corrections.retractions import Cuts, Numbered
from tidelog.runtime.journal.events import Event, tell
from tidelog.runtime.ports.interfaces import Rejected
from tidelog.runtime.sessions.session import Session


class Retold(Session):
    """Takes events by their numbers, and of each fact what no later event takes back.

    Facts that are taken back still say what time it is: watermarks, what is late, and the start of the stream are those of
    the run. So after the same events it has taken in the same.
    """

    def __init__(self, plan: Plan, retractions: Sequence[Numbered] = (), **options: Any) -> None:
        super().__init__(plan, **options)
        self.without(retractions)

    @classmethod
    def like(cls, session: Session, retractions: Sequence[Numbered]) -> Retold:
        """One with the options of another session, that has been told nothing yet."""
        twin = cls(session.plan, retractions, **session._options)
        twin.begin_at(session._intake.given_start)
        return twin

    def without(self, retractions: Sequence[Numbered]) -> None:
        """From now on take nothing of what these take back."""
        self.cuts = Cuts(retractions)
        self._intake.cut = self.cuts if retractions else None

    def load(self, state: dict[str, Any]) -> None:
        """Continue where a `state` of the same plan was taken; raises what `Session.load` does."""
        cut = self._intake.cut
        super().load(state)
        self._intake.cut = cut

    def tell(self, number: int, event: Event) -> list[Rejected]:
        """Take the event with this number; returns what it refused."""
        self.cuts.event = number
        return tell(self, event)

    def replace(self, session: Session) -> None:
        """Let a session that has taken the same events, with other cuts, go on with all that follows from these.

        Its intake stays: what it knows of sources and of time is the same. Who listens to a step goes on listening.
        """
        self._network.hear_as(session._network)
        session._network, session._outlet, session._bound = self._network, self._outlet, self._bound
        session._inquiries, session._hypothetical, session._memory = self._inquiries, self._hypothetical, self._memory
        session.watch("answers", session._holdings)
