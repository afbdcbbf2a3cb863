"""Monotone thresholds of aggregates in what `ask` asks: rules that name the facts which reach them.

`count() over fail(S,E) in [10] by S >= 3` holds where three different pairs of a row and a time lie in the window, and
`max(V) over temp(S,V) in [5] by S > 80` where one reading is so high. So hypothetical answers are found as for other rules.
A sum may be reached by any number of facts, and what is no threshold follows from all facts together: these stay aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import combinations, count, pairwise, product

from tidelog.plans.language.printing import format_formula
from tidelog.plans.tree.names import FreshNames, atom, predicates
from tidelog.plans.tree.scopes import bound, name_bound
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Formula,
    Period,
    Rule,
    TimePoint,
    Variable,
    Window,
    WindowSize,
)
from tidelog.plans.tree.thresholds import least_count, mark_thresholds
from tidelog.plans.tree.traverse import rebuild, spliced

MOST_COUNTED = 5
"""A threshold that wants more facts at once is not asked for: each of them may have come, or may still come."""
MOST_WAYS = 64
"""A threshold that can be reached in more ways is not asked for either."""


def name_thresholds(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules with an atom in place of each threshold that facts can be named for, and the rules for these atoms."""
    taken = {name for rule in rules for part in (rule.head, *rule.body) for name in predicates(part)}
    fresh = FreshNames(frozenset(taken))
    made = (each for rule in rules for each in _Namer(partial(fresh.name, rule), taken).rules(rule))
    return tuple(dict.fromkeys(made))


def reason_against(part: Aggregate) -> str:
    """Why no facts are named for an aggregate."""
    if isinstance(part.window, Period):
        return f"`per {part.window.name}` tells what it was once the period has ended"
    if part.threshold is None:
        return f"`{part.function}` is no threshold that more facts can only reach"
    if part.function not in ("count", "distinct", "max", "min"):
        return f"any number of facts may reach a `{part.function}`"
    return f"its threshold wants more than {MOST_COUNTED} facts, or can be reached in more than {MOST_WAYS} ways"


class _Namer:
    """The rules that one rule becomes, with a predicate for each of its thresholds."""

    def __init__(self, fresh: Callable[[], str], taken: Set[str]) -> None:
        self._fresh, self._taken = fresh, taken
        self._made: list[Rule] = []

    def rules(self, rule: Rule) -> Iterator[Rule]:
        marked = mark_thresholds(rule)
        body = tuple(map(self._inside, marked.body))
        yield from self._made
        yield replace(marked, body=body)

    def _inside(self, formula: Formula) -> Formula:
        if not isinstance(formula, Aggregate):
            return rebuild(formula, self._inside)
        formula = replace(formula, operand=self._inside(formula.operand))
        ways = list(self._ways(formula))
        if not ways:
            return formula
        reached = replace(atom(self._shown(formula), [variable.name for variable in formula.by]), span=formula.span)
        self._made += [Rule(reached, way, formula.span) for way in ways]
        return reached

    def _shown(self, formula: Aggregate) -> str:
        """A predicate that reads as the threshold does, for it may stand behind a `not` in a line."""
        threshold = formula.threshold
        text = format_formula(replace(formula, threshold=None)).partition(" = ")[2]
        name = text if threshold is None else f"{text} {threshold.operator} {threshold.limit}"
        return self._fresh() if name in self._taken else name

    def _ways(self, formula: Aggregate) -> Iterator[tuple[Formula, ...]]:
        """The bodies of rules for a threshold; none where it stays an aggregate."""
        threshold, argument, window = formula.threshold, formula.argument, formula.window
        if threshold is None or isinstance(window, Period) or window.tuples:
            return
        if formula.function in ("min", "max") and argument is not None:
            limit = Comparison(threshold.operator, argument, Constant(threshold.limit), formula.span)
            parts = *spliced((formula.operand,)), limit
            yield (Window("sometime", self._counted(formula, parts, [v.name for v in formula.by]), window),)
        elif formula.function == "distinct" and isinstance(argument, Variable):
            number = least_count(threshold)
            columns = list(dict.fromkeys([*(variable.name for variable in formula.by), argument.name]))
            if number <= MOST_COUNTED and columns[-1] == argument.name:
                yield self._different(formula, window, self._counted(formula, spliced((formula.operand,)), columns), number)
        elif formula.function == "count" and least_count(threshold) <= MOST_COUNTED:
            unused = _unused(formula)
            parts = tuple(name_bound(part, unused) for part in spliced((formula.operand,)))
            counted = self._counted(formula, parts, bound(*parts))
            yield from _many(formula, window, counted, least_count(threshold))

    def _counted(self, formula: Aggregate, parts: Sequence[Formula], columns: Sequence[str]) -> Atom:
        """An atom of these columns for the operand of an aggregate, with the rule that defines it."""
        head = replace(atom(self._fresh(), columns), span=formula.span)
        self._made.append(Rule(head, tuple(parts), formula.span))
        return head

    def _different(self, formula: Aggregate, window: WindowSize, counted: Atom, number: int) -> tuple[Formula, ...]:
        """So many values, each at some time in the window."""
        copies = [_copy(formula, counted, i) for i in range(number)]
        apart = [Comparison("!=", one.arguments[-1], other.arguments[-1]) for one, other in combinations(copies, 2)]
        return (*(Window("sometime", each, window) for each in copies), *apart)


def _many(formula: Aggregate, window: WindowSize, counted: Atom, number: int) -> Iterator[tuple[Formula, ...]]:
    """So many pairs of a row and a time, in order of time; at one time the rows differ. None for too many ways."""
    copies = [_copy(formula, counted, i) for i in range(number)]
    local = [i for i, term in enumerate(counted.arguments) if term not in formula.by]
    names = {term.name for each in copies for term in each.arguments if isinstance(term, Variable)}
    times = [Variable(name) for name in _fresh_names("T", names, number)]
    ways: list[tuple[Formula, ...]] = []
    for together in product((False, True), repeat=number - 1) if local else [(False,) * (number - 1)]:
        groups = _groups(copies, together)
        timed = [
            Window("at", replace(each, at=TimePoint(time)), window)
            for time, group in zip(times, groups, strict=False)
            for each in group
        ]
        order = [Comparison("<", one, other) for one, other in pairwise(times[: len(groups)])]
        pairs = [pair for group in groups for pair in combinations(group, 2)]
        for columns in product(local, repeat=len(pairs)):
            chosen = zip(pairs, columns, strict=True)
            apart = [Comparison("!=", one.arguments[i], other.arguments[i]) for (one, other), i in chosen]
            ways.append((*timed, *order, *apart))
            if len(ways) > MOST_WAYS:
                return
    yield from ways


def _groups(copies: Sequence[Atom], together: Sequence[bool]) -> list[list[Atom]]:
    """The copies in a row, each beside the one before it or behind it."""
    groups = [[copies[0]]]
    for each, is_beside in zip(copies[1:], together, strict=True):
        if is_beside:
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _copy(formula: Aggregate, counted: Atom, number: int) -> Atom:
    """The atom with local variables of its own."""
    if not number:
        return counted
    taken = {term.name for term in counted.arguments if isinstance(term, Variable)}
    own = [
        term
        if not isinstance(term, Variable) or term in formula.by
        else Variable(_suffixed(term.name, number + 1, taken), term.span)
        for term in counted.arguments
    ]
    return replace(counted, arguments=tuple(own))


def _suffixed(name: str, number: int, taken: set[str]) -> str:
    while f"{name}{number}" in taken:
        name += "_"
    return f"{name}{number}"


def _fresh_names(base: str, taken: set[str], number: int) -> list[str]:
    while any(name == base or (name.startswith(base) and name[len(base) :].isdigit()) for name in taken):
        base += "_"
    return [base if not i else f"{base}{i + 1}" for i in range(number)]


def _unused(formula: Aggregate) -> Iterator[str]:
    taken = set(bound(formula.operand)) | {variable.name for variable in formula.by}
    return (name for number in count(1) if (name := f"Any{number}" if number > 1 else "Any") not in taken)
