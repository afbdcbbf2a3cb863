"""Hypothesis strategies for random LARS programs on the integer timeline, and for streams in their order of arrival.

A program is safe and stratified by construction: a rule reads inputs, background and what rules before it derive; with
`recursion` it may read its own predicate too, into the future. Its time variables are bounded: the first `p(X)@T` of each
is over a predicate that holds at finitely many times, and stands in a time window, or all that changes in the body is at
this T, and so is the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from hypothesis import strategies as st

from oracle.aggregate_programs import aggregates, groups, thresholds
from oracle.evaluate import GroundFact
from oracle.grounding import bound_variables, variables
from oracle.lars import anchored_variables
from oracle.programs import VALUES, begin, intervals
from tidelog.plans.tree.syntax import (
    Arithmetic,
    Atom,
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
    Latest,
    Negation,
    Program,
    Rule,
    Term,
    TimelineDeclaration,
    TimePoint,
    Unary,
    UnaryOperator,
    Variable,
    Wildcard,
    Window,
    WindowSize,
)

INPUTS = {"p": 1, "q": 1, "r": 0, "s": 2}
"""The inputs of every drawn program; all are declared, so that each counts in a tuple window."""
DERIVED = ("a", "b", "c", "d")
BACKGROUND = "connect"
NAMES = ("X", "Y")
TIMES = ("T", "T", "T", "S")
COMPARISONS: tuple[ComparisonOperator, ...] = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Forms:
    """What a drawn program may contain, besides atoms and the windows `sometime` and `always … in [n]`.

    `at` is `p(X)@T+k in [n]`, `groups` are `p(X)@T, q(X)@T+1` without a window, `heads` are `h(X)@T+k`. `values` lets a
    head's time be any value. With `stepped` each time window may have a step, with `tuples` each may count facts. `nested`
    puts windows below metric operators, windows and conjunctions with a negation.
    """

    at: bool = False
    groups: bool = False
    heads: bool = False
    stepped: bool = False
    tuples: bool = False
    nested: bool = False
    negation: bool = True
    comparisons: bool = True
    background: bool = True
    recursion: bool = False
    values: bool = False
    aggregates: bool = False
    latest: bool = False
    rules: int = 4


AT_IN_WINDOWS = Forms(at=True)
GROUPS = Forms(at=True, groups=True)
HEADS = Forms(at=True, groups=True, heads=True)
STEPPED = Forms(stepped=True, nested=True)
TUPLES = Forms(tuples=True, nested=True)
RECURSION = Forms(groups=True, heads=True, recursion=True)
AGGREGATES = Forms(aggregates=True, rules=3)
HELD = Forms(latest=True, rules=3)
COUNTED = Forms(stepped=True, nested=True, recursion=True, aggregates=True, latest=True)
EVERY_FORM = Forms(at=True, groups=True, heads=True, stepped=True, tuples=True, nested=True)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate that a rule may read: whether it is an input, and whether it holds at finitely many times."""

    name: str
    arity: int
    is_input: bool = False
    is_bounded: bool = True


@dataclass(frozen=True)
class _Scene:
    """What a literal may use where it stands; `names` are its variables, `times` those that have a time already."""

    forms: Forms
    predicates: tuple[Predicate, ...]
    names: tuple[str, ...] = NAMES
    times: tuple[str, ...] = ()

    def only(self, *, bounded: bool = False, inputs: bool = False) -> _Scene:
        """The same with fewer predicates: there are always the inputs."""
        kept = (p for p in self.predicates if (p.is_bounded or not bounded) and (p.is_input or not inputs))
        return replace(self, predicates=tuple(kept))


def _chance(draw: st.DrawFn, of: int) -> bool:
    """True once in so many draws; shrinking turns it to False."""
    return draw(st.integers(1, of)) == of


# --- literals -----------------------------------------------------------------------------------------------------


@st.composite
def _atom(draw: st.DrawFn, scene: _Scene) -> Atom:
    predicate = draw(st.sampled_from(scene.predicates))
    return Atom(predicate.name, tuple(draw(_term(scene)) for _ in range(predicate.arity)))


@st.composite
def _term(draw: st.DrawFn, scene: _Scene) -> Term:
    choice = draw(st.integers(0, 11))
    if choice == 11:
        return Constant(draw(st.sampled_from(VALUES)))
    if choice == 10 or not scene.names:
        return Wildcard()
    if choice >= 8 and scene.times:
        return Variable(draw(st.sampled_from(scene.times)))
    return Variable(draw(st.sampled_from(scene.names)))


@st.composite
def _at(draw: st.DrawFn, atom: Atom, name: str) -> Atom:
    return replace(atom, at=TimePoint(Variable(name), draw(st.sampled_from((0, 0, 0, 1, -1, 2)))))


@st.composite
def _time_size(draw: st.DrawFn, forms: Forms) -> WindowSize:
    size = Fraction(draw(st.integers(0, 4)))
    step = Fraction(draw(st.integers(1, 5))) if forms.stepped and draw(st.booleans()) else None
    return WindowSize(size, step=step)


@st.composite
def _tuple_size(draw: st.DrawFn, predicate: str) -> WindowSize:
    """A tuple window that counts the predicate, and all others, some, or none beside it."""
    size = Fraction(draw(st.integers(1, 4)))
    if draw(st.booleans()):
        return WindowSize(size, tuples=True)
    others = draw(st.sets(st.sampled_from(sorted(INPUTS)), max_size=2)) | {predicate}
    return WindowSize(size, tuples=True, of=tuple(sorted(others)))


@st.composite
def _window(draw: st.DrawFn, scene: _Scene) -> Window:
    """A window with `sometime` or `always` over an atom, or over two where it is one of time."""
    mode: Literal["sometime", "always"] = "sometime" if draw(st.booleans()) else "always"
    if scene.forms.tuples and draw(st.booleans()):
        atom = draw(_atom(scene.only(inputs=True)))
        return Window(mode, atom, draw(_tuple_size(atom.predicate)))
    operand: Formula = draw(_atom(scene))
    if _chance(draw, 6):
        operand = Conjunction((operand, draw(_atom(scene))))
    return Window(mode, operand, draw(_time_size(scene.forms)))


@st.composite
def _nested(draw: st.DrawFn, scene: _Scene) -> Formula:
    """A window below another operator, alone or beside a negation that it binds."""
    inner: Formula = draw(_window(scene))
    names = tuple(sorted(bound_variables([inner])))
    if scene.forms.negation and _chance(draw, 3):
        negated = replace(scene, names=tuple(name for name in names if name in scene.names), times=())
        hidden: Formula = draw(_window(negated)) if draw(st.booleans()) else draw(_atom(negated))
        inner = Conjunction((inner, Negation(hidden)))
    if draw(st.booleans()):
        operator: UnaryOperator = "diamondminus" if draw(st.booleans()) else "boxminus"
        return Unary(operator, draw(intervals("integer")), inner)
    return Window("sometime" if draw(st.booleans()) else "always", inner, draw(_time_size(scene.forms)))


@st.composite
def _at_window(draw: st.DrawFn, scene: _Scene, name: str) -> Window:
    """`p(X)@T+k` in a window; where it is the first with this T, over a predicate that holds finitely often."""
    scene = scene if name in (*scene.times, "W") else scene.only(bounded=True)
    if scene.forms.tuples and (not scene.forms.at or draw(st.booleans())):
        atom = draw(_atom(scene.only(inputs=True)))
        return Window("at", draw(_at(atom, name)), draw(_tuple_size(atom.predicate)))
    return Window("at", draw(_at(draw(_atom(scene)), name)), draw(_time_size(scene.forms)))


@st.composite
def _group(draw: st.DrawFn, scene: _Scene, name: str) -> list[Formula]:
    """One to three atoms at times that lie in a fixed distance from each other, the first over what is bounded."""
    first = draw(_atom(scene.only(bounded=True)))
    rest = draw(st.lists(_atom(scene), max_size=2))
    return [draw(_at(atom, name)) for atom in (first, *rest)]


@st.composite
def _near_group(draw: st.DrawFn, scene: _Scene, name: str) -> list[Formula]:
    """Such a group of which the first stands in a time window, which keeps it near."""
    first, *rest = draw(_group(scene, name))
    return [Window("at", first, draw(_time_size(scene.forms))), *rest]


@st.composite
def _literals(draw: st.DrawFn, scene: _Scene) -> list[Formula]:
    """A literal that binds variables, or a group of these."""
    forms = scene.forms
    kinds = ["atom", "window", "window"]
    kinds += ["at", "at", "at"] * (forms.at or forms.tuples) + ["group", "group", "group"] * forms.groups
    kinds += ["background"] * forms.background + ["nested"] * forms.nested
    kinds += ["aggregate"] * 4 * forms.aggregates + ["latest"] * 3 * forms.latest
    kind = draw(st.sampled_from(kinds))
    name = draw(st.sampled_from(TIMES))
    if kind == "at":
        return [draw(_at_window(scene, name))]
    if kind == "group":
        return draw(_near_group(scene, name))
    if kind == "window":
        return [draw(_window(scene))]
    if kind == "aggregate":
        return draw(aggregates(draw(_counted(replace(scene, times=()))), draw(_time_size(forms))))
    if kind == "latest":
        return [draw(_latest(scene))]
    if kind == "nested":
        return [draw(_nested(scene))]
    if kind == "background":
        return [Atom(BACKGROUND, (draw(_term(scene)), draw(_term(scene))))]
    return [draw(_atom(scene))]


@st.composite
def _negated(draw: st.DrawFn, scene: _Scene) -> Negation:
    """Any form after `not`, with variables and times that are bound."""
    forms = scene.forms
    kinds = ["atom", "window", *["latest"] * forms.latest, *["aggregate"] * forms.aggregates]
    if scene.times:
        kinds += ["at"] * (forms.at or forms.tuples) + ["group"] * forms.groups
    kind = draw(st.sampled_from(kinds))
    if kind == "window":
        return Negation(draw(_window(scene)))
    if kind == "latest":
        return Negation(draw(_latest(scene)))
    if kind == "aggregate":
        parts = draw(aggregates(draw(_counted(replace(scene, times=()))), draw(_time_size(forms)), "N"))
        return Negation(parts[0] if len(parts) == 1 else Conjunction(tuple(parts)))
    atom = draw(_atom(scene))
    if kind == "atom":
        return Negation(atom)
    name = draw(st.sampled_from((*scene.times, "W") if "W" in scene.names else scene.times))
    return Negation(draw(_at_window(scene, name)) if kind == "at" else draw(_at(atom, name)))


# --- aggregates ---------------------------------------------------------------------------------------------------


@st.composite
def _latest(draw: st.DrawFn, scene: _Scene) -> Latest:
    atom = draw(_atom(replace(scene, times=())))
    names = sorted(variables(atom))
    return Latest(atom, draw(groups(names)), draw(_time_size(scene.forms)))


@st.composite
def _counted(draw: st.DrawFn, scene: _Scene) -> list[Formula]:
    """What an aggregate goes over: an atom, or a conjunction that holds at one time."""
    kinds = ["atom", "atom", "window", "both"] + ["latest"] * 2 * scene.forms.latest
    kind = draw(st.sampled_from(kinds))
    if kind == "window":
        return [draw(_window(scene))]
    if kind == "latest":
        return [draw(_latest(scene))]
    first = draw(_atom(scene))
    if kind == "atom":
        return [first]
    names = tuple(sorted(bound_variables([first])))
    choice = draw(st.integers(0, 2))
    if choice == 2 and scene.forms.negation:
        return [first, Negation(draw(_atom(replace(scene, names=names))))]
    if choice == 1 and names and draw(st.booleans()):
        return [first, Comparison(">=", Variable(names[0]), Constant(draw(st.integers(0, 1))))]
    if choice == 1 and names:
        return [first, Comparison("!=", Variable(names[0]), Constant(draw(st.sampled_from(VALUES))))]
    return [first, draw(_atom(scene))]


# --- comparisons --------------------------------------------------------------------------------------------------


@st.composite
def _comparisons(draw: st.DrawFn, names: Sequence[str], times: Sequence[str]) -> list[Formula]:
    """Now and then a comparison, and an equation that computes W; of times mostly, where there are any."""
    found: list[Formula] = []
    pool = tuple(times) * 2 + tuple(names)
    if pool and _chance(draw, 3):
        operator = draw(st.sampled_from(COMPARISONS))
        left = Variable(draw(st.sampled_from(pool)))
        right = Constant(draw(st.integers(0, 8))) if draw(st.booleans()) else draw(_sum(pool))
        found.append(Comparison(operator, left, right))
    if pool and _chance(draw, 3):
        found.append(Comparison("=", Variable("W"), draw(_sum(pool))))
    return found


@st.composite
def _sum(draw: st.DrawFn, pool: Sequence[str]) -> Expression:
    """A sum or a difference, which keeps times near to each other."""
    left = Variable(draw(st.sampled_from(pool)))
    right = Variable(draw(st.sampled_from(pool))) if _chance(draw, 3) else Constant(draw(st.integers(0, 3)))
    return Arithmetic("+" if draw(st.booleans()) else "-", (left, right))


# --- rules --------------------------------------------------------------------------------------------------------


@st.composite
def _body(draw: st.DrawFn, scene: _Scene, count: int) -> list[Formula]:
    body: list[Formula] = []
    for _ in range(count):
        body.extend(draw(_literals(replace(scene, times=tuple(sorted(anchored_variables(body)))))))
    times = tuple(sorted(anchored_variables(body)))
    if scene.forms.comparisons:
        body.extend(draw(_comparisons(sorted(bound_variables(body) - {*times}), times)))
    if scene.forms.negation and draw(st.booleans()):
        names = tuple(sorted(bound_variables(body)))
        body.append(draw(_negated(replace(scene, names=names, times=times))))
    return body


@st.composite
def _temporal(draw: st.DrawFn, head: Predicate, scene: _Scene) -> Rule:
    """`h(X)@T+k :- p(X)@T, not q(X)@T+1, T > 3`: a rule of Temporal Datalog, with background."""
    body = draw(_group(scene, "T"))
    if scene.forms.background and _chance(draw, 4):
        body.append(Atom(BACKGROUND, (draw(_term(scene)), draw(_term(scene)))))
    if scene.forms.comparisons:
        body.extend(draw(_comparisons(sorted(bound_variables(body) - {"T"}), ("T",))))
    if scene.forms.negation and draw(st.booleans()):
        names = tuple(sorted(bound_variables(body)))
        body.append(Negation(draw(_at(draw(_atom(replace(scene, names=names, times=("T",)))), "T"))))
    bound = sorted(bound_variables(body))
    arguments = tuple(Variable(draw(st.sampled_from(bound))) for _ in range(head.arity))
    at = TimePoint(Variable("T"), draw(st.integers(-2, 2)))
    return Rule(Atom(head.name, arguments, at), tuple(draw(st.permutations(body))))


@st.composite
def _rule(draw: st.DrawFn, head: Predicate, scene: _Scene) -> Rule:
    if scene.forms.groups and scene.forms.heads and draw(st.booleans()):
        return draw(_temporal(head, scene))
    body = draw(_body(scene, draw(st.integers(1, 3))))
    bound = sorted(bound_variables(body))
    constant = st.sampled_from(VALUES).map(Constant)
    argument: st.SearchStrategy[Term] = st.sampled_from([Variable(name) for name in bound]) if bound else constant
    atom = Atom(head.name, tuple(draw(argument) for _ in range(head.arity)))
    times = sorted(anchored_variables(body))
    if scene.forms.values and bound and _chance(draw, 3):
        times = bound
    if times and scene.forms.heads and draw(st.booleans()):
        atom = replace(atom, at=TimePoint(Variable(draw(st.sampled_from(times))), draw(st.integers(-2, 2))))
    return Rule(atom, tuple(draw(st.permutations(body))))


@st.composite
def _loop(draw: st.DrawFn, head: Predicate, scene: _Scene) -> Rule:
    """A rule that hands its own predicate on into the future, with all that it needs at the same T or t."""
    variables = tuple(Variable(name) for name in ("X", "Y")[: head.arity])
    own = Atom(head.name, variables)
    names = tuple(variable.name for variable in variables)
    inputs = replace(scene.only(inputs=True), names=names)
    at_time = draw(st.booleans())
    guards: list[Formula] = []
    for _ in range(draw(st.integers(0, 2))):
        guard: Formula = draw(_at(draw(_atom(inputs)), "T")) if at_time else draw(_window(inputs))
        guards.append(Negation(guard) if draw(st.booleans()) else guard)
    if at_time:
        shift = draw(st.integers(1, 3))
        moved, here = (replace(own, at=TimePoint(Variable("T"), by)) for by in (shift, 0))
        return Rule(moved, (here, *guards))
    if scene.forms.aggregates and draw(st.booleans()):
        return Rule(own, (*draw(thresholds(own, draw(_time_size(scene.forms)))), draw(_atom(inputs)), *guards))
    return Rule(own, (Window("sometime", own, WindowSize(Fraction(draw(st.integers(0, 3))))), draw(_atom(inputs)), *guards))


def _is_bounded(rule: Rule, scene: _Scene) -> bool:
    """Whether the head holds at finitely many times if the bounded predicates do; not always told where it is so."""
    if isinstance(rule.head, Atom) and rule.head.at is not None:
        return True
    bounded = {predicate.name for predicate in scene.predicates if predicate.is_bounded}
    for formula in rule.body:
        operand = formula
        if isinstance(formula, Window) and not formula.window.tuples:
            operand = formula.operand
        if operand is formula and isinstance(operand, Atom) and operand.at is not None:
            continue
        parts = operand.parts if isinstance(operand, Conjunction) else (operand,)
        if any(isinstance(part, Atom) and part.predicate in bounded for part in parts):
            return True
    return False


# --- programs -----------------------------------------------------------------------------------------------------


@st.composite
def lars_programs(draw: st.DrawFn, forms: Forms = EVERY_FORM) -> Program:
    """A safe, stratified program of 1 to 4 rules over the inputs p, q, r, s and the background `connect`."""
    heads = sorted(draw(st.lists(st.sampled_from(DERIVED), min_size=1, max_size=forms.rules)))
    known = [Predicate(name, arity, is_input=True) for name, arity in INPUTS.items()]
    rules: list[Rule] = []
    for name in sorted(set(heads)):
        head = Predicate(name, draw(st.integers(0, 2)))
        scene = _Scene(forms, tuple(known))
        own = [draw(_rule(head, scene)) for _ in range(heads.count(name))]
        is_bounded = all(_is_bounded(rule, scene) for rule in own)
        if forms.recursion and draw(st.booleans()):
            own.append(draw(_loop(head, scene)))
            is_bounded = False
        rules.extend(own)
        known.append(replace(head, is_bounded=is_bounded))
    inputs = [Input(name, tuple(Field(f"x{i}") for i in range(arity))) for name, arity in INPUTS.items()]
    facts = draw(st.lists(_background_fact(), min_size=1, max_size=3)) if forms.background else []
    return Program((TimelineDeclaration("integer"), *inputs, *facts, *draw(st.permutations(rules))))


@st.composite
def _background_fact(draw: st.DrawFn) -> FactStatement:
    return FactStatement(Atom(BACKGROUND, tuple(Constant(draw(st.sampled_from(VALUES))) for _ in range(2))))


# --- streams ------------------------------------------------------------------------------------------------------


@st.composite
def lars_streams(draw: st.DrawFn, *, size: int = 10) -> list[GroundFact]:
    """Facts for the inputs in order of arrival, sorted by their begin: points mostly, some twice, some over intervals.

    Values come from a domain of one or two and times from one of three spans, so that joins meet.
    """
    values = st.sampled_from(draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=2, unique=True)))
    last = draw(st.sampled_from((2, 5, 10)))
    facts: list[GroundFact] = []
    for _ in range(draw(st.integers(min(3, size), size))):
        if facts and _chance(draw, 6):
            facts.append(draw(st.sampled_from(facts)))
            continue
        name = draw(st.sampled_from(sorted(INPUTS)))
        row = tuple(draw(values) for _ in range(INPUTS[name]))
        point = Fraction(draw(st.integers(0, last)))
        when = draw(intervals("integer", last=last)) if _chance(draw, 6) else Interval(point, point)
        facts.append((name, row, when))
    return sorted(facts, key=begin)
