"""The formats by name: which there are, which one a file's ending means, and who reads and writes them."""

from __future__ import annotations

from tidelog.connectors.formats.csv.decoder import CsvDecoder
from tidelog.connectors.formats.csv.wide import WideCsvDecoder
from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.formatting import Encoder, Hiding
from tidelog.connectors.formats.json.decoder import JsonDecoder
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.formats.text.decoder import TextDecoder
from tidelog.connectors.formats.text.encoder import TextEncoder
from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import SpecError

FORMATS = ("facts", "jsonl", "csv", "parquet", "text")
"""Text facts, JSON lines, CSV and Parquet (for reading), and sentences (for writing alone)."""
ROWS_OF_ONE = ("csv", "parquet")
"""The formats whose rows are facts of one predicate, which they do not name."""


def make_decoder(
    kind: str,
    schema: Schema,
    name: str,
    predicate: str | None,
    hint: str = "",
    *,
    retracts: bool = False,
    dialect: Dialect = OURS,
) -> Decoder:
    """The decoder of a format; `hint` is what `JsonDecoder` adds where a line is not JSON at all. SpecError for `text`.

    With `retracts`, facts may be taken back, in all but CSV, which has no form for it. A `dialect` is for tables: SpecError
    where the format has none.
    """
    if kind == "text":
        raise SpecError("text is for people to read: facts come as facts, jsonl or csv")
    if kind == "csv" and dialect.melt is not None:
        return WideCsvDecoder(schema, name, predicate, dialect, dialect.melt)
    if kind == "csv":
        return CsvDecoder(schema, name, predicate, dialect=dialect)
    if kind == "jsonl":
        _check_flat(name, predicate, dialect)
        return JsonDecoder(schema, name, predicate, hint=hint, retracts=retracts, dialect=dialect)
    if dialect != OURS:
        raise SpecError(f"`{name}` is read as {kind}: only `predicate` and `by` are options of it, and others of tables")
    return TextDecoder(schema, name, predicate, retracts=retracts)


def _check_flat(name: str, predicate: str | None, dialect: Dialect) -> None:
    """SpecError where a dialect is not one of flat objects, or nobody knows of which predicate these are."""
    if dialect.is_of_text:
        raise SpecError(f"`{name}` is read as jsonl: `sep`, `decimal` and `melt` are for CSV")
    if dialect != OURS and predicate is None:
        raise SpecError(f"`{name}`: flat objects do not say which predicate they are of: append `&predicate=NAME`")


def make_encoder(kind: str, schema: Schema, iso: bool) -> Encoder:
    """The encoder of `facts`, `jsonl` or `text`; SpecError for `csv`, and for `iso` without a unit."""
    if kind == "csv":
        raise SpecError("csv can be read, not written, here: use facts or jsonl")
    encoder: Encoder = (
        JsonEncoder(schema, iso=iso) if kind == "jsonl" else TextEncoder(schema, iso=iso, sentences=kind == "text")
    )
    return Hiding(encoder, schema.hidden) if schema.hidden else encoder
