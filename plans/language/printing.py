"""Writing the syntax tree as text that reads back as the same tree: what `explain` and the messages show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import zip_longest
from typing import Any, cast

from tidelog.plans.data.facts import RESERVED, format_predicate, quote
from tidelog.plans.data.timeline import format_time
from tidelog.plans.tree import syntax
from tidelog.plans.tree.declared.machines import written_head
from tidelog.plans.tree.literals import DAYS, MONTHS, UNIT_SECONDS
from tidelog.plans.tree.numerals import canonical
from tidelog.plans.tree.walk import written

_CONSTANT = re.compile(r"[a-z](?:[A-Za-z0-9_/-]|:(?![-=]))*\Z")
_FACT_CONSTANT = re.compile(r"[A-Za-z](?:[A-Za-z0-9_/-]|:(?!-))*\Z")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_LEVEL = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "mod": 2, "neg": 3}
_HIGHEST = 4


# --- terms --------------------------------------------------------------------------------------------------------


def format_term(term: syntax.Expression) -> str:
    """A term or an expression as a rule writes it: `X`, `_`, `s-1`, `"any text"`, `V * 9 / 5 + 32`."""
    if isinstance(term, syntax.Variable):
        return term.name
    if isinstance(term, syntax.Wildcard):
        return "_"
    if isinstance(term, syntax.Constant):
        return _constant(term.value, _CONSTANT)
    return _arithmetic(term)


def _constant(value: syntax.Value, plain: re.Pattern[str]) -> str:
    if not isinstance(value, str):
        return repr(value)
    return value if plain.match(value) and value.lower() not in RESERVED else quote(value)


def _arithmetic(term: syntax.Arithmetic) -> str:
    operator, operands = term.operator, term.operands
    if operator in ("min", "max", "abs"):
        return f"{operator}({', '.join(map(format_term, operands))})"
    level = _LEVEL[operator]
    if operator == "neg":
        is_number = isinstance(operands[0], syntax.Constant) and not isinstance(operands[0].value, str)
        return f"-({format_term(operands[0])})" if is_number else f"-{_operand(operands[0], level)}"
    return f"{_operand(operands[0], level)} {operator} {_operand(operands[1], level + 1)}"


def _operand(term: syntax.Expression, level: int) -> str:
    """In parentheses where the operator around it binds tighter; operators of one level associate to the left."""
    own = _LEVEL.get(term.operator, _HIGHEST) if isinstance(term, syntax.Arithmetic) else _HIGHEST
    text = format_term(term)
    return text if own >= level else f"({text})"


# --- formulas -----------------------------------------------------------------------------------------------------


def format_formula(formula: syntax.Formula) -> str:
    """A formula as a body's literal: `boxminus[0,4] hot(X)`, `a(X) since[0,2] (b(X), c(X))`."""
    match formula:
        case syntax.Atom():
            return _atom(formula)
        case syntax.Truth():
            return "top" if formula.value else "bottom"
        case syntax.Unary():
            return _unary(formula)
        case syntax.Binary():
            between = formula.operator + str(formula.interval)
            return f"{_tight(formula.left)} {between} {_tight(formula.right)}"
        case syntax.Window() | syntax.Visits():
            return _window(formula)
        case syntax.Latest() | syntax.Aggregate():
            return _counted(formula)
        case syntax.Conjunction():
            return f"({', '.join(map(format_formula, formula.parts))})"
        case syntax.Negation():
            inner = formula.operand
            is_whole = isinstance(inner, syntax.Window) or (isinstance(inner, syntax.Unary) and bool(inner.word))
            return f"not {format_formula(inner) if is_whole else _tight(inner)}"
        case syntax.Comparison():
            return f"{format_term(formula.left)} {formula.operator} {format_term(formula.right)}"


def _tight(formula: syntax.Formula) -> str:
    """In parentheses unless nothing around it could tear it apart."""
    text = format_formula(formula)
    open_ended = isinstance(formula, syntax.Binary | syntax.Window | syntax.Comparison | syntax.Latest | syntax.Aggregate)
    is_behind = isinstance(formula, syntax.Unary) and (formula.clipped or formula.step or formula.word)
    return f"({text})" if open_ended or is_behind else text


def _atom(atom: syntax.Atom) -> str:
    text = format_predicate(atom.predicate)
    if atom.arguments:
        text += f"({', '.join(map(format_term, atom.arguments))})"
    if atom.at is None:
        return text
    shift = f"{atom.at.shift:+d}" if atom.at.shift else ""
    return f"{text}@{atom.at.variable.name}{shift}"


def _unary(formula: syntax.Unary) -> str:
    interval = formula.interval
    if formula.clipped and formula.operator == "boxminus" and interval.low == 0:
        size = format_time(interval.high) + interval.high_unit
        return f"always {_in_window(formula.operand)} in [{size}]"
    if formula.step:
        size = f"{format_time(interval.high)} step {formula.step}"
        return f"sometime {_in_window(formula.operand)} in [{size}]"
    if formula.word:
        inner = formula.operand
        is_torn = isinstance(inner, syntax.Negation)
        operand = f"({format_formula(inner)})" if is_torn else _tight(inner)
        return f"{operand} {formula.word} {_spaced(interval.high, interval.high_unit)}"
    return f"{formula.operator}{interval} {_tight(formula.operand)}"


def _spaced(time: syntax.Time, unit: str) -> str:
    return f"{format_time(time)} {unit}" if unit else format_time(time)


def _window(formula: syntax.Window | syntax.Visits) -> str:
    if isinstance(formula, syntax.Visits):
        return _visits(formula)
    mode = "" if formula.mode == "at" else f"{formula.mode} "
    return f"{mode}{_in_window(formula.operand)} in {_window_size(formula.window)}"


def _visits(formula: syntax.Visits) -> str:
    at = "" if formula.time is None else f"@{formula.time.name}"
    word = "always" if formula.part == "points" else formula.part
    return f"{word} {_atom(formula.atom)}{at} in {_window_size(formula.window)}"


def _counted(formula: syntax.Latest | syntax.Aggregate) -> str:
    if isinstance(formula, syntax.Latest):
        return f"latest {_atom(formula.atom)}{_by(formula.by)} in {_window_size(formula.window)}"
    limit = formula.threshold
    result = f"{formula.result.name} = " if limit is None else ""
    compared = "" if limit is None else f" {limit.operator} {limit.limit!r}"
    over = formula.operand
    operand = format_formula(over) if isinstance(over, syntax.Atom | syntax.Conjunction) else f"({format_formula(over)})"
    within = (
        format_period(formula.window) if isinstance(formula.window, syntax.Period) else f"in {_window_size(formula.window)}"
    )
    return f"{result}{format_function(formula)} over {operand} {within}{_by(formula.by)}{compared}"


def format_period(period: syntax.Period) -> str:
    """The periods of an aggregate: `per day zone "Europe/Berlin"`, `per shift`."""
    zone = f" zone {quote(period.zone)}" if period.zone else ""
    return f"per {format_predicate(period.name)}{zone}"


def format_function(formula: syntax.Aggregate) -> str:
    """An aggregate's function with what it is of: `count()`, `quantile(0.5, V)`."""
    given = [] if formula.fraction is None else [repr(canonical(float(formula.fraction)))]
    given += [] if formula.argument is None else [format_term(formula.argument)]
    return f"{formula.function}({', '.join(given)})"


def _by(variables: tuple[syntax.Variable, ...]) -> str:
    """In parentheses where they are several, so that no comma behind them could be taken for one among them."""
    names = ", ".join(variable.name for variable in variables)
    if not names:
        return ""
    return f" by ({names})" if len(variables) > 1 else f" by {names}"


def _in_window(formula: syntax.Formula) -> str:
    simple = isinstance(formula, syntax.Atom | syntax.Truth | syntax.Conjunction)
    return format_formula(formula) if simple else f"({format_formula(formula)})"


def _window_size(window: syntax.WindowSize) -> str:
    size = format_time(window.size) + window.size_unit
    if window.tuples:
        of = f" of {', '.join(map(format_predicate, window.of))}" if window.of else ""
        return f"[#{size}{of}]"
    if window.step is None:
        return f"[{size}]"
    return f"[{size} step {format_time(window.step)}{window.step_unit}]"


# --- statements ---------------------------------------------------------------------------------------------------


def format_statement(statement: syntax.Statement) -> str:  # noqa: PLR0911 - one for each kind
    """A statement with its full stop: `alarm(X) :- boxminus[0,4] hot(X), not ok(X).`"""
    match statement:
        case syntax.Rule(assigns="value"):
            key, value = written_head(statement)
            return f"{_atom(key)} := {format_term(value)} :- {', '.join(map(format_formula, statement.body))}."
        case syntax.Rule():
            implies = ":=" if statement.assigns == "kept" else ":-"
            return f"{format_formula(statement.head)} {implies} {', '.join(map(format_formula, statement.body))}."
        case syntax.FactStatement():
            return f"{_fact(statement)}."
        case syntax.TimelineDeclaration():
            return f"{_timeline(statement)}."
        case syntax.Input():
            return f"{_input(statement)}."
        case syntax.Output():
            return f"output {', '.join(_told(statement))}."
        case syntax.Background():
            return f"background {format_predicate(statement.predicate)} from {quote(statement.path)}."
        case syntax.Ask():
            return f"ask {_atom(statement.query)}."
        case syntax.Parameter():
            return f"parameter {statement.name} = {format_term(syntax.Constant(statement.value))}."
        case syntax.CalendarDeclaration():
            return f"{_calendar(statement)}."
        case syntax.AlarmDeclaration():
            return f"{_alarm(statement)}."


def _fact(fact: syntax.FactStatement) -> str:
    text = format_predicate(fact.atom.predicate)
    if fact.atom.arguments:
        text += f"({', '.join(map(_fact_term, fact.atom.arguments))})"
    interval = fact.interval
    if interval is None:
        return text
    is_point = interval.is_punctual and interval.low_unit == interval.high_unit
    if is_point and not (interval.left_open or interval.right_open):
        return f"{text}@{format_time(interval.low)}{interval.low_unit}"
    return f"{text}@{interval}"


def _fact_term(term: syntax.Expression) -> str:
    """In a fact every unquoted name is a constant, whatever its case."""
    return _constant(term.value, _FACT_CONSTANT) if isinstance(term, syntax.Constant) else format_term(term)


def _timeline(timeline: syntax.TimelineDeclaration) -> str:
    text = f"timeline {timeline.kind}"
    if timeline.unit is not None:
        text += f", unit {format_duration(timeline.unit)}"
    if timeline.resolution is not None:
        text += f", resolution {format_time(timeline.resolution)}"
    if timeline.rounding is not None:
        text += f", round {timeline.rounding}"
    return text


def _calendar(calendar: syntax.CalendarDeclaration) -> str:
    parts = [f"from {quote(calendar.path)}"] if calendar.path else []
    parts += format_times(calendar)
    parts += [f"zone {quote(calendar.zone)}"] if calendar.zone else []
    parts += [f"except {format_predicate(name)}" for name in calendar.excepted]
    sign = "" if calendar.path else "= "
    return f"calendar {_declared(calendar.predicate, calendar.fields)} {sign}{', '.join(parts)}"


def format_times(calendar: syntax.CalendarDeclaration) -> list[str]:
    """The parts that say when a calendar holds: `mon-fri 08:00-17:00`, or `each day`; none where a file says it."""
    return [f"each {calendar.each}"] if calendar.each else [*map(_daily, calendar.daily)]


def _alarm(alarm: syntax.AlarmDeclaration) -> str:
    parts = [_declared(alarm.predicate, alarm.fields), f"priority {alarm.priority}"]
    parts += [f"text {quote(alarm.text)}"] if alarm.text else []
    parts += ["acknowledge"] if alarm.latched else []
    parts += [] if alarm.longest is None else [f"shelve at most {format_time(alarm.longest)} {alarm.longest_unit}".rstrip()]
    parts += [f"inhibited by {_atom(atom)}" for atom in alarm.inhibitors]
    return f"alarm {', '.join(parts)}"


def _daily(daily: syntax.Daily) -> str:
    days = [DAYS[low] if low == high else f"{DAYS[low]}-{DAYS[high]}" for low, high in daily.days]
    times = [f"{_time_of_day(begin)}-{_time_of_day(end)}" for begin, end in daily.times]
    return " ".join([*days, *(_dates(*dates) for dates in daily.dates), *times])


def _dates(first: str, last: str) -> str:
    if len(first) > len("12-24"):
        return first if first == last else f"{first} to {last}"
    low, high = (f"{MONTHS[int(date[:2]) - 1]} {int(date[3:])}" for date in (first, last))
    return low if first == last else f"{low}-{high}"


def _time_of_day(seconds: int) -> str:
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if seconds % 60 else text


def format_duration(seconds: Fraction) -> str:
    """In the largest unit of which it is a whole number: 300 seconds are `5 min`."""
    for unit, length in reversed(list(UNIT_SECONDS.items())):
        if (seconds / length).denominator == 1:
            return f"{seconds / length} {unit}"
    return f"{seconds} s"


def _input(declaration: syntax.Input) -> str:
    text = f"input {_declared(declaration.predicate, declaration.fields)}"
    return text if declaration.delay is None else f"{text} delay {format_time(declaration.delay)}{declaration.delay_unit}"


def _declared(predicate: str, fields: tuple[syntax.Field, ...]) -> str:
    named = f"({', '.join(map(_field, fields))})" if fields else ""
    return format_predicate(predicate) + named


def _told(output: syntax.Output) -> Iterator[str]:
    for predicate, fields in zip_longest(output.predicates, output.fields, fillvalue=()):
        yield _declared(cast(str, predicate), cast(Any, fields))


def _field(field: syntax.Field) -> str:
    name = field.name if _FIELD.match(field.name) else quote(field.name)
    return name if field.type == "any" else f"{name}: {field.type}"


def format_program(program: syntax.Program) -> str:
    """A program, one statement a line, each line ended; what assignments and alarms stand for is left out."""
    return "".join(f"{format_statement(statement)}\n" for statement in written(program))
