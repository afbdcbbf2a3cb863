"""Nodes of a server by OPC UA, against the server that asyncua brings along: what changes, what is missed, what is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from asyncua.common.utils import ServiceError
from asyncua.ua.status_codes import StatusCodes

import tidelog
from brokers import free_port
from children import WAIT
from children import tidelog as command
from plcs import Plant, collected, plant  # noqa: F401 - `collected` is a fixture
from tidelog.connectors.field.opcua.settings import NodeSettings, OpcUaSettings
from tidelog.connectors.field.opcua.source import OpcUaSource
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.runtime.ports.interfaces import Batch

pytestmark = pytest.mark.filterwarnings("ignore")

PLAN = tidelog.compile(
    """timeline integer, unit 1 ms, round down.
input temp(machine: text, value: number).
hot(M) :- temp(M, C), C >= 80."""
)
MAPS = [MapSettings("temp", topic="{machine}", fields={"value": FieldSettings(path="value")})]
BAD, UNCERTAIN, OVERFLOW = 0x808B_0000, 0x4090_0000, 0x0480
VALUES = {"a": 1.0, "b": 2.0}
OTHERS = {"Hall.M1.Running": True, "Hall.Temp": 1.5, "Hall.Name": "north", "Hall.List": [1, 2]}


def make(at: Plant, names: str = "ab", *, keeps: bool = False, **settings: Any) -> OpcUaSource:
    """A source of some nodes."""
    told = OpcUaSettings(url=at.url, **({"every": 0.02, "repeat": 0} | settings))
    nodes = [NodeSettings(name=name, id=f"ns=2;s={name}") for name in names]
    return OpcUaSource("plc", told, nodes, MapMapper("plc", PLAN.schema, MAPS), keeps=keeps)


class Heard:
    """What a source has brought so far."""

    def __init__(self, source: OpcUaSource) -> None:
        self.source = source
        self.batches: list[Batch] = []

    @property
    def rows(self) -> list[Any]:
        return [row for batch in self.batches for _, row, _, _ in batch.records]

    @property
    def reasons(self) -> list[str]:
        return [item.reason for batch in self.batches for item in batch.rejected]

    async def until(self, condition: Callable[[], object], *, acknowledged: bool = True) -> None:
        """Receive until that is so; what comes is taken for good, where it is."""
        with anyio.fail_after(WAIT):
            while not condition():
                batch = await self.source.receive()
                assert batch is not None
                self.batches.append(batch)
                if acknowledged and batch.position is not None:
                    self.source.acknowledge(batch.position)


@pytest.fixture(scope="module")
def server() -> Iterator[Plant]:
    """It takes seconds to start."""
    with plant(VALUES | OTHERS) as found:
        yield found


@pytest.fixture
def at(server: Plant) -> Plant:
    """The server, as it was at first."""
    for name, value in VALUES.items():
        server.set(name, value)
    return server


def run(work: Callable[[], Awaitable[None]], backend: str = "trio") -> None:
    anyio.run(work, backend=backend)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_what_changes_is_told(at: Plant, backend: str) -> None:
    """All values first, then what changes, of the time that its source says; nothing is told twice."""
    before = datetime.now(UTC) - timedelta(seconds=5)

    async def work() -> None:
        async with make(at) as source:
            heard = Heard(source)
            assert source.is_behind
            await heard.until(lambda: len(heard.rows) == 2)
            assert sorted(heard.rows) == [("a", 1), ("b", 2)]
            assert not source.is_behind
            at.set("a", 3.0, at=before)
            await heard.until(lambda: len(heard.rows) == 3)
            assert heard.batches[-1].records == [("temp", ("a", 3), *[int(before.timestamp() * 1000)] * 2)]
            statistics = source.link()
            assert (statistics.is_connected, statistics.connections, statistics.errors) == (True, 1, 0)
        assert not source.is_connected

    run(work, backend)
    assert at.subscriptions() == {}


def test_the_queue_of_a_node_keeps_what_changes_between_two_messages(at: Plant) -> None:
    """All of it comes, in its order; with a deadband what changes by less is not told."""

    async def work() -> None:
        async with make(at, every=0.2) as source, make(at, "a", deadband=5.0) as rough:
            heard, roughly = Heard(source), Heard(rough)
            await heard.until(lambda: len(heard.rows) == 2)
            await roughly.until(lambda: len(roughly.rows) == 1)
            for value in (2.0, 3.0, 10.0, 11.0):
                at.set("a", value)
            await heard.until(lambda: len(heard.rows) == 6)
            assert heard.rows[2:] == [("a", 2), ("a", 3), ("a", 10), ("a", 11)]
            await roughly.until(lambda: ("a", 10) in roughly.rows)
            assert ("a", 2) not in roughly.rows
            assert ("a", 3) not in roughly.rows

    run(work)


def test_what_is_wrong_is_told_and_makes_no_fact(at: Plant) -> None:
    """A bad and an uncertain status, a node that is not there, a value that is no number: once each, by the node's name. A
    queue that was too short is told beside the value."""

    async def work() -> None:
        async with make(at, "abx", every=0.02) as source:
            heard = Heard(source)
            await heard.until(lambda: len(heard.rows) == 2 and len(heard.reasons) == 1)
            assert heard.reasons == ["node `ns=2;s=x`: its status is bad: BadNodeIdUnknown"]
            at.set("a", 5.0, BAD)
            await heard.until(lambda: len(heard.reasons) == 2)
            at.set("a", 6.0, BAD)
            at.set("b", 7.0, UNCERTAIN)
            await heard.until(lambda: len(heard.reasons) == 3)
            at.set("a", float("nan"))
            await heard.until(lambda: len(heard.reasons) == 4)
            at.set("a", 8.0, OVERFLOW)
            await heard.until(lambda: len(heard.reasons) == 5)
            assert heard.rows[2:] == [("a", 8)]
            assert heard.reasons[1:4] == [
                "node `ns=2;s=a`: its status is bad: BadDeviceFailure",
                "node `ns=2;s=b`: its status is uncertain: UncertainLastUsableValue",
                "node `ns=2;s=a`: it holds nan, which is no number",
            ]
            assert "the server's queue of 10 was full, and values before this one are lost" in heard.reasons[4]
            assert [item.place for batch in heard.batches for item in batch.rejected][:2] == ["plc:x", "plc:a"]

    run(work)


def test_a_value_that_does_not_change_is_told_again(at: Plant) -> None:
    """As long as the connection lasts, it holds."""

    async def work() -> None:
        async with make(at, "a", repeat=0.05) as source:
            heard = Heard(source)
            await heard.until(lambda: len(heard.rows) == 4)
            assert heard.rows == [("a", 1)] * 4
            times = [record[2] for batch in heard.batches for record in batch.records]
            assert times == sorted(set(times))

    run(work)


@pytest.mark.parametrize("can_subscribe", [True, False])
def test_a_server_that_is_asked(at: Plant, monkeypatch: pytest.MonkeyPatch, can_subscribe: bool) -> None:
    """All values in one request, as often as told; also where the server knows no subscriptions."""

    async def work() -> None:
        async with make(at, "abx", subscribe=not can_subscribe) as source:
            heard = Heard(source)
            assert source.is_behind
            await heard.until(lambda: len(heard.rows) == 6)
            assert not source.is_behind
            assert heard.rows == [("a", 1), ("b", 2)] * 3
            assert heard.reasons == ["node `ns=2;s=x`: its status is bad: BadNodeIdUnknown"]

    if not can_subscribe:
        monkeypatch.setattr(at.server.iserver.subscription_service, "create_subscription", lambda *_, **__: _refuse())
    run(work)


async def _refuse() -> Any:
    raise ServiceError(StatusCodes.BadServiceUnsupported)


def test_what_changed_while_the_connection_was_broken_comes_behind_it(at: Plant) -> None:
    """The server has kept it: the subscription is taken over, what had no receipt comes again, and nothing is told twice."""

    async def work() -> None:
        source = make(at, keep=60)
        heard = Heard(source)
        async with source:
            await heard.until(lambda: len(heard.rows) == 2)
            at.cut()
            with pytest.raises(OSError, match=r"opc\.tcp"):
                await heard.until(lambda: False)
            assert source.is_behind
        for value in (10.0, 11.0, 12.0):
            at.set("a", value)
        async with source:
            await heard.until(lambda: not source.is_behind)
            at.set("b", 13.0)
            await heard.until(lambda: ("b", 13) in heard.rows)
        assert heard.rows[2:] == [("a", 10), ("a", 11), ("a", 12), ("b", 13)]

    run(work)


def test_a_later_run_takes_the_subscription_over(at: Plant) -> None:
    """What was not taken for good comes again, and what changed between the runs comes; only what was asked for the same."""

    async def work() -> None:
        first = make(at, keeps=True)
        async with first:
            heard = Heard(first)
            await heard.until(lambda: len(heard.rows) == 2)
            position = heard.batches[-1].position
            at.set("a", 10.0)
            await heard.until(lambda: len(heard.rows) == 3, acknowledged=False)
        at.set("a", 11.0)
        second = make(at, keeps=True)
        assert position is not None
        second.resume(position)
        async with second:
            later = Heard(second)
            await later.until(lambda: not second.is_behind)
            assert later.rows == [("a", 10), ("a", 11)]
            last = later.batches[-1].position
        third = make(at, "b")
        assert last is not None
        third.resume(last)
        async with third:
            other = Heard(third)
            await other.until(lambda: not third.is_behind)
            assert other.rows == [("b", 2)]
        with pytest.raises(DataError, match="its position cannot be read"):
            third.resume({"subscription": "x"})

    run(work)


@pytest.mark.slow
@pytest.mark.long
def test_a_server_that_loses_what_is_taken_over(caplog: pytest.LogCaptureFixture) -> None:
    """As asyncua's own does: a new subscription takes its place, which is told, and all goes on."""

    async def work() -> None:
        source = make(at, keep=60)
        heard = Heard(source)
        for _ in range(3):  # a new one; one that is taken over, and lost; a new one
            with suppress(ConnectionError):
                async with source:
                    await heard.until(lambda: not source.is_behind)
                    at.cut()
                    await heard.until(lambda: False)
        async with source:
            await heard.until(lambda: not source.is_behind)
            at.set("a", 9.0)
            await heard.until(lambda: ("a", 9) in heard.rows)

    with plant(VALUES, mends=False) as at:
        run(work)
    assert "a subscription that was taken over tells nothing" in caplog.text


@pytest.mark.slow
@pytest.mark.long
def test_a_server_that_has_forgotten_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """It is asked anew: all values come, and that what changed meanwhile is not known is in the log."""

    async def work() -> None:
        source = make(at)
        heard = Heard(source)
        async with source:
            await heard.until(lambda: len(heard.rows) == 2)
            at.stop()
            with pytest.raises(OSError, match=r"opc\.tcp"):
                await heard.until(lambda: False)
        with pytest.raises(OSError, match=r"opc\.tcp"):
            async with source:
                pass
        at.start()
        async with source:
            await heard.until(lambda: not source.is_behind)
        assert sorted(heard.rows[2:]) == [("a", 1), ("b", 2)]

    with plant(VALUES) as at:
        run(work)
    assert "the server has not kept what changed while nobody listened" in caplog.text


def test_nothing_more_is_asked_for_while_nothing_is_taken_for_good(at: Plant) -> None:
    """The server keeps what changes then, as far as its queues reach."""

    async def work() -> None:
        async with make(at, "a", every=0.01, queue=100) as source:
            heard = Heard(source)
            await heard.until(lambda: len(heard.rows) == 1, acknowledged=False)
            for value in range(100):
                at.set("a", float(value))
                await anyio.sleep(0.005)
            await heard.until(lambda: source.awaits_receipts, acknowledged=False)
            count = len(heard.rows)
            assert count < 100
            assert heard.batches[-1].position is not None
            source.acknowledge(heard.batches[-1].position)
            await heard.until(lambda: ("a", 99) in heard.rows)
            assert heard.rows[1:] == [("a", value) for value in range(100)]

    run(work)


def test_a_server_that_is_away() -> None:
    """It says which; and a source without nodes says how to find them."""
    port = free_port()
    told = OpcUaSettings(url=f"opc.tcp://127.0.0.1:{port}", timeout=0.5)
    mapper = MapMapper("plc", PLAN.schema, MAPS)

    async def work() -> None:
        with pytest.raises(OSError, match=f"opc.tcp://127.0.0.1:{port}"):
            async with OpcUaSource("plc", told, [NodeSettings(name="a", id="ns=2;s=a")], mapper):
                pass

    run(work)
    with pytest.raises(SpecError, match="tidelog peek"):
        OpcUaSource("plc", told, [], mapper)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"security": "Basic256Sha256,SignAndEncrypt"}, "`security` is a policy"),
        ({"security": "Basic999,SignAndEncrypt,a.der,a.pem"}, "got `Basic999,SignAndEncrypt,a.der,a.pem`"),
        ({"user_certificate": "a.der"}, "`user_certificate` and `user_key` belong together"),
    ],
)
def test_security_that_is_none(told: dict[str, str], reason: str) -> None:
    """It is refused before anybody connects."""
    settings = OpcUaSettings(url="opc.tcp://127.0.0.1", **told)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=reason):
        OpcUaSource("plc", settings, [NodeSettings(name="a", id="i=1")], MapMapper("plc", PLAN.schema, MAPS))


# --- tidelog peek ----------------------------------------------------------------------------------------------------------


def test_peek_writes_the_file(tmp_path: Path, at: Plant) -> None:
    """What `tidelog peek` prints of a server is a gateway's file, with the beginning of its program: right as it is."""
    peeked = command("peek", at.url)
    assert peeked.returncode == 0, peeked.stderr
    assert "note: Hall/List (ns=2;s=Hall.List) is left out: it holds list" in peeked.stderr
    settings = tomllib.loads(peeked.stdout)
    nodes = {node["name"]: node["id"] for node in settings["source"][0]["node"]}
    assert nodes == {
        "a": "ns=2;s=a",
        "b": "ns=2;s=b",
        "Hall.M1/Running": "ns=2;s=Hall.M1.Running",
        "Hall/Temp": "ns=2;s=Hall.Temp",
        "Hall/Name": "ns=2;s=Hall.Name",
    }
    program = "".join(line.removeprefix("#   ") + "\n" for line in peeked.stdout.splitlines() if line.startswith("#   "))
    assert "input running(object: text, value: integer).\n" in program.lower()
    (tmp_path / "plant.tide").write_text(program + "output told.\ntold(X) :- Temp(_, X).\n".replace("Temp", "temp"))
    (tmp_path / "plant.toml").write_text(peeked.stdout)
    checked = command("gateway", "plant.toml", "--check", "--connect", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "has 5 of 5 nodes" in checked.stdout


def test_peek_says_what_is_wrong(tmp_path: Path) -> None:
    """A server that is away; options that are not for it."""
    away = f"opc.tcp://127.0.0.1:{free_port()}"
    assert away in command("peek", away).stderr
    assert "`--predicate` is for files" in command("peek", away, "--predicate", "x").stderr
    (tmp_path / "a.csv").write_text("time,a\n1,2\n")
    assert "`--user` is for servers" in command("peek", "a.csv", "--user", "anna", cwd=tmp_path).stderr
