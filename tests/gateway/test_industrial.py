"""A gateway with Modbus and OPC UA in its file: what it says of them beforehand, what passes, and who answers its alarms."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from asyncua import Client, ua
from asyncua.crypto.cert_gen import setup_self_signed_certificate
from cryptography.x509.oid import ExtendedKeyUsageOID

from brokers import free_port
from children import WAIT, child, tidelog
from plcs import Plant, collected, modbus, plant, unit  # noqa: F401 - `collected` is a fixture
from services import TIDELOG, hear, systemd
from waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.filterwarnings("ignore")]

PROGRAM = """
timeline integer, unit 1 ms, round down.
input temp(machine: text, value: number).
input level(tank: text, value: number).
output full.
full(T) :- level(T, V), V > 50.
alarm too_hot(machine: text), priority high, text "{machine} is too hot", acknowledge, shelve at most 1 h.
hot(M) :- latest temp(M, V) by M in [10 min], V > 80.
too_hot(M) :- hot(M).
"""
SETTINGS = """
program = "plant.tide"
clock = "0.2 s"
dead_letters = "letters.jsonl"

[[source]]
name = "tanks"
type = "modbus"
host = "127.0.0.1"
port = {modbus}
every = 0.05
register = [{{ name = "t1/level", address = 0 }}, {{ name = "t2/level", address = 1 }}, {{ name = "t3/level", address = 9 }}]
[[source.map]]
topic = "{{tank}}/level"
predicate = "level"

[[source]]
name = "machines"
type = "opcua"
url = "{url}"
every = 0.05
node = [{{ name = "m1/temp", id = "ns=2;s=m1" }}, {{ name = "m2/temp", id = "ns=2;s=m2" }}]
[[source.map]]
topic = "{{machine}}/temp"
predicate = "temp"

[[sink]]
name = "scada"
type = "opcua"
endpoint = "127.0.0.1:{alarms}"
certificate = "server.der"
key = "server.pem"
clients = "clients"

[http]
listen = "127.0.0.1:{http}"
[[http.user]]
name = "anna"
token = {{ env = "ANNAS" }}
"""
ANNAS = "a-token-of-anna-alone"


async def certificates(folder: Path) -> None:
    """A certificate for the server, one for a client that it knows, and one for a client that it does not know."""
    (folder / "clients").mkdir()
    for name, where, use in (
        ("server", folder, ExtendedKeyUsageOID.SERVER_AUTH),
        ("client", folder / "clients", ExtendedKeyUsageOID.CLIENT_AUTH),
        ("stranger", folder, ExtendedKeyUsageOID.CLIENT_AUTH),
    ):
        await setup_self_signed_certificate(
            folder / f"{name}.pem", where / f"{name}.der", f"urn:{name}", "localhost", [use], {"commonName": name}
        )


@pytest.fixture(scope="module")
def machines() -> Iterator[Plant]:
    """A server of nodes."""
    with plant({"m1": 20.0, "m2": 30.0}) as found:
        yield found


@contextmanager
def surroundings(folder: Path, machines: Plant) -> Iterator[dict[str, Any]]:
    """A folder with a file, and devices."""
    asyncio.run(certificates(folder))
    ports = {name: free_port() for name in ("modbus", "alarms", "http")}
    (folder / "plant.tide").write_text(PROGRAM)
    (folder / "plant.toml").write_text(SETTINGS.format(url=machines.url, **ports))
    with modbus([unit(1, [10, 70])], ports["modbus"]):
        yield ports


async def acknowledge(url: str, folder: Path, client_name: str) -> str:
    """Log in as anna, wait for an alarm, and acknowledge it: its text."""
    client = Client(url)
    client.application_uri = f"urn:{client_name}"
    client.set_user("anna")
    client.set_password(ANNAS)
    place = folder / "clients" if client_name == "client" else folder
    await client.set_security_string(f"Basic256Sha256,SignAndEncrypt,{place / client_name}.der,{folder / client_name}.pem")
    events: asyncio.Queue[Any] = asyncio.Queue()

    class Screen:
        def event_notification(self, event: Any) -> None:
            events.put_nowait(event)

    async with client:
        subscription = await client.create_subscription(50, Screen())
        await subscription.subscribe_alarms_and_conditions(client.nodes.server, [ua.ObjectIds.AlarmConditionType])
        refresh = ua.CallMethodRequest(
            ua.NodeId(ua.ObjectIds.ConditionType),
            ua.NodeId(ua.ObjectIds.ConditionType_ConditionRefresh),
            [ua.Variant(subscription.subscription_id, ua.VariantType.UInt32)],
        )
        await client.uaclient.call([refresh])
        event = await asyncio.wait_for(events.get(), WAIT)
        while not hasattr(event, "ConditionName"):  # those about the refresh
            event = await asyncio.wait_for(events.get(), WAIT)
        method = ua.NodeId(ua.ObjectIds.AcknowledgeableConditionType_Acknowledge)
        said = [ua.Variant(event.EventId), ua.Variant(ua.LocalizedText("on my way"))]
        result = (await client.uaclient.call([ua.CallMethodRequest(event.NodeId, method, said)]))[0]
        assert result.StatusCode.is_good(), result.StatusCode
        return str(event.Message.Text)


def get(port: int, path: str) -> str:
    found = httpx.get(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {ANNAS}"}, timeout=WAIT)
    return found.text if found.status_code == 200 else "{}"


def test_a_plant(tmp_path: Path, machines: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: what can be reached, and what of it can be read. Then its facts, its dead letters and its metrics; an alarm
    that somebody answers at another screen, by a connection that is encrypted. Strangers are left outside."""
    monkeypatch.setenv("ANNAS", ANNAS)
    with surroundings(tmp_path, machines) as ports:
        checked = tidelog("gateway", "plant.toml", "--check", "--connect", cwd=tmp_path)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        place = f"127.0.0.1:{ports['modbus']}"
        refused = "device 1, holding register 40010: exception 2, illegal data address (function 3)"
        assert f"  tanks: {place} answers: 2 values by 3 requests; not {refused}\n" in checked.stdout
        assert f"  machines: {machines.url} lets it in, and has 2 of 2 nodes\n" in checked.stdout
        environment = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}
        url = f"opc.tcp://127.0.0.1:{ports['alarms']}/"
        with (
            systemd(tmp_path) as heard,
            child(
                [*TIDELOG, "gateway", str(tmp_path / "plant.toml")], env=environment, stdout=subprocess.DEVNULL
            ) as gateway,
        ):
            hear(heard, "READY=1")
            machines.set("m2", 90.0)
            eventually(lambda: json.loads(get(ports["http"], "/alarms")).get("count") == 1, process=gateway)
            with child([*TIDELOG, "gateway", str(tmp_path / "plant.toml"), "--tap", "tanks"], stdout=subprocess.PIPE) as tap:
                assert tap.stdout is not None
                first = json.loads(tap.stdout.readline())
                assert (first["topic"], first["payload"]) == ("t1/level", {"value": 10})
                tap.terminate()
            eventually(lambda: asyncio.run(_is_open(url, tmp_path)), process=gateway)
            assert asyncio.run(acknowledge(url, tmp_path, "client")) == "m2 is too hot"
            alarm = json.loads(get(ports["http"], "/alarms"))["alarms"][0]
            assert [(deed["who"], deed["comment"], deed["via"]) for deed in alarm["acknowledged"]] == [
                ("anna", "on my way", "opcua")
            ]
            with pytest.raises((ua.UaError, OSError)):
                asyncio.run(acknowledge(url, tmp_path, "stranger"))
            (tmp_path / "password").write_text(ANNAS)
            security = "Basic256Sha256,SignAndEncrypt,clients/client.der,client.pem,server.der"
            look = ("peek", url, "--user", "anna", "--security", security, "--password-file")
            assert "has no variable that holds a number" in tidelog(*look, "password", cwd=tmp_path).stderr  # but lets us in
            assert url in (refusal := tidelog(*look, "plant.tide", cwd=tmp_path).stderr), refusal
            assert "has no variable" not in refusal
            metrics = get(ports["http"], "/metrics")
            for end in ("tanks", "machines", "scada"):
                assert f'tidelog_connected{{end="{end}",program="plant"}} 1.0' in metrics
                assert f'tidelog_connections_total{{end="{end}",program="plant"}} 1.0' in metrics
                assert f'tidelog_connected_since_seconds{{end="{end}",program="plant"}}' in metrics
            assert 'tidelog_request_errors_total{end="machines",program="plant"} 0.0' in metrics
            assert 'tidelog_requests_total{end="scada",program="plant"} 1.0' in metrics
            gateway.send_signal(signal.SIGTERM)
        letters = [json.loads(line) for line in (tmp_path / "letters.jsonl").read_text().splitlines()]
        assert {(letter["place"], letter["reason"]) for letter in letters} == {("tanks:t3/level", refused)}


async def _is_open(url: str, folder: Path) -> bool:
    """Whether the server is there."""
    client = Client(url)
    try:
        await client.connect_and_get_server_endpoints()
    except OSError:
        return False
    return True
