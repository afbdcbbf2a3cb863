"""Standard output and standard error: exact in pipes and files, harmless on terminals, and quiet once nobody reads."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest

from children import WAIT, tidelog

TIDELOG = [sys.executable, "-m", "tidelog"]
STEERING = "a\x1b]0;owned\x07\u202e\u2028\u200b\x9b2J"
Run = Callable[..., Any]
SHOWN = r"a\x1b]0;owned\x07\u202e\u2028\u200b\x9b2J"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Programs and facts that hold what steers a terminal."""
    (tmp_path / "p.tide").write_text("timeline integer.\nseen(X) :- hot(X).\nbottom :- hot(X), cold(X).\n")
    (tmp_path / "bad.tide").write_text('timeline integer.\nseen("a\u202eb", Y) :- hot("\x9b2J").\n')
    (tmp_path / "facts.txt").write_text(f'hot("{STEERING}")@1\n')
    (tmp_path / "many.txt").write_text("".join(f"hot(p{i})@{t}\n" for t in range(5) for i in range(400)))
    return tmp_path


def on_terminal(stream: Literal["stdout", "stderr"], arguments: list[str], cwd: Path, run: Run = tidelog) -> str:
    """What a terminal is sent that is standard output, or standard error, of a command: a few lines, which it buffers."""
    leader, follower = pty.openpty()
    with open(leader, "rb", buffering=0) as terminal:
        with open(follower, "wb", buffering=0):
            run(*arguments, cwd=cwd, **{stream: follower})
        shown = b""
        with suppress(OSError):  # the other side is closed
            while piece := terminal.read(4096):
                shown += piece
    return shown.decode().replace("\r\n", "\n")


def process(*arguments: str, cwd: Path, stdout: int = subprocess.DEVNULL, stderr: int = subprocess.DEVNULL) -> None:
    """The same as `children.tidelog`, in a process of its own."""
    subprocess.run([*TIDELOG, *arguments], cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, check=True)


@pytest.fixture(autouse=True)
def usual_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours as on a terminal, whatever the tests were started with."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


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
    assert f'seen("{STEERING}")@1\n' in tidelog(*arguments, cwd=folder).stdout
    assert f'seen("{SHOWN}")@1\n' in on_terminal("stdout", arguments, folder)


def test_json_lines_on_a_terminal(folder: Path) -> None:
    """JSON escapes some of it by itself; what it leaves is escaped, too. So it is in a process of its own."""
    shown = on_terminal("stdout", ["run", "p.tide", "--in", "facts.txt"], folder, process)
    assert shown == '{"predicate":"seen","args":["a\\u001b]0;owned\\u0007\\u202e\\u2028\\u200b\\x9b2J"],"time":1}\n'


@pytest.mark.parametrize("stage", ["text", "plan"])
def test_a_program_that_is_explained_on_a_terminal(tmp_path: Path, stage: str) -> None:
    """Constants in what `explain` prints."""
    (tmp_path / "q.tide").write_text('seen(X) :- hot(X, "\u202e").\n')
    arguments = ["explain", "q.tide", "--stage", stage]
    assert "\u202e" in tidelog(*arguments, cwd=tmp_path).stdout
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
def test_what_is_said_is_visible_everywhere(
    folder: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Violations, dead letters, names of files, options: on a terminal, and in a log that is read on one later."""
    (folder / "clash.txt").write_text(f'hot("{STEERING}")@1\ncold("{STEERING}")@1\n')
    (folder / "letters.txt").write_text(f"nonsense {STEERING}\n")
    (folder / f"{STEERING}.tide").write_text("seen(X :- hot(X).\n")
    monkeypatch.setenv("NO_COLOR", "1")
    for shown in (tidelog(*arguments, cwd=folder).stderr, on_terminal("stderr", arguments, folder)):
        assert said in shown
        assert all(c.isprintable() or c in "\r\n" for c in shown)


def test_a_message_is_one_line(folder: Path) -> None:
    """A name with a line end begins no line that looks like another message."""
    said = tidelog("run", "p.tide", "--in", "x\ntidelog: all is well", cwd=folder).stderr
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
    lines = tidelog("check", "bad.tide", cwd=folder).stderr.splitlines()
    shown = next(line for line in lines if line.startswith("2 |"))
    assert shown == r'2 | seen("a\u202eb", Y) :- hot("\x9b2J").'
    assert lines[lines.index(shown) + 1].index("^") == shown.index("Y")


@pytest.mark.parametrize(
    ("settings", "has_some"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_on_a_terminal(
    folder: Path, settings: dict[str, str], has_some: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are some, but with NO_COLOR, and on a terminal that has none."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[1m" in on_terminal("stderr", ["check", "bad.tide"], folder)) == has_some


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
