"""Files, FIFOs, pipes and devices: what is read and written, that nothing holds up the event loop, how it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from children import WAIT
from tidelog.connectors import DeadLetterWriter, FileSink, FileSource, StdinSource, StdoutSink, TextDecoder, TextEncoder
from tidelog.connectors.opening import open_sink, open_source
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.diagnostics.errors import ConnectorError
from tidelog.runtime.ports.interfaces import Rejected, Source

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]


async def drain(source: Source) -> tuple[list[Record], list[Rejected]]:
    """All that a source delivers until its end."""
    records: list[Record] = []
    rejected: list[Rejected] = []
    with anyio.fail_after(WAIT):
        async with source:
            while (batch := await source.receive()) is not None:
                assert batch.places is not None and len(batch.places) == len(batch.records)
                records += batch.records
                rejected += batch.rejected
    return records, rejected


async def test_file_is_read_in_batches_with_progress(tmp_path: Path, integer: Schema) -> None:
    """A file of several chunks is delivered whole, in order; `position` ends at `size`."""
    path = tmp_path / "data.txt"
    path.write_bytes(b"".join(b"p(a%d)@%d\r\n" % (i % 7, i) for i in range(20_000)) + b"oops!\np(last)@20000")
    source = FileSource(str(path), TextDecoder(integer, "data.txt"))
    records, rejected = await drain(source)
    assert [lo for _, _, lo, _ in records] == list(range(20_001))
    assert [item.place for item in rejected] == ["data.txt:20001"]
    assert source.position == source.size == path.stat().st_size


async def test_file_goes_on_where_it_was(tmp_path: Path, integer: Schema) -> None:
    """A source that is left and entered again delivers each fact once."""
    path = tmp_path / "data.txt"
    path.write_bytes(b"".join(b"p(a)@%d\n" % i for i in range(20_000)))
    source = FileSource(str(path), TextDecoder(integer, "data.txt"))
    async with source:
        first = await source.receive()
    assert first is not None and len(first.records) < 20_000
    records, _ = await drain(source)
    assert [lo for _, _, lo, _ in first.records + records] == list(range(20_000))
    async with source:
        assert await source.receive() is None


async def test_fifo_waits_for_its_writer(tmp_path: Path, integer: Schema) -> None:
    """Opening a FIFO does not hold up other tasks, and its facts come as soon as they are written."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    source = FileSource(str(path), TextDecoder(integer, "fifo"))
    with anyio.fail_after(WAIT):
        async with source:
            assert source.size is None
            fd = os.open(path, os.O_WRONLY)
            try:
                os.write(fd, b"p(a)@1\np(")
                batch = await source.receive()
                assert batch is not None and batch.records == [("p", ("a",), 1, 1)]
                os.write(fd, b"b)@2")
            finally:
                os.close(fd)
            batch = await source.receive()
            assert batch is not None and batch.records == [("p", ("b",), 2, 2)]
            assert await source.receive() is None


async def test_device_that_cannot_be_waited_for(integer: Schema) -> None:
    """/dev/null is an empty source and a sink that takes everything."""
    assert await drain(open_source("facts+file:/dev/null", integer)) == ([], [])
    async with open_sink("facts+file:/dev/null", integer) as sink:
        await sink.send([("p", ("a",), 1, 1)])


async def test_pipe_on_standard_input(integer: Schema) -> None:
    """A pipe's facts come while its writer is still there; waiting for them leaves other tasks running."""
    reading, writing = os.pipe()
    source = StdinSource(TextDecoder(integer, "stdin"), fd=reading)
    received: list[Record] = []

    async def read_all() -> None:
        async with source:
            while (batch := await source.receive()) is not None:
                received.extend(batch.records)
                got_one.set()

    got_one = anyio.Event()
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_all)
            await anyio.wait_all_tasks_blocked()
            os.write(writing, b"p(a)@1\n")
            await got_one.wait()
            assert received == [("p", ("a",), 1, 1)]
            os.write(writing, b"p(a)@2")
            os.close(writing)
    assert received == [("p", ("a",), 1, 1), ("p", ("a",), 2, 2)]
    os.close(reading)


async def test_full_pipe_is_backpressure(integer: Schema) -> None:
    """A sink whose reader is behind waits, other tasks run, and in the end every byte has come through."""
    reading, writing = os.pipe()
    answers: list[Record] = [("p", (i,), i, i) for i in range(50_000)]
    sink = StdoutSink(TextEncoder(integer), fd=writing)
    taken = bytearray()

    async def send() -> None:
        async with sink:
            await sink.send(answers)
        os.close(writing)

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            while True:
                await anyio.wait_readable(reading)
                chunk = os.read(reading, 1 << 16)
                if not chunk:
                    break
                taken += chunk
    os.close(reading)
    assert bytes(taken) == TextEncoder(integer).encode(answers)


async def test_closed_pipe_is_an_oserror(integer: Schema) -> None:
    """A sink without a reader raises ConnectorError: the reader will not come back."""
    reading, writing = os.pipe()
    os.close(reading)
    async with StdoutSink(TextEncoder(integer), fd=writing) as sink:
        with pytest.raises(ConnectorError):
            await sink.send([("p", ("a",), 1, 1)])
    os.close(writing)


async def test_file_sink_empties_then_appends(tmp_path: Path, integer: Schema) -> None:
    """A file's old content is gone at the start; after a restart of the sink, writing goes on at the end."""
    path = tmp_path / "out.txt"
    path.write_text("old\n")
    sink = FileSink(str(path), TextEncoder(integer))
    for time in (1, 2):
        async with sink:
            await sink.send([("p", ("a",), time, time)])
    assert path.read_text() == "p(a)@1\np(a)@2\n"


async def test_a_file_may_be_kept(tmp_path: Path, integer: Schema) -> None:
    """What it holds stays, also where a run with a state begins, whose answers go behind it and are cut back alone."""
    path = tmp_path / "out.txt"
    path.write_text("old\n")
    async with FileSink(str(path), TextEncoder(integer), is_kept=True) as sink:
        await sink.send([("p", ("a",), 1, 1)])
    sink = FileSink(str(path), TextEncoder(integer), is_kept=True)
    sink.resume("run", 0, None)
    committed = sink.standing()
    async with sink:
        await sink.send([("p", ("a",), 2, 2)])
    assert path.read_text() == "old\np(a)@1\np(a)@2\n"
    again = FileSink(str(path), TextEncoder(integer), is_kept=True)
    again.resume("run", 0, committed)
    async with again:
        await again.send([("p", ("a",), 3, 3)])
    assert path.read_text() == "old\np(a)@1\np(a)@3\n"


async def test_fifo_sink_waits_for_its_reader(tmp_path: Path, integer: Schema) -> None:
    """A FIFO that has its reader is written like a pipe."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    async with FileSink(str(path), TextEncoder(integer)) as sink:
        await sink.send([("p", ("a",), 1, 1)])
        assert os.read(reading, 100) == b"p(a)@1\n"
    os.close(reading)


async def test_dead_letters_as_json(tmp_path: Path) -> None:
    """A dead-letter file holds one JSON object a record, whatever its bytes, and all are counted."""
    path = tmp_path / "dead.jsonl"
    async with DeadLetterWriter(str(path)) as dead:
        await dead.send([Rejected("a:1", "not valid UTF-8 at byte 1", b'\xff"\n')])
        await dead.send([Rejected("a:2", "no fact", "é".encode()), Rejected("a:3", "no fact", b"")])
        assert dead.count == 3
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"place": "a:1", "reason": "not valid UTF-8 at byte 1", "raw": '\\xff"\n'},
        {"place": "a:2", "reason": "no fact", "raw": "é"},
        {"place": "a:3", "reason": "no fact", "raw": ""},
    ]
    with pytest.raises(ValueError, match="closed"):
        await dead.send([])


async def test_dead_letters_for_people() -> None:
    """On standard error a record is one printable line: it cannot steer a terminal."""
    reading, writing = os.pipe()
    async with DeadLetterWriter(fd=writing) as dead:
        await dead.send([Rejected("a:1", "no fact", b"\x1b[2Jx\ny")])
    os.close(writing)
    assert os.read(reading, 100) == b"a:1: no fact: \\x1b[2Jx\\ny\n"
    os.close(reading)
