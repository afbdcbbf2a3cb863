"""Facts that hold at all times, from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.connectors import load_facts
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", "a,b\nn1,2\nn2,3\n"),
        ("x.jsonl", '{"predicate":"q","args":["n1",2]}\n{"predicate":"q","args":["n2",3]}'),
        ("x.txt", "% links\n\nq(n1,2).\nq(n2,3) % the last\n"),
    ],
)
def test_facts_without_times_hold_always(tmp_path: Path, integer: Schema, name: str, content: str) -> None:
    """Each format's facts, without times, hold from the beginning to the end."""
    path = tmp_path / name
    path.write_text(content)
    assert load_facts(str(path), integer, "q") == [("q", ("n1", 2), NEG, POS), ("q", ("n2", 3), NEG, POS)]


def test_background_need_not_be_an_input(tmp_path: Path, integer: Schema) -> None:
    """A predicate that no stream may bring can still have background facts."""
    path = tmp_path / "x.txt"
    path.write_text("derived(a)")
    assert load_facts(str(path), integer, "derived") == [("derived", ("a",), NEG, POS)]


@pytest.mark.parametrize(
    ("name", "content", "line", "reason"),
    [
        ("x.csv", "a,b\nn1,2\nn2\n", 3, "expected 2 columns, got 1"),
        ("x.csv", "a,b,time\nn1,2,3\n", 1, "`q` has 2 columns beside the time, got 3: a, b, time"),
        ("x.jsonl", '{"predicate":"q","args":[1,2],"time":1}', 1, "a fact that holds at all times takes no `time`"),
        ("x.txt", "q(a,b)@1", 1, "a fact that holds at all times ends after its atom, got `@1`"),
        ("x.txt", "q(a,b)\np(a)", 2, "expected facts of `q`, got `p`"),
    ],
)
def test_bad_records_are_errors(tmp_path: Path, integer: Schema, name: str, content: str, line: int, reason: str) -> None:
    """The first record that cannot be read ends the loading, with its place."""
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        load_facts(str(path), integer, "q")
    assert (caught.value.reason, caught.value.place) == (reason, f"{path}:{line}")


def test_missing_file_is_an_error(tmp_path: Path, integer: Schema) -> None:
    """A file that is not there is a DataError with its path."""
    with pytest.raises(DataError, match=r"none\.csv: cannot be read: No such file"):
        load_facts(str(tmp_path / "none.csv"), integer, "q")
