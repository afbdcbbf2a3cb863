"""A changed program goes on: what of a stored run is kept, what is filled from its journal, and what is lost.

Steps are recognised by what they compute (`plans/analysis/physical/identity.py`), and keep their state. All others are
**filled**: a session for the new program is told the journal, as far back as they look, and their state is taken from it.
Where a kept step feeds one that is filled, both have to know the same of what goes on. They do where the journal reaches
back as far as the kept step looks; otherwise the filled step is told nothing by it but what stands now, and begins with the
change.

Of each output it is known from when on its answers count: the journal's begin, and how far the output looks back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

from tidelog.operators.operator import shift
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.notices import Notices
from tidelog.plans.analysis.horizons.looking_back import reads
from tidelog.plans.analysis.physical.identity import Identity, identify
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import PredicateSchema, Record, Row
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.language.printing import format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.reaching import reachable
from tidelog.runtime.emission.begun import Begun, begin_as_told, begun_of, go_on_from
from tidelog.runtime.migration.backfill import Alive, Begin, Filling, fill
from tidelog.runtime.migration.horizon import Reach
from tidelog.runtime.migration.merging import Mixture
from tidelog.runtime.network.graph import Message, Port
from tidelog.runtime.ports.durability import Journal

Fate = Literal["kept", "filled", "new", "ended", "lost"]
"""What becomes of an output: `filled` has changed, and is what it would have been; `lost` has changed, and is not."""


@dataclass(frozen=True, slots=True)
class Becoming:
    """What becomes of an output, a constraint or a question, in words; `since` is from when on (encoded) its answers count.

    `drops` tells that state is dropped with it, which nothing replaces: so many `rows`, where it has ended.
    """

    name: str
    fate: Fate
    told: str
    since: int = NEG
    drops: bool = False
    rows: int = 0

    def __str__(self) -> str:
        return f"{self.name}: {self.told}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the run stands that is gone on with: its session, the number of its last event, what its facts may still hold.

    `heard` tells since when (encoded) facts of a predicate are taken, where that is not from the begin on.
    """

    session: Filling
    begin: Begin
    heard: Mapping[str, int]


class Changing:
    """The step from one program to another, at one event of a run.

    Of the predicates `other`, the program now gets other facts than the one before did, though they are called the same.
    """

    def __init__(self, standing: Standing, now: Filling, store: Journal, other: Collection[str] = ()) -> None:
        self._stored, self._now, self._store = standing.session, now, store
        self._before, self._plan, self._other = standing.session.plan, now.plan, frozenset(other)
        self._was = identify(self._before, now.has_prospects)
        self._identity = identify(self._plan, now.has_prospects)
        self._steps = same_steps(self._was, self._identity, self._plan, self._other)
        self._outputs = frozenset(filter(self._is_kept, self._plan.outputs))
        self._questions = _same_questions(self._before, self._plan)
        self._end = standing.begin
        self.heard = self._heard(standing.heard)
        self._reach = Reach(self._plan, self._steps, standing.session.frontier, self._end)
        filled = self._filled()
        if filled or len(self._questions) < len(self._plan.questions):
            self._reach.read_from(store, filled)
        self._begin = self._reach.begin
        self._filled_since = self._reach.filled_from(dict.fromkeys(self._other, self._end.behind()))
        self._counts_since = self._reach.filled_from(self.heard)
        self._news_from = POS

    def _is_kept(self, output: str) -> bool:
        before, now = self._before.outputs.get(output), self._plan.outputs[output]
        return before is not None and now in self._steps and self._was.form[before] == self._identity.form[now]

    def _heard(self, before: Mapping[str, int]) -> dict[str, int]:
        actions = {name for alarm in self._plan.alarms for name in alarm.actions.values()}  # of a new alarm there was none
        known = self._plan.schema.predicates.items()
        taken = {name: schema for name, schema in known if schema.accepts_input and name not in actions}
        untaken = {name for name, schema in taken.items() if not _takes(self._before, schema)}
        new = dict.fromkeys(untaken | self._other & taken.keys(), self._end.behind())
        return {**before, **new}

    def _filled(self) -> set[str]:
        """The steps that are filled, those that feed them, and those of new outputs."""
        filled = {step.id for step in self._plan.steps if step.id not in self._steps}
        feeding = {feed.name for name in filled for feed in self._plan.step(name).inputs if feed.kind == "step"}
        return filled | feeding | {step for name, step in self._plan.outputs.items() if name not in self._outputs}

    # --- what becomes of it ---------------------------------------------------------------------------------------------

    def becomings(self) -> list[Becoming]:
        """What becomes of each output, constraint and question, in the order of the program now; then what ends."""
        found = [self._of_output(name) for name in self._plan.outputs]
        found += [self._of_constraint(name) for name in self._plan.constraints]
        found += [self._of_question(i) for i in range(len(self._plan.questions))]
        return [*found, *self._ended()]

    def _of_output(self, name: str) -> Becoming:
        if name in self._outputs:
            return Becoming(name, "kept", "kept")
        return self._of_filled(name, self._plan.outputs[name], is_new=name not in self._before.outputs)

    def _of_filled(self, name: str, step: str, *, is_new: bool) -> Becoming:
        since, known = self._counts_since[step], shift(self._reach.known_upto(step), 1)
        what = "new" if is_new else "changed"
        fate: Fate = "new" if is_new else "filled"
        if since <= max(known, NEG):
            return Becoming(name, fate, f"{what}, filled from the journal", since)
        if since >= POS:
            count = f"its answers rest on what is known from {self._time(self._begin.reach + 1)} on"
        else:
            count = f"its answers count from {self._time(since)} on"
        if is_new or self._filled_since[step] <= known:
            return Becoming(name, fate, f"{what}, {count}", since)
        return Becoming(
            name, "lost", f"{what}, and the journal does not reach back as far as it looks: {count}", since, True
        )

    def _of_constraint(self, name: str) -> Becoming:
        rule = f"`{format_statement(self._plan.constraints[name])}`"
        if name in self._steps:
            return Becoming(rule, "kept", "kept")
        return self._of_filled(rule, name, is_new=True)

    def _of_question(self, number: int) -> Becoming:
        name = f"ask {self._plan.questions[number].name}"
        if number in self._questions:
            return Becoming(name, "kept", "kept")
        is_new = self._plan.questions[number].name not in {question.name for question in self._before.questions}
        what = "new" if is_new else "changed"
        if self._begin.intake is None:
            return Becoming(name, "new" if is_new else "filled", f"{what}, filled from the journal")
        told = f"{what}, its answers rest on what is known from {self._time(self._begin.reach + 1)} on"
        return Becoming(name, "new" if is_new else "lost", told, POS, drops=not is_new)

    def _ended(self) -> list[Becoming]:
        """What the program has no more, with how many rows that it alone remembered."""
        statistics = self._stored.statistics()
        gone = set(self._before.constraints) - set(self._steps.values())
        ends = [(name, step) for name, step in self._before.outputs.items() if name not in self._plan.outputs]
        ends += [(f"`{format_statement(self._before.constraints[step])}`", step) for step in gone]
        still = set(self._steps.values())
        found = []
        for name, step in ends:
            alone = _cone(self._before, step) - still
            rows = sum(statistics.steps[item].entries for item in alone) + len(self._begun().get(name, ()))
            found.append(end_of(name, rows))
        asked = {question.name for question in self._plan.questions}
        for question in self._before.questions:
            if question.name not in asked:
                now = statistics.questions[question.name]
                found.append(end_of(f"ask {question.name}", now.open + now.facts + now.answers))
        return found

    def _begun(self) -> Mapping[str, Mapping[Row, int]]:
        """Of each output that is told by changes, the rows that were told to hold, and since when."""
        return self._stored.begun()

    def _time(self, time: int) -> str:
        return format_moment(self._plan.timeline, time)

    # --- going on -------------------------------------------------------------------------------------------------------

    def go_on(self) -> tuple[dict[str, Any], list[Record]]:
        """The state of the session for the program now, and what is to be told at the change."""
        muted, blank = self._silenced()
        told = self._now.untold(muted=muted)
        told.tell_from({step: self._tells_from(step) for step in self._watched()})
        alive = Alive(name for name in self._plan.outputs if name not in self._outputs)
        if self._begin.number < self._end.number or self._begin.intake is not None:
            fill(told, self._store, self._begin, self._end.number, alive, without=self._other)
        told.rest()
        told.pull_records()
        last_words = self._last_words()
        self._news_from = min((lo for *_, lo, _ in alive.found(self._stored.frontier)), default=POS)
        before = self._told_before(last_words)
        if self._stored.emit == "intervals":
            told.tell_no_more(before)
        stored = self._stored.state()
        empty = told.blank_emission() if blank else {}
        mixture = Mixture(self._before, self._plan, self._was, self._identity, self._steps, self._outputs, self._questions)
        mixed = self._now.twin()
        mixed.load(mixture.mix(stored, told.state(), dict.fromkeys(blank, empty)))
        self._announce(mixed, muted, blank)
        found = [*self._news(alive, before), *mixed.pull_records()]
        state = mixed.state()
        going_on = self._go_on_as_told(state["outlet"]["emission"], alive, blank)
        news = [record for record in found if not _is_begin(record) or record[1] not in going_on.get(record[0], ())]
        return state, [*last_words, *self._ends(going_on), *news]

    def _watched(self) -> list[str]:
        outputs = [step for name, step in self._plan.outputs.items() if name not in self._outputs]
        return outputs + [name for name in self._plan.constraints if name not in self._steps]

    def _tells_from(self, step: str) -> int:
        """What lies before is not told: it is not known, or was to be told before the change."""
        since, known = self._counts_since[step], self._stored.frontier
        return NEG if since <= NEG or known <= NEG else min(since, shift(known, 1))

    def _silenced(self) -> tuple[set[Port], list[str]]:
        """The ports that hear nothing of kept steps while the journal is told, and the outputs that do not."""
        agrees = {name: self._reach.agrees(name) for name in self._steps}
        muted = {
            (step.id, port)
            for step in self._plan.steps
            if step.id not in self._steps
            for port, feed in enumerate(step.inputs)
            if feed.kind == "step" and not agrees.get(feed.name, True)
        }
        blank = [
            name for name, step in self._plan.outputs.items() if name not in self._outputs and not agrees.get(step, True)
        ]
        return muted, blank

    def _announce(self, mixed: Filling, muted: Iterable[Port], blank: Iterable[str]) -> None:
        """Tell those that have heard nothing what stands."""
        messages: list[Message] = []
        for name, port in sorted(muted):
            feeder = self._plan.step(name).inputs[port].name
            if feeder in self._plan.announcing:
                messages.append((name, port, (), Notices(mixed.standing_rows(feeder))))
        mixed.announce(messages)
        for output in blank:
            step = self._plan.outputs[output]
            if step in self._plan.announcing:
                mixed.receive_standing(step, Notices(mixed.standing_rows(step)))

    # --- what is told at the change -------------------------------------------------------------------------------------

    def _same_meaning(self, output: str) -> bool:
        """Whether an output computes what it did, though its state is laid out in another way."""
        before, now = self._before.outputs.get(output), self._plan.outputs.get(output)
        if before is None or now is None or self._reach.reads[now] & self._other:
            return False
        return self._was.meaning[before] == self._identity.meaning[now]

    def _last_words(self) -> list[Record]:
        """The answers which are known and were not told yet. Those of outputs that are kept are told by then, in a state."""
        self._stored.rest()
        return self._stored.pull_records()

    def _begun_before(self) -> dict[str, dict[Row, int]]:
        """What was told to have begun of outputs that have changed or are gone; what has no end is found in the journal."""
        found = {name: dict(rows) for name, rows in self._begun().items() if name not in self._outputs}
        if found and self._begin.intake is None:
            for name, rows in self._told_again.begun().items():
                found[name] = {**rows, **found.get(name, {})}
        return found

    def _go_on_as_told(self, emission: Mapping[str, Any], alive: Alive, blank: Iterable[str]) -> dict[str, dict[Row, int]]:
        """Where changes are told: what was told to hold, and still does by the program now, goes on with the begin told."""
        now, endless, known = begun_of(emission), alive.begun(), self._stored.frontier
        found: dict[str, dict[Row, int]] = {}
        for output, rows in self._begun_before().items():
            for row, lo in rows.items():
                begin = now.get(output, {}).get(row)
                if begin is not None:
                    goes_on = begin <= shift(known, 1) and begin_as_told(emission, output, row, lo)
                elif output in blank or output not in self._plan.outputs:
                    goes_on = False
                elif goes_on := row not in endless.get(output, {}) and lo > emission["frontiers"][output]:
                    go_on_from(emission, output, row, lo)
                else:
                    goes_on = row in endless.get(output, {})
                if goes_on:
                    found.setdefault(output, {})[row] = lo
        return found

    def _ends(self, going_on: Begun) -> list[Record]:
        """The ends of answers that were told to hold, and do not hold any more by the new program; where changes are
        told."""
        known = self._stored.frontier
        found: list[Record] = []
        for output, rows in self._begun_before().items():
            gone = [(row, lo) for row, lo in rows.items() if row not in going_on.get(output, ())]
            found += [ChangeRecord(output, row, lo, max(lo, known)) for row, lo in gone if known < POS]
        return found

    def _news(self, alive: Alive, before: Mapping[str, Coverage]) -> list[Record]:
        """The answers of the new program that were known before the change and hold beyond it, without those that were
        told."""
        known = self._stored.frontier
        found: list[Record] = []
        for record in alive.found(known):
            if self._same_meaning(record[0]) or known >= POS:
                continue
            told = before.get(record[0])
            found += [record] if told is None else [(record[0], *fact) for fact in told.insert([record[1:]])]
        return found

    @cached_property
    def _told_again(self) -> Alive:
        """The answers that the old program has told of changed outputs, and of those that are gone, from the first news
        on."""
        changed = (name for name in self._before.outputs if name not in self._outputs)
        found = Alive(changed, shift(self._news_from, -1))
        again = self._stored.untold()
        fill(again, self._store, self._begin, self._end.number, found)
        again.rest()
        found.take(again.pull_records(), again.frontier)
        return found

    def _told_before(self, last_words: Sequence[Record]) -> dict[str, Coverage]:
        """Where facts are told: what was told of outputs that have changed, and holds behind the change."""
        changed = {name for name in self._plan.outputs if name in self._before.outputs and name not in self._outputs}
        if not changed or self._stored.emit == "changes":
            return {}
        found = {name: Coverage() for name in changed}
        earlier = self._stored.told_before()
        for name, row, lo, hi in (*earlier, *self._told_again.found(self._stored.frontier), *last_words):
            if name in changed:
                found[name].insert([(row, lo, hi)])
        return found


def _is_begin(record: Record) -> bool:
    return isinstance(record, ChangeRecord) and not record.has_ended


def same_steps(was: Identity, now: Identity, plan: Plan, other: frozenset[str] = frozenset()) -> dict[str, str]:
    """The steps of a plan that compute what steps of the plan before did, with what they were called; none of those that
    read a predicate of which the plan now gets `other` facts."""
    found = _match(was.form, now.form)
    if other:
        read = reads(plan)
        found = {name: before for name, before in found.items() if not read[name] & other}
    return found


def _match(was: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """The steps now that were there before, with what they were called."""
    places: dict[str, list[str]] = {}
    for name, digest in was.items():
        places.setdefault(digest, []).append(name)
    found = {}
    for name, digest in now.items():
        if digest in places:
            same = places[digest]
            found[name] = same.pop(0) if len(same) > 1 else same[0]
    return found


def _same_questions(before: Plan, now: Plan) -> dict[int, int]:
    """The questions now that were asked before, by their numbers."""
    was, known = (
        [(item.name, item.depth, repr(unfolding)) for item, unfolding in zip(plan.questions, plan.unfoldings, strict=True)]
        for plan in (before, now)
    )
    return {i: was.index(question) for i, question in enumerate(known) if question in was}


def _takes(plan: Plan, now: PredicateSchema) -> bool:
    """Whether a plan takes all facts of a predicate that are taken now."""
    schema = plan.schema.predicates.get(now.name)
    return plan.schema.others is None if schema is None else schema.accepts_input and now.is_within(schema)


def _cone(plan: Plan, step: str) -> set[str]:
    """A step, and all that feed it."""
    return reachable([step], lambda name: [feed.name for feed in plan.step(name).inputs if feed.kind == "step"])


def end_of(name: str, rows: int) -> Becoming:
    if not rows:
        return Becoming(name, "ended", "ended, and remembered nothing")
    return Becoming(name, "ended", f"ended: {rows} {'row is' if rows == 1 else 'rows are'} dropped", drops=True, rows=rows)


def format_moment(timeline: Timeline, time: int) -> str:
    """A time for people: ISO-8601 where the timeline has a unit, and the date is one."""
    point = timeline.decode_point(time)
    if timeline.unit is not None:
        try:
            return datetime.fromtimestamp(float(point * timeline.unit), UTC).isoformat().replace("+00:00", "Z")
        except (ValueError, OverflowError, OSError):
            pass
    return timeline.format_point(time)
