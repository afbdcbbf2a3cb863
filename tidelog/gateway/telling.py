"""Which answers the sinks of a gateway are told, and under which names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from tidelog.connectors.sinks.choosing import Choice
from tidelog.gateway.file.settings import GatewaySettings, ProgramSettings
from tidelog.gateway.kinds.settings import Chooses, EndSettings, ShowingSinkSettings, TellsPeople
from tidelog.plans.data.facts import PredicateSchema
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.declared.storms import COUNT, COUNTED, STORM, Storm
from tidelog.plans.tree.gates import Gate

_PARTS: Final[dict[str, Literal["active", "told"]]] = {"all": "active", "causes": "told"}
_STORMS: Final = {
    STORM: PredicateSchema(STORM, 0, accepts_input=False),
    COUNT: PredicateSchema(COUNT, 1, (COUNTED,), ("integer",), accepts_input=False, is_named=True),
}
"""What sinks that want it are told of storms."""


def sinks_of(program: ProgramSettings, settings: GatewaySettings) -> list[EndSettings]:
    """The sinks of one program."""
    return [sink for sink in settings.sink if sink.program in ("", program.name)]


def storms_of(sinks: Sequence[EndSettings]) -> list[Storm | Gate]:
    """What sinks are told of storms, and while something holds; SpecError for one that counts conditions, which are no
    alarms."""
    found: list[Storm | Gate] = [storm for sink in sinks if (storm := _storm_of(sink)) is not None]
    return found + [_gate_of(sink) for sink in sinks if isinstance(sink, Chooses) and sink.when]


def _gate_of(sink: Chooses) -> Gate:
    part: Literal["active", "told", ""] = "" if sink.told == "conditions" else _PARTS[sink.told]
    return Gate(sink.name, sink.when, part, _storm_of(sink), sink.predicates)


def chosen(predicates: Sequence[str], plan: Plan) -> list[str]:
    """The predicates of which a sink is told: all answers, or those; SpecError for one that is no output."""
    outputs = [*plan.told, *(question.name for question in plan.questions)]
    for name in predicates:
        if name not in outputs:
            raise SpecError(f"the program has no output `{name}`: it has {', '.join(outputs)}")
    return list(predicates) or outputs


def told_to(sink: EndSettings, plan: Plan) -> list[str]:
    """The names under which a sink is told something, all of them unless it chooses; SpecError as for `chosen`."""
    if not isinstance(sink, Chooses):
        return chosen((), plan)
    return [*chosen(sink.predicates, plan), *(_STORMS if sink.storm is not None and plan.alarms else ())]


def choice_of(sink: EndSettings, plan: Plan) -> Choice:
    """What a sink is told: of alarms those that are active, unless it says otherwise."""
    if isinstance(sink, ShowingSinkSettings):
        return Choice(set())
    told = told_to(sink, plan)
    names = {name: alarm for name, alarm in _spoken(sink, plan).items() if alarm in told}
    states = sink.states if isinstance(sink, TellsPeople) else ()
    return Choice({*told, *names}.difference(names.values()), names, states)


def heard_by(sinks: Sequence[EndSettings], plan: Plan) -> Plan:
    """The plan with the outputs told that its sinks want to hear, under other names than the program has."""
    spoken = frozenset(name for sink in sinks for name in _spoken(sink, plan))
    known = plan.schema.predicates
    has_storms = any(isinstance(one, Storm) for one in plan.storms)
    if has_storms and (taken := [name for name in _STORMS if name in known]):
        raise SpecError(f"`storm`: sinks are told of storms as `{taken[0]}`, and the program has a predicate of that name")
    predicates = {**known, **_STORMS} if has_storms else known
    return replace(plan, spoken=spoken, schema=replace(plan.schema, hidden=spoken, predicates=predicates))


def _spoken(sink: EndSettings, plan: Plan) -> dict[str, str]:
    """Under which outputs a sink hears of alarms: of all that are active, or of those that are not folded into another one;
    of what begins in a storm once that is over."""
    if not isinstance(sink, Chooses):
        return {}
    for gate in plan.storms:
        if isinstance(gate, Gate) and gate.sink == sink.name:
            return gate.names(plan.alarms)
    if sink.told == "conditions" or not plan.alarms:
        return {}
    storm = _storm_of(sink)
    if storm is not None:
        return storm.names(plan.alarms)
    return {alarm.part(_PARTS[sink.told]): alarm.name for alarm in plan.alarms}


def _storm_of(sink: EndSettings) -> Storm | None:
    if not isinstance(sink, Chooses) or sink.storm is None:
        return None
    if sink.told == "conditions":
        raise SpecError(f"sink `{sink.name}`: `storm` counts alarms that are active, so `told` is `all` or `causes`")
    return Storm(sink.name, _PARTS[sink.told], sink.storm, sink.predicates)
