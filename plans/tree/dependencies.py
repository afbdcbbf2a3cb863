"""What depends on what, and on which side in time: for the question whether a `not` asks for what is settled before.

A program is T-stratified (Cruz-Filipe, Gaspar and Nunes 2020, Definition 6) where every circle of rules through a `not`
leads strictly back in time: then there is one model, and each time of it follows from the times before. Two rules that name
different constants, `state(V, off) :- …, not state(V, on)`, depend on different parts of a predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tidelog.plans.tree.components import components
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    Constant,
    Formula,
    Interval,
    Latest,
    Negation,
    Period,
    Rule,
    Unary,
    Value,
    Variable,
    Visits,
    Window,
)
from tidelog.plans.tree.thresholds import mark_thresholds
from tidelog.plans.tree.traverse import children, rebuild

Side = Literal["now", "back", "ahead", "any"]
"""Where in time what is read lies: perhaps now, but never later; strictly before; perhaps later; or wherever facts say."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A head, and an atom of its rule's body.

    It is negated if it stands below a `not`, an aggregate or a `latest`, or is what is kept until another comes.
    """

    head: Atom
    atom: Atom
    is_negated: bool
    side: Side


Pair = tuple[str, str]


def dependencies(rules: Iterable[Rule], *, is_integer: bool) -> list[Dependency]:
    """The dependencies of some rules, in order; constraints have none."""
    reader = _Reader(is_integer)
    return [dependency for rule in rules for dependency in reader.rule(rule)]


def is_strict(interval: Interval, *, is_integer: bool) -> bool:
    """Whether all distances of an interval are at least one tick, or, on rationals, at least one fixed distance."""
    return interval.low > 0 or (interval.left_open and is_integer)


class _Reader:
    def __init__(self, is_integer: bool) -> None:
        self._is_integer = is_integer

    def rule(self, rule: Rule) -> Iterator[Dependency]:
        head, side = rule.head, self._start(rule)
        while isinstance(head, Unary):
            side = _towards(side, self._unary("ahead" if head.operator == "boxplus" else "back", head))
            head = head.operand
        if not isinstance(head, Atom):
            return
        if head.at is not None:
            side = "any"
        for part in mark_thresholds(rule).body:
            for atom, is_negated, where in self._parts(part, rule.assigns == "kept", side):
                yield Dependency(head, atom, is_negated, where)

    def _start(self, rule: Rule) -> Side:
        """What is assigned holds from right behind what assigns it, on rationals too."""
        tells = rule.assigns == "kept" or (rule.assigns == "holds" and isinstance(rule.body[0], Binary))
        return "back" if tells else "now"

    def _unary(self, operator: str, formula: Unary) -> Side:
        """Where the operand lies; for a head, seen from there."""
        if formula.step:
            return "any"
        if operator in ("ahead", "diamondminus", "boxminus"):
            return "back" if is_strict(formula.interval, is_integer=self._is_integer) else "now"
        return "ahead" if formula.interval.high > 0 else "now"

    def _parts(self, formula: Formula, is_negated: bool, side: Side) -> Iterator[tuple[Atom, bool, Side]]:
        match formula:
            case Atom():
                yield formula, is_negated, "any" if formula.at is not None else side
            case Visits():
                yield formula.atom, is_negated, "any"
            case Unary():
                yield from self._parts(formula.operand, is_negated, _towards(side, self._unary(formula.operator, formula)))
            case Binary():
                left, right = self._binary(formula)
                yield from self._parts(formula.left, is_negated, _towards(side, left))
                yield from self._parts(formula.right, is_negated, _towards(side, right))
            case Aggregate(window=Period()):  # a period lies on both sides
                yield from self._parts(formula.operand, True, "any")
            case Window(window=window):
                is_odd = window.tuples or window.step is not None or formula.mode == "at"
                yield from self._parts(formula.operand, is_negated, "any" if is_odd else side)
            case _:
                for child in children(formula):
                    yield from self._parts(child, is_negated or waits(formula), side)

    def _binary(self, formula: Binary) -> tuple[Side, Side]:
        """On integers what lies between two times lies before the second; on rationals up to it."""
        if formula.operator == "until":
            return "ahead", "ahead"
        right: Side = "back" if is_strict(formula.interval, is_integer=self._is_integer) else "now"
        return "back" if self._is_integer else "now", right


def _towards(side: Side, more: Side) -> Side:
    """Where what lies on one side of what lies on another is."""
    if "any" in (side, more) or {side, more} == {"back", "ahead"}:
        return "any"
    return more if side == "now" else side


def waits(formula: Formula) -> bool:
    """Whether a formula follows from what does not hold, so that it waits until that is known."""
    is_threshold = isinstance(formula, Aggregate) and formula.threshold is not None
    return isinstance(formula, Negation | Latest | Aggregate) and not is_threshold


@dataclass(frozen=True, slots=True)
class Circle:
    """Predicates that depend on each other, through a `not`; `inside` are their dependencies on each other."""

    members: frozenset[str]
    inside: tuple[Dependency, ...]

    def odd(self) -> Dependency | None:
        """A dependency that does not look back, nor at its own time."""
        return next((each for each in self.inside if each.side in ("ahead", "any")), None)

    def unsettled(self) -> Iterator[tuple[frozenset[str], Dependency]]:
        """Each group of predicates that depend on each other at one time through a `not`, and the first such place."""
        now = [each for each in self.inside if each.side == "now"]
        for members in map(frozenset, components(_feeds(now))):
            within = [each for each in now if each.is_negated and _pair(each) <= members]
            if within:
                yield members, min(within, key=lambda each: each.atom.span)


def circles(found: Sequence[Dependency]) -> list[Circle]:
    """The circles through a `not`."""
    circles: list[Circle] = []
    for members in map(frozenset, components(_feeds(found))):
        inside = tuple(each for each in found if _pair(each) <= members)
        if any(each.is_negated for each in inside):
            circles.append(Circle(members, inside))
    return circles


def _pair(dependency: Dependency) -> set[str]:
    return {dependency.head.predicate, dependency.atom.predicate}


def _feeds(found: Iterable[Dependency]) -> dict[str, list[str]]:
    feeds: dict[str, dict[str, None]] = {}
    for each in found:
        feeds.setdefault(each.atom.predicate, {})[each.head.predicate] = None
        feeds.setdefault(each.head.predicate, {})
    return {name: list(heads) for name, heads in feeds.items()}


# --- strata by constants ----------------------------------------------------------------------------------------------

Values = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A predicate of which each rule names the constants in some columns: a part of it for each choice of these."""

    columns: tuple[int, ...]
    parts: dict[Values, str]

    def values(self, atom: Atom) -> Values | None:
        """The constants that an atom has in these columns; None where one is a variable."""
        terms = [atom.arguments[column] for column in self.columns]
        return tuple(term.value for term in terms if isinstance(term, Constant)) if _all_constant(terms) else None


def _all_constant(terms: Iterable[object]) -> bool:
    return all(isinstance(term, Constant) for term in terms)


def split_by_constants(
    rules: Sequence[Rule], given: Collection[str], *, is_integer: bool, name: Callable[[Rule, Values], str]
) -> list[tuple[Rule, Rule]] | None:
    """The rules, with what they were made of, where what would depend on its own negation at one time is split.

    A part has a predicate of its own, called by `name`, and the whole reads all parts. Nothing else may give the predicate
    than rules: `given` has those of inputs, facts and backgrounds. None where there is nothing to be split.
    """
    wanted: set[str] = set()
    for circle in circles(dependencies(rules, is_integer=is_integer)):
        for members, _ in circle.unsettled():
            wanted |= members
    derived = dict.fromkeys(rule.head.predicate for rule in rules if isinstance(rule.head, Atom))  # in a fixed order
    candidates = [each for each in derived if each in wanted and each not in given]
    splits = {each: split for each in candidates if (split := _split(each, rules, name)) is not None}
    if not splits:
        return None
    made = [(_renamed(rule, splits, name), rule) for rule in rules]
    wholes: dict[str, None] = {}
    for rule in rules:
        head = rule.head
        if isinstance(head, Atom) and head.predicate in splits and (part := splits[head.predicate].values(head)) is not None:
            target = splits[head.predicate].parts[part]
            if target not in wholes:
                wholes[target] = None
                columns = tuple(
                    term if isinstance(term, Constant) and at in splits[head.predicate].columns else Variable(f"X{at + 1}")
                    for at, term in enumerate(head.arguments)
                )
                whole, own = (Atom(each, columns, span=head.span) for each in (head.predicate, target))
                made.append((Rule(whole, (own,), rule.span), rule))
    return made


def _split(predicate: str, rules: Iterable[Rule], name: Callable[[Rule, Values], str]) -> Split | None:
    own = [rule for rule in rules if isinstance(rule.head, Atom) and rule.head.predicate == predicate]
    heads = [rule.head for rule in own if isinstance(rule.head, Atom)]
    width = min((len(head.arguments) for head in heads), default=0)
    columns = tuple(at for at in range(width) if _all_constant(head.arguments[at] for head in heads))
    split = Split(columns, {})
    first: dict[Values, Rule] = {}
    for rule, head in zip(own, heads, strict=True):
        values = split.values(head)
        if values is not None:
            first.setdefault(values, rule)
    if len(first) < 2:
        return None
    split.parts.update({values: name(rule, values) for values, rule in first.items()})
    return split


def _renamed(rule: Rule, splits: dict[str, Split], name: Callable[[Rule, Values], str]) -> Rule:
    def rename(formula: Formula) -> Formula:
        if not isinstance(formula, Atom):
            return rebuild(formula, rename)
        split = splits.get(formula.predicate)
        values = None if split is None else split.values(formula)
        if split is None or values is None:
            return formula
        if values not in split.parts:  # no rule gives it
            split.parts[values] = name(rule, values)
        return replace(formula, predicate=split.parts[values])

    return replace(rule, head=rename(rule.head), body=tuple(map(rename, rule.body)))
