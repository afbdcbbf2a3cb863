"""Opens what a SPEC names: a source or a sink, not yet entered."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from tidelog.connectors.formats.csv.encoder import CsvEncoder
from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.dividing import DividingDecoder, positions_of
from tidelog.connectors.formats.endings import compression_of, predicate_of_path
from tidelog.connectors.formats.formats import make_decoder, make_encoder
from tidelog.connectors.formats.framing import MAX_LINE
from tidelog.connectors.sinks.file_sink import FileSink
from tidelog.connectors.sinks.listener_sink import ListenerSink
from tidelog.connectors.sinks.socket_sink import SocketSink
from tidelog.connectors.sinks.stdout_sink import StdoutSink
from tidelog.connectors.sources.compressed_source import CompressedSource
from tidelog.connectors.sources.file_source import FileSource
from tidelog.connectors.sources.listener_source import ListenerSource
from tidelog.connectors.sources.socket_source import SocketSource
from tidelog.connectors.sources.stdin_source import StdinSource
from tidelog.connectors.spec import Spec, check_readable, check_writable, parse_spec
from tidelog.connectors.transport.acceptor import ClientLimits
from tidelog.plans.data.dialect import OURS
from tidelog.plans.data.facts import PredicateSchema, Schema
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.runtime.ports.interfaces import Listener, Sink, Source


def open_source(
    spec: str | Spec,
    schema: Schema,
    *,
    allow_remote: bool = False,
    max_line: int = MAX_LINE,
    clients: ClientLimits | None = None,
    retracts: bool = False,
) -> Source | Listener:
    """The source that a SPEC names, not yet entered. `clients` bounds who connects to one that listens.

    A folder or a glob is several sources: `parse_sources` tells which. With `retracts`, text and JSON lines may take facts
    back, for an engine with `corrections`.

    SpecError where the SPEC is not of the documented form, names no file that can be read, or would listen beyond this
    machine without `allow_remote`.
    """
    parsed = parse_spec(spec, allow_remote=allow_remote) if isinstance(spec, str) else spec
    if parsed.scheme == "parquet":
        raise SpecError(f"`parquet:{parsed.path}` is a folder that tables are written to: to read one, say `parquet+PATH`")
    if parsed.format == "parquet":
        return _open_parquet(parsed, schema)
    if parsed.format == "csv" and parsed.scheme != "file" and parsed.predicate is None:
        raise SpecError(f"`{spec}` does not say which predicate its rows are: append `?predicate=NAME`")
    name = parsed.path or (str(parsed.address) if parsed.address else "stdin")
    hint = "" if parsed.is_format_told or parsed.path else f"for text facts say `--in facts+{spec}`"
    decoder: Decoder = make_decoder(
        parsed.format, schema, name, parsed.predicate, hint, retracts=retracts, dialect=parsed.dialect
    )
    if parsed.by is not None:
        decoder = DividingDecoder(decoder, positions_of(parsed.by, schema, parsed.predicate, str(spec)))
    if parsed.address is not None:
        if parsed.listens:
            return ListenerSource(parsed.address, decoder, max_line=max_line, clients=clients)
        return SocketSource(parsed.address, decoder, max_line=max_line)
    if parsed.scheme == "-":
        return StdinSource(decoder, max_line=max_line)
    check_readable(parsed.path)
    compression = compression_of(parsed.path)
    if compression is not None:
        if not os.path.isfile(parsed.path):
            raise SpecError(f"cannot read `{parsed.path}`: what is compressed is read from a regular file")
        return CompressedSource(parsed.path, decoder, compression, max_line=max_line)
    return FileSource(parsed.path, decoder, max_line=max_line)


def _open_parquet(spec: Spec, schema: Schema) -> Source:
    from tidelog.connectors.sources.parquet_source import ParquetSource  # noqa: PLC0415 - only who has Parquet needs pyarrow

    predicate = spec.predicate or PurePath(spec.path).stem
    parts = None if spec.by is None else positions_of(spec.by, schema, predicate, spec.path)
    check_readable(spec.path)
    return ParquetSource(spec.path, schema, predicate, parts, spec.dialect)


def open_sink(
    spec: str,
    schema: Schema,
    *,
    iso: bool = False,
    allow_remote: bool = False,
    clients: ClientLimits | None = None,
    outputs: Iterable[str] = (),
    keeps_file: bool = False,
) -> Sink:
    """The sink that a SPEC names, not yet entered; SpecError as for `open_source`, and for `iso` without a unit.

    `outputs` are the predicates of which a folder of tables has one each, also where there are no answers, and CSV holds
    one; without them there is no CSV. With `keeps_file` a file is not emptied first: answers go behind what it holds.
    """
    parsed = parse_spec(spec, allow_remote=allow_remote)
    if parsed.format == "parquet":
        return _open_tables(spec, parsed, schema, outputs)
    named = () if keeps_file or parsed.format != "csv" else tuple(outputs)
    for option in ("by",) if named else ("predicate", "by"):
        if getattr(parsed, option) is not None:
            raise SpecError(f"`{spec}`: `{option}` is an option of sources")
    if parsed.dialect != OURS:
        raise SpecError(f"`{spec}`: how tables of others are read is for sources")
    if parsed.scheme == "file" and compression_of(parsed.path) is not None:
        raise SpecError(f"`{spec}`: answers are written as they are, not compressed")
    if named:
        return _open_csv(spec, parsed, CsvEncoder(schema, _output_of(spec, parsed, schema, named), iso=iso))
    encoder = make_encoder(parsed.format, schema, iso)
    if parsed.address is not None:
        if parsed.listens:
            return ListenerSink(parsed.address, encoder, clients=clients)
        return SocketSink(parsed.address, encoder)
    if parsed.scheme == "-":
        return StdoutSink(encoder)
    check_writable(parsed.path)
    return FileSink(parsed.path, encoder, is_kept=keeps_file)


def _open_csv(text: str, spec: Spec, encoder: CsvEncoder) -> Sink:
    if spec.address is not None:
        raise SpecError(f"`{text}`: csv has one header, and who connects later would not see it: use facts or jsonl")
    if spec.path:
        check_writable(spec.path)
    sink = FileSink(spec.path, encoder) if spec.path else StdoutSink(encoder)
    sink.begin_with(encoder.header)
    return sink


def _output_of(text: str, spec: Spec, schema: Schema, outputs: Sequence[str]) -> PredicateSchema:
    """The output whose facts a file of CSV holds: that of the SPEC, that which the file is named after, or the only one."""
    stem = predicate_of_path(spec.path) if spec.path else ""
    name = spec.predicate or (stem if stem in outputs else outputs[0] if len(outputs) == 1 else None)
    if name is None:
        such = f"such as `{outputs[0]}`"
        raise SpecError(f"`{text}`: csv holds one output of {len(outputs)}: append `?predicate=NAME`, {such}")
    if name not in outputs:
        raise SpecError(f"`{text}`: the program has no output `{name}`{suggest(name, outputs)}")
    return schema.predicates[name]


def _open_tables(text: str, spec: Spec, schema: Schema, outputs: Iterable[str]) -> Sink:
    if not spec.is_format_told:
        raise SpecError(f"`{text}`: tables go to a folder, which `parquet:DIR` names")
    from tidelog.connectors.sinks.parquet_sink import ParquetSink  # noqa: PLC0415 - only who has Parquet needs pyarrow

    return ParquetSink(spec.path, schema, outputs)
