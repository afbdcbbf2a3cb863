"""Pass: time variables become metric operators, and where a time is used as a value, a column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.diagnostics.errors import NOWHERE, Diagnostic, ProgramError, Span
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import BEYOND_JOINS, rewrite_rules
from tidelog.plans.normal.times.before_start import Before, Ranks, ranks_of
from tidelog.plans.normal.times.read_times import Group, Timed, bound_in, is_timed, names_in, reach, read_times, windows_at
from tidelog.plans.tree.names import atom, head_predicate, variables
from tidelog.plans.tree.scopes import bound
from tidelog.plans.tree.syntax import (
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Expression,
    Formula,
    Interval,
    Negation,
    Rule,
    Time,
    TimePoint,
    Truth,
    Unary,
    Variable,
)
from tidelog.plans.tree.traverse import conjoin, spliced

_NOW = Interval(Fraction(0), Fraction(0))


def bind_times(program: NormalProgram) -> NormalProgram:
    """Say what holds at a time variable T by how far T lies from the rule's time, or from the head's.

    With `@T` in the head all is seen from there, so that no answer waits; otherwise the windows say how far T lies back.
    `boxminus[0,0]` that is clipped, `always p in [0]`, keeps what holds from the stream's start on: the window's begin. A
    time that is used as a value becomes a column by a rule `q(X, T)@T :- r(X)@T`, and a head moves to the time in a
    column by `p(X)@T :- r(X, T)`. ProgramError for times that nothing bounds.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("bind_times", "timeline integer. p(X)@T+1 :- q(X)@T, q(X)@T+1. r(X) :- q(X)@T in [5], s(X)."))
    timeline integer.
    output p, r.
    p(X) :- diamondminus[1,1] q(X), q(X).
    r(X) :- diamondminus[0,5] q(X), s(X).
    """
    ranks, rigid = ranks_of(program), _rigid(program)
    about = (Atom, Comparison, *BEYOND_JOINS)
    return rewrite_rules(program, lambda rule, fresh: _Binder(rule, fresh, ranks, rigid).rules(), about)


def _rigid(program: NormalProgram) -> frozenset[str]:
    """The predicates that hold at all times or at none: those with nothing but backgrounds and facts without a time."""
    if not program.declarations:
        return frozenset()  # the stream may bring any predicate
    known = {background.predicate for background in program.backgrounds} | {fact.atom.predicate for fact in program.facts}
    timed = {fact.atom.predicate for fact in program.facts if fact.interval is not None}
    return frozenset(known - timed - set(program.inputs) - {head_predicate(rule.head) for rule in program.rules})


class _Binder:
    """The rules that one rule with time variables becomes."""

    def __init__(self, rule: Rule, fresh: Callable[[], str], ranks: Ranks, rigid: frozenset[str]) -> None:
        self._rule = rule
        self._fresh = fresh
        self._ranks = ranks
        self._rigid = rigid
        self._made: list[Rule] = []

    def rules(self) -> Iterator[Rule]:
        head = self._rule.head
        if not is_timed(self._rule):
            yield self._rule
            return
        self._times = read_times(self._rule)
        self._answered = names_in(head)
        at = head.at if isinstance(head, Atom) else None
        self._head_place = NOWHERE if at is None else at.span
        own = None if at is None else self._times.groups.get(at.variable.name)
        if at is None or not isinstance(head, Atom):
            rules = [replace(self._rule, body=self._at_now())]
        elif own is None or not own.positive:
            rules = self._moved(head, at)
        else:
            rules = [replace(self._rule, head=replace(head, at=None), body=self._at_head(own, at))]
        yield from self._made
        yield from rules

    # --- from where a rule is seen ------------------------------------------------------------------------------------

    def _at_now(self) -> tuple[Formula, ...]:
        """The body at the rule's own time t."""
        times = self._times
        groups = [formula for group in times.groups.values() for formula in self._from_now(group)]
        return (*groups, *times.others, *times.comparisons)

    def _from_now(self, group: Group) -> list[Formula]:
        """A group as literals at t: sometime within its windows all of it held."""
        if not group.positive:
            return self._away(group, group.negated)
        if not group.windowed:
            raise _unbounded(group, f"`p(X)@{group.name} in [5]` keeps it near; `@{group.name}` in the head needs no window")
        away = [literal for literal in group.negated if not self._fits(group, literal)]
        kept = [literal for literal in group.negated if literal not in away]
        needed = self._elsewhere(group, away) if away or self._times.valued(group.name, self._answered) else None
        if needed is not None:
            self._check_begin(group)
        parts = self._together(group, kept, needed)
        return [_sometime(-group.high, -group.low, conjoin(parts)), *self._away(group, away)]

    def _fits(self, group: Group, literal: Timed) -> bool:
        """Whether a negated literal means the same at T alone, where nothing is known but what the group binds."""
        return group.holds(literal) and set(variables(literal.atom)) <= {*bound(*group.inside()), group.name}

    def _elsewhere(self, group: Group, away: Sequence[Timed]) -> set[str]:
        """The variables that are mentioned beyond what a group says together."""
        times = self._times
        groups = [other for other in times.groups.values() if other is not group]
        literals = [*away, *(literal for other in groups for literal in (*other.positive, *other.negated))]
        settled = [comparison for other in groups for comparison in other.settled]
        atoms = [literal.atom for literal in literals]
        names = {other.name for other in groups}
        return self._answered | names | names_in(*times.others, *times.comparisons, *settled, *atoms)

    def _away(self, group: Group, negated: Sequence[Timed]) -> list[Formula]:
        """Negated literals at t, each with T as a column."""
        found: list[Formula] = []
        for literal in negated:
            low, high = group.low, group.high
            if literal.size is not None:
                low, high = Fraction(literal.shift), literal.shift + literal.size
            elif not group.windowed:
                raise _unbounded(group, f"a window, such as `not p(X)@{group.name} in [5]`, keeps it near")
            inside = [self._seen(group, literal, 0, alone=True), *self._from_start(group, literal)]
            column = self._column(inside, group.name, set(variables(literal.atom)))
            found.append(Negation(_sometime(-high, -low, column), literal.span))
        return found

    def _from_start(self, group: Group, literal: Timed) -> list[Formula]:
        """What cuts off the times before those that the group's windows allow, where a row would hold since ever."""
        if literal.size is not None or self._rank(literal) < Before.SINCE_EVER:
            return []
        started = Unary("boxminus", _NOW, Truth(True), clipped=True)
        return [_sometime(group.low, group.low, started)]

    def _at_head(self, group: Group, at: TimePoint) -> tuple[Formula, ...]:
        """The body as seen from the head's time T+k; from T first, if T becomes a column."""
        times = self._times
        short = [literal for literal in group.negated if not group.holds(literal)]
        if short and not group.windowed:
            help = f"leave this window away, or give an atom at `{group.name}` that is not negated one too"
            raise _unbounded(group, help, short[0].span)
        others = [other for other in times.groups.values() if other is not group]
        rigid = [part for part in times.others if self._is_rigid(part)]
        moving = [part for part in times.others if part not in rigid]
        rest = [*(part for other in others for part in self._from_now(other)), *moving, *self._away(group, short)]
        is_column = bool(short) or times.valued(group.name, self._answered)
        origin = 0 if is_column else at.shift
        around = [*rigid, *self._around(group, rest, rigid, origin)]
        needed = self._answered | names_in(*times.comparisons) if is_column else None
        if is_column:
            self._check_begin(group)
        kept = [literal for literal in group.negated if literal not in short]
        parts = [*self._together(group, kept, needed, around, origin), *times.comparisons]
        return spliced((_sometime(origin - at.shift, origin - at.shift, conjoin(parts), at.span),))

    def _is_rigid(self, part: Formula) -> bool:
        literal = part.operand if isinstance(part, Negation) else part
        return isinstance(literal, Atom) and literal.predicate in self._rigid

    def _around(self, group: Group, rest: list[Formula], rigid: Sequence[Formula], origin: int) -> list[Formula]:
        """What holds at some t, as seen from T+origin: t lies where the windows of T have it.

        A negation that needs what the group binds, or what holds at all times, gets it at t, too.
        """
        if not rest:
            return []
        if not group.windowed:
            help = f"`p(X)@{group.name} in [5]` says how far away the rest may hold; or write `@{group.name}` there, too"
            raise _unbounded(group, help)
        binds = bound_in(rest)
        loose = [part for part in rest if isinstance(part, Negation) and not names_in(part) <= binds]
        if loose:
            needed = self._compared_with(names_in(*loose))
            guard = self._together(group, [], needed if group.name in needed else None)
            rest = [*(part for part in rigid if not isinstance(part, Negation)), *rest]
            binds = bound_in([*guard, *rest, *self._times.comparisons])
            settled = [part for part in self._times.comparisons if names_in(part) <= binds]
            self._times.comparisons = [part for part in self._times.comparisons if part not in settled]
            rest = [_sometime(-group.high, -group.low, conjoin(guard)), *rest, *settled]
        return [_sometime(group.low - origin, group.high - origin, conjoin(rest))]

    def _compared_with(self, names: set[str]) -> set[str]:
        """Some variables, and those from which comparisons may compute them."""
        found = set(names)
        while more := {n for part in self._times.comparisons if names_in(part) & found for n in names_in(part)} - found:
            found |= more
        return found

    def _check_begin(self, group: Group) -> None:
        if all(self._rank(item) is Before.SINCE_EVER and not _is_cut(group, item) for item in group.positive):
            message = f"`{group.name}` has no first value: what stands at it holds since ever"
            raise _error("unbounded-time", message, group.positive[0].span, "a window, `in [n]`, begins with the stream")

    # --- moving to a column's time --------------------------------------------------------------------------------------

    def _moved(self, head: Atom, at: TimePoint) -> list[Rule]:
        """The head at a time that is a value: the body has it as its last column."""
        self._answered.add(at.variable.name)
        body = Atom(self._fresh(), (*head.arguments, at.variable))
        moved = replace(head, at=replace(at, back=self._back(at)))
        return [replace(self._rule, head=body, body=self._at_now()), Rule(moved, (body,))]

    def _back(self, at: TimePoint) -> Time:
        """How far T+k may lie behind the body's time t, from T's windows and from comparisons with times that have some."""
        times = self._times
        bounds = [high - at.shift for high in self._furthest(at.variable.name)]
        for comparison in (*times.comparisons, *(part for group in times.groups.values() for part in group.settled)):
            for name, distance in _at_least(comparison, at.variable.name):
                bounds += [high - distance - at.shift for high in self._furthest(name)]
        return max(Fraction(0), min(bounds, default=math.inf))

    def _furthest(self, name: str) -> list[Time]:
        """How far behind t the windows let a time variable lie."""
        group = self._times.groups.get(name)
        own = [] if group is None or not group.windowed else [group.high]
        return own + [reach(*found)[1] for found in windows_at(self._times.others, name)]

    # --- one group --------------------------------------------------------------------------------------------------------

    def _together(
        self,
        group: Group,
        negated: Sequence[Timed],
        needed: set[str] | None,
        around: Sequence[Formula] = (),
        origin: int = 0,
    ) -> list[Formula]:
        """What holds together at T, as seen from T+origin.

        With `needed`, the variables to be told beyond it, T becomes a column, as soon as all is known that does not need it.
        """
        inside = [*(self._seen(group, literal, origin) for literal in group.positive), *group.settled]
        outside: list[Formula] = []
        for part in (*around, *(Negation(self._seen(group, n, origin), n.span) for n in negated)):
            is_bound = not isinstance(part, Negation) or set(variables(part)) <= set(bound(*inside))
            waits = group.name in names_in(part) and group.name not in variables(*inside)
            (outside if waits or not is_bound else inside).append(part)
        if needed is not None:
            inside = [self._column(inside, group.name, needed | names_in(*outside))]
        return [*inside, *outside]

    def _column(self, parts: Sequence[Formula], name: str, needed: set[str]) -> Atom:
        """What holds together at a time, with this time as a column; where it is one already, as far as the two agree."""
        told = dict.fromkeys([*variables(*parts), *sorted(names_in(*parts))])  # times of other windows, too
        columns = [column for column in told if column in needed]
        clash = name in variables(*parts)
        if clash and name not in columns:
            columns.append(name)
        time = Variable(_unused(f"{name}_", self._rule) if clash else name)
        base = conjoin(parts)
        if not isinstance(base, Atom) or base != atom(base.predicate, columns):
            base = atom(self._fresh(), columns)
            self._made.append(Rule(base, tuple(parts)))
        bind = Atom(self._fresh(), (*base.arguments, time))
        self._made.append(Rule(replace(bind, at=TimePoint(time)), (replace(base, at=TimePoint(time)),)))
        if not clash:
            return bind
        selected = atom(self._fresh(), columns)
        self._made.append(Rule(selected, (bind, Comparison("=", Variable(name), time))))
        return selected

    def _seen(self, group: Group, literal: Timed, origin: int, alone: bool = False) -> Formula:
        """The atom of a literal at T+k, seen from T+origin; in a window not before the stream's start."""
        found: Formula = literal.atom
        if _is_cut(group, literal) and self._rank(literal) > Before.NEVER:
            streamed = [p.shift for p in group.positive if self._rank(p) is Before.NEVER]
            if alone or min(streamed, default=math.inf) > literal.shift:
                found = Unary("boxminus", _NOW, found, clipped=True, span=literal.span)
        shift = Fraction(literal.shift - origin)
        place = literal.place if not origin else NOWHERE if literal.shift else self._head_place
        return _sometime(shift, shift, found, place)

    def _rank(self, literal: Timed) -> Before:
        return self._ranks.get(literal.atom.predicate, Before.NEVER)


def _is_cut(group: Group, literal: Timed) -> bool:
    """Whether the time of a literal does not lie before the stream's start."""
    return literal.size is not None or (group.begins and literal.shift >= 0)


def _sometime(low: Time, high: Time, formula: Formula, place: Span = NOWHERE) -> Formula:
    """`formula` at some time between `low` and `high` from here: below 0 in the past, above in the future."""
    if low == high == 0:
        return formula
    if low >= 0:
        return Unary("diamondplus", _interval(low, high, place), formula)
    if high <= 0:
        return Unary("diamondminus", _interval(-high, -low, place), formula)
    if high == math.inf:
        return _sometime(low, low, _sometime(Fraction(0), high, formula))
    return _sometime(high, high, _sometime(low - high, Fraction(0), formula))


def _interval(low: Time, high: Time, place: Span) -> Interval:
    return Interval(Fraction(low), Fraction(high) if high < math.inf else high, False, high == math.inf, span=place)


def _at_least(comparison: Comparison, name: str) -> Iterator[tuple[str, Time]]:
    """The variables U and distances d for which a comparison says that `name` is U + d or greater."""
    if comparison.left == Variable(name) and comparison.operator in ("=", ">=", ">"):
        yield from _shifted(comparison.right)
    if comparison.right == Variable(name) and comparison.operator in ("=", "<=", "<"):
        yield from _shifted(comparison.left)


def _shifted(expression: Expression) -> Iterator[tuple[str, Time]]:
    """An expression `U`, `U + d` or `U - d` as a variable and a distance."""
    match expression:
        case Variable(name):
            yield name, Fraction(0)
        case Arithmetic("+" | "-" as sign, (Variable(name), Constant(int(distance)))):
            yield name, Fraction(distance if sign == "+" else -distance)
        case Arithmetic("+", (Constant(int(distance)), Variable(name))):
            yield name, Fraction(distance)


def _unused(name: str, rule: Rule) -> str:
    taken = names_in(rule.head, *rule.body)
    while name in taken:
        name += "_"
    return name


def _unbounded(group: Group, help: str, span: Span | None = None) -> ProgramError:
    message = f"nothing bounds `{group.name}`: it may lie anywhere"
    return _error("unbounded-time", message, span or (group.positive or group.negated)[0].span, help)


def _error(code: str, message: str, span: Span, help: str) -> ProgramError:
    return ProgramError([Diagnostic(code, message, span, help=help)])
