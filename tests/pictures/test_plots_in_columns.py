"""`tidelog plot` over many facts goes in columns, and draws what it draws row by row."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.cli import main
from tidelog.commands.rules import plot_columns
from tidelog.connectors.spec import parse_spec
from tidelog.plans.analysis.horizons.around import around

PROGRAMS = (
    "hot(R) :- temp(R, V), V >= 3. alarm(R) :- boxminus[0,2] hot(R). output alarm.",
    "limit(a, 2). limit(b, 4). up(R) :- temp(R, V), limit(R, L), V > L. cold(R) :- door(R), not diamondminus[0,5] up(R).",
    "soon(R) :- temp(R, _), diamondplus[1,4] door(R). boxplus[0,3] open(R) :- door(R).",
    "mean(R, A) :- A = avg(V) over temp(R, V) in [4] by R. last(R, V) :- latest temp(R, V) by R in [9].",
    "near(X, Y) :- temp(X, V), temp(Y, V), X != Y. reach(X, Y) :- near(X, Y). reach(X, Z) :- reach(X, Y), near(Y, Z).",
    "safe(R) :- boxplus[0,inf) door(R).",
    "boxplus[2,2] on(R) :- on(R), temp(R, _). on(R) :- door(R).",
    "bottom :- temp(R, V), V > 4. hot(R) :- temp(R, V), V > 2.",
)
"""The last three go row by row: columns do not carry them."""
FACTS = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from("abc"), st.integers(0, 5)), max_size=30, unique_by=lambda fact: fact[:2]
)
"""One of each row and time: in which order several are drawn is nowhere said."""


def _plot(folder: Path, least: int, options: list[str]) -> tuple[int, str]:
    out = folder / "out.svg"
    out.unlink(missing_ok=True)
    with patch.object(plot_columns, "LEAST", least):
        code = main(
            ["plot", *(str(folder / name) for name in ("p.tide", "temp.csv", "doors.txt")), "--out", str(out), *options]
        )
    return code, out.read_text() if out.exists() else ""


@pytest.mark.parametrize("rules", PROGRAMS)
@given(temps=FACTS, doors=FACTS, begin=st.none() | st.integers(0, 20), length=st.none() | st.integers(1, 15))
def test_the_picture_is_that_of_rows(
    rules: str,
    temps: list[tuple[int, str, int]],
    doors: list[tuple[int, str, int]],
    begin: int | None,
    length: int | None,
) -> None:
    """Byte for byte, in whatever order facts stand, with a window or without."""
    options = [] if begin is None else ["--begin", str(begin)]
    options += [] if length is None else ["--end", str((begin or 0) + length)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, f"timeline integer. {rules}", temps, doors)
        assert _plot(folder, 0, options) == _plot(folder, 1 << 40, options)


def _write(folder: Path, program: str, temps: list[tuple[int, str, int]], doors: list[tuple[int, str, int]]) -> None:
    """A program, its readings as CSV, and its doors as text."""
    declared = "input temp(room: text, value: number). input door(room: text)."
    timeline, _, rules = program.partition(".")
    (folder / "p.tide").write_text(f"{timeline}. {declared}{rules}")
    lines = "".join(f"{time},{room},{value}\n" for time, room, value in temps)
    (folder / "temp.csv").write_text("time,room,value\n" + lines)
    (folder / "doors.txt").write_text("".join(f"door({room})@[{lo},{lo + more}]\n" for lo, room, more in doors))


WINDOWED = (
    "p(R) :- temp(R, _) since[1,14] door(R). q(R) :- temp(R, _) within 3, top until[8,15] door(R).",
    "boxminus[9,19] p(R) :- door(R), temp(R, _) within 9. q(R) :- p(R), not p(R) within 2.",
    "n(R, N) :- N = count() over temp(R, V) in [15 step 3] by R. s(R) :- S = sum(V) over temp(R, V) in [12] by R, S > 6.",
    "p(R) :- sometime door(R) in [18 step 4]. q(R) :- p(R), boxplus[0,2] p(R). r(R) :- diamondplus[9,16] q(R), not q(R).",
    "v(R, V) :- latest temp(R, V) by R in [17]. w(R) :- v(R, V), diamondminus[1,12] v(R, W), W < V.",
    "p(R) :- temp(R, _), not door(R) since[0,inf) door(R). lim(a). q(R) :- lim(R), not temp(R, _) within 9.",
    "p(R) :- door(R), diamondplus[9,12] far(R). far(R) :- temp(R, _), diamondminus[6,19] low(R). low(R) :- temp(R, 0).",
    "p(R) :- always door(R) in [3]. q(R) :- diamondminus[3,3] q(R). q(R) :- door(R). r(R) :- door(R) for 2.",
)
"""Rules that look back, ahead, both, and without an end."""
MORE_FACTS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from("ab"), st.integers(0, 3)),
    min_size=8,
    max_size=60,
    unique_by=lambda fact: fact[:2],
)


@pytest.mark.parametrize("kind", ["integer", "rational"])
@pytest.mark.parametrize("rules", WINDOWED)
@given(
    temps=MORE_FACTS,
    doors=MORE_FACTS,
    begin=st.integers(10, 40),
    length=st.none() | st.integers(1, 10),
    chosen=st.sampled_from([(), ("--predicate", "p"), ("--predicate", "temp")]),
)
def test_the_picture_of_a_window_is_cut_from_that_of_all(
    kind: str,
    rules: str,
    temps: list[tuple[int, str, int]],
    doors: list[tuple[int, str, int]],
    begin: int,
    length: int | None,
    chosen: tuple[str, ...],
) -> None:
    """Of a large history what lies around the window is enough; of a small one all is derived: the picture is the same."""
    if "--predicate" in chosen and "p" in chosen and "p(R)" not in rules:
        chosen = ()
    end = [] if length is None else ["--end", str(begin + length)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, f"timeline {kind}. {rules}", temps, doors)
        options = ["--begin", str(begin), *end, *chosen]
        assert _plot(folder, 0, options) == _plot(folder, 1 << 40, options)


def test_what_is_needed_of_a_history(tmp_path: Path) -> None:
    """As much as rules look back and ahead; all where nothing bounds it, and where it has no window."""
    text = "timeline integer. {} :- door(R)."
    for rule, back, ahead in (
        ("alarm(R) :- diamondminus[0,100] hot(R). hot(R) :- temp(R), boxminus[0,10] temp(R). x(R)", 110, 0),
        ("soon(R) :- diamondplus[0,7] temp(R), temp(R). boxplus[0,5] x(R)", 5, 7),
    ):
        plan = tidelog.compile(text.format(rule))
        found = around(plan, plan.schema.predicates, 1_000, 2_000)
        assert 0 <= 1_000 - back - found.first <= 10
        assert 0 <= found.last - 2_000 - ahead <= 10
        assert around(plan, plan.schema.predicates, None, None).is_all
        assert around(plan, ["temp"], 1_000, 2_000).first > 990
    for rule in (
        "x(R) :- temp(R) since[0,inf) door(R). y(R)",
        "x(R) :- temp(R)@T in [#3]. y(R)",
        "x(R) :- always temp(R) in [3]. y(R)",
    ):
        plan = tidelog.compile(text.format(rule))
        assert around(plan, plan.schema.predicates, 1_000, 2_000).is_all


def test_facts_far_from_the_window_are_not_kept(tmp_path: Path) -> None:
    """A picture of a short time of many facts holds what lies around it: `--max-state` is of these."""
    (tmp_path / "p.tide").write_text("timeline integer. input temp(room: text, value: number). hot(R) :- temp(R, V), V > 2.")
    (tmp_path / "temp.csv").write_text("time,room,value\n" + "".join(f"{time},r,3\n" for time in range(5_000)))
    (tmp_path / "doors.txt").write_text("")
    options = ["--begin", "100", "--end", "120", "--max-state", "100"]
    code, svg = _plot(tmp_path, 0, options)
    assert (code, "hot(r)@[100,120], and before and after" in svg) == (0, True)


def test_many_facts_go_in_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where columns carry the program; few, and what is no regular file, do not."""
    monkeypatch.setattr(plot_columns, "LEAST", 10)
    (tmp_path / "few.txt").write_text("p(a)@1\n")
    (tmp_path / "many.txt").write_text("p(a)@1\np(b)@2\n")
    few, many, pipe = parse_spec(str(tmp_path / "few.txt")), parse_spec(str(tmp_path / "many.txt")), parse_spec("-")
    texts = {
        "yes": "timeline integer. q(X) :- p(X).",
        "constraint": "timeline integer. q(X) :- p(X). bottom :- q(b).",
        "rational": "timeline rational. q(X) :- p(X).",
        "moving": "timeline integer. q(X) :- p(X). boxplus[1,1] q(X) :- q(X).",
    }
    for name, text in texts.items():
        path = tmp_path / f"{name}.tide"
        path.write_text(text)
        assert (plot_columns.plan_in_columns(str(path), [many]) is not None) == (name == "yes")
    yes = str(tmp_path / "yes.tide")
    assert plot_columns.plan_in_columns(yes, [few]) is None
    assert plot_columns.plan_in_columns(yes, [many, pipe]) is None


@pytest.mark.parametrize("line", ["hot(a)@2", "temp(a)@2", "other(1)@2", "temp(a,x,1)@3", "nonsense"])
def test_what_is_no_plain_fact_goes_row_by_row(tmp_path: Path, capfd: pytest.CaptureFixture[str], line: str) -> None:
    """And is told, or drawn, as there."""
    (tmp_path / "p.tide").write_text(
        "timeline integer. input temp(room: text, value: number). hot(R) :- temp(R, V), V > 2. seen(R) :- other(R)."
    )
    (tmp_path / "temp.csv").write_text("time,room,value\n1,a,3\n")
    (tmp_path / "doors.txt").write_text(f"temp(b,4)@1\n{line}\n")
    found = [(_plot(tmp_path, least, []), capfd.readouterr().err) for least in (0, 1 << 40)]
    assert found[0] == found[1]


def test_more_rows_than_may_be_held_are_told_as_by_rows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`--max-state` bounds facts and what follows together."""
    (tmp_path / "p.tide").write_text("timeline integer. hot(R) :- temp(R, V), V > 2.")
    (tmp_path / "temp.csv").write_text("time,room,value\n" + "".join(f"{time},r{time},3\n" for time in range(50)))
    (tmp_path / "doors.txt").write_text("")
    assert _plot(tmp_path, 0, ["--max-state", "20"]) == (1, "")
    assert "beyond 20 rows" in capfd.readouterr().err
