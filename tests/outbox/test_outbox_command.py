"""`run --out spark+outbox:DIR`: options, mistakes, going on after a signal, and serving until all has been taken."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import tidelog
from children import WAIT
from outbox.boxes import PROGRAM, held, run_durably, source, untimed, write_csv
from tidelog.cli import main
from tidelog.connectors.outbox.client import OutboxClient
from tidelog.connectors.outbox.outbox import OutboxReader
from tidelog.connectors.outbox.spec import MAX_BYTES, OutboxSpec, parse_outbox
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from waiting import eventually


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.tide"
    path.write_text(PROGRAM)
    return path


def start(program: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tidelog", "run", str(program), *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_last(folder: Path, least: int) -> None:
    """Wait until an outbox holds so many facts."""

    def has_come() -> bool:
        with suppress(SpecError), OutboxReader(str(folder)) as reader:  # it may not be there yet
            return reader.last() >= least
        return False

    eventually(has_come)


def test_a_spec_and_its_options() -> None:
    """A directory, relative or absolute; bytes with their unit, facts, policy, seconds, and the node's name."""
    assert parse_outbox("spark+outbox:box") == OutboxSpec("box", max=MAX_BYTES)
    assert parse_outbox("spark+outbox:///var/box").path == "/var/box"
    assert parse_outbox("SPARK+OUTBOX:/var/box").path == "/var/box"
    told = parse_outbox("spark+outbox:box?max=20MB&rows=500&full=stop&every=0.25&node=edge-7")
    assert told == OutboxSpec("box", 20_000_000, 500, "stop", 0.25, "edge-7")


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("spark+outbox:", "names no directory"),
        ("spark+outbox://host/box", "names a host"),
        ("spark+outbox:box?size=1", "unknown option `size`: the options are max, rows, full, every, node"),
        ("spark+outbox:box?max=0", "`max` is a number of bytes, such as `500MB` or `2GB`, got `0`"),
        ("spark+outbox:box?max=1XB", "`max` is a number of bytes"),
        ("spark+outbox:box?rows=-1", "`rows` is a number of facts above 0"),
        ("spark+outbox:box?full=drop", "`full` is `block` or `stop`, got `drop`"),
        ("spark+outbox:box?every=1e9", "`every` is a number of seconds"),
        ("spark+outbox:box?node=a b", "`node` is a name of letters"),
    ],
)
def test_a_spec_that_is_wrong(spec: str, reason: str) -> None:
    """The error names the option, what it takes and what it got."""
    with pytest.raises(SpecError, match=re.escape(reason)):
        parse_outbox(spec)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--out", "spark+outbox:{box}", "--out", "spark+outbox:{box}2"], "a run has one outbox"),
        (["--keep", "7d"], "`--keep` needs `--state DIR`"),
        (["--state", "{box}", "--keep", "7x"], "expected an age or a size"),
        (["--state", "{box}", "--out", "parquet:t"], "tables cannot be gone on with"),
        (["--out", "spark+outbox:{box}", "--iso"], "an outbox holds times as exact numbers"),
        (["--out", "-", "--serve-outbox", "127.0.0.1:0"], "`--serve-outbox` needs an outbox"),
        (["--token-file", "f"], "`--token-file` needs an outbox"),
        (
            ["--out", "spark+outbox:{box}", "--serve-outbox", "tcp+listen://127.0.0.1:9400"],
            "expected HOST:PORT",
        ),
        (["--out", "spark+outbox:{box}", "--serve-outbox", "0.0.0.0:0"], "needs TLS and a token"),
        (
            ["--out", "spark+outbox:{box}", "--serve-outbox", "127.0.0.1:0", "--tls-cert", "c"],
            "`--tls-cert` and `--tls-key` belong together",
        ),
        (
            ["--out", "spark+outbox:{box}", "--serve-outbox", "127.0.0.1:0", "--backend", "asyncio"],
            "`--serve-outbox` is served on trio alone",
        ),
        (["--in", "spark+outbox:{box}"], "unknown scheme `spark+outbox`"),
    ],
)
def test_options_that_do_not_go_together(
    program: Path, tmp_path: Path, options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is a mistake in usage (exit 2), told before anything is made."""
    told = [option.format(box=tmp_path / "box") for option in options]
    assert main(["run", str(program), *told]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "box").exists()


def test_a_program_that_asks_has_no_outbox(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hypothetical answers are no facts: it is said, and nothing is made."""
    path = tmp_path / "asks.tide"
    path.write_text("timeline integer. input hot(x). alarm(X) :- hot(X). ask alarm(X)@T.")
    assert main(["run", str(path), "--out", f"spark+outbox:{tmp_path}/box"]) == 2
    assert "an outbox holds derived facts" in capsys.readouterr().err


@pytest.mark.slow
def test_changes_go_into_an_outbox(tmp_path: Path) -> None:
    """`--emit changes`: a row when an alarm begins, and one when it has ended; they are no facts to go on with."""
    (tmp_path / "p.tide").write_text("timeline integer. seen(X) :- p(X).")
    (tmp_path / "facts.txt").write_text("p(a)@[3,5]\np(b)@[4,inf)\n")
    box = tmp_path / "box"
    options = ["run", str(tmp_path / "p.tide"), "--in", str(tmp_path / "facts.txt"), "--out", f"spark+outbox:{box}"]
    assert main([*options, "--emit", "changes"]) == 0
    assert [(row.arguments, row.start, row.end) for row in held(box)] == [
        ('["a"]', "3", None),
        ('["b"]', "4", None),
        ('["a"]', "3", "5"),
    ]
    assert main([*options, "--emit", "final"]) == 2


@pytest.mark.long
def test_a_signal_commits_and_the_next_run_goes_on(program: Path, tmp_path: Path) -> None:
    """SIGTERM ends a run cleanly (143) with what it has taken; run again, the rest follows; dead letters are kept."""
    plan = tidelog.compile(PROGRAM)
    first, path, pipe = tmp_path / "box", write_csv(tmp_path / "temp.csv", 5000), tmp_path / "more"
    os.mkfifo(pipe)
    options = ["--in", f"{path}?predicate=temp", "--in", f"facts+file:{pipe}", "--out", f"spark+outbox:{first}?node=edge"]
    options += ["--dead-letter", str(tmp_path / "dead"), "--lateness", "10000"]
    for turn in range(2):
        process = start(program, *options)
        with pipe.open("w") as writer:
            writer.write("nonsense\n" if turn == 0 else "temp(d,30)@[0,2]\n")
            writer.flush()
            wait_for_last(first, 1)
            if turn == 0:
                eventually(lambda: "nonsense" in (tmp_path / "dead").read_text(), process=process)
                process.send_signal(signal.SIGTERM)
                assert "could not be used" in process.communicate(timeout=WAIT)[1]
        process.communicate(timeout=WAIT)
        assert process.returncode == (143 if turn == 0 else 0)
    rows = held(first)
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    run_durably(plan, tmp_path / "golden", [source(plan, path)], lateness=10000)
    golden = held(tmp_path / "golden")
    alone = [row for row in rows if row.arguments != '["d"]']
    assert sorted(row[1:7] for row in alone) == sorted(row[1:7] for row in golden)
    assert [row.predicate for row in rows if row.arguments == '["d"]'].count("alarm") == 1
    dead = [json.loads(line)["raw"] for line in (tmp_path / "dead").read_text().splitlines()]
    assert dead.count("nonsense") == 1


@pytest.mark.slow
def test_an_outbox_is_served_until_all_is_taken(program: Path, tmp_path: Path) -> None:
    """A client with the token reads along; at the stream's end the process waits until everything is acknowledged."""
    plan, path = tidelog.compile(PROGRAM), write_csv(tmp_path / "temp.csv", 300)
    token = secrets.token_hex(8)
    (tmp_path / "token").write_text(token)
    folder, port = tmp_path / "box", free_port()
    options = ["--in", f"{path}?predicate=temp", "--out", f"spark+outbox:{folder}", "--token-file", str(tmp_path / "token")]
    process = start(program, *options, "--serve-outbox", f"127.0.0.1:{port}")
    wait_for_last(folder, 1)
    rows = []
    with OutboxClient(f"http://127.0.0.1:{port}/outbox/program", token=token) as client:
        while not rows or rows[-1].horizon != "inf":
            rows += client.read(len(rows))
        assert process.stderr is not None
        assert any(f"the stream has ended; {len(rows)} facts left to be taken" in line for line in process.stderr)
        assert process.poll() is None
        client.acknowledge(len(rows))
    assert process.communicate(timeout=WAIT)[0] == ""
    assert process.returncode == 0
    run_durably(plan, tmp_path / "golden", [source(plan, path)])
    assert untimed(rows) == untimed(held(tmp_path / "golden"))
    with pytest.raises(ConnectorError):
        OutboxClient(f"http://127.0.0.1:{port}/outbox/program").last()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
