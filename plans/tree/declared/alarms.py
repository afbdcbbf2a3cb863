"""Alarms: the rules that `alarm hot(room), acknowledge, shelve at most 8 h, inhibited by night.` stands for.

An alarm is an output whose predicate says when its condition holds. What people do with it are facts of further predicates,
which no text declares: `'hot acknowledge'`, `'hot shelve'` and so on. Each has the alarm's arguments; then who did it, what
was said, and from where (`via`). A shelf holds for as long as it was asked for; its last arguments are its begin and end, so
that one which is begun anew is another, even with the same end.

What follows is derived (ISA-18.2 and IEC 62682, OPC UA Part 9), with R for the alarm's arguments and P for those of people:

- `'hot removed'(R, P)` from `'hot remove'(R, P)` on, up to `'hot restore'(R, _)`;
- `'hot shelved'(R, P, B, E)` while `'hot shelve'(R, P, B, E)` holds, up to `'hot unshelve'(R, _)`;
- `'hot suppressed'(R)` while `hot(R)` and what inhibits it hold;
- `'hot active'(R)` while `hot(R)` holds and is none of these;
- `'hot acknowledged'(R, P)` from `'hot acknowledge'(R, P)` on, for as long as it is active without a break;
- `'hot unacknowledged'(R)` while it is active, and nobody has acknowledged it;
- `'hot raised'(R)` from its begin on, also behind its end, until it is acknowledged or hidden. It needs `acknowledge`;
- `'hot returned'(R)` while it is raised, and not active;
- `hot_state(R, S)` with the first of `STATES` that is so. It has none where it is normal.

What hides an alarm, and what ends that, at the same time: the end counts, so that nothing is hidden by mistake.
An alarm that comes out of a shelf, of suppression, or back into service while its condition holds is unacknowledged: it is
shown anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, get_args

from tidelog.plans.tree.names import fresh_name
from tidelog.plans.tree.syntax import (
    EVER,
    AlarmDeclaration,
    Atom,
    Binary,
    Conjunction,
    Constant,
    Field,
    Formula,
    Input,
    Negation,
    Output,
    Program,
    Rule,
    Statement,
    Term,
    Variable,
    Wildcard,
)

ActionName = Literal["acknowledge", "comment", "shelve", "unshelve", "remove", "restore"]
ACTIONS: Final[tuple[ActionName, ...]] = get_args(ActionName)
"""What people do with an alarm. `remove` takes it out of service, `restore` brings it back."""
STATES: Final = (
    "out_of_service",
    "shelved",
    "suppressed",
    "unacknowledged",
    "acknowledged",
    "returned_unacknowledged",
)
"""The states of an alarm that is not normal."""
BY: Final = ("who", "comment", "via")
"""What is known of everything that people do."""
SHELF: Final = (*BY, "begins", "ends")
"""What is known of a shelf."""
_STATE: Final = "_state"


@dataclass(frozen=True)
class Alarm:
    """The predicates and the rules of one alarm."""

    declared: AlarmDeclaration

    @property
    def name(self) -> str:
        """The predicate of its condition."""
        return self.declared.predicate

    @property
    def state(self) -> str:
        """The predicate that tells its state as its last argument, for rules and outputs."""
        return self.name + _STATE

    @property
    def states(self) -> tuple[str, ...]:
        """The states that it can have, beside the normal one."""
        never = {
            "returned_unacknowledged": not self.declared.latched,
            "shelved": self.declared.longest is None,
            "suppressed": not self.declared.inhibitors,
        }
        return tuple(state for state in STATES if not never.get(state))

    def part(self, what: str) -> str:
        """The predicate of an action, or of what follows from actions."""
        return f"{self.name} {what}"

    @cached_property
    def parts(self) -> dict[str, int]:
        """The predicates that the desk is told of, each with how many arguments it has."""
        size, by = len(self.declared.fields), len(BY)
        own = {"active": 0}
        own |= {"raised": 0, "returned": 0} if self.declared.latched else {}
        own |= {"suppressed": 0} if self.declared.inhibitors else {}
        theirs = {"acknowledged": by, "shelved": len(SHELF), "removed": by}
        return {self.part(what): size + more for what, more in {**own, **theirs}.items()}

    @cached_property
    def actions(self) -> dict[str, str]:
        """The predicate of each action."""
        return {action: self.part(action) for action in ACTIONS}

    def statements(self, *, is_strict: bool) -> Iterator[Statement]:
        """What the declaration stands for beside itself; where a program `is_strict`, it declares its inputs."""
        fields, span = self.declared.fields, self.declared.span
        yield Output((self.name,), (fields,) if fields else (), span=span)
        if len({field.name for field in fields}) < len(fields):
            return  # what is wrong with them is said of the output alone
        for action in ACTIONS if is_strict else ():
            more = SHELF if action == "shelve" else BY
            yield Input(self.part(action), (*fields, *(Field(name, "text") for name in more)), span=span)
        yield from self._rules()

    # --- rules ----------------------------------------------------------------------------------------------------------

    def _rules(self) -> Iterator[Rule]:
        condition, active = self._atom(self.name), self._atom(self.part("active"))
        yield from self._removed()
        yield from self._shelved()
        hidden = self._atom(self.part("hidden"))
        for reason in self._hidden():
            yield self._rule(hidden, reason)
        yield self._rule(active, condition, Negation(hidden), *map(Negation, self._inhibitors))
        yield from self._acknowledged(active)
        unacknowledged = self._atom(self.part("unacknowledged"))
        yield self._rule(unacknowledged, active, Negation(self._some("acknowledged", BY)))
        if self.declared.latched:
            yield from self._returned(active, unacknowledged)
        for inhibitor in self._inhibitors:
            yield self._rule(self._atom(self.part("suppressed")), condition, inhibitor)
        yield from self._states()

    def _removed(self) -> Iterator[Rule]:
        restored, back = self._atom(self.part("restored")), self._some("restore", BY)
        removed = self._atom(self.part("removed"), BY)
        yield self._rule(restored, back)
        remove = Conjunction((self._atom(self.part("remove"), BY), Negation(restored)))
        begun = Binary("since", EVER, Negation(restored), remove, self.declared.span)
        yield self._rule(removed, Negation(restored), begun)

    def _shelved(self) -> Iterator[Rule]:
        shelf, opened, ended = (self._atom(self.part(what), SHELF) for what in ("shelve", "unshelving", "unshelved"))
        yield self._rule(opened, shelf, self._some("unshelve", BY))
        yield self._rule(ended, shelf, Binary("since", EVER, shelf, opened, self.declared.span))
        yield self._rule(self._atom(self.part("shelved"), SHELF), shelf, Negation(ended))

    def _acknowledged(self, active: Atom) -> Iterator[Rule]:
        done, noted = (self._atom(self.part(what), BY) for what in ("acknowledged", "acknowledged now"))
        yield self._rule(noted, active, self._atom(self.part("acknowledge"), BY))
        yield self._rule(done, active, Binary("since", EVER, active, noted, self.declared.span))

    def _returned(self, active: Atom, unacknowledged: Atom) -> Iterator[Rule]:
        settled = self._atom(self.part("settled"))
        yield self._rule(settled, self._some("acknowledge", BY))
        yield self._rule(settled, self._atom(self.part("hidden")))
        over = [settled, *self._inhibitors]
        begun = [Binary("since", EVER, Negation(atom), unacknowledged, self.declared.span) for atom in over]
        raised = self._atom(self.part("raised"))
        yield self._rule(raised, *begun, *map(Negation, over))
        yield self._rule(self._atom(self.part("returned")), raised, Negation(active))

    def _states(self) -> Iterator[Rule]:
        removed, shelved = self._hidden()
        suppressed = self._atom(self.part("suppressed"))
        yield self._state("out_of_service", removed)
        yield self._state("shelved", shelved, Negation(removed))
        if self._inhibitors:
            yield self._state("suppressed", suppressed, Negation(removed), Negation(shelved))
        yield self._state("unacknowledged", self._atom(self.part("unacknowledged")))
        yield self._state("acknowledged", self._some("acknowledged", BY))
        if self.declared.latched:
            yield self._state("returned_unacknowledged", self._atom(self.part("returned")))

    def _state(self, state: str, *body: Formula) -> Rule:
        head = self._atom(self.state)
        return self._rule(replace(head, arguments=(*head.arguments, Constant(state))), *body)

    # --- their parts ----------------------------------------------------------------------------------------------------

    def _hidden(self) -> list[Atom]:
        return [self._some("removed", BY), self._some("shelved", SHELF)]

    @cached_property
    def _variables(self) -> dict[str, Variable]:
        names: list[str] = []
        for field in self.declared.fields:
            names.append(fresh_name(field.name[:1].upper() if field.name[:1].isalpha() else "K", names))
        return {field.name: Variable(name) for field, name in zip(self.declared.fields, names, strict=True)}

    @cached_property
    def _inhibitors(self) -> tuple[Atom, ...]:
        return tuple(
            replace(atom, arguments=tuple(self._argument(term) for term in atom.arguments), span=atom.span)
            for atom in self.declared.inhibitors
        )

    def _argument(self, term: object) -> Term:
        match term:
            case Variable(name=name):
                return self._variables[name]
            case Constant(value=str(name)):
                return self._variables[name]
            case Constant() | Wildcard():
                return term
            case _:
                raise TypeError(f"no argument of an inhibitor: {term!r}")

    def _atom(self, predicate: str, more: Sequence[str] = ()) -> Atom:
        """A predicate of the alarm's arguments, and of further ones by their names."""
        own = [*self._variables.values()]
        others = [Variable(f"{name.capitalize()}_") for name in more]
        return Atom(predicate, (*own, *others), span=self.declared.span)

    def _some(self, what: str, more: Sequence[str]) -> Atom:
        """The same, whatever the further arguments are."""
        own = [*self._variables.values()]
        return Atom(self.part(what), (*own, *(Wildcard() for _ in more)), span=self.declared.span)

    def _rule(self, head: Atom, *body: Formula) -> Rule:
        return Rule(head, body, self.declared.span)


def alarms_of(program: Program) -> tuple[Alarm, ...]:
    """The alarms that a program declares, each once."""
    return _alarms(program.statements)


def with_alarms(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """The statements, and what alarms stand for."""
    is_strict = any(isinstance(item, Input) for item in statements)
    return (*statements, *(made for alarm in _alarms(statements) for made in alarm.statements(is_strict=is_strict)))


def _alarms(statements: Sequence[Statement]) -> tuple[Alarm, ...]:
    first: dict[str, AlarmDeclaration] = {}
    for item in statements:
        if isinstance(item, AlarmDeclaration):
            first.setdefault(item.predicate, item)
    return tuple(map(Alarm, first.values()))


def with_states(program: Program) -> Program:
    """A program of which the states of all alarms are told."""
    told = {name for item in program.statements if isinstance(item, Output) for name in item.predicates}
    names = tuple(alarm.state for alarm in alarms_of(program) if alarm.state not in told)
    return replace(program, statements=(*program.statements, Output(names))) if names else program


def silent_outputs(program: Program) -> frozenset[str]:
    """The outputs of which only a desk is told."""
    outputs = [item for item in program.statements if isinstance(item, Output)]
    silent = {name for item in outputs if item.is_silent for name in item.predicates}
    return frozenset(silent.difference(name for item in outputs if not item.is_silent for name in item.predicates))


def is_of_alarm(predicate: str, alarms: Sequence[Alarm]) -> bool:
    """Whether a predicate is one that an alarm's declaration stands for, other than its condition."""
    return any(predicate == alarm.state or predicate.startswith(f"{alarm.name} ") for alarm in alarms)


def is_within_alarm(predicate: str, alarms: Sequence[Alarm]) -> bool:
    """Whether a predicate stands between what people do and the state of an alarm, which tell what it tells."""
    found = (alarm for alarm in alarms if is_of_alarm(predicate, [alarm]))
    return any(predicate != alarm.state and predicate not in alarm.actions.values() for alarm in found)
