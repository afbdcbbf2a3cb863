"""Data sets for DatalogMTL, written as the suites have them: what follows is compared with what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.suites import datalogmtl
from benchmarks.suites.sources import SuiteError
from tidelog.plans.data.facts import Record

PROGRAM = "Wet(X):-[-][0,2]Rain(X)\nGrows(Y):-<->[1,3]Wet(X), In(X,Y)\nOld(X):-Diamondminus[1,2]Old(X)\nOld(X):-Wet(X)\n"
FACTS = "Rain(A1)@[0,5]\nIn(A1,2.0)@[0,20]\nname(A1,b)@[0,1]\n"
SAID = (
    "Stored fact information:\nWet(A1) => Min Interval: {}, Max Interval: 5\nGrows(2) => Min Interval: 3, Max Interval: {}\n"
)
SCRIPT = 'import re\ndatapath = f"./field_data/field_10^1.txt"\nquery_list = [\n"{}",\n]\nprint(undefined)\n'


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def magic(tmp_path: Path) -> Path:
    """Folders as the magic sets have them, one with a text file and one with a table for each predicate."""
    field = tmp_path / "field"
    _write(field / "field_programs" / "p.txt", PROGRAM)
    _write(field / "field_programs" / "magic_programs" / "other.txt", "not read")
    _write(field / "field_data" / "field_10^1.txt", FACTS)
    _write(field / "query_results" / "CR_10^1_Wet.txt", SAID.format(2, 8))
    _write(field / "field_magic_fixed_query_entailed.py", SCRIPT.format('Old(A1)@1000", "Grows(2.0)@7.5'))
    _write(field / "field_magic_fixed_query_not_entailed.py", SCRIPT.format('Wet(A1)@1", "Wet(A-1)@3'))
    tables = tmp_path / "tables"
    _write(tables / "tables_programs" / "program.txt", "g1(N0,N1) :- Diamondplus[0,10] g2(N1,N0)\n")
    _write(tables / "tables_data" / "10^1" / "g2.csv", "i0,i1,i2,i3\n1.0,2.0,11.5,20.0\n")
    _write(tables / "query_results" / "T_10^1_g1.txt", "Stored:\ng1(2.0,1.0) => Min Interval: 1.5, Max Interval: 20\n")
    return tmp_path


def test_what_follows_is_what_the_suite_says(magic: Path) -> None:
    """Single facts that do and do not, first and last times, and what holds for ever: the suite looks so far only."""
    figures = {figure.name: figure for figure in datalogmtl.run_magic_sets(magic)}
    assert figures["field 10^1, answers that differ, of 6"].verdict == "ok"
    assert figures["tables 10^1, answers that differ, of 1"].verdict == "ok"
    assert figures["field 10^1, 2 facts, facts a second"].value > 0


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        (
            "query_results/CR_10^1_Wet.txt",
            SAID.format(3, 8),
            "Wet(A1): expected that it holds from 3 to 5, it holds beyond",
        ),
        ("query_results/CR_10^1_Wet.txt", SAID.format(2, 9), "Grows(2): expected that it holds at 3 and at 9"),
        ("field_magic_fixed_query_entailed.py", SCRIPT.format("Wet(A1)@6"), "Wet(A1)@6: expected that it follows"),
        (
            "field_magic_fixed_query_not_entailed.py",
            SCRIPT.format("Wet(A1)@4"),
            "Wet(A1)@4: expected that it does not follow",
        ),
    ],
)
def test_what_differs_is_told(magic: Path, file: str, text: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By name, and counted."""
    (magic / "field" / file).write_text(text)
    figures = datalogmtl.run_magic_sets(magic, "field")
    assert [figure.value for figure in figures if "differ" in figure.name] == [1]
    assert told in capsys.readouterr().out


def test_what_cannot_be_read_is_refused(magic: Path) -> None:
    """A summary of another form, data that are too many, a script without a list."""
    with pytest.raises(SuiteError, match="no data with `field` in their name and up to 1 facts"):
        datalogmtl.run_magic_sets(magic, "field", most=1)
    (magic / "field" / "query_results" / "CR_10^1_Wet.txt").write_text("Stored:\nWet(A1) holds\n")
    with pytest.raises(SuiteError, match=r"Wet\.txt:2: expected `FACT => Min"):
        datalogmtl.run_magic_sets(magic)
    (magic / "field" / "field_magic_fixed_query_entailed.py").write_text("query_list = []\n")
    with pytest.raises(SuiteError, match="expected a text `datapath` and a list `query_list`"):
        datalogmtl.run_magic_sets(magic)


def test_facts_are_taken_away_and_given_back(tmp_path: Path) -> None:
    """The data of DRedMTL: what follows in the end is what followed before."""
    _write(tmp_path / "programs" / "field.txt", PROGRAM)
    _write(tmp_path / "data" / "original_e" / "field_10^1.txt", FACTS)
    _write(tmp_path / "data" / "delta_e" / "field" / "field_10^1_fixed_1.txt", "Rain(A1)@(1,2)\nRain(B1)@[1,2]\n")
    figures = {figure.name: figure for figure in datalogmtl.run_dredmtl(tmp_path)}
    assert figures["field_10^1 without fixed_1, 3 facts, facts a second"].value > 0
    assert figures["field_10^1 without fixed_1 and given back, facts that differ"].verdict == "ok"


RANGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=4)


@given(RANGES, RANGES)
def test_times_are_taken_away(there: list[tuple[int, int]], away: list[tuple[int, int]]) -> None:
    """Point by point what was there and is not taken away; other facts stay."""

    def records(ranges: list[tuple[int, int]]) -> list[Record]:
        return [("p", ("a",), lo, hi) for lo, hi in ranges]

    def points(found: list[Record]) -> set[int]:
        return {time for _, _, lo, hi in found for time in range(lo, hi + 1)}

    other: Record = ("p", ("b",), 0, 99)
    left = datalogmtl.without([*records(there), other], records(away))
    assert other in left
    left.remove(other)
    assert points(left) == points(records(there)) - points(records(away))
