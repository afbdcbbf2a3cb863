"""Where facts are read from: outboxes in directories or behind gateways, as a data source's options name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.connectors.lake.places import on_this_machine
from tidelog.connectors.outbox.client import FORM, OutboxClient, check_address, is_address
from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema
from tidelog.connectors.outbox.outbox import OutboxReader
from tidelog.connectors.transport.credentials import load_token
from tidelog.plans.diagnostics.errors import SpecError


class Reader(Protocol):
    """What is asked of an outbox, wherever it is; each method raises ConnectorError."""

    def schema(self) -> OutboxSchema: ...

    def first(self) -> int: ...

    def last(self) -> int: ...

    def read(self, after: int, limit: int) -> list[OutboxRow]: ...

    def acknowledge(self, upto: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Access:
    """How gateways are asked: the token that they want, and a file of certificates to trust in place of the system's."""

    token: str | None = field(default=None, repr=False)
    trusted: str | None = None


NO_ACCESS = Access()
"""Without a token, which is enough on this machine."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One outbox: its directory, or the address `http://HOST:PORT/outbox/NAME`.

    Plain data: it can be sent elsewhere.
    """

    place: str
    access: Access = NO_ACCESS

    @property
    def is_remote(self) -> bool:
        """Whether it can be out of reach for a while."""
        return is_address(self.place)

    @contextmanager
    def open(self, timeout: float = 30.0) -> Iterator[Reader]:
        """Its reader. SpecError where there is no outbox, ConnectorError where it cannot be read, or a gateway does not
        answer within `timeout` seconds."""
        if self.is_remote:
            access = self.access
            with OutboxClient(self.place, token=access.token, trusted=access.trusted, timeout=timeout) as client:
                yield client
        else:
            with OutboxReader(self.place) as reader:
                yield reader


def place_of(source: str) -> str:
    """The place of an outbox, as users name it: an address as it is, a directory as its absolute path.

    SpecError where it holds a comma, which separates places in the options of the data source.
    """
    if "," in source:
        raise SpecError(f"the name of an outbox must not hold a comma, got `{source}`")
    return check_address(source) if is_address(source) else on_this_machine(source, "outboxes")


def source_options(origins: Sequence[Origin]) -> dict[str, str]:
    """The options by which the data source finds these outboxes, all with the same access: what `read_origins` reads."""
    access = origins[0].access
    options = {} if access.trusted is None else {"trusted": access.trusted}
    if access.token is not None:
        options["token"] = access.token
    for key, is_remote in (("path", False), ("address", True)):
        places = [origin.place for origin in origins if origin.is_remote == is_remote]
        if places:
            options[key] = ",".join(places)
    return options


def read_origins(options: Mapping[str, str]) -> tuple[Origin, ...]:
    """The outboxes that the options of a data source name; SpecError where they name none."""
    access = Access(_token(options), options.get("trusted"))
    paths, addresses = _parts(options.get("path")), _parts(options.get("address"))
    if not paths and not addresses:
        raise SpecError(f"say where the outbox is: `.option('path', DIR)` or `.option('address', '{FORM}')`")
    return tuple(Origin(place, access) for place in (*paths, *map(check_address, addresses)))


def _parts(text: str | None) -> list[str]:
    return [part for each in (text or "").split(",") if (part := each.strip())]


def _token(options: Mapping[str, str]) -> str | None:
    path = options.get("tokenFile")
    return options.get("token") if path is None else load_token(path)


def read_schemas(origins: Sequence[Origin]) -> tuple[OutboxSchema, ...]:
    """What each outbox holds; SpecError where two of them are one, or their nodes have one name."""
    schemas: list[OutboxSchema] = []
    for origin in origins:
        with origin.open() as reader:
            schemas.append(reader.schema())
    check_distinct(origins, schemas)
    return tuple(schemas)


def check_distinct(origins: Sequence[Origin], schemas: Sequence[OutboxSchema]) -> None:
    """SpecError where two outboxes are one, or their nodes have one name."""
    found: dict[str, str] = {}
    nodes: dict[str, str] = {}
    for origin, schema in zip(origins, schemas, strict=True):
        if schema.identity in found:
            raise SpecError(f"`{origin.place}` and `{found[schema.identity]}` are one outbox")
        if schema.node in nodes:
            raise SpecError(
                f"`{origin.place}` and `{nodes[schema.node]}` are both of node `{schema.node}`: "
                "give each gateway its own name"
            )
        found[schema.identity] = nodes[schema.node] = origin.place
