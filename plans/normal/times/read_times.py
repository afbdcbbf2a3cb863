"""A rule's body by its times: what holds at each time variable, and what holds at the rule's own time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError, Span
from tidelog.plans.normal.rewrite import refuse
from tidelog.plans.tree.names import variables
from tidelog.plans.tree.scopes import bound
from tidelog.plans.tree.syntax import Atom, Comparison, Formula, Negation, Rule, Time, TimePoint, Truth, Window
from tidelog.plans.tree.traverse import children, spliced, subformulas


@dataclass(frozen=True, slots=True)
class Timed:
    """`p(X)@T+k`: the atom without its time, the shift k, and the size of its window `[n]`, if it stands in one.

    `place` is that of its time alone.
    """

    atom: Atom
    shift: int
    size: Time | None
    span: Span
    place: Span


@dataclass(slots=True)
class Group:
    """All literals about one time variable T.

    `low` and `high` bound t − T, where t is the rule's own time, as its windows have it; without a window (`windowed`)
    nothing does. `begins`: one of them is a literal of its own, so T does not lie before the stream's start. `settled` are
    comparisons that what holds at T decides by itself.
    """

    name: str
    positive: list[Timed] = field(default_factory=list)
    negated: list[Timed] = field(default_factory=list)
    settled: list[Comparison] = field(default_factory=list)
    low: Time = -math.inf
    high: Time = math.inf
    windowed: bool = False
    begins: bool = False

    def narrow(self, low: Time, high: Time) -> None:
        """One more window holds T."""
        self.low, self.high, self.windowed = max(self.low, low), min(self.high, high), True

    def holds(self, literal: Timed) -> bool:
        """Whether the window of a negated literal holds T wherever the group's own windows do."""
        if literal.size is None:
            return True
        return self.windowed and literal.shift <= self.low and self.high <= literal.shift + literal.size

    def inside(self) -> list[Formula]:
        """What holds at T, but for the shifts: as far as variables go."""
        return [*(literal.atom for literal in self.positive), *self.settled]


@dataclass(slots=True)
class Times:
    """The literals of one body: the groups by time variable, the other literals, and the comparisons."""

    groups: dict[str, Group]
    others: list[Formula]
    comparisons: list[Comparison]

    def valued(self, name: str, answered: set[str]) -> bool:
        """Whether a time variable is used as a value: by the head, in an argument or a comparison, by another window."""
        groups = self.groups.values()
        atoms = [literal.atom for group in groups for literal in (*group.positive, *group.negated)]
        settled = [comparison for group in groups for comparison in group.settled]
        return name in answered or name in names_in(*self.others, *self.comparisons, *settled, *atoms)


def is_timed(rule: Rule) -> bool:
    """Whether a time variable occurs in a rule."""
    waiting = [rule.head, *rule.body]
    for formula in waiting:  # it grows meanwhile
        if isinstance(formula, Atom):
            if formula.at is not None:
                return True
        elif not isinstance(formula, Comparison):
            waiting += children(formula)
    return False


def read_times(rule: Rule) -> Times:
    """The body of a rule by its times; ProgramError where a time variable stands below an operator, or can have no value."""
    times = Times({}, [], [])
    if not isinstance(rule.head, Atom):
        _check_nesting(rule.head)
    for part in spliced(rule.body):
        if isinstance(part, Comparison):
            times.comparisons.append(part)
        elif not _note(part, times.groups) and part != Truth(True):
            _check_nesting(part)
            times.others.append(part)
    for part in times.others:
        _narrow(part, times.groups)
    for group in times.groups.values():
        if group.low > group.high:
            raise _never(group)
    _settle(times)
    return times


def _never(group: Group) -> ProgramError:
    name = group.name
    message = f"the windows of `{name}` have no time in common, so the rule never fires"
    help = f"at t, the window of `p@{name}+k in [n]` holds {name} from t-k-n to t-k: widen one, or change a `k`"
    span = (group.positive or group.negated)[0].span
    return ProgramError([Diagnostic("never-fires", message, span, help=help)])


def _note(part: Formula, groups: dict[str, Group]) -> bool:
    """Put a literal `[not] p(X)@T+k [in [n]]` into its group; False if it is none."""
    literal, negated = (part.operand, True) if isinstance(part, Negation) else (part, False)
    size: Time | None = None
    if isinstance(literal, Window) and literal.mode == "at":
        if literal.window.tuples or literal.window.step is not None:
            return False
        size, literal = literal.window.size, literal.operand
    if not isinstance(literal, Atom) or literal.at is None:
        return False
    name, shift = literal.at.variable.name, literal.at.shift
    group = groups.setdefault(name, Group(name))
    found = Timed(replace(literal, at=None), shift, size, part.span, literal.at.span)
    (group.negated if negated else group.positive).append(found)
    if size is not None and not negated:
        group.narrow(shift, shift + size)
    return True


def _narrow(part: Formula, groups: dict[str, Group]) -> None:
    """A stepped window holds T as far back as its begin, a tuple window at any time in the past."""
    if isinstance(part, Window) and part.mode == "at" and (at := _time_of(part)) is not None:
        group = groups.get(at.variable.name)
        if group is not None:
            group.narrow(*reach(part, at))
            group.begins = group.begins or at.shift <= 0


def reach(part: Window, at: TimePoint) -> tuple[Time, Time]:
    """The least and the greatest distance t − T at which a stepped or tuple window can hold `p@T+k`."""
    window = part.window
    furthest = math.inf if window.tuples or window.step is None else at.shift + window.size + window.step - 1
    return at.shift, furthest


def _time_of(part: Window) -> TimePoint | None:
    return part.operand.at if isinstance(part.operand, Atom) else None


def windows_at(parts: Iterable[Formula], name: str) -> Iterator[tuple[Window, TimePoint]]:
    """The stepped and tuple windows that hold something at this time variable."""
    for part in parts:
        if isinstance(part, Window) and (at := _time_of(part)) is not None and at.variable.name == name:
            yield part, at


def _settle(times: Times) -> None:
    """Give each comparison to the first group that binds all its variables."""
    waiting, times.comparisons = times.comparisons, []
    for comparison in waiting:
        for group in times.groups.values():
            inside = [*group.inside(), comparison]
            if group.positive and set(variables(comparison)) <= set(bound(*inside)):
                group.settled.append(comparison)
                break
        else:
            times.comparisons.append(comparison)


def names_in(*formulas: Formula) -> set[str]:
    """The variables in formulas, the time variables of stepped and tuple windows included."""
    found = set(variables(*formulas))
    for formula in formulas:
        found |= {at.variable.name for at in _times_in(formula)} if not isinstance(formula, Atom) else set()
    return found


def bound_in(parts: Sequence[Formula]) -> set[str]:
    """The variables that literals bind, also the times of stepped and tuple windows."""
    times = {at.variable.name for part in parts if isinstance(part, Window) for at in _times_in(part)}
    return times.union(bound(*parts))


def _times_in(formula: Formula) -> list[TimePoint]:
    return [part.at for part in subformulas(formula) if isinstance(part, Atom) and part.at is not None]


def _check_nesting(part: Formula) -> None:
    literal = part.operand if isinstance(part, Negation) else part
    if isinstance(literal, Window) and literal.mode == "at" and isinstance(literal.operand, Atom):
        return
    nested = _times_in(literal)
    if nested:
        raise _below(nested[0])


def _below(at: TimePoint) -> ProgramError:
    return refuse(
        f"`@{at.variable.name}` stands below an operator, where its time is no longer the rule's",
        at.span,
        "write it beside the other literals, as `p(X)@T` or `p(X)@T in [5]`, or give this part a rule of its own",
    )
