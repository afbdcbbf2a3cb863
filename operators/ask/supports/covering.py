"""What one support of an answer needs, compared with another (Cruz-Filipe, Gaspar and Nunes 2020, Definitions 1 and 2).

A support with variables stands for all its instances. It is covered where every instance needs more than one of another
support does, so the comparisons of both count: `temp(h,V)@4` with V > 30 does not cover it with V < 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from tidelog.operators.ask.premises.awaited import Awaited, Binding, expression_of
from tidelog.operators.ask.premises.layout import Segment, divide_run, fact_literal, literals_in_a_row
from tidelog.operators.ask.premises.partials import Partial
from tidelog.operators.ask.premises.patterns import Pattern
from tidelog.operators.ask.premises.runs import Run
from tidelog.operators.ask.supports.voids import void_cases
from tidelog.operators.sld.comparisons.systems import System
from tidelog.plans.plan.preconditions import START, Slot
from tidelog.plans.plan.questions import GroundLiteral, Open
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Value, Variable

Literals = frozenset[GroundLiteral]
_Kind = tuple[str, bool, str]
"""What two literals need to have in common to be one: the predicate, whether it must not come, and what is shown."""


@dataclass(frozen=True, slots=True)
class Support:
    """The evidence E and the hypotheses H of a partial answer, as sets, and the conditions on what is open in them.

    Open columns of the answer have the same names in all supports of an answer. `same` are those that are another one, and
    a distance; `whole` are the variables that stand for times. In the cases `void` it is no support: two of its hypotheses
    are one fact, for which another support stands, or one has come, or must not.
    """

    evidence: Literals
    hypotheses: Literals
    conditions: tuple[Comparison, ...] = ()
    same: Mapping[str, Open] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    void: tuple[tuple[Comparison, ...], ...] = ()
    is_open: bool = False
    """Whether it stands for more than one set of facts."""
    kinds: frozenset[_Kind] = frozenset()
    """What its hypotheses are but for their arguments and times, where it is open."""
    is_void: bool = False
    """Whether the cases in which it is no support are all that there are."""

    def is_covered(self, ways: Sequence[Sequence[Comparison]]) -> bool:
        """Whether wherever it is a support one of the ways holds: this one here, that one there."""
        system = System(self.whole)
        can_hold = [system.add(condition) for condition in self.conditions]
        return system.is_covered([*ways, *self.void] if all(can_hold) else ways)


def support_of(partial: Partial) -> Support:
    """What speaks for a partial answer, and what it still needs."""
    made = support(partial.pattern, partial.binding, *literals_of(partial))
    if not made.is_open or partial.pattern.is_closed(partial.binding):
        return made
    columns, _ = _columns(partial.pattern, partial.binding)
    void = tuple(tuple(_renamed(each, columns) for each in case) for case in void_cases(partial))
    if not void:
        return made
    made = replace(made, void=void)
    return replace(made, is_void=made.is_covered(()))


def support(
    pattern: Pattern, binding: Binding, evidence: Sequence[GroundLiteral], hypotheses: Sequence[GroundLiteral]
) -> Support:
    """A support of a precondition with these literals."""
    if pattern.stretches:
        evidence, hypotheses = _points(evidence), _points(hypotheses)
    if pattern.is_closed(binding):
        return Support(frozenset(evidence), frozenset(hypotheses))
    columns, same = _columns(pattern, binding)
    literals = frozenset(_with_columns(literal, columns) for literal in hypotheses)
    asked = (*pattern.where(binding, pattern.start()), *_coming(pattern, binding, hypotheses))
    conditions = tuple(_renamed(condition, columns) for condition in asked)
    whole = frozenset(columns[name].name if name in columns else name for name in pattern.conditions.whole)
    is_many = bool(conditions or same) or any(map(is_open, literals))
    return Support(frozenset(evidence), literals, conditions, same, whole, is_open=is_many, kinds=_kinds(literals))


def _kinds(literals: Literals) -> frozenset[_Kind]:
    return frozenset([_kind(literal) for literal in literals])


def _kind(literal: GroundLiteral) -> _Kind:
    return literal.predicate, literal.negated, literal.shown


def _points(literals: Iterable[GroundLiteral]) -> list[GroundLiteral]:
    """The literals, those over a stretch point by point."""
    found = []
    for literal in literals:
        if isinstance(literal.until, int) and isinstance(literal.time, int):
            found += [replace(literal, time=time, until=None) for time in range(literal.time, literal.until + 1)]
        else:
            found.append(literal)
    return found


_KEPT_LITERALS = 4_096
_LEAST = -(1 << 50)
"""Times before this are those of a stream that has not begun."""


def _coming(pattern: Pattern, binding: Binding, hypotheses: Sequence[GroundLiteral]) -> Iterator[Comparison]:
    """Comparisons that say that a hypothesis with an open time can still come then."""
    for item in pattern.premises:
        if item.time is not None and binding[item.time] is None and item.literal(binding, pattern.names) in hypotheses:
            passed = pattern.passed(item) - item.offset
            if passed > _LEAST:
                yield Comparison(">", Variable(pattern.names[item.time]), Constant(passed))


_COLUMN = "#"
"""What the names of open columns begin with, which are the same in all supports of an answer."""


def _columns(pattern: Pattern, binding: Binding) -> tuple[dict[str, Open], dict[str, Open]]:
    """The variables that are open columns of the answer, as columns; and the columns that are another one and a distance."""
    columns: dict[str, Open] = {}
    same: dict[str, Open] = {}
    for i, term in enumerate(pattern.answer):
        if not isinstance(term, Slot) or binding[term.variable] is not None:
            continue
        first = columns.setdefault(pattern.names[term.variable], Open(f"{_COLUMN}{i}", -term.offset))
        if first.name != f"{_COLUMN}{i}":
            same[f"{_COLUMN}{i}"] = Open(first.name, first.offset + term.offset)
    return columns, same


def _with_columns(literal: GroundLiteral, columns: Mapping[str, Open]) -> GroundLiteral:
    if not columns or not is_open(literal):
        return literal
    *arguments, time, until = (_in_column(term, columns) for term in (*literal.arguments, literal.time, literal.until))
    return replace(literal, arguments=tuple(arguments), time=time, until=until)


def _in_column(term: Any, columns: Mapping[str, Open]) -> Any:
    column = columns.get(term.name) if isinstance(term, Open) else None
    return term if column is None else Open(column.name, column.offset + term.offset)


def _renamed(condition: Comparison, names: Mapping[str, Value | Open]) -> Comparison:
    left, right = _replaced_in(condition.left, names), _replaced_in(condition.right, names)
    return Comparison(condition.operator, left, right)


def _replaced_in(expression: Expression, names: Mapping[str, Value | Open]) -> Expression:
    """An expression with terms in place of variables."""
    if isinstance(expression, Variable):
        return expression_of(names[expression.name]) if expression.name in names else expression
    if isinstance(expression, Arithmetic):
        return replace(expression, operands=tuple(_replaced_in(operand, names) for operand in expression.operands))
    return expression


def literals_of(partial: Partial) -> tuple[list[GroundLiteral], list[GroundLiteral]]:
    """The evidence and the hypotheses, by time; they are not to be changed."""
    pattern = partial.pattern
    state = partial.missing, partial.pending, *map(pattern.passed, pattern.stretches)
    if partial.divided is None or partial.divided[0] != state:
        partial.divided = state, _divided_literals(partial)
    return partial.divided[1]


def _divided_literals(partial: Partial) -> tuple[list[GroundLiteral], list[GroundLiteral]]:
    layout = partial.pattern.layout
    if layout is not None and isinstance(partial.pattern.own_time(partial.binding), int):
        return _laid_out(partial, layout)
    if partial.literals is None:
        partial.literals = sorted(_literals(partial.pattern, partial.binding), key=lambda entry: order(entry[1]))
    evidence: list[GroundLiteral] = []
    hypotheses: list[GroundLiteral] = []
    for i, literal in partial.literals:
        is_open = partial.missing >> i & 1 if i >= 0 else partial.pending >> (-1 - i) & 1
        if is_open and literal.until is not None:
            passed, coming = _divided(literal, partial.pattern.passed(partial.pattern.negated[-1 - i]))
            evidence += passed
            hypotheses += coming
        else:
            (hypotheses if is_open else evidence).append(literal)
    return evidence, hypotheses


def _laid_out(partial: Partial, layout: Sequence[Segment]) -> tuple[list[GroundLiteral], list[GroundLiteral]]:
    """The same, for a pattern that has its premises in the order of their times."""
    pattern, binding, missing = partial.pattern, partial.binding, partial.missing
    evidence: list[GroundLiteral] = []
    hypotheses: list[GroundLiteral] = []
    for part in layout:
        if isinstance(part, Run):
            row, first = part.item.fact(binding) if part.item.is_ground(binding) else (None, 0)
            members = [*part.places.values()]
            if row is None:
                literals = [_literal(pattern.premises[i], binding, pattern) for i in members]
            else:
                literals = literals_in_a_row(part.item.premise.predicate, row, first, len(members))
            divide_run(literals, (missing & part.mask) >> members[0], evidence, hypotheses)
        elif part >= 0:
            literal = _literal(pattern.premises[part], binding, pattern)
            (hypotheses if missing >> part & 1 else evidence).append(literal)
        else:
            _put_absence(partial, -1 - part, evidence, hypotheses)
    return evidence, hypotheses


def _put_absence(partial: Partial, i: int, evidence: list[GroundLiteral], hypotheses: list[GroundLiteral]) -> None:
    item, binding = partial.pattern.negated[i], partial.binding
    is_pending = partial.pending >> i & 1
    if is_pending and item.width and item.asked is None and item.is_ground(binding):
        _put_stretch(item, binding, partial.pattern.passed(item), evidence, hypotheses)
        return
    literal = item.literal(binding, partial.pattern.names)
    if not partial.pending >> i & 1:
        evidence.append(literal)
    elif literal.until is None:
        hypotheses.append(literal)
    else:
        passed, coming = _divided(literal, partial.pattern.passed(item))
        evidence += passed
        hypotheses += coming


def _put_stretch(
    item: Awaited, binding: Binding, passed: int, evidence: list[GroundLiteral], hypotheses: list[GroundLiteral]
) -> None:
    """The two parts of an absence, without a literal for all of it."""
    row, first = item.fact(binding)
    for begin, end, part in (
        (first, min(passed, first + item.width), evidence),
        (max(first, passed + 1), first + item.width, hypotheses),
    ):
        if begin <= end:
            until = end if end > begin else None
            part.append(GroundLiteral(item.premise.predicate, row, begin, item.negated, "", until))


def _literals(pattern: Pattern, binding: Binding) -> Iterator[tuple[int, GroundLiteral]]:
    alone = pattern.all
    for run in pattern.runs:
        if run.item.is_ground(binding):
            alone &= ~run.mask
            row, first = run.item.fact(binding)
            for offset, i in run.places.items():
                yield i, fact_literal(run.item.premise.predicate, row, first - run.item.offset + offset)
    for i, item in pattern.missing(alone):
        yield i, _literal(item, binding, pattern)
    for i, item in enumerate(pattern.negated):
        yield -1 - i, item.literal(binding, pattern.names)


def _literal(item: Awaited, binding: Binding, pattern: Pattern) -> GroundLiteral:
    if not item.is_ground(binding):
        return item.literal(binding, pattern.names)
    row, time = item.fact(binding)
    return fact_literal(item.premise.predicate, row, time)


def _divided(literal: GroundLiteral, passed: int) -> tuple[list[GroundLiteral], list[GroundLiteral]]:
    """An absence over a stretch: up to a time it is evidence, after that it is needed."""
    first, last = literal.time, literal.until
    if not isinstance(first, int) or not isinstance(last, int) or passed < first:
        return [], [literal]
    return [_stretch(literal, first, passed)], [_stretch(literal, passed + 1, last)]


def _stretch(literal: GroundLiteral, first: int, last: int) -> GroundLiteral:
    until = last if last > first else None
    return GroundLiteral(literal.predicate, literal.arguments, first, literal.negated, literal.shown, until)


def facts_of(partial: Partial) -> Literals:
    """The facts that speak for a partial answer; what is absent is none."""
    return frozenset(literal for literal in literals_of(partial)[0] if not literal.negated)


@lru_cache(_KEPT_LITERALS)
def order(literal: GroundLiteral) -> tuple[bool, int, bool, str, tuple[str, ...]]:
    """By time, what is open last."""
    time = literal.time
    is_late = isinstance(time, Open)
    return (
        is_late,
        0 if isinstance(time, Open) else time,
        literal.negated,
        literal.predicate,
        (*map(str, literal.arguments),),
    )


_MOST_WAYS = 64
"""So many ways to see one support in another are looked at: without the others, more is told."""
_Names = dict[str, Value | Open]


def is_covered(support: Support, others: Iterable[Support]) -> bool:
    """Whether others need less: a proper part of the hypotheses, or the same with no more evidence, whatever is open."""
    ways: list[list[Comparison]] = []
    for other in others:
        for way in _ways(other, support):
            if not way:
                return True
            ways.append(way)
    return support.is_void or (bool(ways) and support.is_covered(ways[:_MOST_WAYS]))


def needs_less(one: Support, other: Support) -> bool:
    """Whether of two supports in which nothing is open the first needs less than the other, or the same for less."""
    fewer = len(other.hypotheses) - len(one.hypotheses)
    return (fewer > 0 or (fewer == 0 and one.evidence <= other.evidence)) and one.hypotheses <= other.hypotheses


def _ways(one: Support, other: Support) -> Iterator[list[Comparison]]:
    """The ways in which the first support needs less than the other, each with the conditions under which it does."""
    if not one.is_open and not other.is_open:
        if needs_less(one, other):
            yield []
        return
    if len(one.hypotheses) > len(other.hypotheses):
        return
    if not _may_need_less(one, other):
        return
    literals = sorted((_with_columns(literal, other.same) for literal in one.hypotheses), key=order)
    for found in islice(_embeddings(literals, other.hypotheses), _MOST_WAYS):
        if len(found.image) < len(other.hypotheses) or one.evidence <= other.evidence:
            conditions = _conditions(one, other, found.names)
            if conditions is not None:
                yield [*found.equal, *conditions]


def _may_need_less(one: Support, other: Support) -> bool:
    """Whether it is worth a closer look: by the kinds of the literals, and by the evidence where as many are needed."""
    kinds = one.kinds or _kinds(one.hypotheses)
    if not kinds <= (other.kinds or _kinds(other.hypotheses)):
        return False
    is_apart = len(kinds) == len(one.hypotheses)  # no two of them can become one
    return not is_apart or len(kinds) < len(other.hypotheses) or one.evidence <= other.evidence


def _conditions(one: Support, other: Support, names: _Names) -> list[Comparison] | None:
    """The conditions of the first support, in the variables of the other; None where they name a variable that the other
    lacks."""
    equal = [Comparison("=", Variable(column), expression_of(term)) for column, term in one.same.items()]
    known = {**names, **other.same}
    own = (*one.conditions, *equal)
    found = [_renamed(condition, known) for condition in own]
    if any(not _is_told(name, known) for item in own for name in expression_variables(item.left, item.right)):
        return None
    told = other.conditions
    return [each for each in found if each not in told and (each.left != each.right or each.operator != "=")]


def _is_told(name: str, names: Mapping[str, Value | Open]) -> bool:
    return name in names or name.startswith(_COLUMN) or name == START


class _Embedding(NamedTuple):
    """Values for variables of some literals with which each is one of the others, where some terms of these are `equal`."""

    names: _Names
    equal: tuple[Comparison, ...] = ()
    image: frozenset[GroundLiteral] = frozenset()


def _embeddings(literals: Sequence[GroundLiteral], into: Literals) -> Iterator[_Embedding]:
    """The ways to see literals among others."""
    choices = [(0, _Embedding({}))]
    while choices:
        i, found = choices.pop()
        if i == len(literals):
            yield found
            continue
        for candidate in into:
            extended = _unified(literals[i], candidate, found)
            if extended is not None:
                choices.append((i + 1, extended))


def _unified(literal: GroundLiteral, candidate: GroundLiteral, found: _Embedding) -> _Embedding | None:
    if _kind(literal) != _kind(candidate):
        return None
    if (literal.until is None) != (candidate.until is None):
        return None
    if literal.time != candidate.time and isinstance(literal.time, int) and isinstance(candidate.time, int):
        return None
    names, equal = dict(found.names), list(found.equal)
    for one, other in zip(_terms(literal), _terms(candidate), strict=True):
        known = one
        if isinstance(one, Open) and not one.name.startswith(_COLUMN):
            less = _less(other, one.offset)
            if less is None:
                return None
            other, known = less, names.setdefault(one.name, less)
        if known == other:
            continue
        if not isinstance(known, Open) and not isinstance(other, Open):
            return None
        equal.append(Comparison("=", expression_of(known), expression_of(other)))
    return _Embedding(names, tuple(equal), found.image | {candidate})


def _terms(literal: GroundLiteral) -> tuple[Value | Open, ...]:
    ends = (literal.time,) if literal.until is None else (literal.time, literal.until)
    return (*literal.arguments, *ends)


def _less(value: Value | Open, offset: int) -> Value | Open | None:
    """A value, or a variable, less a distance in time; None where there is none."""
    if not offset:
        return value
    if isinstance(value, Open):
        return Open(value.name, value.offset - offset)
    return value - offset if isinstance(value, int) else None


def is_open(literal: GroundLiteral) -> bool:
    """Whether a literal has a variable."""
    return isinstance(literal.time, Open) or any(isinstance(item, Open) for item in literal.arguments)
