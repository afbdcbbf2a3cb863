"""The gateway's file: what may stand there, and how each mistake is told."""

from __future__ import annotations

import logging
import os
import re
import socket
import time
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from children import WAIT
from tidelog.cli import main
from tidelog.commands.outcome import show_diagnostics
from tidelog.connectors.brokers.mqtt.settings import Broker
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.file.reading import read_text
from tidelog.gateway.file.settings import GatewaySettings
from tidelog.gateway.kinds.own.mqtt import MqttSourceSettings
from tidelog.gateway.logs import JsonFormatter, RateLimit, TextFormatter, letter_line, letter_logged
from tidelog.gateway.systemd import Notifier
from tidelog.plans.diagnostics.errors import ProgramError, SpecError
from tidelog.runtime.ports.interfaces import Rejected

MQTT = """program = "plant.tide"
[[source]]
name = "floor"
type = "mqtt"
url = "mqtt://${HOST}:1883"
password = { env = "SECRET" }
[[source.map]]
predicate = "temp"
fields.celsius = { path = "v", convert = "X / 10" }
"""


WRONG = (("keep_alive", -1), ("keep_alive", 65_536), ("max_inflight", 0), ("session_expiry", 1 << 32), ("retry_longest", 0))
"""Numbers that no broker takes."""


def read(text: str) -> GatewaySettings:
    return read_text(text, "plant.toml", {"HOST": "broker"})


def problems(text: str) -> list[tuple[str, int, str]]:
    """The message, the line and the help of each mistake."""
    with pytest.raises(ProgramError) as caught:
        read(text)
    return [
        (item.message, caught.value.text.count("\n", 0, item.span.start) + 1, item.help) for item in caught.value.diagnostics
    ]


def test_a_file_is_read() -> None:
    """Texts may hold what the environment has; the only program is named after its file."""
    found = read(MQTT)
    source = found.source[0]
    assert isinstance(source, MqttSourceSettings)
    assert source.url == "mqtt://broker:1883" and source.password == Secret(env="SECRET")
    assert [one.name for one in found.programs] == ["plant"]


def test_every_unknown_key_is_told_with_its_place_and_the_nearest() -> None:
    """All of them in one go, also within arrays of tables and within inline tables."""
    text = MQTT.replace('url = "', 'ulr = "').replace("path =", "pth =") + "[log]\nlevle = 3\n"
    assert problems(text) == [
        ("unknown key `ulr` of `source`", 5, "did you mean `url`?"),
        ("unknown key `pth` of `source.map.fields.celsius`", 9, "did you mean `path`?"),
        ("unknown key `levle` of `log`", 11, "did you mean `level`?"),
    ]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("program = 3", "`program`: expected text, got a number", 1),
        ("program =", "this is no TOML", 1),
        ('program = "a"\n[log]\nformat = "xml"', "`format`: invalid value 'xml'", 3),
        ('program = "a"\n[log]\nevery = nan', "`every`: expected a finite number, got nan", 3),
        ('program = "a"\n[limits]\nrows = 0', "`rows`: expected a number >= 1", 3),
        ('program = "a\\u0000"', "the text holds a NUL character", 1),
        ('program = "${HOST"', "`${` is not followed by a name", 1),
        (MQTT.replace('"floor"', '"floor facts"'), "`name`: expected a word, got `floor facts`", 3),
        (MQTT + '[[sink]]\nname = "floor"\ntype = "spec"\nspec = "-"\n', "a source and a sink have the name `floor`", 11),
        (MQTT + "fields.other = { value = 1 }\nfields.third = 3", "`third`: expected text or a table", 11),
        *(
            (MQTT.replace("[[source.map]]", f"{key} = {value}\n[[source.map]]"), f"`{key}`: expected a number", 7)
            for key, value in WRONG
        ),
        ('program = "a"\n[[source]]\nname = "x"', "missing key `type` of `source` `x`", 3),
        ('program = "${NO}"', "the environment has no `NO`", 1),
        ("name = 'x'", "the file names its program, or several, in one way", 1),
        (MQTT + MQTT.partition("\n")[2].partition("[[source.map]]")[0], "two source tables have the name `floor`", 11),
        (MQTT.replace('name = "floor"', 'name = "floor"\nprogram = "plnt"'), "there is no program `plnt`", 4),
        ('lateness = 3\n[[programs]]\nprogram = "a"', "`lateness` belongs into the tables `[[programs]]`", 1),
    ],
)
def test_mistakes_stand_at_their_place(text: str, message: str, line: int) -> None:
    """Each with the line that it is in."""
    found = problems(text)
    assert any(message in told and at == line for told, at, _ in found), found


def test_a_secret_does_not_stand_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from the environment, a file, or systemd; no message shows one."""
    told = problems(MQTT.replace('{ env = "SECRET" }', '"hunter2"'))
    assert told[0][1] == 6 and "say `{ env" in told[0][2] and "hunter2" not in str(told)
    (tmp_path / "token").write_text("hunter2\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert Secret(file="token").reveal(tmp_path) == Secret(credential="token").reveal() == "hunter2"
    for missing in (Secret(), Secret(env="NOT_THERE"), Secret(file="nowhere"), Secret(env="A", file="b")):
        with pytest.raises(SpecError):
            missing.reveal(tmp_path)
    with pytest.raises(SpecError) as caught:
        Broker.parse("mqtt://user:hunter2@host")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        'password = "hunter2"',
        'pasword = "hunter2"',
        'password = { enviroment = "hunter2" }',
        'password = "hunter2',
        'url = "mqtt://me:hunter2@host"\nusr = 3',
        'headers = { Authorization = "hunter2", nothing = 3 }',
    ],
)
def test_no_message_shows_a_secret_that_stands_in_the_file(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in its text nor in the line that it shows, also where the key is misspelt or the file is no TOML."""
    with pytest.raises(ProgramError) as caught:
        read(
            f'program = "a"\n[[source]]\nname = "x"\ntype = "mqtt"\nurl = "mqtt://host"\n{line}\n'.replace(
                'url = "mqtt://host"\nurl', "url"
            )
        )
    show_diagnostics(caught.value.diagnostics, caught.value.name, caught.value.text)
    said = capsys.readouterr().err
    assert "plant.toml:" in said
    assert "hunter2" not in said + str(caught.value)


@pytest.mark.parametrize(
    ("line", "help"),
    [
        ('emit = "change"', "did you mean `changes`?"),
        ('[log]\nlevel = "loud"', "known are debug, error, info, warning"),
        ('[[sink]]\nname = "s"\ntype = "mqqt"', "did you mean `mqtt`?"),
        ('[[source]]\nname = "s"\ntype = "mqtt"\nurl = "mqtt://h"\nqos = 2', "known are 0, 1"),
    ],
)
def test_a_value_that_is_none_of_those_there_are_leads_to_them(line: str, help: str) -> None:
    """The nearest, or all of them."""
    assert [item[2] for item in problems(f'program = "a"\n{line}\n')] == [help]


def test_a_new_gateway_is_right(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`init` writes one whose file is right, whose rules pass their tests, and whose messages all become facts."""
    folder = tmp_path / "new"
    assert main(["init", str(folder)]) == 0
    assert main(["test", str(folder)]) == 0
    assert main(["fmt", "--check", str(folder / "plant.tide")]) == 0
    assert main(["gateway", str(folder / "plant.toml"), "--check"]) == 0
    capfd.readouterr()
    assert main(["gateway", str(folder / "plant.toml"), "--try", str(folder / "messages.jsonl")]) == 0
    told = capfd.readouterr().out.splitlines()
    assert told[:2] == [f"{folder}/messages.jsonl:1: cold/north/temp", "  plant: temp(north,-18.5)@2026-01-01T00:00:00Z"]
    assert "  plant: door(north,open)@2026-01-01T00:00:03Z" in told
    assert main(["init", str(folder)]) == 2
    assert "nothing is overwritten" in capfd.readouterr().err


def test_a_message_that_cannot_be_used_is_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`--try` says why, and its exit code is 1."""
    assert main(["init", str(tmp_path / "new")]) == 0
    (tmp_path / "m.jsonl").write_text(
        '{"topic":"cold/north/temp","payload":{"celcius":1}}\n{"topic":"else","payload":1}\nx\n'
    )
    capfd.readouterr()
    assert main(["gateway", str(tmp_path / "new/plant.toml"), "--try", str(tmp_path / "m.jsonl")]) == 1
    told = capfd.readouterr().out
    assert "plant cannot use it: field `celsius`: there is nothing, and no default" in told
    assert "m.jsonl:2: else\n  no source takes it" in told and "m.jsonl:3: not a recorded message: JSON is" in told


def test_mistakes_of_a_table_name_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What only shows against the program is told with the name of its source."""
    main(["init", str(tmp_path / "new")])
    file = tmp_path / "new/plant.toml"
    file.write_text(file.read_text().replace('predicate = "temp"', 'predicate = "tmp"'))
    assert main(["gateway", str(file), "--check"]) == 1
    assert "source `plant`: the program has no predicate `tmp`; did you mean `temp`?" in capfd.readouterr().err


def test_a_webhook_may_be_tried_again_soon(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The longest pause may be shorter than the first one is otherwise."""
    main(["init", str(tmp_path / "new")])
    file = tmp_path / "new/plant.toml"
    hook = '[[sink]]\nname = "hook"\ntype = "webhook"\nurl = "http://host/"\nretry_longest = 0.1\n'
    file.write_text(file.read_text() + hook)
    assert main(["gateway", str(file), "--check"]) == 0, capfd.readouterr().err


def test_a_certificate_that_is_not_there_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`--check` reads what TLS needs, so that it is not found missing at the first connection."""
    main(["init", str(tmp_path / "new")])
    file = tmp_path / "new/plant.toml"
    broker = 'type = "mqtt"\nurl = "mqtts://broker"\nca = "nowhere.pem"'
    file.write_text(file.read_text().replace('type = "replay"\nfile = "messages.jsonl"', broker))
    assert main(["gateway", str(file), "--check"]) == 1
    assert "`plant`: TLS: No such file or directory; looked at `ca`" in capfd.readouterr().err


def test_a_receiver_that_is_not_there_is_told_where_ends_are_tried(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`--check --connect` opens a connection to where a webhook posts to, and a device listens, and sends nothing."""
    main(["init", str(tmp_path)])
    file = tmp_path / "plant.toml"
    with socket.create_server(("127.0.0.1", 0)) as receiver, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        there, away = receiver.getsockname()[1], nobody.getsockname()[1]
        hooks = [
            f'[[sink]]\nname = "{port}"\ntype = "webhook"\nurl = "http://127.0.0.1:{port}/x"\n' for port in (there, away)
        ]
        file.write_text(file.read_text() + "".join(hooks))
        assert main(["gateway", str(file), "--check", "--connect"]) == 1
    said = capfd.readouterr().out
    assert f"{there}: 127.0.0.1:{there} is there" in said
    assert f"{away}: cannot be reached: " in said


def test_a_secret_that_is_not_there_is_told_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By `--check`, and by a run, which would otherwise try to connect for ever; with all else that is wrong."""
    main(["init", str(tmp_path)])
    file = tmp_path / "plant.toml"
    broker = 'type = "mqtt"\nurl = "mqtt://broker"\npassword = { env = "NO_SUCH_SECRET" }'
    text = file.read_text().replace('type = "replay"\nfile = "messages.jsonl"', broker)
    file.write_text(text.replace("clock =", 'dead_letters = "no/x"\nclock ='))
    for options in (["--check"], []):
        assert main(["gateway", str(file), *options]) == 1
        said = capfd.readouterr().err
        assert "`plant`: the environment has no `NO_SUCH_SECRET`" in said and "`dead_letters`: " in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('state = "plant.tide"', "`state`: cannot keep the state in `{0}/plant.tide/plant`: `{0}/plant.tide` is no folder"),
        ('state = "locked/new/state"', "`{0}/locked` may not be written"),
        ('dead_letters = "locked"', "`dead_letters`: cannot write to `{0}/locked`: `{0}/locked` is a folder"),
        ('dead_letters = "locked/x"', "`{0}/locked` may not be written"),
        ('dead_letters = "nowhere/x"', "there is no folder `{0}/nowhere`"),
        ('tap = "nowhere/x"', "`tap`: cannot listen at `{0}/nowhere/x`: there is no folder `{0}/nowhere`"),
        ('state = "new/state"\ndead_letters = "letters"', ""),
    ],
)
def test_paths_that_cannot_be_written_are_told_before_anything_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    """By `--check`, which makes nothing, and by a run."""
    folder = tmp_path / "plant"
    assert main(["init", str(folder)]) == 0
    (folder / "locked").mkdir()
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked" and may(path, mode))
    file = folder / "plant.toml"
    file.write_text(file.read_text().replace('clock = "1 s"', f'clock = "1 s"\n{line}'))
    before = sorted(folder.iterdir())
    assert main(["gateway", str(file), "--check"]) == (1 if said else 0)
    assert said.format(folder) in capfd.readouterr().err
    if said:
        assert main(["gateway", str(file)]) == 1
        assert said.format(folder) in capfd.readouterr().err
    assert sorted(folder.iterdir()) == before


# --- logs, systemd ------------------------------------------------------------------------------------------------------


def record(text: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("tidelog", logging.WARNING, "", 0, text, arguments, None)


def test_logs_are_limited() -> None:
    """Of one kind so many pass within a span; the next span begins with how many were held back."""
    now = [0.0]
    limit = RateLimit(2, 60, lambda: now[0])
    assert [limit.filter(record("%s: lost", i)) for i in range(5)] == [True, True, False, False, False]
    assert limit.filter(record("another"))
    now[0] = 60.0
    again = record("%s: lost", 9)
    assert limit.filter(again) and again.getMessage() == "9: lost (3 more of these were held back)"


def test_logs_are_lines() -> None:
    """Of text in which nothing is invisible, or of JSON."""
    assert TextFormatter(with_time=False).format(record("a\nb %s", "c\x1b")) == "warning: a\\nb c\\x1b"
    assert JsonFormatter().format(record("a %s", 1)).endswith('"level":"warning","message":"a 1"}')


def test_dead_letters_say_when() -> None:
    """In the log and in a file; under systemd, which has the time, the log does not."""
    item = Rejected("floor:a", "no number", b"a\xff\n")
    logged = letter_logged(item, as_json=False)
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z dead letter of floor:a: no number; it reads a\\xff\\n", logged
    )
    assert letter_logged(item, as_json=False, with_time=False).startswith("dead letter of floor:a")
    for line in (letter_logged(item, as_json=True), letter_line(item)):
        letter = msgspec.json.decode(line)
        assert abs(datetime.fromisoformat(letter["time"]).timestamp() - time.time()) < WAIT
        assert (letter["place"], letter["reason"], letter["raw"]) == ("floor:a", "no number", "a\\xff\n")


def test_systemd_is_told(tmp_path: Path) -> None:
    """As datagrams to the socket that it names; the watchdog is served twice as often as it asks."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(path)
        notifier = Notifier({"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "3000000"})
        notifier.ready("running plant")
        assert heard.recv(1000) == b"READY=1\nSTATUS=running plant"
        notifier.reloading()
        assert heard.recv(1000).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
        assert notifier.interval == 1.5
    notifier.stopping()  # nobody listens any more
    assert Notifier({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}).interval is None


def test_what_is_done_instead_of_running_is_one_thing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`--check`, `--try` and `--tap` exclude each other; an empty name is no gateway that runs."""
    folder = tmp_path / "new"
    assert main(["init", str(folder)]) == 0
    file = str(folder / "plant.toml")
    for other in (["--tap", "plant"], ["--try", "messages.jsonl"]):
        assert main(["gateway", file, "--check", *other]) == 2
        assert "not allowed with argument --check" in capfd.readouterr().err
    assert main(["gateway", file, "--tap", ""]) == 1
    assert "no gateway runs with this file" in capfd.readouterr().err
