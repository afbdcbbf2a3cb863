"""Where times stand in the state of a network and its outlet, so that all that has come lately is moved on in time.

A form says of a part of a state which of its numbers are times. As in `runtime/islands/operator_forms.py` all is here, so
that an operator need not know of leaps; a class that is not in `STATES` cannot be moved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

from tidelog.operators.joins.antijoin import AntiJoin
from tidelog.operators.joins.join import Join
from tidelog.operators.joins.standing_antijoin import StandingAntiJoin
from tidelog.operators.joins.standing_join import StandingJoin
from tidelog.operators.loops.hold import Hold
from tidelog.operators.metric.dilate import Dilate
from tidelog.operators.metric.erode import Erode
from tidelog.operators.metric.latch import Latch
from tidelog.operators.metric.since import Since
from tidelog.operators.metric.union import Union
from tidelog.operators.metric.until import Until
from tidelog.operators.operator import Operator
from tidelog.operators.standing.told import Told
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.network.graph import Graph

Move = Callable[[int], int]
"""What becomes of a time."""
Form = Callable[[Any, Move], Any]
"""A part of a state, with its times moved."""


def _keep(state: Any, move: Move) -> Any:
    return state


def _time(state: Any, move: Move) -> Any:
    return None if state is None else move(state)


def _each(form: Form) -> Form:
    return lambda state, move: [form(part, move) for part in state]


def _entry(*forms: Form) -> Form:
    return lambda state, move: [form(part, move) for form, part in zip(forms, state, strict=True)]


def _perhaps(form: Form) -> Form:
    return lambda state, move: None if state is None else form(state, move)


def _named(form: Form) -> Form:
    return lambda state, move: {name: form(part, move) for name, part in state.items()}


def _fields(parts: Mapping[str, Form], more: Mapping[str, Form] | None = None) -> Form:
    """The parts of a state by name: all of them, so that none is forgotten; `more` are those that may be missing."""
    known = {**parts, **(more or {})}

    def moved(state: Any, move: Move) -> Any:
        missing = parts.keys() - state.keys()
        if missing:
            raise KeyError(f"a state lacks {', '.join(sorted(missing))}")
        return {name: known[name](part, move) for name, part in state.items()}

    return moved


def _piece(state: Any, move: Move) -> Any:
    """A row with its ranges, or with one begin and one end; no other step's name, which stands for an arrangement."""
    row, *times = state
    return [row, [move(time) for time in times[0]]] if isinstance(times[0], list) else [row, *map(move, times)]


def _stored(state: Any, move: Move) -> Any:
    return state if isinstance(state, str) else [_piece(part, move) for part in state]


_TIMES: Final = _each(_time)
_FACTS: Final = _each(_piece)
_SINCE: Final = _each(_entry(_keep, _time))
_COVERAGE: Final = _each(_entry(_keep, _TIMES))

_PIECES: Final = _fields({"open": _FACTS, "reach": _time}, {"coverage": _COVERAGE, "promised": _time})
_PASSING: Final = _fields({"known": _each(_entry(_keep, _keep, _keep, _time)), "told": _SINCE})


def _operator(state: Form) -> Form:
    """What `Operator.snapshot` gives."""
    return _fields(
        {
            "frontiers": _TIMES,
            "frontier": _time,
            "counters": _keep,
            "state": state,
            "passing": _perhaps(_PASSING),
            "pieces": _perhaps(_PIECES),
        }
    )


_PAIRS: Final = {"left": _COVERAGE, "right": _COVERAGE, "sent": _COVERAGE}
_STANDING: Final = _fields({"since": _SINCE, "ahead": _SINCE, "under": _COVERAGE})
_JOIN: Final = _fields(
    {"stores": _each(_stored), "indexes": _each(_named(_stored)), "ends": _TIMES, "sent": _COVERAGE, "failed": _keep}
)
_SWEEPING: Final = {
    "spells": _each(_each(_entry(_keep, _TIMES, _SINCE))),
    "holding": _keep,
    "turns": _each(_entry(_time, _keep, _keep)),
    "since": _SINCE,
    "known": _time,
    "ahead": _COVERAGE,
}
_MEETING: Final = {**_SWEEPING, "waiting": _each(_each(_entry(_time, _FACTS)))}

STATES: Final[Mapping[type[Operator], Form]] = {
    Union: _fields({"coverage": _COVERAGE}),
    Dilate: _fields({"coverage": _COVERAGE}),
    Erode: _fields(
        {
            "coverage": _COVERAGE,
            "start": _time,
            "latest": _time,
            "standing": _FACTS,
            "told": _SINCE,
            "ahead": _COVERAGE,
        }
    ),
    Since: _fields(
        {
            **_PAIRS,
            "armed": _each(_entry(_keep, _time, _keep, _TIMES)),
            "standing": _each(_STANDING),
            "met": _keep,
            "lasting": _fields(
                {"known": _time, "rows": _COVERAGE, "since": _SINCE, "turns": _each(_entry(_time, _keep))},
            ),
        }
    ),
    Until: _fields({**_PAIRS, "open": _PIECES, "begins": _SINCE, "ahead": _SINCE}),
    Latch: _fields({"turns": _each(_entry(_time, _keep, _keep)), "held": _FACTS, "negative": _COVERAGE}),
    Join: _JOIN,
    AntiJoin: _fields(
        {"waiting": _FACTS, "negative": _COVERAGE, "announced": _each(_entry(_keep, _time, _time, _keep))},
    ),
    StandingJoin: _fields({**_MEETING, "failed": _keep, "beyond": _operator(_JOIN), "later": _each(_FACTS)}),
    StandingAntiJoin: _fields(_MEETING),
    Told: _fields({}),
    Hold: _fields({"bound": _time, "waiting": _FACTS}),
}
"""For each class of operators that can be moved, the form of its `state`."""

_OPEN_LOOP: Final = _operator(_fields({**_SWEEPING, "failed": _keep}))


def _message(state: Any, move: Move) -> Any:
    """What waits inside a clocked loop: a port, facts, and perhaps rows that begin and that end."""
    port, *parts = state
    return [port, *[_FACTS(part, move) for part in parts]]


_LOOP: Final = _fields(
    {"reached": _TIMES, "present": _time, "unfinished": _keep},
    {
        "open": _perhaps(_OPEN_LOOP),
        "known": _time,
        "inboxes": _each(_each(_message)),
        "groups": _each(_OPEN_LOOP),
    },
)
_ROW_GATE: Final = _fields({"waiting": _FACTS, "numbers": _entry(_time, _time, _keep, _keep, _keep, _keep)})
_GATE: Final = _fields(
    {
        "waiting": _each(_entry(_time, _time, _FACTS)),
        "held": _time,
        "dropped": _keep,
        "rows": _perhaps(_ROW_GATE),
    }
)
_PROSPECTS: Final = _fields(
    {
        "sleeps": _named(_entry(_keep, *[_time] * 5, _keep)),
        "rows": _named(_fields({"latest": _SINCE, "pruned": _time})),
        "gates": _each(_entry(_keep, _keep, _GATE)),
        "seen": _TIMES,
    }
)


def network_form(graph: Graph, steps: Collection[str]) -> Form:
    """The form of `Network.snapshot`, of which some steps are moved: what they have, and all loops, gates and sleeps."""
    operators = {name: _operator(STATES[type(graph.operators[name])]) for name in steps}
    shared = {each.name for step, sharing in graph.sharing.items() if step in steps for each in sharing.arrangements}
    parts: dict[str, Form] = {
        "operators": partial(_some, operators),
        "loops": _each(_LOOP),
        "prospects": _PROSPECTS,
        "arrangements": partial(_some, dict.fromkeys(shared, _stored)),
    }
    return _fields({"graph": _fields(parts), "watermark": _time, "start": _keep})


def _some(forms: Mapping[str, Form], state: Any, move: Move) -> Any:
    return {name: forms.get(name, _keep)(part, move) for name, part in state.items()}


_GROWING: Final = _fields({"frontier": _time, "pieces": _PIECES, "known": _COVERAGE, "begins": _each(_entry(_time, _keep))})
_VIOLATED: Final = _fields({"known": _COVERAGE, "open": _SINCE, "waiting": _COVERAGE})


def outlet_form(plan: Plan, steps: Collection[str]) -> Form:
    """The form of `Outlet.snapshot`, where points of time are not waited for, of which what some steps tell is moved."""
    outputs = [output for output, step in plan.outputs.items() if step in steps]
    constraints = [constraint for constraint in plan.constraints if constraint in steps]

    def told(form: Form) -> Form:
        return partial(_some, dict.fromkeys(outputs, form))

    emission = _fields(
        {"frontiers": told(_time)},
        {"growing": told(_GROWING), "coverage": told(_COVERAGE), "open": told(_SINCE), "endless": _keep, "begun": _keep},
    )
    violations = _fields({"known": partial(_some, dict.fromkeys(constraints, _VIOLATED)), "count": _keep})
    held = _perhaps(told(_entry(_COVERAGE, _SINCE)))
    return _fields({"emission": emission, "violations": violations, "since": _keep, "held": held, "told": _keep})
