"""Older snapshots in a state: which stay, what they share with the last one, and when they go."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from tidelog import ConnectorError, Keep, StateDirectory
from tidelog.runtime.corrections.correcting import thinned
from tidelog.runtime.ports.durability import Changes, Input


def commit(
    state: StateDirectory, event: int, parts: dict[str, bytes | None], older: list[int], keep: Keep | None = None
) -> None:
    """One event, and a snapshot as of it."""
    block = Input(event, event, 1, 0, bytes(10))
    state.commit(Changes(b"head", [block], (), parts, event, older, journal_from=event + 1, keep=keep or Keep(10**9)))


def rows(folder: Path) -> list[tuple[str, int]]:
    with sqlite3.connect(folder / "state.sqlite") as connection:
        found = connection.execute("SELECT name, event FROM parts ORDER BY event, name").fetchall()
    connection.close()
    return found


def test_a_part_that_has_not_changed_is_stored_once(tmp_path: Path) -> None:
    """Each snapshot has the parts as they were; a part goes with the last snapshot that has it."""
    with StateDirectory(str(tmp_path)) as state:
        commit(state, 1, {"a": b"a1", "b": b"b1"}, [1])
        commit(state, 2, {"a": b"a2", "b": None}, [1])
        commit(state, 3, {"a": b"a3", "c": b"c3"}, [1, 3])
        assert state.snapshots() == [1, 3]
        assert dict(state.parts(1)) == {"a": b"a1", "b": b"b1"}
        assert dict(state.parts(3)) == dict(state.parts()) == {"a": b"a3", "c": b"c3"}
        assert dict(state.parts(1, ["b", "z"])) == {"b": b"b1"}
        assert rows(tmp_path) == [("a", 1), ("b", 1), ("a", 3), ("c", 3)]
        commit(state, 4, {"a": b"a4"}, [])
        assert rows(tmp_path) == [("c", 3), ("a", 4)]
        assert dict(state.parts()) == {"a": b"a4", "c": b"c3"}


def test_input_goes_up_to_an_older_snapshot(tmp_path: Path) -> None:
    """What is kept can be told again: the journal begins behind a snapshot, which is the oldest then."""
    with StateDirectory(str(tmp_path)) as state:
        for event in range(1, 21):
            commit(
                state,
                event,
                {"a": b"%d" % event},
                [*(old for old in state.snapshots() if old % 6 == 0), event],
                Keep(size=50),
            )
        assert state.begin() == 13
        assert state.snapshots() == [12, 18, 20]
        assert rows(tmp_path) == [("a", 12), ("a", 18), ("a", 20)]


def test_damage_of_an_older_snapshot_is_told(tmp_path: Path) -> None:
    """Its list and its parts have checksums."""
    with StateDirectory(str(tmp_path)) as state:
        commit(state, 1, {"a": b"a1"}, [1])
        commit(state, 2, {"a": b"a2"}, [1])
        state.file.execute("UPDATE parts SET data = x'00' WHERE event = 1")
        with pytest.raises(ConnectorError, match="the state of `a` is not what was written"):
            dict(state.parts(1))
        state.file.execute("UPDATE snapshots SET listed = x'80'")
        with pytest.raises(ConnectorError, match="the snapshot as of event 1 is not what was written"):
            dict(state.parts(1))
        assert dict(state.parts()) == {"a": b"a2"}


@drawn(30)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=300), st.integers(0, 1000))
def test_snapshots_lie_close_enough_and_are_few(gaps: list[int], first: int) -> None:
    """Between two lies no more than behind the newer of them, or an eighth of the journal, unless none was taken between."""
    taken: list[int] = []
    kept: list[int] = []
    event = first
    for gap in gaps:
        event += gap
        taken.append(event)
        kept = thinned([*kept, event], first)
    assert kept[-1] == event
    most = max(1, (event - first) // 8)
    for older, newer in zip([first, *kept], kept, strict=False):
        between = [other for other in taken if older < other < newer]
        assert not between or newer - older <= max(50, min(most, event - newer))
    assert len(kept) <= 16 + 2 * len(gaps).bit_length()
