"""The plan of an island: the steps that it runs, and what concerns them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from tidelog.plans.islands.island import Island, resting_on_streams
from tidelog.plans.plan.guards import Prospects, Sleeper
from tidelog.plans.plan.plan import Feed, Loop, Plan, Step

_T = TypeVar("_T")


def island_plan(plan: Plan, island: Island) -> Plan:
    """The plan of an island alone: what it imports comes by feeds of kind `remote`.

    The ids of steps stay, loops are counted anew. It tells the outputs and constraints that rest on the stream, or, where
    it reads nothing, those that do not. Questions are asked elsewhere.
    """
    own, imported = frozenset(island.steps), frozenset(island.imports)
    fed = resting_on_streams(plan)
    told = own - fed if not (island.reads or island.imports) else own & fed
    outputs = {name: step for name, step in plan.outputs.items() if step in told}
    numbers = _numbers(plan, own)
    steps = tuple(_step(step, numbers, imported) for step in plan.steps if step.id in own)
    over_calendars = _only(plan.over_calendars, own)
    read = {feed.name for step in steps for feed in step.inputs if feed.kind == "facts"}
    alarms = tuple(alarm for alarm in plan.alarms if not outputs.keys().isdisjoint((alarm.name, alarm.state, *alarm.parts)))
    return replace(
        plan,
        steps=steps,
        loops=tuple(_loop(plan.loops[old], new) for old, new in numbers.items()),
        outputs=outputs,
        constraints=_only(plan.constraints, told),
        # what follows from calendars is told from the first of all stated facts on
        facts=plan.facts if over_calendars else tuple(record for record in plan.facts if record[0] in read),
        backgrounds=tuple(item for item in plan.backgrounds if item.predicate in read),
        leads=_only(plan.leads, own | imported),
        warnings=(),
        prospects=_prospects(plan, own),
        announcing=_only(plan.announcing, own | imported),
        questions=(),
        unfoldings=(),
        by_calendars=plan.by_calendars & own,
        silent=frozenset(plan.silent & outputs.keys()),
        spoken=frozenset(plan.spoken & outputs.keys()),
        alarms=alarms,
        storms=tuple(storm for storm in plan.storms if not outputs.keys().isdisjoint(storm.names(plan.alarms))),
        over_calendars=over_calendars,
    )


def _only(found: Mapping[str, _T], names: Collection[str]) -> dict[str, _T]:
    return {name: value for name, value in found.items() if name in names}


def _numbers(plan: Plan, own: Collection[str]) -> dict[int, int]:
    """The loops of an island, and their new numbers; a loop is in one island as a whole."""
    kept = [loop.number for loop in plan.loops if own.__contains__(loop.members[0])]
    return {old: new for new, old in enumerate(kept)}


def _step(step: Step, numbers: Mapping[int, int], imported: Collection[str]) -> Step:
    inputs = tuple(
        Feed("remote", feed.name) if feed.kind == "step" and feed.name in imported else feed for feed in step.inputs
    )
    return replace(step, inputs=inputs, loop=None if step.loop is None else numbers[step.loop])


def _loop(loop: Loop, number: int) -> Loop:
    return replace(loop, number=number)


def _prospects(plan: Plan, own: Collection[str]) -> Prospects:
    found = plan.prospects
    gates = {port: guard for port, guard in found.gates.items() if port[0] in own}
    rows = {port: blocker for port, blocker in found.rows.items() if port[0] in own}
    asked = {blocker.sleeper for guard in gates.values() for group in guard for blocker in group}
    asked |= {blocker.sleeper for blocker in rows.values()}
    sleepers = tuple(_sleeper(plan, sleeper, own) for sleeper in found.sleepers if sleeper.step in asked)
    return Prospects(sleepers, gates, rows, found.far_sighted & frozenset(own))


def _sleeper(plan: Plan, sleeper: Sleeper, own: Collection[str]) -> Sleeper:
    """Of predicates that rules derive, too, an island is told only by those that it reads."""
    reads = {feed.name for step in plan.steps if step.id in own for feed in step.inputs if feed.kind == "stream"}
    return replace(sleeper, predicates=tuple(name for name in sleeper.predicates if name in reads))
