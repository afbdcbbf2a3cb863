"""Causes: which alarm holds since which other one does, as rules that are made of the program's own.

An alarm rests on another one where a rule of it reads that one, or reads what is derived from it. For each such pair, rules
are copied with the arguments of the cause carried along, so that what they derive says whose proof rests on what:

    flow_low(L) :- stopped(P), feeds(P, L).          gives
    'flow_low caused by stopped'(L, P) :- stopped(P), feeds(P, L).

Predicates between the two get such copies, too. What stands below a `not`, an aggregate or `latest`, or on the left of since
or until, is no cause: more than one alarm may be needed there, or none. Two alarms that rest on each other are no cause of
each other.

With them it is derived which alarms are folded into another one, and which are told by themselves:

    'flow_low folded into stopped'(L, P) :- 'flow_low caused by stopped'(L, P), 'flow_low active'(L), 'stopped active'(P).
    'flow_low folded'(L) :- 'flow_low folded into stopped'(L, P).
    'flow_low told'(L) :- 'flow_low active'(L), not 'flow_low folded'(L).

An alarm that holds for a reason of its own as well is not folded: rules that need no other alarm are copied, too, for
`'flow_low by itself'(L)`.
An alarm that has returned, and waits to be acknowledged, stays with the cause that it had: `'flow_low after stopped'(L, P)`.
An alarm that rests on one that is shelved, suppressed or out of service is told by itself: a silent cause explains nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from tidelog.plans.diagnostics.errors import NOWHERE, Span
from tidelog.plans.tree.alarms import Alarm, alarms_of
from tidelog.plans.tree.names import fresh_name, head_predicate, variables
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import (
    EVER,
    Arithmetic,
    Atom,
    Binary,
    Conjunction,
    Expression,
    Formula,
    Negation,
    Output,
    Program,
    Rule,
    Unary,
    Variable,
    Wildcard,
    Window,
)
from tidelog.plans.tree.walk import written

CAUSED_BY, INTO, AFTER = " caused by ", " folded into ", " after "
_Copy = tuple[Formula, tuple[Expression, ...]]
"""A formula with one atom of it changed, and the arguments of the cause."""


def caused(child: str, cause: str) -> str:
    """The predicate that says which alarm is caused by which."""
    return f"{child}{CAUSED_BY}{cause}"


def folded_into(child: str, cause: str) -> str:
    """The predicate that says which alarm is folded into which."""
    return f"{child}{INTO}{cause}"


def after(child: str, cause: str) -> str:
    """The predicate that says into which alarm one was folded that has returned."""
    return f"{child}{AFTER}{cause}"


def by_itself(name: str) -> str:
    """The predicate that says where something holds without any alarm."""
    return f"{name} by itself"


class Causes:
    """The rules for causes of some alarms; `rules` are those that the program's text has."""

    def __init__(self, alarms: Sequence[Alarm], rules: Sequence[Rule]) -> None:
        self._alarms = {alarm.name: alarm for alarm in alarms}
        self._span = alarms[0].declared.span if alarms else NOWHERE
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            name = head_predicate(rule.head)
            if name is not None:
                self._rules.setdefault(name, []).append(rule)
        self._reads = {name: {each for rule in found for each in _positive(rule)} for name, found in self._rules.items()}
        self._carried = {name: self._between(name) for name in self._alarms}
        self.pairs = self._pairs()
        """Each alarm with those that may cause it."""
        self._resting = {name for found in self._carried.values() for name in found}
        self._alone = self._find_alone()

    def rules(self) -> Iterator[Rule]:
        """The rules that say what is caused by what, what is folded, and what is told."""
        for cause, alarm in self._alarms.items():
            children = [child for child, causes in self.pairs.items() if cause in causes]
            between = self._carried[cause] if children else ()
            for name in [*between, *children]:
                for rule in self._rules.get(name, ()):
                    yield from self._copies(rule, cause, between, alarm.declared.span)
        for child, causes in self.pairs.items():
            yield from self._told(self._alarms[child], causes)
        for name in self._alone:
            yield from self._independent(name)

    # --- which ----------------------------------------------------------------------------------------------------------

    def _between(self, cause: str) -> list[str]:
        """The predicates, but for alarms, that rest on an alarm without another one between."""
        users: dict[str, set[str]] = {}
        for name, read in self._reads.items():
            for each in read:
                users.setdefault(each, set()).add(name)
        found = reachable([cause], lambda name: {each for each in users.get(name, ()) if each not in self._alarms})
        return [name for name in self._rules if name in found and name != cause]

    def _pairs(self) -> dict[str, list[str]]:
        direct = {
            child: [
                cause
                for cause in self._alarms
                if cause != child and self._reads.get(child, set()) & {cause, *self._carried[cause]}
            ]
            for child in self._alarms
        }
        above = {child: reachable(direct[child], lambda name: direct.get(name, ())) for child in direct}
        return {child: [cause for cause in causes if child not in above[cause]] for child, causes in direct.items()}

    def _find_alone(self) -> list[str]:
        """The alarms, and what lies between them, that may rest on another alarm, and may hold without one."""
        wanted = {*self._resting, *(child for child, causes in self.pairs.items() if causes)}
        alone: set[str] = set()
        while True:
            found = {name for name in wanted if any(self._needs_none(rule, alone) for rule in self._rules.get(name, ()))}
            if found == alone:
                return [name for name in self._rules if name in alone]
            alone = found

    def _needs_none(self, rule: Rule, alone: Collection[str]) -> bool:
        """Whether what a rule derives may hold without any alarm, where that is so of `alone`."""
        return all(name not in self._alarms and (name not in self._resting or name in alone) for name in _positive(rule))

    # --- rules ----------------------------------------------------------------------------------------------------------

    def _independent(self, name: str) -> Iterator[Rule]:
        for rule in self._rules[name]:
            if self._needs_none(rule, self._alone):
                body = tuple(self._without(part) for part in rule.body)
                yield Rule(_renamed(rule.head, by_itself(name)), body, self._span)

    def _without(self, part: Formula) -> Formula:
        """A formula that reads what holds without any alarm."""
        match part:
            case Atom():
                return replace(part, predicate=by_itself(part.predicate)) if part.predicate in self._resting else part
            case Unary() | Window():
                return replace(part, operand=self._without(part.operand))
            case Binary():
                return replace(part, right=self._without(part.right))
            case Conjunction():
                return replace(part, parts=tuple(map(self._without, part.parts)))
            case _:
                return part

    def _copies(self, rule: Rule, cause: str, between: Collection[str], span: Span) -> Iterator[Rule]:
        taken = [*variables(rule.head, *rule.body)]
        for place, part in enumerate(rule.body):
            for changed, carried in self._changed(part, cause, between, taken):
                head = _with_arguments(rule.head, cause, carried)
                yield Rule(head, (*rule.body[:place], changed, *rule.body[place + 1 :]), span)

    def _changed(self, part: Formula, cause: str, between: Collection[str], taken: list[str]) -> Iterator[_Copy]:
        match part:
            case Atom() if part.predicate == cause:
                if not any(isinstance(term, Arithmetic) for term in part.arguments):
                    named = tuple(_named(term, taken) for term in part.arguments)
                    yield replace(part, arguments=named), named
            case Atom() if part.predicate in between:
                size = len(self._alarms[cause].declared.fields)
                carried = tuple(_named(Wildcard(), taken) for _ in range(size))
                yield replace(part, predicate=caused(part.predicate, cause), arguments=(*part.arguments, *carried)), carried
            case Unary() | Window():
                for changed, carried in self._changed(part.operand, cause, between, taken):
                    yield replace(part, operand=changed), carried
            case Binary():
                for changed, carried in self._changed(part.right, cause, between, taken):
                    yield replace(part, right=changed), carried
            case Conjunction():
                for place, each in enumerate(part.parts):
                    for changed, carried in self._changed(each, cause, between, taken):
                        yield replace(part, parts=(*part.parts[:place], changed, *part.parts[place + 1 :])), carried
            case _:
                pass

    def _told(self, alarm: Alarm, causes: Sequence[str]) -> Iterator[Rule]:
        span = alarm.declared.span
        own = tuple(Variable(f"A{number}") for number in range(1, len(alarm.declared.fields) + 1))
        active, folded = Atom(alarm.part("active"), own, span=span), Atom(alarm.part("folded"), own, span=span)
        for cause in causes:
            size = len(self._alarms[cause].declared.fields)
            theirs = tuple(Variable(f"B{number}") for number in range(1, size + 1))
            pair, under, behind = (
                Atom(between(alarm.name, cause), (*own, *theirs), span=span) for between in (caused, folded_into, after)
            )
            body: tuple[Formula, ...] = (pair, active, Atom(self._alarms[cause].part("active"), theirs, span=span))
            if alarm.name in self._alone:
                body += (Negation(Atom(by_itself(alarm.name), own, span=span)),)
            yield Rule(under, body, span)
            yield Rule(folded, (under,), span)
            if alarm.declared.latched:
                raised, returned = (Atom(alarm.part(part), own, span=span) for part in ("raised", "returned"))
                yield Rule(behind, (returned, Binary("since", EVER, raised, under, span)), span)
        told = (active, Negation(folded)) if causes else (active,)
        yield Rule(Atom(alarm.part("told"), own, span=span), told, span)


def _positive(rule: Rule) -> Iterator[str]:
    """The predicates that may be causes in a rule."""
    waiting = [*rule.body]
    while waiting:
        match waiting.pop():
            case Atom(predicate=name):
                yield name
            case Unary(operand=operand) | Window(operand=operand):
                waiting.append(operand)
            case Binary(right=right):
                waiting.append(right)
            case Conjunction(parts=parts):
                waiting += parts
            case _:
                pass


def _named(term: Expression, taken: list[str]) -> Expression:
    """A term that can stand in a head, too: `_` gets a name."""
    if not isinstance(term, Wildcard):
        return term
    taken.append(fresh_name("C", taken))
    return Variable(taken[-1])


def _with_arguments(head: Formula, cause: str, carried: tuple[Expression, ...]) -> Formula:
    match head:
        case Atom():
            return replace(head, predicate=caused(head.predicate, cause), arguments=(*head.arguments, *carried))
        case Unary():
            return replace(head, operand=_with_arguments(head.operand, cause, carried))
        case _:
            raise TypeError(f"no head of an alarm: {head!r}")


def _renamed(head: Formula, name: str) -> Formula:
    if isinstance(head, Unary):
        return replace(head, operand=_renamed(head.operand, name))
    return replace(head, predicate=name) if isinstance(head, Atom) else head


def with_desk(program: Program) -> Program:
    """A program that tells a desk what becomes of its alarms, by silent outputs, and which are the cause of which."""
    alarms = alarms_of(program)
    if not alarms:
        return program
    causes = Causes(alarms, [item for item in written(program) if isinstance(item, Rule)])
    names = [name for alarm in alarms for name in (*alarm.parts, alarm.part("told"))]
    pairs = [(child, cause) for child, found in causes.pairs.items() for cause in found]
    names += [folded_into(child, cause) for child, cause in pairs]
    latched = {alarm.name for alarm in alarms if alarm.declared.latched}
    names += [after(child, cause) for child, cause in pairs if child in latched]
    return replace(program, statements=(*program.statements, *causes.rules(), Output(tuple(names), is_silent=True)))
