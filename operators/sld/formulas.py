"""What a formula asks of its parts: alternatives, each a tuple of tasks (`plans/syntax.py` has the formulas).

At the time τ, `diamondminus[a,b] M` is M at τ-d for some d, `boxminus[a,b] M` for each; `M since[a,b] N` is N at τ-d and M
at all times between; a window is one of these. What has no end would have infinitely many alternatives or premises, but
for ◇: there, the time is a variable of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tidelog.operators.sld.comparing import START_SLOT, instantiate, write
from tidelog.operators.sld.rulebook import is_unbounded
from tidelog.operators.sld.tasks import Call, Deny, Equal, Scope, Solve, Step, Task, Tasks, Test
from tidelog.operators.sld.terms import Bindings, shift
from tidelog.plans.errors import ProgramError, Span
from tidelog.plans.normal.rewrite import refuse
from tidelog.plans.preconditions import Argument, Slot
from tidelog.plans.syntax import (
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
    Time,
    Truth,
    Unary,
    UnaryOperator,
    Variable,
    Window,
)

_SIGN = {"diamondminus": -1, "boxminus": -1, "since": -1, "diamondplus": 1, "boxplus": 1, "until": 1}
_DIAMOND: Mapping[UnaryOperator, UnaryOperator] = {"boxminus": "diamondminus", "boxplus": "diamondplus"}
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
    return Call(atom.predicate, arguments_of(atom, scope), time_of(atom, scope, time), scope.above)


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


def relate(left: Argument, operator: ComparisonOperator, right: Argument) -> Test:
    """A comparison of two terms as a task."""
    return Test(Comparison(operator, write(left), write(right)))


# --- metric operators ---------------------------------------------------------------------------------------------------


def _unary(formula: Unary, task: Solve, bindings: Bindings) -> Step:
    sign = _SIGN[formula.operator]
    low, high = _ends(formula.interval)
    if formula.operator.startswith("diamond"):
        if is_unbounded(high):
            return _some_time(formula.operand, task, sign, int(low), bindings)
        return _alternatives(low, high, lambda d: (task._replace(formula=formula.operand, time=shift(task.time, sign * d)),))
    if is_unbounded(high):
        raise endless(f"`{formula.operator}` without an end", formula.span)
    if isinstance(formula.operand, Negation):  # □ ¬φ is ¬ ◇ φ
        never = replace(formula, operator=_DIAMOND[formula.operator], operand=formula.operand.operand)
        return (Deny(never, task.scope, task.time),)
    return tuple(Solve(formula.operand, task.scope, shift(task.time, sign * d)) for d in range(int(low), int(high) + 1))


def _ends(interval: Interval) -> tuple[Time, Time]:
    return interval.low, interval.high


def _alternatives(low: Time, high: Time, way: Callable[[int], Tasks]) -> Iterator[Tasks]:
    return (way(d) for d in range(int(low), int(high) + 1))


def _some_time(formula: Formula, task: Solve, sign: int, low: int, bindings: Bindings) -> Tasks:
    """`diamondminus[a,inf) M`: M at a time V of its own, V <= τ-a."""
    when = bindings.new("T", is_time=True)
    bound = relate(when, "<=" if sign < 0 else ">=", shift(task.time, sign * low))
    return bound, Solve(formula, task.scope, when)


def _binary(formula: Binary, task: Solve) -> Step:
    sign, (low, high) = _SIGN[formula.operator], _ends(formula.interval)
    if is_unbounded(high):
        raise endless(f"`{formula.operator}` without an end", formula.span)

    def way(distance: int) -> Tasks:
        if isinstance(formula.left, Negation) and distance > 1:
            throughout = Unary(_BOX[formula.operator], Interval(1, distance - 1), formula.left, span=formula.span)
            last = Solve(formula.right, task.scope, shift(task.time, sign * distance))
            return last, Solve(throughout, task.scope, task.time)
        between = (Solve(formula.left, task.scope, shift(task.time, sign * d)) for d in range(1, distance))
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
    return stepped(int(step), task.time, lambda end: _ways(_plain_window(window, task._replace(time=end), bindings)))


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
        if is_unbounded(size):
            return _some_time(inner, task, -1, 0, bindings)
        return _alternatives(0, size, lambda d: (task._replace(formula=inner, time=shift(task.time, -d)),))
    if not isinstance(inner, Atom) or inner.at is None:
        raise refuse("a window with `@` holds one atom", inner.span)
    return _timed(inner, task, size, bindings)


def _always(inner: Formula, task: Solve, size: int) -> Iterator[Tasks]:
    """`always M in [n]`: from the stream's start on, where that lies in the window."""
    for length in range(size + 1):
        begin = shift(task.time, -length)
        parts: list[Task] = [relate(begin, "=" if length < size else ">=", START_SLOT)]
        parts += (Solve(inner, task.scope, shift(task.time, -d)) for d in range(length, -1, -1))
        yield tuple(parts)


def _timed(atom: Atom, task: Solve, size: Time, bindings: Bindings) -> Step:
    """`p(X)@T in [n]`: the time is one of the window's, and not before the stream's start."""
    literal = call(atom, task.scope, task.time)
    when, end = bindings.walk(literal.time), bindings.walk(task.time)
    begun = relate(literal.time, ">=", START_SLOT)
    if is_unbounded(size):
        return relate(literal.time, "<=", task.time), begun, literal
    distance = _difference(end, when)
    if distance is not None:
        return (begun, literal) if 0 <= distance <= size else NEVER
    return _alternatives(0, size, lambda d: (Equal(literal.time, shift(end, -d)), begun, literal))


def _difference(left: Argument, right: Argument) -> int | None:
    if isinstance(left, Slot) and isinstance(right, Slot) and left.variable == right.variable:
        return left.offset - right.offset
    return left - right if isinstance(left, int) and isinstance(right, int) else None
