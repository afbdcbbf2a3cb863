"""Hypothesis strategies for safe random programs, streams of facts for them, and shuffled arrivals.

A program is safe and stratified by construction. Its derived predicates are dealt into groups in a fixed order; a rule
uses inputs, predicates of earlier groups and, with recursion, those of its head's own group. It negates only what is
earlier. A rule that uses its own group looks into the past alone and computes no new numbers, and what looks into the
future is bounded: so every predicate's frontier has a finite delay, and no value is computed without end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from hypothesis import strategies as st

from oracle.evaluate import GroundFact, is_dense, rules_of
from oracle.grounding import atoms, bound_variables, constants, head_atom
from tidelog.plans.tree.syntax import (
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Interval,
    Negation,
    Program,
    Rule,
    Term,
    TimelineDeclaration,
    Truth,
    Unary,
    UnaryOperator,
    Value,
    Variable,
    Wildcard,
    Window,
    WindowSize,
)

Kind = Literal["rational", "integer"]

VARIABLES = ("X", "Y", "Z")
VALUES: tuple[Value, ...] = ("a", "b", 0, 1, 2, 3)
INPUTS = ("p", "q", "r")
DERIVED = ("a", "b", "c", "d")


@dataclass(frozen=True, slots=True)
class Features:
    """What a drawn program may contain. `past` and `future` are the unary operators; windows look into the past.

    `since` draws `since` where the past is allowed and `until` where the future is. `unbounded` lets past diamonds and
    since reach back for ever, `awaiting` most future diamonds and until ahead. `existential` lets variables stand on the
    left side of since and until alone. `nested_negation` puts `not` under operators too.
    """

    past: bool = True
    future: bool = False
    negation: bool = False
    recursion: bool = False
    since: bool = False
    comparisons: bool = False
    windows: bool = False
    head_boxes: bool = False
    constraints: bool = False
    conjunctions: bool = False
    truth: bool = False
    wildcards: bool = True
    constants: bool = True
    unbounded: bool = True
    awaiting: bool = False
    existential: bool = False
    nested_negation: bool = False
    rules: int = 5
    depth: int = 2


FORWARD = Features(recursion=True, head_boxes=True)
"""Forward-propagating DatalogMTL as in Definition 4 of Wałęga et al. 2023."""
PAST_ONLY = replace(
    FORWARD, negation=True, since=True, comparisons=True, windows=True, conjunctions=True, truth=True, existential=True
)
"""All that looks into the past alone."""
NON_RECURSIVE = replace(PAST_ONLY, recursion=False, future=True, constraints=True)
"""Both directions, without recursion: the oracle is exact at every time."""
EVERYTHING = replace(PAST_ONLY, future=True, constraints=True)
AWAITING = replace(EVERYTHING, awaiting=True)
"""Also what looks ahead without end. Where something asks whether it does not hold, a stream refuses the program."""
ANY = st.sampled_from((EVERYTHING, AWAITING))


@dataclass(frozen=True)
class _Scene:
    """What a formula may use where it stands: predicates with their arities, of these the earlier ones, variables."""

    kind: Kind
    features: Features
    predicates: Mapping[str, int]
    earlier: Mapping[str, int]
    names: tuple[str, ...] = VARIABLES

    def without(self, **features: bool) -> _Scene:
        """The same with other features."""
        return replace(self, features=replace(self.features, **features))


def _chance(draw: st.DrawFn, of: int) -> bool:
    """True once in so many draws; shrinking turns it to False."""
    return draw(st.integers(1, of)) == of


# --- intervals ----------------------------------------------------------------------------------------------------


def tick(kind: Kind) -> Fraction:
    """The smallest distance that the strategies draw: half units on the rational timeline."""
    return Fraction(1) if kind == "integer" else Fraction(1, 2)


@st.composite
def intervals(draw: st.DrawFn, kind: Kind, *, last: int = 4, unbounded: bool = False, awaiting: bool = False) -> Interval:
    """A non-empty interval with ends in 0 … last, with any brackets."""
    unit = tick(kind)
    ends = st.integers(0, int(last / unit))
    low, high = sorted((draw(ends), draw(ends)))
    left, right = draw(st.booleans()), draw(st.booleans())
    if (unbounded and _chance(draw, 4)) or (awaiting and not _chance(draw, 4)):
        return Interval(low * unit, math.inf, left, True)
    least = left + right if kind == "integer" else int(left or right)
    if high - low < least:
        left = right = False
    return Interval(low * unit, high * unit, left, right)


# --- terms and formulas -------------------------------------------------------------------------------------------


@st.composite
def _term(draw: st.DrawFn, scene: _Scene) -> Term:
    choice = draw(st.integers(0, 9))
    if choice == 9 and scene.features.constants:
        return Constant(draw(st.sampled_from(VALUES)))
    if (choice == 8 and scene.features.wildcards) or not scene.names:
        return Wildcard()
    return Variable(draw(st.sampled_from(scene.names)))


@st.composite
def _atom(draw: st.DrawFn, scene: _Scene) -> Atom:
    predicate = draw(st.sampled_from(sorted(scene.predicates)))
    return Atom(predicate, tuple(draw(_term(scene)) for _ in range(scene.predicates[predicate])))


@st.composite
def _formula(draw: st.DrawFn, scene: _Scene, depth: int) -> Formula:
    """A formula that binds variables (it has an atom in a positive place)."""
    features = scene.features
    kinds = ["atom"]
    if depth > 0:
        kinds += ["atom"] * (depth == 1)
        kinds += ["past", "past"] * features.past
        kinds += ["future", "future"] * features.future
        kinds += ["since", "since"] * (features.since and features.past)
        kinds += ["until"] * (features.since and features.future)
        kinds += ["window", "window"] * features.windows
        kinds += ["conjunction"] * features.conjunctions
    kind = draw(st.sampled_from(kinds))
    if kind in ("past", "future"):
        return draw(_unary(scene, depth, kind))
    if kind in ("since", "until"):
        return draw(_binary(scene, depth, "since" if kind == "since" else "until"))
    if kind == "window":
        size = WindowSize(draw(st.integers(0, int(4 / tick(scene.kind)))) * tick(scene.kind))
        mode = draw(st.sampled_from(("sometime", "always")))
        return Window("sometime" if mode == "sometime" else "always", draw(_formula(scene, depth - 1)), size)
    if kind == "conjunction":
        return draw(_conjunction(scene, depth))
    return draw(_atom(scene))


@st.composite
def _unary(draw: st.DrawFn, scene: _Scene, depth: int, direction: str) -> Unary:
    past: tuple[UnaryOperator, ...] = ("diamondminus", "boxminus")
    future: tuple[UnaryOperator, ...] = ("diamondplus", "boxplus")
    operator = draw(st.sampled_from(past if direction == "past" else future))
    unbounded = scene.features.unbounded and operator == "diamondminus"
    awaiting = scene.features.awaiting and operator == "diamondplus"
    return Unary(
        operator, draw(intervals(scene.kind, unbounded=unbounded, awaiting=awaiting)), draw(_formula(scene, depth - 1))
    )


@st.composite
def _binary(draw: st.DrawFn, scene: _Scene, depth: int, operator: Literal["since", "until"]) -> Binary:
    right = draw(_formula(scene, depth - 1))
    names = tuple(sorted(bound_variables([right])))
    left: Formula
    if scene.features.truth and _chance(draw, 4):
        left = Truth(True)
    else:
        # Its variables are those of the right side, and now and then others, which may stand here alone.
        foreign = scene.features.existential and _chance(draw, 3)
        inner = scene.without(wildcards=scene.features.existential, comparisons=False)
        left = draw(_left(replace(inner, names=VARIABLES if foreign else names), depth - 1))
    unbounded = scene.features.unbounded and operator == "since"
    awaiting = scene.features.awaiting and operator == "until"
    return Binary(operator, draw(intervals(scene.kind, unbounded=unbounded, awaiting=awaiting)), left, right)


@st.composite
def _left(draw: st.DrawFn, scene: _Scene, depth: int) -> Formula:
    """The left side of since and until: without variables to use, and without wildcards, only atoms that need none."""
    if not scene.names and not scene.features.wildcards:
        bare = {predicate: arity for predicate, arity in scene.predicates.items() if arity == 0}
        if not bare:
            return Truth(True)
        scene = replace(scene, predicates=bare)
    return draw(_formula(scene.without(nested_negation=False), depth))


@st.composite
def _conjunction(draw: st.DrawFn, scene: _Scene, depth: int) -> Conjunction:
    first = draw(_formula(scene, depth - 1))
    names = tuple(sorted(bound_variables([first])))
    choice = draw(st.integers(0, 3))
    if choice == 3 and scene.features.comparisons and names:
        return Conjunction(_flat((first, draw(_comparison(names)))))
    if choice == 2 and scene.features.nested_negation:
        negated = replace(scene, predicates=scene.earlier, names=names)
        return Conjunction(_flat((first, Negation(draw(_negated(negated))))))
    return Conjunction(_flat((first, draw(_formula(scene, depth - 1)))))


def _flat(formulas: Sequence[Formula]) -> tuple[Formula, ...]:
    """The formulas with the parts of conjunctions in their place: as text they would read the same."""
    return tuple(part for each in formulas for part in (each.parts if isinstance(each, Conjunction) else (each,)))


# --- comparisons --------------------------------------------------------------------------------------------------


@st.composite
def _expression(draw: st.DrawFn, names: Sequence[str], depth: int = 1) -> Expression:
    choice = draw(st.integers(0, 5))
    if choice > depth + 1:
        return Variable(draw(st.sampled_from(names)))
    if choice == 0 or depth == 0:
        return Constant(draw(st.sampled_from((0, 1, 2, 3, 0.5))))
    operator = draw(st.sampled_from(("+", "-", "*", "/", "//", "mod", "min", "max", "abs", "neg")))
    count = 1 if operator in ("abs", "neg") else 2
    # The operator is one of the literals that Arithmetic names.
    return Arithmetic(operator, tuple(draw(_expression(names, depth - 1)) for _ in range(count)))  # type: ignore[arg-type]


@st.composite
def _comparison(draw: st.DrawFn, names: Sequence[str]) -> Comparison:
    operator = draw(st.sampled_from(("=", "!=", "<", "<=", ">", ">=")))
    left = Variable(draw(st.sampled_from(names)))
    if draw(st.booleans()):
        return Comparison(operator, left, draw(_expression(names)))  # type: ignore[arg-type]
    return Comparison(operator, left, Constant(draw(st.sampled_from(VALUES))))  # type: ignore[arg-type]


# --- rules --------------------------------------------------------------------------------------------------------


@st.composite
def _rule(draw: st.DrawFn, head: str | None, arity: int, scene: _Scene) -> Rule:
    """A rule for the head (a constraint, if None) from what the scene offers."""
    features = scene.features
    uses = scene if draw(st.booleans()) else replace(scene, predicates=scene.earlier)
    own = set(uses.predicates) - set(scene.earlier)
    body: list[Formula] = [
        draw(_formula(uses.without(future=False) if own else uses, draw(st.integers(0, features.depth))))
        for _ in range(draw(st.integers(1, 2)))
    ]
    if features.comparisons and _chance(draw, 16):
        body = draw(_stated_comparisons())
    used = {atom.predicate for part in body for atom, _ in atoms(part)}
    is_recursive = bool(used & own)
    bound = sorted(bound_variables(body))
    if features.comparisons and bound and not is_recursive:
        body.extend(draw(_extra_comparisons(bound)))
    if features.negation and _chance(draw, 3):
        names = tuple(sorted(bound_variables(body)))
        body.append(Negation(draw(_negated(replace(scene, predicates=scene.earlier, names=names)))))
    if features.truth and _chance(draw, 16):
        body.append(Truth(not _chance(draw, 4)))
    terms = [Variable(name) for name in sorted(bound_variables(body))]
    constant = st.sampled_from(VALUES).map(Constant)
    argument: st.SearchStrategy[Term] = st.sampled_from(terms) if terms else constant
    arguments = tuple(draw(argument) for _ in range(arity))
    if head is None:
        return Rule(Truth(False), _flat(body))
    formula: Formula = Atom(head, arguments)
    for _ in range(draw(st.sampled_from((0, 0, 1, 2))) if features.head_boxes else 0):
        backwards = features.future and not is_recursive and draw(st.booleans())
        formula = Unary("boxminus" if backwards else "boxplus", draw(intervals(scene.kind)), formula)
    return Rule(formula, tuple(draw(st.permutations(_flat(body)))))


@st.composite
def _negated(draw: st.DrawFn, scene: _Scene) -> Formula:
    """An atom over bound variables, constants and wildcards, now and then under an operator."""
    predicate = draw(st.sampled_from(sorted(scene.predicates)))
    if scene.names or scene.features.wildcards:
        terms: st.SearchStrategy[Term] = _term(scene)
    else:
        terms = st.sampled_from(VALUES).map(Constant)
    atom = Atom(predicate, tuple(draw(terms) for _ in range(scene.predicates[predicate])))
    if not scene.features.past or draw(st.booleans()):
        return atom
    operator: UnaryOperator = "diamondminus" if draw(st.booleans()) else "boxminus"
    return Unary(operator, draw(intervals(scene.kind)), atom)


@st.composite
def _stated_comparisons(draw: st.DrawFn) -> list[Formula]:
    """Comparisons of constants, and perhaps a value: a body that holds always, or never."""
    values = st.sampled_from(VALUES).map(Constant)
    operators: tuple[ComparisonOperator, ...] = ("=", "!=", "<", "<=", ">", ">=")
    found: list[Formula] = [Comparison(draw(st.sampled_from(operators)), draw(values), draw(values))]
    if draw(st.booleans()):
        found.append(Comparison("=", Variable("W"), draw(values)))
    return found


@st.composite
def _extra_comparisons(draw: st.DrawFn, bound: Sequence[str]) -> list[Formula]:
    extra: list[Formula] = []
    if _chance(draw, 4):
        extra.append(draw(_comparison(bound)))
    if _chance(draw, 4):
        extra.append(Comparison("=", Variable("W"), draw(_expression(bound))))
    return extra


# --- programs -----------------------------------------------------------------------------------------------------


@st.composite
def programs(draw: st.DrawFn, timeline: Kind = "rational", features: Features = PAST_ONLY) -> Program:
    """A safe, stratified program of 1 to 5 rules over the inputs p, q, r; it begins with its timeline."""
    arity = st.integers(0, 2)
    inputs = {name: draw(arity) for name in INPUTS}
    heads = sorted(draw(st.lists(st.sampled_from(DERIVED), min_size=1, max_size=features.rules)))
    arities = {name: draw(arity) for name in sorted(set(heads))}
    groups: dict[str, int] = {}
    for index, name in enumerate(sorted(set(heads))):
        together = features.recursion and index > 0 and draw(st.booleans())
        groups[name] = max(groups.values(), default=0) + (not together)
    rules = []
    for head in heads:
        earlier = inputs | {name: arities[name] for name in groups if groups[name] < groups[head]}
        own = {name: arities[name] for name in groups if groups[name] == groups[head]} if features.recursion else {}
        rules.append(draw(_rule(head, arities[head], _Scene(timeline, features, earlier | own, earlier))))
    if features.constraints and draw(st.booleans()):
        everything = inputs | arities
        rules.append(draw(_rule(None, 0, _Scene(timeline, features, everything, everything))))
    return Program((TimelineDeclaration(timeline), *draw(st.permutations(rules))))


def input_predicates(program: Program) -> dict[str, int]:
    """The predicates that the program's bodies read and no rule derives, with their arities."""
    rules = rules_of(program)
    derived = {atom.predicate for rule in rules if (atom := head_atom(rule.head)) is not None}
    read = {atom.predicate: len(atom.arguments) for rule in rules for part in rule.body for atom, _ in atoms(part)}
    return {predicate: arity for predicate, arity in sorted(read.items()) if predicate not in derived}


# --- streams ------------------------------------------------------------------------------------------------------


@st.composite
def streams(
    draw: st.DrawFn,
    program: Program,
    *,
    size: int = 12,
    points_only: bool = False,
    infinite: bool = False,
    last: int = 12,
) -> list[GroundFact]:
    """Facts for the program's inputs, sorted by their begin: points mostly, at times from 0 to `last`.

    The values come from a domain of one or two, together with the program's constants, and the times from one of three
    spans, so that joins meet.
    `infinite` lets intervals begin at -inf or end at inf now and then.
    """
    kind: Kind = "rational" if is_dense(program) else "integer"
    inputs = sorted(input_predicates(program).items())
    if not inputs:
        return []
    drawn = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=2, unique=True))
    mentioned = {value for rule in rules_of(program) for part in rule.body for value in constants(part)}
    values = st.sampled_from(drawn * 2 + sorted(mentioned & set(VALUES), key=repr))
    span = draw(st.sampled_from((min(3, last), min(6, last), last)))
    facts = []
    for _ in range(draw(st.integers(min(4, size), size))):
        predicate, arity = draw(st.sampled_from(inputs))
        row = tuple(draw(values) for _ in range(arity))
        facts.append((predicate, row, draw(_when(kind, span, points_only, infinite))))
    return sorted(facts, key=begin)


@st.composite
def _when(draw: st.DrawFn, kind: Kind, last: int, points_only: bool, infinite: bool) -> Interval:
    unit = tick(kind)
    if points_only or not _chance(draw, 3):
        point = draw(st.integers(0, int(last / unit))) * unit
        return Interval(point, point)
    interval = draw(intervals(kind, last=last))
    if infinite and _chance(draw, 6):
        return replace(interval, low=-math.inf, left_open=True)
    if infinite and _chance(draw, 6):
        return replace(interval, high=math.inf, right_open=True)
    return interval


def begin(fact: GroundFact) -> tuple[Fraction | float, bool]:
    """When a fact begins: at a time, or right behind it."""
    return fact[2].low, fact[2].left_open


@st.composite
def shuffled_within(draw: st.DrawFn, stream: Sequence[GroundFact], lateness: Fraction | int) -> list[GroundFact]:
    """The facts in an order of arrival in which none comes more than `lateness` after a fact that begins later.

    Each fact is given a delay of at most `lateness`, and they arrive by begin plus delay; one without its left end begins
    behind it.
    """
    delays = [draw(st.integers(0, 4)) * Fraction(lateness) / 4 for _ in stream]
    order = sorted(range(len(stream)), key=lambda i: (stream[i][2].low + delays[i], stream[i][2].left_open))
    return [stream[index] for index in order]
