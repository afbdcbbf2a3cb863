"""Printing: what is printed reads back as the same tree, and reads well."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.plans.language.formatting.program import format_text
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_formula, format_program, format_statement, format_term
from tidelog.plans.tree.syntax import (
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
    Program,
    Rule,
    TimelineDeclaration,
    TimePoint,
    Truth,
    Unary,
    Variable,
    Wildcard,
    Window,
    WindowSize,
)

UNITS = st.sampled_from(["", "", "ms", "s", "min", "h", "d", "us"])
TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
NAMES = st.sampled_from(
    ["p", "Q", "a1:Dept", "not", "since", "in", "top", "output", "min", "3hot", "_", "_x", "5", "odd name", "x.1", "%"]
)
NUMBERS = st.integers(-(2**62), 2**62) | st.integers(-99, 99).map(lambda n: n / 8).filter(lambda x: not x.is_integer())
CONSTANTS = st.builds(
    Constant, NUMBERS | TEXT | st.sampled_from(["a", "s-1", "n/a", "a:b", "a:-b", "Upper", "not", "top", "min", "inf"])
)
VARIABLES = st.sampled_from(["X", "Y", "Temp2", "_a"]).map(Variable)
TERMS = VARIABLES | st.just(Wildcard()) | CONSTANTS


def _arithmetic(inner):
    infix = st.sampled_from(["+", "-", "*", "/", "//", "mod"])
    return (
        st.builds(lambda operator, a, b: Arithmetic(operator, (a, b)), infix, inner, inner)
        | st.builds(Arithmetic, st.sampled_from(["min", "max"]), st.tuples(inner, inner))
        | inner.map(lambda operand: Arithmetic("abs", (operand,)))
        | inner.map(lambda operand: Arithmetic("neg", (operand,)))
    )


EXPRESSIONS = st.recursive(TERMS, _arithmetic, max_leaves=6)
TIMES = st.fractions(-50, 50, max_denominator=12)
DISTANCES = st.fractions(0, 50, max_denominator=12)


@st.composite
def intervals(draw, times=TIMES):
    low = draw(times | st.just(-math.inf) if times is TIMES else times)
    high = draw(times | st.just(math.inf))
    return Interval(
        low,
        high,
        draw(st.booleans()) or low == -math.inf,
        draw(st.booleans()) or high == math.inf,
        draw(UNITS) if isinstance(low, Fraction) else "",
        draw(UNITS) if isinstance(high, Fraction) else "",
    )


POINTS = st.builds(TimePoint, VARIABLES, st.integers(-9, 9))
ATOMS = st.builds(Atom, NAMES, st.lists(TERMS, max_size=3).map(tuple), st.none() | POINTS)
COMPARISONS = st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), EXPRESSIONS, EXPRESSIONS)
WINDOWS = st.builds(WindowSize, DISTANCES, UNITS) | st.builds(
    WindowSize, st.integers(0, 9).map(Fraction), tuples=st.just(True), of=st.lists(NAMES, max_size=2).map(tuple)
)
STEPPED = st.builds(WindowSize, DISTANCES, UNITS, step=DISTANCES, step_unit=UNITS)


def _formulas(inner):
    metric = st.sampled_from(["diamondminus", "diamondplus", "boxminus", "boxplus"])
    return (
        st.builds(Unary, metric, intervals(DISTANCES), inner)
        | st.builds(Binary, st.sampled_from(["since", "until"]), intervals(DISTANCES), inner, inner)
        | st.builds(Window, st.sampled_from(["sometime", "always"]), inner, WINDOWS | STEPPED)
        | st.builds(Window, st.just("at"), st.builds(Atom, NAMES, st.just(()), POINTS), WINDOWS)
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: Conjunction(tuple(parts)))
        | inner.map(Negation)
    )


def _worded(operand, word, size, unit):
    operator = "boxminus" if word == "for" else "diamondminus"
    interval = Interval(Fraction(0), size, False, size == math.inf, "", unit if size != math.inf else "")
    return Unary(operator, interval, operand, word=word)


def _with_words(inner):
    """Formulas of a body: `for` and `within` stand behind what holds over time, and no comparison does."""
    lasting = inner.filter(lambda formula: not isinstance(formula, Comparison))
    words = st.builds(_worded, lasting, st.sampled_from(["for", "within"]), DISTANCES | st.just(math.inf), UNITS)
    return _formulas(inner) | words


FORMULAS = st.recursive(ATOMS | COMPARISONS | st.booleans().map(Truth), _formulas, max_leaves=6)
WORDED = st.recursive(ATOMS | COMPARISONS | st.booleans().map(Truth), _with_words, max_leaves=6)
BODIES = st.lists(FORMULAS | WORDED, min_size=1, max_size=3).map(tuple)
FACTS = st.builds(
    FactStatement,
    st.builds(Atom, NAMES, st.lists(CONSTANTS, max_size=3).map(tuple)),
    st.none() | intervals(),
)
LENGTHS = st.none() | st.fractions(Fraction(1, 1000), 10**6, max_denominator=10**6)
FIELDS = st.builds(
    Field, st.sampled_from(["a", "Value", "x-y", "odd name"]), st.sampled_from(["any", "text", "number", "boolean"])
)
DIRECTIVES = (
    st.builds(
        TimelineDeclaration,
        st.sampled_from(["rational", "integer"]),
        LENGTHS,
        LENGTHS,
        st.sampled_from([None, "down", "nearest", "up"]),
    )
    | st.builds(Input, NAMES, st.lists(FIELDS, max_size=3).map(tuple), st.none() | DISTANCES)
    | st.builds(Output, st.lists(NAMES, min_size=1, max_size=3).map(tuple))
    | st.builds(Background, NAMES, TEXT)
    | st.builds(Ask, ATOMS)
)
RULES = st.builds(Rule, FORMULAS, BODIES).filter(
    lambda rule: not (len(rule.body) == 1 and isinstance(rule.body[0], Conjunction))  # `h :- (a, b).` is `h :- a, b.`
)
PROGRAMS = st.lists(RULES | FACTS | DIRECTIVES, max_size=4).map(lambda statements: Program(tuple(statements)))


@given(PROGRAMS)
def test_what_is_printed_reads_back(program):
    """parse(format(x)) == x, for every statement, formula and term, and in the same words."""
    text = format_program(program)
    assert parse(text) == program
    assert format_program(parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "alarm(X) :- boxminus[0,4] hot(X), not ok(X).",
        "p(X) :- q(X, _) since[0,5min] (r(X), s(X, wt25)).",
        "p(W) :- q(V), W = V * 9 / 5 + 32, V - (W - 1) > -2.5, min(V, 3) != abs(-W).",
        "p(X) :- q(X) for 10 min, not r(X) within 5 min, (not q(X)) for 3, (q(X), r(X)) for 2 s.",
        "p(X) for 30 s :- sometime (q(X) for 3) in [10], (r(X) within 1 h) for 2 min.",
        "p(X) :- sometime q(X) in [5], always q(X) in [5 step 2], not sometime q(X) in [#3 of a, b].",
        "p(X)@T-2 :- q(X)@T in [10].",
        "boxplus[1,2] p('odd') :- q.".replace("'odd'", '"Odd one"'),
        "bottom :- top, 'odd name'(X), X = x.",
        "connect(N1, n2)@[1,5/2).",
        "timeline integer, unit 5 min.",
        "input temp(sensor: text, value) delay 2.",
        'background g from "a\\"b.csv".',
    ],
)
def test_it_reads_as_people_write(text):
    """The printed form is the plain one, without needless parentheses or quotes."""
    assert format_program(parse(text)) == text + "\n"


def test_single_parts_are_printed_alone():
    """A term, a formula and a statement each have a form of their own."""
    rule = parse("p :- boxminus q since X+1 > 2.").statements[0]
    assert isinstance(rule, Rule)
    assert format_statement(rule) == "p :- boxminus[0,inf) q since[0,inf) (X + 1 > 2)."
    assert format_formula(rule.body[0]) == "boxminus[0,inf) q since[0,inf) (X + 1 > 2)"
    assert format_term(Constant("Upper")) == '"Upper"'


def test_a_clipped_box_is_an_always_window():
    """The passes' clipped box prints as the text that means it."""
    box = Unary("boxminus", Interval(Fraction(0), Fraction(5)), Atom("p"), clipped=True)
    assert format_formula(box) == "always p in [5]"


@given(PROGRAMS)
def test_what_is_formatted_reads_back(program):
    """Any statement, whatever its names and texts, means the same when it is formatted, and is not changed again."""
    shown = format_text(format_program(program))
    assert parse(shown) == program
    assert format_text(shown) == shown
