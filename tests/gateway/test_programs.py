"""Several programs in one gateway, each with a state of its own; and limits, which degrade as they are told to."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from brokers import free_port
from children import WAIT, child
from tidelog.cli import main
from tidelog.connectors.store.state_store import StateDirectory
from waiting import eventually

PLANT = (
    "timeline integer, unit 1 s. input temp(room: text, celsius: number). output warm. warm(R) :- temp(R, C), C > {limit}."
)
TWO = """state = "state"
iso = false
{more}
[[programs]]
program = "hall.tide"
emit = "points"

[[programs]]
name = "attic"
program = "roof.tide"
emit = "points"

[[source]]
name = "low"
program = "hall"
type = "spec"
spec = "facts+file:low.txt"

[[source]]
name = "high"
program = "attic"
type = "spec"
spec = "facts+file:high.txt"

[[sink]]
name = "told"
program = "hall"
type = "spec"
spec = "facts+file:told.txt"

[[sink]]
name = "said"
program = "attic"
type = "spec"
spec = "facts+file:said.txt"
"""


def two(folder: Path, more: str = "") -> Path:
    """A gateway of two programs, each with a source and a sink."""
    for name, limit in (("hall", 5), ("roof", 50)):
        (folder / f"{name}.tide").write_text(PLANT.format(limit=limit))
    for name in ("low", "high"):
        (folder / f"{name}.txt").write_text("temp(a,10)@1\ntemp(b,60)@2\n")
    file = folder / "house.toml"
    file.write_text(TWO.format(more=more))
    return file


def add(file: Path, line: str) -> None:
    file.write_text(file.read_text() + line)


def test_each_program_has_a_state_of_its_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Both go on where they were; where one of them has changed, that one refuses to lose state, or it is set aside."""
    file = two(tmp_path)
    assert main(["gateway", str(file)]) == 0
    told, said = tmp_path / "told.txt", tmp_path / "said.txt"
    assert [told.read_text(), said.read_text()] == ["warm(a)@1\n", ""]
    for name in ("hall", "attic"):
        assert (tmp_path / "state" / name / "state.sqlite").exists()
    for name in ("low", "high"):
        add(tmp_path / f"{name}.txt", "temp(c,70)@3\n")
    assert main(["gateway", str(file)]) == 0
    assert [told.read_text(), said.read_text()] == ["warm(a)@1\nwarm(b)@2\n", "warm(b)@2\n"]
    (tmp_path / "roof.tide").write_text(PLANT.format(limit=55).replace("warm", "hot"))
    capfd.readouterr()
    assert main(["gateway", str(file)]) == 1
    assert f"{tmp_path}/state/attic" in capfd.readouterr().err
    file.write_text(file.read_text().replace('state = "state"', 'state = "state"\nwhen_program_changes = "set-aside"'))
    assert main(["gateway", str(file)]) == 0
    assert len(list((tmp_path / "state").glob("attic.*"))) == 1 and not list((tmp_path / "state").glob("hall.*"))
    assert told.read_text() == "warm(a)@1\nwarm(b)@2\n"  # nothing again


def test_ends_belong_to_one_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A source that does not say which, and one of a program that there is not, are errors at their place."""
    file = two(tmp_path)
    file.write_text(file.read_text().replace('program = "hall"', "", 1).replace('program = "attic"', 'program = "atic"', 1))
    assert main(["gateway", str(file), "--check"]) == 1
    said = capfd.readouterr().err
    assert "`low` does not say its `program`" in said and "there is no program `atic`" in said and "`attic`" in said


def test_more_rows_than_are_allowed_end_it_by_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`limits.rows`: the error says how many rows there are, and which rule holds most of them."""
    file = two(tmp_path, "[limits]\nrows = 50\n")
    (tmp_path / "hall.tide").write_text(PLANT.format(limit=5).replace("temp(R, C)", "diamondminus[0,9000] temp(R, C)"))
    (tmp_path / "low.txt").write_text("".join(f"temp(r{n},9)@{n}\n" for n in range(2000)))
    assert main(["gateway", str(file)]) != 0
    said = capfd.readouterr().err
    assert "50" in said and "temp" in said


OWING = """program = "hall.tide"
emit = "points"
state = "state"
[limits]
owed_bytes = 2000
when_full = "{full}"
[[source]]
name = "low"
type = "spec"
spec = "facts+tcp+listen://127.0.0.1:{port}"
[[sink]]
name = "away"
type = "webhook"
url = "http://127.0.0.1:1/"
"""


MOST = 2_000_000
"""How many facts are sent at most."""
SAID = {
    "stop": "too many answers wait for the sinks",
    "drop-oldest": "answers were dropped, since too many waited for it",
}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("full", ["stop", "drop-oldest", "block"])
def test_a_sink_that_is_away_costs_as_much_disk_as_is_told(tmp_path: Path, full: str) -> None:
    """Beyond it the gateway stops, or drops the oldest answers and says how many, or takes nothing more from its sources."""
    (tmp_path / "hall.tide").write_text(PLANT.format(limit=5))
    port, file, said = free_port(), tmp_path / "hall.toml", tmp_path / "said.txt"
    file.write_text(OWING.format(full=full, port=port))
    command = [sys.executable, "-m", "tidelog", "gateway", str(file)]
    with said.open("wb") as stderr, child(command, stderr=stderr, stdout=subprocess.DEVNULL) as gateway:
        eventually(lambda: "running hall" in said.read_text(), process=gateway)
        with eventually(lambda: connected(port), process=gateway) as sender:
            sender.settimeout(2)
            send_until(lambda taken: is_over(full, taken, said.read_text(), tmp_path / "state" / "hall"), sender)
        if full == "stop":
            assert gateway.wait(WAIT) == 1
        else:
            assert gateway.poll() is None
            gateway.send_signal(signal.SIGINT)


def connected(port: int) -> socket.socket | None:
    """A connection to a source; None before it listens, which may be after the program runs."""
    with suppress(ConnectionRefusedError):
        return socket.create_connection(("127.0.0.1", port), WAIT)
    return None


def is_over(full: str, taken: bool, said: str, state: Path) -> bool:
    """Whether the gateway does what it should where too many answers wait."""
    return SAID[full] in said if full in SAID else not taken and owed(state) >= 2000


def owed(state: Path) -> int:
    """How many bytes of answers are stored."""
    with StateDirectory(str(state), read_only=True) as store:
        return store.kept().size


def send_until(is_over: Callable[[bool], bool], sender: socket.socket) -> None:
    """Send facts until this is so, as it is asked with whether the last were taken; none taken for long is an error."""
    until = time.monotonic() + WAIT
    try:
        for is_taken in facts_sent(sender):
            if is_over(is_taken):
                return
            until = time.monotonic() + WAIT if is_taken else until
            assert time.monotonic() < until
    except ConnectionError:  # nobody is there any more
        eventually(lambda: is_over(False))
        return
    raise AssertionError(f"{MOST} facts were taken")


def facts_sent(sender: socket.socket) -> Iterator[bool]:
    """Send facts; yields each time whether some were taken, at least by the system, within the socket's time.

    ConnectionError where nobody is there any more.
    """
    for first in range(0, MOST, 500):
        left = "".join(f"temp(r{n % 7},{6 + n % 5})@{n}\n" for n in range(first, first + 500)).encode()
        while left:
            try:
                left = left[sender.send(left) :]
                yield True
            except TimeoutError:
                yield False
