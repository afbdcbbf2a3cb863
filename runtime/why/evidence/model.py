"""What holds, and what of it was given: the facts that an explanation rests on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Literal

from tidelog.operators.stores.coverage import Bounds, overlapping
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.intervals import Range, Ranges, intersected, subtracted, united, within
from tidelog.plans.data.repeating import Repeating
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.tree.syntax import Background, CalendarDeclaration, Constant, FactStatement, Program, Value

Kind = Literal["input", "background", "program", "calendar"]
"""Where a fact that no rule derived comes from."""
Rows = Mapping[Row, Bounds]
Writing = Callable[[int, int], str] | None
"""How times are written; None for how data have them."""
Arrival = tuple[str, Row, int]
"""An input fact at the time at which it begins."""
Spell = tuple[int, int, Row]
"""From when to when a row holds."""
_first, _last = itemgetter(0), itemgetter(1)

MOST_REPEATED = 10_000
"""So many ranges are laid out, at the most, of a fact that repeats for ever."""


class Unbounded(Exception):
    """What holds cannot be laid out: it repeats too often within the times that are looked at."""

    def __init__(self, predicate: str) -> None:
        self.predicate = predicate
        super().__init__(predicate)


class Model:
    """All that holds, row by row, of a program and its facts.

    `derived` is the coverage of each predicate, `given` what data hold of a predicate that rules derive, too (of the others
    it is all), `repeating` what holds again and again for ever, `start` the stream's, and `arrivals` the input facts in the
    order in which they came, which tuple windows count.
    """

    def __init__(
        self,
        program: Program,
        timeline: Timeline,
        derived: Mapping[str, Rows],
        given: Mapping[str, Rows],
        repeating: Iterable[Repeating] = (),
        start: int | None = None,
        arrivals: Sequence[Arrival] = (),
    ) -> None:
        self.timeline = timeline
        self.start = NEG if start is None else start
        self.arrivals = arrivals
        self._derived = derived
        self._given = given
        self._repeating: dict[str, dict[Row, list[Repeating]]] = {}
        for fact in repeating:
            self._repeating.setdefault(fact.predicate, {}).setdefault(fact.row, []).append(fact)
        self._stated = _stated(program, timeline)
        self._backgrounds = {item.predicate for item in program.statements if isinstance(item, Background)}
        self._calendars = {item.predicate for item in program.statements if isinstance(item, CalendarDeclaration)}
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Row, list[Row]]] = {}
        self._spells: dict[tuple[str, tuple[int, ...], Row, bool], list[Spell]] = {}

    def rows(self, predicate: str) -> Collection[Row]:
        """The rows that hold at some time."""
        known = self._derived.get(predicate, {})
        repeating = self._repeating.get(predicate)
        return {**known, **repeating}.keys() if repeating else known.keys()  # in a fixed order

    def matching(self, predicate: str, columns: tuple[int, ...], key: Row) -> Sequence[Row]:
        """The rows that hold at some time and have these values in these columns."""
        index = self._indexes.get((predicate, columns))
        if index is None:
            index = self._indexes[predicate, columns] = {}
            for row in self.rows(predicate):
                index.setdefault(tuple([row[column] for column in columns]), []).append(row)
        return index.get(key, ())

    def holding(
        self, predicate: str, columns: tuple[int, ...], key: Row, lo: int, hi: int, *, latest: bool
    ) -> Iterator[Row]:
        """Of the rows with these values in these columns those that hold within `lo … hi`.

        The one that holds last there comes first, or, if it is not to be the `latest`, the one that holds first.
        """
        found: dict[Row, None] = {}
        for _, _, row in _in_turn(self._sorted_spells(predicate, columns, key, latest=latest), lo, hi, latest=latest):
            if row not in found:
                found[row] = None
                yield row
        for row in self._repeating.get(predicate, {}):
            has_key = row not in found and tuple([row[column] for column in columns]) == key
            if has_key and self.ranges(predicate, row, lo, hi, exact=False):
                yield row

    def _sorted_spells(self, predicate: str, columns: tuple[int, ...], key: Row, *, latest: bool) -> list[Spell]:
        number = predicate, columns, key, latest
        found = self._spells.get(number)
        if found is None:
            coverage = self._derived.get(predicate, {})
            found = self._spells[number] = [
                (bounds[i], bounds[i + 1], row)
                for row in self.matching(predicate, columns, key)
                for bounds in (coverage.get(row, []),)
                for i in range(0, len(bounds), 2)
            ]
            found.sort(key=_last if latest else _first)
        return found

    def ranges(self, predicate: str, row: Row, lo: int, hi: int, *, exact: bool = True) -> Ranges:
        """When a row holds, within `lo … hi`. Where not `exact`, of what repeats for ever a part may be left out.

        Unbounded where too much would have to be laid out.
        """
        bounds = self._derived.get(predicate, {}).get(row, [])
        found = among(bounds, lo, hi)
        repeating = self._repeating.get(predicate, {}).get(row)
        if not repeating:
            return found
        for fact in repeating:
            found += _laid_out(fact, lo, hi, exact=exact)
        return united(found)

    def given(self, predicate: str, row: Row, lo: int, hi: int) -> list[tuple[Range, Kind]]:
        """What of a row was given within `lo … hi`, and where it comes from."""
        rows = self._given.get(predicate, self._derived.get(predicate, {}))
        bounds = rows.get(row, [])
        rest = among(bounds, lo, hi)
        if not rest:
            return []
        if predicate in self._calendars:
            return [(each, "calendar") for each in rest]
        stated = intersected(rest, self._stated.get((predicate, row), []))
        rest = subtracted(rest, stated)
        found: list[tuple[Range, Kind]] = [(each, "program") for each in stated]
        for each in rest:
            is_background = predicate in self._backgrounds and bounds[0] == NEG and bounds[1] == POS
            found.append((each, "background" if is_background else "input"))
        return sorted(found)

    def nearest(self, predicate: str, row: Row, lo: int, hi: int) -> Range | None:
        """The range of a row that lies nearest to `lo … hi`, of what does not repeat."""
        bounds = self._derived.get(predicate, {}).get(row, [])
        pairs = [(bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2)]
        return min(pairs, key=lambda pair: max(pair[0] - hi, lo - pair[1], 0), default=None)


def _in_turn(spells: Sequence[Spell], lo: int, hi: int, *, latest: bool) -> Iterator[Spell]:
    """The spells that meet `lo … hi`: those that hold at the one end of it, then the others, the nearest first."""
    if latest:
        beyond = bisect_left(spells, hi, key=_last)
        yield from (spell for spell in islice(spells, beyond, None) if spell[0] <= hi)
        for number in range(beyond - 1, -1, -1):
            if spells[number][1] < lo:
                return
            yield spells[number]
    else:
        beyond = bisect_right(spells, lo, key=_first)
        yield from (spell for spell in islice(spells, beyond) if spell[1] >= lo)
        for spell in islice(spells, beyond, None):
            if spell[0] > hi:
                return
            yield spell


def _stated(program: Program, timeline: Timeline) -> dict[tuple[str, Row], Ranges]:
    """When the facts hold that the program's own text states."""
    found: dict[tuple[str, Row], Ranges] = {}
    for predicate, row, lo, hi in stated_records(program, timeline):
        found[predicate, row] = united([*found.get((predicate, row), []), (lo, hi)])
    return found


def stated_records(program: Program, timeline: Timeline) -> list[Record]:
    """The facts of a program's own text, whose times have been resolved."""
    records: list[Record] = []
    for statement in program.statements:
        if isinstance(statement, FactStatement):
            row: list[Value] = [term.value for term in statement.atom.arguments if isinstance(term, Constant)]
            times = (NEG, POS) if statement.interval is None else timeline.encode_interval(statement.interval)
            records.append((statement.atom.predicate, tuple(row), *times))
    return records


def _laid_out(fact: Repeating, lo: int, hi: int, *, exact: bool) -> Ranges:
    step = abs(fact.period)
    reach = MOST_REPEATED * step
    low, high = max(lo, fact.lo if fact.period > 0 else lo), min(hi, fact.hi if fact.period < 0 else hi)
    if low > high:
        return []
    if high - low > reach:
        if exact:
            raise Unbounded(fact.predicate)
        # the part that is nearest to where one looks from
        low, high = (max(low, high - reach), high) if high < POS else (low, low + reach)
        if low <= NEG:
            return []
    return within(sorted(fact.between(low, high)), lo, hi)


def among(bounds: Bounds, lo: int, hi: int) -> Ranges:
    """What of flat bounds, as coverage has them, lies in `lo … hi`.

    >>> among([1, 4, 6, 9], 3, 7)
    [(3, 4), (6, 7)]
    """
    return [(max(bounds[i], lo), min(bounds[i + 1], hi)) for i in overlapping(bounds, lo, hi)]
