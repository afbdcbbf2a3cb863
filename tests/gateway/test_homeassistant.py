"""Home Assistant: outputs appear there, its buttons are actions, its statestream is read. By the keys that it documents."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_retained import Looker, looking, retained_at

import tidelog
from brokers import broker
from children import child
from tidelog.connectors.brokers.mqtt.homeassistant import HomeAssistant
from tidelog.connectors.brokers.mqtt.retained.board import Board, change_of
from tidelog.connectors.brokers.mqtt.retained.sink import RetainingSink
from tidelog.connectors.brokers.mqtt.retained.store import Held, Stored
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.gateway.building import build
from tidelog.gateway.file.reading import read_settings
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import SpecError
from waiting import eventually

PROGRAM = """timeline integer, unit 1 s, round down.
input temp(room: text, celsius: number).
output level(room: text, celsius: number), anybody.
level(R, C) :- latest temp(R, C) by R in [1 h].
too_warm(R) :- level(R, C), C > 30.
anybody :- level(_, _).
alarm too_warm(room: text), priority high, text "{room} is too warm", acknowledge, shelve at most 30 min.
"""
SETTINGS = """name = "house"
program = "plant.tide"
clock = "1 s"
state = "state"

[[source]]
name = "rooms"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
[[source.map]]
topic = "rooms/{{room}}/temp"
predicate = "temp"
fields.celsius = "@"

[[source]]
name = "buttons"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
topics = ["house/actions"]
retained = "skip"
format = "actions"

[[sink]]
name = "home"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
retry_longest = 0.2
homeassistant = {{ values = {{ level = "celsius" }}, units = {{ level = "°C" }}, classes = {{ level = "temperature" }} }}
"""
ENTITY = {"name", "unique_id", "qos", "device", "origin", "availability_topic", "payload_available", "payload_not_available"}
STATE = {"state_topic", "json_attributes_topic", "device_class"}
DOCUMENTED = {
    "binary_sensor": ENTITY | STATE,
    "sensor": ENTITY | STATE | {"unit_of_measurement"},
    "button": ENTITY | {"command_topic", "payload_press", "retain"},
}
"""Keys of the documentation of MQTT discovery, of those that are used: others would be refused."""
NEEDED = {"binary_sensor": {"state_topic"}, "sensor": {"state_topic"}, "button": {"command_topic"}}


def written(folder: Path, settings: str = SETTINGS, program: str = PROGRAM, port: int = 1) -> Path:
    """A gateway's file."""
    (folder / "plant.tide").write_text(program)
    (folder / "plant.toml").write_text(settings.format(port=port))
    return folder / "plant.toml"


def shown(folder: Path, settings: str = SETTINGS, program: str = PROGRAM) -> HomeAssistant:
    """How the sink of a file shows answers."""
    file = written(folder, settings, program)
    sink = build(read_settings(file), folder)[0].sinks["home"]
    assert isinstance(sink, RetainingSink) and isinstance(sink._presenter, HomeAssistant)
    return sink._presenter


def messages_of(home: HomeAssistant, held: Held) -> dict[str, Any]:
    """What is retained for something, by topics."""
    place = home.place(change_of(held))
    found = [*home.introduced(place, held), *home.shown(place, held)]
    return {topic: json.loads(payload) if payload[:1] == b"{" else payload.decode() for topic, payload in found}


def test_entities_have_the_keys_that_are_documented(tmp_path: Path) -> None:
    """An alarm is a binary sensor with two buttons, a value a sensor, any other output a binary sensor."""
    home = shown(tmp_path)
    answers = [Held("too_warm", ("north",), 60, None, 1), Held("level", ("north", 31.5), 60, None, 2), *home.standing()]
    components = []
    ids = set()
    for held in answers:
        for topic, config in messages_of(home, held).items():
            if topic.startswith("homeassistant/"):
                _, component, node, name, end = topic.split("/")
                components.append(component)
                assert end == "config" and node == "tidelog_house_plant" and config["unique_id"] == f"{node}_{name}"
                assert NEEDED[component] <= config.keys() <= DOCUMENTED[component]
                assert config["availability_topic"] == "tidelog/house/status"
                assert config["device"]["identifiers"] == [node] and config["origin"]["name"] == "tidelog"
                ids.add(config["unique_id"])
    assert components == ["binary_sensor", "button", "button", "sensor", "binary_sensor"]
    assert len(ids) == len(components)


def test_states_and_attributes(tmp_path: Path) -> None:
    """State and attributes stand at the topics that the entity names; a value that does not hold any more is unknown."""
    home = shown(tmp_path)
    alarm = messages_of(home, Held("too_warm", ("north",), 120, None, 1))
    config = next(config for topic, config in alarm.items() if "/binary_sensor/" in topic)
    assert alarm[config["state_topic"]] == "ON" and config["device_class"] == "problem"
    assert alarm[config["json_attributes_topic"]] == {
        "output": "too_warm",
        "args": {"room": "north"},
        "since": "1970-01-01T00:02:00Z",
        "until": None,
        "reason": "north is too warm",
        "severity": "high",
    }
    over = messages_of(home, Held("too_warm", ("north",), 120, 240, 1))
    assert over.keys() == alarm.keys() and over[config["state_topic"]] == "OFF"
    assert over[config["json_attributes_topic"]]["until"] == "1970-01-01T00:04:00Z"
    values = [
        messages_of(home, Held("level", ("north", value), 0, hi, 1)) for value, hi in ((31.5, None), (22, None), (22, 8))
    ]
    sensor = next(config for topic, config in values[0].items() if "/sensor/" in topic)
    assert [value[sensor["state_topic"]] for value in values] == ["31.5", "22", "None"]
    assert (sensor["unit_of_measurement"], sensor["device_class"]) == ("°C", "temperature")
    nobody = messages_of(home, home.standing()[0])
    assert nobody["tidelog/house/anybody/state"] == "OFF" and nobody["tidelog/house/anybody/attributes"]["since"] is None


def test_ids_tell_answers_apart(tmp_path: Path) -> None:
    """What looks the same as an id is another entity all the same."""
    home = shown(tmp_path)
    names = ["a b", "a_b", "a/b", "a+b", "ä", "ö", "", "_"]
    places = {home.place(change_of(Held("too_warm", (name,), 0, None, 1))) for name in names}
    assert len(places) == len(names) and all(place.isascii() and not set(place) & set("/+# ") for place in places)


def test_buttons_are_actions(tmp_path: Path) -> None:
    """What a button sends is an action that the source takes; a shelf is as long as told, or as the program allows."""
    home = shown(tmp_path)
    buttons = [c for t, c in messages_of(home, Held("too_warm", ("a b",), 0, None, 1)).items() if "/button/" in t]
    target = {"alarm": "too_warm", "args": ["a b"], "who": "Home Assistant"}
    assert [json.loads(button["payload_press"]) for button in buttons] == [
        {"acknowledge": target},
        {"shelve": {**target, "for": "30 min"}},
    ]
    assert {button["command_topic"] for button in buttons} == {"house/actions"}
    short = shown(tmp_path, SETTINGS.replace("homeassistant = {{", 'homeassistant = {{ shelve = "5 min",'))
    assert '"for":"5 min"' in json.dumps(messages_of(short, Held("too_warm", ("a",), 0, None, 1))).replace("\\", "")
    nobody = shown(tmp_path, SETTINGS.replace('format = "actions"', 'format = "jsonl"'))
    assert not any("/button/" in topic for topic in messages_of(nobody, Held("too_warm", ("a",), 0, None, 1)))


def test_entities_that_hold_no_more_are_bounded(tmp_path: Path) -> None:
    """Beyond the bound, those go that have not held for longest, with their buttons; what is always there stays."""
    home = shown(tmp_path, SETTINGS.replace("homeassistant = {{", "homeassistant = {{ entities = 2,"))
    board, retained, number = Board(home, Stored("", {}, []), "r"), dict[str, bytes](), 0
    for place in board.places:
        found = board.all_of(place)
        retained.update(() if found is None else found[1])
    for name in "abcda":
        for hi in (POS, 100 + number):
            number += 1
            retained.update(board.take(ChangeRecord("too_warm", (name,), 10 * ord(name), hi), number))
    there = {topic.split("/")[-2][:10] for topic, payload in retained.items() if payload and topic.endswith("state")}
    assert there == {"anybody", "too_warm_a", "too_warm_d"} and len(board) == 3
    assert not any("too_warm_b" in topic for topic, payload in retained.items() if payload)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('state = "state"', "", "say where that is kept"),
        ('clock = "1 s"', 'clock = "1 s"\nemit = "final"', "a program with alarms tells begins"),
        ("homeassistant = {{", "qos = 0\nhomeassistant = {{", "`qos` is 1 or 2"),
        ("homeassistant = {{", 'topic = "x"\nhomeassistant = {{', "leave `topic`"),
        ("homeassistant = {{", 'will = {{ topic = "x" }}\nhomeassistant = {{', "needs `will` and `birth`"),
        ('level = "celsius"', 'level = "celsus"', "has no argument `celsus`: it has room, celsius"),
        ('level = "celsius"', 'levl = "celsius"', "is not told of `levl`; did you mean `level`"),
        ("homeassistant = {{", 'homeassistant = {{ prefix = "a/#",', "no topic to publish to"),
        ("homeassistant = {{", 'homeassistant = {{ shelve = "soon",', "`homeassistant.shelve`"),
        ("[[sink]]", '[limits]\nwhen_full = "drop-oldest"\n[[sink]]', "not `drop-oldest`"),
    ],
)
def test_settings_that_cannot_be_are_told(tmp_path: Path, old: str, new: str, reason: str) -> None:
    """Each with its reason, before anything runs."""
    file = written(tmp_path, SETTINGS.replace(old, new))
    with pytest.raises(SpecError, match=reason):
        build(read_settings(file), tmp_path)


# --- with a broker ------------------------------------------------------------------------------------------------------


def gateway(file: Path) -> list[str]:
    return [sys.executable, "-m", "tidelog", "gateway", str(file)]


def of_alarm(looker: Looker, end: str) -> str | None:
    """What is retained of the alarm in the north."""
    found = [payload for topic, payload in looker.retained.items() if topic.startswith("tidelog/house/too_warm_north")]
    return next((payload.decode() for payload in found if payload.decode() == end), None)


def retained_value(looker: Looker, part: str) -> dict[str, Any]:
    """The configuration whose topic has this part."""
    found = next((payload for topic, payload in looker.retained.items() if part in topic), b"{}")
    config: dict[str, Any] = json.loads(found)
    return config


def warm_up(looker: Looker) -> bool:
    """It is warm in the north; told again, since what comes before the gateway has subscribed is lost."""
    looker._client.publish("rooms/north/temp", b"35", 1)
    time.sleep(0.1)
    return of_alarm(looker, "ON") is not None


@pytest.mark.slow
@pytest.mark.long
def test_an_alarm_appears_and_its_button_shelves_it(tmp_path: Path) -> None:
    """All by the broker: the alarm goes on, the button that came with it is pressed, and the alarm goes off."""
    with broker(tmp_path / "broker") as running, looking(running) as looker:
        with child(gateway(written(tmp_path, port=running.port))) as process:
            eventually(lambda: warm_up(looker), process=process)
            assert looker.retained["tidelog/house/status"] == b"online"
            button = eventually(lambda: retained_value(looker, "_shelve/config"))
            looker._client.publish(button["command_topic"], button["payload_press"], button["qos"])
            eventually(lambda: of_alarm(looker, "OFF"), process=process)
            process.send_signal(signal.SIGTERM)
        assert looker.retained["tidelog/house/status"] == b"offline"


@pytest.mark.slow
@pytest.mark.long
def test_what_the_program_has_no_more_is_taken_away(tmp_path: Path) -> None:
    """Killed, the gateway is shown as away; started with another program, it takes away the entities of outputs that are
    gone, and keeps the others."""
    without = PROGRAM.partition("alarm ")[0].replace(", anybody", "").replace("anybody :- level(_, _).\n", "")
    with broker(tmp_path / "broker") as running, looking(running) as looker:
        with child(gateway(written(tmp_path, port=running.port))) as process:
            eventually(lambda: warm_up(looker), process=process)
            eventually(lambda: looker.retained.get("tidelog/house/anybody/state") == b"ON")
            process.kill()
        eventually(lambda: looker.retained["tidelog/house/status"] == b"offline")
        changed = SETTINGS.replace('state = "state"', 'state = "state"\nwhen_program_changes = "drop"')
        changed = changed.replace('format = "actions"', 'format = "jsonl"')
        with child(gateway(written(tmp_path, changed, without, running.port))) as process:
            eventually(lambda: looker.retained["tidelog/house/status"] == b"online", process=process)
            eventually(lambda: not any("too_warm" in topic or "anybody" in topic for topic in looker.retained))
            found = retained_at(running)
            assert any("/sensor/" in topic for topic in found)
            process.send_signal(signal.SIGTERM)


# --- the statestream ----------------------------------------------------------------------------------------------------

PLAN = tidelog.compile(
    """timeline integer, unit 1 s, round down.
input entity(domain: text, name: text, state: text).
input number(name: text, value: number).
q(X) :- entity(X, _, _)."""
)
THERE = "@ != 'unavailable' && @ != 'unknown'"
MAPS = [
    MapSettings("entity", topic="homeassistant/{domain}/{name}/state", fields={"state": "@"}),
    MapSettings("number", topic="homeassistant/sensor/{name}/state", when=THERE, fields={"value": "@"}),
    MapSettings("number", topic="homeassistant/light/{name}/brightness", fields={"value": "@"}),
]


@pytest.mark.parametrize(
    ("topic", "payload", "facts"),
    [
        ("homeassistant/light/master_bedroom_dimmer/state", b"on", [("entity", ("light", "master_bedroom_dimmer", "on"))]),
        ("homeassistant/light/master_bedroom_dimmer/brightness", b"128", [("number", ("master_bedroom_dimmer", 128))]),
        ("homeassistant/sensor/hall/state", b"21.5", [("entity", ("sensor", "hall", "21.5")), ("number", ("hall", 21.5))]),
        ("homeassistant/sensor/hall/state", b"unavailable", [("entity", ("sensor", "hall", "unavailable"))]),
    ],
)
def test_the_statestream_is_read(topic: str, payload: bytes, facts: list[tuple[str, tuple[object, ...]]]) -> None:
    """States are plain text, attributes are JSON: maps of `text` take both where they are one number."""
    batch = MapMapper("home", PLAN.schema, MAPS, format="text").batch([Message(topic, payload, 0.0)])
    assert [(predicate, row) for predicate, row, _, _ in batch.records] == facts
    assert not batch.rejected
