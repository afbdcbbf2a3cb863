"""SIGINT and SIGTERM, wherever a command is: the first ends it soon, with its code and what is true; the second at once.

How long it takes is measured in the process' own computing time, so that a busy machine makes these tests slow, not red.
What ignores a signal would compute, or wait, until the time-out.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from children import WAIT
from tidelog.commands import signals
from waiting import computed, eventually

TIDELOG = [sys.executable, "-m", "tidelog"]
PATIENCE = WAIT
"""After so many seconds a process is not waited for any more."""
SOON = 2.5
"""How many seconds of computing may follow the first signal."""
BUSY_JOIN = "timeline integer.\nq(X,Y,Z) :- p(X), p(Y), p(Z), X+Y+Z < 0.\n"
"""A billion combinations, all of them in one call of one operator; none is an answer, so that nothing grows."""
FACTS = "".join(f"p({i})@1\n" for i in range(1000))
ENDLESS = "boxplus[1,1] r(X) :- r(X).\n"
BOTH = [pytest.param(signal.SIGINT, 130, marks=pytest.mark.long), (signal.SIGTERM, 143)]

pytestmark = pytest.mark.slow


@dataclass
class Child:
    """A process of the command line, and how much it has computed."""

    process: subprocess.Popen[str]

    def computed(self) -> float:
        return computed(self.process)

    def wait_until(self, is_there: Callable[[], bool]) -> None:
        eventually(is_there, process=self.process)

    def has_taken_signal(self) -> bool:
        """Whether the handler of a first signal has run, which lets an alarm go off, or has ended the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.MULTILINE)
        return "\nState:\tZ" in status or (caught is not None and bool(int(caught[1], 16) >> signal.SIGALRM - 1 & 1))

    def send(self, number: int) -> tuple[int, str]:
        """Send one signal; returns the exit code, and what was said. It computes no longer than `SOON` then."""
        before = self.computed()
        self.process.send_signal(number)
        used = before

        def has_ended() -> bool:
            nonlocal used
            if self.process.poll() is None:
                used = self.computed()
            return self.process.returncode is not None

        eventually(has_ended)
        assert used - before < SOON
        assert self.process.stderr is not None
        return self.process.wait(PATIENCE), self.process.stderr.read()


@contextmanager
def started(*command: str, cwd: Path, **more: object) -> Iterator[Child]:
    """A command in a folder; signals are as usual there, however the tests were started."""
    more.setdefault("preexec_fn", _usual)
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **more}
    with subprocess.Popen([*TIDELOG, *command], text=True, cwd=cwd, **streams) as process:  # type: ignore[call-overload]
        try:
            yield Child(process)
        finally:
            process.kill()


def _usual() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "p.tide").write_text(BUSY_JOIN)
    (tmp_path / "found.tide").write_text(BUSY_JOIN + "found(0) :- q(_,_,_).\n")
    (tmp_path / "p.txt").write_text(FACTS)
    (tmp_path / "endless.tide").write_text(ENDLESS)
    (tmp_path / "r.txt").write_text("".join(f"r(a{i})@{i}\n" for i in range(20_000)))
    (tmp_path / "last.txt").write_text("".join(f"r(a{i})@0\n" for i in range(2_000)))
    return tmp_path


RUN = ("run", "p.tide", "--in", "p.txt", "--out", "/dev/null")
RECURSION = ("run", "endless.tide", "--in", "last.txt", "--out", "/dev/null", "--max-state", "1000000000")
COMMANDS = {
    "run": RUN,
    "on asyncio": (*RUN, "--backend", "asyncio"),
    "final": (*RUN, "--emit", "final"),
    "recursion": RECURSION,
    "recursion on asyncio": (*RECURSION, "--backend", "asyncio"),
    "ask": ("ask", "p.tide", "--query", "q(X,Y,Z)@T", "--in", "p.txt", "--out", "jsonl+/dev/null"),
    "materialise": ("materialise", "p.tide", "p.txt"),
    "rounds": ("materialise", "endless.tide", "r.txt"),
    "entails": ("entails", "found.tide", "p.txt", "--fact", "found(0)@1"),
    "consistent": ("consistent", "constraint.tide", "p.txt"),
}


def in_long(value: object) -> ParameterSet:
    """A parameter of the long run alone."""
    return pytest.param(value, marks=pytest.mark.long)


LOOPS = ("run", "on asyncio", "ask", "entails")
"""One command of each kind of loop that a signal has to leave: for these both signals are sent, SIGTERM for all."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "number", "code"),
    [
        pytest.param(command, number, code, id=f"{name}-{number.name}")
        for name, command in COMMANDS.items()
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130))
        if number == signal.SIGTERM or name in LOOPS
    ],
)
def test_a_signal_ends_what_is_busy(here: Path, command: tuple[str, ...], number: signal.Signals, code: int) -> None:
    """One call of an operator that would go on for minutes is interrupted, and it is said that this is not all."""
    (here / "constraint.tide").write_text(BUSY_JOIN + "bottom :- q(_,_,_).\n")
    with started(*command, cwd=here) as child:
        child.wait_until(lambda: child.computed() > 1.5)
        ended, said = child.send(number)
    assert ended == code
    assert said in (
        f"tidelog: stopped by {number.name} before all answers were given\n",
        "tidelog: not all answers were taken before the engine stopped\n",
    )


@pytest.mark.parametrize(
    "command", [RUN, pytest.param(("materialise", "p.tide", "p.txt"), marks=pytest.mark.long)], ids=["run", "materialise"]
)
def test_a_second_signal_ends_it_at_once(here: Path, command: tuple[str, ...]) -> None:
    """It does not wait for what the first one has begun."""
    with started(*command, cwd=here) as child:
        child.wait_until(lambda: child.computed() > 1.5)
        child.process.send_signal(signal.SIGTERM)
        eventually(child.has_taken_signal)
        ended, _ = child.send(signal.SIGINT)
    assert ended in ({130} if command == RUN else {130, 143})


@pytest.mark.long
def test_a_signal_ends_an_outbox_run_that_is_busy(here: Path) -> None:
    """Nothing of the batch is stored; the outbox is whole, and a next run goes on from its last commit."""
    command = ("run", "p.tide", "--in", "p.txt", "--out", "spark+outbox:box")
    for _ in range(2):
        with started(*command, cwd=here) as child:
            child.wait_until(lambda: child.computed() > 1.5)
            ended, said = child.send(signal.SIGTERM)
        assert ended == 143
        assert "what was taken since the last commit is not stored" in said
    (here / "p.txt").write_text("p(1)@1\n")
    done = subprocess.run([*TIDELOG, *command], cwd=here, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
@pytest.mark.parametrize("backend", ["trio", in_long("asyncio")])
def test_a_signal_ends_a_run_whose_reader_does_not_read(here: Path, backend: str) -> None:
    """A pipe that is full holds nothing up, and it is said that answers were not taken."""
    (here / "p.tide").write_text("timeline integer.\nq(X,Y) :- p(X), p(Y), X < 100.\n")
    with started("run", "p.tide", "--in", "p.txt", "--backend", backend, cwd=here, stdout=subprocess.PIPE) as child:
        assert child.process.stdout is not None
        fd = child.process.stdout.fileno()
        child.wait_until(lambda: _waiting(fd) >= 1 << 15)
        ended, said = child.send(signal.SIGTERM)
    assert ended == 143
    assert "not all answers were taken before the engine stopped" in said


@pytest.mark.long
def test_a_signal_ends_a_run_whose_client_does_not_read(here: Path) -> None:
    """The same for a socket."""
    (here / "p.tide").write_text("timeline integer.\nq(X,Y) :- p(X), p(Y).\n")
    path = here / "answers.sock"
    with started("run", "p.tide", "--in", "p.txt", "--out", f"unix+listen://{path}", cwd=here) as child:
        child.wait_until(path.exists)
        with socket.socket(socket.AF_UNIX) as client:
            child.wait_until(lambda: client.connect_ex(str(path)) == 0)  # bound first, and then listened to
            child.wait_until(lambda: _waiting(client.fileno()) > 0)
            ended, said = child.send(signal.SIGINT)
    assert ended == 130
    assert "not all answers were taken before the engine stopped" in said


def test_a_signal_ends_answers_that_nobody_reads(here: Path) -> None:
    """`materialise` into a pipe that is full."""
    (here / "p.tide").write_text("timeline integer.\nq(X,Y) :- p(X), p(Y), X < 100.\n")
    with started("materialise", "p.tide", "p.txt", cwd=here, stdout=subprocess.PIPE) as child:
        assert child.process.stdout is not None
        fd = child.process.stdout.fileno()
        child.wait_until(lambda: _waiting(fd) >= 1 << 15)
        ended, said = child.send(signal.SIGTERM)
    assert (ended, said) == (143, "tidelog: stopped by SIGTERM before all answers were given\n")


def _waiting(fd: int) -> int:
    """How many bytes wait to be read."""
    return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0"))[0])


@pytest.mark.long
@pytest.mark.parametrize("command", ["run", *map(in_long, ("check", "explain", "materialise"))])
def test_a_signal_ends_the_reading_of_a_program(here: Path, command: str) -> None:
    """A large program, or a pipe in place of one, that nobody writes."""
    (here / "large.tide").write_text("".join(f"q{i}(X) :- boxminus[0,{i}] p(X), not r(X), s(X,Y).\n" for i in range(20_000)))
    with started(command, "large.tide", cwd=here) as child:
        child.wait_until(lambda: child.computed() > 1.0)
        assert child.send(signal.SIGTERM)[0] == 143
    os.mkfifo(here / "pipe.tide")
    with started(command, "pipe.tide", cwd=here) as child:
        writer: list[int] = []
        child.wait_until(lambda: _opened(here / "pipe.tide", writer))
        os.write(writer[0], b"q(X) :- ")
        child.wait_until(lambda: _waiting(writer[0]) == 0)  # it has been read, and the command waits for more
        assert child.send(signal.SIGINT)[0] == 130
        os.close(writer[0])


def _opened(path: Path, writer: list[int]) -> bool:
    """Whether somebody reads the pipe; then it is open for writing."""
    try:
        writer.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "command", [RUN, pytest.param(("materialise", "p.tide", "p.txt"), marks=pytest.mark.long)], ids=["run", "materialise"]
)
def test_a_signal_ends_the_reading_of_a_background(here: Path, command: tuple[str, ...]) -> None:
    """A file of a million rows beside the program."""
    (here / "link.csv").write_text("a,b\n" + "".join(f"x{i},y{i}\n" for i in range(1_000_000)))
    (here / "p.tide").write_text('background link from "link.csv".\nq(X) :- p(X), link(X, Y).\n')
    with started(*command, cwd=here) as child:
        child.wait_until(lambda: child.computed() > 1.2)
        assert child.send(signal.SIGTERM)[0] == 143


@pytest.mark.long
def test_an_ignored_signal_stays_ignored(here: Path) -> None:
    """`nohup` and `&` in a script keep the keyboard's interrupt from what runs in the background."""
    with started("materialise", "p.tide", "p.txt", cwd=here, preexec_fn=_without_interrupt) as child:
        child.wait_until(lambda: child.computed() > 1.0)
        child.process.send_signal(signal.SIGINT)
        before = child.computed()
        child.wait_until(lambda: child.computed() > before + 0.5)
        assert child.send(signal.SIGTERM)[0] == 143


def _without_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("names", "is_ours"),
    [
        (["tidelog.runtime.x:work"], True),
        (["re:match", "tidelog.runtime.x:work", "trio._core:run"], True),
        (["trio._core:step", "tidelog.runtime.x:work"], False),
        (["weakref:remove", "tidelog.operators.ltl.formula:make"], False),
        (["importlib._bootstrap:cb", "tidelog.plans.lazy:find"], False),
        (["tidelog.connectors.x:close", "tidelog.connectors.x:__del__", "tidelog.runtime.x:work"], False),
    ],
)
def test_nothing_is_interrupted_where_an_exception_would_be_lost(names: list[str], is_ours: bool) -> None:
    """Not in an event loop, and not where an object goes, nor in what is called from there: Python would print "Exception
    ignored", and go on."""

    def frames() -> list[bool]:
        return [signals._is_ours(sys._getframe(1))]

    call: Callable[[], list[bool]] = frames
    for name in names:
        module, _, function = name.partition(":")
        scope: dict[str, Any] = {"__name__": module, "call": call}
        exec(f"def {function}(): return call()", scope)  # noqa: S102 - a frame of that name
        call = scope[function]
    found: list[bool] = []
    outside = {"__name__": "tests", "call": call, "found": found}
    exec("found += call()", outside)  # noqa: S102 - as above
    assert found == [is_ours]
