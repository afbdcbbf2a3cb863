"""A kind of source or sink: what a gateway's file may say of it, and what opens it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from tidelog.connectors.mapping.about import About
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.templates import Template
from tidelog.connectors.sinks.choosing import Choice
from tidelog.gateway.kinds.messages import mapper
from tidelog.gateway.kinds.settings import EndSettings, TakesMessages
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import Listener, Sink, Source

if TYPE_CHECKING:
    from tidelog.gateway.file.settings import GatewaySettings

__all__ = [
    "INTERFACE",
    "AnyKind",
    "Heading",
    "Message",
    "Place",
    "SinkKind",
    "SinkOpening",
    "SourceKind",
    "SourceOpening",
]

INTERFACE: Final = 1
"""The interface between a gateway and kinds of ends. It is raised when a package that was made for it would not work."""

S = TypeVar("S", bound=EndSettings)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an end is opened: the gateway's name, and the folder of its file, where relative paths start."""

    gateway: str
    folder: Path

    def client(self, end: EndSettings) -> str:
        """A name by which others may know this end, the same after a restart."""
        return f"{self.gateway}-{end.name}"


@dataclass(frozen=True, slots=True)
class SourceOpening:
    """What a source is opened with: the plan that it feeds, with its schema, and the whole file."""

    place: Place
    plan: Plan
    file: GatewaySettings

    def mapper(self, settings: TakesMessages) -> Mapper:
        """What makes facts of the source's messages; SpecError where its maps do not fit the program."""
        return mapper(settings, self.plan)


@dataclass(frozen=True, slots=True)
class SinkOpening:
    """What a sink is opened with: the plan whose answers it is told, and the whole file.

    `told` are the names of what it is told, `choice` picks these from all answers. With `iso` it writes times as ISO-8601.
    """

    place: Place
    plan: Plan
    file: GatewaySettings
    told: Sequence[str]
    choice: Choice
    iso: bool
    program: str = ""
    """The name of the program that the sink hears."""

    def template(
        self, payload: str | dict[str, Any] | None, *, key: str = "payload", page: str = "", explains: bool = False
    ) -> Template:
        """What is sent for an answer: by the file's `payload`, or else as a JSON line.

        `page` is the address of the gateway's page. With `explains`, the sink is told why answers hold (it is `Explaining`).
        SpecError, with the `key` at which the template stands, for an unknown name.
        """
        try:
            about = self.about(page, explains=explains)
            return Template(self.plan.schema, payload, iso=self.iso, outputs=self.told, about=about)
        except SpecError as error:
            raise SpecError(f"`{key}`: {error}") from None

    def about(self, page: str = "", *, explains: bool = False) -> About:
        """What can be said of answers beside what they hold; SpecError where `page` is no address."""
        if page and not page.startswith(("http://", "https://")):
            raise SpecError(f"`page` is the address of the gateway's page, such as `https://HOST/`, got `{page}`")
        program = self.program if len(self.file.programs) > 1 else ""
        return About({alarm.name: alarm for alarm in self.plan.alarms}, program, page, explains)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind(Generic[S]):
    """A kind of source.

    `settings` is a frozen struct of msgspec that allows no unknown keys, with the kind's name as `tag` in `type`. `open`
    makes a source, not yet entered, and connects to nothing; SpecError where it cannot be. `needs` says what to install
    where `open` finds a module missing. `check` raises SpecError where the machine lacks what the settings name, such as a
    secret. `reach` sees whether the other side is there (`--check --connect`), and says so; OSError where it is not.
    """

    interface: int
    settings: type[S]
    open: Callable[[S, SourceOpening], Source | Listener]
    needs: str = ""
    check: Callable[[S, Place], None] | None = None
    reach: Callable[[S, Place], Awaitable[str]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkKind(Generic[S]):
    """A kind of sink: as for `SourceKind`."""

    interface: int
    settings: type[S]
    open: Callable[[S, SinkOpening], Sink]
    needs: str = ""
    check: Callable[[S, Place], None] | None = None
    reach: Callable[[S, Place], Awaitable[str]] | None = None


AnyKind = SourceKind[Any] | SinkKind[Any]
