"""`--memory`: a history takes no more than it may, or an error names what takes most; answers stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.cli import main
from tidelog.commands.streams import histories
from tidelog.operators.columns.arrays import np
from tidelog.operators.columns.axis import meetings
from tidelog.operators.columns.batch import Batch
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.columns.pool import Pool
from tidelog.operators.stores.room import NoRoomError, Room
from tidelog.plans.diagnostics.errors import MemoryBoundError
from tidelog.runtime.columns.history import ColumnCourse
from tidelog.runtime.columns.memory import Held, Memory, usual_memory

HEAD = "timeline integer, unit 1 s.\ninput temp(room: text, value: number).\n"
QUIET = HEAD + "hot(R) :- temp(R, V), V >= 80.\nalarm(R) :- boxminus[0,20] diamondminus[0,20] hot(R).\noutput alarm.\n"
CROSS = HEAD + "pair(R, S) :- diamondminus[0,99999] temp(R, V), diamondminus[0,99999] temp(S, W), V < W.\noutput pair.\n"
LONG = HEAD + "far(R, V) :- diamondminus[99999,99999] temp(R, V).\noutput far.\n"
COUNT = 40_000


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs and a history; all of it goes in columns."""
    lines = [f"{number},r{number % 7},{70 + number * 37 % 29}" for number in range(COUNT)]
    files = {"quiet": QUIET, "cross": CROSS, "long": LONG}
    for name, text in files.items():
        (tmp_path / f"{name}.tide").write_text(text)
    (tmp_path / "temp.csv").write_text("\n".join(["time,room,value", *lines, ""]))
    texts = [f"{number},room {number},{70 + number % 29}" for number in range(COUNT)]
    (tmp_path / "texts.csv").write_text("\n".join(["time,room,value", *texts, ""]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(histories, "LEAST", 0)
    return tmp_path


def test_little_memory_changes_no_answer(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Only stretches become shorter."""
    told = []
    for more in ([], ["--memory", "600kB", "--stats"]):
        assert main(["run", "quiet.tide", "--in", "temp.csv", "--emit", "final", *more]) == 0
        told.append(capfd.readouterr())
    assert told[0].out == told[1].out
    assert told[0].out.count("alarm") > 10
    (line,) = [line for line in told[1].err.splitlines() if line.startswith("tidelog: hot ")]
    assert int(line.split()[2]) > 2


@pytest.mark.parametrize(
    ("program", "source", "options", "holder"),
    [
        ("cross.tide", "temp.csv", [], "the rule `pair(R, S) :- diamondminus[0,99999] temp(R, V), "),
        ("long.tide", "temp.csv", [], "the rule `far(R, V) :- diamondminus[99999,99999] temp(R, V).` (long.tide:3)"),
        ("quiet.tide", "temp.csv", ["--lateness", "999999"], "facts that wait for earlier ones; "),
        ("quiet.tide", "texts.csv?predicate=temp", [], "the history's different texts; "),
    ],
)
def test_what_takes_most_is_named(
    here: Path, capfd: pytest.CaptureFixture[str], program: str, source: str, options: list[str], holder: str
) -> None:
    """With the bound, what helps, and the option; the exit code is 1."""
    assert main(["run", program, "--in", source, "--memory", "400kB", *options]) == 1
    said = capfd.readouterr().err
    assert "error: the history takes more than 4" in said
    assert f" go to {holder}" in said
    assert " accepted, " in said
    assert said.endswith("; `--memory` sets the bound\n")


def test_a_backtest_counts_what_is_told(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """All of it is compared at the end."""
    assert main(["backtest", "quiet.tide", "quiet.tide", "temp.csv", "--memory", "5MB"]) == 0
    assert main(["backtest", "long.tide", "long.tide", "temp.csv", "--memory", "400kB"]) == 1
    assert "facts accepted" in capfd.readouterr().err
    assert main(["backtest", "quiet.tide", "quiet.tide", "temp.csv", "--memory", "much"]) == 2
    assert "a number of bytes, such as `500MB` or `2GB`" in capfd.readouterr().err


RANGES = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), max_size=12)


@given(own=RANGES, other=RANGES)
def test_pairs_are_counted_before_they_are_made(own: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    """Each pair of ranges that share a place is found once, and is not where there is no room for all of them."""
    sides = [sorted((begin, begin + length) for begin, length in drawn) for drawn in (own, other)]
    arrays = [np.array([pair[end] for pair in side], np.int64) for side in sides for end in (0, 1)]
    wanted = [(i, j) for i, a in enumerate(sides[0]) for j, b in enumerate(sides[1]) if a[0] < b[1] and b[0] < a[1]]
    left, right = meetings(*arrays, Room(len(wanted)))
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == wanted
    if wanted:
        with pytest.raises(NoRoomError):
            meetings(*arrays, Room(len(wanted) - 1))


def test_all_that_is_held_counts_and_the_largest_is_named() -> None:
    """What was said of a stretch counts until the next one."""
    memory, pool = Memory(1_000), Pool()
    memory.count([Held(300, lambda: ("few", "", "")), Held(600, lambda: ("many", "here", "less"))], pool)
    assert pool.room.rows == 1
    memory.say(100, lambda: ("a step", ""))
    with pytest.raises(MemoryBoundError, match=r"more than 1 kB of memory: 600 bytes go to many \(here\); .*; less"):
        memory.say(1, lambda: ("a step", ""))
    memory.count([], pool)
    with pytest.raises(MemoryBoundError, match="2 kB go to a step"):
        memory.say(2_000, lambda: ("a step", ""))
    Memory().say(1 << 60, lambda: ("a step", ""))


def test_stretches_follow_the_memory() -> None:
    """As long as usual where there is room, and never of a few rows."""
    schema = tidelog.compile(HEAD + "a(R) :- temp(R, _).").schema
    assert [Memory(most).rows(schema, 100_000) for most in (None, 1 << 40, 10**7, 1)] == [100_000, 100_000, 9_765, 1_000]
    assert 1 << 20 < usual_memory() < 1 << 50


def test_what_kernels_and_the_pool_keep_has_a_size() -> None:
    """A row in a window counts by its bytes, and a text once."""
    plan, pool = tidelog.compile(QUIET), Pool()
    course = ColumnCourse(plan, pool)
    before = pool.size()
    rows = Batch((pool.codes(["a", "b"]), np.array([90.0, 91.0])), np.array([1, 2]), np.array([1, 2]))
    course.advance({"temp": rows}, 2)
    kernels: list[Kernel] = list(course.kernels.values())
    assert sum(kernel.kept() for kernel in kernels) == course.kept() > 0
    assert sum(kernel.size() for kernel in kernels) == sum(held.size for held in course.held()) >= 16 * course.kept()
    assert pool.size() - before > 2 * 100
    assert pool.size() == pool.size()
