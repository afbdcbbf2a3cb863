"""Gates: a sink that is told of answers only while an output of the program holds, such as at night, by rules.

A sink `pager` with `when = "night"` that is told of active alarms, and of `spell(X)`, gets

    '@pager hot active'(R) :- 'hot active'(R), night.
    '@pager spell'(X) :- spell(X), night.

So what holds when the night begins is told as beginning then, and what still holds at its end as ending then. With `when =
"not night"` the sink is told while that does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.declared.alarms import Alarm, alarms_of
from tidelog.plans.tree.declared.storms import COUNT, STORM, Storm
from tidelog.plans.tree.syntax import Atom, FactStatement, Formula, Input, Negation, Output, Program, Rule, Unary, Variable

_NOT = "not "


@dataclass(frozen=True, slots=True)
class Gate:
    """One sink that is told while `when` holds: `part` of each alarm (of its condition, where that is empty), or what its
    `storm` leaves; and of other outputs. With `predicates`, of these alone.

    `outputs` are the predicates behind the gate, each with the name under which it is told: known once the program is.
    """

    sink: str
    when: str
    part: Literal["active", "told", ""]
    storm: Storm | None = None
    predicates: tuple[str, ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()

    @property
    def told_at_once(self) -> tuple[str, ...]:
        """What is told where it holds already when the gate comes to a program that runs: nothing."""
        return ()

    def names(self, alarms: Sequence[Alarm]) -> dict[str, str]:
        """The predicates that the sink is told of, each with the name under which it is told."""
        return {self._gated(predicate): name for predicate, name in self.outputs}

    def _gated(self, predicate: str) -> str:
        return f"@{self.sink} {predicate}"

    def on(self, told: Sequence[str], alarms: Sequence[Alarm]) -> Gate:
        """The gate before these outputs, which a program tells."""
        wanted = self.predicates or tuple(told)
        hidden = {alarm.name for alarm in alarms} if self.part else set[str]()
        found = {name: name for name in wanted if name not in hidden}
        if self.storm is not None:
            found |= {name: other for name, other in self.storm.names(alarms).items() if other in (*wanted, STORM, COUNT)}
        elif self.part:
            found |= {alarm.part(self.part): alarm.name for alarm in alarms if alarm.name in wanted}
        return replace(self, outputs=tuple(found.items()))

    def rules(self, arities: Mapping[str, int]) -> Iterator[Rule]:
        """The rules for this sink. SpecError where it waits for something with arguments, or that is nowhere derived."""
        name = self.when.removeprefix(_NOT)
        where = f"sink `{self.sink}`: `when`"
        if name not in arities:
            raise SpecError(f"{where}: the program has no `{name}`{suggest(name, arities)}")
        if arities[name]:
            raise SpecError(f"{where}: `{name}` has {arities[name]} arguments, and what a sink waits for has none")
        condition: Formula = Atom(name, ())
        if self.when.startswith(_NOT):
            condition = Negation(condition)
        for predicate, _ in self.outputs:
            arguments = tuple(Variable(f"A{number}") for number in range(1, arities[predicate] + 1))
            yield Rule(Atom(self._gated(predicate), arguments), (Atom(predicate, arguments), condition))


def with_gates(program: Program, gates: Sequence[Gate]) -> tuple[Program, list[Gate]]:
    """A program for a desk (`with_desk`, `with_storms`) that tells some sinks while something holds, and their gates before
    its outputs.

    SpecError as for `Gate.rules`, and where the program does not say what its outputs are.
    """
    if not gates:
        return program, []
    alarms = alarms_of(program)
    outputs = [item for item in program.statements if isinstance(item, Output) and not item.is_silent]
    told = [*dict.fromkeys(name for item in outputs for name in item.predicates), *(alarm.name for alarm in alarms)]
    arities = _arities(program, alarms)
    found = [gate.on(told, alarms) for gate in gates]
    for gate in found:
        if not gate.outputs:
            raise SpecError(
                f"sink `{gate.sink}`: `when` needs a program with `output` or `alarm`, or `predicates` of the sink"
            )
        for predicate, name in gate.outputs:
            if predicate not in arities:
                raise SpecError(f"sink `{gate.sink}`: the program has no output `{name}`{suggest(name, told)}")
    rules = [rule for gate in found for rule in gate.rules(arities)]
    names = tuple(name for gate in found for name in gate.names(alarms))
    return replace(program, statements=(*program.statements, *rules, Output(names, is_silent=True))), found


def _arities(program: Program, alarms: Sequence[Alarm]) -> dict[str, int]:
    """How many arguments each predicate has, as far as the program says."""
    found: dict[str, int] = {}
    for item in program.statements:
        if isinstance(item, Input):
            found[item.predicate] = len(item.fields)
        elif isinstance(item, FactStatement):
            found[item.atom.predicate] = len(item.atom.arguments)
        elif isinstance(item, Rule):
            head = item.head
            while isinstance(head, Unary):
                head = head.operand
            if isinstance(head, Atom):
                found[head.predicate] = len(head.arguments)
    for alarm in alarms:
        size = len(alarm.declared.fields)
        found |= {alarm.name: size, alarm.part("active"): size, alarm.part("told"): size}
    return found
