"""The grammar: every construct of the language reference is read as what it says."""

import math
from fractions import Fraction

import pytest

from tidelog.plans.diagnostics.errors import NOWHERE, ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.syntax import (
    EVER,
    Arithmetic,
    Ask,
    Atom,
    Background,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    FactStatement,
    Field,
    Input,
    Interval,
    Negation,
    Output,
    Rule,
    Statement,
    TimelineDeclaration,
    TimePoint,
    Truth,
    Unary,
    Variable,
    Wildcard,
    Window,
    WindowSize,
)

X, Y, T = Variable("X"), Variable("Y"), Variable("T")
P, Q, R = Atom("p", (X,)), Atom("q", (X,)), Atom("r", (X,))


def interval(low, high, left_open=False, right_open=False):
    def exact(time):
        return time if isinstance(time, float) else Fraction(time)

    return Interval(exact(low), exact(high), left_open, right_open)


def only(text: str) -> Statement:
    (statement,) = parse(text).statements
    return statement


def literal(text: str):
    """The only literal of a body."""
    rule = only(f"h :- {text}.")
    assert isinstance(rule, Rule)
    (part,) = rule.body
    return part


REFERENCE = [
    "timeline rational.                    % the default: dense time, exact rationals, DatalogMTL's semantics",
    "timeline integer.                     % discrete time: LARS, Temporal Datalog",
    "timeline integer, unit 1 s.           % numbers count seconds",
    "timeline rational, resolution 0.001.  % finest timestamp accepted from streams",
    "input temp(sensor, value).            % names the fields",
    "input temp(sensor: text, value: number).  % types: text number integer boolean any",
    "output alarm.                         % what goes to the sinks",
    'background connect from "connect.csv".% facts that hold at all times',
    "ask malf(X)@T.                        % a query whose hypothetical answers are wanted",
    "h(X) :- p(a,X)",
    "h :- diamondminus[1,2] p",
    "h :- SOMETIME[-2,-1] p",
    "h :- boxminus[1,2] p",
    "h :- ALWAYS(-2,-1] p",
    "h :- diamondplus[1,2] p, SOMETIME[1,2] p, boxplus[1,2] p, ALWAYS[1,2] p",
    "h :- p since[1,2] q, p until[1,2] q",
    "h :- top, bottom",
    "h :- sometime p in [5], p in [5], always p in [5]",
    "h(T) :- p(X)@T in [5]",
    "h :- p in [#3], sometime p in [#3 of p, q], always p in [5 step 2]",
    "h(T) :- p(X)@T, p(X)@T+2, q(T), T > 3",
    "h(X) :- p(X), not q(X), not r(X,_)",
    "h(W) :- p(V), X != V, V >= 100, W = V*9/5+32, X = V // 2 mod 3 - min(V,1) * max(V,2,3) + abs(-V)",
    "h(X) :- boxminus[0,4] (a(X), b(X))",
    "h(X) :- boxminus[4] diamondplus p(X)",
    "p(X)@T :- q(X)@T. p(X)@T-2 :- q(X)@T.",
    "boxplus[1,2] boxminus[0,1] p(X) :- q(X)",
    "bottom :- p(X), q(X)",
    "connect(n1,n2).",
    "p(a)@[1,2).",
    "p(a)@3.",
    "P(a,b)@[1,2)",
    "P@1",
    "P(a)@(-inf,3]",
    "h :- boxminus[0,500ms] p, boxminus[0,5s] p, boxminus[0,5 s] p, boxminus[2min,1h] p, boxminus[0,7d] p",
    "h :- boxminus[1/3,2.5] p, boxminus[0,inf) p, boxminus[0,+inf) p, ALWAYS(-inf,0] p",
    "ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]NotPos(V)",
    "Boxplus[0,3]Monit(X,Z):-Flag(Y,Z),Connect(X,Y)",
    "a1:Lecturer(X) :- ALWAYS[-1,0]a1:Dept(X)",
    "input temp(a: text) delay 2.",
]


@pytest.mark.parametrize("text", REFERENCE)
def test_each_line_of_the_reference_parses(text):
    """What the language reference shows is accepted."""
    assert parse(text).statements


def test_atom_with_terms():
    """Arguments are variables, wildcards, constants, numbers and text."""
    expected = Atom("p", (X, Wildcard(), Constant("wt25"), Constant(-2.5), Constant("any text"), Constant(3)))
    assert literal('p(X, _, wt25, -2.5, "any text", 3.0)') == expected


def test_text_equals_plain_constant():
    """`wt25` and `"wt25"` are one constant."""
    assert literal("p(wt25)") == literal('p("wt25")')


def test_escapes_in_text():
    """The five escapes stand for their characters."""
    assert literal(r'p("a\"b\\c\nd\re\tf")') == Atom("p", (Constant('a"b\\c\nd\re\tf'),))


def test_a_comment_sign_inside_text_is_text():
    """`%` starts a comment only outside of quotes, and so do a full stop and a bracket end nothing in there."""
    rule = only("h :- p(\"50% (a. b\"), 'q%(.'. % comment")
    assert rule == Rule(Atom("h"), (Atom("p", (Constant("50% (a. b"),)), Atom("q%(.")))


def test_constant_with_signs():
    """A lower-case constant may hold `-`, `:` and `/`, where a variable is followed by a minus."""
    assert literal("p(s-1, a:b, n/a)") == Atom("p", (Constant("s-1"), Constant("a:b"), Constant("n/a")))
    assert literal("X-1 = Y") == Comparison("=", Arithmetic("-", (X, Constant(1))), Y)


def test_predicate_names():
    """A predicate may have a prefix, either case, a leading digit, or stand in single quotes."""
    for text, name in [("a1:Dept", "a1:Dept"), ("Hot", "Hot"), ("hot", "hot"), ("3hot", "3hot"), ("'a b'", "a b")]:
        assert literal(text) == Atom(name)


def test_names_in_facts_are_constants():
    """In a fact every unquoted name is a constant, whatever its case."""
    assert only("connect(N1, n2, -3).") == FactStatement(Atom("connect", (Constant("N1"), Constant("n2"), Constant(-3))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@3", interval(3, 3)),
        ("@-1/3", interval(Fraction(-1, 3), Fraction(-1, 3))),
        ("@[1,2)", interval(1, 2, False, True)),
        ("@(-inf,3]", interval(-math.inf, 3, True, False)),
        ("@[5 min]", Interval(Fraction(5), Fraction(5), False, False, "min", "min")),
    ],
)
def test_time_of_a_fact(text, expected):
    """A fact holds at a time, or throughout an interval."""
    assert only(f"p(a){text}") == FactStatement(Atom("p", (Constant("a"),)), expected)


@pytest.mark.parametrize(
    ("text", "operator", "expected"),
    [
        ("SOMETIME[-2,-1]", "diamondminus", interval(1, 2)),
        ("ALWAYS(-2,-1]", "boxminus", interval(1, 2, False, True)),
        ("ALWAYS[-1,0]", "boxminus", interval(0, 1)),
        ("sometime[1,2)", "diamondplus", interval(1, 2, False, True)),
        ("Always(0,inf)", "boxplus", interval(0, math.inf, True, True)),
        ("SOMETIME(-inf,-1]", "diamondminus", interval(1, math.inf, False, True)),
        ("SOMETIME[0,0]", "diamondminus", interval(0, 0)),
    ],
)
def test_signed_intervals(text, operator, expected):
    """SOMETIME and ALWAYS look back for negative times, with the brackets mirrored, and ahead for positive ones."""
    assert literal(f"{text} p(X)") == Unary(operator, expected, P)


def test_a_signed_interval_across_zero_is_refused():
    """The past and the future take two operators."""
    with pytest.raises(ProgramError) as caught:
        parse("h :- SOMETIME[-1,2] p.")
    assert caught.value.diagnostics[0].code == "mixed-interval"


def test_missing_and_single_intervals():
    """No interval is `[0,inf)`, and `[a]` is `[a,a]`."""
    assert literal("boxminus p(X)") == Unary("boxminus", EVER, P)
    assert literal("boxminus[4] p(X)") == Unary("boxminus", interval(4, 4), P)
    assert literal("p(X) since q(X)") == Binary("since", EVER, P, Q)
    assert literal("always p(X)") == Unary("boxplus", EVER, P)


def test_infinite_end_is_open():
    """`[0,inf]` is `[0,inf)`: the end is never reached."""
    assert literal("boxminus[0,inf] p(X)") == literal("boxminus[0,inf) p(X)")


def test_open_interval_or_parenthesis():
    """`(` after an operator begins an interval if a time and a comma follow, otherwise a formula."""
    assert literal("boxminus(0,2] p(X)") == Unary("boxminus", interval(0, 2, True), P)
    assert literal("boxminus (p(X), q(X))") == Unary("boxminus", EVER, Conjunction((P, Q)))
    assert literal("boxminus (3 < X, p(X))").operand == Conjunction((Comparison("<", Constant(3), X), P))


def test_unary_binds_tighter_than_since():
    """A prefix operator takes the next formula alone; parentheses change that."""
    box = interval(0, 1)
    assert literal("boxminus[0,1] p(X) since[0,1] not q(X)") == Binary("since", box, Unary("boxminus", box, P), Negation(Q))
    assert literal("boxminus[0,1] (p(X) since[0,1] q(X))") == Unary("boxminus", box, Binary("since", box, P, Q))


def test_since_associates_to_the_left():
    """`a since b until c` is `(a since b) until c`."""
    assert literal("p(X) since q(X) until r(X)") == literal("(p(X) since q(X)) until r(X)")
    assert literal("p(X) since (q(X) until r(X))") == Binary("since", EVER, P, Binary("until", EVER, Q, R))


def size(n, **more):
    return WindowSize(Fraction(n), **more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(X) in [5]", Window("sometime", P, size(5))),
        ("sometime p(X) in [5]", Window("sometime", P, size(5))),
        ("ALWAYS p(X) IN [5 min]", Window("always", P, size(5, size_unit="min"))),
        ("always p(X) in [5 step 2]", Window("always", P, size(5, step=Fraction(2)))),
        ("p(X) in [#3]", Window("sometime", P, size(3, tuples=True))),
        ("p(X) in [#3 of p, 'q r']", Window("sometime", P, size(3, tuples=True, of=("p", "q r")))),
        ("p(X)@T in [5]", Window("at", Atom("p", (X,), TimePoint(T)), size(5))),
        ("not p(X) in [5]", Negation(Window("sometime", P, size(5)))),
        ("not sometime p(X) in [5]", Negation(Window("sometime", P, size(5)))),
        ("always not p(X) in [5]", Window("always", Negation(P), size(5))),
        ("boxminus[1] p(X) in [5]", Window("sometime", Unary("boxminus", interval(1, 1), P), size(5))),
        ("boxminus[1] sometime p(X) in [5]", Unary("boxminus", interval(1, 1), Window("sometime", P, size(5)))),
        ("always sometime p(X) in [5] in [9]", Window("always", Window("sometime", P, size(5)), size(9))),
        ("q(X) since p(X) in [5]", Binary("since", EVER, Q, Window("sometime", P, size(5)))),
    ],
)
def test_windows(text, expected):
    """`in` closes the nearest bare `sometime` or `always`; without one it takes all back to the last `not`."""
    assert literal(text) == expected


def test_time_points():
    """`@T` may be shifted, in a head too."""
    assert literal("p(X)@T+2") == Atom("p", (X,), TimePoint(T, 2))
    rule = only("p(X)@T-2 :- q(X)@T.")
    assert rule == Rule(Atom("p", (X,), TimePoint(T, -2)), (Atom("q", (X,), TimePoint(T)),))


def test_arithmetic_levels():
    """Products bind tighter than sums, both associate to the left, a sign binds tightest."""
    assert literal("X = Y*9/5+32") == literal("X = (((Y*9)/5)+32)")
    assert literal("X = -Y - -2 - 1") == literal("X = ((-Y) - (-2)) - 1")
    assert literal("X = Y // 2 mod 3") == Comparison(
        "=", X, Arithmetic("mod", (Arithmetic("//", (Y, Constant(2))), Constant(3)))
    )


def test_functions_and_predicates_share_names():
    """`min(...)` is a function where a value is expected, and a predicate where a formula is."""
    assert literal("min(X, 3) > Y") == Comparison(">", Arithmetic("min", (X, Constant(3))), Y)
    assert literal("min(X)") == Atom("min", (X,))


def test_keywords_in_any_case_as_whole_words():
    """`NOT p` negates; `nothing` and `since9` are predicates."""
    assert literal("NOT p(X)") == Negation(P)
    assert literal("nothing SINCE since9") == Binary("since", EVER, Atom("nothing"), Atom("since9"))


def test_soft_keywords():
    """Words of directives, windows and arithmetic are names elsewhere."""
    for word in ["input", "output", "ask", "background", "timeline", "step", "of", "unit", "start", "delay", "round"]:
        assert only(f"{word}(X) :- p(X), {word}(X).") == Rule(Atom(word, (X,)), (P, Atom(word, (X,))))
        assert only(f"{word}({word}).") == FactStatement(Atom(word, (Constant(word),)))


def test_directives():
    """Each directive becomes its declaration."""
    program = parse(
        "timeline integer, unit 5 min. timeline rational, resolution 1/1000. Timeline integer, round DOWN, unit 1 s.\n"
        "input temp(sensor: text, value)\ninput clock\noutput alarm, 'odd name'.\n"
        'background g from "g.csv". ask malf(X)@T.'
    )
    assert program.statements == (
        TimelineDeclaration("integer", Fraction(300)),
        TimelineDeclaration("rational", None, Fraction(1, 1000)),
        TimelineDeclaration("integer", Fraction(1), None, "down"),
        Input("temp", (Field("sensor", "text"), Field("value"))),
        Input("clock"),
        Output(("alarm", "odd name")),
        Background("g", "g.csv"),
        Ask(Atom("malf", (X,), TimePoint(T))),
    )


def test_resolution_with_a_unit_counts_in_the_programs_unit():
    """`resolution 500 ms` with `unit 1 s` is one half."""
    assert only("timeline rational, unit 1 s, resolution 500 ms") == TimelineDeclaration(
        "rational", Fraction(1), Fraction(1, 2)
    )


def test_constraint_and_truth():
    """`bottom` in a head is a constraint, `top` in a body always holds."""
    assert only("bottom :- Top, p(X).") == Rule(Truth(False), (Truth(True), P))


def test_parentheses_around_a_whole_body_change_nothing():
    """`h :- (a, b).` is `h :- a, b.`"""
    assert only("h :- (p(X), q(X)).") == only("h :- p(X), q(X).")


def test_spans_are_offsets_in_the_text():
    """Each node knows where it stands, in the whole program's text."""
    text = "a.\n  alarm(X) :- hot(X), X > 3."
    rule = parse(text).statements[1]
    assert isinstance(rule, Rule)
    comparison = rule.body[1]
    assert text[comparison.span.start : comparison.span.end] == "X > 3"
    assert text[rule.head.span.start : rule.head.span.end] == "alarm(X)"
    assert rule.span != NOWHERE


def test_every_mistake_is_reported():
    """One mistake costs one statement: the others are still read."""
    with pytest.raises(ProgramError) as caught:
        parse("p(X :- q(X).\nr(X) :- .\nok(X) :- q(X).\nt(X) :- q(X) q(Y).", "x.tide")
    assert [item.span.start for item in caught.value.diagnostics] == [3, 20, 50]
    assert caught.value.name == "x.tide"
