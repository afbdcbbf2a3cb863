"""The outbox by itself: numbers, transactions, acknowledgements, bounds, and who may write."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import tidelog
from outbox.boxes import PROGRAM, alarm, held
from tidelog.connectors.outbox import file as outbox_file
from tidelog.connectors.outbox.file import OutboxPredicate
from tidelog.connectors.outbox.outbox import Outbox, OutboxReader, OutboxRow
from tidelog.connectors.store.stored_lock import WriterLock, commits_noted, lock_of
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.plans.plan.plan import Plan


@pytest.fixture(scope="module")
def plan() -> Plan:
    return tidelog.compile(PROGRAM)


def fill(box: Outbox, numbers: range, checkpoint: bytes = b"state") -> None:
    """Commit an alarm at each of these times."""
    box.append([alarm(time) for time in numbers], 0)
    box.commit(checkpoint)


def test_a_row_is_exact(tmp_path: Path) -> None:
    """Times are exact numbers as text, with open ends told, and None where there is no end; so is the horizon."""
    plan = tidelog.compile("timeline rational, resolution 1/2. p(X, Y, Z) :- q(X, Y, Z), diamondminus[0,1/2] q(X, Y, Z).")
    with Outbox(str(tmp_path), plan, clock=lambda: 1234567) as box:
        box.append([("p", ('ä"b', 2.5, 7), 1, 4), ("p", (), NEG, POS)], NEG)
        box.append([("p", (), 2, 2)], 3)
        box.append([("p", (), 2, 2)], POS)
        box.commit(b"")
    first, second, third, last = held(tmp_path)
    assert first == OutboxRow(1, "p", '["ä\\"b",2.5,7]', "0", "1", True, False, None, 1234567)
    assert json.loads(first.arguments) == ['ä"b', 2.5, 7]
    assert second[3:8] == (None, None, True, True, None)
    assert third[3:8] == ("1/2", "1/2", False, False, "1")
    assert last.horizon == "inf"


def test_changes_are_kept_apart_from_facts(tmp_path: Path, plan: Plan) -> None:
    """A begin has no end yet, and the schema says so; an outbox never holds both, nor one where the other is expected."""
    begun, ended = ChangeRecord("alarm", ("a",), 3, POS), ChangeRecord("alarm", ("a",), 3, 7)
    with Outbox(str(tmp_path), plan, holds_changes=True) as box, OutboxReader(str(tmp_path)) as reader:
        box.append([begun], 3)
        box.append([ended], 8)
        box.commit(b"")
        assert reader.schema().holds_changes
        with pytest.raises(ValueError, match="expects changes"):
            box.append([alarm(1)], 0)
    assert [row[3:5] for row in held(tmp_path)] == [("3", None), ("3", "7")]
    with pytest.raises(SpecError, match="was filled with another `emit`: go on with the same"):
        Outbox(str(tmp_path), plan)
    with Outbox(str(tmp_path / "facts"), plan) as box, pytest.raises(ValueError, match="expects facts"):
        box.append([begun], 0)


def test_what_is_not_committed_is_not_there(tmp_path: Path, plan: Plan) -> None:
    """A reader sees nothing of what is appended until it is committed, and nothing of it ever where it was not."""
    with Outbox(str(tmp_path), plan) as box, OutboxReader(str(tmp_path)) as reader:
        box.append([alarm(1), alarm(2)], 0)
        assert (box.pending, reader.read(0), reader.last()) == (2, [], 0)
        box.commit(b"one")
        assert (box.pending, [row.seq for row in reader.read(0)], reader.last()) == (0, [1, 2], 2)
        box.append([alarm(3)], 0)
    assert [row.seq for row in held(tmp_path)] == [1, 2]


def test_numbers_go_on_without_a_gap(tmp_path: Path, plan: Plan) -> None:
    """Opened again, also when all is acknowledged and gone, it counts on, and gives back the last checkpoint."""
    with Outbox(str(tmp_path), plan) as box:
        assert box.checkpoint() is None
        fill(box, range(3), b"one")
    with OutboxReader(str(tmp_path)) as reader:
        reader.acknowledge(3)
        identity = reader.schema().identity
    with Outbox(str(tmp_path), plan) as box:
        assert box.checkpoint() == b"one"
        fill(box, range(2), b"two")
        assert box.checkpoint() == b"two"
    with OutboxReader(str(tmp_path)) as reader:
        assert (reader.first(), reader.last(), [row.seq for row in reader.read(3)]) == (4, 5, [4, 5])
        assert reader.schema().identity == identity


def test_the_schema_tells_what_the_program_declares(tmp_path: Path) -> None:
    """Output predicates with their arities, and the fields and types of those that are inputs, too; the unit of time."""
    text = "timeline integer, unit 1 min. input temp(sensor: text, value: number). output hot, temp."
    text += "hot(X) :- temp(X, V), V > 1."
    Outbox(str(tmp_path), tidelog.compile(text), node="edge-7").close()
    with OutboxReader(str(tmp_path)) as reader:
        schema = reader.schema()
    assert (schema.node, schema.timeline, schema.unit) == ("edge-7", "integer", "60")
    assert schema.predicates == {
        "hot": OutboxPredicate(1),
        "temp": OutboxPredicate(2, ("sensor", "value"), ("text", "number")),
    }


def test_reading_is_bounded(tmp_path: Path, plan: Plan) -> None:
    """`read` returns what lies behind a number, in order, up to a number of facts, or of bytes but one fact at least."""
    with Outbox(str(tmp_path), plan) as box:
        fill(box, range(10))
    with OutboxReader(str(tmp_path)) as reader:
        assert [row.seq for row in reader.read(2, 3)] == [3, 4, 5]
        assert [row.seq for row in reader.read(2, 3, most_bytes=1)] == [3]
        each = 64 + len("alarm") + len('["a"]')
        assert [row.seq for row in reader.read(4, 9, most_bytes=3 * each)] == [5, 6, 7]
        assert [row.seq for row in reader.read(4, 9, most_bytes=3 * each - 1)] == [5, 6]
        assert reader.read(10) == []
        for after, limit in ((-1, 1), (0, 0)):
            with pytest.raises(ValueError, match="0 or more"):
                reader.read(after, limit)


def test_acknowledged_facts_are_gone(tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are deleted, asking for them is an error and not a gap; acknowledging less changes nothing, more is refused."""
    monkeypatch.setattr("tidelog.connectors.outbox.outbox._DELETED_AT_ONCE", 2)
    with Outbox(str(tmp_path), plan) as box, OutboxReader(str(tmp_path)) as reader:
        fill(box, range(10))
        reader.acknowledge(7)
        reader.acknowledge(3)
        reader.acknowledge(-1)
        assert (reader.first(), [row.seq for row in reader.read(7)]) == (8, [8, 9, 10])
        with pytest.raises(ConnectorError, match="facts up to 7 are acknowledged, and gone; asked for 7"):
            reader.read(6)
        with pytest.raises(ValueError, match="the last fact is number 10, got 11"):
            reader.acknowledge(11)
        with closing(sqlite3.connect(tmp_path / "outbox.sqlite")) as connection:
            stored = connection.execute("SELECT min(seq), count(*) FROM facts").fetchone()
        assert stored == (8, 3)


def test_room_is_what_has_been_acknowledged(tmp_path: Path, plan: Plan) -> None:
    """There is room below the bounds, in facts and in bytes, with what is pending; acknowledging makes room."""
    each = 64 + len("alarm") + len('["a"]')
    for name, bounds in (("rows", {"max_rows": 4}), ("bytes", {"max_bytes": 4 * each})):
        folder = str(tmp_path / name)
        with Outbox(folder, plan, **bounds) as box, OutboxReader(folder) as reader:
            fill(box, range(3))
            assert box.has_room()
            box.append([alarm(3)], 0)
            assert not box.has_room()
            box.commit(b"")
            assert not box.has_room()
            reader.acknowledge(1)
            assert box.has_room()
        with Outbox(folder, plan, **bounds) as box:
            assert box.has_room()
            box.append([alarm(4)], 0)
            assert not box.has_room()


def test_there_is_one_writer(tmp_path: Path, plan: Plan) -> None:
    """A second writer is refused as long as the first lives, in this process and in another; then it may."""
    script = "import tidelog; from tidelog.connectors.outbox.outbox import Outbox;"
    script += f"Outbox({str(tmp_path)!r}, tidelog.compile('p :- q.'))"
    with Outbox(str(tmp_path), plan):
        with pytest.raises(SpecError, match="one writer at a time"):
            Outbox(str(tmp_path), plan)
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert "another process writes the outbox" in other.stderr
    Outbox(str(tmp_path), plan).close()


def test_an_outbox_belongs_to_one_program_and_node(tmp_path: Path, plan: Plan) -> None:
    """Another program, or another name, is refused, and the lock given back."""
    Outbox(str(tmp_path), plan, node="n").close()
    with pytest.raises(SpecError, match="was filled by another program: choose another directory"):
        Outbox(str(tmp_path), tidelog.compile("other(X) :- temp(X, _)."))
    with pytest.raises(SpecError, match="is that of node `n`, not of `m`"):
        Outbox(str(tmp_path), plan, node="m")
    Outbox(str(tmp_path), plan).close()


def test_what_is_no_outbox(tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing there, a directory that cannot be made, a file that is something else, and another format: each is told."""
    with pytest.raises(SpecError, match="there is no outbox in"):
        OutboxReader(str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(SpecError, match="cannot write the outbox"):
        Outbox(str(tmp_path / "file" / "box"), plan)
    (tmp_path / "outbox.sqlite").write_bytes(b"")  # killed before it came to its tables
    with pytest.raises(SpecError, match="there is no outbox in"):
        OutboxReader(str(tmp_path))
    Outbox(str(tmp_path), plan).close()
    older = replace(outbox_file.OutboxFile.form, version=1, oldest=1)
    monkeypatch.setattr(outbox_file.OutboxFile, "form", older)
    with pytest.raises(SpecError, match=r"in format 3, and this is tidelog .*, which is older, and knows formats up to 1"):
        OutboxReader(str(tmp_path))
    (tmp_path / "outbox.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(ConnectorError, match="file is not a database"):
        OutboxReader(str(tmp_path))
    with pytest.raises(ConnectorError, match="file is not a database"):
        Outbox(str(tmp_path), plan)


def test_a_commit_that_fails_stores_nothing(tmp_path: Path, plan: Plan) -> None:
    """Where the facts cannot all be stored, none is, nor the checkpoint; they can be committed later."""
    with Outbox(str(tmp_path), plan) as box, OutboxReader(str(tmp_path)) as reader:
        fill(box, range(2), b"one")
        box._file.execute("PRAGMA max_page_count = 20")
        box.append([alarm(time, "x" * 900) for time in range(200)], 0)
        with pytest.raises(ConnectorError, match="database or disk is full"):
            box.commit(b"two")
        assert (box.checkpoint(), reader.last(), len(reader.read(0))) == (b"one", 2, 2)
        box._file.execute("PRAGMA max_page_count = 2000")
        box.commit(b"two")
        assert (box.checkpoint(), reader.last(), [row.seq for row in reader.read(0)]) == (b"two", 202, list(range(1, 203)))


def test_a_note_that_was_cut_off_is_no_damage(tmp_path: Path) -> None:
    """Killed while it notes how many commits there are, a writer goes on; anything else in its place is told."""
    path = tmp_path / lock_of("outbox")
    with contextlib.closing(WriterLock(str(tmp_path), "outbox")) as lock:
        for commits in range(1, 5):
            before, at = path.read_bytes(), commits % 2 * 12
            lock.note(commits)
            assert commits_noted(str(tmp_path), "outbox") == commits
            after = path.read_bytes()
            for written in range(12):
                path.write_bytes(before.ljust(at, b"\0")[:at] + after[at : at + written] + before[at + written :])
                assert commits_noted(str(tmp_path), "outbox") in (commits - 1, commits)
            path.write_bytes(after)
    for damaged in (b"x" * 24, after + b"x"):
        path.write_bytes(damaged)
        with pytest.raises(ConnectorError, match="is not what was written"):
            commits_noted(str(tmp_path), "outbox")
