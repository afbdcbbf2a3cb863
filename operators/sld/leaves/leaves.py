"""What a derivation ends with: an answer to the query, and the premises that it still needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tidelog.operators.sld.comparisons.bounds import Bounds, agree
from tidelog.operators.sld.comparisons.comparing import refresh, rename, settle, slots_of, whole_number
from tidelog.operators.sld.comparisons.systems import System
from tidelog.operators.sld.comparisons.terms import Bindings
from tidelog.plans.diagnostics.errors import NOWHERE, Diagnostic, ProgramError, Span
from tidelog.plans.plan.preconditions import START, Argument, Premise, Slot
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Variable


class Absence(NamedTuple):
    """A negated premise, and the place of its `not`."""

    premise: Premise
    span: Span


@dataclass(frozen=True, slots=True)
class Leaf:
    """⟨θ, premises⟩; its variables are numbered from 0, those of the answer first.

    `names` and `times` tell what the variables are; `places` has the place of what each negated premise denies, `span` that
    of the rule that answers the query. These do not tell leaves apart.
    """

    answer: tuple[Argument, ...]
    premises: tuple[Premise, ...]
    negated: tuple[Premise, ...]
    comparisons: tuple[Comparison, ...]
    names: tuple[str, ...] = field(compare=False)
    times: frozenset[int] = field(compare=False)
    places: tuple[Span, ...] = field(compare=False)
    span: Span = field(compare=False)


def close(
    bindings: Bindings,
    answer: Iterable[Argument],
    premises: Iterable[Premise],
    absences: Iterable[Absence],
    comparisons: Iterable[Comparison],
    span: Span,
) -> Leaf | None:
    """The leaf as the substitution has it, with its comparisons settled as far as can be; None if it can never hold.

    It may bind more variables, which the caller takes back.
    """
    still_open = _settled(comparisons, bindings)
    if still_open is None:
        return None
    needed = _premises(premises, bindings)
    lacking = {premise: item.span for item in absences if (premise := _premise(item.premise, bindings)) is not None}
    if needed is None or _excludes(lacking, needed):
        return None
    terms = tuple(bindings.walk(term) for term in answer)
    anchored = _variables(terms) | {v for p in (*needed, *lacking) for v in _variables((*p.arguments, p.time))}
    kept = _compared(still_open, bindings, anchored)
    if kept is None:
        return None
    carried = tuple(dict.fromkeys((*kept, *_whole_numbers(needed, bindings))))
    return _numbered(terms, needed, lacking, carried, bindings, span)


def _settled(comparisons: Iterable[Comparison], bindings: Bindings) -> list[Comparison] | None:
    """What stays open once nothing more can be decided; None if it cannot all hold.

    What leaves a variable one value, or one distance from another, gives it that.
    """
    waiting = _decided(comparisons, bindings)
    while waiting:
        system = system_of(waiting, bindings)
        if system is None:
            return None
        changes = _unify_forced(system, waiting, bindings)
        if not changes:
            return waiting if changes is False else None
        waiting = _decided(waiting, bindings)
    return waiting


def system_of(comparisons: Iterable[Comparison], bindings: Bindings) -> System | None:
    """What comparisons say together, their variables numbered; None if they cannot all hold."""
    system = System([START, *(f"#{variable}" for variable in bindings.times)])
    written = (
        Comparison(item.operator, refresh(item.left, bindings), refresh(item.right, bindings)) for item in comparisons
    )
    return system if all(map(system.add, written)) else None


def _unify_forced(system: System, comparisons: Iterable[Comparison], bindings: Bindings) -> bool | None:
    """Give variables what the comparisons leave them: whether there was any, None if a variable cannot have it."""
    found = False
    slots = sorted({v for item in comparisons for v in _mentioned(item, bindings)})
    for place, variable in enumerate(slots):
        value = system.value(f"#{variable}")
        if value is not None:
            found = True
            if not bindings.unify(Slot(variable), value if isinstance(value, str) else canonical(value)):
                return None
            continue
        for older in slots[:place]:
            distance = system.distance(f"#{variable}", f"#{older}")
            if distance is None or not (distance == 0 or {variable, older} <= bindings.times):
                continue
            found = True
            if not bindings.unify(Slot(variable), Slot(older, int(distance))):
                return None
    return found


def _mentioned(comparison: Comparison, bindings: Bindings) -> set[int]:
    return slots_of(refresh(comparison.left, bindings), refresh(comparison.right, bindings))


def _decided(comparisons: Iterable[Comparison], bindings: Bindings) -> list[Comparison] | None:
    """What stays open once what has values is decided; None if something does not hold."""
    waiting, before = list(comparisons), -1
    while len(waiting) != before:
        before = len(waiting)
        undecided = []
        for comparison in waiting:
            result = settle(comparison, bindings)
            if result == "fails":
                return None
            if result == "open":
                undecided.append(comparison)
        waiting = undecided
    return waiting


def _premises(premises: Iterable[Premise], bindings: Bindings) -> tuple[Premise, ...] | None:
    found: dict[Premise, None] = {}
    for premise in premises:
        walked = _premise(premise, bindings)
        if walked is None:
            return None
        found[walked] = None
    return tuple(found)


def _premise(premise: Premise, bindings: Bindings) -> Premise | None:
    """The premise as the substitution has it; None if its time is no whole number, so that it cannot hold."""
    time = bindings.walk(premise.time)
    if not isinstance(time, int | Slot):
        return None
    return replace(premise, arguments=tuple(bindings.walk(term) for term in premise.arguments), time=time)


def _excludes(lacking: Iterable[Premise], needed: Iterable[Premise]) -> bool:
    """Whether something that must come must not."""
    rows: dict[tuple[str, tuple[Argument, ...]], list[Premise]] = {}
    for premise in needed:
        rows.setdefault((premise.predicate, premise.arguments), []).append(premise)
    return any(denies(absent, each) for absent in lacking for each in rows.get((absent.predicate, absent.arguments), ()))


def denies(absent: Premise, premise: Premise) -> bool:
    """Whether a premise is certainly one of the facts that must not come."""
    if absent.predicate != premise.predicate or absent.arguments != premise.arguments:
        return False
    first, time = absent.time, premise.time
    if isinstance(first, Slot) and isinstance(time, Slot):
        return first.variable == time.variable and 0 <= time.offset - first.offset <= absent.width
    return isinstance(first, int) and isinstance(time, int) and 0 <= time - first <= absent.width


def _variables(terms: Iterable[Argument]) -> set[int]:
    return {term.variable for term in terms if isinstance(term, Slot)}


def _compared(waiting: Iterable[Comparison], bindings: Bindings, anchored: set[int]) -> tuple[Comparison, ...] | None:
    """The comparisons that have to be carried; None if those of times contradict each other."""
    bounds = Bounds()
    others: dict[Comparison, None] = {}
    for comparison in waiting:
        if not bounds.add(comparison, bindings):
            left, right = refresh(comparison.left, bindings), refresh(comparison.right, bindings)
            others[Comparison(comparison.operator, left, right, comparison.span)] = None
    others = {item: None for item in others if not _only_names(item, others, anchored, bindings)}
    mentioned = {variable for item in others for variable in slots_of(item.left, item.right)}
    if not agree(others) or not bounds.eliminate(anchored | mentioned):
        return None
    return (*others, *bounds.comparisons())


def _only_names(item: Comparison, all_items: Collection[Comparison], anchored: set[int], bindings: Bindings) -> bool:
    """Whether it is `W = T + S`, which gives a sum of times a name that nothing else uses."""
    if item.operator != "=":
        return False
    for name, value in ((item.left, item.right), (item.right, item.left)):
        own = slots_of(name) if isinstance(name, Variable) else set()
        if own and own.isdisjoint(anchored) and _is_sum(value, bindings) and own.isdisjoint(slots_of(value)):
            return not any(own & slots_of(other.left, other.right) for other in all_items if other is not item)
    return False


def _is_sum(expression: Expression, bindings: Bindings) -> bool:
    """Whether it has a value, a whole number, whatever the times in it are."""
    match expression:
        case Variable(name):
            return name == START or int(name[1:]) in bindings.times
        case Constant(value):
            return isinstance(value, int)
        case Arithmetic("+" | "-" | "*", operands):
            return all(_is_sum(operand, bindings) for operand in operands)
    return False


def _whole_numbers(premises: Iterable[Premise], bindings: Bindings) -> tuple[Comparison, ...]:
    """`V = V // 1` for what is used as a time, but comes as an argument alone: no text, and no other number, is one."""
    from_times = {p.time.variable for p in premises if isinstance(p.time, Slot)}
    arguments = {v: None for p in premises if not p.is_given for v in sorted(_variables(p.arguments))}
    return tuple(whole_number(v) for v in arguments if v in bindings.times and v not in from_times)


def _numbered(
    answer: tuple[Argument, ...],
    premises: tuple[Premise, ...],
    lacking: Mapping[Premise, Span],
    comparisons: tuple[Comparison, ...],
    bindings: Bindings,
    span: Span,
) -> Leaf:
    """The leaf with its variables numbered from 0 and its premises in order, so that equal ones are equal."""
    came, lacked = ordered(premises), ordered(lacking)
    order = [t.variable for t in answer if isinstance(t, Slot)]
    order += [t.variable for p in (*came, *lacked) for t in (p.time, *p.arguments) if isinstance(t, Slot)]
    order += [v for item in comparisons for v in sorted(slots_of(item.left, item.right))]
    numbers = {variable: number for number, variable in enumerate(dict.fromkeys(order))}
    return Leaf(
        answer=tuple(_renumbered(term, numbers) for term in answer),
        premises=tuple(_moved(premise, numbers) for premise in came),
        negated=tuple(_moved(premise, numbers) for premise in lacked),
        comparisons=tuple(rename(item, {f"#{v}": f"#{n}" for v, n in numbers.items()}) for item in comparisons),
        names=tuple(bindings.names[variable] for variable in numbers),
        times=frozenset(n for v, n in numbers.items() if v in bindings.times),
        places=tuple(lacking[premise] for premise in lacked),
        span=span,
    )


def _renumbered(term: Argument, numbers: Mapping[int, int]) -> Argument:
    return Slot(numbers[term.variable], term.offset) if isinstance(term, Slot) else term


def _moved(premise: Premise, numbers: Mapping[int, int]) -> Premise:
    time = Slot(numbers[premise.time.variable], premise.time.offset) if isinstance(premise.time, Slot) else premise.time
    return replace(premise, arguments=tuple(_renumbered(term, numbers) for term in premise.arguments), time=time)


def ordered(premises: Iterable[Premise]) -> tuple[Premise, ...]:
    """Premises in order of their times, as far as these compare, then of their texts."""
    return tuple(sorted(premises, key=_place_in_order))


def _place_in_order(premise: Premise) -> tuple[int, int, int, str, tuple[str, ...]]:
    time = premise.time
    root, offset = (time.variable, time.offset) if isinstance(time, Slot) else (-1, time)
    texts = tuple(
        f"#{term.variable:09d}{term.offset:+d}" if isinstance(term, Slot) else str(term) for term in premise.arguments
    )
    return root, offset, premise.width, premise.predicate, texts


def require_bound(leaf: Leaf, open_columns: Iterable[Argument]) -> None:
    """ProgramError unless the variables of negations and comparisons occur in positive premises, too."""
    bound = bound_variables(leaf) | _variables(open_columns)
    for premise, place in zip(leaf.negated, leaf.places, strict=True):
        if not _variables((*premise.arguments, premise.time)) <= bound:
            message = "nothing that must come bounds the time at which this must not hold"
            help = "add what must hold at that time, or write it at the time of another literal: `@T`"
            raise ProgramError([Diagnostic("ask-unbounded", message, place, help=help)])
    for comparison in leaf.comparisons:
        if not slots_of(comparison.left, comparison.right) <= bound:
            message = "nothing that must come bounds what is compared"
            help = "compare what an input tells, or its time"
            span = leaf.span if comparison.span == NOWHERE else comparison.span
            raise ProgramError([Diagnostic("ask-unbounded", message, span, help=help)])


def bound_variables(leaf: Leaf) -> set[int]:
    """The variables that the premises bind, and what `=` computes from them."""
    bound = {v for p in leaf.premises for v in _variables((*p.arguments, p.time))}
    equations = [item for item in leaf.comparisons if item.operator == "="]
    while True:
        before = len(bound)
        for item in equations:
            left, right = slots_of(item.left), slots_of(item.right)
            bound |= left if right <= bound and isinstance(item.left, Variable) else set()
            bound |= right if left <= bound and isinstance(item.right, Variable) else set()
        if len(bound) == before:
            return bound
