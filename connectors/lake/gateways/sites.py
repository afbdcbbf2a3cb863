"""The outboxes of a pipeline: who answers, what each holds, and since when others are away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from tidelog.connectors.lake.gateways.origins import Origin, Reader
from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema
from tidelog.connectors.transport.backoff import pause_before
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

_TIMEOUT = 10.0
"""How many seconds a gateway has for an answer."""
_FIRST, _LONGEST = 1.0, 60.0
"""The pauses between two questions to one that is away, in seconds."""
_AT_ONCE = 32
"""How many gateways are asked at the same time."""
_ROWS_AT_ONCE = 10_000

_Answer = TypeVar("_Answer")
Key = TypeVar("Key", int, str)
"""What tells outboxes apart."""


@dataclass(slots=True)
class Site:
    """An outbox, and how far it is taken. `schema` is None until it has answered for the first time.

    `first` and `last` are those that it holds, as it has told last; `taken` is the last fact that is in the tables.
    """

    origin: Origin
    schema: OutboxSchema | None = None
    first: int = 1
    last: int = 0
    taken: int = 0
    since: str = ""
    attempts: int = 0
    again: float = 0.0

    @property
    def is_away(self) -> bool:
        """Whether it has not answered when it was asked last, or not been asked yet."""
        return self.schema is None or self.attempts > 0

    @property
    def waiting(self) -> int:
        """How many facts it has told that are not in the tables."""
        return max(0, self.last - self.taken)


@dataclass(frozen=True, slots=True)
class Taken:
    """Facts that an outbox has given, at least one, and what it holds."""

    site: Site
    schema: OutboxSchema
    rows: Sequence[OutboxRow]

    @property
    def upto(self) -> int:
        """The number of the last of them."""
        return self.rows[-1].seq


@dataclass(slots=True)
class Sites:
    """The outboxes that are named. `tell` is given a line of each that is away, and of each that comes back."""

    origins: Sequence[Origin]
    tell: Callable[[str], None]
    all: list[Site] = field(init=False)
    is_strict: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self.all = [Site(origin) for origin in self.origins]

    @property
    def present(self) -> list[Site]:
        """Those that have answered when they were asked last, in the order in which they are named."""
        return [site for site in self.all if not site.is_away]

    @property
    def are_all_present(self) -> bool:
        return all(not site.is_away for site in self.all)

    def look(self) -> list[tuple[Site, OutboxSchema]]:
        """Ask all that are there, or whose pause is over, what they hold; returns those that are new, or hold another outbox
        or other predicates than before, with what they hold.

        SpecError where one cannot be read for good. From the second look on such a one is away, as one that does not answer:
        the others go on.
        """
        now = time.monotonic()
        asked = [site for site in self.all if site.again <= now]
        before = {id(site): site.schema for site in asked}
        changed: list[tuple[Site, OutboxSchema]] = []
        for site, (schema, first, last) in self._ask(asked, _held):
            known = before[id(site)]
            if known is None or known.identity != schema.identity:
                site.taken = first - 1
            if known != schema:
                changed.append((site, schema))
            site.schema, site.first, site.last = schema, first, last
            site.taken = max(site.taken, first - 1)
            self._return(site)
        self.is_strict = False
        return changed

    def refuse(self, site: Site, error: SpecError) -> None:
        """Set one aside that contradicts what is there; it is asked again like one that is away."""
        site.schema = None
        self._put_off(site, ConnectorError(str(error)))

    def name(self, origins: Sequence[Origin]) -> None:
        """Take these in the place of those that were named before; what is known of some of them stays."""
        known = {site.origin: site for site in self.all}
        self.all = [known.get(origin) or Site(origin) for origin in dict.fromkeys(origins)]

    def read(self, rows: int) -> tuple[list[Taken], list[tuple[Site, OutboxSchema]]]:
        """The next facts of those that hold some, at most about so many in all; and those outboxes of which another process
        has acknowledged these meanwhile."""
        waiting = [site for site in self.present if site.waiting]
        schemas = {id(site): site.schema for site in waiting if site.schema is not None}  # as who is present has told
        shares = share({number: site.waiting for number, site in enumerate(waiting)}, rows)
        wanted = {id(site): shares[number] for number, site in enumerate(waiting)}
        found = self._ask(waiting, lambda site, reader: _rows(reader, site.taken, wanted[id(site)]))
        taken: list[Taken] = []
        overtaken: list[tuple[Site, OutboxSchema]] = []
        for site, answer in found:
            schema = schemas[id(site)]
            if isinstance(answer, int):
                site.first, site.taken = answer, max(site.taken, answer - 1)
                overtaken.append((site, schema))
            elif answer:
                taken.append(Taken(site, schema, answer))
        return taken, overtaken

    def acknowledge(self, upto: Iterable[tuple[Site, int]]) -> None:
        """Let outboxes forget what is in the tables. One that is away is told with what comes then."""
        numbers = {id(site): (site, number) for site, number in upto}
        for site, number in numbers.values():
            site.taken = number
        for _ in self._ask(
            [site for site, _ in numbers.values()],
            lambda site, reader: reader.acknowledge(numbers[id(site)][1]),
        ):
            pass

    def _ask(self, sites: Sequence[Site], question: Callable[[Site, Reader], _Answer]) -> Iterator[tuple[Site, _Answer]]:
        """Put a question to sites, several at the same time; the answers of those that answer."""
        if not sites:
            return

        def answer(site: Site) -> tuple[_Answer | None, ConnectorError | None]:
            try:
                with site.origin.open(timeout=_TIMEOUT) as reader:
                    return question(site, reader), None
            except ConnectorError as error:
                if not site.origin.is_remote:
                    raise
                return None, error
            except SpecError as error:
                if self.is_strict:
                    raise
                return None, ConnectorError(str(error))

        with ThreadPoolExecutor(min(_AT_ONCE, len(sites))) as pool:
            for site, (found, error) in zip(sites, pool.map(answer, sites), strict=True):
                if error is not None:
                    self._put_off(site, error)
                else:
                    yield site, found  # type: ignore[misc]  # what a question answers may be None

    def _put_off(self, site: Site, error: ConnectorError) -> None:
        if not site.attempts:
            site.since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self.tell(f"a gateway is away since {site.since}, and is asked again: {error}")
        site.attempts += 1
        site.again = time.monotonic() + pause_before(site.attempts, _FIRST, _LONGEST)

    def _return(self, site: Site) -> None:
        if site.attempts:
            self.tell(f"`{site.origin.place}` answers, and joins; it was away since {site.since}")
        site.attempts, site.again = 0, 0.0

    def check_distinct(self, site: Site) -> None:
        """SpecError where one is another's outbox, or of a node of another's name."""
        mine = site.schema
        for other in self.all:
            schema = other.schema
            if other is site or mine is None or schema is None:
                continue
            places = f"`{site.origin.place}` and `{other.origin.place}`"
            if schema.identity == mine.identity:
                raise SpecError(f"{places} are one outbox")
            if schema.node == mine.node:
                raise SpecError(f"{places} are both of node `{mine.node}`: give each gateway its own name")


def _held(site: Site, reader: Reader) -> tuple[OutboxSchema, int, int]:
    return reader.schema(), reader.first(), reader.last()


def _rows(reader: Reader, after: int, limit: int) -> list[OutboxRow] | int:
    """Facts behind number `after`; the number of the first one that is left, where these are acknowledged and gone."""
    found: list[OutboxRow] = []
    while len(found) < limit:
        try:
            rows = reader.read(after, min(_ROWS_AT_ONCE, limit - len(found)))
        except ConnectorError:
            first = reader.first()
            if first <= after + 1:
                raise
            return found or first
        if not rows:
            break
        found += rows
        after = rows[-1].seq
    return found


def share(waiting: Mapping[Key, int], limit: int) -> dict[Key, int]:
    """How many facts each outbox may give to a batch of `limit`: equal shares, and what one leaves goes to the others.

    >>> share({"a": 2, "b": 90, "c": 90}, 10)
    {'a': 2, 'b': 4, 'c': 4}
    """
    taken: dict[Key, int] = {}
    left = limit
    by_need = sorted(waiting, key=lambda key: (waiting[key], key))
    for number, key in enumerate(by_need):
        taken[key] = min(waiting[key], -(-left // (len(by_need) - number)))
        left -= taken[key]
    return taken
