"""Two programs beside each other: what one tells more is run, and what is proved to be no more is so in the oracle."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from children import tidelog as command
from drawing import drawn
from oracle.evaluate import head_atom, rules_of
from oracle.lars_programs import EVERY_FORM, lars_programs, lars_streams
from oracle.programs import NON_RECURSIVE, PAST_ONLY, Kind, programs, streams
from proving.drawing_rules import book_of_text, mixed
from proving.test_soundness import Refuter, is_right
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import ProgramError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.proving.beside.below import Beside
from tidelog.plans.proving.findings import book_of
from tidelog.plans.tree.syntax import Interval, Program, Rule
from tidelog.runtime.sessions.session import Session
from tidelog.testing.against import Comparison, against

HEAD = "timeline integer, unit 1 s.\ninput temp(room: text, celsius: number).\ninput door(room: text).\noutput a(room).\n"
HOT = "a(R) :- temp(R, C), C > 80."
SAME, OVER = "nothing more", "the time was over"
COUNTED = "a(R) :- N = count() over door(R) in [1 min] by R, N >= "
PAIRS = [
    (HOT, HOT, "nothing more", "nothing more"),
    ("a(R) :- temp(R, C), C > 70.", HOT, "more", "nothing more"),
    ("h(R) :- temp(R, C), C > 80. a(R) :- h(R).", HOT, "nothing more", "nothing more"),
    ("a(R) :- temp(R, C), C > 80, not door(R).", HOT, "nothing more", "more"),
    ("a(R) :- temp(R, C), C > 80, C < 90.", HOT, "nothing more", "more"),
    ("a(R) :- door(R) for 5 s.", "a(R) :- door(R) for 9 s.", "more", "nothing more"),
    ("a(R) :- door(R) within 5 s.", "a(R) :- door(R) within 9 s.", "nothing more", "more"),
    ("a(R) :- door(R).", HOT, "more", "more"),
    ("x(R) :- temp(R, C), C > 5. a(R) :- x(R) for 3 s.", "y(S) :- temp(S, D), 5 < D. a(R) :- y(R) for 3 s.", SAME, SAME),
    ("a(R) :- N = count() over door(R) in [1 min] by R, N >= 3.",) * 2 + (SAME, SAME),
    ("a(R) :- latest temp(R, C) by R in [1 min], C > 3.", "a(S) :- latest temp(S, D) by S in [1 min], D > 3.", SAME, SAME),
    ("m(R) := on :- door(R), not m(R, on). m(R) := off :- m(R, on) for 5 s. a(R) :- m(R, off).",) * 2 + (SAME, SAME),
    ("a(R) :- door(R). a(R) :- a(R) within 3 s, not temp(R, 0).",) * 2 + (SAME, SAME),
    ("a(R) :- sometime door(R) in [#3].",) * 2 + (SAME, SAME),
    (f"{COUNTED}3.", f"{COUNTED}2.", SAME, "more"),
]
CHANGED = [
    ("x(R) for 3 s", "more", SAME),
    ("door(R) since x(R)", "more", SAME),
    ("door(R), x(R) within 1 min", "more", SAME),
    ("door(R), not x(R) within 1 min", SAME, "more"),
    ("door(R), not x(R), not (door(R) since x(R))", SAME, "more"),
]
"""Bodies over a predicate of which the new program tells more."""


@pytest.mark.parametrize(("new", "old", "of_new", "of_old"), PAIRS)
def test_what_one_tells_more(new: str, old: str, of_new: str, of_old: str) -> None:
    """Pairs of programs, with what is known of each beside the other."""
    found = against(tidelog.compile(HEAD + new), tidelog.compile(HEAD + old), 60.0)
    assert ([item.outcome for item in found.new], [item.outcome for item in found.old]) == ([of_new], [of_old])


@pytest.mark.parametrize(("body", "of_new", "of_old"), CHANGED)
def test_a_changed_threshold(body: str, of_new: str, of_old: str) -> None:
    """What rests on it tells more or less, as it is read; what does not rest on it tells the same."""
    rules = f"output b. a(R) :- {body}. b(R) :- N = count() over door(R) in [1 min] by R, N >= 3. x(R) :- temp(R, C), C > "
    found = against(tidelog.compile(f"{HEAD}{rules}5."), tidelog.compile(f"{HEAD}{rules}9."), 60.0)
    assert [{item.output: item.outcome for item in side} for side in (found.new, found.old)] == [
        {"a": of_new, "b": SAME},
        {"a": of_old, "b": SAME},
    ]


def test_what_is_brought_besides_has_to_be_the_same() -> None:
    """The same rules over other facts, other calendars, or other parameters, tell something else."""
    for one, another in [
        ("site(hall). a(R) :- site(R), door(R).", "site(yard). a(R) :- site(R), door(R)."),
        ("parameter LIMIT = 5. a(R) :- temp(R, C), C > LIMIT.", "parameter LIMIT = 9. a(R) :- temp(R, C), C > LIMIT."),
        ("calendar work = mon-fri. a(R) :- door(R), work.", "calendar work = mon-sat. a(R) :- door(R), work."),
    ]:
        books = [book_of(tidelog.compile(HEAD + rules)) for rules in (one, another)]
        assert Beside(books[0], books[0]).is_same("a")
        assert not Beside(*books).is_same("a")


def test_endless_recursion_is_compared_beyond_the_end_of_a_stream() -> None:
    """Both hold for ever, and are told for other lengths behind a stream's end: that is no difference."""
    new, old = (f"{HEAD}a(R) for {size} s :- door(R). a(R) for {size} s :- a(R)." for size in (10, 2))
    found = against(tidelog.compile(new), tidelog.compile(old), 1.0)
    assert {(item.outcome, item.reason) for item in (*found.new, *found.old)} <= {(SAME, None), ("undecided", OVER)}


def test_an_output_of_one_alone() -> None:
    """What it tells, it tells more."""
    new, old = tidelog.compile(HEAD + "output b. b(R) :- door(R)." + HOT), tidelog.compile(HEAD + HOT)
    assert {item.output: item.outcome for item in against(new, old, 60.0).new} == {"a": "nothing more", "b": "more"}


def test_an_input_that_one_program_alone_has() -> None:
    """A fact of it shows what the other one tells all the same; the older tests had the inputs of one head on both sides."""
    new = tidelog.compile(f"{HEAD}input defrost(room: text). {HOT[:-1]}, not defrost(R).")
    found = against(new, tidelog.compile(HEAD + HOT), 60.0)
    assert ([item.outcome for item in found.new], [item.outcome for item in found.old]) == ([SAME], ["more"])
    assert sorted(fact.predicate for fact in found.old[0].facts) == ["defrost", "temp"]


@pytest.mark.parametrize(
    "change", ["defrost(room: text). a(R) :- defrost(R).", "temp(room: text, x: text, celsius: number)."]
)
def test_facts_that_one_program_does_not_take_are_shown(change: str, tmp_path: Path) -> None:
    """Each program's facts are written as it takes them: `the program has no predicate` was all that the command said."""
    (tmp_path / "old.tide").write_text(HEAD + HOT)
    rules = HOT if "defrost" in change else HOT.replace("R, C", "R, _, C")
    head = HEAD if "defrost" in change else HEAD.replace("input temp(room: text, celsius: number).\n", "")
    (tmp_path / "new.tide").write_text(f"{head}input {change} {rules}")
    for arguments in (("new.tide", "old.tide"), ("old.tide", "new.tide")):
        for form in ("text", "json"):
            done = command("check", "--prove", arguments[0], "--against", arguments[1], "--format", form, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            assert "tells a(room1)@0" in done.stdout or '"a(room1)@0"' in done.stdout


def test_an_input_of_another_type_is_another() -> None:
    """8.5 is no fact where the field is whole: rules that look the same tell less there."""
    rules = "a(R) :- temp(R, C), C > 8, C < 9."
    whole = tidelog.compile((HEAD + rules).replace("celsius: number", "celsius: integer"))
    found = against(whole, tidelog.compile(HEAD + rules), 60.0)
    assert ([item.outcome for item in found.new], [item.outcome for item in found.old]) == ([SAME], ["more"])


def test_facts_that_one_program_forbids_show_nothing() -> None:
    """A constraint stops no answer, so that a violation is no difference: nothing was taken to be told there."""
    new = tidelog.compile(f"{HEAD}{HOT[:-1]}, C * C > 60. bottom :- temp(_, C), C > 5.")
    found = against(new, tidelog.compile(HEAD + HOT), 3.0)
    assert [item.outcome for item in found.old] == ["undecided"]


def test_an_absence_that_is_asked_for_longer() -> None:
    """A fact lies in the longer window and behind the shorter one, far from all others: near times were tried alone."""
    bodies = [f"a(R) :- temp(R, C) for 10 min, C > 5, not door(R) within {size} min." for size in (31, 30)]
    new, old = (tidelog.compile(HEAD + body) for body in bodies)
    found = against(new, old, 60.0)
    assert ([item.outcome for item in found.new], [item.outcome for item in found.old]) == ([SAME], ["more"])
    assert {fact.predicate for fact in found.old[0].facts} == {"door", "temp"}


@pytest.mark.parametrize(("new", "old"), [("1/4", "1/3"), ("2/7", "1/7")])
def test_fractions_of_rational_time(new: str, old: str, tmp_path: Path) -> None:
    """Programs with other fractions have one timeline, and what is told has the times that a run has: each part of a
    program was run on the coarsest ticks that it needed, and read as if it had been on those of the whole."""
    for name, size in (("new.tide", new), ("old.tide", old)):
        text = f"timeline rational.\ninput n(d: text).\noutput b, c.\nb(D) :- n(D) within {size}.\nc(D) :- n(D) within 1/11."
        (tmp_path / name).write_text(text)
    done = command("check", "--prove", "new.tide", "--against", "old.tide", "--scenarios", "new.tide.toml", cwd=tmp_path)
    more, less = sorted((new, old), key=Fraction)
    which = ("new.tide", "old.tide") if less == new else ("old.tide", "new.tide")
    assert f"b: {which[0]} tells b(d1)@({more},{less}], {which[1]} does not, with n(d1)@0" in done.stdout.splitlines()
    assert "2 tests written" in done.stderr


def test_what_goes_on_by_a_calendar_is_not_shown_day_by_day(tmp_path: Path) -> None:
    """Four facts, and how many more there are: two years of days stood on one line."""
    for name, hour in (("new.tide", "17"), ("old.tide", "18")):
        rules = f"calendar work = mon-fri 07:00-{hour}:00. m(R) := on :- door(R). a(R) :- m(R, on), work."
        (tmp_path / name).write_text(HEAD + rules)
    done = command("check", "--prove", "new.tide", "--against", "old.tide", cwd=tmp_path)
    line = next(line for line in done.stdout.splitlines() if line.startswith("a: old.tide tells"))
    assert line.count("a(room1)@") == 4
    assert "facts more, new.tide does not, with" in line


def test_other_timelines_are_refused() -> None:
    """No fact would be one of both."""
    other_time = tidelog.compile("timeline integer, unit 1 min.\ninput door(room: text).\na(R) :- door(R).")
    with pytest.raises(SpecError, match="different timelines"):
        against(tidelog.compile(HEAD + HOT), other_time, 60.0)


def test_the_command_shows_a_stream(tmp_path: Path) -> None:
    """The facts, and what each program makes of them; exit code 0."""
    new, old = tmp_path / "new.tide", tmp_path / "old.tide"
    new.write_text(f"{HEAD}a(R) :- temp(R, C), C > 70.")
    old.write_text(HEAD + HOT)
    done = command("check", "--prove", "new.tide", "--against", "old.tide", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == [
        "a: new.tide tells a(room1)@0, old.tide does not, with temp(room1,71)@0",
        "a: old.tide tells nothing that new.tide does not",
    ]


@pytest.mark.parametrize("features", ["past", "both ways", "windows"])
@given(data=st.data())
@drawn(200, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_proved_to_be_no_more_is_so(features: str, data: st.DataObject) -> None:
    """A drawn program, and the same with a rule less or a condition less."""
    kept = replace(PAST_ONLY if features == "past" else NON_RECURSIVE, constraints=False)
    drawing = lars_programs(EVERY_FORM) if features == "windows" else programs("integer", kept)
    first = data.draw(mixed(data.draw(drawing)))
    second = data.draw(_changed(first))
    assume(is_right(first) and is_right(second))
    facts = data.draw(lars_streams() if features == "windows" else streams(first))
    try:
        beside = Beside(book_of_text(first), book_of_text(second))
    except ProgramError:
        assume(False)
        return
    names = sorted({head.predicate for rule in rules_of(first) if (head := head_atom(rule.head)) is not None})
    proved = [name for name in names if beside.is_below(0, name)]
    assume(proved)
    try:
        refuter = Refuter(first, facts)
        one, another = refuter.model(first), refuter.model(second)
    except (ValueError, RuntimeError):  # the oracle does not cover it
        assume(False)
        return
    for name in proved:
        assert one.get(name, set()) <= another.get(name, set()), name


@pytest.mark.parametrize("kind", ["integer", "rational"])
@given(data=st.data())
@drawn(30, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_one_tells_more_is_told_by_runs_of_the_whole_programs(kind: Kind, data: st.DataObject) -> None:
    """A drawn program beside the same with a rule or a condition less: each is run as it was compiled."""
    first = data.draw(programs(kind, replace(PAST_ONLY, recursion=False)))
    second = data.draw(_changed(first))
    try:
        plans = (compile_program(first), compile_program(second))
    except ProgramError:
        assume(False)
        return
    found = against(*plans, 0.4)
    told = [(side, item) for side, items in enumerate((found.new, found.old)) for item in items if item.outcome == "more"]
    assume(told)
    for side, item in told:
        timeline = found.plans[side].timeline
        mine, others = (_told(plan, item, timeline) for plan in (plans[side], plans[1 - side]))
        for _, row, lo, hi in item.told:
            assert any(each[1] == row and each[2] <= lo and hi <= each[3] for each in mine), item
            assert not any(each[1] == row and each[2] <= hi and lo <= each[3] for each in others), item


def _told(plan: Plan, item: Comparison, timeline: Timeline) -> list[Record]:
    """What a run of the whole program tells of the facts of a comparison that it takes, on a timeline that may be finer."""
    session = Session(plan, emit="final")
    known = [fact for fact in sorted(item.facts) if fact.predicate in plan.schema.predicates]
    encode = plan.timeline.encode_interval
    session.push_records([(fact.predicate, fact.row, *encode(Interval(fact.low, fact.high))) for fact in known])
    session.finish()
    records = [record for record in session.pull_records() if record[0] == item.output]
    return [(name, row, *timeline.encode_interval(plan.timeline.decode_interval(lo, hi))) for name, row, lo, hi in records]


@st.composite
def _changed(draw: st.DrawFn, program: Program) -> Program:
    rules = list(rules_of(program))
    number = draw(st.integers(0, len(rules) - 1))
    body = rules[number].body
    if len(body) > 1 and draw(st.booleans()):
        place = draw(st.integers(0, len(body) - 1))
        rules[number] = replace(rules[number], body=tuple(part for at, part in enumerate(body) if at != place))
    elif len(rules) > 1:
        del rules[number]
    others = tuple(item for item in program.statements if not isinstance(item, Rule))
    return replace(program, statements=(*others, *rules))
