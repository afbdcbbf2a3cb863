"""A document that is edited: what is told of each text is what is told of it by itself, though little is read again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from oracle.lars_programs import lars_programs
from oracle.programs import EVERYTHING, programs
from tidelog.editing.document import Draft, examine
from tidelog.editing.rechecking import Rechecker
from tidelog.plans.checks.check import check, check_beside
from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError
from tidelog.plans.language import rereading
from tidelog.plans.language.parser import parse_what_reads
from tidelog.plans.language.printing import format_program, format_statement
from tidelog.plans.language.rereading import Rereader
from tidelog.plans.language.statements import RawStatement
from tidelog.plans.language.templates import Template, template_of
from tidelog.plans.tree.syntax import Program, Statement

FIXTURES = sorted((Path(__file__).parent.parent / "fixtures" / "errors").glob("*.tide"))
LINES = sorted({line for file in FIXTURES for line in file.read_text(encoding="utf-8").splitlines() if len(line) < 200})
OWN = """\
timeline integer, unit 1 s.
timeline rational.
input temp(sensor: text, celsius: number).
input temp(sensor: text, celsius: text).
input door(room: text).
output alarm, hot.
parameter LIMIT = 80.
parameter LIMIT = "high".
background site from "site.csv".
ask alarm(S)@T.
temp(s1, 80)@3.
door(a)@[3,1].
hot(S) :- temp(S, C), C > LIMIT.
hot(S) :- temp(S, C), C > "high".
alarm(S) :- hot(S) for 10 min, not door(S).
alarm(S) :- boxminus[0,100] temp(S, C), C > 8.
alarm(X, Y) :- hot(X), not door(Y).
N(S) :- N = count() over temp(S, C) in [5] by S, C > 3.
a(S) :- latest temp(S, V) in [5], b(Q).
hot(S) :- not hot(S), temp(S, _).
p(S) :- temp(S, C) in [#5 of temp, hot].
p(S) :- always[5min] hot(S).
mode(S) := warm :- hot(S).
mode(S) := none :- not hot(S), door(S).
mode(S, T) := V :- temp(S, V).
calendar office = mon-fri 08:00-17:00, zone "Europe/Berlin", except holiday.
calendar holiday = dec 24-26.
a(S, A) :- A = avg(V) over temp(S, V) per office by S, not holiday.
a(S) :- temp(S, V), office(S).
alarm hot(sensor: text), priority high, text "{sensor} is hot", acknowledge, shelve at most 8 h, inhibited by door(sensor).
alarm alarm(s), inhibited by office, shelve at most 5.
a(S) :- hot_state(S, shelved), not alarm_state(S, suppressed).
tepm(S) :- tmep(S, C)
p(X :- q(X).
% only a comment
 , door(S).
""".splitlines()


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Lines that are right and lines that are wrong, and drawn rules."""
    lines = draw(st.lists(st.sampled_from(OWN) | st.sampled_from(LINES), max_size=12))
    if draw(st.booleans()):
        lines += format_program(draw(programs("integer", EVERYTHING) | lars_programs())).splitlines()
    return "\n".join(draw(st.permutations(lines)))


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """A text with a stretch of it put in another place, left out, doubled, or with something written over it."""
    begin, end = sorted(draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    end = min(end, begin + draw(st.sampled_from([0, 1, 5, 1000])))
    new = draw(st.sampled_from(["", ".", "\n", "\n\n", " ", ",", "(", ")", "X", ":-", "% ", text[begin:end]]) | texts())
    return text[:begin] + new + text[draw(st.sampled_from([begin, end])) :]


@drawn(100)
@given(st.data())
def test_edits_are_told_as_whole_texts_are(data: st.DataObject) -> None:
    """The tree, what is wrong, and where, after each of a row of edits, some of which are taken back."""
    reader, rechecker = Rereader(), Rechecker()
    seen = [data.draw(texts())]
    for _ in range(data.draw(st.integers(1, 6))):
        seen.append(data.draw(edited(seen[-1]) | st.sampled_from(seen)))
    for text in seen:
        expected = parse_what_reads(text)
        assert parse_what_reads(text, reader=reader) == expected
        assert _told(*expected) == _told(*expected, rechecker, reader)


def _told(
    program: Program, unread: list[Diagnostic], rechecker: Rechecker | None = None, reader: Rereader | None = None
) -> tuple[Diagnostic, ...]:
    if rechecker is None or reader is None:
        return check_beside(program, unread) if unread else check(program)

    run = partial(rechecker.run, pieces=reader.pieces)
    return check_beside(program, unread, run) if unread else check(program, run=run)


@drawn(100)
@given(st.data())
def test_a_draft_tells_what_compiling_tells(data: st.DataObject) -> None:
    """Where it says that a text cannot be compiled, that is all there is to say of it."""
    draft = Draft()
    text = data.draw(texts())
    for _ in range(3):
        found = examine(draft.look(text), NOWHERE, deeply=False).diagnostics
        assert _compared(found) == _compared(_compiled(text))
        text = data.draw(edited(text))


NOWHERE = Path("nowhere")


def _compiled(text: str) -> tuple[Diagnostic, ...]:
    """What the command line tells of a text."""
    try:
        return tidelog.compile(text, folder=NOWHERE).warnings
    except ProgramError as error:
        return error.diagnostics


def _compared(found: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    """Findings without the remedy for files, which names the folder."""
    return [replace(item, help="") if item.code == "background-file" else item for item in found]


def test_what_has_not_changed_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit in the middle of fifty rules costs one of them."""
    text = "".join(f"p{number}(X) :- q(X), X > {number}.\n" for number in range(50))
    draft = Draft()
    draft.look(text)
    parsed: list[str] = []
    made = template_of

    def count(statement: Statement, raw: RawStatement) -> Template | None:
        parsed.append(format_statement(statement))
        return made(statement, raw)

    monkeypatch.setattr(rereading, "template_of", count)
    draft.look(text.replace("X > 20", "X > 21, r(Y)"))
    assert parsed == ["p20(X) :- q(X), X > 21, r(Y)."]
