"""A race of worker processes: the first answer wins, failures are told, and no process outlives its parent."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable
from itertools import count
from typing import NoReturn

import pytest

from children import WAIT, child
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.runtime.batch.decisions.race import Finish, can_race, race


def forever() -> NoReturn:
    while True:
        signal.pause()


def failing(error: BaseException) -> Callable[[], str]:
    def work() -> str:
        raise error

    return work


def no_child_is_left() -> bool:
    """Whether this process has no child, not even a dead one that nobody has asked for."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def test_the_first_answer_wins_and_the_other_is_ended_at_once() -> None:
    """The one that would go on for ever is gone when the answer is there."""
    reader, writer = os.pipe()

    def hopeless() -> str:
        os.write(writer, f"{os.getpid()}\n".encode())
        forever()

    def quick() -> str:
        os.read(reader, 1)  # the other has begun
        return "it is so"

    with os.fdopen(reader, "rb", buffering=0) as told:
        assert race({"hopeless": hopeless, "quick": quick}) == Finish("quick", "it is so", {})
        os.close(writer)
        assert told.read().strip(), "only the first digit has been read"
    assert no_child_is_left()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MethodError("too large: 12 states"), "too large: 12 states"),
        (MemoryError(), "there was not enough memory"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (KeyboardInterrupt(), "its process was ended from outside, perhaps for want of memory"),
        (SystemExit(3), "its process was ended from outside, perhaps for want of memory"),
    ],
)
def test_a_failure_leaves_it_to_the_other(error: BaseException, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever fails first: the other goes on, and its answer counts; the reason is kept."""
    monkeypatch.setattr("tidelog.runtime.batch.decisions.race.POLL_SECONDS", 0.01)
    reader, writer = os.pipe()
    looks = count()

    def slower() -> str:
        os.read(reader, 1)
        return "yes"

    def look() -> None:
        """Once one has ended, what it said is read in the look behind that, and that it has ended in the next."""
        if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG) and next(looks) == 2:
            os.write(writer, b"!")

    with open(reader, "rb"), open(writer, "wb"):
        assert race({"broken": failing(error), "slower": slower}, look) == Finish("slower", "yes", {"broken": reason})


def test_all_have_failed() -> None:
    """There is no answer, and every reason is told."""
    finish = race({"a": failing(MethodError("first")), "b": failing(MethodError("second"))})
    assert finish == Finish(None, "", {"a": "first", "b": "second"})
    assert no_child_is_left()


def test_a_worker_that_is_killed() -> None:
    """As the system does where memory ends: it is a failure, and no answer."""

    def killed() -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return "never"

    assert race({"killed": killed}).failures == {"killed": "its process was ended from outside, perhaps for want of memory"}


def test_an_answer_of_any_text() -> None:
    """It comes whole: longer than a pipe holds, with line breaks, and text beyond ASCII."""
    text = 'é\n"\\\x00' * 40_000
    assert race({"long": lambda: text}).answer == text


def test_what_goes_on_in_a_worker_stays_there(capfd: pytest.CaptureFixture[str]) -> None:
    """What it has is a copy, and what the parent had not written yet is not written twice."""
    known = [1]

    def change() -> str:
        known.append(2)
        return str(known)

    sys.stdout.write("once\n")
    assert race({"change": change}).answer == "[1, 2]"
    assert known == [1]
    sys.stdout.flush()
    assert capfd.readouterr().out == "once\n"


def test_it_tells_that_it_waits() -> None:
    """Again and again, for who shows it."""
    reader, writer = os.pipe()

    def slow() -> str:
        return str(len(os.read(reader, 1) + os.read(reader, 1)))

    with open(reader, "rb"), open(writer, "wb"):
        assert race({"slow": slow}, lambda: os.write(writer, b"!")).answer == "2"


def test_whatever_is_raised_while_it_waits_leaves_no_process() -> None:
    """An error in the parent ends the workers before it goes on."""

    def wait() -> None:
        raise KeyError("stop")

    with pytest.raises(KeyError):
        race({"a": forever, "b": forever}, wait)
    assert no_child_is_left()


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is a failure as any other, with the system's reason."""

    def refuse() -> int:
        raise OSError(errno.EAGAIN, "no")

    monkeypatch.setattr(os, "fork", refuse)
    before = os.listdir("/dev/fd")
    reason = f"no process could be started: {os.strerror(errno.EAGAIN)}"
    assert race({"a": forever, "b": forever}) == Finish(None, "", {"a": reason, "b": reason})
    assert os.listdir("/dev/fd") == before


def test_no_descriptor_is_left_open() -> None:
    """However it ends."""
    before = os.listdir("/dev/fd")
    race({"a": lambda: "yes", "b": forever})
    race({"a": failing(MethodError("no"))})
    assert os.listdir("/dev/fd") == before


def test_no_fork_beside_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that it holds would never be released in the child; nor where the system cannot fork."""
    assert can_race()
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert not can_race()
    finally:
        end.set()
        thread.join()
    assert can_race()
    monkeypatch.delattr(os, "fork")
    assert not can_race()


RACING = """
import os, signal
from tidelog.commands.signals import stopped_by_signals
from tidelog.runtime.batch.decisions.race import race
from tidelog.plans.diagnostics.stopping import Stopped

def busy():
    os.write(1, b".")
    while True:
        pass

def asleep():
    os.write(1, b".")
    while True:
        signal.pause()

try:
    with stopped_by_signals():
        race({"busy": busy, "asleep": asleep})
except Stopped as stopped:
    raise SystemExit(128 + stopped.number)
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_no_worker_outlives_its_parent(number: signal.Signals, code: int) -> None:
    """Not even where that is killed: nobody holds the pipe any more that all of them had as standard output."""
    with child([sys.executable, "-c", RACING], stdout=-1, stderr=-1) as process:
        assert process.stdout is not None
        assert process.stdout.read(2) == b".."
        process.send_signal(number)
        out, _ = process.communicate(timeout=WAIT)
    assert (out, process.returncode) == (b"", code)


def test_an_interrupt_from_the_keyboard() -> None:
    """It reaches all processes of the group at once: the workers are silent, and the parent ends as it should."""
    with child([sys.executable, "-c", RACING], stdout=-1, stderr=-1, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.read(2) == b".."
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=WAIT)
    assert (process.returncode, error) == (130, b"")
