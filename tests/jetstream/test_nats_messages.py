"""Messages of a stream: where they are read from, what becomes of them, and what is told of what cannot be."""

from __future__ import annotations

import itertools
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from nats.js import JetStreamContext
from nats.js.api import RetentionPolicy
from poison import UNENCODABLE

from children import WAIT
from natsservers import NatsServer, nats_server
from tidelog.cli import main
from tidelog.connectors.brokers.nats.consumer import Place, Start
from tidelog.connectors.brokers.nats.settings import ServerSettings, options_of
from tidelog.connectors.brokers.nats.sink import NatsSink
from tidelog.connectors.brokers.nats.source import NatsSource
from tidelog.connectors.brokers.nats.subjects import SubjectTemplate, checked, subject_of
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.mapping.templates import Template
from tidelog.connectors.transport.secret import Secret
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.durability import Heading
from tidelog.runtime.ports.interfaces import Batch, Rejected
from tidelog.testing.connectors import PLAN, alarm
from tidelog.testing.connectors.driving import promptly, until
from wires import Wire

pytestmark = pytest.mark.anyio
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with nats_server(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture
def stream(server: NatsServer) -> str:
    """A stream with all subjects behind its name."""
    name = f"stream{next(_numbers)}"
    server.make(name, f"{name}.>")
    return name


def source(url: str, stream: str, *, start: Start = "earliest", subject: str = "", named: bool = False) -> NatsSource:
    fields = {"n": FieldSettings(topic="word", type="number")} if named else {}
    topic = f"{stream}/{{word}}" if named else "#"
    mapper = MapMapper("messages", PLAN.schema, [MapSettings("reading", topic=topic, fields=fields)])
    place = Place("", subject or f"{stream}.>", "messages", start)
    return NatsSource("messages", {"servers": [url]}, mapper, place, client="messages")


async def take(from_: NatsSource, count: int) -> Batch:
    """What it brings until there are so many facts and dead letters."""
    found = Batch()
    with anyio.fail_after(WAIT):
        while len(found.records) + len(found.rejected) < count:
            batch = await from_.receive()
            assert batch is not None
            found.records += batch.records
            found.rejected += batch.rejected
            found.position = batch.position
    return found


def numbers(batch: Batch) -> list[Any]:
    return [row[0] for _, row, _, _ in batch.records]


def floor(server: NatsServer, stream: str) -> int:
    """Up to where messages have receipts."""
    known = server.ask(lambda js: js.consumer_info(stream, "messages"))
    assert known.ack_floor is not None
    return known.ack_floor.stream_seq


async def test_a_later_run_goes_on_behind_what_it_committed(server: NatsServer, stream: str) -> None:
    """Whatever the server has been told; a receipt is given for what counts, and for no more."""
    server.publish(f"{stream}.a", [b'{"n":%d}' % n for n in range(1, 4)])
    async with source(server.url, stream) as reading:
        committed = await take(reading, 3)
        server.publish(f"{stream}.a", [b'{"n":4}', b'{"n":5}'])
        found = await take(reading, 2)
        assert numbers(found) == [4, 5] and committed.position is not None and found.position is not None
        reading.acknowledge(committed.position)
        await until(lambda: floor(server, stream) == 3)
    for position, expected in ((None, [4, 5, 6]), (2, [3, 4, 5, 6]), (5, [6])):
        server.publish(f"{stream}.a", [b'{"n":6}']) if position is None else None
        later = source(server.url, stream)
        if position is not None:
            later.resume({**found.position, "sequence": position})
        async with later:
            assert numbers(await take(later, len(expected))) == expected


async def test_what_was_on_its_way_when_a_connection_broke_comes_in_order(server: NatsServer, stream: str) -> None:
    """At once, before anything newer, and what had been taken does not come twice."""
    with Wire(server.port) as wire:
        reading = source(f"nats://127.0.0.1:{wire.port}", stream)
        async with reading:
            server.publish(f"{stream}.a", [b'{"n":1}', b'{"n":2}'])
            first = await take(reading, 2)
            wire.stall()
            server.publish(f"{stream}.a", [b'{"n":%d}' % n for n in range(3, 50)])
            await until(lambda: delivered(server, stream) == 49)
            wire.cut()
            wire.flow()
            with pytest.raises(OSError, match=r".+"), promptly():
                while True:
                    await reading.receive()
        server.publish(f"{stream}.a", [b'{"n":50}'])
        async with reading:
            found = await take(reading, 48)
            assert numbers(found) == list(range(3, 51))
            assert first.position is not None and found.position is not None
            reading.acknowledge(first.position)
            reading.acknowledge(found.position)
            await until(lambda: floor(server, stream) == 50)


def delivered(server: NatsServer, stream: str) -> int:
    """Up to where messages are on their way, or there."""
    known = server.ask(lambda js: js.consumer_info(stream, "messages"))
    assert known.delivered is not None
    return known.delivered.stream_seq


async def test_each_message_of_a_queue_has_a_receipt(server: NatsServer) -> None:
    """It forgets those that count, and no others."""
    stream = f"stream{next(_numbers)}"
    server.make(stream, f"{stream}.>", retention=RetentionPolicy.WORK_QUEUE)
    server.publish(f"{stream}.a", [b'{"n":%d}' % n for n in range(1, 6)])
    async with source(server.url, stream) as reading:
        found = await take(reading, 5)
        assert found.position is not None
        reading.acknowledge({**found.position, "sequence": 5})
        await until(lambda: server.ask(lambda js: js.stream_info(stream)).state.messages == 0)


async def test_what_only_the_gateway_wants_is_kept_while_its_consumer_is_made_anew(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that keeps what somebody is interested in drops nothing, also where a gateway ends in between."""
    stream = f"stream{next(_numbers)}"
    server.make(stream, f"{stream}.>", retention=RetentionPolicy.INTEREST)
    async with source(server.url, stream) as reading:
        server.publish(f"{stream}.a", [b'{"n":%d}' % n for n in range(1, 6)])
        await take(reading, 5)
    add, made = JetStreamContext.add_consumer, list[str]()

    async def once(self: Any, *given: Any, **more: Any) -> Any:
        made.append(given[1].durable_name)
        if len(made) > 1:
            raise OSError("killed")
        return await add(self, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(JetStreamContext, "add_consumer", once)
        with pytest.raises(OSError, match="killed"):
            async with reading:
                pass
    assert made == ["messages-meanwhile", "messages"]
    later = source(server.url, stream)
    async with later:
        assert numbers(await take(later, 5)) == [1, 2, 3, 4, 5]
    assert [known.name for known in server.ask(lambda js: js.consumers_info(stream))] == ["messages"]


async def test_what_waited_holds_up_the_clock(server: NatsServer, stream: str) -> None:
    """It is behind until all is returned that waited, also after nobody has listened for a while."""
    reading = source(server.url, stream)
    assert reading.is_behind
    async with reading:
        assert reading.is_behind
        await reading.receive()
        assert not reading.is_behind and reading.link().is_connected
        reading.listen_again()
        assert reading.is_behind
        server.publish(f"{stream}.a", [b'{"n":1}'] * 3_000)
        found = 0
        while reading.is_behind:
            with promptly():
                batch = await reading.receive()
            found += len(batch.records) if batch is not None else 0
        await take(reading, 3_000 - found)
    assert not reading.link().is_connected


async def test_latest_begins_with_what_comes(server: NatsServer, stream: str) -> None:
    """What was there before is not read, also where the first run ends before anything came."""
    server.publish(f"{stream}.a", [b'{"n":1}'])
    async with source(server.url, stream, start="latest"):
        pass
    server.publish(f"{stream}.a", [b'{"n":2}'])
    async with source(server.url, stream, start="latest") as reading:
        assert numbers(await take(reading, 1)) == [2]


async def test_what_was_dropped_is_told(server: NatsServer) -> None:
    """By the limits of the stream, before it was read."""
    stream = f"stream{next(_numbers)}"
    server.make(stream, f"{stream}.>", max_msgs=2)
    server.publish(f"{stream}.a", [b'{"n":1}'])
    async with source(server.url, stream) as reading:
        position = (await take(reading, 1)).position
    assert position is not None
    server.publish(f"{stream}.a", [b'{"n":%d}' % n for n in range(2, 6)])
    later = source(server.url, stream)
    later.resume(position)
    async with later:
        found = await take(later, 3)
    assert numbers(found) == [4, 5]
    assert found.rejected == [Rejected("messages", "messages 2 to 3 were dropped before they were read", b"")]


async def test_a_stream_that_was_made_anew_is_told(server: NatsServer, stream: str) -> None:
    """Its numbers mean other messages: it is read from its first one."""
    server.publish(f"{stream}.a", [b'{"n":1}', b'{"n":2}'])
    async with source(server.url, stream) as reading:
        position = (await take(reading, 2)).position
    assert position is not None
    server.ask(lambda js: js.delete_stream(stream))
    server.make(stream, f"{stream}.>")
    server.publish(f"{stream}.a", [b'{"n":3}'])
    later = source(server.url, stream)
    later.resume(position)
    async with later:
        found = await take(later, 2)
        assert numbers(found) == [3] and "was made anew" in found.rejected[0].reason


async def test_words_headers_and_time(server: NatsServer, stream: str) -> None:
    """A subject's words are levels of a topic, headers are properties, and a time is when a message was stored."""
    server.publish(f"{stream}.17", [b"{}"], headers={"id": "a"})
    heard: list[Any] = []
    async with source(server.url, stream, subject=f"{stream}.*", named=True) as reading:
        reading.on_messages = heard.extend
        found = await take(reading, 1)
    stored = server.ask(lambda js: js.get_msg(stream, 1)).time
    assert stored is not None
    assert found.records == [("reading", (17,), int(stored.timestamp()), int(stored.timestamp()))]
    assert (heard[0].topic, dict(heard[0].properties)) == (f"{stream}/17", {"id": "a"})


async def test_a_subject_that_is_no_text_holds_up_nobody(server: NatsServer, stream: str) -> None:
    """Nor does a header; servers take both."""
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        subject = stream.encode() + b".\xff"
        head = b"NATS/1.0\r\nid: \xff\r\n\r\n"
        raw.sendall(b'CONNECT {"verbose":false,"headers":true}\r\n')
        raw.sendall(b'PUB %s 7\r\n{"n":1}\r\n' % subject)
        raw.sendall(b'HPUB %s.a %d %d\r\n%s{"n":2}\r\n' % (stream.encode(), len(head), len(head) + 7, head))
        raw.sendall(b"PING\r\n")
        with raw.makefile("rb") as answers:
            while answers.readline() != b"PONG\r\n":
                pass
    server.publish(f"{stream}.b", [b'{"n":3}'])
    async with source(server.url, stream) as reading:
        assert numbers(await take(reading, 3)) == [1, 2, 3]


async def test_what_is_not_there_is_an_error_that_is_tried_again(server: NatsServer) -> None:
    """A stream, for the source and for the sink; a server."""
    with pytest.raises(OSError, match=r"no stream has the subject `nowhere\.>`"):
        async with source(server.url, "nowhere"):
            pass
    async with sink_to(server.url, "nowhere") as sink:
        with pytest.raises(OSError, match=r"no stream has the subject `nowhere\.none`"):
            await sink.send([alarm(1)])
        assert sink.link().errors == 1
    for end in (source("nats://127.0.0.1:1", "a"), sink_to("nats://127.0.0.1:1", "a")):
        with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
            async with end:
                pass


def sink_to(url: str, stream: str, *, name: str = "alarms", payload: dict[str, Any] | None = None) -> NatsSink:
    subject = SubjectTemplate(f"{stream}.{{note}}", PLAN.schema, iso=False, outputs=["alarm"])
    template = Template(PLAN.schema, payload or {"n": "{n}"}, iso=False, outputs=["alarm"])
    return NatsSink(name, {"servers": [url]}, subject, template, client=name)


async def test_the_server_drops_what_a_sink_repeats(server: NatsServer, stream: str) -> None:
    """An answer of the same number of the same run, from the same sink: another one's is another message."""
    for name in ("one", "one", "two"):
        async with sink_to(server.url, stream, name=name) as sink:
            sink.number(Heading("run", 7, 0))
            await sink.send([alarm(1), alarm(2)])
    assert server.ask(lambda js: js.stream_info(stream)).state.messages == 4
    assert server.ask(lambda js: js.get_msg(stream, 1)).headers == {"Nats-Msg-Id": "run-one-7"}


async def test_what_cannot_be_sent_is_a_dead_letter(tmp_path: Path) -> None:
    """What is too large for the server, or the stream, or no text; no word of a subject comes from within a value."""
    letters: list[Rejected] = []

    async def note(given: Sequence[Rejected]) -> None:
        await anyio.lowlevel.checkpoint()
        letters.extend(given)

    def of(note: str) -> Record:
        return alarm(1, note)

    with nats_server(tmp_path / "nats", "max_payload: 3000") as running:
        running.make("S", "S.>", max_msg_size=2_000)
        sink = sink_to(running.url, "S", payload={"n": "{n}", "text": "{note}" * 10})
        sink.give_up_to(note)
        async with sink:
            await sink.send([of("a.b *>"), of("x" * 215), of("x" * 300), of(UNENCODABLE), of("")])
        assert [letter.record for letter in letters] == [of("x" * 300), of(UNENCODABLE), of("x" * 215)]
        reasons = ("the server takes 3000 at most", "cannot be encoded", "maximum allowed")
        assert all(reason in letter.reason for reason, letter in zip(reasons, letters, strict=True))
        assert [running.ask(lambda js, n=n: js.get_msg("S", n)).subject for n in (1, 2)] == ["S.a_b___", "S._"]


async def test_who_may_not_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a user, and TLS with certificates on both sides."""
    certificates(tmp_path)
    lines = [
        "authorization { user: gateway, password: right }",
        f'tls {{ cert_file: "{tmp_path}/server.pem", key_file: "{tmp_path}/server.key", ca_file: "{tmp_path}/ca.pem", '
        "verify: true }",
    ]
    with nats_server(tmp_path / "nats", *lines) as running:
        for password, files, reason in (
            ("wrong", {"certificate": "client.pem", "certificate_key": "client.key"}, "Authorization Violation"),
            ("right", {}, "."),
            ("right", {"certificate": "client.pem", "certificate_key": "client.key"}, ""),
        ):
            monkeypatch.setenv("PASS", password)
            settings = ServerSettings(
                url=f"tls://localhost:{running.port}", user="gateway", password=Secret(env="PASS"), ca="ca.pem", **files
            )
            subject = SubjectTemplate("S.a", PLAN.schema, iso=False, outputs=["alarm"])
            template = Template(PLAN.schema, {"n": "{n}"}, iso=False, outputs=["alarm"])
            sink = NatsSink("alarms", options_of(settings, tmp_path), subject, template, client="me")
            if reason:
                with pytest.raises(OSError, match=reason):
                    async with sink:
                        pass
            else:
                async with sink:
                    assert sink.is_connected


async def test_what_a_gateway_has_to_be_allowed(tmp_path: Path) -> None:
    """No more than the guide says: to read a stream, and to send to a subject."""
    reads = ["STREAM.NAMES", "STREAM.INFO.S", *(f"CONSUMER.{each}.S.*" for each in ("INFO", "DURABLE.CREATE", "DELETE"))]
    allowed = [*(f"$JS.API.{each}" for each in (*reads, "CONSUMER.MSG.NEXT.S.*")), "$JS.ACK.S.>", "S.none"]
    quoted = ", ".join(f'"{each}"' for each in allowed)
    may = f'{{ user: gateway, password: b, permissions: {{ publish: [{quoted}], subscribe: "_INBOX.>" }} }}'
    with nats_server(tmp_path / "nats", f"authorization {{ users: [ {{ user: admin, password: a }}, {may} ] }}") as running:
        running.ask(lambda js: js.add_stream(name="S", subjects=["S.>"]), user="admin", password="a")  # noqa: S106 - its own
        mapper = MapMapper("messages", PLAN.schema, [MapSettings("reading")])
        options = {"servers": [running.url], "user": "gateway", "password": "b"}
        reading = NatsSource("messages", options, mapper, Place("", "S.>", "messages", "earliest"), client="gateway")
        sink = sink_to(running.url, "S")
        sink._options = options
        async with sink:
            for _ in range(2):  # the second time the consumer is made anew
                async with reading:
                    await sink.send([alarm(1)])
                    assert numbers(await take(reading, 1)) == [1]


def certificates(folder: Path) -> None:
    """Of an authority, and those of a server on this machine and of a client, signed by it."""
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj"]
    steps = [[*new, "/CN=authority", "-x509", "-keyout", "ca.key", "-out", "ca.pem"]]
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name in ("server", "client"):
        steps.append([*new, f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr"])
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names"]
        steps.append(["openssl", "x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem"])
    for step in steps:
        subprocess.run(step, cwd=folder, check=True, capture_output=True)


def test_what_the_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users and tokens; what does not belong together is refused, and no secret is shown."""
    monkeypatch.setenv("PASS", "word")
    secret = Secret(env="PASS")
    given = ServerSettings(url="nats://a:1, nats://b:2", user="u", password=secret)
    assert options_of(given, tmp_path) == {"servers": ["nats://a:1", "nats://b:2"], "user": "u", "password": "word"}
    assert options_of(ServerSettings(url="nats://a", token=secret), tmp_path) == {"servers": ["nats://a"], "token": "word"}
    for wrong, reason in [
        (ServerSettings(url="nats://a", user="u"), "`user` and `password` belong together"),
        (ServerSettings(url="nats://a", user="u", password=secret, token=secret), "or by `token`"),
        (ServerSettings(url="nats://a", ca="ca.pem"), "belong to `tls://`"),
        (ServerSettings(url="tls://a", certificate="c.pem"), "`certificate` and `certificate_key`"),
        (ServerSettings(url="tls://a", ca="no.pem"), "TLS: No such file"),
        (ServerSettings(url="tls://a,nats://b"), "with TLS and without"),
        (ServerSettings(url="nats://u:word@a"), "so that no secret stands in the file"),
        (ServerSettings(url="http://a"), "`url` is of the form .*, got `http://a`"),
    ]:
        with pytest.raises(SpecError, match=reason):
            options_of(wrong, tmp_path)


def test_subjects() -> None:
    """Of maps, and as they are told."""
    assert [subject_of(topic) for topic in ("a/{b}/+/c", "#", "a")] == ["a.*.*.c", ">", "a"]
    assert [checked(subject) for subject in ("a.*.b", ">", "ä.b")] == ["a.*.b", ">", "ä.b"]
    with pytest.raises(SpecError, match="a level of a subject has no dot"):
        subject_of("a.b/c")
    for wrong in ("", "a..b", ".a", "a b", "a.>.b", "a*", "a.b>", "a\n"):
        with pytest.raises(SpecError, match="is no subject"):
            checked(wrong)
    for wrong in ("a.*", "a b"):
        with pytest.raises(SpecError, match="is no subject to publish to"):
            SubjectTemplate(wrong, PLAN.schema, iso=False, outputs=["alarm"])


FILE = """program = "plant.tide"
[[source]]
name = "floor"
type = "nats"
url = "{url}"
[[source.map]]
predicate = "temp"
topic = "{topic}"
[[sink]]
name = "alarms"
type = "nats"
url = "{url}"
subject = "alarms.{{room}}"
"""


def test_a_check_asks_the_server(server: NatsServer, stream: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With `--connect`: whether it is there, and has the stream; more than one subject is refused before."""
    (tmp_path / "plant.tide").write_text(
        "timeline integer, unit 1 s, round down.\ninput temp(room: text).\noutput hot(room).\nhot(R) :- temp(R).\n"
    )
    file = tmp_path / "plant.toml"
    file.write_text(FILE.format(url=server.url, topic=f"{stream}/{{room}}"))
    assert main(["gateway", str(file), "--check", "--connect"]) == 0
    told = capfd.readouterr().out
    assert f"floor: the server at {server.url} lets it in, and has the stream `{stream}` with 0 messages" in told
    assert f"alarms: the server at {server.url} lets it in\n" in told
    file.write_text(FILE.format(url=server.url, topic="elsewhere/{room}"))
    assert main(["gateway", str(file), "--check", "--connect"]) == 1
    assert "has no stream with the subject `elsewhere.*`" in capfd.readouterr().out
    several = '[[source.map]]\npredicate = "temp"\ntopic = "b/{room}"\n[[sink]]\nname'
    file.write_text(FILE.format(url=server.url, topic="a/{room}").replace("[[sink]]\nname", several))
    assert main(["gateway", str(file), "--check"]) == 1
    assert "it says no `subject`, and its maps have 2: a source reads one, such as `plant.>`" in capfd.readouterr().err
