"""The board: the open alarms, of what is held of their parts. It is kept from one look to the next.

A look goes over the alarms of which something has come since the last one, and over those that time has passed: something of
them begins or ends with the stream, or with the present. So it costs what has happened, however many alarms are open. While
nobody looks, nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple

from tidelog.operators.operator import shift
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.notices import Notices
from tidelog.plans.alarms.desk import Key, OpenAlarm, begun, folded_as, opened, parts_of, urgency
from tidelog.plans.alarms.folds import Folds, Standing
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.declared.alarms import Alarm
from tidelog.plans.tree.declared.causes import AFTER, INTO
from tidelog.runtime.emission.agenda import Agenda
from tidelog.runtime.emission.held import NEVER, Held

_boards = count(1)


class _Part(NamedTuple):
    """An output that says something of an alarm: its name there, or the alarm that is a cause; and how far behind the stream
    it is known. It `has_more` arguments than the alarm."""

    output: str
    name: str
    cause: str
    behind: int
    has_more: bool


class _Seen(NamedTuple):
    """What is known of an alarm at a look."""

    item: OpenAlarm | None
    causes: Sequence[Key]


class Board:
    """The open alarms of a plan for a desk."""

    def __init__(self, plan: Plan, held: Held) -> None:
        self._plan, self._held = plan, held
        self._alarms = {alarm.name: alarm for alarm in plan.alarms}
        self._parts: dict[str, list[_Part]] = {alarm: [] for alarm in self._alarms}
        longer = longer_parts(plan)
        for output in parts_of(plan.alarms, plan.silent):
            alarm, _, name = output.partition(" ")
            if alarm in self._alarms:
                behind = max(0, -plan.leads[plan.outputs[output]])
                self._parts[alarm].append(_Part(output, name, _cause(output), behind, output in longer))
        self._behind = {alarm: max([part.behind for part in every], default=0) for alarm, every in self._parts.items()}
        """How far behind the stream all is known of an alarm: a condition that begins later is known before its state is."""
        self._outputs = {part.output: alarm for alarm, every in self._parts.items() for part in every}
        self._serial, self._turns = next(_boards), 0
        self.forget()

    @property
    def version(self) -> tuple[int, int]:
        """Another one after each look at which something was different, and on each other board."""
        return self._serial, self._turns

    # --- what comes in --------------------------------------------------------------------------------------------------

    def receive(self, output: str, facts: Sequence[Fact], notices: Notices | None) -> None:
        """There is news of an output."""
        alarm = self._outputs.get(output) if self._is_kept else None
        if alarm is None:
            return
        size, fresh = len(self._alarms[alarm].declared.fields), self._fresh
        for row, _, _ in facts:
            fresh.add((alarm, row[:size]))
        if notices is not None:
            fresh.update([(alarm, row[:size]) for row in notices.begun])
            fresh.update([(alarm, row[:size]) for row, _, _ in notices.ended])
        if len(fresh) > 2 * len(self._shown) + LIMITS.round:
            self.forget()  # nobody has looked for long

    def forget(self) -> None:
        """Keep nothing until somebody looks again."""
        self._is_kept = False
        self._frontier = self._present = NEG
        self._fresh: set[Key] = set()
        self._ends: Agenda[Key] = Agenda()  # by the stream
        self._begins: Agenda[Key] = Agenda()  # by the present
        self._ahead: set[Key] = set()
        """Of which something begins behind what the stream is complete for."""
        self._items: dict[Key, OpenAlarm] = {}
        """Each by itself, as if none were folded."""
        self._shown: dict[Key, OpenAlarm] = {}
        self._keys: dict[str, Key] = {}
        self._folds = Folds()
        self._order: list[Key] = []
        self._list: tuple[OpenAlarm, ...] | None = ()

    # --- what is asked --------------------------------------------------------------------------------------------------

    def look(self, frontier: int, present: int) -> None:
        """The stream is complete up to `frontier`; what has begun by the present counts, too."""
        if self._is_kept:
            self._go_on(frontier, present)
            return
        with uncollected():
            self._is_kept = True
            for alarm, parts in self._parts.items():
                size = len(self._alarms[alarm].declared.fields)
                for part in parts:
                    self._fresh.update([(alarm, row[:size]) for row in self._held.rows(part.output)])
            self._go_on(frontier, present)
            self._turns += 1

    def items(self) -> tuple[OpenAlarm, ...]:
        """All alarms that are not normal as of the last look, the most urgent ones first, and of these what began last."""
        if self._list is None:
            rank, moved = self._folds.urgency, self._folds.moved
            if moved:
                order = [key for key in self._order if key not in moved]
                order += [key for key in moved if key in rank]
                order.sort(key=rank.__getitem__)
                self._order = order
                moved.clear()
            self._list = tuple([self._shown[key] for key in self._order])
        return self._list

    def find(self, identity: str) -> OpenAlarm | None:
        """The one of this `id`; None where it is normal."""
        key = self._keys.get(identity)
        return None if key is None else self._shown[key]

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _go_on(self, frontier: int, present: int) -> None:
        fresh, self._fresh = self._fresh, set()
        fresh.update(self._ends.reached(frontier))
        if present < self._present:
            fresh |= self._ahead
        fresh.update(self._begins.reached(present))
        self._frontier, self._present = frontier, present
        if not fresh:
            return
        parts = {
            alarm: [(part, self._held.present(part.output, frontier)) for part in every if self._held.has(part.output)]
            for alarm, every in self._parts.items()
        }
        news: dict[Key, Standing | None] = {}
        for key in fresh:
            before = self._items.get(key)
            item, causes = self._see(self._alarms[key[0]], key, parts[key[0]], before)
            if item == before and tuple(causes) == self._folds.causes(key):
                continue
            if item is None:
                del self._items[key]
                news[key] = None
            else:
                self._items[key] = item
                news[key] = urgency(item), causes
        if news:
            self._turn(news)

    def _see(self, alarm: Alarm, key: Key, parts: Iterable[tuple[_Part, int]], before: OpenAlarm | None) -> _Seen:
        """What holds of an alarm now; and note when to look at it again."""
        held, (_, row), turn = self._held, key, NEVER
        found: list[tuple[str, Row, int]] = []
        causes: dict[Key, None] = {}
        size = len(row)
        for (output, name, cause, behind, has_more), present in parts:
            for each in held.starting_with(output, row) if has_more else (row,):
                lo, due = held.since(output, each, present)
                if due < NEVER:
                    turn = min(turn, due + behind, POS)  # when the stream has ended, all outputs are known
                if lo is None:
                    continue
                if cause:
                    causes[cause, each[size:]] = None
                else:
                    found.append((name, each[size:], lo))
        item = opened(alarm, row, self._plan.timeline, found, before)
        if self._ahead:
            self._ahead.discard(key)
        if item is None:
            behind = self._behind[key[0]]
            lo, due, is_ahead = held.begun(key[0], row, shift(self._frontier, -behind), self._present)
            if is_ahead:
                self._ahead.add(key)
            if due < NEVER:
                self._begins.schedule(key, due)
            if lo is not None:
                turn = min(turn, lo + behind, POS)
                item = begun(alarm, row, self._plan.timeline, lo)
        if turn < NEVER:
            self._ends.schedule(key, turn)
        return _Seen(item, () if item is None else (*causes,))

    def _turn(self, news: dict[Key, Standing | None]) -> None:
        """Show what is different."""
        folds, shown = self._folds, self._shown
        is_new = False
        for key in folds.turn(news):
            before, item = shown.get(key), self._items.get(key)
            if item is not None:
                first = folds.first(key)
                cause = None if first is None else self._items[first].id
                folded = 0 if first is not None else folds.below(key)
                item = item if cause is None and not folded else folded_as(item, cause, folded)
            if item == before:
                continue
            is_new = True
            if item is None:
                del self._keys[shown.pop(key).id]
            else:
                shown[key] = item
                self._keys[item.id] = key
        if is_new:
            self._list = None
            self._turns += 1


def longer_parts(plan: Plan) -> dict[str, int]:
    """The outputs for a desk whose rows say more than which alarm they are of, each with how many arguments that has."""
    found: dict[str, int] = {}
    for alarm in plan.alarms:
        size = len(alarm.declared.fields)
        longer = {part for part, arguments in alarm.parts.items() if arguments > size}
        for output in plan.outputs:
            if output in longer or (output.startswith(f"{alarm.name} ") and _cause(output)):
                found[output] = size
    return found


def _cause(output: str) -> str:
    """The alarm into which another one is folded, where an output says so."""
    return next((output.partition(kind)[2] for kind in (INTO, AFTER) if kind in output), "")
