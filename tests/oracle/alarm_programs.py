"""Programs with an alarm, what happens to its condition, what people do with it, and its states by `oracle/alarms.py`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hypothesis import strategies as st

from oracle.alarms import Done, Life, Moment, cells, latched
from oracle.evaluate import GroundFact
from oracle.programs import Kind
from tidelog.plans.data.actions import Action, action_record
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.times import TimeReader
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.declared.alarms import ACTIONS
from tidelog.plans.tree.syntax import Interval

LAST = 24
"""By when everything has happened, but for what goes on for ever."""
FIELDS = ("room: text", "rank: integer")
ROWS: tuple[tuple[Row, ...], ...] = (((),), (("n",), ("s",)), (("n", 1), ("n", 2), ("s", 1)))
INHIBITORS: tuple[tuple[tuple[str, Row | None], ...], ...] = (
    (("still", ()), ("night", None)),
    (("still", ()), ("service(room)", ("room",)), ("noted(_)", ("_",)), ("noted(7)", (7,)), ("night", None)),
    (("service(room)", ("room",)), ("closed(rank, room)", ("rank", "room")), ("noted(rank)", ("rank",)), ("night", None)),
)
"""What may inhibit alarms of no argument, one and two: as it is written, and what each argument is."""
OWN = (INHIBITORS[1][1], INHIBITORS[1][4])
"""Those of a room alone."""


@dataclass(frozen=True, repr=False)
class Alarming:
    """A drawn program and all that comes: facts, and what people do."""

    kind: Kind
    text: str
    size: int
    is_latched: bool
    is_switched: bool
    inhibitors: tuple[tuple[str, Row | None], ...]
    rows: tuple[Row, ...]
    facts: tuple[GroundFact, ...]
    done: tuple[Done, ...]

    def records(self, plan: Plan) -> list[Record]:
        """All that comes as records, in the order of their begins."""
        times = TimeReader(plan.timeline)
        found: list[Record] = [(name, row, *plan.timeline.encode_interval(when)) for name, row, when in self.facts]
        for item in self.done:
            lasting = item.lasting or None
            action = Action(item.action, "hot", item.row, item.who, item.comment, "", lasting)
            found.append(action_record(plan.schema, times, action, item.at))
        return sorted(found, key=lambda record: record[2])

    def times(self) -> list[Fraction]:
        """A time in each cell in which something happens."""
        last = max([0, *(self._last(when) for _, _, when in self.facts), *(item.at + item.lasting for item in self.done)])
        return cells(self.kind == "rational", int(last) + 2)

    @property
    def follows_calendar(self) -> bool:
        """Whether a calendar inhibits the alarm: it is known as far as something begins."""
        return any(arguments is None for _, arguments in self.inhibitors)

    def known(self) -> list[Fraction]:
        """The same, as far as it is known what is so there when all has come."""
        begins = [*(when.low for _, _, when in self.facts), *(item.at for item in self.done)]
        return [time for time in self.times() if not self.follows_calendar or time <= max(begins)]

    @staticmethod
    def _last(when: Interval) -> Fraction:
        return Fraction(when.low if when.high == math.inf else when.high)

    def moments(self, row: Row, times: Sequence[Fraction]) -> list[Moment]:
        """What the table says of an alarm, cell by cell."""
        hiding = {time for inhibitor in self.inhibitors for time in self._hiding(inhibitor, row, times)}
        done = [item for item in self.done if item.row == row]
        return [*Life(is_latched=self.is_latched).live(times, self._holding(row, times), hiding, done)]

    def _holding(self, row: Row, times: Sequence[Fraction]) -> set[Fraction]:
        if self.is_switched:
            ons, offs = (
                [int(when.low) for name, about, when in self.facts if name == switch and about == row]
                for switch in ("on", "off")
            )
            return latched(ons, offs, times)
        spans = [when for name, about, when in self.facts if name == "c" and about == row]
        return {time for time in times if any(_within(time, when) for when in spans)}

    def _hiding(self, inhibitor: tuple[str, Row | None], row: Row, times: Sequence[Fraction]) -> Iterator[Fraction]:
        atom, arguments = inhibitor
        if arguments is None:
            yield from (time for time in times if time % 4 >= 3 or time % 4 < 1)
            return
        own = {"room": row[0] if row else None, "rank": row[1] if len(row) > 1 else None}
        spans = [
            when
            for name, about, when in self.facts
            if name == atom.split("(")[0]
            and all(term == "_" or own.get(term, term) == value for term, value in zip(arguments, about, strict=True))  # type: ignore[arg-type]
        ]
        yield from (time for time in times if any(_within(time, when) for when in spans))

    def __repr__(self) -> str:
        """The program and what comes, to be read when it fails."""
        facts = [f"{name}{row}@{when.low}-{when.high} {when.left_open} {when.right_open}" for name, row, when in self.facts]
        return "\n".join(["", self.text, *facts, *map(str, self.done)])


def _within(time: Fraction, when: Interval) -> bool:
    after = time > when.low if when.left_open else time >= when.low
    return after and (time < when.high if when.right_open else time <= when.high)


@st.composite
def alarm_programs(draw: st.DrawFn, kind: Kind, *, most: int = 10, single: bool = False) -> Alarming:
    """A program with one alarm of few rows; if `single`, of one room, and all that hides it is its own, or a calendar."""
    size = 1 if single else draw(st.integers(0, 2))
    is_latched, is_switched = draw(st.booleans()), draw(st.integers(0, 3)) == 0
    known = [each for each in INHIBITORS[size] if not single or each in OWN]
    inhibitors = tuple(draw(st.lists(st.sampled_from(known), max_size=2, unique=True)))
    text = program_text(kind, size, is_latched, is_switched, inhibitors, has_inputs=draw(st.booleans()))
    rows = ROWS[size][:1] if single else ROWS[size]
    facts = [
        *draw(st.lists(switches(rows) if is_switched else spells("c", rows, kind), min_size=1, max_size=most)),
        *(fact for each in inhibitors if each[1] is not None for fact in draw(st.lists(hidings(each, kind), max_size=3))),
    ]
    done = draw(st.lists(deeds(rows), max_size=most))
    return Alarming(kind, text, size, is_latched, is_switched, inhibitors, rows, tuple(facts), tuple(done))


def program_text(
    kind: Kind,
    size: int,
    is_latched: bool,
    is_switched: bool,
    inhibitors: Sequence[tuple[str, Row | None]],
    *,
    has_inputs: bool,
) -> str:
    """A program whose alarm `hot` has that many arguments."""
    terms, told = ", ".join(("R", "N")[:size]), ", ".join(FIELDS[:size])
    of = f"({terms})" if size else ""
    names = [*(["on", "off"] if is_switched else ["c"])]
    lines = [f"timeline {kind}, unit 6 h.", "calendar night = 18:00-06:00."]
    if has_inputs:
        lines += [f"input {name}({told})." if size else f"input {name}." for name in names]
        for atom, arguments in inhibitors:
            if arguments is not None:
                kinds = ["text" if term == "room" else "integer" for term in arguments]
                several = ", ".join(f"a{number}: {kind}" for number, kind in enumerate(kinds))
                lines.append(f"input {atom.split('(')[0]}({several})." if several else f"input {atom}.")
    body = f"not off{of} since on{of}" if is_switched else f"c{of}"
    parts = ["priority high", 'text "{room} is hot"' if size else 'text "hot"', *(["acknowledge"] if is_latched else [])]
    parts += ["shelve at most 3 d", *(f"inhibited by {atom}" for atom, _ in inhibitors)]
    lines += [f"hot{of} :- {body}.", f"alarm hot{f'({told})' if size else ''}, {', '.join(parts)}."]
    return "\n".join([*lines, "output hot_state.", ""])


@st.composite
def spells(draw: st.DrawFn, name: str, rows: Sequence[Row], kind: Kind) -> GroundFact:
    """A fact that holds for a while, or for ever."""
    low, length = Fraction(draw(st.integers(0, 20))), draw(st.sampled_from([0, 0, 1, 2, 5, 12, None]))
    row = draw(st.sampled_from(rows))
    if length is None:
        return name, row, Interval(low, math.inf, False, True)
    left, right = (
        (draw(st.booleans()), draw(st.booleans())) if length > 1 or (length and kind == "rational") else (False, False)
    )
    return name, row, Interval(low, low + length, left, right)


@st.composite
def switches(draw: st.DrawFn, rows: Sequence[Row]) -> GroundFact:
    """A switch goes on, or off."""
    at = Fraction(draw(st.integers(0, 20)))
    return draw(st.sampled_from(["on", "off"])), draw(st.sampled_from(rows)), Interval(at, at)


@st.composite
def hidings(draw: st.DrawFn, inhibitor: tuple[str, Row | None], kind: Kind) -> GroundFact:
    """A fact of what inhibits."""
    atom, arguments = inhibitor
    values = {"room": ["n", "s"], "rank": [1, 2], "_": [7, 8], 7: [7, 8]}
    row = tuple(draw(st.sampled_from(values[term])) for term in arguments or ())  # type: ignore[index]
    return draw(spells(atom.split("(")[0], [row], kind))


@st.composite
def deeds(draw: st.DrawFn, rows: Sequence[Row]) -> Done:
    """What somebody does; most of it is done close together, and some at the same time."""
    action = draw(st.sampled_from([*ACTIONS, "acknowledge", "acknowledge", "shelve", "unshelve"]))
    lasting = draw(st.integers(1, 12)) if action == "shelve" else 0
    who = draw(st.sampled_from(["anna", "bob"]))
    comment = "so" if action == "comment" else ""
    return Done(action, draw(st.sampled_from(rows)), draw(st.integers(0, LAST)), who, comment, lasting)


def many(drawn: Alarming, places: Sequence[tuple[str, int]]) -> Alarming:
    """The same for many rooms: each has the history of a row, so many days later, and what inhibits it is its own."""
    facts: list[GroundFact] = []
    done: list[Done] = []
    rows = tuple((place,) for place, _ in places)
    for place, days in places:
        facts += [(name, (place,), _later(when, 4 * days)) for name, about, when in drawn.facts if about == drawn.rows[0]]
        done += [replace(item, row=(place,), at=item.at + 4 * days) for item in drawn.done]
    return replace(drawn, rows=rows, facts=tuple(facts), done=tuple(done))


def _later(when: Interval, by: int) -> Interval:
    return replace(when, low=when.low + by, high=when.high + by)
