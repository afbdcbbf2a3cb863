"""One program as HTTP shows it: told by the engine what it does, it keeps a bounded amount of everything."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.http.desk.desk import Desk
from tidelog.connectors.http.watching.devices import PostedTo
from tidelog.connectors.http.watching.feed import Feed
from tidelog.connectors.http.watching.ingest import Ingest, Posted, Ticket
from tidelog.connectors.http.watching.lanes import Lanes
from tidelog.connectors.http.watching.measures import Durations
from tidelog.connectors.http.watching.possible import Possible
from tidelog.connectors.http.watching.sources import REASONS, Sources, kind_of, source_name
from tidelog.connectors.http.watching.watched import Violated, Watched
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, unencodable
from tidelog.connectors.transport.links import Linked
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch, Rejected

HISTORY = "alarms.jsonl"
"""The file beside a run's state for what becomes of its alarms."""
MAX_LETTERS = 200
MAX_VIOLATIONS = 100
"""How many dead letters and violations are kept: the last ones."""
MAX_TICKETS = 1024
"""How many posts may wait for a commit."""
KEPT_FACTS = 20_000
"""So many facts an engine that is watched remembers (`Engine(…, remember=KEPT_FACTS)`), to explain answers by them."""
KEPT_ANSWERS, KEPT_BYTES = 10_000, 8 << 20
"""How many answers are kept for those who listen, unless told otherwise."""


class Watch:
    """The observer of one engine. `ingest` is a source for it, of what is posted.

    With `iso` answers have times as ISO-8601, where the program declares a unit. `kept_answers` and `kept_bytes` bound the
    answers that are there for a client that is slow, or comes back. `history` is the file for what becomes of alarms. `now`
    is the time of day (seconds since 1970), `clock` what durations are measured by.
    """

    def __init__(  # noqa: PLR0913 - every option has a default, and names what it is
        self,
        plan: Plan,
        *,
        name: str | None = None,
        iso: bool = False,
        kept_answers: int = KEPT_ANSWERS,
        kept_bytes: int = KEPT_BYTES,
        history: Path | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = plan.name if name is None else name
        self.ingest = Ingest()
        self.devices: list[PostedTo] = []
        """The sources of the program that are posted to."""
        self.links: Mapping[str, Linked] = {}
        """The ends that count what passes on their connections, by their names in the file."""
        self.feed = Feed(kept_answers, kept_bytes)
        self.now, self.clock = now, clock
        self.is_ready = self.is_durable = self.goes_by_clock = False
        self.engine: Watched | None = None
        self.latency, self.commits = Durations(), Durations()
        self.told_counts: dict[str, int] = {}
        self.letters: deque[tuple[float, str, str, Rejected]] = deque(maxlen=MAX_LETTERS)
        self.letters_count = self.violation_count = 0
        self.violations: deque[tuple[float, Violated]] = deque(maxlen=MAX_VIOLATIONS)
        self.desk = Desk(plan, history)
        self.lanes, self.possible, self.sources = Lanes(), Possible(), Sources(clock)
        self._tickets: deque[Ticket] = deque()
        self._storing: list[Ticket] = []
        self._awaited: set[Ticket] = set()
        self.replace(plan, iso=iso)

    def replace(self, plan: Plan, *, iso: bool = False) -> None:
        """Another program runs now, in the same place: what was seen of the old one stays."""
        self.plan = plan
        self.version = hashlib.sha256(plan.program.text.encode()).hexdigest()
        """What tells this program from every other."""
        self.desk.replace(plan)
        self._encoder = JsonEncoder(plan.schema, iso=iso and plan.timeline.unit is not None)

    @property
    def names(self) -> list[str]:
        """Of what there are answers: predicates and questions."""
        return [*dict.fromkeys([*self.plan.told, *[question.name for question in self.plan.questions]])]

    def attach(self, engine: Watched, *, is_durable: bool = False, goes_by_clock: bool = False) -> None:
        """This engine is watched; `is_durable` tells that it says when it has stored something, `goes_by_clock` that time
        moves with the machine's clock."""
        self.engine, self.is_durable, self.goes_by_clock = engine, is_durable, goes_by_clock
        self.desk.engine = engine

    def failed(self) -> None:
        """The engine has failed: what it had taken and not stored is lost, whatever another one stores from now on."""
        self._tickets.clear()
        self._storing = []
        for ticket in self._awaited:
            ticket.lose()

    @contextmanager
    def awaited(self, ticket: Ticket) -> Iterator[None]:
        """Somebody waits for a ticket that was handed over just now: so it is lost where the engine fails."""
        self._awaited.add(ticket)
        try:
            yield
        finally:
            self._awaited.discard(ticket)

    def set_aside(self) -> Sequence[tuple[str, str]]:
        """The actors of the engine that were set aside, with the reasons."""
        return [] if self.engine is None else self.engine.set_aside()

    # --- what the engine tells ------------------------------------------------------------------------------------------

    def took(self, source: str, batch: Batch | None, refused: Sequence[Rejected]) -> None:
        """The operators have taken a batch, but for what was refused."""
        accepted = [] if batch is None else self._accepted(batch.records, refused)
        self.sources.took(source, batch, accepted, refused)
        self.desk.took(accepted)
        self._keep_letters(source_name(source), ((kind_of(item), item) for item in refused))
        if batch is None:
            return
        if batch.received is not None and batch.records:
            self.latency.observe(self.clock() - batch.received)
        if isinstance(batch, Posted) and batch.ticket is not None:
            self._taken(batch.ticket, refused)

    def told(self, answers: Sequence[AnyAnswer]) -> None:
        """Answers became known, and go to the sinks now."""
        for answer in answers:
            name = answer.query if isinstance(answer, HypotheticalAnswer) else answer[0]
            if name in self.plan.spoken:
                continue
            try:
                line = self._encoder.encode([answer])
            except ENCODING_ERRORS as error:  # nobody listens for it; what holds is shown all the same
                self._keep_letters("http", [("undelivered", Rejected("http", unencodable(error), ascii(answer).encode()))])
            else:
                self.feed.append(name, line.decode().rstrip("\n"))
            if isinstance(answer, HypotheticalAnswer):
                name = f"ask {answer.query}"
                self.possible.add(answer)
            else:
                self.lanes.add(answer)
            self.told_counts[name] = self.told_counts.get(name, 0) + 1
        self.desk.told(answers)
        self.feed.wake()

    def going_on(self, run: str, events: int) -> None:
        """A run begins, or goes on with so many events stored."""
        self.desk.going_on(run, events)

    def committing(self, events: int) -> None:
        """What was taken by now is going to be stored; what is taken meanwhile is not."""
        self._storing = [*self._tickets]
        self._tickets.clear()
        self.desk.history.committing(events)

    def committed(self, seconds: float) -> None:
        """What was taken before is stored: whoever posted it is told."""
        self.commits.observe(seconds)
        for ticket in self._storing:
            ticket.stored.set()
        self._storing = []

    def gave_up(self, sink: str, letters: Sequence[Rejected]) -> None:
        """A sink can never deliver these answers."""
        self._keep_letters(sink, (("undelivered", item) for item in letters))

    def _keep_letters(self, end: str, letters: Iterable[tuple[str, Rejected]]) -> None:
        moment = self.now()
        for kind, item in letters:
            self.letters.append((moment, end, kind, item))
            self.letters_count += 1

    def violated(self, violation: Violated) -> None:
        """A constraint begins to be violated."""
        self.violation_count += 1
        self.violations.append((self.now(), violation))

    def _accepted(self, records: list[Record], refused: Sequence[Rejected]) -> list[Record]:
        """The facts of a batch without those that were refused."""
        out = {item.record for item in refused if item.record is not None and kind_of(item) in REASONS}
        return [record for record in records if record not in out] if out else records

    def _taken(self, ticket: Ticket, refused: Sequence[Rejected]) -> None:
        ticket.refused = list(refused)
        ticket.taken.set()
        if self.is_durable:
            self._tickets.append(ticket)
            while len(self._tickets) > MAX_TICKETS:  # told that it is taken alone
                self._tickets.popleft()
