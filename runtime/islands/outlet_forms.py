"""The form of an outlet's state: of what was told of each output, in each mode, and of what is violated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.islands.island import Island
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.islands.forms import (
    COUNTED,
    EVERYBODY,
    FIRST,
    Agreed,
    Covered,
    Each,
    Entries,
    Fields,
    Form,
    Named,
    Perhaps,
    Place,
    rows_at,
)
from tidelog.runtime.islands.operator_forms import pieces_form
from tidelog.runtime.islands.places import column
from tidelog.runtime.ports.interfaces import EmitMode

PlaceOf = Callable[[str], Place]
"""The place of the key in the rows of an output."""


def outlet_form(plan: Plan, island: Island, state: Mapping[str, Any]) -> Form:
    """The form of what `Outlet.snapshot` gave; the mode is that of the state."""

    def of_step(step: str) -> Place:
        at = island.columns.get(step)
        return None if at is None else column(at)

    def of_output(name: str) -> Place:
        return of_step(plan.outputs[name])

    def violated(step: str) -> Form:
        place = of_step(step)
        return Fields({"known": Covered(place), "open": rows_at(place), "waiting": Covered(place)})

    def held(name: str) -> Form:
        return Each([Covered(of_output(name)), rows_at(of_output(name))])

    return Fields(
        {
            "emission": _emission(of_output, state["emission"]),
            "violations": Fields({"known": Named(violated), "count": COUNTED}),
            "since": FIRST,
            "held": Perhaps(Named(held)),
            "told": Named(lambda name: Covered(of_output(name))),
        }
    )


def _emission(of: PlaceOf, state: Mapping[str, Any]) -> Form:
    """The form of an emission's state, which is that of one mode."""
    found = [form for make in EMISSIONS.values() if {*(form := make(of)).parts} == {*state}]
    if len(found) != 1:
        raise SnapshotError(f"the emission's state is that of no mode: it has {', '.join(sorted(state))}")
    return found[0]


_FRONTIERS = Named(lambda name: Agreed(f"how far the output {name} is known"))


def _intervals(of: PlaceOf) -> Fields:
    def growing(name: str) -> Form:
        place = of(name)
        frontier = Agreed(f"how far the output {name} is known")
        begins = rows_at(place, 1, order=0)
        return Fields({"frontier": frontier, "pieces": pieces_form(place), "known": Covered(place), "begins": begins})

    return Fields({"frontiers": _FRONTIERS, "growing": Named(growing)})


def _runs(of: PlaceOf, more: str) -> Fields:
    return Fields(
        {
            "frontiers": _FRONTIERS,
            "coverage": Named(lambda name: Covered(of(name))),
            "open": Named(lambda name: rows_at(of(name))),
            more: Named(lambda name: rows_at(of(name), None)),
        }
    )


def _points(of: PlaceOf) -> Fields:
    def key(record: Any) -> Any:
        place = of(record[0])
        return EVERYBODY if place is None else place(record[1])

    points = Agreed("the time points at which facts came, which all shards are to be told,")
    watermark = Agreed("the watermark")
    records = Entries(key, every=False)
    told: dict[str, Form] = {"points": points, "seen": points, "already": points}
    return Fields({"frontiers": _FRONTIERS, "watermark": watermark, "records": records, **told})


EMISSIONS: Final[Mapping[EmitMode, Callable[[PlaceOf], Fields]]] = {
    "intervals": _intervals,
    "final": lambda of: _runs(of, "endless"),
    "changes": lambda of: _runs(of, "begun"),
    "points": _points,
}
"""By mode, the form of the emission's state."""
