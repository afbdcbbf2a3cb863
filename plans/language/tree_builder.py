"""From lark's reductions to the syntax tree, node by node, with nothing walked twice."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from lark import Token, Transformer

from tidelog.plans.data.times import read_iso
from tidelog.plans.diagnostics.errors import DataError, Span
from tidelog.plans.language.drafting.alarms import (
    Part,
    acknowledge_of,
    alarm_of,
    inhibited_of,
    priority_of,
    shelve_of,
    text_of,
)
from tidelog.plans.language.drafting.calendars import Each, Except, Zone, calendar_of, daily_of
from tidelog.plans.language.drafting.measures import By, by_of, latest_of, measure_of
from tidelog.plans.language.drafts import (
    TYPES,
    FixedTime,
    Lasting,
    Name,
    Prefix,
    apply_lasting,
    apply_prefix,
    apply_window,
    as_formula,
    as_plain_term,
    as_term,
    cover,
    in_head,
    place_of,
    predicate_name,
    rounding_named,
    too_deep,
    unknown_type,
)
from tidelog.plans.language.measures import Chain, Measure, split_chain
from tidelog.plans.language.printing import format_term
from tidelog.plans.language.statements import MAX_DEPTH
from tidelog.plans.tree import syntax
from tidelog.plans.tree.declared.machines import assigning
from tidelog.plans.tree.literals import UNIT_SECONDS, Refusal, read_interval, read_text, read_time, refuse, token_span
from tidelog.plans.tree.numerals import read_number

MAX_ARGUMENTS = 64
"""The most arguments that an atom may have."""
MAX_LITERALS = 200
"""The most literals that a body, or a conjunction in it, may have."""

_OPERATORS = {"//": "//", "/": "/", "*": "*", "+": "+", "-": "-", "mod": "mod"}


class TreeBuilder(Transformer[Token, Any]):
    """One method for each rule of the grammar that builds a node; raises Refusal for what the grammar cannot tell."""

    def rule(self, items: list[Any]) -> syntax.Rule:
        head, *between, _, body = items
        parts = body.parts if isinstance(body, syntax.Conjunction) else (as_formula(body),)
        if between:
            return _assignment(as_formula(head), as_term(between[1]), parts, cover([head, parts[-1]]))
        return syntax.Rule(in_head(as_formula(head)), parts, cover([head, parts[-1]]))

    def conjunction(self, items: list[Any]) -> Any:
        items = [part for item in items for part in (item.parts if isinstance(item, Chain) else (item,))]
        if len(items) == 1:
            return items[0]
        if len(items) > MAX_LITERALS:
            where = place_of(items[MAX_LITERALS])
            raise refuse(where, f"a conjunction has more than {MAX_LITERALS} literals", code="too-many-literals")
        parts = tuple(map(as_formula, items))
        return syntax.Conjunction(parts, cover(parts))

    def parenthesis(self, items: list[Any]) -> Any:
        inner = items[1]
        return inner if isinstance(inner, Name | syntax.Atom) else replace(inner, span=cover(items))

    def binary(self, items: list[Any]) -> syntax.Binary:
        left, right = as_formula(items[0]), as_formula(items[-1])
        interval = items[2] if len(items) == 4 else syntax.EVER
        return syntax.Binary(cast(Any, items[1].lower()), interval, left, right, cover([left, right]))

    def prefix(self, items: list[Any]) -> Prefix:
        return Prefix(items[0].lower(), items[1] if len(items) > 1 else None, cover(items))

    def prefixed(self, items: list[Any]) -> Any:
        prefixes = [item for item in items if isinstance(item, Prefix)]
        windows = [item for item in items if isinstance(item, syntax.WindowSize | Lasting)]
        base = items[len(prefixes)]
        if not prefixes and not windows:
            return base
        if len(prefixes) + len(windows) > MAX_DEPTH:
            raise too_deep(prefixes[MAX_DEPTH].span if len(prefixes) > MAX_DEPTH else windows[-1].span)
        if isinstance(base, Chain):
            return self._chained(prefixes, base, windows)
        formula = as_formula(base)
        for window in windows:
            if isinstance(window, Lasting):
                prefixes, formula = apply_lasting(prefixes, formula, window)
            else:
                prefixes, formula = apply_window(prefixes, formula, window)
        for prefix in reversed(prefixes):
            formula = apply_prefix(prefix, formula)
        return formula

    def _chained(self, prefixes: list[Prefix], chain: Chain, windows: list[syntax.WindowSize | Lasting]) -> Any:
        """What stands before comparisons is the first one's, what stands behind them the last one's."""
        if windows:
            raise refuse(chain.span, "it is not clear where `by` ends", help="put its variables in parentheses: `by (S, X)`")
        first: syntax.Formula = chain.parts[0]
        for prefix in reversed(prefixes):
            first = apply_prefix(prefix, first)
        return replace(chain, parts=cast(Any, (first, *chain.parts[1:])))

    def latest(self, items: list[Any]) -> syntax.Latest:
        return latest_of(items)

    def aggregate(self, items: list[Any]) -> Measure:
        return measure_of(items)

    def by(self, items: list[Any]) -> By:
        return by_of(items)

    def time_window(self, items: list[Any]) -> syntax.WindowSize:
        size, unit = read_time(items[2])
        if len(items) < 6:
            return syntax.WindowSize(size, unit, span=cover(items))
        step, step_unit = read_time(items[4])
        return syntax.WindowSize(size, unit, step=step, step_unit=step_unit, span=cover(items))

    def tuple_window(self, items: list[Any]) -> syntax.WindowSize:
        size, _ = read_time(items[3])
        predicates = tuple(item.text for item in items if isinstance(item, Name))
        return syntax.WindowSize(size, tuples=True, of=predicates, span=cover(items))

    def lasting(self, items: list[Any]) -> Lasting:
        time, unit = read_time(items[1])
        span = cover(items)
        if time < 0:
            raise refuse(span, f"`{items[0].lower()}` is followed by how long, and no time is shorter than 0")
        interval = syntax.Interval(Fraction(0), time, False, time == math.inf, "", unit, token_span(items[1]))
        return Lasting(items[0].lower(), interval, span)

    def period(self, items: list[Any]) -> syntax.Period:
        zone = read_text(items[3]) if len(items) > 2 else ""
        name = items[1].text if isinstance(items[1], Name) else items[1].lower()
        return syntax.Period(name, zone, cover(items))

    def interval(self, items: list[Any]) -> syntax.Interval:
        return read_interval(items, cover(items))

    # terms

    def comparison(self, items: list[Any]) -> syntax.Comparison | Chain:
        if len(items) > 3:
            return self._chain([as_term(item) for item in items[::2]], items[1::2])
        left, right = as_term(items[0]), as_term(items[2])
        return syntax.Comparison(cast(Any, str(items[1])), left, right, cover(items))

    def _chain(self, sides: list[Any], operators: list[Token]) -> Chain:
        chain = split_chain(sides, [str(operator) for operator in operators])
        if chain is not None:
            return chain
        help = "write two comparisons, joined by `,`"
        if not any(isinstance(side, Measure | syntax.Arithmetic) for side in sides):
            left, middle, right = map(format_term, sides[:3])
            help = f"write `{left} {operators[0]} {middle}, {middle} {operators[1]} {right}`"
        raise refuse(token_span(operators[1]), "a comparison has two sides", help=help)

    def sum(self, items: list[Any]) -> syntax.Arithmetic:
        operands = (as_term(items[0]), as_term(items[2]))
        return syntax.Arithmetic(cast(Any, _OPERATORS[items[1].lower()]), operands, cover(items))

    product = sum

    def negative(self, items: list[Any]) -> syntax.Expression:
        return syntax.Arithmetic("neg", (as_term(items[1]),), cover(items))

    def negative_number(self, items: list[Any]) -> syntax.Constant:
        return syntax.Constant(-items[1].value, cover(items))

    fact_negative = negative_number

    def number(self, items: list[Any]) -> syntax.Constant:
        try:
            return syntax.Constant(read_number(items[0]), token_span(items[0]))
        except DataError as error:
            raise refuse(token_span(items[0]), error.reason, code="bad-number") from error

    def text(self, items: list[Any]) -> syntax.Constant:
        return syntax.Constant(read_text(items[0]), token_span(items[0]))

    # atoms

    def arguments(self, items: list[Any]) -> tuple[tuple[syntax.Expression, ...], Token]:
        if len(items) - 2 > MAX_ARGUMENTS:
            where = place_of(items[MAX_ARGUMENTS + 1])
            raise refuse(where, f"an atom has more than {MAX_ARGUMENTS} arguments", code="too-many-arguments")
        return tuple(as_term(item) for item in items[1:-1]), items[-1]

    fact_arguments = arguments

    def atom(self, items: list[Any]) -> Name | syntax.Atom:
        name, arguments, span = items[0], None, token_span(items[0])
        for item in items[1:]:
            if isinstance(item, tuple):
                arguments, span = item[0], Span(span.start, place_of(item[1]).end)
        text = predicate_name(name) if name.type == "QUOTED" else str(name)
        draft = Name(text, name.type == "QUOTED", arguments, span)
        at = items[-1]
        if isinstance(at, FixedTime):
            shown = "" if arguments is None else "(...)"
            raise refuse(
                at.span,
                "only a fact has a fixed time",
                help=f"look back with a metric operator, such as `diamondminus[1,2] {text}{shown}`",
            )
        if not isinstance(at, syntax.TimePoint):
            return draft
        atom = as_formula(draft)
        if not isinstance(atom, syntax.Atom):
            raise refuse(span, f"`{text}` has no time")
        return replace(atom, at=at, span=Span(span.start, at.span.end))

    def time_variable(self, items: list[Any]) -> syntax.TimePoint:
        variable = as_plain_term(str(items[1]), token_span(items[1]))
        if not isinstance(variable, syntax.Variable):
            message = f"expected a time variable after `@`, found `{items[1]}`"
            raise refuse(variable.span, message, help="a variable starts upper-case, such as `T`")
        shift = 0
        if len(items) == 4:
            size, _ = read_time(items[3])
            shift = int(size) if items[2] == "+" else -int(size)
        return syntax.TimePoint(variable, shift, cover(items[1:]))

    def fixed_time(self, items: list[Any]) -> FixedTime:
        return FixedTime(self._timetoken_span(items[1]), cover(items))

    def _timetoken_span(self, item: Any) -> syntax.Interval:
        if isinstance(item, syntax.Interval):
            return item
        time, unit = read_time(item)
        return syntax.Interval(time, time, False, False, unit, unit, token_span(item))

    # facts and directives

    def fact(self, items: list[Any]) -> syntax.FactStatement:
        name, arguments, span, interval = items[0], (), items[0].span, None
        for item in items[1:]:
            if isinstance(item, tuple):
                arguments, span = item[0], Span(span.start, place_of(item[1]).end)
            else:
                interval = item
        atom = syntax.Atom(name.text, arguments, None, span)
        end = span if interval is None else interval.span
        return syntax.FactStatement(atom, interval, Span(span.start, end.end))

    def fact_time(self, items: list[Any]) -> syntax.Interval:
        if isinstance(items[1], syntax.Interval):
            return items[1]
        time, unit = _read_moment(items[1])
        return syntax.Interval(time, time, False, False, unit, unit, token_span(items[1]))

    def fact_interval(self, items: list[Any]) -> syntax.Interval:
        return read_interval(items, cover(items), _read_moment)

    def fact_name(self, items: list[Any]) -> syntax.Constant:
        return syntax.Constant(str(items[0]), token_span(items[0]))

    def predicate(self, items: list[Any]) -> Name:
        token = items[0]
        return Name(predicate_name(token), token.type == "QUOTED", None, token_span(token))

    def timeline(self, items: list[Any]) -> syntax.TimelineDeclaration:
        given: dict[str, tuple[Fraction, str, Span]] = {}
        rounding: syntax.Rounding | None = None
        for item in items[2:]:
            option, span = item[0], item[-1]
            if option in given or (option == "round" and rounding is not None):
                raise refuse(span, f"`{option}` is given twice")
            if option == "round":
                rounding = item[1]
            else:
                given[option] = item[1:]
        unit = _unit(given["unit"]) if "unit" in given else None
        resolution = _resolution(given["resolution"], unit) if "resolution" in given else None
        return syntax.TimelineDeclaration(items[1].lower(), unit, resolution, rounding, cover(items[:2]))

    def timeline_option(self, items: list[Any]) -> tuple[Any, ...]:
        span = token_span(items[1])
        if items[0].type == "ROUND":
            return "round", rounding_named(items[1]), span
        time, unit = read_time(items[1])
        if isinstance(time, float) or time <= 0:
            raise refuse(span, f"the {items[0].lower()} is a finite time above 0")
        return items[0].lower(), time, unit, span

    def input(self, items: list[Any]) -> syntax.Input:
        fields: tuple[syntax.Field, ...] = ()
        delay: syntax.Time | None = None
        delay_unit = ""
        for item in items[2:]:
            if isinstance(item, tuple):
                fields = item
            elif item.type == "TIME":
                delay, delay_unit = read_time(item)
        return syntax.Input(items[1].text, fields, delay, delay_unit, cover(items[:2]))

    def fields(self, items: list[Any]) -> tuple[syntax.Field, ...]:
        if len(items) - 2 > MAX_ARGUMENTS:
            where = token_span(items[MAX_ARGUMENTS + 1][0])
            raise refuse(where, f"a predicate has more than {MAX_ARGUMENTS} fields", code="too-many-arguments")
        types = [item[1] for item in items[1:-1] if item[1] is not None]
        wrong = [unknown_type(token) for token in types if token.lower() not in TYPES]
        if wrong:
            raise Refusal(*wrong)
        return tuple(_field(*item) for item in items[1:-1])

    def field(self, items: list[Any]) -> tuple[Token, Token | None]:
        return items[0], items[1] if len(items) > 1 else None

    def output(self, items: list[Any]) -> syntax.Output:
        names, fields = zip(*items[1:], strict=True)
        last = fields[-1][-1] if fields[-1] else names[-1]
        return syntax.Output(tuple(name.text for name in names), fields if any(fields) else (), span=cover([items[0], last]))

    def told(self, items: list[Any]) -> tuple[Name, tuple[syntax.Field, ...]]:
        return items[0], items[1] if len(items) > 1 else ()

    def background(self, items: list[Any]) -> syntax.Background:
        return syntax.Background(items[1].text, read_text(items[3]), cover(items))

    def calendar(self, items: list[Any]) -> syntax.CalendarDeclaration:
        return calendar_of(items)

    def calendar_times(self, items: list[Token]) -> syntax.Daily:
        return daily_of(items)

    def calendar_each(self, items: list[Token]) -> Each:
        return Each(cast(Any, items[1].lower()), cover(items))

    def calendar_zone(self, items: list[Token]) -> Zone:
        return Zone(read_text(items[1]), cover(items))

    def calendar_except(self, items: list[Any]) -> Except:
        return Except(items[-1].text, len(items) > 1, cover(items))

    def alarm(self, items: list[Any]) -> syntax.AlarmDeclaration:
        return alarm_of(items)

    def alarm_priority(self, items: list[Token]) -> Part:
        return priority_of(items)

    def alarm_text(self, items: list[Token]) -> Part:
        return text_of(items)

    def alarm_acknowledge(self, items: list[Token]) -> Part:
        return acknowledge_of(items)

    def alarm_shelve(self, items: list[Token]) -> Part:
        return shelve_of(items)

    def alarm_inhibited(self, items: list[Any]) -> Part:
        return inhibited_of(items)

    def parameter(self, items: list[Any]) -> syntax.Parameter:
        name, sign, constant = items[1:]
        if not (name[0].isupper() and name.isidentifier()):
            raise refuse(token_span(name), f"a parameter is named like a variable, such as `LIMIT`, got `{name}`")
        if sign != "=":
            raise refuse(token_span(sign), f"expected `=`, found `{sign}`")
        return syntax.Parameter(str(name), constant.value, cover(items))

    def named(self, items: list[Any]) -> syntax.Constant:
        name = items[0]
        if name[0].isupper() or name[0] == "_":
            raise refuse(token_span(name), f"a parameter is a constant, and `{name}` is a variable")
        return syntax.Constant(str(name), token_span(name))

    def ask(self, items: list[Any]) -> syntax.Ask:
        query = as_formula(items[1])
        if not isinstance(query, syntax.Atom):
            raise refuse(query.span, "`ask` takes an atom, such as `malf(X)@T`")
        return syntax.Ask(query, cover([items[0], query]))


def _field(name: Token, kind: Token | None) -> syntax.Field:
    text = read_text(name) if name.type == "STRING" else str(name)
    return syntax.Field(text, cast(Any, "any" if kind is None else kind.lower()), token_span(name))


def _read_moment(token: Token) -> tuple[syntax.Time, str]:
    """A fact's time: as everywhere in a program, or as data writes it, which is told in seconds since 1970."""
    if token.type != "MOMENT":
        return read_time(token)
    try:
        return read_iso(token), "s"
    except DataError as error:
        raise refuse(token_span(token), error.reason, code="bad-number") from error


def _unit(given: tuple[Fraction, str, Span]) -> Fraction:
    time, unit, span = given
    if not unit:
        raise refuse(span, "`unit` takes a number with a unit of time", help="such as `unit 1 s` or `unit 5 min`")
    return time * UNIT_SECONDS[unit]


def _resolution(given: tuple[Fraction, str, Span], program_unit: Fraction | None) -> Fraction:
    time, unit, span = given
    if not unit:
        return time
    if program_unit is None:
        help = "write the resolution as a plain number, or declare `unit 1 s` before it"
        raise refuse(span, "the program does not say what a unit of time is", help=help, code="unit-undeclared")
    return time * UNIT_SECONDS[unit] / program_unit


def _assignment(key: syntax.Formula, value: syntax.Expression, body: tuple[syntax.Formula, ...], span: Span) -> syntax.Rule:
    """`mode(M) := running :- start(M)`: left an atom, right one value."""
    if not isinstance(key, syntax.Atom) or key.at is not None:
        help = "write what is assigned to as an atom: `mode(M) := running :- start(M)`"
        raise refuse(key.span, "left of `:=` stands an atom, without a time", help=help)
    if not isinstance(value, syntax.Variable | syntax.Constant):
        help = "give it a name in the body: `n(M) := Next :- tick(M), n(M, N), Next = N + 1`"
        raise refuse(value.span, "right of `:=` stands a variable or a constant", help=help)
    return assigning(key, value, body, span)
