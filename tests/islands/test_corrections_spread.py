"""A correction while answers are between islands: they are told, as one task tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli import main

PROGRAM = """timeline integer, unit 1 s.
input temp(room: text, celsius: number).
input maintenance(room: text).
site(r3, s1).
warm(R) for 60 s :- temp(R, C), C > 7.
too_warm(R) :- warm(R) for 2 min, not maintenance(R).
site_bad(S) :- too_warm(R), site(R, S).
output site_bad, too_warm.
"""
FACTS = """temp(r3,7)@0
temp(r3,10)@20
temp(r3,9)@76
temp(r3,9)@98
temp(r2,8)@170
retract temp(r2,8)@170
"""


@pytest.mark.parametrize("layout", [("--actors", "islands"), ("--workers", "2")], ids=" ".join)
def test_the_end_of_an_answer_is_told_though_a_fact_is_taken_back(layout: tuple[str, ...], tmp_path: Path) -> None:
    """The end of `site_bad` was lost: a fact of another room is taken back before it has come from the island before."""
    (tmp_path / "p.tide").write_text(PROGRAM)
    (tmp_path / "f.txt").write_text(FACTS)
    told = []
    for name, options in (("one", ()), ("spread", layout)):
        given = ["run", str(tmp_path / "p.tide"), str(tmp_path / "f.txt"), "--out", f"facts+file:{tmp_path / name}.txt"]
        stored = ["--state", str(tmp_path / name), "--keep", "7d", "--corrections", "--emit", "changes", "--lateness", "20s"]
        assert main([*given, *stored, *options]) == 0
        told.append(sorted((tmp_path / f"{name}.txt").read_text().splitlines()))
    assert told[1] == told[0]
