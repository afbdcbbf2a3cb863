"""Standard output and standard error: exact in pipes and files, harmless on terminals, and quiet once nobody reads."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from children import WAIT

TIDELOG = [sys.executable, "-m", "tidelog"]
STEERING = "a\x1b]0;owned\x07\u202e\u2028\u200b\x9b2J"
SHOWN = r"a\x1b]0;owned\x07\u202e\u2028\u200b\x9b2J"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Programs and facts that hold what steers a terminal."""
    (tmp_path / "p.tide").write_text("timeline integer.\nseen(X) :- hot(X).\nbottom :- hot(X), cold(X).\n")
    (tmp_path / "bad.tide").write_text('timeline integer.\nseen("a\u202eb", Y) :- hot("\x9b2J").\n')
    (tmp_path / "facts.txt").write_text(f'hot("{STEERING}")@1\n')
    (tmp_path / "many.txt").write_text("".join(f"hot(p{i})@{t}\n" for t in range(5) for i in range(400)))
    return tmp_path


def on_terminal(stream: Literal["stdout", "stderr"], arguments: list[str], cwd: Path, **settings: str) -> str:
    """What a terminal is sent that is standard output, or standard error, of a command."""
    leader, follower = pty.openpty()
    other = "stderr" if stream == "stdout" else "stdout"
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(
        [*TIDELOG, *arguments],
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env=environment | settings,
        **{stream: follower, other: subprocess.DEVNULL},  # type: ignore[call-overload]
    ) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
        process.wait(WAIT)
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


def piped(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*TIDELOG, *arguments], capture_output=True, cwd=cwd, check=False, timeout=WAIT)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


# --- terminals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "p.tide", "--in", "facts.txt", "--out", "facts+-"],
        ["run", "p.tide", "--in", "facts.txt", "--out", "facts+-", "--backend", "asyncio"],
        ["run", "p.tide", "--in", "facts.txt", "--out", "facts+file:/dev/stdout"],
        ["materialise", "p.tide", "facts.txt"],
    ],
)
def test_facts_are_exact_in_a_pipe_and_visible_on_a_terminal(folder: Path, arguments: list[str]) -> None:
    """The same answer: byte for byte where it is data, with escapes where it is looked at."""
    assert f'seen("{STEERING}")@1\n' in piped(arguments, folder).stdout
    assert f'seen("{SHOWN}")@1\n' in on_terminal("stdout", arguments, folder)


def test_json_lines_on_a_terminal(folder: Path) -> None:
    """JSON escapes some of it by itself; what it leaves is escaped, too."""
    shown = on_terminal("stdout", ["run", "p.tide", "--in", "facts.txt"], folder)
    assert shown == '{"predicate":"seen","args":["a\\u001b]0;owned\\u0007\\u202e\\u2028\\u200b\\x9b2J"],"time":1}\n'


@pytest.mark.parametrize("stage", ["text", "plan"])
def test_a_program_that_is_explained_on_a_terminal(tmp_path: Path, stage: str) -> None:
    """Constants in what `explain` prints."""
    (tmp_path / "q.tide").write_text('seen(X) :- hot(X, "\u202e").\n')
    arguments = ["explain", "q.tide", "--stage", stage]
    assert "\u202e" in piped(arguments, tmp_path).stdout
    shown = on_terminal("stdout", arguments, tmp_path)
    assert r"\u202e" in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "p.tide", "--in", "clash.txt", "--out", "/dev/null"], f'constraint violated at 1: hot("{SHOWN}")'),
        (["consistent", "p.tide", "clash.txt"], f'constraint violated at 1: hot("{SHOWN}")'),
        (["run", "p.tide", "--in", STEERING], f"cannot read `{SHOWN}`"),
        (["run", "p.tide", "--in", "letters.txt"], "letters.txt:1: "),
        (["check", STEERING], f"cannot read `{SHOWN}`"),
        (["check", f"{STEERING}.tide"], f"--> {SHOWN}.tide:1:7"),
        (["check", "p.tide", f"--{STEERING}"], f"unknown option `--{SHOWN}`"),
        (["run", "p.tide", "--in", f"unix://{STEERING}"], SHOWN),
    ],
)
def test_what_is_said_is_visible_everywhere(folder: Path, arguments: list[str], said: str) -> None:
    """Violations, dead letters, names of files, options: on a terminal, and in a log that is read on one later."""
    (folder / "clash.txt").write_text(f'hot("{STEERING}")@1\ncold("{STEERING}")@1\n')
    (folder / "letters.txt").write_text(f"nonsense {STEERING}\n")
    (folder / f"{STEERING}.tide").write_text("seen(X :- hot(X).\n")
    for shown in (piped(arguments, folder).stderr, on_terminal("stderr", arguments, folder, NO_COLOR="1")):
        assert said in shown
        assert all(c.isprintable() or c in "\r\n" for c in shown)


def test_a_message_is_one_line(folder: Path) -> None:
    """A name with a line end begins no line that looks like another message."""
    said = piped(["run", "p.tide", "--in", "x\ntidelog: all is well"], folder).stderr
    assert said == "tidelog: error: cannot read `x\\ntidelog: all is well`: No such file or directory\n"


def test_what_is_logged_is_said_alike(folder: Path) -> None:
    """Such as a connection that is tried again, at an address with what steers a terminal."""
    code = (
        "import logging\nfrom tidelog.cli import main\n"
        "main(['run', 'p.tide', '--in', 'facts.txt', '--out', '/dev/null'])\n"
        "logging.getLogger('tidelog').warning('lost %s\\nagain', '\\x1b[2J')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=True)
    assert done.stderr == "tidelog: lost \\x1b[2J\\nagain\n"


def test_carets_stand_below_what_is_shown(folder: Path) -> None:
    """Characters that are shown as escapes take the place of all their signs."""
    lines = piped(["check", "bad.tide"], folder).stderr.splitlines()
    shown = next(line for line in lines if line.startswith("2 |"))
    assert shown == r'2 | seen("a\u202eb", Y) :- hot("\x9b2J").'
    assert lines[lines.index(shown) + 1].index("^") == shown.index("Y")


def test_colours_on_a_terminal(folder: Path) -> None:
    """There are some, but with NO_COLOR, and on a terminal that has none."""
    arguments = ["check", "bad.tide"]
    assert "\x1b[1m" in on_terminal("stderr", arguments, folder, TERM="xterm")
    assert "\x1b" not in on_terminal("stderr", arguments, folder, TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in on_terminal("stderr", arguments, folder, TERM="dumb")


# --- readers that have gone ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["spark", "run", "--help"],
        ["check", "-v", "p.tide"],
        ["check", "p.tide", "--format", "json"],
        ["explain", "p.tide"],
        ["explain", "p.tide", "facts.txt", "--stage", "ltl"],
        ["materialise", "p.tide", "many.txt"],
        ["entails", "p.tide", "many.txt", "--fact", "seen(p1)@1"],
        ["consistent", "p.tide", "many.txt"],
        ["run", "p.tide", "--in", "many.txt", "--backend", "trio"],
        ["run", "p.tide", "--in", "many.txt", "--backend", "asyncio"],
        ["ask", "p.tide", "--query", "seen(X)@T", "--in", "many.txt", "--backend", "trio"],
        ["ask", "p.tide", "--query", "seen(X)@T", "--in", "many.txt", "--backend", "asyncio"],
    ],
)
def test_a_reader_that_has_gone_is_no_error(folder: Path, arguments: list[str]) -> None:
    """As after `| head -1`: nothing is said, and the exit code is that of SIGPIPE."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as answers:
        done = subprocess.run(
            [*TIDELOG, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=answers,
            stderr=subprocess.PIPE,
            cwd=folder,
            check=False,
            timeout=WAIT,
        )
    assert (done.stderr, done.returncode) == (b"", 141)


@pytest.mark.parametrize("arguments", [["check", "-v", "p.tide"], ["--help"], ["explain", "p.tide"]])
def test_what_cannot_be_written_is_an_error(folder: Path, arguments: list[str]) -> None:
    """A full disk behind standard output: one line, no traceback at the end."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*TIDELOG, *arguments], stdout=full, stderr=subprocess.PIPE, cwd=folder, check=False, timeout=WAIT
        )
    said = b"tidelog: error: cannot write to standard output: No space left on device\n"
    assert (done.stderr, done.returncode) == (said, 1)
