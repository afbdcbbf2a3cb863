"""Outboxes as inputs of a program on Spark: what gateways have derived, over history and as a stream, by file and by TCP."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from outbox.test_outbox_server import CERTIFICATE, KEY

import tidelog
from children import WAIT
from spark.quick import environment
from tidelog.commands.spark.start import described
from tidelog.connectors.http import HttpServer, HttpSettings
from tidelog.connectors.lake.gateways.origins import NO_ACCESS, Access, Origin, read_origins, source_options
from tidelog.connectors.outbox.file import OutboxSchema
from tidelog.connectors.outbox.outbox import OutboxReader
from tidelog.connectors.spark.running.inputs.arrivals import FACTS
from tidelog.connectors.spark.running.inputs.inputs import Input, parse_input, read_input
from tidelog.connectors.spark.running.inputs.outbox_rows import FACT, FactReader, FactsOfTask
from tidelog.connectors.spark.running.inputs.outboxes import acknowledge, check_outboxes, scale_of
from tidelog.connectors.spark.running.job import Job, job_of
from tidelog.connectors.transport.addresses import TcpAddress
from tidelog.connectors.transport.credentials import load_certificate
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

from .conftest import Fill
from .test_run_command import told
from .test_run_inputs import ORDERED, Read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
PROGRAM = """
timeline integer, unit 1 s.
input hot(sensor: text, value: number).
input seen(sensor).
output alarm.
alarm(S) :- hot(S, _), not seen(S).
"""
HOT: list[Record] = [("hot", ("s 1", 21.5), 2, 4), ("on", (), 4, 4), ("hot", (7, 1), 6, 6), ("seen", ("x",), NEG, POS)]
"""What a gateway tells on a rational timeline, resolution 1 s: the third is none to the program, which wants a text."""


def job(program: str = PROGRAM) -> Job:
    return job_of(tidelog.compile(program), 4)


# --- SPECs and units -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("outbox:a/b", "a/b"),
        ("outbox:///a/b", "/a/b"),
        ("OUTBOX:a?b", "a?b"),
        ("outbox:https://gw1.plant:9400/outbox/a", "https://gw1.plant:9400/outbox/a"),
        ("outbox:HTTP://[::1]:9400/outbox/a/", "http://[::1]:9400/outbox/a"),
    ],
)
def test_specs(spec: str, path: str) -> None:
    """A SPEC of an outbox names a directory, or the address of a gateway."""
    assert parse_input(spec, 3) == Input(3, "outbox", path)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("outbox:", "names no directory: expected `outbox:DIR`"),
        ("outbox://gw1:9400", "names a host: expected `outbox:DIR` or `outbox:http://HOST:PORT/outbox/NAME`"),
        ("jsonl+outbox:a", r"an outbox has no format: leave `jsonl\+` away"),
        ("outbox:a?predicate=p", r"predicates of their own: leave `\?predicate=p` away"),
        ("outbox:http://gw1", "`http://gw1` is not of the form `http://HOST:PORT/outbox/NAME`"),
        ("http://gw1/outbox/a", "what HTTP serves is an outbox: expected `outbox:http:"),
        ("delta+https://gw1/outbox/a", "what HTTP serves is an outbox: expected `outbox:http:"),
        ("outbox:tcp://127.0.0.1:9400", "outboxes are in a folder of this machine"),
    ],
)
def test_wrong_specs(spec: str, message: str) -> None:
    """What names no outbox is told, with what is expected."""
    with pytest.raises(SpecError, match=message):
        check_outboxes([parse_input(spec, 1)], NO_ACCESS, Timeline())


def test_units_are_converted() -> None:
    """Times are those of the program where both say what a unit is, or neither does; where one does, nobody knows."""

    def scale(theirs: str | None, ours: Fraction | None) -> Fraction:
        return scale_of(OutboxSchema("n", "i", "rational", theirs, {}), Timeline(unit=ours), "gw1")

    assert scale(None, None) == scale("1/10", Fraction(1, 10)) == 1
    assert (scale("60", Fraction(1, 2)), scale("1/1000", Fraction(60))) == (120, Fraction(1, 60_000))
    with pytest.raises(SpecError, match="`gw1` does not say what its unit of time is, and that of the program is 60 s"):
        scale(None, Fraction(60))
    with pytest.raises(SpecError, match="`gw1` counts time in units of 1/10 s, and the program has none: declare one"):
        scale("1/10", None)


def test_outboxes_are_looked_at_first(
    fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is wrong with outboxes is told before Spark is started: a name that is there twice, units, what is written."""
    monkeypatch.chdir(tmp_path)
    path = fill("n1", [])
    os.rename(path, "gw1")
    fill("n1", [])
    fill("n2", [], holds_changes=True)
    Path("p.tide").write_text(PROGRAM, "utf-8")
    Path("none.tide").write_text("timeline integer.\np(X) :- q(X).\n", "utf-8")
    twins = f"`{tmp_path}/outbox-n1` and `{tmp_path}/gw1` are both of node `n1`: give each gateway its own name"
    for message, program, options in (
        (twins, "p.tide", ["--in", "outbox:outbox-n1"]),
        (f"`{tmp_path}/outbox-n2` holds changes", "p.tide", ["--in", "outbox:outbox-n2"]),
        ("are one outbox", "p.tide", ["--in", "outbox:../" + tmp_path.name + "/gw1"]),
        ("there is no outbox in", "p.tide", ["--in", "outbox:nowhere"]),
        ("name of an outbox must not hold a comma", "p.tide", ["--in", "outbox:a,b"]),
        ("counts time in units of 1 s, and the program has none", "none.tide", []),
        ("`gw1/t` is written, and", "p.tide", ["--out", "parquet:gw1/t"]),
        ("`--files` is for streams", "p.tide", ["--files", "3"]),
        ("cannot read `nowhere`", "p.tide", ["--token-file", "nowhere"]),
        ("reading an outbox there needs TLS", "p.tide", ["--in", "outbox:http://192.0.2.1:9400/outbox/a"]),
    ):
        code, said = told(capfd, *options, program=program, source="outbox:gw1")
        assert (code, message in said) == (2, True), said


def test_a_checkpoint_knows_its_outboxes() -> None:
    """Which outboxes a stream reads, and in which order, is part of what its checkpoint is good for."""
    inputs = [parse_input(f"outbox:{place}", 0) for place in ("/gw1", "http://127.0.0.1:9400/outbox/a")]
    assert described(job(), inputs, 0)["--in"] == "outbox file:///gw1, outbox http://127.0.0.1:9400/outbox/a"


@pytest.mark.parametrize("access", [NO_ACCESS, Access("t" * 16), Access("t" * 16, "/ca.pem"), Access(trusted="/ca.pem")])
def test_access_is_handed_on(access: Access) -> None:
    """The options that are made of outboxes are read as the same outboxes, with the same access."""
    origins = (Origin("/gw1", access), Origin("/gw2", access), Origin("http://127.0.0.1:9400/outbox/a", access))
    assert read_origins(source_options(origins)) == origins


# --- facts ---------------------------------------------------------------------------------------------------------------


def batches(path: str, size: int) -> Iterator[pa.RecordBatch]:
    """The facts of an outbox as Spark hands them to a worker, so many at once."""
    with OutboxReader(path) as reader:
        node, rows = reader.schema().node, reader.read(reader.first() - 1)
    for begin in range(0, len(rows), size):
        some = rows[begin : begin + size]
        columns = {"node": [node] * len(some), "seq": [row.seq for row in some]}
        columns |= {name: [getattr(row, name) for row in some] for name in FACT}
        columns["arguments"] = [texts_of(row.arguments) for row in some]
        yield pa.RecordBatch.from_pydict(columns)


def texts_of(arguments: str) -> list[str]:
    """The texts of a JSON array of texts without commas, and of numbers."""
    return [text for text in arguments.removeprefix("[").removesuffix("]").split(",") if text]


def test_facts_of_an_outbox(fill: Fill) -> None:
    """Each is a fact of its own predicate; those that the program lacks are letters, as is what does not fit."""
    path = fill("n1", HOT)
    for size in (1, 2, 9):
        read = Read.of(FactsOfTask(Input(1, "outbox", path), job(), Fraction(1)).read(batches(path, size)))
        assert read.facts == [("hot", ("s 1", 21.5), 1, 2), ("seen", ("x",), NEG, POS)]
        assert read.counts == {FACTS: 2}
        assert read.spans == [(NEG, 1)]
        unknown, letter = read.letters
        assert (unknown.place, unknown.reason) == ("n1:2", "the program has no predicate `on`")
        assert (letter.place, letter.reason) == ("n1:3", "`hot` expects text for `sensor`, got 7")
        assert letter.raw == (
            b'{"predicate":"hot","arguments":[7,1],"start":"3","end":"3","start_open":false,"end_open":false}'
        )


def test_order_of_outboxes(fill: Fill) -> None:
    """Where a stage needs the order of arrival, places sort facts by their numbers, whatever parts they are read in."""
    path = fill("n1", [("p", (number,), 0, 0) for number in range(600)], "output p.\np(X) :- q(X).")
    some = list(batches(path, 70))
    parts = [FactsOfTask(Input(1, "outbox", path), job(ORDERED), Fraction(1)).read(iter(p)) for p in (some[:5], some[5:])]
    facts = [(place, record) for read in map(Read.of, parts) for place, record in zip(read.places, read.facts, strict=True)]
    assert [record[1][0] for _, record in sorted(facts)] == list(range(600))


def test_times_are_exact() -> None:
    """A time is converted exactly; what the program cannot hold is a letter that says so."""
    plan = tidelog.compile("timeline integer, unit 60 s.\ninput p(a).\noutput q.\nq(X) :- p(X).")
    reader = FactReader(plan.schema, Fraction(1, 120))
    ends = [("120", "240", False, True), (None, "241/2", True, False), ("1", "2", False, False), ("-120", None, False, True)]
    columns = [["p"] * 4, [['"a"']] * 4, *map(list, zip(*ends, strict=True))]
    records, rejected = reader.read("n", [1, 2, 3, 4], columns)
    assert [record[2:] for record in records] == [(1, 1), (-1, POS)]
    assert [(each.place, each.reason) for each in rejected] == [
        ("n:2", "time 241/240 is not a whole number, as `timeline integer` needs"),
        ("n:3", "time 1/120 is not a whole number, as `timeline integer` needs"),
    ]


def test_a_stream_that_has_ended_acknowledges(fill: Fill) -> None:
    """What Spark tells of the last batch is acknowledged, each outbox by its identity; other inputs do not matter."""
    paths = [fill(node, [("hot", ("a", 1), 0, 0)] * 3) for node in ("n1", "n2", "n3")]
    inputs = [*[parse_input(f"outbox:{path}", 0) for path in paths], Input(3, "jsonl", "in")]
    readers = [OutboxReader(path) for path in paths]
    ends = [{readers[1].schema().identity: 2}, {"logOffset": 7}, None, {readers[0].schema().identity: 3}]
    progress = {"batchId": 4, "sources": [{"description": "x", "endOffset": end} for end in ends]}
    acknowledge(inputs, NO_ACCESS, msgspec.json.encode(progress).decode())
    assert [reader.first() for reader in readers] == [4, 3, 1]
    for reader in readers:
        reader.close()
    gone = parse_input("outbox:http://127.0.0.1:9/outbox/a", 0)
    acknowledge([gone], NO_ACCESS, '{"sources":[]}')  # and nobody is told, but the log


# --- on Spark ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_history_of_an_outbox(spark: SparkSession, fill: Fill) -> None:
    """Over history all facts that are not acknowledged are read, and stay."""
    path = fill("n1", [("on", (), 0, 0), *HOT])
    with OutboxReader(path) as reader:
        reader.acknowledge(1)
        read = Read.frame(read_input(spark, parse_input(f"outbox:{path}", 1), job(), streaming=False))
        assert read.sorted() == (
            [("hot", ("s 1", 21.5), 1, 2), ("seen", ("x",), NEG, POS)],
            [("n1:3", "the program has no predicate `on`"), ("n1:4", "`hot` expects text for `sensor`, got 7")],
        )
        assert (reader.first(), reader.last()) == (2, 5)


@pytest.mark.slow
def test_stream_of_an_outbox(spark: SparkSession, fill: Fill, tmp_path: Path) -> None:
    """As a stream each fact is read once, in bounded batches, and acknowledged when its batch is done."""
    path = fill("n1", [("hot", (f"s{number}", 1), 2 * number, 2 * number) for number in range(5)])
    batches: list[list[Record]] = []

    def run() -> None:
        frame = read_input(spark, parse_input(f"outbox:{path}", 1), job(), streaming=True, rows=2)
        writer = frame.writeStream.foreachBatch(lambda frame, _: batches.append(Read.frame(frame).facts))
        query = writer.option("checkpointLocation", os.fspath(tmp_path / "checkpoint")).start()
        query.processAllAvailable()
        query.processAllAvailable()
        query.stop()

    run()
    with OutboxReader(path) as reader:
        assert reader.first() == 6
    fill("n1", [("hot", ("s5", 1), 0, 0)])
    run()
    assert [[row[0] for _, row, *_ in batch] for batch in batches] == [["s0", "s1"], ["s2", "s3"], ["s4"], ["s5"]]


def serving(box: str, use: Callable[[str], T], token: str) -> T:
    """What `use` returns of the address at which the outbox is served, with TLS and a token."""

    async def main() -> T:
        tls = load_certificate(CERTIFICATE, KEY)
        server = HttpServer([], HttpSettings(TcpAddress("127.0.0.1", 0), token=token, tls=tls))
        server.outboxes["gw"] = box
        async with server:
            return await anyio.to_thread.run_sync(use, f"https://127.0.0.1:{server.port}/outbox/gw")

    return anyio.run(main, backend="trio")


def run_once(folder: Path, address: str) -> str:
    """`tidelog spark run --once` of the program in the folder, in a process of its own; what it said."""
    options = ["--checkpoint", "c", "--once", "--out", "parquet:t", "--token-file", "token", "--tls-ca", CERTIFICATE]
    options += ["--cores", "1", "--buckets", "2", "--stats"]
    command = [sys.executable, "-m", "tidelog", "spark", "run", "p.tide", "--in", f"outbox:{address}", *options]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=WAIT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.long
def test_stream_of_a_gateway(fill: Fill, tmp_path: Path) -> None:
    """With TLS and a token, `--once` takes what a gateway has told, tells all that is known by then, and acknowledges.

    With another token nothing is acknowledged, and without the certificate nothing is read.
    """
    path = fill("n1", [("hot", (f"s{number}", 30), 2 * number, 2 * number) for number in range(50)])
    token, wrong = secrets.token_hex(8), secrets.token_hex(8)
    (tmp_path / "p.tide").write_text(PROGRAM, "utf-8")
    (tmp_path / "token").write_text(token, "utf-8")

    def use(address: str) -> str:
        inputs, unit = [parse_input(f"outbox:{address}", 0)], Timeline(unit=Fraction(1))
        check_outboxes(inputs, Access(token, CERTIFICATE), unit)
        with (
            Origin(address, Access(wrong, CERTIFICATE)).open() as reader,
            pytest.raises(SpecError, match="token is missing"),
        ):
            reader.acknowledge(1)
        with pytest.raises(ConnectorError, match="certificate verify failed"):
            check_outboxes(inputs, Access(token), unit)
        return run_once(tmp_path, address)

    assert "facts: 50\n" in serving(path, use, token)
    rows = pq.read_table(tmp_path / "t" / "alarm").to_pylist()
    assert sorted(int(row["start"]) for row in rows) == list(range(49))  # of the last, more may come
    with OutboxReader(path) as reader:
        assert reader.first() == 51
