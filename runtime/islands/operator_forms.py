"""The forms of operators' states: for each class, where rows stand in what `state` gives, and how the rest goes together.

All is here in one table (`FORMS`), so that an operator need not know of shards. A class that is not in it cannot be divided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from tidelog.operators.grouped.aggregate import Aggregate
from tidelog.operators.grouped.latest import Latest
from tidelog.operators.grouped.periods import Periods
from tidelog.operators.grouped.threshold import Threshold
from tidelog.operators.joins.antijoin import AntiJoin
from tidelog.operators.joins.join import Join
from tidelog.operators.joins.standing_antijoin import StandingAntiJoin
from tidelog.operators.joins.standing_join import StandingJoin
from tidelog.operators.loops.hold import Hold
from tidelog.operators.metric.dilate import Dilate
from tidelog.operators.metric.erode import Erode
from tidelog.operators.metric.latch import NEGATIVE, Latch
from tidelog.operators.metric.since import Since
from tidelog.operators.metric.union import Union
from tidelog.operators.metric.until import Until
from tidelog.operators.operator import Operator
from tidelog.operators.standing.assigned import Assigned
from tidelog.operators.standing.told import Told
from tidelog.operators.windows.bind import Bind
from tidelog.operators.windows.move import Move
from tidelog.operators.windows.stepped import Stepped
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.runtime.islands.forms import (
    COUNTED,
    EVERYBODY,
    FIRST,
    GREATEST,
    LEAST,
    Agreed,
    Alike,
    Best,
    Covered,
    Each,
    Entries,
    Every,
    Fields,
    Form,
    Grouped,
    Perhaps,
    Pieced,
    Place,
    rows_at,
)
from tidelog.runtime.islands.places import Places, column

_FIRST_TWO: Final = itemgetter(0, 1)


def operator_form(operator: type[Operator], places: Places) -> Form:
    """The form of an operator's snapshot, at a step that rests on the stream. Raises SnapshotError for a class without."""
    form = FORMS.get(operator)
    if form is None:
        raise SnapshotError(
            f"step {places.step.id}: it rests on the stream, and the state of its operator, {operator.__name__}, is not "
            "one of single keys: it cannot be divided"
        )
    return snapshot_form(form(places), places.own, reached_form(places))


def reached_form(places: Places) -> Form:
    """The form of how far a step has come: equally far in all shards, but in a clocked loop as far as it had to.

    There, where it had nothing more to do in a shard, it might as well have come as far as in the others.
    """
    return GREATEST if places.is_clocked else Agreed(f"how far step {places.step.id} has come")


def snapshot_form(state: Form, own: Place, frontier: Form = LEAST) -> Form:
    """The form of what `Operator.snapshot` gives. Of a part of another operator the least of the frontiers is right."""
    return Fields(
        {
            "frontiers": Every(frontier),
            "frontier": frontier,
            "counters": Every(COUNTED),
            "state": state,
            "passing": Perhaps(_passing(own)),
            "pieces": Perhaps(pieces_form(own)),
        }
    )


def pieces_form(own: Place) -> Form:
    """The form of `Pieces`, and of `DistinctPieces`. What all shards have was told the furthest by one of them."""
    opened = rows_at(own) if own is not None else Best(None, max)
    return Fields({"open": opened, "reach": LEAST}, {"coverage": Covered(own), "promised": GREATEST})


def _passing(own: Place) -> Form:
    return Fields({"known": rows_at(own), "told": rows_at(own)})


# --- what holds, and moves ------------------------------------------------------------------------------------------------


def _covered(places: Places) -> Form:
    return Fields({"coverage": Covered(places.own)})


def _moved(places: Places) -> Form:
    return Fields({"coverage": Covered(places.own), "failed": COUNTED})


def _eroded(places: Places) -> Form:
    own = places.own
    return Fields(
        {
            "coverage": Covered(own),
            "start": Agreed("when the stream starts"),
            "latest": GREATEST,
            "standing": rows_at(own),
            "told": rows_at(own),
            "ahead": Covered(own),
        }
    )


def _bound(places: Places) -> Form:
    return Fields({"latest": GREATEST, "waiting": rows_at(places.narrowed[0], order=1)})


def _held(places: Places) -> Form:
    return Fields({"bound": GREATEST, "waiting": rows_at(places.own, order=1)})


def _nothing(places: Places) -> Form:
    return Fields({})


# --- pairs ----------------------------------------------------------------------------------------------------------------


def _pairs(places: Places) -> dict[str, Form]:
    left, right = places.narrowed
    return {"left": Covered(left), "right": Covered(right), "sent": Covered(places.own)}


def _until(places: Places) -> Form:
    left = places.narrowed[0]
    more = {"open": pieces_form(left), "begins": Best(left, min), "ahead": Best(left, max)}
    return Fields({**_pairs(places), **more})


def _since(places: Places) -> Form:
    left, right = places.narrowed
    armed = rows_at(left) if right is None else rows_at(right, 2)
    met = rows_at(left) if right is None else Grouped(1, rows_at(right, None))
    standing = Each([_standing(left), _standing(right)])
    lasting = {
        "known": GREATEST,
        "rows": Covered(places.own),
        "since": rows_at(places.own),
        "turns": rows_at(places.own, 1, order=0),
    }
    return Fields({**_pairs(places), "armed": armed, "standing": standing, "met": met, "lasting": Fields(lasting)})


def _standing(place: Place) -> Form:
    rows = FIRST if place is None else rows_at(place)
    return Fields({"since": rows, "ahead": rows, "under": rows})


# --- joins and negations --------------------------------------------------------------------------------------------------


def _joined(places: Places) -> Form:
    ports = places.narrowed
    return Fields(
        {
            "stores": Each([Covered(place) for place in ports]),
            "indexes": Each([_ByIndex(Pieced(place)) for place in ports]),
            "ends": Every(GREATEST),
            "sent": Covered(places.own),
            "failed": COUNTED,
        }
    )


class _ByIndex(Form):
    """The indexes of a port by name, which all have one form."""

    __slots__ = ("_form",)

    def __init__(self, form: Form) -> None:
        self._form = form

    def divide(self, state: Any, shares: Any) -> list[Any]:
        return Fields(dict.fromkeys(state, self._form)).divide(state, shares)

    def unite(self, states: Sequence[Any], shares: Any) -> Any:
        return Fields(dict.fromkeys(states[0], self._form)).unite(states, shares)


def _negated(places: Places) -> Form:
    own, negative = places.narrowed
    return Fields({"waiting": rows_at(own, order=1), "negative": Covered(negative), "announced": rows_at(own)})


def _latched(places: Places) -> Form:
    negative, own = places.narrowed

    def turn(entry: Any) -> Any:
        place = negative if entry[1] == NEGATIVE else own
        return EVERYBODY if place is None else place(entry[2])

    return Fields(
        {"turns": Entries(turn, _FIRST_TWO), "held": rows_at(own), "negative": Covered(negative)},
    )


# --- what goes through time -----------------------------------------------------------------------------------------------


def sweeping_parts(step: str, ports: Sequence[Place], own: Place, reached: Form) -> dict[str, Form]:
    """The form of `Sweeping.state`: by port what is to come and what holds now; and what follows from it."""

    def turn(entry: Any) -> Any:
        place = ports[entry[1]]
        return EVERYBODY if place is None else place(entry[2])

    now = Alike(f"what holds, at a port of step {step} that brings the same to all shards,")
    return {
        "spells": Each([FIRST if place is None else rows_at(place) for place in ports]),
        "holding": Each([now if place is None else rows_at(place, None) for place in ports]),
        "turns": Entries(turn, _FIRST_TWO, every=False),
        "since": rows_at(own),
        "known": reached,
        "ahead": Covered(own),
    }


def _sweeping(places: Places) -> dict[str, Form]:
    return sweeping_parts(places.step.id, places.narrowed, places.own, reached_form(places))


def _meeting(places: Places) -> dict[str, Form]:
    waiting = [FIRST if place is None else Grouped(1, rows_at(place), itemgetter(0)) for place in places.narrowed]
    return {**_sweeping(places), "waiting": Each(waiting)}


def _met_through_time(places: Places) -> Form:
    later = Each([rows_at(place) for place in places.ports])
    return Fields(
        {**_meeting(places), "failed": COUNTED, "beyond": snapshot_form(_joined(places), places.own), "later": later}
    )


def _negated_through_time(places: Places) -> Form:
    return Fields(_meeting(places))


def _assigned(places: Places) -> Form:
    return Fields({**_sweeping(places), "held": rows_at(places.own, None)})


# --- groups ---------------------------------------------------------------------------------------------------------------


def _group_of(places: Places) -> tuple[Place, Place]:
    """The key in the rows of a port that are grouped, and in the keys of the groups."""
    shape: Any = places.step.shape
    at = places.columns[0]
    if at is None or at not in shape.by:
        raise SnapshotError(f"step {places.step.id}: it does not group by the column with the key, {at}")
    return column(at), column(shape.by.index(at))


def _spells(row: Place) -> Form:
    times = rows_at(row)
    return Fields(
        {
            "known": GREATEST,
            "rows": Covered(row),
            "coming": rows_at(row, 1, order=0),
            "ahead": times,
            "going": times,
            "until": times,
        }
    )


def _aggregated(places: Places) -> Form:
    row, key = _group_of(places)
    return Fields({"groups": rows_at(key), "failed": COUNTED}, {"spells": _spells(row)})


def _latest(places: Places) -> Form:
    row, key = _group_of(places)
    return Fields({"groups": rows_at(key)}, {"spells": _spells(row), "told": _passing(row)})


def _threshold(places: Places) -> Form:
    row, key = _group_of(places)
    levels = {
        "groups": rows_at(key),
        "failed": COUNTED,
        "coming": _spells(row),
        "idle": rows_at(key),
        "standing": rows_at(row),
        "touched": rows_at(key),
    }
    own = {"groups": rows_at(key), "coverage": Covered(key), "failed": COUNTED, "forgetting": Each([COUNTED, GREATEST])}
    return Fields(own, {"levels": snapshot_form(Fields(levels), key, reached_form(places))})


def _periods(places: Places) -> Form:
    row, key = _group_of(places)
    return Fields(
        {
            "periods": Grouped(2, rows_at(key), keeps=True),
            "waiting": rows_at(row, 1, order=0),
            "timeless": rows_at(row),
            "start": Agreed("when the stream starts"),
            "failed": COUNTED,
        }
    )


FORMS: Final[Mapping[type[Operator], Callable[[Places], Form]]] = {
    Union: _covered,
    Dilate: _covered,
    Erode: _eroded,
    Since: _since,
    Until: _until,
    Latch: _latched,
    Join: _joined,
    AntiJoin: _negated,
    StandingJoin: _met_through_time,
    StandingAntiJoin: _negated_through_time,
    Assigned: _assigned,
    Told: _nothing,
    Hold: _held,
    Latest: _latest,
    Aggregate: _aggregated,
    Threshold: _threshold,
    Periods: _periods,
    Bind: _bound,
    Move: _moved,
    Stepped: _nothing,
}
"""By class of the operator, the form of its `state` at a step. Calendars rest on no stream; windows of so many facts count
all of them, so they have no key. The operators of loops that take notices are in `network_forms`."""
