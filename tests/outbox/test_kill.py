"""Killed with SIGKILL at random moments, again and again, a run leaves an outbox without a gap and without a repetition."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog
from children import WAIT
from outbox.boxes import PROGRAM, held, run_durably, source, untimed, write_csv
from outbox.killing import PIECE
from tidelog.connectors.outbox.outbox import OutboxReader, OutboxRow
from tidelog.connectors.transport.descriptors import Descriptor

KILLING, CUTTING = (Path(__file__).parent / name for name in ("killing.py", "cutting.py"))


def torment(seed: int, kills: int, program: Path, folder: Path, *sources: str) -> tuple[list[OutboxRow], list[int]]:
    """All rows that were read while the run was killed again and again, and how many they were each time."""
    arguments = [sys.executable, str(KILLING), str(seed), str(kills), str(program), str(folder), *sources]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=WAIT, check=False)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    return [OutboxRow(*row) for row in read["rows"]], read["killed"]


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_run_leaves_out_nothing_and_repeats_nothing(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read and acknowledged all the while, the facts are those of an undisturbed run, in the same order."""
    program = tmp_path / "program.tide"
    program.write_text(PROGRAM)
    plan = tidelog.compile(PROGRAM)
    path = write_csv(tmp_path / "temp.csv", 25_000, seed)
    read = Descriptor.read
    monkeypatch.setattr(Descriptor, "read", lambda descriptor: read(descriptor, PIECE))
    run_durably(plan, tmp_path / "golden", [source(plan, path)])
    rows, killed = torment(seed, 16, program, tmp_path / "box", f"{path}?predicate=temp")
    assert len(set(killed)) > 6
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert untimed(rows) == untimed(held(tmp_path / "golden"))
    with OutboxReader(str(tmp_path / "box")) as reader:
        assert reader.last() == len(rows)


@pytest.mark.slow
def test_cut_off_at_any_statement_an_outbox_is_whole(tmp_path: Path) -> None:
    """Facts and checkpoint are those before a commit or those after it; numbers have no gap; what is gone stays gone."""
    done = subprocess.run([sys.executable, str(CUTTING), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    left = json.loads(done.stdout)
    assert len(left["begin"]) > 8
    assert {json.dumps(standing) for standing in left["begin"]} == {json.dumps([[], 1, 0, "0", True])}
    assert len(left["commit"]) > 5
    for numbers, first, last, checkpoint, room in left["commit"]:
        assert (numbers, first, checkpoint, room) == (list(range(1, last + 1)), 1, str(last), True)
    assert left["commit"][0][2] == 0
    assert left["commit"][-1][2] >= 40
    assert len(left["acknowledge"]) > 5
    firsts = [first for _, first, *_ in left["acknowledge"]]
    assert firsts == sorted(firsts)
    assert (firsts[0], firsts[-1] > 1) == (1, True)
    for numbers, first, last, *_ in left["acknowledge"]:
        assert numbers == list(range(first, last + 1))
