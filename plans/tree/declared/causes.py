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

Two alarms may rest on the same fact of an input, and neither on the other. Then the one that is less urgent (of two that are
equally so, the one declared later) is folded into the other, if it has no rule that does without facts of that input:

    'line_dry folded into pump_off'(L, P) :- 'line_dry caused by status'(L, P, S), 'pump_off caused by status'(P, P, S), …

An alarm that holds for a reason of its own as well is not folded: rules that need no other alarm are copied, too, for
`'flow_low by itself'(L)`.
An alarm that has returned, and waits to be acknowledged, stays with the cause that it had: `'flow_low after stopped'(L, P)`.
An alarm that rests on one that is shelved, suppressed or out of service is told by itself: a silent cause explains nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import get_args

from tidelog.plans.diagnostics.errors import NOWHERE
from tidelog.plans.tree.declared.alarms import Alarm, alarms_of
from tidelog.plans.tree.names import fresh_name, head_predicate, variables
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import (
    EVER,
    Arithmetic,
    Atom,
    Background,
    Binary,
    CalendarDeclaration,
    Conjunction,
    Expression,
    FactStatement,
    Formula,
    Negation,
    Output,
    PriorityName,
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
    """The rules for causes of some alarms; `rules` are those that the program's text has, `inputs` what streams bring."""

    def __init__(self, alarms: Sequence[Alarm], rules: Sequence[Rule], inputs: Collection[str] = ()) -> None:
        self._alarms = {alarm.name: alarm for alarm in alarms}
        self._span = alarms[0].declared.span if alarms else NOWHERE
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            name = head_predicate(rule.head)
            if name is not None:
                self._rules.setdefault(name, []).append(rule)
        self._reads = {name: {each for rule in found for each in _positive(rule)} for name, found in self._rules.items()}
        self._users: dict[str, set[str]] = {}
        for name, read in self._reads.items():
            for each in read:
                self._users.setdefault(each, set()).add(name)
        self._sizes = {name: len(alarm.declared.fields) for name, alarm in self._alarms.items()}
        self._carried = {name: self._between(name) for name in self._alarms}
        self._caused = self._pairs()
        self._resting = {name for found in self._carried.values() for name in found}
        self._alone = self._without_any({*self._alarms}, self._resting)
        self._shared = self._sharing(inputs)

    @property
    def pairs(self) -> dict[str, list[str]]:
        """Each alarm with those into which it may be folded."""
        return {
            child: [*causes, *dict.fromkeys(head for head, _ in self._shared[child])]
            for child, causes in self._caused.items()
        }

    def rules(self) -> Iterator[Rule]:
        """The rules that say what is caused by what, what is folded, and what is told."""
        carried = {cause: [child for child, causes in self._caused.items() if cause in causes] for cause in self._alarms}
        for child, heads in self._shared.items():
            for head, fact in heads:
                carried[fact] = [*dict.fromkeys((*carried.get(fact, ()), child, head))]
        for cause, children in carried.items():
            between = self._carried[cause] if children else ()
            for name in [*between, *children]:
                for rule in self._rules.get(name, ()):
                    yield from self._copies(rule, cause, between)
        for alarm in self._alarms.values():
            yield from self._told(alarm)
        for name in self._alone:
            yield from self._independent(name)

    # --- which ----------------------------------------------------------------------------------------------------------

    def _between(self, cause: str) -> list[str]:
        """The predicates, but for alarms, that rest on an alarm, or an input, without another alarm between."""
        found = reachable([cause], lambda name: {each for each in self._users.get(name, ()) if each not in self._alarms})
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

    def _without_any(self, causes: Collection[str], resting: Collection[str]) -> list[str]:
        """The alarms, and what lies between, that may rest on some causes, and may hold without any of them."""
        wanted = {*resting, *(name for name in self._alarms if self._reads.get(name, set()) & {*causes, *resting})}
        alone: set[str] = set()
        while True:
            free = {*alone, *(name for name in self._reads if name not in wanted)}
            found = {
                name
                for name in wanted
                if any(self._needs_none(rule, causes, free, resting) for rule in self._rules.get(name, ()))
            }
            if found == alone:
                return [name for name in self._rules if name in alone]
            alone = found

    def _needs_none(self, rule: Rule, causes: Collection[str], free: Collection[str], resting: Collection[str]) -> bool:
        """Whether what a rule derives may hold without any of some causes, where that is so of what is `free`."""
        return all(name not in causes and (name not in resting or name in free) for name in _positive(rule))

    def _sharing(self, inputs: Collection[str]) -> dict[str, list[tuple[str, str]]]:
        """Each alarm with those that may rest on the same facts, and with the input of these."""
        rank = self._ranks()
        above = {name: reachable([name], self._caused.__getitem__) for name in self._alarms}
        found: dict[str, list[tuple[str, str]]] = {name: [] for name in self._alarms}
        for fact in inputs:
            between = self._between(fact)
            resting = [name for name in self._alarms if self._reads.get(name, set()) & {fact, *between}]
            alone = self._without_any([fact], between) if len(resting) > 1 else ()
            for child, head in product(resting, resting):
                are_related = child in above[head] or head in above[child]
                if rank[head] < rank[child] and child not in alone and not are_related:
                    found[child].append((head, fact))
                    self._carried[fact] = between
        return found

    def _ranks(self) -> dict[str, tuple[int, int, int]]:
        """An order in which causes come first, then what is urgent: alarms are folded into what comes before them."""
        depth: dict[str, int] = {}

        def depth_of(name: str) -> int:
            if name not in depth:
                depth[name] = max((depth_of(cause) + 1 for cause in self._caused[name]), default=0)
            return depth[name]

        urgency = get_args(PriorityName)
        return {
            name: (depth_of(name), urgency.index(alarm.declared.priority), place)
            for place, (name, alarm) in enumerate(self._alarms.items())
        }

    # --- rules ----------------------------------------------------------------------------------------------------------

    def _independent(self, name: str) -> Iterator[Rule]:
        for rule in self._rules[name]:
            if self._needs_none(rule, self._alarms, self._alone, self._resting):
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

    def _copies(self, rule: Rule, cause: str, between: Collection[str]) -> Iterator[Rule]:
        taken = [*variables(rule.head, *rule.body)]
        for place, part in enumerate(rule.body):
            for changed, carried in self._changed(part, cause, between, taken):
                head = _with_arguments(rule.head, cause, carried)
                yield Rule(head, (*rule.body[:place], changed, *rule.body[place + 1 :]), self._span)

    def _changed(self, part: Formula, cause: str, between: Collection[str], taken: list[str]) -> Iterator[_Copy]:
        match part:
            case Atom() if part.predicate == cause:
                self._sizes[cause] = len(part.arguments)
                if not any(isinstance(term, Arithmetic) for term in part.arguments):
                    named = tuple(_named(term, taken) for term in part.arguments)
                    yield replace(part, arguments=named), named
            case Atom() if part.predicate in between:
                carried = tuple(_named(Wildcard(), taken) for _ in range(self._sizes[cause]))
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

    def _told(self, alarm: Alarm) -> Iterator[Rule]:
        own = self._named("A", alarm.name)
        active, folded = Atom(alarm.part("active"), own), Atom(alarm.part("folded"), own)
        ways: list[tuple[str, tuple[Atom, ...]]] = [
            (cause, (Atom(caused(alarm.name, cause), (*own, *self._named("B", cause))),))
            for cause in self._caused[alarm.name]
        ]
        for head, fact in self._shared[alarm.name]:
            facts = self._named("C", fact)
            both = ((alarm.name, own), (head, self._named("B", head)))
            ways.append((head, tuple(Atom(caused(name, fact), (*row, *facts)) for name, row in both)))
        for cause, reason in ways:
            theirs = self._named("B", cause)
            body: tuple[Formula, ...] = (*reason, active, Atom(self._alarms[cause].part("active"), theirs))
            if alarm.name in self._alone and cause in self._caused[alarm.name]:
                body += (Negation(Atom(by_itself(alarm.name), own)),)
            under = Atom(folded_into(alarm.name, cause), (*own, *theirs))
            yield Rule(under, body, self._span)
        for cause in dict.fromkeys(cause for cause, _ in ways):
            theirs = self._named("B", cause)
            under, behind = (Atom(name(alarm.name, cause), (*own, *theirs)) for name in (folded_into, after))
            yield Rule(folded, (under,), self._span)
            if alarm.declared.latched:
                raised, returned = (Atom(alarm.part(part), own) for part in ("raised", "returned"))
                yield Rule(behind, (returned, Binary("since", EVER, raised, under)), self._span)
        told = (active, Negation(folded)) if ways else (active,)
        yield Rule(Atom(alarm.part("told"), own), told, self._span)

    def _named(self, letter: str, name: str) -> tuple[Variable, ...]:
        """Variables for the arguments of an alarm, or of an input."""
        return tuple(Variable(f"{letter}{number}") for number in range(1, self._sizes[name] + 1))


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


def _inputs(program: Program, rules: Sequence[Rule]) -> list[str]:
    """What streams bring: what the program declares as inputs, and what it reads and does not say where it comes from."""
    known = {head_predicate(rule.head) for rule in rules}
    known |= {item.atom.predicate for item in program.statements if isinstance(item, FactStatement)}
    known |= {item.predicate for item in program.statements if isinstance(item, Background | CalendarDeclaration)}
    return [name for name in dict.fromkeys(each for rule in rules for each in _positive(rule)) if name not in known]


def with_desk(program: Program) -> Program:
    """A program that tells a desk what becomes of its alarms, by silent outputs, and which are the cause of which."""
    alarms = alarms_of(program)
    if not alarms:
        return program
    rules = [item for item in written(program) if isinstance(item, Rule)]
    causes = Causes(alarms, rules, _inputs(program, rules))
    names = [name for alarm in alarms for name in (*alarm.parts, alarm.part("told"))]
    pairs = [(child, cause) for child, found in causes.pairs.items() for cause in found]
    names += [folded_into(child, cause) for child, cause in pairs]
    latched = {alarm.name for alarm in alarms if alarm.declared.latched}
    names += [after(child, cause) for child, cause in pairs if child in latched]
    return replace(program, statements=(*program.statements, *causes.rules(), Output(tuple(names), is_silent=True)))
