"""Pass: tuple windows, and stepped windows over `@T`, become what operators compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import refuse, rewrite_rules
from tidelog.plans.normal.times.before_start import Before, Ranks, ranks_of
from tidelog.plans.normal.times.expand_windows import NOW, at_multiples
from tidelog.plans.normal.times.read_times import names_in
from tidelog.plans.tree.arithmetic import plus
from tidelog.plans.tree.names import atom, fresh_name, variables
from tidelog.plans.tree.syntax import (
    Atom,
    Comparison,
    Conjunction,
    Expression,
    Formula,
    Interval,
    Negation,
    Rule,
    TimePoint,
    Unary,
    Variable,
    Visits,
    Wildcard,
    Window,
)
from tidelog.plans.tree.traverse import children, rebuild, spliced


def split_windows(program: NormalProgram) -> NormalProgram:
    """Write a tuple window as two predicates: when facts enter it, and when they leave it.

    The rest of a body is joined with the visits that have begun; only what remains waits until it is known which have
    ended (Bazoobandi et al. 2017, Definition 4). A window below an operator or `not` gets a predicate of its own. In a
    stepped window T becomes a column.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("split_windows", "timeline integer. p(X,T) :- sometime q(X) in [#3], r(X)@T in [9 step 5]."))
    timeline integer.
    output p.
    'p.1'(X, Visit) :- entered q(X) in [#3].
    'p.2'(Visit) :- left q(X) in [#3].
    'p.3'(X, T)@T :- r(X)@T.
    p(X, T) :- 'p.1'(X, Visit), not 'p.2'(Visit), sometime (diamondminus[0,9] 'p.3'(X, T)) in [0 step 5].
    """
    ranks = ranks_of(program)
    return rewrite_rules(program, lambda rule, fresh: _Splitter(rule, fresh, ranks).rules(), (Window, Conjunction))


class _Splitter:
    """The rules that one rule becomes, each before those that read it."""

    def __init__(self, rule: Rule, fresh: Callable[[], str], ranks: Ranks) -> None:
        self._rule = rule
        self._fresh = fresh
        self._ranks = ranks
        self._taken = names_in(rule.head, *rule.body)
        self._made: list[Rule] = []

    def rules(self) -> Iterator[Rule]:
        body = [literal for part in spliced(self._rule.body) for literal in self._literals(part)]
        yield from self._made
        yield replace(self._rule, body=tuple(body))

    def _literals(self, part: Formula) -> list[Formula]:
        """One literal of the rule itself: visits stay among the others, to be joined with them."""
        if isinstance(part, Window) and part.window.tuples and part.mode != "always":
            return self._visiting(part, _atom_in(part))
        return [self._inside(part)]

    def _inside(self, formula: Formula) -> Formula:
        formula = rebuild(formula, self._inside)
        if not isinstance(formula, Window):
            return formula
        if formula.window.tuples:
            return self._defined(formula)
        at = _at(formula)
        return formula if at is None or formula.mode != "at" else self._stepped(formula, at)

    # --- tuple windows --------------------------------------------------------------------------------------------------

    def _visiting(self, window: Window, found: Atom) -> list[Formula]:
        """A visit has begun, and not ended."""
        columns, visit = [*variables(found)], self._unused("Visit")
        time, shifted = self._time_of(window)
        body = Visits("entered", found, window.window, time, Variable(visit), window.span)
        columns += [] if time is None else [time.name]
        entered = self._define(atom(self._fresh(), [*columns, visit]), body)
        left = self._define(atom(self._fresh(), [visit]), replace(body, part="left"))
        return [entered, *shifted, Negation(left, window.span)]

    def _defined(self, window: Window) -> Formula:
        """The window as an atom. A wildcard is a column, since an operator around may ask for one constant at all times."""
        found = _atom_in(window)
        named = replace(found, arguments=tuple(map(self._named, found.arguments)))
        times = [] if (at := _at(window)) is None else [at.variable.name]
        columns = dict.fromkeys([*variables(named), *times])
        if window.mode == "always":
            visits = Visits("points", named, window.window, span=window.span)
            holds = self._define(atom(self._fresh(), columns), visits)
        else:
            holds = self._define(atom(self._fresh(), columns), *self._visiting(window, named))
        mentioned = {*variables(found), *times}
        return Atom(holds.predicate, tuple(Variable(name) if name in mentioned else Wildcard() for name in columns))

    def _named(self, argument: Expression) -> Expression:
        return Variable(self._unused("Any")) if isinstance(argument, Wildcard) else argument

    # --- stepped windows ------------------------------------------------------------------------------------------------

    def _stepped(self, window: Window, at: TimePoint) -> Formula:
        found = _atom_in(window)
        time, shifted = self._time_of(window)
        any_time = self._is_alone(found, at.variable.name)
        operand = self._streamed(found) if any_time else self._bound(found, time or at.variable)
        back = Interval(Fraction(0), window.window.size, span=window.window.span)
        stepped = at_multiples(Unary("diamondminus", back, operand, span=window.span), int(window.window.step or 1))
        if any_time or not shifted:
            return stepped
        return self._define(atom(self._fresh(), dict.fromkeys([*variables(found), at.variable.name])), stepped, *shifted)

    def _is_alone(self, found: Atom, time: str) -> bool:
        """Whether nothing but the window of an atom mentions its time, so that any time will do."""
        mentions = sum(_mentions(part, time) for part in (self._rule.head, *self._rule.body))
        return mentions == 1 and time not in variables(found)

    def _streamed(self, found: Atom) -> Formula:
        """The atom; where it could hold before the stream's start, from there on."""
        if self._ranks.get(found.predicate, Before.NEVER) > Before.NEVER:
            return Unary("boxminus", NOW, found, clipped=True, span=found.span)
        return found

    def _bound(self, found: Atom, time: Variable) -> Atom:
        """The atom with its time as the last column, from the stream's start on."""
        columns = variables(found)
        base = self._streamed(found)
        if not isinstance(base, Atom) or base != atom(base.predicate, columns):
            base = self._define(atom(self._fresh(), columns), base)
        bound = atom(self._fresh(), [*columns, time.name])
        self._define(replace(bound, at=TimePoint(time)), replace(base, at=TimePoint(time)))
        return bound

    # --- both -----------------------------------------------------------------------------------------------------------

    def _time_of(self, window: Window) -> tuple[Variable | None, list[Formula]]:
        """The column for the time of `p(X)@T+k`, and what makes T of it if it is not T itself."""
        at = _at(window)
        if at is None:
            return None, []
        if not at.shift and at.variable.name not in variables(_atom_in(window)):
            return at.variable, []
        time = Variable(self._unused(f"{at.variable.name}_"))
        return time, [Comparison("=", at.variable, plus(time, -at.shift), at.span)]

    def _define(self, head: Atom, *body: Formula) -> Atom:
        self._made.append(Rule(head, body))
        return head

    def _unused(self, name: str) -> str:
        found = fresh_name(name, self._taken)
        self._taken.add(found)
        return found


def _atom_in(window: Window) -> Atom:
    """The atom in a window, without its time; the checks let nothing else stand there."""
    if not isinstance(window.operand, Atom):
        raise refuse("a tuple window holds one atom, not a formula", window.operand.span, "write a window for each atom")
    return replace(window.operand, at=None)


def _mentions(formula: Formula, time: str) -> int:
    """How many literals mention a time variable."""
    below = children(formula)
    if below:
        return sum(_mentions(child, time) for child in below)
    stamped = isinstance(formula, Atom) and formula.at is not None and formula.at.variable.name == time
    return int(stamped or time in variables(formula))


def _at(window: Window) -> TimePoint | None:
    return window.operand.at if isinstance(window.operand, Atom) else None
