"""Facts of whole files, for batch commands: read to the end before anything is derived, at whatever resolution they need.

What a stream refuses as too fine makes the loader refine its timeline: what it holds is encoded anew, and the lines at hand
are read again. So every input is read once only, a pipe as well. A record that cannot be read is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from tidelog.connectors.files.fact_columns import FactColumns
from tidelog.connectors.files.folders import parse_sources
from tidelog.connectors.files.pieces import name_of, opened
from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.formats.lines import MAX_LINE, Lines
from tidelog.connectors.spec import Spec, check_readable, parse_spec
from tidelog.connectors.transport.descriptors import READ_SIZE
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.refining import RefiningTimeline
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.ports.interfaces import Batch, Rejected


class BatchLoader:
    """Loads facts into `facts`, encoded for `timeline`, which becomes finer as they need it.

    With `only`, facts of other predicates are read and not kept. What cannot be read is an error, unless `on_rejected` is
    given, which is told of it.

    >>> import tempfile
    >>> from tidelog.plans.data.facts import Schema, format_record
    >>> loader = BatchLoader(Schema(Timeline()))
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     print("p(a)@[1,2)\\np(b)@1/3", file=file, flush=True)
    ...     loader.load(file.name)
    >>> [format_record(record, loader.timeline) for record in loader.drain()]
    ['p(b)@1/3', 'p(a)@[1,2)']
    """

    def __init__(
        self,
        schema: Schema,
        *,
        only: frozenset[str] | None = None,
        max_line: int = MAX_LINE,
        on_rejected: Callable[[Rejected], None] | None = None,
    ) -> None:
        self.on_rejected = on_rejected
        self.facts = FactColumns(only)
        self.timeline = schema.timeline
        self._schema = schema
        self.max_line = max_line

    def load(self, spec: Spec | str, on_read: Callable[[int], None] = lambda _: None) -> None:
        """Read all that a SPEC names, as `parse_batch_specs` takes it; `on_read` is told the bytes of each piece.

        Raises DataError with its place for the first record that cannot be read, SpecError where there is nothing to read,
        ConnectorError where reading fails.
        """
        if isinstance(spec, str):
            for found in parse_batch_specs([spec]):
                self.load(found, on_read)
            return
        if spec.format == "parquet":
            self._load_parquet(spec, on_read)
            return
        reader = _Reader(self, spec)
        with opened(spec) as pieces:
            last = 0
            while chunk := pieces.read(READ_SIZE):
                reader.feed(chunk)
                on_read(pieces.position - last)
                last = pieces.position
        reader.finish()

    def _load_parquet(self, spec: Spec, on_read: Callable[[int], None]) -> None:
        from tidelog.connectors.files import parquet_batch  # noqa: PLC0415 - only who has Parquet needs pyarrow

        refining = RefiningTimeline.of(self.timeline)
        for piece in parquet_batch.read_refining(spec, self._schema, refining):
            self.reject(piece.batch.rejected)
            if piece.timeline.resolution != self.timeline.resolution:
                self.refine(piece.timeline)
            self.facts.add(piece.batch.records)
            on_read(piece.size)

    def reject(self, rejected: Iterable[Rejected]) -> None:
        """Tell of records that cannot be read; DataError for the first where nobody is told."""
        for item in rejected:
            if self.on_rejected is None:
                raise DataError(item.reason, item.place)
            self.on_rejected(item)

    def refine(self, timeline: Timeline) -> None:
        """Encode all facts for a finer timeline; DataError where it cannot hold them."""
        factor = self.timeline.resolution / timeline.resolution
        self.facts.refine(factor.numerator)
        self.timeline = replace(self.timeline, resolution=timeline.resolution)

    def drain(self) -> Iterator[Record]:
        """Hand out all facts and keep none."""
        return self.facts.drain()

    def schema(self, timeline: Timeline) -> Schema:
        """What a decoder needs to know, for this timeline."""
        return replace(self._schema, timeline=timeline)


def parse_batch_spec(spec: str) -> Spec:
    """A SPEC that can be read to its end: a path, `file:PATH` or `-`; SpecError for any other, or for what is not there."""
    parsed = parse_spec(spec)
    _check_batch_spec(spec, parsed)
    if parsed.scheme == "file":
        check_readable(parsed.path)
    return parsed


def parse_batch_specs(specs: Sequence[str]) -> list[Spec]:
    """SPECs that can be read to their ends: paths, `file:PATH`, `-`; of a folder or a glob, its files.

    SpecError for any other, or for what is not there.
    """
    for spec in specs:
        _check_batch_spec(spec, parse_spec(spec))
    found = parse_sources(specs)
    for parsed in found:
        if parsed.scheme == "file":
            check_readable(parsed.path)
    return found


def _check_batch_spec(spec: str, parsed: Spec) -> None:
    """SpecError for what cannot be read to its end: anything but a path, `file:PATH` and `-`."""
    if parsed.scheme == "parquet":
        raise SpecError(f"`{spec}` is a folder that tables are written to: to read one, say `parquet+PATH`")
    if parsed.address is not None:
        raise SpecError(f"`{spec}` may have no end: a batch command reads files, and `-`")
    if parsed.by is not None:
        raise SpecError(f"`{spec}`: `by` is for streams: a batch command waits for all facts, so leave it away")
    if parsed.format == "csv" and parsed.scheme != "file" and parsed.predicate is None:
        raise SpecError(f"`{spec}` does not say which predicate its rows are: append `?predicate=NAME`")


class _Reader:
    """One input: its lines to facts, again where they turn out to need a finer timeline."""

    def __init__(self, loader: BatchLoader, spec: Spec) -> None:
        self._loader = loader
        self._spec = spec
        self._header: tuple[bytes, int] | None = None
        self._renew(RefiningTimeline.of(loader.timeline))
        self._framer = self._decoder.framer(name_of(spec), loader.max_line)

    def feed(self, chunk: bytes) -> None:
        self._take(self._framer.push(chunk))

    def finish(self) -> None:
        self._take(self._framer.finish())

    def _renew(self, timeline: RefiningTimeline) -> None:
        """Begin anew with a finer timeline: a decoder remembers times as they were encoded, and a CSV header."""
        self._timeline = timeline
        self._decoder = self._make_decoder()
        if self._header is not None:
            self._decoder.decode([self._header[0]], self._header[1])

    def _make_decoder(self) -> Decoder:
        hint = "" if self._spec.is_format_told or self._spec.path else "for text facts say `facts+-`"
        schema = self._loader.schema(self._timeline)
        spec = self._spec
        return make_decoder(spec.format, schema, name_of(spec), spec.predicate, hint, dialect=spec.dialect)

    def _take(self, framed: Lines) -> None:
        batch = self._decode(framed)
        while self._timeline.is_too_coarse:
            self._renew(self._timeline.refined())
            batch = self._decode(framed)
        if framed.rejected or batch.rejected:
            self._loader.reject(sorted([*framed.rejected, *batch.rejected], key=_line))
        if self._timeline.resolution != self._loader.timeline.resolution:
            self._refine_all(framed)
        self._loader.facts.add(batch.records)
        if self._header is None and self._spec.format == "csv":
            self._header = next(((line, framed.first + i) for i, line in enumerate(framed.lines) if line.strip()), None)

    def _decode(self, framed: Lines) -> Batch:
        return self._decoder.decode(framed.lines, framed.first)

    def _refine_all(self, framed: Lines) -> None:
        """Encode what is loaded for the timeline that these lines need."""
        try:
            self._loader.refine(self._timeline)
        except DataError as error:
            raise DataError(error.reason, f"{self._decoder.name}:{self._first_too_fine(framed)}") from None

    def _first_too_fine(self, framed: Lines) -> int:
        """The number of the first line that the facts before it leave no room for."""
        self._renew(RefiningTimeline.of(self._loader.timeline))
        for number, line in enumerate(framed.lines, framed.first):
            self._decoder.decode([line], number)
            if self._timeline.is_too_coarse:
                return number
        return framed.first


def _line(rejected: Rejected) -> int:
    return int(rejected.place.rpartition(":")[2])
