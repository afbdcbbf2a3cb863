"""The file of the history: a line that was cut short, a full disk, a file that grows, what is told again."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tidelog import SpecError, version
from tidelog.connectors.http.desk import history as module
from tidelog.connectors.http.desk.history import History
from tidelog.plans.alarms.entries import Entry
from tidelog.plans.data.forms import Form

FIRST, SECOND, THIRD = (Entry(at, "acknowledge", "hot", ("north",), "anna", f"step {at}") for at in (1, 2, 3))


def written(path: Path, *batches: Entry, run: str = "a", first: int = 1) -> History:
    """A history to which each entry was written with an event of its own."""
    history = History(path)
    history.going_on(run, first - 1)
    for number, entry in enumerate(batches, first):
        history.add([entry])
        history.committing(number)
    return history


def read(path: Path, events: int, run: str = "a") -> list[Entry]:
    """What a run finds that goes on behind so many events."""
    history = History(path)
    history.going_on(run, events)
    return [*history]


def test_what_was_stored_is_there(tmp_path: Path) -> None:
    """With all that is said of it, and its comments."""
    written(tmp_path / "h", FIRST, SECOND)
    assert read(tmp_path / "h", 2) == [FIRST, SECOND]
    assert [*History(tmp_path / "h")] == [FIRST]  # of the last one it is not known before the run goes on


def test_what_was_not_stored_is_cut_off(tmp_path: Path) -> None:
    """A run that was killed between the history and the commit: what is done anew is there once."""
    written(tmp_path / "h", FIRST, SECOND)
    assert read(tmp_path / "h", 1) == [FIRST]
    written(tmp_path / "h", SECOND, THIRD, first=2)
    assert read(tmp_path / "h", 3) == [FIRST, SECOND, THIRD]


def test_a_line_that_was_cut_short_is_cut_off(tmp_path: Path) -> None:
    """Wherever the power cut came, all before the last commit is there, and what is written next can be read."""
    path = tmp_path / "h"
    written(path, FIRST, SECOND)
    whole = path.read_bytes()
    begin = whole.index(b"\n", whole.index(b'{"run"')) + 1
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        kept = [FIRST] if size >= begin else []
        assert read(path, 1) == kept
        written(path, THIRD, first=2)
        assert read(path, 2) == [*kept, THIRD]


def test_the_history_of_an_earlier_run_stays(tmp_path: Path) -> None:
    """A run that begins anew beside it counts its events from the begin."""
    written(tmp_path / "h", FIRST, SECOND, run="a")
    assert read(tmp_path / "h", 0, run="b") == [FIRST, SECOND]


def test_what_a_failed_run_did_not_store_is_lost_with_it(tmp_path: Path) -> None:
    """In the same process: noted, or written, but not stored."""
    history = written(tmp_path / "h", FIRST, SECOND)
    history.add([THIRD])
    history.going_on("a", 1)
    assert [*history] == [FIRST]
    history.add([SECOND])
    history.committing(2)
    assert read(tmp_path / "h", 2) == [FIRST, SECOND]


def test_what_is_told_again_is_there_once(tmp_path: Path) -> None:
    """A source that is read again after a kill brings the same begins."""
    history = written(tmp_path / "h", FIRST, SECOND)
    history.add([FIRST, SECOND])
    history.committing(3)
    assert [*history] == [FIRST, SECOND] == read(tmp_path / "h", 3)


def test_a_full_disk_costs_nothing_but_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was not written is written with the next commit; half a line is taken away again."""
    history, path = written(tmp_path / "h", FIRST), tmp_path / "h"
    size = path.stat().st_size

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "fsync", full)
        history.add([SECOND])
        history.committing(2)
    assert "No space left on device" in caplog.text and path.stat().st_size == size
    assert [*history] == [FIRST, SECOND]
    history.add([THIRD])
    history.committing(3)
    assert read(path, 3) == [FIRST, SECOND, THIRD]


def test_each_commit_says_its_form(tmp_path: Path) -> None:
    """Behind its entries, with the version that wrote them."""
    written(tmp_path / "h", FIRST, SECOND)
    marks = [json.loads(line) for line in (tmp_path / "h").read_text().splitlines() if line.startswith('{"run"')]
    assert marks == [{"run": "a", "events": number, "form": 1, "by": version.VERSION} for number in (1, 2)]


def test_a_file_without_forms_goes_on(tmp_path: Path) -> None:
    """As the first versions wrote it: what follows has a form, and all of it is read."""
    lines = [
        '{"at":1,"kind":"acknowledge","alarm":"hot","args":["north"],"who":"anna","comment":"step 1"}',
        '{"run":"a","events":1}',
    ]
    (tmp_path / "h").write_text("".join(f"{line}\n" for line in lines))
    assert read(tmp_path / "h", 1) == [FIRST]
    written(tmp_path / "h", SECOND, first=2)
    assert read(tmp_path / "h", 2) == [FIRST, SECOND]


def test_earlier_forms_are_brought_up_commit_by_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version, with another form, reads on in the same file, writes its own behind it, and reads both."""
    path = tmp_path / "h"
    written(path, FIRST)

    def step(entry: dict[str, Any]) -> dict[str, Any]:
        return {**entry, "comment": entry["comment"] + ", brought up"}

    later = Form(2, "begin anew", steps={1: step})
    monkeypatch.setattr(module, "HISTORY", later)
    written(path, SECOND, first=2)
    brought = msgspec.structs.replace(FIRST, comment="step 1, brought up")
    assert read(path, 2) == [brought, SECOND]
    monkeypatch.undo()
    with pytest.raises(SpecError, match=r"the history of alarms in `.*h` was stored by tidelog .* in format 2, and this is"):
        History(path)


def test_what_a_newer_version_has_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, also where the form is the same, and in the file that was renamed."""
    with monkeypatch.context() as patch:
        patch.setattr(version, "VERSION", "1000.2.0")
        written(tmp_path / "h.1", FIRST)
    with pytest.raises(
        SpecError, match=r"stored by tidelog 1000\.2\.0 .*: go on with tidelog 1000\.2\.0, or a newer one; or move"
    ):
        History(tmp_path / "h")


def test_a_file_that_grows_is_renamed(tmp_path: Path) -> None:
    """There are two at the most, and the last entries are in them, also right behind a renaming."""
    path = tmp_path / "h"
    history = History(path, size=1000)
    history.going_on("a", 0)
    entries = [Entry(at, "comment", "hot", ("north",), "anna", "x" * 50) for at in range(100)]
    for number, entry in enumerate(entries, 1):
        history.add([entry])
        history.committing(number)
        assert read(path, number)[-1] == entry
    found = read(path, 100)
    assert found == entries[-len(found) :] and 5 < len(found) < 30
    assert sorted(item.name for item in tmp_path.iterdir()) == ["h", "h.1"]
    assert path.stat().st_size < 1300


def test_without_a_file_nothing_waits_to_be_written() -> None:
    """A run without a state keeps the last entries alone."""
    history = History(most=10)
    for at in range(100):
        history.add([Entry(at, "began", "hot")])
    assert len(history) == 10 and not history._fresh
