"""The pipeline: facts of many outboxes into one table a predicate, each fact exactly once.

Why exactly once: a table says up to which fact it has each outbox, in the commit that brings the facts (`writing`). Facts
are acknowledged once all tables have them. So nothing else has to be kept: whoever goes on, here or elsewhere, reads what is
not acknowledged, and the tables pass over what they have.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from tidelog.connectors.lake.arguments import ArgumentColumn, column_of
from tidelog.connectors.lake.gateways.metrics import Counts, write_metrics
from tidelog.connectors.lake.gateways.origins import NO_ACCESS, Access, Origin, place_of
from tidelog.connectors.lake.gateways.sites import Site, Sites
from tidelog.connectors.lake.gateways.sources_file import SourcesFile
from tidelog.connectors.lake.opening import open_lake
from tidelog.connectors.lake.writing import Parcel, TableWriter
from tidelog.connectors.outbox.file import OutboxRow, OutboxSchema
from tidelog.plans.diagnostics.errors import SpecError

ROWS = 100_000
"""How many facts a batch takes at most, unless told otherwise."""
_LOOKS = 0.2
"""How many seconds pass between two looks at whether it is to stop."""

logger = logging.getLogger("tidelog")


class Ingestion:
    """One run of the pipeline. Used with `with`.

    `sources` are directories of outboxes and addresses of gateways (asked with `access`); `sources_file` has more of them, a
    line each, and is read again when it changes. `fields` declares the arguments of predicates (see `parse_fields`).
    SpecError where gateways do not agree with the tables on what a column is. Gateways that are away join once they answer;
    `tell` is given a line of each. With `accept_gap` tables may lack facts that were acknowledged. `metrics` is a file that
    says after each batch what there is, as Prometheus reads it.
    """

    def __init__(  # noqa: PLR0913 - every option has a default, and names what it is
        self,
        sources: Sequence[str],
        tables: str,
        *,
        sources_file: str | None = None,
        metrics: str | None = None,
        rows: int = ROWS,
        fields: Mapping[str, ArgumentColumn] | None = None,
        access: Access = NO_ACCESS,
        accept_gap: bool = False,
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        named = [Origin(place_of(source), access) for source in sources]
        self._named = None if sources_file is None else SourcesFile(sources_file, named, access)
        self._sites = Sites(named if self._named is None else self._named.read(), tell)
        self._metrics = metrics
        self._lake = open_lake(tables)
        self._tell = tell
        self._rows = rows
        self._fields = dict(fields or {})
        self._accept_gap = accept_gap
        self._dates: bool | None = None
        self._writers: dict[str, TableWriter] = {}
        self._is_run = False
        self.counts = Counts()

    def __enter__(self) -> Ingestion:
        for predicate in self._lake.predicates():
            for line in self._lake.mend(predicate):
                self._tell(line)
        self._look()
        self._check_fields()
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing is held: what is written is written."""

    def run(self, *, every: float = 10.0, once: bool = False, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Write tables, a batch every so many seconds, until `is_stopped`; with `once` until what those that answer hold
        now is written and acknowledged.

        Returns whether every gateway has answered. ConnectorError where it fails for good: what is written stays, and
        another run goes on behind it. SpecError where a gateway that joins contradicts the tables.
        """
        if self._is_run:  # what was seen when it was opened may be old
            self._look()
        self._is_run = True
        ends = {id(site): site.last for site in self._sites.present}
        while not is_stopped():
            is_more = self._take()
            if self._metrics is not None:
                write_metrics(self._metrics, self._sites, self.counts)
            behind = [site for site in self._sites.present if site.taken < ends.get(id(site), 0)]
            if once and not behind:
                break
            if not is_more:
                self._wait(every, is_stopped)
            if not is_stopped() and not (once and is_more):
                self._look()
        return self._sites.are_all_present

    def _wait(self, every: float, is_stopped: Callable[[], bool]) -> None:
        until = time.monotonic() + every
        while not is_stopped() and (left := until - time.monotonic()) > 0:
            time.sleep(min(_LOOKS, left))

    def _look(self) -> None:
        """Ask who is there.

        SpecError, at the first look, where one contradicts the tables, or has facts that they lack; later it is set aside.
        """
        is_strict = self._sites.is_strict
        if self._named is not None and (origins := self._named.changed(self._tell)) is not None:
            self._sites.name(origins)
        for site, schema in self._sites.look():
            try:
                self._sites.check_distinct(site)
                self._join(site, schema)
            except SpecError as error:
                if is_strict:
                    raise
                self._sites.refuse(site, error)

    def _check_fields(self) -> None:
        """SpecError where nobody knows a predicate whose fields are named; who comes later may know it."""
        known = {name for site in self._sites.present if site.schema is not None for name in site.schema.predicates}
        for name in self._fields:
            if self._sites.are_all_present and name not in known:
                raise SpecError(f"no outbox holds `{name}`, whose fields are named")

    def _join(self, site: Site, schema: OutboxSchema) -> None:
        place = site.origin.place
        schema.check_facts(place)
        dates = schema.unit is not None
        if self._dates is None:
            self._dates = dates
        elif self._dates != dates:
            kinds = ("numbers", "dates")
            raise SpecError(f"`{place}`: its times are {kinds[dates]}, and those of the others {kinds[not dates]}")
        try:
            for predicate in schema.predicates:
                self._writer(predicate).check(schema, self._column(schema, predicate))
        except SpecError as error:
            raise SpecError(f"`{place}` cannot join: {error}") from error
        self._check_gap(site, schema)

    def _check_gap(self, site: Site, schema: OutboxSchema) -> None:
        """SpecError where the tables know an outbox, and lack facts that were acknowledged: they are an older copy."""
        gone = site.first - 1
        had = self._had(schema)
        if gone > (had or 0):  # another process may have written and acknowledged them meanwhile
            for name in schema.predicates:
                self._writer(name).look()
            had = self._had(schema)
        if gone <= (had or 0):
            return
        which = f"facts {(had or 0) + 1} to {gone} of node `{schema.node}`"
        if had is not None and not self._accept_gap:
            raise SpecError(
                f"the tables in `{self._lake.place}` lack {which}, which were acknowledged: they are an older copy, or a "
                "table is missing; `--accept-gap` goes on without them"
            )
        self._tell(f"{which} were acknowledged before, and are not taken from its outbox")

    def _had(self, schema: OutboxSchema) -> int | None:
        """Up to which fact the tables have an outbox; None where they know nothing of it."""
        known = (self._writer(name).known(schema.identity) for name in schema.predicates)
        return max((number for number in known if number is not None), default=None)

    def _column(self, schema: OutboxSchema, predicate: str) -> ArgumentColumn:
        known = schema.predicates[predicate]
        column = self._fields.get(predicate) or column_of(known)
        if column.fields and len(column.fields) != known.arity:
            raise SpecError(f"`{predicate}` takes {known.arity} arguments, and {len(column.fields)} fields are named")
        return column

    def _writer(self, predicate: str) -> TableWriter:
        if predicate not in self._writers:
            self._writers[predicate] = TableWriter(self._lake, predicate, dates=bool(self._dates))
        return self._writers[predicate]

    def _take(self) -> bool:
        """Write a batch, if there are facts, and acknowledge it; whether there are more."""
        batch, overtaken = self._sites.read(self._rows)
        for site, schema in overtaken:
            try:
                self._check_gap(site, schema)
            except SpecError as error:  # who has acknowledged them writes other tables
                self._sites.refuse(site, error)
        parcels: dict[str, list[Parcel]] = defaultdict(list)
        for taken in batch:
            for predicate, own in _by_predicate(taken.rows).items():
                column = self._column(taken.schema, predicate)
                parcels[predicate].append(Parcel(taken.schema, column, own, taken.upto))
        for predicate in sorted(parcels):
            self._writer(predicate).write(parcels[predicate])
        self._sites.acknowledge([(taken.site, taken.upto) for taken in batch])
        self.counts.batches += bool(batch)
        self.counts.facts += sum(len(taken.rows) for taken in batch)
        return any(site.waiting for site in self._sites.present)


def _by_predicate(rows: Sequence[OutboxRow]) -> dict[str, list[OutboxRow]]:
    found: dict[str, list[OutboxRow]] = defaultdict(list)
    for row in rows:
        found[row.predicate].append(row)
    return found
