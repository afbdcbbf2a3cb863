"""What a formula asks of its parts: alternatives, each a tuple of tasks (`plans/tree/syntax.py` has the formulas).

At the time τ, `diamondminus[a,b] M` is M at τ-d for some d, `boxminus[a,b] M` for each; `M since[a,b] N` is N at τ-d and M
at all times between; a window is one of these. Where ◇ bridges many distances, the time is a variable of its own with
bounds, and one alternative. What has no end would have infinitely many alternatives or premises, but for ◇.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tidelog.operators.sld.comparisons.comparing import START_SLOT, instantiate, write
from tidelog.operators.sld.comparisons.terms import Bindings, shift
from tidelog.operators.sld.goals.rulebook import is_unbounded
from tidelog.operators.sld.goals.tasks import Call, Deny, Equal, Scope, Solve, Step, Task, Tasks, Test, Throughout
from tidelog.operators.sld.goals.writing import relate
from tidelog.operators.sld.limits import is_long
from tidelog.plans.diagnostics.errors import ProgramError, Span
from tidelog.plans.normal.rewrite import refuse
from tidelog.plans.plan.preconditions import Argument, Slot
from tidelog.plans.tree.syntax import (
    Arithmetic,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Formula,
    Interval,
    Negation,
    Time,
    Truth,
    Unary,
    UnaryOperator,
    Variable,
    Window,
)

_SIGN = {"diamondminus": -1, "boxminus": -1, "since": -1, "diamondplus": 1, "boxplus": 1, "until": 1}
DIAMOND: Mapping[UnaryOperator, UnaryOperator] = {"boxminus": "diamondminus", "boxplus": "diamondplus"}
_BOX: Mapping[str, UnaryOperator] = {"since": "boxminus", "until": "boxplus"}
NEVER: Iterator[Tasks] = iter(())


def solve(task: Solve, bindings: Bindings) -> Step:
    """The ways in which a formula can hold; ProgramError if these are infinitely many."""
    formula, scope, time = task
    match formula:
        case Atom():
            return (call(formula, scope, time),)
        case Truth():
            return () if formula.value else NEVER
        case Conjunction():
            return tuple(Solve(part, scope, time) for part in formula.parts)
        case Comparison():
            return (Test(_compared(formula, scope.variables)),)
        case Negation():
            return (Deny(formula.operand, scope, time),)
        case Unary():
            return _unary(formula, task, bindings)
        case Binary():
            return _binary(formula, task)
        case Window():
            return _window(formula, task, bindings)
    raise refuse("`ask` cannot look into this", formula.span)


def call(atom: Atom, scope: Scope, time: Argument) -> Call:
    """An atom of a rule as a literal: at its own time, or at the rule's."""
    return Call(atom.predicate, arguments_of(atom, scope), time_of(atom, scope, time), scope.above, scope.is_listed)


def arguments_of(atom: Atom, scope: Scope) -> tuple[Argument, ...]:
    """The arguments of an atom, its variables numbered."""
    return tuple(_argument(term, scope.variables) for term in atom.arguments)


def time_of(atom: Atom, scope: Scope, time: Argument) -> Argument:
    """The time of an atom: the one it bears, or the one given."""
    return time if atom.at is None else shift(scope.variables[atom.at.variable.name], atom.at.shift)


def _argument(term: Expression, variables: Mapping[str, Slot]) -> Argument:
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Variable):
        return variables[term.name]
    raise TypeError(f"an argument is a constant or a variable, got {type(term).__name__}")


def _compared(comparison: Comparison, variables: Mapping[str, Slot]) -> Comparison:
    left, right = instantiate(comparison.left, variables), instantiate(comparison.right, variables)
    return Comparison(comparison.operator, left, right, comparison.span)


# --- metric operators ---------------------------------------------------------------------------------------------------


def _unary(formula: Unary, task: Solve, bindings: Bindings) -> Step:
    sign = _SIGN[formula.operator]
    low, high = _ends(formula.interval)
    if formula.operator.startswith("diamond"):
        if is_open_in(task.scope, low, high):
            return _some_time(formula.operand, task, sign, (low, high), bindings)
        return _alternatives(low, high, lambda d: (task._replace(formula=formula.operand, time=shift(task.time, sign * d)),))
    if is_unbounded(high):
        raise endless(f"`{formula.operator}` without an end", formula.span)
    if isinstance(formula.operand, Negation):  # □ ¬φ is ¬ ◇ φ
        never = replace(formula, operator=DIAMOND[formula.operator], operand=formula.operand.operand)
        return (Deny(never, task.scope, task.time),)
    distances = sorted((sign * int(low), sign * int(high)))
    return (Throughout(formula.operand, task.scope, shift(task.time, distances[0]), distances[1] - distances[0]),)


def _ends(interval: Interval) -> tuple[Time, Time]:
    return interval.low, interval.high


def _alternatives(low: Time, high: Time, way: Callable[[int], Tasks]) -> Iterator[Tasks]:
    return (way(d) for d in range(int(low), int(high) + 1))


def listed(scope: Scope) -> Scope:
    """The scope under what wants something at many times."""
    return scope if scope.is_listed else scope._replace(is_listed=True)


def each(task: Throughout) -> Tasks:
    """A formula at each of many times, one by one."""
    scope = listed(task.scope) if task.width else task.scope
    return tuple(Solve(task.formula, scope, shift(task.first, d)) for d in range(task.width + 1))


def is_open_in(scope: Scope, low: Time, high: Time) -> bool:
    """Whether what bridges these distances has a time of its own; in a recursion and under □, only what has no end."""
    return is_unbounded(high) or (scope.above is None and not scope.is_listed and is_long(low, high))


def _some_time(formula: Formula, task: Solve, sign: int, ends: tuple[Time, Time], bindings: Bindings) -> Tasks:
    """`diamondminus[a,b] M`: M at a time V of its own, τ-b <= V <= τ-a."""
    when = bindings.new("T", is_time=True)
    return *bounds_of(when, task.time, sign, ends), Solve(formula, task.scope, when)


def bounds_of(when: Argument, time: Argument, sign: int, ends: tuple[Time, Time]) -> Iterator[Test]:
    """That `when` lies so far before `time`, or behind it: at least, and at most where that has an end."""
    yield relate(when, "<=" if sign < 0 else ">=", shift(time, sign * int(ends[0])))
    if not is_unbounded(ends[1]):
        yield relate(when, ">=" if sign < 0 else "<=", shift(time, sign * int(ends[1])))


def _binary(formula: Binary, task: Solve) -> Step:
    sign, (low, high) = _SIGN[formula.operator], _ends(formula.interval)
    if is_unbounded(high):
        raise endless(f"`{formula.operator}` without an end", formula.span)

    def way(distance: int) -> Tasks:
        if isinstance(formula.left, Negation) and distance > 1:
            throughout = Unary(_BOX[formula.operator], Interval(1, distance - 1), formula.left, span=formula.span)
            last = Solve(formula.right, task.scope, shift(task.time, sign * distance))
            return last, Solve(throughout, task.scope, task.time)
        scope = listed(task.scope) if distance > 2 else task.scope
        between = (Solve(formula.left, scope, shift(task.time, sign * d)) for d in range(1, distance))
        return Solve(formula.right, task.scope, shift(task.time, sign * distance)), *between

    return _alternatives(low, high, way)


def endless(what: str, span: Span) -> ProgramError:
    """The error for what would need infinitely many facts."""
    return refuse(f"{what} needs infinitely many facts, and no answer would come", span, "give it an end, such as `[0,10]`")


# --- windows ------------------------------------------------------------------------------------------------------------


def _window(window: Window, task: Solve, bindings: Bindings) -> Step:
    step = window.window.step
    if step is None:
        return _plain_window(window, task, bindings)
    scope = listed(task.scope)  # bounds beside multiples are not seen through
    return stepped(int(step), task.time, lambda end: _ways(_plain_window(window, Solve(window, scope, end), bindings)))


def stepped(step: int, time: Argument, inner: Callable[[Argument], Iterator[Tasks]]) -> Iterator[Tasks]:
    """The alternatives for each distance from the last multiple of a window's step, where the window ends."""
    for back in range(step):
        end = shift(time, -back)
        is_multiple = Test(Comparison("=", Arithmetic("mod", (write(end), Constant(step))), Constant(0)))
        for way in inner(end):
            yield is_multiple, *way


def _ways(step: Step) -> Iterator[Tasks]:
    return iter((step,)) if isinstance(step, tuple) else step


def _plain_window(window: Window, task: Solve, bindings: Bindings) -> Step:
    size, inner = window.window.size, window.operand
    if window.mode == "always":
        if is_unbounded(size):
            raise endless("`always` in a window without an end", window.span)
        return _always(inner, task, int(size))
    if window.mode == "sometime":
        if is_open_in(task.scope, 0, size):
            return _some_time(inner, task, -1, (0, size), bindings)
        return _alternatives(0, size, lambda d: (task._replace(formula=inner, time=shift(task.time, -d)),))
    if not isinstance(inner, Atom) or inner.at is None:
        raise refuse("a window with `@` holds one atom", inner.span)
    return _timed(inner, task, size, bindings)


def _always(inner: Formula, task: Solve, size: int) -> Iterator[Tasks]:
    """`always M in [n]`: from the stream's start on, where that lies in the window."""
    for length in range(size + 1):
        begin = shift(task.time, -length)
        parts: list[Task] = [relate(begin, "=" if length < size else ">=", START_SLOT)]
        scope = listed(task.scope) if length else task.scope
        parts += (Solve(inner, scope, shift(task.time, -d)) for d in range(length, -1, -1))
        yield tuple(parts)


def _timed(atom: Atom, task: Solve, size: Time, bindings: Bindings) -> Step:
    """`p(X)@T in [n]`: the time is one of the window's, and not before the stream's start."""
    literal = call(atom, task.scope, task.time)
    when, end = bindings.walk(literal.time), bindings.walk(task.time)
    begun = relate(literal.time, ">=", START_SLOT)
    distance = _difference(end, when)
    if distance is not None and not is_unbounded(size):
        return (begun, literal) if 0 <= distance <= size else NEVER
    if is_open_in(task.scope, 0, size):
        return *bounds_of(literal.time, task.time, -1, (0, size)), begun, literal
    return _alternatives(0, size, lambda d: (Equal(literal.time, shift(end, -d)), begun, literal))


def _difference(left: Argument, right: Argument) -> int | None:
    if isinstance(left, Slot) and isinstance(right, Slot) and left.variable == right.variable:
        return left.offset - right.offset
    return left - right if isinstance(left, int) and isinstance(right, int) else None
