"""The oracle itself, held against cases worked by hand from Table 1 and against the papers' examples."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import pytest

from oracle.evaluate import check, evaluate
from oracle.grid import common_step
from oracle.notation import at, binary, fact, iv, op, program, runs, solve, term
from oracle.reach import exact_range, horizon
from oracle.truth import Violation
from tidelog.plans.tree.syntax import (
    Comparison,
    Conjunction,
    FactStatement,
    Formula,
    Interval,
    Negation,
    Program,
    Rule,
    Truth,
    Unary,
    UnaryOperator,
    Window,
    WindowSize,
)

BRACKETS = ("[]", "[)", "(]", "()")


# --- Table 1 ------------------------------------------------------------------------------------------------------

UNARY = {
    ("diamondminus", "[2,4]"): ("[3,6]", "[3,6)", "(3,6]", "(3,6)"),
    ("diamondminus", "(2,4)"): ("(3,6)", "(3,6)", "(3,6)", "(3,6)"),
    ("boxminus", "[2,4]"): ("[4,5]", "[4,5]", "[4,5]", "[4,5]"),
    ("boxminus", "(2,4)"): ("(4,5)", "[4,5)", "(4,5]", "[4,5]"),
    ("diamondplus", "[2,4]"): ("[0,3]", "(0,3]", "[0,3)", "(0,3)"),
    ("diamondplus", "(2,4)"): ("(0,3)", "(0,3)", "(0,3)", "(0,3)"),
    ("boxplus", "[2,4]"): ("[1,2]", "[1,2]", "[1,2]", "[1,2]"),
    ("boxplus", "(2,4)"): ("(1,2)", "(1,2]", "[1,2)", "[1,2]"),
}


@pytest.mark.parametrize("brackets", BRACKETS)
@pytest.mark.parametrize(("operator", "coverage"), UNARY)
def test_unary_operators_on_dense_time(operator: UnaryOperator, coverage: str, brackets: str) -> None:
    """A diamond or a box over [1,2], with any brackets, holds where Table 1 says on the rationals."""
    model = solve(op(operator, f"{brackets[0]}1,2{brackets[1]}", at("p")), [fact("p", coverage)])
    assert runs(model) == UNARY[operator, coverage][BRACKETS.index(brackets)]


@pytest.mark.parametrize(
    ("operator", "interval", "expected"),
    [
        ("diamondminus", "[1,3]", "[3,7]"),
        ("diamondminus", "(1,3]", "[4,7]"),
        ("diamondminus", "[1,3)", "[3,6]"),
        ("diamondminus", "(1,3)", "[4,6]"),
        ("boxminus", "[1,3]", "[5,5]"),
        ("boxminus", "(1,3]", "[5,6]"),
        ("boxminus", "[1,3)", "[4,5]"),
        ("boxminus", "(1,3)", "[4,6]"),
        ("diamondplus", "(1,3]", "[-1,2]"),
        ("boxplus", "[1,3)", "[1,2]"),
    ],
)
def test_unary_operators_on_integers(operator: UnaryOperator, interval: str, expected: str) -> None:
    """On integers an open end leaves out one integer."""
    assert runs(solve(op(operator, interval, at("p")), [fact("p", "[2,4]")], timeline="integer")) == expected


def test_unary_operators_with_one_distance_shift() -> None:
    """Diamond and box over [1,1] are the same shift, gaps included."""
    for operator in ("diamondminus", "boxminus"):
        assert runs(solve(op(operator, "[1,1]", at("p")), [fact("p", "(2,4]"), fact("p", "6")])) == "(3,5] [7,7]"


SINCE = [
    ("[1,2]", "2", "[2,4]", "[3,4]"),
    ("[1,2)", "2", "[2,4]", "[3,4)"),
    ("(1,2]", "2", "[2,4]", "(3,4]"),
    ("(1,2)", "2", "[2,4]", "(3,4)"),
    ("[1,2]", "2", "(2,3)", "[3,3]"),
    ("(1,2]", "2", "(2,3)", ""),
    ("[0,1]", "2", "[0,1]", "[2,2]"),
    ("(0,1]", "2", "[0,1]", ""),
    ("(0,1]", "[2,3]", "[2,3]", "(2,3]"),
    ("[0,1]", "(2,3)", "[7,8]", "(2,3)"),
    ("(0,1]", "(2,3)", "[7,8]", ""),
    ("(0,1]", "(2,3)", "(2,3)", "(2,3]"),
    ("[1,1]", "(2,3)", "[2,4)", "(3,4)"),
    ("[1,inf)", "2", "(2,7)", "[3,7]"),
    ("(1,inf)", "2", "(2,7]", "(3,7]"),
]


@pytest.mark.parametrize(("interval", "right", "left", "expected"), SINCE)
def test_since_on_dense_time(interval: str, right: str, left: str, expected: str) -> None:
    """`q since p` holds at t from p at t' if q holds at all times strictly between."""
    facts = [fact("p", right), fact("q", left)]
    assert runs(solve(binary(at("q"), "since", interval, at("p")), facts)) == expected


def mirrored(interval: Interval) -> Interval:
    """The interval seen in a mirror at 4, so that times -4 … 12 stay times -4 … 12."""
    return Interval(8 - interval.high, 8 - interval.low, interval.right_open, interval.left_open)


@pytest.mark.parametrize(("interval", "right", "left", "expected"), SINCE)
def test_until_mirrors_since(interval: str, right: str, left: str, expected: str) -> None:
    """`until` holds at the mirrored times of `since` over mirrored facts."""
    facts = [("p", (), mirrored(iv(right))), ("q", (), mirrored(iv(left)))]
    model = solve(binary(at("q"), "until", interval, at("p")), facts)
    expected_model = solve(at("e"), [("e", (), mirrored(iv(text))) for text in expected.split()])
    assert model.points("h", ()) == expected_model.points("h", ())


@pytest.mark.parametrize(
    ("interval", "left", "expected"),
    [
        ("[0,2]", "9", "[2,3]"),
        ("[0,2]", "3", "[2,4]"),
        ("[1,2]", "3", "[3,4]"),
        ("(1,3)", "3", "[4,4]"),
        ("(0,3)", "9", "[3,3]"),
        ("[0,inf)", "[3,6]", "[2,7]"),
    ],
)
def test_since_on_integers(interval: str, left: str, expected: str) -> None:
    """On integers nothing lies between t-1 and t, so the left side is not asked there."""
    model = solve(binary(at("q"), "since", interval, at("p")), [fact("p", "2"), fact("q", left)], timeline="integer")
    assert runs(model) == expected


def test_truth_constants() -> None:
    """`top` holds at all times, `bottom` at none, inside operators too."""
    assert runs(solve(Truth(True), [])) == "[-4,12]"
    assert runs(solve([at("p"), Truth(False)], [fact("p", "1")])) == ""
    assert runs(solve(binary(Truth(True), "since", "[1,2]", at("p")), [fact("p", "1")])) == "[2,3]"


def test_box_and_diamond_beyond_the_horizon() -> None:
    """Unbounded operators take what lies beyond the horizon to be as its edges are."""
    past, for_ever = fact("p", "(-inf,3]"), fact("p", "[3,inf)")
    assert runs(solve(op("boxminus", "[1,inf)", at("p")), [past])) == "[-4,4]"
    assert runs(solve(op("boxminus", "[1,inf)", at("p")), [fact("p", "[-3,3]")])) == ""
    assert runs(solve(op("boxplus", "(1,inf)", at("p")), [for_ever])) == "[2,12]"
    assert runs(solve(op("diamondminus", "(1,inf)", at("p")), [fact("p", "3")])) == "(4,12]"
    assert runs(solve(op("diamondminus", "[1,2]", at("p")), [past])) == "[-4,5]"


def test_nested_operators_and_conjunctions() -> None:
    """A conjunction in parentheses may stand under an operator, and operators under operators."""
    both = Conjunction((at("p"), at("q")))
    facts = [fact("p", "[0,6]"), fact("q", "[2,8)")]
    assert runs(solve(op("boxminus", "[0,1]", both), facts)) == "[3,6]"
    assert runs(solve(op("boxminus", "[0,1]", op("diamondminus", "[0,2)", at("p"))), [fact("p", "2")])) == "[3,4)"


# --- windows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "start", "expected"),
    [("sometime", 0, "[3,7]"), ("always", 0, "[5,5]"), ("always", 3, "[3,5]"), ("always", 4, "[4,5]")],
)
def test_time_windows(mode: Literal["sometime", "always"], start: int, expected: str) -> None:
    """`always … in [n]` is clipped where the stream starts, `sometime … in [n]` is a diamond."""
    body = Window(mode, at("p"), WindowSize(Fraction(2)))
    assert runs(solve(body, [fact("p", "[3,5]")], timeline="integer", start=start)) == expected


def test_windows_start_with_the_first_fact() -> None:
    """Without a start given, the stream starts when its earliest fact begins."""
    body = Window("always", at("p"), WindowSize(Fraction(2)))
    assert runs(solve(body, [fact("p", "(3,5]")])) == "(3,5]"
    assert runs(solve(body, [fact("p", "(3,6]"), fact("q", "2")])) == "(5,6]"


# --- heads, recursion, negation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("brackets", BRACKETS)
def test_boxes_in_heads(brackets: str) -> None:
    """`boxplus ϱ h` at t says h at all of t+ϱ, as a diamond into the past does; `boxminus` mirrors it."""
    interval = f"{brackets[0]}1,2{brackets[1]}"
    for box, diamond in (("boxplus", "diamondminus"), ("boxminus", "diamondplus")):
        for coverage in ("[2,4]", "(2,4)", "3"):
            facts = [fact("p", coverage)]
            head = Unary("boxplus" if box == "boxplus" else "boxminus", iv(interval), at("h"))
            body = Unary("diamondminus" if diamond == "diamondminus" else "diamondplus", iv(interval), at("p"))
            assert runs(solve(at("p"), facts, head=head)) == runs(solve(body, facts)) != ""


def test_nested_boxes_in_heads() -> None:
    """`boxplus[2,3] boxminus[0,1) h` at 4 says h at all times in (5,7]."""
    head = op("boxplus", "[2,3]", op("boxminus", "[0,1)", at("h")))
    assert runs(solve(at("p"), [fact("p", "4")], head=head)) == "(5,7]"


def test_recursion_through_time() -> None:
    """`boxplus[2,2] p :- p` repeats p up to the horizon's end, on points alone."""
    model = evaluate(program(Rule(op("boxplus", "[2,2]", at("p")), (at("p"),))), [fact("p", "1")], low=0, high=9)
    assert model.points("p", ()) == [1, 3, 5, 7, 9]


def test_recursion_at_one_time() -> None:
    """Reachability is computed at each time by itself."""
    rules = (
        Rule(at("path", "X", "Y"), (at("e", "X", "Y"),)),
        Rule(at("path", "X", "Z"), (at("path", "X", "Y"), at("path", "Y", "Z"))),
    )
    facts = [fact("e", "a", "b", "[0,5]"), fact("e", "b", "c", "[3,8]"), fact("e", "c", "d", "[4,4]")]
    model = evaluate(program(*rules), facts, low=0, high=9)
    assert runs(model, "path", ("a", "c")) == "[3,5]"
    assert runs(model, "path", ("a", "d")) == "[4,4]"
    assert not model.holds("path", ("a", "d"), Fraction(7, 2))


def test_negation_by_strata() -> None:
    """A negated predicate is complete before what negates it, whatever the order of the rules."""
    rules = (
        Rule(at("quiet", "X"), (at("sensor", "X"), Negation(at("loud", "X", "_")))),
        Rule(at("loud", "X", "Y"), (op("diamondminus", "[0,1]", at("noise", "X", "Y")),)),
    )
    facts = [fact("sensor", "s", "[0,9]"), fact("noise", "s", 1, "2"), fact("noise", "s", 2, "6")]
    model = evaluate(program(*rules), facts, low=-1, high=10)
    assert runs(model, "quiet", ("s",)) == "[0,2) (3,6) (7,9]"


def test_negation_of_and_under_operators() -> None:
    """`not` over an operator and an operator over `not` are different."""
    facts = [fact("p", "[2,5]"), fact("q", "[0,9]")]
    assert runs(solve([at("q"), Negation(op("boxminus", "[0,1]", at("p")))], facts)) == "[0,3) (5,9]"
    assert runs(solve([at("q"), op("boxminus", "[0,1]", Negation(at("p")))], facts)) == "[0,2) (6,9]"


def test_negation_in_a_cycle_is_refused() -> None:
    """A program that is not stratified has no meaning here."""
    with pytest.raises(ValueError, match="negation"):
        evaluate(program(Rule(at("a"), (at("p"), Negation(at("a"))))), [], low=0, high=1)


def test_constraints_are_collected() -> None:
    """A constraint whose body holds is noted with its number, its variables and each time."""
    rules = (Rule(at("a"), (at("p", "X"),)), Rule(Truth(False), (at("p", "X"), at("q", "X", "_"))))
    facts = [fact("p", "a", "[1,2]"), fact("q", "a", "b", "2"), fact("q", "b", "b", "2")]
    model = evaluate(program(*rules, timeline="integer"), facts, low=0, high=4)
    assert model.violations == {Violation(1, (("X", "a"),), Fraction(2))}


def test_facts_of_the_program() -> None:
    """A fact without a time in a program holds at all times, others at theirs."""
    statements = (
        FactStatement(at("link", "a", "b")),
        FactStatement(at("p"), iv("[1,2)")),
        Rule(at("h"), (at("link", "_", "b"), at("p"))),
    )
    model = evaluate(Program(statements), [], low=-2, high=4)
    assert runs(model, "link", ("a", "b")) == "[-2,4]"
    assert runs(model) == "[1,2)"


# --- instances ----------------------------------------------------------------------------------------------------


def test_a_variable_has_one_value_in_a_rule_instance() -> None:
    """`boxminus[0,2] p(_)` needs the same constant at all times of its window."""
    facts = [fact("p", "a", "[0,2]"), fact("p", "b", "[2,5]")]
    model = solve(op("boxminus", "[0,2]", at("p", "_")), facts)
    assert runs(model) == "[2,2] [4,5]"
    assert runs(solve(op("boxminus", "[0,2]", at("p", "X")), facts, head=at("h", "X")), "h", ("b",)) == "[4,5]"


def test_wildcards_are_variables_of_their_own() -> None:
    """Two wildcards of one atom may differ, a repeated variable may not."""
    facts = [fact("p", "a", "b", "1"), fact("p", "a", "a", "3")]
    assert runs(solve(at("p", "_", "_"), facts)) == "[1,1] [3,3]"
    assert runs(solve(at("p", "X", "X"), facts)) == "[3,3]"


def test_a_wildcard_in_a_negation_is_existential_inside() -> None:
    """`not boxminus[0,1] p(_)` fails only where one constant fills the window."""
    facts = [fact("p", "a", "[1,2]"), fact("p", "b", "[2,3]"), fact("q", "[0,4]")]
    body: list[Formula] = [at("q"), Negation(op("boxminus", "[0,2]", at("p", "_")))]
    assert runs(solve(body, facts)) == "[0,4]"
    body = [at("q"), Negation(op("boxminus", "[0,1]", at("p", "_")))]
    assert runs(solve(body, facts)) == "[0,2) (2,3) (3,4]"


def test_the_left_side_of_since_may_name_any_constant() -> None:
    """At distance 0 `q(X,Y) since r(X)` holds from r alone; later the left side must hold for one Y."""
    body = binary(at("q", "X", "Y"), "since", "[0,2]", at("r", "X"))
    assert runs(solve(body, [fact("r", "a", "1")], head=at("h", "X")), "h", ("a",)) == "[1,1]"
    facts = [fact("r", "a", "1"), fact("q", "a", "b", "[1,2]"), fact("q", "a", "c", "[2,3]")]
    assert runs(solve(body, facts, head=at("h", "X")), "h", ("a",)) == "[1,2]"
    assert runs(solve(binary(at("q", "_"), "since", "[0,2]", at("r")), [fact("r", "1")])) == "[1,1]"


def test_the_left_side_of_since_uses_what_others_bind() -> None:
    """A variable of the left side that another literal binds takes that value."""
    body: list[Formula] = [at("s", "Y"), binary(at("q", "Y"), "since", "[1,2]", at("r"))]
    facts = [fact("s", "a", "[0,9]"), fact("q", "a", "[1,3]"), fact("q", "b", "[1,4]"), fact("r", "1")]
    assert runs(solve(body, facts)) == "[2,3]"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (at("h", "X"), (at("p"),)),
        (at("h", "X"), (binary(at("q", "X"), "since", "[0,1]", at("p")),)),
        (at("h"), (at("p"), Negation(at("q", "X")))),
        (at("h"), (at("p"), Comparison("<", term("X"), term(3)))),
        (at("h", "X"), (at("p"), Comparison("=", term("X"), term("Y")))),
    ],
)
def test_unsafe_rules_are_refused(head: Formula, body: tuple[Formula, ...]) -> None:
    """A variable that nothing positive binds is an error."""
    with pytest.raises(ValueError, match="does not bind"):
        check(Rule(head, body), 0)


# --- the papers' examples -----------------------------------------------------------------------------------------


def network() -> Program:
    """Rules (1) and (2) of Example 1."""
    frequent = op("boxminus", "[0,4]", op("diamondminus", "[0,2]", at("Signal", "Z")))
    return program(
        Rule(at("Flag", "X", "Z"), (at("Monit", "X", "Z"), frequent)),
        Rule(op("boxplus", "[0,3]", at("Monit", "X", "Z")), (at("Flag", "Y", "Z"), at("Connect", "X", "Y"))),
    )


def test_example_8_of_stream_reasoning_with_datalogmtl() -> None:
    """With readings from 96.3 to 100, P(s1) holds on [97,101] and the node n flags s1 at 101."""
    rules = (
        Rule(at("P", "Z"), (op("diamondminus", "[0,2]", at("Signal", "Z")),)),
        Rule(at("Q", "Z"), (op("boxminus", "[0,4]", at("P", "Z")),)),
        Rule(at("Flag", "X", "Z"), (at("Monit", "X", "Z"), at("Q", "Z"))),
    )
    facts = [fact("Signal", "s1", time) for time in ("963/10", "98", "100")]
    facts += [fact("P", "s1", "[97,100]"), fact("Monit", "n", "s1", "101")]
    model = evaluate(program(*rules), facts, low=96, high=103)
    assert model.intervals("P")["s1",] == [(Fraction(963, 10), Fraction(102))]
    assert model.intervals("Q")["s1",] == [(Fraction(1003, 10), Fraction(102))]
    assert model.points("Flag", ("n", "s1")) == [101]
    flags = evaluate(network(), facts, low=96, high=103)
    assert flags.points("Flag", ("n", "s1")) == [101]


def test_example_1_spreads_through_the_network() -> None:
    """A flag makes the neighbours monitor for 3, who flag while the signal is frequent, and so on."""
    facts = [fact("Signal", "s", str(time)) for time in (0, 2, 4, 6)]
    facts += [fact("Monit", "n1", "s", "5"), fact("Connect", "n2", "n1", "[0,5]"), fact("Connect", "n3", "n2", "[7,7]")]
    low, high = horizon(network(), facts)
    model = evaluate(network(), facts, low=low, high=high)
    assert runs(model, "Monit", ("n2", "s")) == "[5,8]"
    assert runs(model, "Flag", ("n2", "s")) == "[5,8]"
    assert runs(model, "Monit", ("n3", "s")) == "[7,10]"
    assert runs(model, "Flag", ("n3", "s")) == "[7,8]"


def test_example_7_normal_form_has_the_same_answers() -> None:
    """Rules (7)–(9) and the two for Monit derive what Rules (1) and (2) do."""
    rules = (
        Rule(at("P", "Z"), (op("diamondminus", "[0,2]", at("Signal", "Z")),)),
        Rule(at("P1", "Z"), (op("boxminus", "[0,4]", at("P", "Z")),)),
        Rule(at("Flag", "X", "Z"), (at("Monit", "X", "Z"), at("P1", "Z"))),
        Rule(at("P2", "X", "Z"), (at("Flag", "Y", "Z"), at("Connect", "X", "Y"))),
        Rule(at("Monit", "X", "Z"), (op("diamondminus", "[0,3]", at("P2", "X", "Z")),)),
    )
    facts = [fact("Signal", "s", str(time)) for time in (0, 2, "7/2", 6)]
    facts += [fact("Monit", "n1", "s", "[1,5)"), fact("Connect", "n2", "n1", "[0,9]")]
    facts += [fact("Connect", "n1", "n2", "[0,6)")]
    one = evaluate(network(), facts, low=-1, high=14)
    other = evaluate(program(*rules), facts, low=-1, high=14)
    assert one.intervals("Flag") == other.intervals("Flag") != {}
    assert one.intervals("Monit") == other.intervals("Monit") != {}


def test_example_4_1_of_practical_reasoning_in_datalogmtl() -> None:
    """The running example's facts after all rounds, R1 running on for ever."""
    rules = (
        Rule(at("R1", "X", "Y"), (op("diamondminus", "[1,1]", at("R1", "X", "Y")),)),
        Rule(
            op("boxplus", "[1,1]", at("R5", "Y")),
            (at("R2", "X", "Y"), op("boxplus", "[1,2]", at("R3", "Y", "Z"))),
        ),
        Rule(at("R4", "X"), (op("diamondminus", "[0,1]", at("R5", "X")),)),
        Rule(at("R6", "Y"), (at("R1", "X", "Y"), op("boxminus", "[0,2]", at("R4", "Y")), at("R5", "Y"))),
    )
    facts = [
        fact("R1", "c1", "c2", "[0,1]"),
        fact("R2", "c1", "c2", "[1,2]"),
        fact("R3", "c2", "c3", "[2,3]"),
        fact("R5", "c2", "[0,1]"),
    ]
    model = evaluate(program(*rules), facts, low=-3, high=7)
    assert runs(model, "R1", ("c1", "c2")) == "[0,7]"
    assert runs(model, "R4", ("c2",)) == "[0,3]"
    assert runs(model, "R5", ("c2",)) == "[0,1] [2,2]"
    assert runs(model, "R6", ("c2",)) == "[2,2]"
    assert exact_range(program(*rules), facts, low=-3, high=7) == (-math.inf, 7)


# --- the model's questions ----------------------------------------------------------------------------------------


def test_a_model_tells_points_runs_and_rows() -> None:
    """`holds` knows each time of a gap by the gap's middle, and refuses times outside of the horizon."""
    model = evaluate(program(), [fact("p", "a", "(1,2]"), fact("p", "a", "3")], low=0, high=4)
    assert model.times() == [Fraction(half, 2) for half in range(9)]
    assert model.points("p", ("a",)) == [Fraction(3, 2), 2, 3]
    assert model.intervals("p")["a",] == [(Fraction(3, 2), Fraction(2)), (Fraction(3), Fraction(3))]
    assert model.holds("p", ("a",), Fraction(4, 3))
    assert not model.holds("p", ("a",), 1)
    assert model.rows("nothing") == set()
    with pytest.raises(ValueError, match="horizon"):
        model.holds("p", ("a",), 5)


def test_facts_must_lie_within_the_horizon() -> None:
    """A fact with a finite end outside of the horizon is refused, not cut."""
    with pytest.raises(ValueError, match="horizon"):
        evaluate(program(), [fact("p", "[1,5]")], low=0, high=4)


def test_common_step() -> None:
    """The step is the largest number that divides all."""
    assert common_step(map(Fraction, ("3/2", "1/3", "0"))) == Fraction(1, 6)
    assert common_step([Fraction(4), Fraction(-6)]) == 2
    assert common_step([]) == 1
