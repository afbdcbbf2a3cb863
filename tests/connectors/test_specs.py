"""SPEC: what each form names, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.connectors import (
    FileSink,
    FileSource,
    ListenerSink,
    ListenerSource,
    SocketSink,
    SocketSource,
    StdinSource,
    StdoutSink,
    TcpAddress,
    UnixAddress,
    open_sink,
    open_source,
    parse_spec,
)
from tidelog.connectors.spec import ACCEPTED, Spec
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import SpecError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("-", Spec("-", "jsonl")),
        ("facts+-", Spec("-", "facts")),
        ("jsonl+-", Spec("-", "jsonl")),
        ("csv+-?predicate=p", Spec("-", "csv", predicate="p")),
        ("data.txt", Spec("file", "facts", "data.txt")),
        ("data", Spec("file", "facts", "data")),
        ("a+b/data.jsonl", Spec("file", "jsonl", "a+b/data.jsonl")),
        ("data.NDJSON", Spec("file", "jsonl", "data.NDJSON")),
        ("data.csv", Spec("file", "csv", "data.csv")),
        ("jsonl+data.txt", Spec("file", "jsonl", "data.txt")),
        ("facts+file:data.csv", Spec("file", "facts", "data.csv")),
        ("file:/data/x.jsonl", Spec("file", "jsonl", "/data/x.jsonl")),
        ("file:///data/x.jsonl", Spec("file", "jsonl", "/data/x.jsonl")),
        ("csv+file:a.csv?predicate=temp", Spec("file", "csv", "a.csv", predicate="temp")),
        ("data.csv?by=sensor", Spec("file", "csv", "data.csv", by="sensor")),
        ("csv+-?predicate=temp&by=sensor", Spec("-", "csv", predicate="temp", by="sensor")),
        ("unix+listen:///s?by=x", Spec("unix+listen", "jsonl", address=UnixAddress("/s"), by="x")),
        ("tcp://127.0.0.1:9000", Spec("tcp", "jsonl", address=TcpAddress("127.0.0.1", 9000))),
        ("facts+tcp+listen://[::1]:9000", Spec("tcp+listen", "facts", address=TcpAddress("::1", 9000))),
        ("tcp+listen://localhost:0", Spec("tcp+listen", "jsonl", address=TcpAddress("localhost", 0))),
        ("unix:///data/s", Spec("unix", "jsonl", address=UnixAddress("/data/s"))),
        ("unix+listen:///data/s", Spec("unix+listen", "jsonl", address=UnixAddress("/data/s"))),
    ],
)
def test_documented_forms(text: str, spec: Spec) -> None:
    """Each documented form is taken apart."""
    assert parse_spec(text) == spec


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", f"`` names no file: expected {ACCEPTED}"),
        ("facts+", f"`facts+` names no file: expected {ACCEPTED}"),
        ("file:", f"`file:` names no file: expected {ACCEPTED}"),
        ("C:\\data.txt", f"`C:\\data.txt` has an unknown scheme `c`: expected {ACCEPTED}"),
        ("http://x/y", f"`http://x/y` has an unknown scheme `http`: expected {ACCEPTED}"),
        ("xml+file:a", "`xml+file:a` has an unknown format `xml`: the formats are facts, jsonl, csv, parquet, text"),
        (
            "json+-",
            "`json+-` has an unknown format `json`: the formats are facts, jsonl, csv, parquet, text; did you mean `jsonl`?",
        ),
        ("tpc://h:80", f"`tpc://h:80` has an unknown scheme `tpc`: expected {ACCEPTED}; did you mean `tcp`?"),
        (
            "unix+listn:///a",
            f"`unix+listn:///a` has an unknown scheme `unix+listn`: expected {ACCEPTED}; did you mean `unix+listen`?",
        ),
        (
            "json+tcp+listen://127.0.0.1:1",
            "`json+tcp+listen://127.0.0.1:1` has an unknown format `json`: "
            "the formats are facts, jsonl, csv, parquet, text; "
            "did you mean `jsonl`?",
        ),
        ("tcp://127.0.0.1", "`tcp://127.0.0.1` is not of the form `tcp://HOST:PORT`"),
        ("tcp:127.0.0.1:80", "`tcp:127.0.0.1:80` is not of the form `tcp://HOST:PORT`"),
        ("tcp://u@h:80", "`tcp://u@h:80` is not of the form `tcp://HOST:PORT`"),
        ("tcp://h:99999", "`tcp://h:99999` cannot be read: port out of range 0-65535"),
        ("unix://host/path", "`unix://host/path` is not of the form `unix:///PATH`"),
        ("file://host/x", "`file://host/x` names a host: expected `file:PATH` or `file:///PATH`"),
        ("a.csv?predicate=", "`a.csv?predicate=` names no predicate after `predicate=`"),
        (
            "a.csv?x=1",
            "`a.csv?x=1` has an unknown option `x`: the options are predicate, by, time, from, to, format, epoch, zone, sep,"
            " decimal, columns, extra, melt",
        ),
        ("a.csv?predicate=p&by=", "`a.csv?predicate=p&by=` names no field after `by=`"),
        (
            "tcp+listen://0.0.0.0:9000",
            "`tcp+listen://0.0.0.0:9000` would listen beyond this machine: use 127.0.0.1, or allow remote connections",
        ),
    ],
)
def test_other_forms_are_refused(text: str, reason: str) -> None:
    """Any other form is a SpecError that says what is accepted."""
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    assert str(caught.value) == reason


def test_remote_listening_must_be_allowed() -> None:
    """Listening beyond loopback is possible where it is allowed on purpose."""
    assert parse_spec("tcp+listen://0.0.0.0:9000", allow_remote=True).address == TcpAddress("0.0.0.0", 9000)  # noqa: S104 - what is tested


def test_sources_and_sinks_are_of_the_kind_named(tmp_path: Path, seconds: Schema) -> None:
    """Each scheme opens its source and its sink; names are for messages."""
    path = tmp_path / "p.csv"
    path.write_text("time,x\n")
    sources = [str(path), "-", "tcp://h:1", "tcp+listen://127.0.0.1:0", "unix:///s", "unix+listen:///s"]
    kinds: list[type] = [FileSource, StdinSource, SocketSource, ListenerSource, SocketSource, ListenerSource]
    opened = [open_source(spec, seconds) for spec in sources]
    assert [type(source) for source in opened] == kinds
    assert [source.name for source in opened[:3]] == [str(path), "stdin", "tcp://h:1"]
    sinks = [str(tmp_path / "out"), "-", "tcp://h:1", "tcp+listen://127.0.0.1:0"]
    assert [type(open_sink(spec, seconds, iso=True)) for spec in sinks] == [
        FileSink,
        StdoutSink,
        SocketSink,
        ListenerSink,
    ]


def test_missing_files_are_told_at_once(tmp_path: Path, integer: Schema) -> None:
    """A file that cannot be read, or a folder that is not there, is told when the SPEC is opened."""
    with pytest.raises(SpecError, match="No such file or directory"):
        open_source(str(tmp_path / "none.txt"), integer)
    with pytest.raises(SpecError, match="it is a directory"):
        open_source(str(tmp_path), integer)
    with pytest.raises(SpecError, match="there is no directory"):
        open_sink(str(tmp_path / "none" / "out.txt"), integer)
    with pytest.raises(SpecError, match="it is a directory"):
        open_sink(str(tmp_path), integer)


def test_what_a_format_cannot_do_is_told(tmp_path: Path, integer: Schema) -> None:
    """CSV is not written, needs a predicate where no file names it, and `predicate` is for sources."""
    with pytest.raises(SpecError, match="csv can be read, not written, here"):
        open_sink(str(tmp_path / "a.csv"), integer)
    with pytest.raises(SpecError, match="append `\\?predicate=NAME`"):
        open_source("csv+-", integer)
    with pytest.raises(SpecError, match="is an option of sources"):
        open_sink("a.txt?predicate=p", integer)
    with pytest.raises(SpecError, match="`by` is an option of sources"):
        open_sink("a.txt?by=sensor", integer)


def test_by_names_a_field_of_an_input(integer: Schema) -> None:
    """A field that no input has, or not the one that is read, is told with the nearest name."""
    open_source("-?by=sensor", integer)
    with pytest.raises(SpecError, match=r"`-\?by=sensr`: no input has a field `sensr`; did you mean `sensor`\?"):
        open_source("-?by=sensr", integer)
    with pytest.raises(
        SpecError, match=r"`by` needs inputs with fields: declare them, such as `input temp\(sensor, value\)\.`"
    ):
        open_source("-?predicate=p&by=sensor", integer)
