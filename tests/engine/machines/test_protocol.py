"""A protocol in nine lines: what takes as many in the run-time event calculus, and a dozen rules by hand."""

from __future__ import annotations

import pytest

from tidelog import Materialisation, Session
from tidelog.plans.checks.check import check
from tidelog.plans.checks.inferring import output_fields
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.formatting.program import format_text
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program

VOYAGE = """
ship(S) := sailing :- departs(S, _).
ship(S) := stopped :- speed(S, low), ship(S, sailing).
ship(S) := sailing :- speed(S, high), ship(S, stopped).
ship(S) := moored :- berths(S, _), not ship(S, moored).
ship(S) := silent :- gap(S, begins), not ship(S, moored).
ship(S) := sailing :- gap(S, ends), ship(S, silent).
ship(S) := none :- sold(S).
drifting(S) :- ship(S, stopped) for 30 min.
overdue(S) :- ship(S, silent) for 60 min.
""".strip()
INPUTS = "timeline integer, unit 1 min.\noutput ship, drifting, overdue.\n"


def told(text: str, facts: list[tuple[int, str, list[object]]], emit: str = "final") -> list[str]:
    session = Session(compile_program(parse(text)), emit=emit)  # type: ignore[arg-type]
    for time, name, row in facts:
        session.push(name, row, time=time)  # type: ignore[arg-type]
    session.finish()
    return sorted(str(answer) for answer in session.pull())


def test_nine_lines() -> None:
    """Each line is a transition, or what is told of a state."""
    assert len(VOYAGE.splitlines()) == 9
    facts: list[tuple[int, str, list[object]]] = [
        (0, "departs", ["s", "oslo"]),
        (10, "speed", ["s", "low"]),
        (45, "speed", ["s", "high"]),
        (50, "gap", ["s", "begins"]),
        (120, "gap", ["s", "ends"]),
        (200, "berths", ["s", "kiel"]),
        (210, "gap", ["s", "begins"]),
        (300, "sold", ["s"]),
    ]
    assert told(INPUTS + VOYAGE, facts) == sorted(
        [
            "drifting(s)@[41,45]",
            "overdue(s)@[111,120]",
            "ship(s,moored)@[201,300]",
            "ship(s,sailing)@[121,200]",
            "ship(s,sailing)@[1,10]",
            "ship(s,sailing)@[46,50]",
            "ship(s,silent)@[51,120]",
            "ship(s,stopped)@[11,45]",
        ]
    )


def test_two_values_at_one_time_hold_until_the_next() -> None:
    """So it is defined; none together with a value leaves the value."""
    text = "timeline integer. m(K) := a :- e(K). m(K) := b :- e(K). m(K) := c :- f(K). m(K) := none :- f(K)."
    assert told(text, [(1, "e", ["k"]), (5, "f", ["k"])]) == ["m(k,a)@[2,5]", "m(k,b)@[2,5]", "m(k,c)@[6,inf)"]


BY_A_VARIABLE = """timeline integer. input set(k: text, v). input off(k: text). output m(k, v), idle(k).
m(K) := V :- set(K, V).
m(K) := none :- off(K).
idle(K) :- off(K), not m(K, _).
"""


def test_none_by_a_variable_takes_the_value_away() -> None:
    """As `none` in a rule does: it was held as a value, so that `m(k, _)` held."""
    facts: list[tuple[int, str, list[object]]] = [
        (1, "set", ["k", "a"]),
        (3, "set", ["k", "none"]),
        (5, "off", ["k"]),
        (6, "set", ["k", "none"]),
        (6, "set", ["k", 7]),
    ]
    assert told(BY_A_VARIABLE, facts) == ["idle(k)@5", "m(k,7)@[7,inf)", "m(k,a)@[2,3]"]
    done = Materialisation(compile_batch(parse(BY_A_VARIABLE)))
    done.load(done.plan.record(name, row, time=time) for time, name, row in facts)  # type: ignore[arg-type]
    done.run()
    held = {record for record in done.facts() if record[0] == "m"}
    assert held == {("m", ("k", 7), 7, POS), ("m", ("k", "a"), 2, 3)}


def test_none_is_of_no_type() -> None:
    """What holds is a number, where all other values are numbers."""
    text = BY_A_VARIABLE.replace("v). input", "v: number). input")
    assert output_fields(parse(text))["m"][1].type == "number"


def test_rules_that_assign_two_values_at_one_time_are_warned_of() -> None:
    """Where one body holds whenever another does; both rules are named."""
    found = [item for item in check(parse("m(K) := a :- e(K). m(K) := b :- e(K), f(K).")) if item.severity == "warning"]
    assert [item.code for item in found] == ["assigned-twice"]
    assert found[0].notes
    apart = "m(K) := a :- e(K), m(K, b). m(K) := b :- e(K), m(K, a). m(K) := b :- g(K), not e(K)."
    assert not [item for item in check(parse(apart)) if item.code == "assigned-twice"]


def test_what_is_left_and_right_of_an_assignment() -> None:
    """An atom, and one value."""
    for text in ("not m(K) := a :- e(K).", "m(K) := V + 1 :- m(K, V).", "m(K) := none :- e(K).", "m(K) := a."):
        with pytest.raises(ProgramError):
            parse(text)
    with pytest.raises(ProgramError) as caught:
        parse("m(K) := a :- e(K). m(K, L) := b :- e(K), f(L).")
    assert "2 arguments here, and by 1 before" in str(caught.value)


def test_an_assignment_keeps_its_form() -> None:
    """In `fmt`, and as text."""
    assert format_text("m(K):=a:-e(K)\n") == "m(K) := a :- e(K).\n"
    assert format_program(parse("m(K):=none:-e(K). m(K) := a :- f(K)")) == "m(K) := none :- e(K).\nm(K) := a :- f(K).\n"


def test_a_counter() -> None:
    """A value may be computed from the one before."""
    text = "timeline integer. n(K) := 0 :- reset(K). n(K) := Next :- tick(K), n(K, N), Next = N + 1."
    facts: list[tuple[int, str, list[object]]] = [(0, "reset", ["k"]), (2, "tick", ["k"]), (3, "tick", ["k"])]
    assert told(text, facts) == ["n(k,0)@[1,2]", "n(k,1)@3", "n(k,2)@[4,inf)"]


def test_what_lasts_costs_nothing_in_between() -> None:
    """As many facts go through a machine that waits for a million seconds as through one that waits for a hundred."""

    def work(last: int) -> int:
        session = Session(compile_program(parse(INPUTS + VOYAGE)), emit="changes")
        session.push("departs", ["s", "oslo"], time=0)
        session.push("sold", ["s"], time=last)
        session.finish()
        return sum(step.received + step.evaluations for step in session.statistics().steps.values())

    assert work(1_000_000) == work(100)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("timeline integer. p(X) :- q(X), not r(X). r(X) :- p(X).", "`p -> not r -> p`"),
        ("timeline integer. p(X) :- q(X), not diamondplus[1,2] p(X).", "at later times"),
        ("timeline rational. p(X) :- q(X), not diamondminus[0,2] p(X).", "`p -> not p`"),
        ("timeline integer. p(X)@T :- q(X)@T, q(X)@S, not p(X)@S.", "at times that facts tell"),
    ],
)
def test_what_is_not_settled_before_is_refused(text: str, part: str) -> None:
    """Negation at the same time, or ahead, is refused, with its place."""
    with pytest.raises(ProgramError) as caught:
        compile_program(parse(text))
    assert part in str(caught.value) and "unstratified" in str(caught.value)
