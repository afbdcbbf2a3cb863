"""People act on alarms by messages: each is an action, or a dead letter."""

from __future__ import annotations

import json
import signal
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

import tidelog
from brokers import Broker, broker, free_port
from children import WAIT, child
from tidelog.connectors.mapping.actions import ActionMapper
from tidelog.connectors.mapping.messages import Message
from tidelog.gateway.building import build
from tidelog.gateway.file.reading import read_settings
from tidelog.plans.diagnostics.errors import SpecError
from waiting import eventually

PROGRAM = """
timeline integer, unit 1 s, round down.
input hot(room: text).
too_warm(R) :- hot(R).
alarm too_warm(room: text), priority high, acknowledge, shelve at most 8 h.
"""
SETTINGS = """
program = "plant.tide"
clock = "1 s"
state = "state"
dead_letters = "letters.jsonl"
[http]
listen = "127.0.0.1:{http}"
[[source]]
name = "commands"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
topics = ["plant/alarms/commands"]
format = "actions"
"""
TOPIC = "plant/alarms/commands"


def mapper(text: str = PROGRAM) -> ActionMapper:
    """What a source `commands` makes of its messages."""
    return ActionMapper("commands", tidelog.compile(text).schema, "mqtt")


def told(what: str, at: float = 1000.5) -> Message:
    """A message at the topic of commands."""
    return Message(TOPIC, what.encode(), at)


def test_a_message_is_an_action() -> None:
    """At the time that it tells, or when it came; what ends a shelf, and a new one, are told in their order."""
    acknowledge = '{"acknowledge":{"alarm":"too_warm","args":["north"],"who":"anna"}}'
    shelve = '{"shelve":{"alarm":"too_warm","args":{"room":"north"},"who":"anna","for":"2 h"}}'
    south = '{"remove":{"alarm":"too_warm","args":["south"],"who":"bob","comment":"broken"},"time":17}'
    found = mapper().batch([told(acknowledge), told(shelve), told(south)])
    assert not found.rejected and found.places == [f"commands:{TOPIC}"] * 3
    assert found.records == [
        ("too_warm acknowledge", ("north", "anna", "", f"mqtt {TOPIC}"), 1000, 1000),
        ("too_warm shelve", ("north", "anna", "", f"mqtt {TOPIC}", "1000", "8200"), 1000, 8199),
        ("too_warm remove", ("south", "bob", "broken", f"mqtt {TOPIC}"), 17, 17),
    ]


def test_a_shelf_behind_the_end_of_another_comes_later() -> None:
    """At one time the end would count. All else has the time at which it came, however much is done at once."""
    comment = '{"comment":{"alarm":"too_warm","args":["north"],"who":"anna","comment":"so"}}'
    shelve = '{"shelve":{"alarm":"too_warm","args":["north"],"who":"anna","for":"2 h"}}'
    unshelve = '{"unshelve":{"alarm":"too_warm","args":["north"],"who":"anna"}}'
    found = mapper().batch([told(comment), told(shelve), told(unshelve), told(shelve), told(comment)])
    assert [lo for _, _, lo, _ in found.records] == [1000, 1000, 1000, 1001, 1000]


@pytest.mark.parametrize(
    ("poison", "reason"),
    [
        ("acknowledge", "JSON"),
        ("[]", "expected an object"),
        ("{}", "one action a message"),
        ('{"acknowledge":{},"restore":{}}', "one action a message"),
        ('{"acknowlege":{}}', "did you mean `acknowledge`"),
        ('{"acknowledge":{"alarm":"too_cold","who":"anna"}}', "declares no alarm"),
        ('{"acknowledge":{"alarm":"too_warm","who":"anna"}}', "has (room), got 0"),
        ('{"acknowledge":{"alarm":"too_warm","args":["north"]}}', "`who` is missing"),
        ('{"acknowledge":{"alarm":"too_warm","args":["north"],"who":"anna","via":"phone"}}', "`via` is not"),
        ('{"acknowledge":{"alarm":"too_warm","args":["north"],"who":"anna"},"time":{}}', "`time` must be"),
        ('{"acknowledge":{"alarm":"too_warm","args":["north"],"who":"anna"},"time":"noon"}', "noon"),
        ('{"shelve":{"alarm":"too_warm","args":["north"],"who":"anna","for":"9 h"}}', "8 h at the most"),
        ('{"hot":{"room":"north"},"time":1}', "is no action"),
        ("\xff", "JSON"),
        ("[" * 100_000, "nested"),
    ],
)
def test_what_is_no_action_is_a_dead_letter(poison: str, reason: str) -> None:
    """With its reason; the message behind it counts."""
    good = told('{"unshelve":{"alarm":"too_warm","args":["north"],"who":"anna"}}')
    found = mapper().batch([told(poison), good])
    assert len(found.records) == 1 and len(found.rejected) == 1
    assert reason in found.rejected[0].reason


def test_a_file_says_who_may_send_actions(tmp_path: Path) -> None:
    """A program without alarms, or without a clock, and maps beside it, are mistakes that are told."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    settings = SETTINGS.format(port=1, http=2)
    (tmp_path / "plant.toml").write_text(settings)
    assert build(read_settings(tmp_path / "plant.toml"), tmp_path)
    for wrong, reason in (
        (settings.replace('clock = "1 s"', ""), "need a program with `clock`"),
        (settings + '[[source.map]]\ntopic = "x"\npredicate = "hot"\n', "`map` and `by`"),
    ):
        (tmp_path / "plant.toml").write_text(wrong)
        with pytest.raises(SpecError, match=reason):
            build(read_settings(tmp_path / "plant.toml"), tmp_path)
    with pytest.raises(SpecError, match="declares alarms"):
        mapper("timeline integer, unit 1 s. q(X) :- p(X).")


def get(port: int, path: str) -> dict[str, Any]:
    """What a gateway answers."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=WAIT) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def is_ready(port: int) -> bool:
    """Whether a gateway runs."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=WAIT) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def state_of(port: int) -> str | None:
    """How the alarm stands."""
    alarms = get(port, "/alarms")["alarms"]
    return alarms[0]["state"] if alarms else None


def publish(running: Broker, *messages: str) -> None:
    """Send commands, until the broker has them."""
    client = Client(CallbackAPIVersion.VERSION2, client_id="phone")
    client.connect("127.0.0.1", running.port)
    client.loop_start()
    for message in messages:
        client.publish(TOPIC, message, 1).wait_for_publish(WAIT)
    client.disconnect()
    client.loop_stop()


@pytest.mark.slow
@pytest.mark.long
def test_a_gateway_takes_commands_of_a_broker(tmp_path: Path) -> None:
    """Acknowledged once, also where the gateway was killed, and what was sent while it was away; poison is a dead letter."""
    (tmp_path / "plant.tide").write_text(PROGRAM)
    http = free_port()
    with broker(tmp_path / "broker") as running:
        (tmp_path / "plant.toml").write_text(SETTINGS.format(port=running.port, http=http))
        command = [sys.executable, "-m", "tidelog", "gateway", str(tmp_path / "plant.toml")]
        with child(command) as gateway:
            eventually(lambda: is_ready(http))
            now = int(time.time())
            fact = json.dumps({"hot": {"room": "north"}, "interval": f"[{now},{now + 9999}]"})
            urllib.request.urlopen(f"http://127.0.0.1:{http}/ingest?wait=commit", fact.encode(), timeout=WAIT).close()
            eventually(lambda: state_of(http) == "unacknowledged")
            who = '"alarm":"too_warm","args":["north"],"who":"anna"'
            publish(running, "poison", f'{{"acknowledge":{{{who},"comment":"on my way"}}}}')
            eventually(lambda: state_of(http) == "acknowledged")
            gateway.send_signal(signal.SIGKILL)
        publish(running, f'{{"shelve":{{{who},"for":"1 h"}}}}')
        with child(command) as gateway:
            eventually(lambda: is_ready(http))
            eventually(lambda: state_of(http) == "shelved")
            entries = get(http, "/alarms/history")["entries"]
            done = [(entry["what"], entry["via"]) for entry in reversed(entries) if "via" in entry]
            assert done == [("acknowledge", f"mqtt {TOPIC}"), ("shelve", f"mqtt {TOPIC}")]
            gateway.send_signal(signal.SIGTERM)
    letters = [json.loads(line) for line in (tmp_path / "letters.jsonl").read_text().splitlines()]
    assert {letter["raw"] for letter in letters} == {"poison"}  # once more, where the kill came before its receipt
