"""A gateway with points: its file, datagrams, files, and what it writes to InfluxDB."""

from __future__ import annotations

import gzip
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

import tidelog
from children import WAIT
from influxdb import DATABASE, InfluxDb, influxdb
from services import TIDELOG
from tidelog.cli import main
from tidelog.connectors.databases.influx.points import Points
from tidelog.connectors.databases.influx.sources import PointsByUdp
from tidelog.connectors.mapping.mapper import MapMapper
from tidelog.connectors.mapping.settings import MapSettings, TimeSettings
from tidelog.connectors.transport.addresses import TcpAddress

PROGRAM = """timeline integer, unit 1 s, round down.
input temp(room: text, celsius: number).
output hot(room, celsius).
hot(R, C) :- temp(R, C), C > 30.
"""
FILE = """program = "plant.tide"
emit = "final"
[[source]]
name = "points"
type = "influx"
file = "in.lp"
[[source.map]]
predicate = "temp"
topic = "room"
time = { path = "time", format = "ns" }
[[sink]]
name = "answers"
type = "influx"
file = "out.lp"
"""
LINES = b"room,room=hall celsius=31 5000000000\nroom,room=attic\nroom,room=hall celsius=12 6000000000\n"
HTTP = FILE.replace('file = "in.lp"\n', "") + '[http]\nlisten = "127.0.0.1:0"\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InfluxDb]:
    with influxdb(tmp_path_factory.mktemp("influxdb")) as running:
        yield running


def gateway(folder: Path, text: str = FILE, lines: bytes = LINES) -> str:
    (folder / "plant.tide").write_text(PROGRAM)
    (folder / "in.lp").write_bytes(lines)
    (folder / "plant.toml").write_text(text)
    return str(folder / "plant.toml")


def test_a_file_of_points_becomes_a_file_of_points(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A bad line is told with its number; a file that gzip has packed holds the same."""
    assert main(["gateway", gateway(tmp_path)]) == 0
    expected = b"hot,room=hall celsius=31.0,active=true 5000000000\nhot,room=hall celsius=31.0,active=false 6000000000\n"
    assert (tmp_path / "out.lp").read_bytes() == expected
    assert "dead letter of points:2: missing fields" in capfd.readouterr().err
    (tmp_path / "out.lp").unlink()
    (tmp_path / "in.lp.gz").write_bytes(gzip.compress(LINES))
    assert main(["gateway", gateway(tmp_path, FILE.replace("in.lp", "in.lp.gz"))]) == 0
    assert (tmp_path / "out.lp").read_bytes() == expected


def test_points_come_by_standard_input(tmp_path: Path) -> None:
    """With `-`, in the precision that the file tells."""
    file = gateway(tmp_path, FILE.replace('file = "in.lp"', 'file = "-"\nprecision = "s"'))
    subprocess.run([*TIDELOG, "gateway", file], input=b"room,room=hall celsius=31 5", check=True, timeout=WAIT)
    assert b"5000000000" in (tmp_path / "out.lp").read_bytes()


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (FILE.replace('file = "in.lp"', 'file = "in.lp"\nudp = "127.0.0.1:1"'), "`udp`, or from a `file`: say one"),
        (FILE.replace('file = "in.lp"', 'file = "in.lp"\npath = "/x"'), "`path` and `token` belong to points"),
        (FILE.replace('file = "in.lp"', ""), "points are written to the server of `[http]`"),
        (FILE.replace('file = "in.lp"', 'file = "no.lp"'), "no.lp"),
        (HTTP.replace('type = "influx"\n\n', "") + "", ""),
        (HTTP.replace("[[source.map]]", 'precision = "s"\n[[source.map]]'), "`precision` belongs to `udp` and `file`"),
        (
            HTTP.replace("[[source.map]]", 'path = "/metrics"\n[[source.map]]'),
            "`/metrics` is an address of the server's own",
        ),
        (FILE.replace('file = "out.lp"', ""), "points go to a `url`, or to a `file`"),
        (FILE.replace('file = "out.lp"', 'url = "http://x"'), "points go to a `bucket`"),
        (FILE.replace('file = "out.lp"', 'url = "http://x"\nbucket = "b"\nretention = "r"'), "`retention` belongs to"),
        (FILE.replace('file = "out.lp"', 'file = "out.lp"\nbucket = "b"'), "belong to a `url`"),
        (FILE + 'fields = { c = "{celsus}" }\n', "no answer has a `{celsus}`"),
        (FILE + "fields = {}\n", "a point has at least one field"),
        (FILE + 'tags = { c = "{room}" }\nfields = { c = "{celsius}" }\n', "`c` is a tag and a field"),
        (FILE + 'tags = { time = "{room}" }\n', "`time` is no name of a tag or a field"),
    ],
)
def test_mistakes_of_the_file_are_told(tmp_path: Path, capfd: pytest.CaptureFixture[str], file: str, reason: str) -> None:
    """What belongs to what, and what is missing."""
    code = main(["gateway", gateway(tmp_path, file), "--check"])
    assert code == (1 if reason else 0)
    assert reason in capfd.readouterr().err


def test_two_sources_need_paths_of_their_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Otherwise nobody knows whose a point is."""
    another = HTTP[HTTP.index("[[source]]") : HTTP.index("[[sink]]")].replace('"points"', '"more"')
    assert main(["gateway", gateway(tmp_path, HTTP.replace("[[sink]]", another + "[[sink]]")), "--check"]) == 1
    assert "source `more` has the same path" in capfd.readouterr().err


def test_a_program_without_a_unit_has_no_times_for_points(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A point's time is one of day."""
    file = gateway(tmp_path, FILE.replace('time = { path = "time", format = "ns" }', ""))
    (tmp_path / "plant.tide").write_text(PROGRAM.replace(", unit 1 s, round down", ""))
    assert main(["gateway", file, "--check"]) == 1
    assert "a time of day needs to know what a unit of time is" in capfd.readouterr().err


def test_tags_say_how_urgent_an_alarm_is(tmp_path: Path) -> None:
    """`{severity}` and the other names of alarms stand for what they do in payloads."""
    told = 'tags = { room = "{room}", severity = "{severity}" }\nfields = { says = "{text}", active = "{active}" }\n'
    file = gateway(tmp_path, FILE.replace('"final"', '"changes"') + told)
    alarm = 'alarm hot(room: text), priority high, text "{room} is hot".\nhot(R) :- temp(R, C), C > 30.\n'
    (tmp_path / "plant.tide").write_text(PROGRAM.partition("output")[0] + alarm)
    assert main(["gateway", file]) == 0
    assert (tmp_path / "out.lp").read_text().splitlines() == [
        f'hot,room=hall,severity=high says="hall is hot",active={active} {time}000000000'
        for active, time in (("true", 5), ("false", 6))
    ]


def test_answers_stand_in_influxdb(server: InfluxDb, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Where they begin and have ended; what is told again changes nothing; a point that is refused is a dead letter."""
    assert server.write('hot,room=loft celsius="a text" 1') == (204, {})
    server.query("DROP MEASUREMENT hot")
    url = f'url = "{server.url}"\ndatabase = "{DATABASE}"\n'
    file = gateway(tmp_path, FILE.replace('file = "out.lp"\n', url))
    assert main(["gateway", file, "--check", "--connect"]) == 0
    assert f"127.0.0.1:{server.port} is there" in capfd.readouterr().out
    for _ in range(2):
        assert main(["gateway", file]) == 0
        rows = server.query("SELECT room, celsius, active FROM hot")
        assert rows == [[5 * 10**9, "hall", 31, True], [6 * 10**9, "hall", 31, False]]
    capfd.readouterr()
    text = FILE.replace('file = "out.lp"\n', url) + 'tags = { room = "{room}" }\nfields = { celsius = "{room}" }\n'
    assert main(["gateway", gateway(tmp_path, text)]) == 0
    assert 'input field \\"celsius\\"' in (said := capfd.readouterr().err) or 'input field "celsius"' in said


@pytest.mark.anyio
async def test_datagrams_are_read_line_by_line() -> None:
    """Each datagram has lines of its own; one that is nothing costs the others nothing."""
    plan = tidelog.compile(PROGRAM)
    maps = [MapSettings("temp", topic="room", time=TimeSettings(path="time", format="ns"))]
    points = Points("udp", MapMapper("udp", plan.schema, maps), maps)
    async with PointsByUdp("udp", TcpAddress("127.0.0.1", 0), points, "s") as source:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for data in (b"# nothing", b"room,room=a celsius=1 5\nroom,room=b\n", b"room,room=c celsius=2 6"):
                sender.sendto(data, ("127.0.0.1", source.port))
        found, letters = [], []
        with anyio.fail_after(WAIT):
            while len(found) + len(letters) < 3:
                batch = await source.receive()
                assert batch is not None
                found += batch.records
                letters += batch.rejected
    assert found == [("temp", ("a", 1), 5, 5), ("temp", ("c", 2), 6, 6)]
    assert [(letter.place, letter.reason) for letter in letters] == [("udp:2", "missing fields")]
