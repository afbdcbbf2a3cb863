"""What a program on Spark reads: SPECs taken apart, and how Spark is told where that is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import unquote

from tidelog.connectors.files.folders import files_in
from tidelog.connectors.formats.endings import compression_of, format_of_path
from tidelog.connectors.lake.places import is_remote, is_table, predicate_of
from tidelog.connectors.outbox.client import FORM, check_address, is_address
from tidelog.connectors.outbox.file import FILE
from tidelog.connectors.spark.running.kafka import is_kafka, parse_topics
from tidelog.connectors.spec import check_readable, parse_spec, split_options
from tidelog.plans.diagnostics.errors import SpecError

FORMATS = ("facts", "jsonl", "csv", "parquet", "delta")
"""What files may hold; `delta` is a table of Delta Lake, as `ingest` makes them."""
ACCEPTED = (
    f"a path, `file:PATH`, `table:NAME`, `outbox:DIR`, `outbox:{FORM}`, `kafka:HOST:PORT/TOPIC`, or a URI such as "
    "`s3a://BUCKET/PATH`; "
    "`facts+`, `jsonl+`, `csv+`, `parquet+` or `delta+` before it names the format"
)
"""What a SPEC may be, for messages."""

FILES = 1000
"""How many files a batch of a stream takes of each input."""
ROWS = 100_000
"""How many facts a batch of a stream takes of each outbox."""

_FORMAT = re.compile(rf"({'|'.join(FORMATS)})\+(.*)\Z", re.DOTALL)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)\Z", re.DOTALL)
_SOCKETS = ("tcp", "unix", "tcp+listen", "unix+listen")
_COMPRESSED = (".gz", ".bz2")
_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_GLOB = re.compile(r"[{}\[\]*?\\]")


@dataclass(frozen=True, slots=True)
class Input:
    """What to read. Plain data: it is sent to Spark's workers.

    `number` is its place among all inputs. `path` is a file, a folder, a glob or a URI, for a table its name, for an outbox
    its directory or its address, and for topics of Kafka the whole SPEC. A CSV or Parquet file, or a table, holds facts of
    `predicate`; of text it is all that it may hold, if it is told. With `skips_damaged`, a Parquet file that is damaged is a
    letter.
    """

    number: int
    format: str
    path: str
    predicate: str | None = None
    skips_damaged: bool = False


def parse_input(spec: str, number: int) -> Input:
    """A SPEC taken apart. SpecError where it is not of the documented form, or names nothing on this machine to read.

    >>> parse_input("csv+s3a://plant/readings/?predicate=temp", 1)
    Input(number=1, format='csv', path='s3a://plant/readings/', predicate='temp', skips_damaged=False)
    """
    if is_kafka(spec):
        parse_topics(spec, written=False)
        return Input(number, "kafka", spec)
    told = _FORMAT.match(spec)
    rest, options = split_options(spec, told[2] if told else spec)
    if "by" in options:
        raise SpecError(f"`{spec}`: Spark reads in no order, so there are no devices to wait for: leave `by` away")
    if other := next((name for name in options if name != "predicate"), None):
        raise SpecError(f"`{spec}`: Spark reads columns by the names of the fields: `{other}` is for files of `tidelog run`")
    predicate = options.get("predicate")
    kind = told[1] if told else None
    found = _SCHEME.match(rest)
    scheme = found[1].lower() if found else "-" if rest == "-" else "file"
    if scheme in ("-", *_SOCKETS):
        raise SpecError(f"`{spec}`: Spark reads files, folders, tables, outboxes and topics of Kafka")
    if scheme == "file":
        path = parse_spec(spec.removeprefix("parquet+").removeprefix("delta+")).path
        kind = _kind_of_local(spec, path, kind)
    elif found and scheme == "outbox":
        return _outbox(spec, found[2], kind, predicate, number)
    elif found and scheme == "table":
        return _table(spec, found[2], kind, predicate, number)
    elif scheme in ("http", "https"):
        raise SpecError(f"`{spec}`: what HTTP serves is an outbox: expected `outbox:{FORM}`")
    elif found and found[2].startswith("//"):
        path = rest
        kind = kind or _kind_of_remote(spec, path)
    elif "+" in scheme:
        unknown = scheme.partition("+")[0]
        raise SpecError(f"`{spec}` has an unknown format `{unknown}`: the formats are {', '.join(FORMATS)}")
    else:
        raise SpecError(f"`{spec}` has an unknown scheme `{scheme}`: expected {ACCEPTED}")
    if predicate is None and kind in ("csv", "parquet", "delta"):
        predicate = _predicate(spec, path, kind)
    return Input(number, kind, path, predicate)


def check_streamed(item: Input) -> None:
    """SpecError where it cannot be read as a stream."""
    if item.format == "delta":
        raise SpecError(f"cannot read `{item.path}` as a stream: a stream reads the outboxes of which its tables are made")
    if item.format not in ("table", "outbox", "kafka") and os.path.isfile(item.path):
        raise SpecError(f"cannot read `{item.path}` as a stream: a stream reads a folder, in which files appear")


def location(item: Input, *, resolved: bool = False) -> str:
    """The path of files as Spark takes it; with `resolved`, links are followed now, and not whenever a file is read."""
    if "://" in item.path:
        return item.path
    path = os.path.realpath(item.path) if resolved and os.path.exists(item.path) else os.path.abspath(item.path)
    return "file://" + (escape(path) if os.path.lexists(path) else path)


def escape(path: str) -> str:
    """A path that is one, and no glob."""
    return _GLOB.sub(r"\\\g<0>", path)


def _table(spec: str, name: str, kind: str | None, predicate: str | None, number: int) -> Input:
    if kind is not None:
        raise SpecError(f"`{spec}`: a table has no format: leave `{kind}+` away")
    if not name:
        raise SpecError(f"`{spec}` names no table: expected `table:NAME`")
    return Input(number, "table", name, predicate or name.rpartition(".")[2].strip("`"))


def _outbox(spec: str, place: str, kind: str | None, predicate: str | None, number: int) -> Input:
    if kind is not None:
        raise SpecError(f"`{spec}`: an outbox has no format: leave `{kind}+` away")
    if predicate is not None:
        raise SpecError(
            f"`{spec}`: the facts of an outbox have predicates of their own: leave `?predicate={predicate}` away"
        )
    if is_address(place):
        return Input(number, "outbox", check_address(place))
    path = place.removeprefix("//") if place.startswith("///") else place
    if is_remote(path):
        raise SpecError(f"`{spec}`: outboxes are in a folder of this machine, or behind `{FORM}`")
    if path.startswith("//"):
        raise SpecError(f"`{spec}` names a host: expected `outbox:DIR` or `outbox:{FORM}`")
    if not path or "\0" in path:
        raise SpecError(f"`{spec}` names no directory: expected `outbox:DIR`")
    return Input(number, "outbox", path)


def _kind_of_local(spec: str, path: str, told: str | None) -> str:
    """The format of what is on this machine; SpecError where nothing can be read there, or its format cannot be known."""
    if told == "delta" or (told is None and is_table(path)):
        return "delta"
    if os.path.isdir(path):
        return told or _ending(path) or _kind_of_folder(spec, path)
    if _GLOB.search(path) and not os.path.lexists(path):
        return told or _kind_of_remote(spec, path)
    check_readable(path)
    if not os.path.isfile(path):
        raise SpecError(f"cannot read `{path}`: Spark reads files and folders")
    if os.path.basename(path)[0] in "_.":
        raise SpecError(f"cannot read `{path}`: Spark passes over files whose names begin with `_` or `.`")
    return told or _kind_of_file(path)


def _kind_of_folder(spec: str, path: str) -> str:
    kinds: set[str] = set()
    for name in map(os.path.basename, files_in(path)):
        kinds.add(_kind_of_file(name))
        if len(kinds) > 1:
            found = ", ".join(sorted(kinds))
            raise SpecError(f"`{path}` holds files of several formats ({found}): say which it is, such as `csv+{spec}`")
    if os.path.exists(os.path.join(path, FILE)):
        raise SpecError(f"`{path}` is an outbox: say `outbox:{path}`")
    if not kinds:
        raise SpecError(f"`{path}` holds no files: say which format they will have, such as `csv+{spec}`")
    return kinds.pop()


def _kind_of_remote(spec: str, path: str) -> str:
    """The format by the ending alone, since nobody looks whether it is a file or a folder."""
    name = _last(path)
    if path.endswith("/") or not PurePath(name).suffix:
        raise SpecError(f"`{spec}` does not say which format it has: put it in front, such as `csv+{spec}`")
    return _kind_of_file(name)


def _kind_of_file(path: str) -> str:
    if compression_of(path) == "zst":
        raise SpecError(f"cannot read `{path}`: Spark reads files that are compressed by gzip or bzip2")
    return _ending(path) or format_of_path(path)


def _ending(path: str) -> str | None:
    """The format that an ending means, whether compressed or not."""
    return _ENDINGS.get(PurePath(_uncompressed(_last(path))).suffix.lower())


def _predicate(spec: str, path: str, kind: str) -> str:
    """The predicate that a file or a folder is named after."""
    name = _uncompressed(_last(path))
    if not os.path.isdir(path) or _ending(name):
        name = name if kind == "delta" else PurePath(name).stem
    # folders of our own tables are quoted
    name = predicate_of(name) if kind == "delta" else unquote(name) if kind == "parquet" else name
    if not name or (_GLOB.search(name) and not os.path.lexists(path)):
        raise SpecError(f"`{spec}` does not say which predicate its rows are: append `?predicate=NAME`")
    return name


def _last(path: str) -> str:
    """The last name of a path: that of a folder, too."""
    return os.path.basename(path.rstrip("/")) if "://" in path else os.path.basename(os.path.abspath(path))


def _uncompressed(name: str) -> str:
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in _COMPRESSED else name
