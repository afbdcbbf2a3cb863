"""Facts that hold at all times, from a file: `background connect from "connect.csv"`."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace

from tidelog.connectors.formats.csv.decoder import CsvDecoder
from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.endings import compression_of, format_of_path
from tidelog.connectors.formats.framing import LineReader
from tidelog.connectors.formats.json.decoder import JsonDecoder
from tidelog.connectors.formats.text.decoder import TextDecoder
from tidelog.connectors.transport.compressed import CompressedFile
from tidelog.connectors.transport.descriptors import READ_SIZE
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.diagnostics.errors import ConnectorError, DataError
from tidelog.runtime.ports.interfaces import Batch


def load_facts(path: str, schema: Schema, predicate: str) -> list[Record]:
    """The facts of one predicate in a file, each from `NEG` to `POS`: CSV, JSON lines or text, all without times.

    Raises DataError with its place for the first record that cannot be read, and for a file that cannot be.
    """
    reader = LineReader(_timeless_decoder(path, _open_to_data(schema, predicate), predicate))
    records: list[Record] = []
    try:
        compression = compression_of(path)
        with closing(CompressedFile(path, compression) if compression else open(path, "rb")) as file:
            while chunk := file.read(READ_SIZE):
                records += _accepted(reader.feed(chunk))
    except OSError as error:
        raise DataError(f"cannot be read: {os.strerror(error.errno or 0)}", path) from error
    except ConnectorError as error:
        raise DataError(str(error), path) from error
    return records + _accepted(reader.finish())


def _timeless_decoder(path: str, schema: Schema, predicate: str) -> Decoder:
    kind = format_of_path(path)
    if kind == "csv":
        return CsvDecoder(schema, path, predicate, timeless=True)
    if kind == "jsonl":
        return JsonDecoder(schema, path, predicate, timeless=True)
    return TextDecoder(schema, path, predicate, timeless=True)


def _open_to_data(schema: Schema, predicate: str) -> Schema:
    """The schema with this predicate admitted: background facts are data, though no stream may bring them."""
    known = schema.predicates.get(predicate)
    if known is None:
        return replace(schema, others=None)
    return replace(schema, predicates={predicate: replace(known, accepts_input=True)})


def _accepted(batch: Batch) -> list[Record]:
    for item in batch.rejected:
        raise DataError(item.reason, item.place)
    return batch.records
