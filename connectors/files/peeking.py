"""The beginning of a file that others wrote, and what its columns probably are: for `tidelog peek`."""

from __future__ import annotations

import codecs
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.connectors.files.pieces import name_of, opened
from tidelog.connectors.formats.csv.decoder import split_row
from tidelog.connectors.formats.csv.framer import CsvFramer
from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.formats.json.documents import load
from tidelog.connectors.formats.lines import MAX_LINE
from tidelog.connectors.formats.values import read_argument
from tidelog.connectors.spec import Spec
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.time_formats import compile_format
from tidelog.plans.data.times import read_iso
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.syntax import FieldType
from tidelog.runtime.ports.interfaces import Batch

MOST_ROWS = 1000
"""So many rows are looked at."""
_BYTES = 1 << 18
_SEPARATORS = (",", ";", "\t", "|")
_HINT = re.compile(r"time|zeit|date|datum|stamp|when|epoch|\Ats\Z|\At\Z", re.IGNORECASE)
"""What a column of times is called."""
_COMMA = re.compile(r"[+-]?\d+,\d+\Z")
_CLOCKS = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%H:%M:%S,%f", "%I:%M:%S %p", "%I:%M %p")
_DAYS = ("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d %b %Y", "%b %d %Y", "%d %B %Y")
_FORMATS = (
    *(f"{day}{between}{clock}" for day in _DAYS for between in (" ", ", ") for clock in _CLOCKS),
    *_DAYS,
    *("%Y%m%d%H%M%S", "%Y%m%dT%H%M%S", "%Y%m%dT%H%M%SZ", "%d/%b/%Y:%H:%M:%S %z", "%a %b %d %H:%M:%S %Y"),
    "%Y-%m-%d %H:%M:%S,%f",
)
_EPOCHS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_YEARS = 10**8, 5 * 10**9
"""Seconds since 1970 of the years that data is from: from 1973 to 2128."""
_DECLARED = tuple(f"timeline integer, unit 1 {unit}." for unit in ("s", "ms", "us", "ns"))
_NUMBERED = ("timeline integer.", "timeline rational, resolution 1/1000.", "timeline rational, resolution 1/1000000.")
_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})


@dataclass(slots=True)
class Sample:
    """The first rows of a file by column, as texts; the types of columns that are known, and which hold timestamps.

    `places` are the numbers of the lines in which rows stand, as far as the file has lines.
    """

    format: str
    columns: dict[str, list[str]]
    places: Sequence[int] = ()
    types: dict[str, FieldType] = field(default_factory=dict)
    moments: frozenset[str] = frozenset()
    separator: str = ","
    has_others: bool = False


@dataclass(slots=True)
class Mixed:
    """A field that is text for a few cells alone: how many of how many are no number, and the first, with its line or 0."""

    field: str
    number: int
    total: int
    cell: str
    line: int


@dataclass(slots=True)
class Guess:
    """What a file probably is: the options of its SPEC, its fields with their types, the timelines that may hold its times,
    and whether the times show a clock whose zone nobody knows; which texts are mostly numbers."""

    options: dict[str, str]
    fields: dict[str, FieldType]
    timelines: Sequence[str]
    is_local: bool = False
    mixed: Sequence[Mixed] = ()


def sample_of(spec: Spec) -> Sample:
    """The first rows of a file; DataError where it has none, or is no table."""
    if spec.format == "parquet":
        return _of_parquet(spec)
    text = _beginning(spec)
    _check_text(text, name_of(spec))
    if spec.format == "jsonl" or (spec.format == "facts" and text.lstrip()[:1] == b"{"):
        return _of_json(text, name_of(spec))
    return _of_csv(text, name_of(spec))


def first_facts(spec: Spec, schema: Schema) -> Batch:
    """The facts of the first rows, and what is none; DataError where nothing can be understood."""
    if spec.format == "parquet":
        return _facts_of_parquet(spec, schema)
    decoder = make_decoder(spec.format, schema, name_of(spec), spec.predicate, dialect=spec.dialect)
    framed = decoder.framer(name_of(spec), MAX_LINE).push(_beginning(spec))
    return decoder.decode(framed.lines[: MOST_ROWS + 1], 1)


def guess(sample: Sample) -> Guess:
    """What a sample probably is; DataError where no column looks like a time."""
    options: dict[str, str] = {}
    if sample.separator != ",":
        options["sep"] = "tab" if sample.separator == "\t" else sample.separator
    if sample.separator != "," and _has_commas(sample):
        options["decimal"] = ","
    decimal = options.get("decimal", ".")
    time = _time_of(sample, decimal)
    options |= time.options
    fields: dict[str, FieldType] = {}
    mixed: list[Mixed] = []
    renamed: list[str] = []
    for name, cells in sample.columns.items():
        if name in time.columns:
            continue
        own = _identifier(name, fields)
        fields[own] = sample.types.get(name) or _type_of(cells, decimal)
        if fields[own] == "text":
            mixed += _mixed(own, cells, decimal, sample.places)
        if own != name:
            renamed.append(f"{own}:{_escape(name, ',:')}")
    if renamed:
        options["columns"] = ",".join(renamed)
    if sample.has_others:
        options["extra"] = "ignore"
    return Guess(options, fields, time.timelines, time.is_local, mixed)


def written(options: dict[str, str]) -> str:
    """Options as they stand behind a SPEC."""
    return "&".join(f"{name}={value if name == 'columns' else _escape(value)}" for name, value in options.items())


def identifier_of(name: str) -> str:
    """A name of a file or a column as a program can have it."""
    plain = unicodedata.normalize("NFKD", name.translate(_LETTERS)).encode("ascii", "ignore").decode().lower()
    found = re.sub(r"[^a-z0-9_]+", "_", plain).strip("_")
    return found if found[:1].isalpha() else f"x_{found}" if found else "x"


# --- samples ------------------------------------------------------------------------------------------------------------


def _beginning(spec: Spec) -> bytes:
    """The whole lines at a file's beginning."""
    text = b""
    with opened(spec) as pieces:
        while len(text) < _BYTES and (chunk := pieces.read(_BYTES)):
            text += chunk
        is_whole = len(text) < _BYTES
    return text if is_whole and text.endswith(b"\n") else text + b"\n" if is_whole else text[: text.rfind(b"\n") + 1]


def _check_text(text: bytes, name: str) -> None:
    """DataError where a file is no UTF-8, with what turns it into that."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        encoding = "utf-16" if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "windows-1252"
        convert = f"iconv -f {encoding} -t utf-8 {shlex.quote(name)}"
        raise DataError(f"is not UTF-8: convert it, such as by `{convert}`", f"{name}:{line}") from None


def _of_csv(text: bytes, name: str) -> Sample:
    best: tuple[int, str, list[tuple[int, list[str]]]] | None = None
    for separator in _SEPARATORS:
        try:
            framed = enumerate(CsvFramer(name, separator=separator).push(text).lines, 1)
            lines = [(number, line) for number, line in framed if line.strip()]
            rows = [(number, split_row(line, separator)) for number, line in lines[: MOST_ROWS + 1]]
        except DataError:
            continue
        width = len(rows[0][1]) if rows else 0
        fitting = [each for each in rows if len(each[1]) == width]
        if width > 1 and 2 * len(fitting) > len(rows) and (best is None or width > best[0]):
            best = width, separator, fitting
    if best is None:
        raise DataError("is no table: no `,` `;` `|` or tab divides its lines into columns", name)
    width, separator, rows = best
    (_, header), *rest = rows
    kept = [i for i, column in enumerate(header) if column and header.count(column) == 1]
    columns = {header[i]: [row[i] for _, row in rest] for i in kept}
    places = [number for number, _ in rest]
    return Sample("csv", columns, places, separator=separator, has_others=len(kept) < width)


def _of_json(text: bytes, name: str) -> Sample:
    lines = [(number, line) for number, line in enumerate(text.splitlines()[:MOST_ROWS], 1) if line.strip()]
    documents = [load(line) for _, line in lines]
    if not documents or not all(isinstance(document, dict) for document in documents):
        raise DataError("holds no objects", name)
    members = [document for document in documents if isinstance(document, dict)]
    if "predicate" in members[0] or any(isinstance(value, dict) for value in members[0].values()):
        raise DataError("holds facts already, or objects that are not flat", name)
    common = [key for key in members[0] if all(isinstance(each.get(key), str | bool) for each in members)]
    types: dict[str, FieldType] = {}
    for key in common:
        values = [each[key] for each in members]
        if all(isinstance(value, bool) for value in values):
            types[key] = "boolean"
        else:  # a number is a text of another class
            types[key] = "number" if _all(lambda value: type(value) is not str, values) else "text"
    columns = {key: [str(each[key]) for each in members] for key in common}
    places = [number for number, _ in lines]
    return Sample("jsonl", columns, places, types, has_others=any(set(each) != set(common) for each in members))


def _of_parquet(spec: Spec) -> Sample:
    table, types, moments = _parquet_rows(spec)
    columns = {name: [str(value) for value in table.column(name).to_pylist()] for name in (*types, *moments)}
    return Sample("parquet", columns, types=types, moments=frozenset(moments))


def _parquet_rows(spec: Spec) -> tuple[Any, dict[str, FieldType], list[str]]:
    from tidelog.connectors.sources.parquet_source import open_parquet  # noqa: PLC0415 - only who has Parquet needs pyarrow
    from tidelog.runtime.frames.arrow import pa  # noqa: PLC0415 - as above

    with open_parquet(spec.path) as file:
        table = next(file.iter_batches(MOST_ROWS), pa.RecordBatch.from_pylist([], file.schema_arrow))
    types: dict[str, FieldType] = {}
    moments: list[str] = []
    for item in table.schema:
        kind = item.type.value_type if pa.types.is_dictionary(item.type) else item.type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            moments.append(item.name)
        elif pa.types.is_boolean(kind):
            types[item.name] = "boolean"
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            types[item.name] = "number"
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            types[item.name] = "text"
    return table, types, moments


def _facts_of_parquet(spec: Spec, schema: Schema) -> Batch:
    from tidelog.runtime.frames.layout import layout_of  # noqa: PLC0415 - only who has Parquet needs pyarrow
    from tidelog.runtime.frames.reading import FrameReader  # noqa: PLC0415 - as above

    table, _, _ = _parquet_rows(spec)
    predicate = spec.predicate or ""
    layout = layout_of(table.schema, predicate, schema, spec.dialect)
    return FrameReader(schema, predicate, layout).read(table, spec.path, range(table.num_rows))


# --- guesses ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Times:
    """The columns of the time, and how they are written."""

    columns: tuple[str, ...]
    options: dict[str, str]
    timelines: Sequence[str]
    is_local: bool = False


def _time_of(sample: Sample, decimal: str) -> _Times:
    """The time of a sample: the first column with such a name that holds times, or the first that can be nothing else."""
    hinted = [name for name in sample.columns if _HINT.search(name)]
    if {"from", "to"} <= set(sample.columns):
        found = _times_in(sample, "from", decimal, is_named=True)
        if found is not None:
            return _Times(("from", "to"), found.options, found.timelines, found.is_local)
    for name in sorted(hinted, key=lambda name: (name not in sample.moments, name.lower() != "time")):
        found = _times_in(sample, name, decimal, is_named=True)
        if found is not None:
            return found
    for name in sample.columns:
        found = None if name in hinted else _times_in(sample, name, decimal, is_named=False)
        if found is not None:
            return found
    raise DataError(f"no column looks like a time: {', '.join(sample.columns) or 'there are none'}")


def _times_in(sample: Sample, name: str, decimal: str, *, is_named: bool) -> _Times | None:
    """How a column's times are written, if it holds some; a plain number is one where its name says so."""
    told = {} if name in ("time", "from") else {"time": _escape(name)}
    if name in sample.moments:
        return _Times((name,), told, _DECLARED)
    cells = [cell for cell in sample.columns[name] if cell]
    if not cells:
        return None
    if is_named and _all(lambda cell: _epoch_of(cell, decimal), cells):
        unit = _epoch_of(cells[0], decimal)
        return _Times((name,), {**told, "epoch": unit}, _DECLARED)
    if _all(_is_iso, cells):
        return _Times((name,), told, _DECLARED, is_local=not cells[0].upper().endswith("Z") and "+" not in cells[0])
    for format_ in _FORMATS:
        if _all(compile_format(format_).pattern.fullmatch, cells) and _all(_reader(format_), cells):
            return _Times((name,), {**told, "format": format_}, _DECLARED, is_local="%z" not in format_)
    if is_named and _all(lambda cell: _number(cell, decimal) is not None, cells):
        return _Times((name,), told, _NUMBERED)
    return None


def _all(test: Callable[[str], object], cells: Sequence[str]) -> bool:
    """Whether a test holds of nearly all cells, of which one in twenty may be anything."""
    wrong = most = len(cells) // 20
    for cell in cells:
        wrong -= not test(cell)
        if wrong < 0:
            return False
    return most >= 0


def _reader(format_: str) -> Callable[[str], bool]:
    def is_time(cell: str) -> bool:
        try:
            compile_format(format_).read(cell)
        except DataError:
            return False
        return True

    return is_time


def _is_iso(cell: str) -> bool:
    try:
        read_iso(cell)
    except DataError:
        return False
    return True


def _epoch_of(cell: str, decimal: str) -> str:
    """What a number counts since 1970, if it probably does."""
    number = _number(cell, decimal)
    low, high = _YEARS
    return next((unit for unit, parts in _EPOCHS.items() if number and low * parts <= number < high * parts), "")


def _number(cell: str, decimal: str) -> int | float | None:
    try:
        return read_argument(cell.translate(str.maketrans(",.", ".,")) if decimal == "," else cell)
    except DataError:
        return None


def _has_commas(sample: Sample) -> bool:
    """Whether some column has commas before decimals, and none has points there."""
    cells = [cell for column in sample.columns.values() for cell in column]
    has_points = any(re.fullmatch(r"[+-]?\d+\.\d+", cell) for cell in cells)
    return not has_points and any(map(_COMMA.match, cells))


def _type_of(cells: Sequence[str], decimal: str) -> FieldType:
    given = [cell for cell in cells if cell]
    if given and _all(lambda cell: _number(cell, decimal) is not None, given):
        return "number"
    return "boolean" if given and all(cell.lower() in ("true", "false") for cell in given) else "text"


def _mixed(field: str, cells: Sequence[str], decimal: str, places: Sequence[int]) -> Iterator[Mixed]:
    """Where most cells of a text are numbers, those that are not."""
    given = [(i, cell) for i, cell in enumerate(cells) if cell]
    others = [(i, cell) for i, cell in given if _number(cell, decimal) is None]
    if others and 2 * len(others) < len(given):
        first, cell = others[0]
        yield Mixed(field, len(others), len(given), cell, places[first] if places else 0)


def _identifier(name: str, taken: dict[str, FieldType]) -> str:
    own = identifier_of(name)
    return next(found for found in _numbered(own) if found not in taken and found not in ("time", "from", "to"))


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1


def _escape(text: str, others: str = "") -> str:
    """A text as it stands in an option."""
    text = re.sub(r"%(?=[0-9A-Fa-f]{2})", "%25", text)
    return "".join(f"%{ord(sign):02X}" if sign in f"&?{others}" else sign for sign in text)
