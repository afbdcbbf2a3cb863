"""What all sources and all sinks of a gateway's file may say, of whatever kind they are.

Each kind has a struct of its own. Where it has no other base, it derives from one of these, with its name as `tag`; what
looks at settings of any kind asks for the protocols.
"""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

import msgspec

from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.mapping.templates import State
from tidelog.connectors.transport.bounds import Count, Positive

PayloadFormat = Literal["json", "text", "facts", "jsonl", "actions"]
"""How payloads are written: taken apart by maps (`json`, `text`), facts as they are, or what people do with alarms."""
Told = Literal["all", "causes", "conditions"]
"""Of which alarms a sink is told: all that are active; of these those that are not folded into their cause; or whenever
their conditions hold, also while they are shelved, suppressed, or out of service."""


class SinkLimitSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What one sink is spared, and the others by it."""

    waiting: Count | None = None
    """How many answers may wait for it; of more, the oldest are dropped for this sink alone, counted and told."""
    rate: Positive | None = None
    """How many answers it is given a second."""


class EndSettings(Protocol):
    """A source or a sink of any kind."""

    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str:
        """The name of the program that it feeds, or that it hears; empty where the file has one alone."""
        ...


@runtime_checkable
class TakesMessages(EndSettings, Protocol):
    """A source that has messages, which maps take apart."""

    @property
    def format(self) -> PayloadFormat: ...

    @property
    def map(self) -> tuple[MapSettings, ...]: ...

    @property
    def by(self) -> str:
        """The field that says which device a fact comes from: each then has a watermark of its own."""
        ...


@runtime_checkable
class Limited(EndSettings, Protocol):
    """A sink that is spared something."""

    @property
    def limits(self) -> SinkLimitSettings: ...


@runtime_checkable
class Chooses(EndSettings, Protocol):
    """A sink that says what it wants to be told."""

    @property
    def predicates(self) -> tuple[str, ...]:
        """Which answers it is told; all, unless told."""
        ...

    @property
    def told(self) -> Told: ...

    @property
    def when(self) -> str:
        """An output without arguments: the sink is told while it holds, or, with `not` before it, while it does not."""
        ...

    @property
    def storm(self) -> int | None:
        """How many alarms may begin within a minute before it is told a summary in place of each."""
        ...


@runtime_checkable
class TellsPeople(EndSettings, Protocol):
    """A sink that says whether it is told when something begins, when it has ended, or both."""

    @property
    def states(self) -> tuple[State, ...]: ...


class SourceSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, tag_field="type"):
    """A source that delivers facts."""

    name: str
    program: str = ""


class MessageSourceSettings(SourceSettings, frozen=True, kw_only=True):
    """A source that delivers messages, which its maps make facts of."""

    format: PayloadFormat = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""


class PolledSourceSettings(SourceSettings, frozen=True, kw_only=True):
    """A device that is asked every so many seconds."""

    format: Literal["json"] = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""
    every: Positive = 1.0


class SinkSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, tag_field="type"):
    """A sink that is told all answers."""

    name: str
    program: str = ""
    limits: SinkLimitSettings = SinkLimitSettings()


class ShowingSinkSettings(SinkSettings, frozen=True, kw_only=True):
    """A sink that is told no answers, and owed none: it shows what the engine knows, such as the open alarms."""


class ChoosySinkSettings(SinkSettings, frozen=True, kw_only=True):
    """A sink that is told what it wants to be told."""

    predicates: tuple[str, ...] = ()
    told: Told = "all"
    when: str = ""
    storm: Count | None = None


class PeopleSinkSettings(ChoosySinkSettings, frozen=True, kw_only=True):
    """A sink that tells people."""

    states: tuple[State, ...] = ()
    """Whether it is told what `begins`, what has `ended`, and, where the program tells no changes, what `holds`; all, unless
    told."""
    page: str = ""
    """The address of the gateway's page, as people reach it: `{link}` in templates leads there."""
