"""Hypothesis strategies for what can be asked: non-recursive programs over integer time, queries, streams.

A program is safe and stratified by construction: its derived predicates a, b, c read the inputs p, q, r, background and what
stands before them in the alphabet. The query asks the last of them. Bounds are small, so that preconditions stay few and a
universe of a dozen facts covers many of them. Where the compiler refuses a program, it is no example.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from hypothesis import strategies as st

from oracle.grounding import atoms, bound_variables, unsafe_variables
from oracle.lars import anchored_variables
from tidelog.plans.tree.syntax import (
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Constant,
    Expression,
    FactStatement,
    Field,
    Formula,
    Input,
    Interval,
    Negation,
    Program,
    Rule,
    Term,
    TimelineDeclaration,
    TimePoint,
    Truth,
    Unary,
    UnaryOperator,
    Value,
    Variable,
    Wildcard,
    Window,
    WindowSize,
)

INPUTS = {"p": 1, "q": 1, "r": 0, "s": 2}
DERIVED = ("a", "b", "c")
BACKGROUND = "near"
VALUES: tuple[Value, ...] = ("k", "l", 1)
NAMES = ("X", "X", "Y")
TIMES = ("T", "T", "T", "S")
LAST = 5
"""The last time of a universe's facts."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """What a drawn program may contain besides rules of Temporal Datalog: `h(X)@T+k :- p(X)@T, q(X)@T+1, r@S`.

    `metric` are diamonds, boxes, since, until and boxes in heads; `windows` those of LARS over time, some with a step.
    `unbounded` lets diamonds reach for ever. `several` lets a rule have several time variables. `compared` makes most rules
    compare values and times, and gives some of them a twin that compares otherwise.
    """

    metric: bool = False
    windows: bool = False
    negation: bool = False
    comparisons: bool = True
    background: bool = True
    unbounded: bool = False
    several: bool = False
    delays: bool = False
    compared: bool = False
    rules: int = 4


TEMPORAL = Shapes()
SEVERAL_TIMES = Shapes(several=True, unbounded=True, metric=True)
METRIC = Shapes(metric=True)
WINDOWS = Shapes(windows=True)
POSITIVE = Shapes(metric=True, windows=True, several=True, unbounded=True)
COMPARED = Shapes(several=True, compared=True)
NEGATIVE = Shapes(negation=True)
ABSENCES = Shapes(negation=True, compared=True, background=False, rules=3)
EVERYTHING = replace(POSITIVE, negation=True, delays=True)


@dataclass(frozen=True)
class _Scene:
    """What a literal may use where it stands: predicates with their arities, variables for arguments."""

    shapes: Shapes
    predicates: dict[str, int]
    names: tuple[str, ...] = NAMES
    wildcards: bool = True


def _chance(draw: st.DrawFn, of: int) -> bool:
    """True once in so many draws; shrinking turns it to False."""
    return draw(st.integers(1, of)) == of


# --- formulas -----------------------------------------------------------------------------------------------------


@st.composite
def _interval(draw: st.DrawFn, last: int) -> Interval:
    low, high = sorted((draw(st.integers(0, last)), draw(st.integers(0, last))))
    return Interval(Fraction(low), Fraction(high))


@st.composite
def _term(draw: st.DrawFn, scene: _Scene) -> Term:
    choice = draw(st.integers(0, 14))
    if choice == 14 and scene.wildcards:
        return Wildcard()
    if choice == 13 or not scene.names:
        return Constant(draw(st.sampled_from(VALUES)))
    return Variable(draw(st.sampled_from(scene.names)))


@st.composite
def _atom(draw: st.DrawFn, scene: _Scene) -> Atom:
    # what is derived comes twice, so that rules build on each other
    predicate = draw(st.sampled_from([*INPUTS, *2 * [name for name in scene.predicates if name not in INPUTS]]))
    return Atom(predicate, tuple(draw(_term(scene)) for _ in range(scene.predicates[predicate])))


@st.composite
def _at(draw: st.DrawFn, atom: Atom, name: str) -> Atom:
    return replace(atom, at=TimePoint(Variable(name), draw(st.sampled_from((0, 1, 0, -1, 2)))))


@st.composite
def _formula(draw: st.DrawFn, scene: _Scene, depth: int) -> Formula:
    """An atom, or an operator over formulas."""
    kinds = ["atom"]
    if depth:
        kinds += ["diamond", "diamond", "box", "since", "until", "conjunction"] * scene.shapes.metric
        kinds += ["window", "window", "window"] * scene.shapes.windows
    kind = draw(st.sampled_from(kinds))
    if kind == "atom":
        return draw(_atom(scene))
    if kind == "diamond":
        operator: UnaryOperator = "diamondplus" if draw(st.booleans()) else "diamondminus"
        return Unary(operator, draw(_interval(2)), draw(_formula(scene, depth - 1)))
    if kind == "box":
        operator = "boxplus" if draw(st.booleans()) else "boxminus"
        return Unary(operator, draw(_interval(2)), draw(_formula(scene, depth - 1)))
    if kind == "conjunction":
        return _conjunction([draw(_formula(scene, depth - 1)), draw(_atom(scene))])
    if kind == "window":
        return draw(_window(scene))
    return draw(_binary(scene, "since" if kind == "since" else "until"))


@st.composite
def _binary(draw: st.DrawFn, scene: _Scene, operator: Literal["since", "until"]) -> Binary:
    right = draw(_atom(scene))
    bound = tuple(sorted(bound_variables([right])))
    left: Formula = Truth(True) if _chance(draw, 6) else draw(_atom(replace(scene, names=bound)))
    return Binary(operator, draw(_interval(2)), left, right)


@st.composite
def _window(draw: st.DrawFn, scene: _Scene) -> Window:
    mode: Literal["sometime", "always"] = "sometime" if draw(st.booleans()) else "always"
    return Window(mode, draw(_atom(scene)), draw(_size()))


@st.composite
def _size(draw: st.DrawFn) -> WindowSize:
    step = Fraction(draw(st.integers(1, 3))) if _chance(draw, 3) else None
    return WindowSize(Fraction(draw(st.integers(0, 2))), step=step)


def _conjunction(formulas: Sequence[Formula]) -> Formula:
    parts = tuple(part for each in formulas for part in (each.parts if isinstance(each, Conjunction) else (each,)))
    return Conjunction(parts)


# --- bodies -------------------------------------------------------------------------------------------------------


@st.composite
def _temporal_body(draw: st.DrawFn, scene: _Scene) -> list[Formula]:
    """Atoms at times that hang on one time variable, or on two."""
    count = draw(st.sampled_from((2, 1, 3, 2)))
    times = [draw(st.sampled_from(TIMES)) if scene.shapes.several else "T" for _ in range(count)]
    return [draw(_at(draw(_atom(scene)), name)) for name in times]


@st.composite
def _present_body(draw: st.DrawFn, scene: _Scene) -> list[Formula]:
    """Formulas at the rule's own time, now and then with a window that binds a time variable, or an unbounded diamond."""
    body = [draw(_formula(scene, draw(st.integers(0, 2)))) for _ in range(draw(st.sampled_from((2, 1, 2))))]
    if scene.shapes.windows and _chance(draw, 3):
        body.append(Window("at", draw(_at(draw(_atom(scene)), "T")), draw(_size())))
    if scene.shapes.unbounded and _chance(draw, 4):
        operator: UnaryOperator = "diamondplus" if _chance(draw, 3) else "diamondminus"
        low = Fraction(draw(st.integers(0, 2)))
        body.append(Unary(operator, Interval(low, float("inf"), False, True), draw(_atom(scene))))
    return body


@st.composite
def _comparisons(draw: st.DrawFn, names: Sequence[str], times: Sequence[str], often: bool = False) -> list[Formula]:
    found: list[Formula] = []
    pool = [*times, *times, *names]
    if often and len(times) > 1 and draw(st.booleans()):
        found += draw(_bounds(times))
    if often and names and draw(st.booleans()):
        found.append(draw(_bound_on_value(names)))
    if pool and _chance(draw, 5):
        operators: tuple[ComparisonOperator, ...] = ("!=", "<", "<=", ">", ">=", "=")
        left = Variable(draw(st.sampled_from(pool)))
        values: tuple[Value, ...] = (1, 2, 3, "k")
        right = Constant(draw(st.sampled_from(values))) if draw(st.booleans()) else draw(_sum(pool))
        found.append(Comparison(draw(st.sampled_from(operators)), left, right))
    if times and _chance(draw, 8):
        found.append(Comparison("=", Variable("W"), draw(_sum(times))))
    return found


@st.composite
def _bounds(draw: st.DrawFn, times: Sequence[str]) -> list[Formula]:
    """One time lies so far behind another, at least and at most."""
    early, late = draw(st.permutations(list(times)))[:2]
    low = draw(st.integers(-1, 1))
    ends = ((">=", low), ("<=", low + draw(st.integers(0, 2))))
    return [Comparison(sign, Variable(late), Arithmetic("+", (Variable(early), Constant(end)))) for sign, end in ends]


@st.composite
def _bound_on_value(draw: st.DrawFn, names: Sequence[str]) -> Comparison:
    operators: tuple[ComparisonOperator, ...] = ("<", ">", "<=", ">=", "!=")
    return Comparison(
        draw(st.sampled_from(operators)), Variable(draw(st.sampled_from(names))), Constant(draw(st.integers(1, 3)))
    )


@st.composite
def _twin(draw: st.DrawFn, rule: Rule) -> Rule:
    """The same rule, with a part less, or with comparisons of its own."""
    comparisons = [part for part in rule.body if isinstance(part, Comparison)]
    others = [part for part in rule.body if not isinstance(part, Comparison)]
    kept = others if len(others) < 2 or draw(st.booleans()) else draw(st.permutations(others))[1:]
    times = sorted(anchored_variables(kept))
    changed = draw(_comparisons(sorted(bound_variables(kept) - {*times}), times, often=True))
    twin = Rule(rule.head, (*kept, *(comparisons if draw(st.booleans()) else changed)))
    return rule if unsafe_variables(twin) else twin


@st.composite
def _sum(draw: st.DrawFn, pool: Sequence[str]) -> Expression:
    left = Variable(draw(st.sampled_from(pool)))
    right: Expression = Constant(draw(st.integers(0, 2)))
    if _chance(draw, 3):
        right = Variable(draw(st.sampled_from(pool)))
    return Arithmetic("+" if draw(st.booleans()) else "-", (left, right))


@st.composite
def _negated(draw: st.DrawFn, scene: _Scene, times: Sequence[str]) -> Negation:
    """`not` before an atom mostly, at a time that is bound or now, or before a formula."""
    choice = draw(st.integers(0, 4))
    if choice <= 2 or not (scene.shapes.metric or scene.shapes.windows):
        atom = draw(_atom(scene))
        return Negation(draw(_at(atom, draw(st.sampled_from(times)))) if times else atom)
    if choice == 3 and scene.shapes.windows:
        return Negation(draw(_window(scene)))
    return Negation(draw(_formula(replace(scene, wildcards=False), 1)))


# --- rules --------------------------------------------------------------------------------------------------------


@st.composite
def _rule(draw: st.DrawFn, head: str, arity: int, scene: _Scene) -> Rule:
    shapes = scene.shapes
    is_temporal = not (shapes.metric or shapes.windows) or draw(st.booleans())
    body = _limited(draw(_temporal_body(scene) if is_temporal else _present_body(scene)))
    if shapes.background and _chance(draw, 5):
        body.append(Atom(BACKGROUND, (draw(_term(scene)), draw(_term(scene)))))
    times = sorted(anchored_variables(body))
    if shapes.comparisons:
        body.extend(draw(_comparisons(sorted(bound_variables(body) - {*times}), times, shapes.compared)))
    if shapes.negation and draw(st.booleans()):
        names = tuple(sorted(bound_variables(body) - {*times}))
        body.append(draw(_negated(replace(scene, names=names, wildcards=_chance(draw, 3)), times if is_temporal else ())))
    return Rule(draw(_head(head, arity, body, times, is_temporal, shapes)), tuple(draw(st.permutations(_flat(body)))))


def _limited(body: list[Formula]) -> list[Formula]:
    """The body with what is derived in the first of its formulas alone: alternatives multiply."""
    first, *rest = dict.fromkeys(body)
    return [first, *(part for part in rest if all(atom.predicate in INPUTS for atom, _ in atoms(part)))]


@st.composite
def _head(
    draw: st.DrawFn,
    name: str,
    arity: int,
    body: Sequence[Formula],
    times: Sequence[str],
    is_temporal: bool,
    shapes: Shapes,
) -> Formula:
    bound = [Variable(name) for name in sorted(bound_variables(body) - {*times})]
    anchors = [Variable(name) for name in times]
    pool: list[Term] = [*bound, *bound, *bound, *anchors, Constant(draw(st.sampled_from(VALUES)))]
    atom = Atom(name, tuple(draw(st.sampled_from(pool)) for _ in range(arity)))
    if times and (is_temporal or draw(st.booleans())):
        return replace(atom, at=TimePoint(Variable(draw(st.sampled_from(times))), draw(st.sampled_from((0, 0, 1, -1, -2)))))
    if shapes.metric and _chance(draw, 3):
        return Unary("boxplus" if draw(st.booleans()) else "boxminus", draw(_interval(2)), atom)
    return atom


def _flat(formulas: Sequence[Formula]) -> list[Formula]:
    return [part for each in formulas for part in (each.parts if isinstance(each, Conjunction) else (each,))]


# --- programs and queries -----------------------------------------------------------------------------------------


@st.composite
def ask_programs(draw: st.DrawFn, shapes: Shapes = POSITIVE) -> Program:
    """A program of one to four rules that declares its inputs, with `delay` for some of them where the shapes have it."""
    heads = sorted(draw(st.lists(st.sampled_from(DERIVED), min_size=2, max_size=shapes.rules)))
    known = dict(INPUTS)
    rules: list[Rule] = []
    for name in sorted(set(heads)):
        arity = draw(st.sampled_from((1, 1, 2, 0)))
        scene = _Scene(shapes, dict(known))
        rules += [draw(_rule(name, arity, scene)) for _ in range(heads.count(name))]
        if shapes.compared and draw(st.booleans()):
            rules.append(draw(_twin(rules[-1])))
        known[name] = arity
    inputs = [Input(name, _fields(arity), draw(_delay(shapes))) for name, arity in INPUTS.items()]
    facts = draw(st.lists(_background_fact(), min_size=1, max_size=3)) if shapes.background else []
    return Program((TimelineDeclaration("integer"), *inputs, *facts, *draw(st.permutations(rules))))


def _fields(arity: int) -> tuple[Field, ...]:
    return tuple(Field(f"x{index}") for index in range(arity))


@st.composite
def _delay(draw: st.DrawFn, shapes: Shapes) -> Fraction | None:
    return Fraction(draw(st.integers(1, 3))) if shapes.delays and draw(st.booleans()) else None


@st.composite
def _background_fact(draw: st.DrawFn) -> FactStatement:
    """A fact of the program's text: of background at all times, or of a time."""
    atom = Atom(BACKGROUND, (Constant(draw(st.sampled_from(VALUES))), Constant(draw(st.sampled_from(VALUES)))))
    if not _chance(draw, 4):
        return FactStatement(atom)
    low, high = sorted((draw(st.integers(0, LAST)), draw(st.integers(0, LAST))))
    return FactStatement(atom, Interval(Fraction(low), Fraction(high)))


@st.composite
def queries(draw: st.DrawFn, program: Program) -> Atom:
    """An atom of the last derived predicate, with variables mostly, at T or T+k."""
    rules = [statement for statement in program.statements if isinstance(statement, Rule)]
    heads = [_head_atom(rule.head) for rule in rules]
    last = max(heads, key=lambda atom: atom.predicate)
    arguments = tuple(draw(_query_term(index)) for index in range(len(last.arguments)))
    return Atom(last.predicate, arguments, TimePoint(Variable("T"), draw(st.sampled_from((0, 0, 0, 1, -2)))))


@st.composite
def _query_term(draw: st.DrawFn, index: int) -> Term:
    choice = draw(st.integers(0, 11))
    if choice == 11:
        return Constant(draw(st.sampled_from(VALUES)))
    if choice == 10:
        return Wildcard()
    if choice == 8:
        return Variable(("Y", "X")[index])
    return Variable("X" if choice == 9 else ("X", "Y")[index])


def _head_atom(head: Formula) -> Atom:
    while isinstance(head, Unary):
        head = head.operand
    assert isinstance(head, Atom)
    return head
