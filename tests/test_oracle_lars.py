"""The oracle's LARS forms, held against cases worked by hand and against the examples of the Laser paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest

from oracle.evaluate import GroundFact, Model, evaluate
from oracle.lars import inputs_of
from oracle.notation import fact, runs
from oracle.reach import Reach, exact_range, horizon, reach
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.syntax import Interval


def solve(text: str, facts: Sequence[GroundFact], *, start: int | None = None, low: int = -4, high: int = 20) -> Model:
    """The model of a program on the integer timeline."""
    return evaluate(parse("timeline integer.\n" + text), facts, low=low, high=high, start=start)


def times(model: Model, predicate: str = "h") -> dict[tuple[str | int | float, ...], str]:
    """The runs of each row of a predicate."""
    return {row: runs(model, predicate, row) for row in sorted(model.rows(predicate), key=repr)}


def points(text: str) -> list[GroundFact]:
    """Facts from text: `p(a)@3 q@4`; they arrive in this order."""
    found = []
    for item in text.split():
        name, _, rest = item.partition("@")
        predicate, _, arguments = name.rstrip(")").partition("(")
        values = [int(value) if value.lstrip("-").isdigit() else value for value in arguments.split(",") if value]
        found.append(fact(predicate, *values, rest))
    return found


# --- time windows with @, steps -----------------------------------------------------------------------------------


def test_a_window_with_a_time_variable_holds_while_the_time_is_in_it() -> None:
    """`p@T in [2]` holds at t where p at T and t−2 ≤ T ≤ t."""
    model = solve("h(T) :- p@T in [2].", points("p@3 p@7"))
    assert times(model) == {(3,): "[3,5]", (7,): "[7,9]"}


def test_a_shift_in_a_window_is_part_of_the_time() -> None:
    """`p@T+2 in [1]` asks for p at T+2, and for T+2 in the window."""
    assert times(solve("h(T) :- p@T+2 in [1].", points("p@5"))) == {(3,): "[5,6]"}


def test_a_window_with_a_time_variable_is_clipped_at_the_start() -> None:
    """What holds at all times holds in a window from the stream's start on alone."""
    model = solve("k. h(T) :- k@T in [2], p.", points("p@1 p@2"))
    assert times(model) == {(1,): "[1,2]", (2,): "[2,2]"}


STEPPED = {
    "sometime p in [3 step 3]": "[6,8]",
    "sometime p in [4 step 3]": "[6,11]",
    "sometime p in [2 step 5]": "[5,9]",
    "sometime p in [0 step 2]": "[4,5]",
    "p@T in [3 step 3]": "[6,8]",
    "always p in [0 step 2]": "[4,5]",
    "not sometime p in [2 step 5]": "[-4,4] [10,20]",
}


@pytest.mark.parametrize("body", STEPPED)
def test_a_stepped_window_ends_at_the_last_multiple(body: str) -> None:
    """`[n step d]` at t is the window of size n at the last multiple of d."""
    model = solve(f"h :- {body}.", points("q@0 p@4" if "[0" in body else "q@0 p@5"))
    assert runs(model) == STEPPED[body]


def test_an_always_window_with_a_step_waits_for_a_multiple_behind_the_start() -> None:
    """Clipped at the start 2, `[3 step 4]` ends first at 4, and is [2,4] then; at 8 it is [5,8]."""
    model = solve("h :- always p in [3 step 4].", [fact("p", "[2,8]")])
    assert runs(model) == "[4,11]"
    assert runs(solve("h :- always p in [3 step 4].", [fact("p", "[2,7]")])) == "[4,7]"


def test_steps_count_from_zero_towards_both_sides() -> None:
    """At −1 the last multiple of 3 is −3."""
    model = solve("h :- sometime p in [0 step 3].", points("p@-3 p@0"))
    assert runs(model) == "[-3,2]"


def test_tumbling_windows_cut_the_stream_into_stretches() -> None:
    """With a step of one more than the size each fact is in one window, and in it for one step."""
    model = solve("h(T) :- p@T in [2 step 3].", points("p@3 p@4 p@5 p@6 p@7"))
    assert times(model) == {(3,): "[3,5]", (4,): "[6,8]", (5,): "[6,8]", (6,): "[6,8]", (7,): "[9,11]"}


# --- @ without a window, and in heads -----------------------------------------------------------------------------


def test_an_atom_at_a_time_holds_at_all_times() -> None:
    """`p(X)@T` does not depend on when it is asked."""
    model = solve("h(X,T) :- q, p(X)@T+1.", points("p(a)@3 q@1 q@9"))
    assert times(model) == {("a", 2): "[1,1] [9,9]"}


def test_a_group_of_atoms_at_a_time_moves_to_the_time_of_the_head() -> None:
    """Temporal Datalog: the next state follows from this one and the next."""
    model = solve("h(X)@T+2 :- p(X)@T, q@T+1.", points("p(a)@3 p(b)@3 q@4 p(a)@6 q@6"))
    assert times(model) == {("a",): "[5,5]", ("b",): "[5,5]"}


def test_a_head_at_a_time_holds_if_the_body_does_at_some_time() -> None:
    """`h@T` with T in a window: at T, if q comes while T is in the window."""
    model = solve("h(X)@T :- p(X)@T in [3], q.", points("p(a)@3 p(b)@5 p(c)@9 q@6"))
    assert times(model) == {("a",): "[3,3]", ("b",): "[5,5]"}


def test_heads_at_times_may_recurse() -> None:
    """A counter in time runs until it is stopped."""
    model = solve("h@T :- p@T. h@T+2 :- h@T, not q@T.", points("p@1 q@7"))
    assert runs(model) == "[1,1] [3,3] [5,5] [7,7]"


def test_a_time_variable_is_a_number() -> None:
    """T stands in arguments, comparisons and arithmetic; a value that is no whole number is no time."""
    facts = [*points("p@2 p@3 p@6"), fact("q", 3, "0"), fact("q", "a", "0"), fact("q", 6, "1")]
    assert times(solve("h(T,S) :- p@T in [0], T > 2, S = T*2+1.", facts)) == {(3, 7): "[3,3]", (6, 13): "[6,6]"}
    assert times(solve("h(T) :- p@T, q(T).", facts)) == {(3,): "[0,0]", (6,): "[1,1]"}
    assert times(solve("h(S) :- p@S, p@T, S = T+1.", facts), "h") == {(3,): "[-4,20]"}
    assert runs(solve("h@T+1 :- q(T).", facts)) == "[4,4] [7,7]"


def test_negation_of_an_atom_at_a_time() -> None:
    """`not p@T` asks at T, `not p@T in [n]` also holds where T is not in the window."""
    facts = points("q@2 q@4 p@4")
    assert times(solve("h(T) :- q@T in [2], not p@T.", facts)) == {(2,): "[2,4]"}
    assert times(solve("h(T) :- q@T in [3], not p@T in [1].", facts)) == {(2,): "[2,5]", (4,): "[6,7]"}


# --- tuple windows ------------------------------------------------------------------------------------------------


def test_a_tuple_window_holds_the_last_facts_of_all_inputs() -> None:
    """p(a) is among the last two facts until two have come behind it."""
    model = solve("h(X) :- sometime p(X) in [#2]. g :- q.", points("p(a)@1 q@3 p(b)@5 q@8 q@9"))
    assert times(model) == {("a",): "[1,4]", ("b",): "[5,8]"}


def test_a_tuple_window_of_predicates_counts_these_alone() -> None:
    """`[#1 of p]` is the last p, whatever else comes; `[#2 of p,q]` leaves out r."""
    facts = points("p(a)@1 q@3 r@4 p(b)@5")
    assert times(solve("h(X) :- sometime p(X) in [#1 of p]. g :- q.", facts)) == {("a",): "[1,4]", ("b",): "[5,20]"}
    text = "input p(x). input q. input r. h(X) :- sometime p(X) in [#2 of p, q]."
    assert times(solve(text, points("p(a)@1 q@3 r@4 q@6"))) == {("a",): "[1,5]"}


def test_declared_inputs_count_even_if_no_rule_reads_them() -> None:
    """A declared input pushes others out of `[#n]`; what the program does not know does not."""
    facts = points("p@1 q@3")
    assert runs(solve("input p. input q. h :- sometime p in [#1].", facts)) == "[1,2]"
    assert runs(solve("input p. h :- sometime p in [#1].", facts)) == "[1,20]"
    assert inputs_of(parse("k(a). h(X) :- p(X), k(X). g(X) :- h(X), not q(X).")) == {"p", "q"}


def test_the_order_of_arrival_decides_within_a_time() -> None:
    """Of three facts at one time the later two stay, and facts are ordered by time first."""
    program = "h(X) :- sometime p(X) in [#2]."
    assert times(solve(program, points("p(c)@2 p(a)@2 p(b)@2"))) == {("a",): "[2,20]", ("b",): "[2,20]"}
    assert times(solve(program, points("p(b)@3 p(a)@2 p(c)@2"))) == {("a",): "[2,2]", ("b",): "[3,20]", ("c",): "[2,20]"}


def test_a_fact_counts_once_where_it_first_arrives() -> None:
    """A repeated fact takes no second place, and does not move to a later one."""
    facts = points("p(a)@2 p(b)@2 p(a)@2 p(c)@4")
    assert times(solve("h(X) :- sometime p(X) in [#2].", facts)) == {("a",): "[2,3]", ("b",): "[2,20]", ("c",): "[4,20]"}


def test_an_interval_arrives_once_where_it_begins() -> None:
    """It is in the window at its begin alone."""
    facts = [fact("p", "a", "[2,6]"), fact("p", "b", "(3,5]")]
    assert times(solve("h(X) :- sometime p(X) in [#1].", facts)) == {("a",): "[2,3]", ("b",): "[4,20]"}
    assert times(solve("h(X,T) :- p(X)@T in [#2].", facts)) == {("a", 2): "[2,20]", ("b", 4): "[4,20]"}
    assert times(solve("h(X) :- always p(X) in [#2].", facts)) == {("a",): "[2,2]"}


def test_always_in_a_tuple_window_is_at_every_time_of_it() -> None:
    """The window's timeline begins with its oldest fact, or at the start while there are fewer."""
    facts = points("p@1 p@2 p@3 q@4 p@5 p@6")
    assert runs(solve("h :- always p in [#2]. g :- q.", facts)) == "[1,3] [6,6]"
    assert runs(solve("h :- always p in [#2 of p].", facts)) == "[1,3] [6,6]"
    assert runs(solve("h :- always p in [#3].", points("p@1 p@2 p@4 p@5"), start=0)) == ""
    assert runs(solve("h :- always p in [#3].", points("p@1 p@2 p@3 p@5"), start=0)) == "[3,3]"


def test_a_time_variable_in_a_tuple_window() -> None:
    """`p@T in [#2]` holds for each p in the window with its time, and T may move the head."""
    facts = points("p@1 p@3 q@4 p@6")
    assert times(solve("h(T) :- p@T in [#2]. g :- q.", facts)) == {(1,): "[1,3]", (3,): "[3,5]", (6,): "[6,20]"}
    assert runs(solve("h@T+1 :- p@T in [#2], q.", facts)) == "[4,4]"


def test_negation_of_tuple_windows() -> None:
    """`not` before each mode; before the first fact nothing is in the window."""
    facts = points("p@1 q@3 p@4")
    assert runs(solve("h :- not sometime p in [#1]. g :- q.", facts)) == "[-4,0] [3,3]"
    assert runs(solve("h :- k, not always p in [#1]. k. g :- q.", facts)) == "[-4,0] [2,3] [5,20]"
    assert times(solve("h(T) :- p@T, q, not p@T in [#1].", facts)) == {(1,): "[3,3]", (4,): "[3,3]"}


# --- the Laser paper ----------------------------------------------------------------------------------------------

FIGURE_1 = points("a(x1,y)@36 a(x2,y)@38 b(y,z)@38 a(x3,y)@40")
EXAMPLE_2 = "q(X,Y,Z) :- sometime a(X,Y) in [3], sometime b(Y,Z) in [#3]."


def test_example_1_the_windows_of_figure_1() -> None:
    """At 41 the time window of size 3 and the tuple window of size 3 hold the last three atoms, and that of size 2 two."""
    text = """timeline integer. input a(x,y). input b(y,z).
        n(X) :- sometime a(X,_) in [3]. w(X) :- sometime a(X,_) in [#3]. v(X) :- sometime a(X,_) in [#2]."""
    model = evaluate(parse(text), FIGURE_1, low=35, high=42, start=35)
    holding = {name: {row for row in model.rows(name) if model.holds(name, row, 41)} for name in "nwv"}
    assert holding == {"n": {("x2",), ("x3",)}, "w": {("x2",), ("x3",)}, "v": {("x3",)}}
    other = [FIGURE_1[0], FIGURE_1[2], FIGURE_1[1], FIGURE_1[3]]
    model = evaluate(parse(text), other, low=35, high=42, start=35)
    assert {row for row in model.rows("v") if model.holds("v", row, 41)} == {("x2",), ("x3",)}


def test_examples_2_to_4_the_output_stream() -> None:
    """The join of a time window and a tuple window gives the paper's output at each time.

    Only at 42 the paper's list holds q(x2) too, though its window [39,42] (Definition 3) no longer holds a(x2) of 38.
    """
    model = evaluate(parse("timeline integer. " + EXAMPLE_2), FIGURE_1, low=35, high=42, start=35)
    output = {
        time: {row[0] for row in model.rows("q") if model.holds("q", row, time)}
        for time in range(35, 43)
        if any(model.holds("q", row, time) for row in model.rows("q"))
    }
    early, late = {"x1", "x2"}, {"x2", "x3"}
    assert output == {38: early, 39: early, 40: late, 41: late, 42: {"x3"}}


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timeline rational. h :- p@T.", "integer timeline"),
        ("timeline rational. h :- sometime p in [#2].", "integer timeline"),
        ("timeline rational. h :- sometime p in [2 step 1].", "integer timeline"),
        ("timeline integer. h :- p. g :- sometime h in [#2].", "over an input"),
        ("timeline integer. k. h :- sometime k in [#2].", "over an input"),
        ("timeline integer. h :- sometime (p, q) in [#2].", "one atom"),
        ("timeline integer. h :- diamondminus[0,1] p@T in [3].", "of its own"),
        ("timeline integer. h@T :- p.", "does not bind T"),
        ("timeline integer. h :- p, not q@T.", "does not bind T"),
        ("timeline integer, unit 1 s. h :- p@T in [5 s].", "unit"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, message: str) -> None:
    """LARS's forms on dense time, tuple windows over other than one input atom, unbound times."""
    with pytest.raises(ValueError, match=message):
        evaluate(parse(text), [], low=0, high=4)


# --- the horizon --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h :- sometime p in [4 step 3].", Reach(0, 7)),
        ("h(T) :- p@T+1 in [4].", Reach(1, 5)),
        ("h@T+2 :- p@T.", Reach(0, 2)),
        ("h@T :- p@T in [4], q.", Reach(4, 4)),
        ("h :- always p in [#4].", Reach(0, 1)),
        ("h(T) :- p@T, q@S, S = T+3.", Reach(3, 3)),
        ("h@T+1 :- h@T.", Reach(0, math.inf)),
        ("h@T-2 :- p@T+1, not q@T.", Reach(3, 0)),
    ],
)
def test_reach_of_the_new_forms(text: str, expected: Reach) -> None:
    """Windows reach right by size and step, and to both sides where the head moves."""
    assert reach(parse("timeline integer. " + text)) == expected


def test_recursion_through_a_heads_time_is_exact_up_to_the_horizon() -> None:
    """`h@T+1 :- h@T` runs on: right up to the horizon's end, less what a body looks ahead."""
    text = "timeline integer. h@T :- p@T. h@T+1 :- h@T, not q@T. "
    facts = points("p@1 q@4")
    assert exact_range(parse(text), facts, low=-9, high=9) == (-math.inf, 9)
    assert exact_range(parse(text + "g@T :- h@T+2."), facts, low=-9, high=9)[1] == 7
    assert exact_range(parse(text + "g :- h@T."), facts, low=-9, high=9)[1] == -math.inf


def test_values_that_are_times_widen_the_horizon() -> None:
    """A head's time from a fact may be any of its numbers; what multiplies has no bound."""
    program = parse("timeline integer. h@S :- p(T), S = T+3.")
    facts = [fact("p", 50, "1"), fact("p", "a", "2")]
    low, high = horizon(program, facts)
    assert high > 53
    assert evaluate(program, facts, low=low, high=high).points("h", ()) == [Fraction(53)]
    with pytest.raises(ValueError, match="no bound"):
        horizon(parse("timeline integer. h@S :- p(T), S = T*3."), facts)


def test_a_model_tells_that_its_times_have_no_bound() -> None:
    """A time variable that meets the horizon's edge has no bound; one that a fact bounds does not meet it."""
    always = [("q", (), Interval(-math.inf, math.inf)), fact("p", "3")]
    for text, unbounded in [("h(T) :- q@T.", True), ("h(T) :- q@T, p@T.", False), ("h(T) :- q@T in [2], p.", False)]:
        program = parse("timeline integer. " + text)
        low, high = horizon(program, always, start=0)
        assert evaluate(program, always, low=low, high=high, start=0).meets_edge == unbounded
