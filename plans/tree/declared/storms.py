"""Storms: where more alarms begin within a minute than a sink wants to be told one by one, it is told a summary, by rules.

A sink `pager` that is told of active alarms, 30 a minute at most, gets for each alarm, such as `hot(room)`, and for all:

    'alarm_storm pager begins'(hot, R) :- 'hot active'(R), not diamondminus[1,1] 'hot active'(R).
    'alarm_storm pager busy' :- count() over 'alarm_storm pager begins'(_, _) in [59] >= 16.
    'alarm_storm pager' :- 'alarm_storm pager busy',
        'alarm_storm pager busy' since count() over 'alarm_storm pager begins'(_, _) in [59] >= 31.
    'alarm_storm_count pager'(N) :- 'alarm_storm pager', N = count() over 'alarm_storm pager begins'(_, _) in [59 step 60].
    'hot calm pager'(R) :- 'hot active'(R), 'hot active'(R) since ('hot active'(R), not 'alarm_storm pager').

So a storm begins with the alarm that is too much, and ends once no more than half as many began within a minute. What was
told before goes on being told. An alarm that begins in a storm is told from the storm's end on, if it is still active then.
Critical ones are told at once, and are counted. All of this is state of the program like any other: a restart loses nothing,
and tells nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.tree.declared.alarms import Alarm, alarms_of
from tidelog.plans.tree.syntax import (
    EVER,
    Aggregate,
    Atom,
    Binary,
    Comparison,
    Conjunction,
    Constant,
    Field,
    Interval,
    Negation,
    Output,
    Program,
    Rule,
    TimelineDeclaration,
    Unary,
    Variable,
    Wildcard,
    WindowSize,
)

STORM, COUNT = "alarm_storm", "alarm_storm_count"
"""Under these names a sink is told that a storm holds, and how many alarms began in the minute before."""
COUNTED = "began"
"""The name of that number."""
_MINUTE = 60
_LAST_TICK = Interval(Fraction(1), Fraction(1))


@dataclass(frozen=True, slots=True)
class Storm:
    """What one sink is told: `part` of each alarm (`active`, or `told`), while no more than `limit` of them begin a minute.

    With `alarms`, only these are counted and told.
    """

    sink: str
    part: Literal["active", "told"]
    limit: int
    alarms: tuple[str, ...] = ()

    @property
    def holds(self) -> str:
        """The predicate that holds while there is a storm."""
        return f"{STORM} {self.sink}"

    @property
    def count(self) -> str:
        """The predicate that tells how many alarms began in the minute before."""
        return f"{COUNT} {self.sink}"

    @property
    def told_at_once(self) -> tuple[str, ...]:
        """What is told where it holds already when the sink comes to a program that runs."""
        return self.holds, self.count

    def calm(self, alarm: Alarm) -> str:
        """The predicate by which the sink is told of an alarm."""
        return alarm.part(self.part) if alarm.declared.priority == "critical" else alarm.part(f"calm {self.sink}")

    def names(self, alarms: Sequence[Alarm]) -> dict[str, str]:
        """The predicates that the sink is told of, each with the name under which it is told."""
        return {self.holds: STORM, self.count: COUNT} | {self.calm(alarm): alarm.name for alarm in self.counted(alarms)}

    def counted(self, alarms: Sequence[Alarm]) -> list[Alarm]:
        """The alarms of which the sink is told."""
        return [alarm for alarm in alarms if not self.alarms or alarm.name in self.alarms]

    # --- rules ----------------------------------------------------------------------------------------------------------

    def rules(self, alarms: Sequence[Alarm], minute: int) -> Iterator[Rule]:
        """The rules for this sink; a `minute` is so many ticks."""
        told = self.counted(alarms)
        span = alarms[0].declared.span
        size = max((len(alarm.declared.fields) for alarm in told), default=0)
        holds, busy = Atom(self.holds, ()), Atom(f"{self.holds} busy", ())
        begins = Atom(f"{self.holds} begins", (Wildcard(),) * (size + 1))
        for alarm in told:
            active = Atom(alarm.part(self.part), _variables(alarm))
            rest = (Constant(0),) * (size - len(active.arguments))
            head = replace(begins, arguments=(Constant(alarm.name), *active.arguments, *rest))
            yield Rule(head, (active, Negation(Unary("diamondminus", _LAST_TICK, active))), span)
            if alarm.declared.priority != "critical":
                calm = Conjunction((active, Negation(holds)))
                since = Binary("since", EVER, active, calm)
                yield Rule(replace(active, predicate=self.calm(alarm)), (active, since), span)
        window = WindowSize(Fraction(minute - 1))
        number, least, most = Variable("N"), Constant(self.limit // 2 + 1), Constant(self.limit + 1)
        counted = Aggregate(number, "count", None, begins, window)
        yield Rule(busy, (counted, Comparison(">=", number, least)), span)
        many = Atom(f"{self.holds} many", ())
        yield Rule(many, (counted, Comparison(">=", number, most)), span)
        yield Rule(holds, (busy, Binary("since", EVER, busy, many)), span)
        by_minutes = replace(counted, window=replace(window, step=Fraction(minute)))
        yield Rule(Atom(self.count, (number,)), (holds, by_minutes), span)


def with_storms(program: Program, storms: Sequence[Storm]) -> Program:
    """A program for a desk (`with_desk`) that tells some sinks of storms.

    SpecError where its timeline does not count minutes, and for a sink that is told of no alarm.
    """
    alarms = alarms_of(program)
    if not storms or not alarms:
        return program
    minute = _minute(program)
    for storm in storms:
        if not storm.counted(alarms):
            raise SpecError(f"sink `{storm.sink}`: `storm` counts alarms, and none of its `predicates` is an alarm")
    rules = [rule for storm in storms for rule in storm.rules(alarms, minute)]
    names = [name for storm in storms for name in storm.names(alarms)]
    fields = [(Field(COUNTED, "integer"),) if name.startswith(f"{COUNT} ") else () for name in names]
    told = Output(tuple(names), tuple(fields), is_silent=True)
    return replace(program, statements=(*program.statements, *rules, told))


def _minute(program: Program) -> int:
    """How many ticks a minute has."""
    declared = next((item for item in program.statements if isinstance(item, TimelineDeclaration)), None)
    if declared is None or declared.kind != "integer" or not declared.unit or _MINUTE % declared.unit:
        raise SpecError("`storm` counts alarms a minute: the program needs a timeline such as `timeline integer, unit 1 s`")
    return int(_MINUTE / declared.unit)


def _variables(alarm: Alarm) -> tuple[Variable, ...]:
    return tuple(Variable(f"A{number}") for number, _ in enumerate(alarm.declared.fields, 1))
