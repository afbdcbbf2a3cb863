"""What can be asked of a run, while it runs and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.plans.alarms.desk import OpenAlarm
from tidelog.plans.data.facts import Record
from tidelog.runtime.actors.dead_letters import Letters
from tidelog.runtime.actors.direct import Direct
from tidelog.runtime.actors.listening import Sources
from tidelog.runtime.actors.supervision import SinkActor
from tidelog.runtime.intake.intake import IntakeStatistics
from tidelog.runtime.intake.source_state import SourceStatistics
from tidelog.runtime.network.graph import Hear
from tidelog.runtime.ports.actors import ActorStatistics
from tidelog.runtime.ports.durability import Owing
from tidelog.runtime.ports.interfaces import SinkStatistics
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.statistics import SessionStatistics

if TYPE_CHECKING:
    from tidelog.runtime.durable.ledger import Ledger
    from tidelog.runtime.why.evidence.model import Writing
    from tidelog.runtime.why.memory import Known


class Asked:
    """A run, as far as it is only asked. To be called within its event loop, if it runs."""

    _session: Reasoner
    _sources: Sources
    _sinks: list[SinkActor]
    _letters: Letters
    _way: Direct | Ledger

    @property
    def rejected(self) -> int:
        """How many records of the sources could not be used."""
        return self._letters.rejected

    def intake_statistics(self) -> IntakeStatistics:
        """The intake's part of `statistics`, which is there at once, and also after a failure."""
        return self._session.intake.statistics()

    def statistics(self) -> SessionStatistics:
        """An immutable record of what has been done and what is stored."""
        return self._session.statistics()

    def actors(self) -> list[ActorStatistics]:
        """What became of each actor so far; none where all operators are in one."""
        return self._session.actors()

    def set_aside(self) -> list[tuple[str, str]]:
        """The actors that were set aside, by their names, with the reasons; nobody has to be asked for them."""
        return self._session.set_aside()

    def source_statistics(self) -> dict[str, SourceStatistics]:
        """How far each source has come, by its name."""
        return self._session.watermarks.statistics()

    def sink_statistics(self) -> list[tuple[str, SinkStatistics]]:
        """For each sink, with its name: how often it broke, and how many answers may be lost or there twice for that."""
        return [(sink.name, sink.statistics()) for sink in self._sinks]

    def waiting(self) -> list[tuple[str, int]]:
        """For each sink, with its name: how many answers wait for it."""
        return [(sink.name, self._way.waiting(sink)) for sink in self._sinks]

    def owing(self) -> Owing | None:
        """How much waits for sinks in all; None without a state."""
        return None if isinstance(self._way, Direct) else self._way.owing()

    def connected(self) -> list[tuple[str, bool]]:
        """For each source that has not ended, and each sink, with its name: whether it is open, and the other side there."""
        return [*self._sources.connected(), *[(sink.name, sink.standing.is_connected) for sink in self._sinks]]

    def open_alarms(self, present: int | None = None) -> list[OpenAlarm]:
        """All alarms that are not normal: see `Session.open_alarms`."""
        return self._session.open_alarms(present)

    def open_alarm(self, identity: str, present: int | None = None) -> OpenAlarm | None:
        """One of them: see `Session.open_alarm`."""
        return self._session.open_alarm(identity, present)

    def alarms_version(self, present: int | None = None) -> tuple[int, int]:
        """Tells what `open_alarms` says from all that it has said before."""
        return self._session.alarms_version(present)

    @property
    def frontier(self) -> int:
        """Up to when (encoded) the stream is complete."""
        return self._session.frontier

    @property
    def latest(self) -> int:
        """The latest begin (encoded) of a fact that was accepted, also before a restart; `NEG` before the first."""
        return self._session.intake.latest

    def holding(self, present: int) -> list[Record]:
        """All answers that hold at a time (encoded), where somebody wants to know: see `Session.holding`."""
        return self._session.holding(present)

    def listen(self, step: str, hear: Hear | None) -> None:
        """Tell `hear` what a step takes and sends from now on; with None, nobody any more."""
        self._session.listen(step, hear)

    @property
    def remembers(self) -> bool:
        """Whether facts are remembered, so that there is something to explain by."""
        return self._session.settings.remember > 0

    def known(self, at: Writing = None) -> Known:
        """What is remembered now; another thread may explain by it while the engine runs. `at` writes times.

        To be called within the event loop; MethodError where nothing is remembered.
        """
        return self._session.memory.known(at)

    def unfinished(self) -> list[str]:
        """What is recursive without an end, and was followed only as far as the stream went, or as it was told to."""
        return self._session.unfinished()
