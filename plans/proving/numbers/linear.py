"""Linear inequalities over the rationals: whether some have a solution, and one of their solutions.

Equalities are solved and put in; what remains is decided by the method of Fourier and Motzkin: a variable is taken away by
adding each of its lower bounds to each of its upper ones. Both steps keep exactly the solutions of the other variables, so
`0 < 0` at the end proves that there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Literal

Sign = Literal["<=", "<", "="]
MOST = 600
"""With more inequalities than these it is given up: nothing is said then."""


Number = Fraction | int
"""An exact number; a whole one is an int, with which Python reckons much faster."""


def exact(value: Number) -> Number:
    """The number, as an int where it is whole."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


@dataclass(frozen=True, slots=True)
class Sum:
    """`2 x - y + 3`: coefficients of variables, none of them 0, and a constant."""

    parts: tuple[tuple[str, Number], ...] = ()
    constant: Number = 0

    @staticmethod
    def of(parts: Mapping[str, Number], constant: Number = 0) -> Sum:
        """A sum of these parts."""
        return Sum(tuple(sorted((name, factor) for name, factor in parts.items() if factor)), constant)

    def plus(self, other: Sum, times: Number = 1) -> Sum:
        """This and so many times the other."""
        if not other.parts:
            return Sum(self.parts, exact(self.constant + other.constant * times))
        parts = dict(self.parts)
        for name, factor in other.parts:
            parts[name] = exact(parts.get(name, 0) + factor * times)
        return Sum.of(parts, exact(self.constant + other.constant * times))

    def scaled(self, times: Number) -> Sum:
        """So many times this, which is not 0."""
        if times == 1:
            return self
        return Sum(tuple((name, exact(factor * times)) for name, factor in self.parts), exact(self.constant * times))

    def factor(self, name: str) -> Number:
        """The coefficient of a variable."""
        for known, factor in self.parts:
            if known == name:
                return factor
        return 0


def inverse(value: Number) -> Number:
    """One divided by a number."""
    return value if value in (1, -1) else exact(Fraction(1) / value)


def variable(name: str) -> Sum:
    """`x`."""
    return Sum(((name, 1),))


def number(value: Number) -> Sum:
    """A sum without variables."""
    return Sum((), exact(value))


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left <= 0`, `left < 0` or `left = 0`."""

    left: Sum
    sign: Sign

    def is_settled(self) -> bool | None:
        """Whether it holds, where it has no variables; else None."""
        if self.left.parts:
            return None
        value = self.left.constant
        return value == 0 if self.sign == "=" else value < 0 or (value == 0 and self.sign == "<=")

    def denied(self) -> tuple[Constraint, ...]:
        """Constraints of which one holds where this does not."""
        opposite = self.left.scaled(-1)
        if self.sign == "=":
            return Constraint(self.left, "<"), Constraint(opposite, "<")
        return (Constraint(opposite, "<" if self.sign == "<=" else "<="),)


def compared(left: Sum, sign: str, right: Sum) -> Constraint | None:
    """A comparison as a constraint; None for `!=`, which is none."""
    match sign:
        case "=" | "<" | "<=":
            return Constraint(left.plus(right, -1), sign)
        case ">" | ">=":
            return Constraint(right.plus(left, -1), "<" if sign == ">" else "<=")
    return None


def is_infeasible(constraints: Iterable[Constraint]) -> bool:
    """Whether it is proved that nothing solves them all.

    >>> x = variable("x")
    >>> is_infeasible([compared(x, ">", number(3)), compared(x, "<", number(3))])
    True
    """
    steps = _eliminated(constraints, None)
    return steps is None


def solution(constraints: Iterable[Constraint], whole: Iterable[str] = ()) -> dict[str, Fraction] | None:
    """A solution, of small whole numbers where that goes; None where there is none, or too much had to be tried.

    Variables of `whole` get whole numbers, if a greedy choice finds them.

    >>> x, y = variable("x"), variable("y")
    >>> solution([compared(x, ">=", number(80)), compared(y, ">", x)])
    {'x': Fraction(80, 1), 'y': Fraction(81, 1)}
    """
    trail: list[tuple[str, Sequence[Constraint]]] = []
    constraints = list(constraints)
    if _eliminated(constraints, trail) is None:
        return None
    bounded = {name for name, _ in trail}
    names = sorted({name for each in constraints for name, _ in each.left.parts})
    found = {name: Fraction(0) for name in names if name not in bounded}  # it vanished with another: any value will do
    wanted = frozenset(whole)
    for name, bounds in reversed(trail):
        value = _chosen(name, [_put_in(each, found) for each in bounds], name in wanted)
        if value is None:
            return None
        found[name] = value
    return dict(sorted(found.items()))


def _put_in(constraint: Constraint, known: Mapping[str, Fraction]) -> Constraint:
    parts: dict[str, Number] = {}
    constant = constraint.left.constant
    for name, factor in constraint.left.parts:
        if name in known:
            constant += factor * known[name]
        else:
            parts[name] = factor
    return Constraint(Sum.of(parts, constant), constraint.sign)


def _eliminated(
    constraints: Iterable[Constraint], trail: list[tuple[str, Sequence[Constraint]]] | None
) -> list[Constraint] | None:
    """Take all variables away; None where that shows a contradiction. What is given up leaves something behind."""
    waiting = _tidied(constraints)
    while waiting is not None and any(each.left.parts for each in waiting):
        equal = next((each for each in waiting if each.sign == "=" and each.left.parts), None)
        if equal is not None:
            name = equal.left.parts[0][0]
            about = [each for each in waiting if each.left.factor(name)]
            rest = [each for each in waiting if not each.left.factor(name)]
            new = [_without(each, name, equal) for each in about if each is not equal]
            if trail is not None:
                trail.append((name, about))
        else:
            name = _cheapest(waiting)
            about = [each for each in waiting if each.left.factor(name)]
            rest = [each for each in waiting if not each.left.factor(name)]
            new = _combined(about, name)
            if trail is not None:
                trail.append((name, about))
        if len(rest) + len(new) > MOST:
            return waiting if trail is None else None
        waiting = _tidied([*rest, *new])
    return waiting


def _tidied(constraints: Iterable[Constraint]) -> list[Constraint] | None:
    """Each once, and what holds anyway left out; None where one can never hold."""
    kept: dict[Constraint, None] = {}
    for each in constraints:
        settled = each.is_settled()
        if settled is False:
            return None
        if settled is None:
            first = each.left.parts[0][1]
            factor = first if first > 0 else -first
            kept[Constraint(each.left.scaled(inverse(factor)), each.sign)] = None
    return list(kept)


def _without(constraint: Constraint, name: str, equal: Constraint) -> Constraint:
    """A constraint with a variable put in from an equality."""
    times = -constraint.left.factor(name) * inverse(equal.left.factor(name))
    return Constraint(constraint.left.plus(equal.left, times), constraint.sign)


def _cheapest(constraints: Sequence[Constraint]) -> str:
    """The variable whose elimination makes the fewest new inequalities."""
    lower: dict[str, int] = {}
    upper: dict[str, int] = {}
    for each in constraints:
        for name, factor in each.left.parts:
            side = upper if factor > 0 else lower
            side[name] = side.get(name, 0) + 1
    return min(sorted({*lower, *upper}), key=lambda name: lower.get(name, 0) * upper.get(name, 0))


def _combined(about: Sequence[Constraint], name: str) -> list[Constraint]:
    uppers = [each for each in about if each.left.factor(name) > 0]
    lowers = [each for each in about if each.left.factor(name) < 0]
    return [
        Constraint(
            above.left.scaled(inverse(above.left.factor(name))).plus(below.left, -inverse(below.left.factor(name))),
            "<" if "<" in (above.sign, below.sign) else "<=",
        )
        for above in uppers
        for below in lowers
    ]


def _chosen(name: str, bounds: Sequence[Constraint], is_whole: bool) -> Fraction | None:
    """A number within bounds that are about nothing else: a whole one beside a bound, if there is one."""
    low: tuple[Fraction, bool] | None = None
    high: tuple[Fraction, bool] | None = None
    for each in bounds:
        factor = each.left.factor(name)
        value, is_open = Fraction(-each.left.constant) / factor, each.sign == "<"
        if each.sign == "=" or factor > 0:
            high = (value, is_open) if high is None or (value, not is_open) < (high[0], not high[1]) else high
        if each.sign == "=" or factor < 0:
            low = (value, is_open) if low is None or (value, is_open) > low else low
    if low is None and high is None:
        return Fraction(0)
    if low is None:
        assert high is not None  # noqa: S101 - one of them is there
        least = Fraction(ceil(high[0]) - 1 if high[1] else floor(high[0]))
        return min(least, Fraction(0)) if not high[1] or high[0] > 0 else least
    first = Fraction(floor(low[0]) + 1 if low[1] else ceil(low[0]))
    if high is None:
        return first
    if first < high[0] or (first == high[0] and not high[1]):
        return first
    if is_whole:
        return None
    if low[0] == high[0]:
        return None if low[1] or high[1] else low[0]
    return (low[0] + high[0]) / 2 if low[0] < high[0] else None
