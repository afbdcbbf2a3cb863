"""A gateway with a database: its file, what `--check` says, and a background that follows a query."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from children import WAIT
from tidelog.cli import main
from tidelog.gateway.backgrounds import fetch
from tidelog.gateway.file.settings import BackgroundSettings
from tidelog.plans.diagnostics.errors import SpecError
from waiting import eventually

PROGRAM = """timeline integer, unit 1 s, round down.
input failed(machine: text).
background part from "parts.jsonl".
output check(part).
check(P) :- failed(M), part(M, P).
"""
FILE = """program = "plant.tide"
emit = "final"
state = "state"
[[source]]
name = "floor"
type = "spec"
spec = "unix+listen:///{folder}/in"
[[sink]]
name = "history"
type = "sql"
url = "sqlite:answers.db"
[[background]]
file = "parts.jsonl"
predicate = "part"
url = "sqlite:plant.db"
query = "SELECT machine, part FROM parts ORDER BY machine, part"
every = 0.05
"""


def tell(folder: Path, *statements: str) -> None:
    """What somebody else does in the plant's database."""
    with closing(sqlite3.connect(folder / "plant.db", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def plant(tmp_path: Path) -> Path:
    """A gateway's file, its program and a database."""
    tell(tmp_path, "CREATE TABLE parts (machine TEXT, part TEXT)", "INSERT INTO parts VALUES ('press', 'valve')")
    (tmp_path / "plant.tide").write_text(PROGRAM)
    (tmp_path / "plant.toml").write_text(FILE.format(folder=str(tmp_path).lstrip("/")))
    return tmp_path


def test_a_check_asks_and_reaches(plant: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The query's answer becomes the file that the program reads; the sink's database lets one in."""
    assert main(["gateway", str(plant / "plant.toml"), "--check", "--connect"]) == 0
    assert f"history: the database {plant / 'answers.db'} is made when the gateway starts" in capfd.readouterr().out
    assert not (plant / "answers.db").exists()
    sqlite3.connect(plant / "answers.db").close()
    assert main(["gateway", str(plant / "plant.toml"), "--check", "--connect"]) == 0
    assert f"history: the database {plant / 'answers.db'} lets it in" in capfd.readouterr().out
    assert (plant / "parts.jsonl").read_text() == '{"predicate":"part","args":["press","valve"]}\n'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('url = "sqlite:nowhere/answers.db"', "`history`: there is no folder"),
        ('url = "mysql://h/d"', "sink `history`: `url` is `sqlite:PATH`, or `postgresql://USER@HOST:PORT/DATABASE`, got"),
        ('url = "postgresql://a:hunter2@h/d"', "say `password`, so that no secret stands in the file"),
        ('url = "sqlite:answers.db"\npassword = { env = "NO" }', "`password` is for a server, and SQLite has none"),
        ('url = "sqlite:answers.db"\nprefix = "a%s"', "`prefix`: expected text matching regex"),
    ],
)
def test_what_cannot_be_is_told(plant: Path, capfd: pytest.CaptureFixture[str], line: str, reason: str) -> None:
    """Before anything is opened, and without a secret."""
    file = plant / "plant.toml"
    file.write_text(file.read_text().replace('url = "sqlite:answers.db"', line))
    (plant / "parts.jsonl").write_text("")
    assert main(["gateway", str(file), "--check"]) == 1
    said = "".join(capfd.readouterr())
    assert reason in said and "hunter2" not in said


def test_an_answer_that_is_no_facts_is_told(plant: Path) -> None:
    """And the file stays as it was."""
    asked = BackgroundSettings(file="f.jsonl", predicate="p", url="sqlite:plant.db", query="SELECT 1, 2.5, 'a'")
    assert fetch(asked, plant) and not fetch(asked, plant)
    for query, error, reason in (
        ("SELECT NULL", SpecError, r"row 1 of the query has no value \(NULL\)"),
        ("SELECT * FROM missing", OSError, "no such table: missing"),
    ):
        other = BackgroundSettings(file="f.jsonl", predicate="p", url="sqlite:plant.db", query=query)
        with pytest.raises(error, match=reason):
            fetch(other, plant)
    assert (plant / "f.jsonl").read_text() == '{"predicate":"p","args":[1,2.5,"a"]}\n'
    assert not list(plant.glob(".*"))


@pytest.mark.slow
@pytest.mark.long
def test_a_gateway_follows_a_database(plant: Path) -> None:
    """What changes in a table of the plant counts for what fails later, and the program's state goes on."""
    command = [sys.executable, "-m", "tidelog", "gateway", str(plant / "plant.toml")]
    with (plant / "log").open("wb") as log, subprocess.Popen(command, stderr=log) as gateway:
        eventually((plant / "in").exists, process=gateway)
        tell(plant, "INSERT INTO parts VALUES ('press', 'pump')")
        eventually(lambda: "changed plant" in (plant / "log").read_text(), process=gateway)
        gateway.send_signal(signal.SIGTERM)
        assert gateway.wait(WAIT) == 128 + signal.SIGTERM
    assert (plant / "parts.jsonl").read_text().count("\n") == 2
