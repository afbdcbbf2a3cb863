"""The plan: which operators there are, what feeds them, and every decision about time, made before anything runs.

A plan is inert and immutable. The runtime only deploys it: it leaves no choice open. It prints itself
(`tidelog explain`, `plans/explaining/`), and each step has an id that stays the same as long as the program's text does;
errors, statistics and snapshots use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from tidelog.plans.calendars.ticks import TickCalendar
from tidelog.plans.data.changes import Change, ChangeRecord
from tidelog.plans.data.facts import Answer, Record, Schema, ValueLike
from tidelog.plans.data.records import make_record
from tidelog.plans.data.timeline import POS, Metric, Timeline
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.plan.guards import Prospects
from tidelog.plans.plan.preconditions import Unfolding
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree.brief import brief, named, number
from tidelog.plans.tree.declared.alarms import Alarm
from tidelog.plans.tree.declared.storms import Storm
from tidelog.plans.tree.gates import Gate
from tidelog.plans.tree.syntax import AggregateFunction, Background, Comparison, Program, Rule, Term


@dataclass(frozen=True, slots=True)
class UnionShape:
    """Coalesces its ports; with `reach` above 1 it sends `#`-facts, covering gaps of up to `reach` (encoded).

    One that `passes` keeps nothing: the step that it feeds does so, whatever comes again
    (`plans/analysis/physical/repeating.py`).
    """

    reach: int = 1
    passes: bool = False


@dataclass(frozen=True, slots=True)
class DilateShape:
    """◇ϱ, or ◇⁺ϱ where `future`."""

    metric: Metric
    future: bool


@dataclass(frozen=True, slots=True)
class ErodeShape:
    """□ϱ, or □⁺ϱ where `future`; `clipped` where the stream starts."""

    metric: Metric
    future: bool
    clipped: bool = False


@dataclass(frozen=True, slots=True)
class PairShape:
    """Since or until: the variables of either side, in the order of their columns."""

    operator: Literal["since", "until"]
    metric: Metric
    left: tuple[str, ...]
    right: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JoinShape:
    """A rule `head :- atoms, comparisons` reduced to what its code depends on.

    `atoms` holds each body atom's terms, `head` the head's terms (variables or constants), `comparisons` in any order.
    """

    head: tuple[Term, ...]
    atoms: tuple[tuple[Term, ...], ...]
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class AntiJoinShape:
    """M's columns, and the terms of the negated atom: variables of M, constants, `_`."""

    columns: tuple[str, ...]
    negated: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class LatchShape:
    """`not N since[0,∞) M`: M's columns, and the terms of the negated atom, as in `AntiJoinShape`."""

    columns: tuple[str, ...]
    negated: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class AssignShape:
    """`p(X, V) := M(X, V)`: what was assigned last, from behind its time on, until another is; `none` never holds."""

    width: int


@dataclass(frozen=True, slots=True)
class HoldShape:
    """Where a loop closes: coverage beyond the present waits here."""


@dataclass(frozen=True, slots=True)
class ToldShape:
    """What a step announces, piece by piece, for those who take no notices; how it does, as in `Announced`."""

    beyond: int
    is_fed: bool


@dataclass(frozen=True, slots=True)
class BindShape:
    """`M'(X, T) :- M(X)@T`: each time of a row becomes its last column."""


@dataclass(frozen=True, slots=True)
class MoveShape:
    """`M'(X)@T+k :- M(X, T)`: the row without its last column, at the time that this column tells, plus `shift`.

    `back` is how far (encoded) a moved row can lie behind the time at which its body holds; `POS` where nothing bounds it.
    """

    shift: int
    back: int


@dataclass(frozen=True, slots=True)
class SteppedShape:
    """`sometime M in [0 step d]`: M at the last multiple of `step`. So `in [n step d]` is computed from `in [n]`."""

    step: int


@dataclass(frozen=True, slots=True)
class TupleShape:
    """A window of the last `size` input facts in order of arrival, over the predicates `of` (all, if there are none).

    `terms` are those of the atom of `predicate` inside. A fact's stay in the window is a *visit*, with a number: part
    `entered` tells when visits begin, `left` when they end. `always` needs no visits, and is told as `points`.
    """

    mode: Literal["sometime", "always", "at"]
    part: Literal["entered", "left", "points"]
    size: int
    of: tuple[str, ...]
    predicate: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class LatestShape:
    """`latest M by G in [n]`: the positions of G among M's columns, and n (encoded; `POS` where it has no end)."""

    size: int
    by: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AggregateShape:
    """`A = f(V) over M in [n step d] by G`: the positions of G and of V (None for `count`) among M's columns.

    `step` is 1 where the window moves with each tick; `fraction` the Q of `quantile`.
    """

    function: AggregateFunction
    size: int
    step: int
    by: tuple[int, ...]
    value: int | None
    fraction: Fraction | None = None


@dataclass(frozen=True, slots=True)
class ThresholdShape:
    """`count() over M in [n] by G >= k`, or `sum(V)`, where V is not below 0: the positions of G and of V.

    `least` is what the weight of all pairs in the window must come to; where `is_strict`, it must be more.
    """

    size: int
    by: tuple[int, ...]
    value: int | None
    least: Fraction
    is_strict: bool = False


@dataclass(frozen=True, slots=True)
class CalendarShape:
    """The intervals of a calendar, told `ahead` of the clock, from `behind` before the stream's start on (encoded).

    `since` is the earliest begin of what the program states, which may lie before that; `POS` where nothing is stated.
    """

    calendar: TickCalendar
    ahead: int
    behind: int
    since: int = POS


@dataclass(frozen=True, slots=True)
class PeriodShape:
    """`A = f(V) over M per C by G`: the positions of G and of V (None for `count`) among M's columns.

    `fraction` is the Q of `quantile`.
    """

    function: AggregateFunction
    calendar: TickCalendar
    by: tuple[int, ...]
    value: int | None
    fraction: Fraction | None = None


Shape = (
    UnionShape
    | DilateShape
    | ErodeShape
    | PairShape
    | JoinShape
    | AntiJoinShape
    | LatchShape
    | AssignShape
    | HoldShape
    | ToldShape
    | BindShape
    | MoveShape
    | SteppedShape
    | TupleShape
    | LatestShape
    | AggregateShape
    | ThresholdShape
    | CalendarShape
    | PeriodShape
)


@dataclass(frozen=True, slots=True)
class Feed:
    """What a port is connected to: another step, the input stream's facts of a predicate, the program's own facts of a
    predicate, the stream's start, the clock (the watermark alone), all arrivals in their order, as rows
    `(predicate, *row)`, or, in the plan of an island, a step that is run elsewhere (`plans/islands/`)."""

    kind: Literal["step", "stream", "facts", "start", "clock", "arrivals", "remote"]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of the plan: what it computes, from what, and for which rule.

    `rule` is the normalised rule as text, `source` the place of the rule in the program's text, `loop` the number of the
    recursive component that it belongs to.
    """

    id: str
    predicate: str
    shape: Shape
    inputs: tuple[Feed, ...]
    rule: str = ""
    source: str = ""
    loop: int | None = None

    @property
    def feeders(self) -> tuple[str, ...]:
        """The steps that feed it, port by port."""
        return tuple(feed.name for feed in self.inputs if feed.kind == "step")


@dataclass(frozen=True, slots=True)
class Loop:
    """A recursive component: its steps feed each other until nothing is in flight; then its frontiers move on.

    `entries` are the ports `(step, port)` fed from outside, and `origins[i]` tells whose frontier entry i follows: all that
    the stream feeds share one. `leads[step][o]` tells how far (encoded) the frontier of the step lies ahead of origin o's,
    by the shortest way through the loop; so the frontier of a step is the minimum over the origins of `frontier + lead`.
    `origin_leads[o]` is how far origin o's own frontier lies ahead of the watermark, so that the loop knows the present.
    `holds` are the steps at which what lies in the future waits. `creates_values` are
    those that compute new values in a round that need not move on in time: with them the loop may never come to rest.

    A loop in which something is negated is **clocked**: it goes through time, and `order` has its members as they come to
    know one time one after another, those that feed each other at one time together. Otherwise it is empty.
    """

    number: int
    members: tuple[str, ...]
    entries: tuple[tuple[str, int], ...]
    origins: tuple[int, ...]
    origin_leads: tuple[int, ...]
    leads: Mapping[str, tuple[int, ...]]
    holds: tuple[str, ...]
    creates_values: tuple[str, ...] = ()
    order: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Announced:
    """What a step announces is known to hold `beyond` its frontier (encoded); `slowest` is the port that is known last, and
    `is_fed` tells whether some port gets notices."""

    beyond: int = 0
    slowest: int = 0
    is_fed: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the runtime needs. `steps` are in an order in which each comes behind what feeds it, but for loops.

    `facts` hold from the beginning (the program's own, and loaded background); `outputs` maps each output predicate to
    its step, `constraints` each constraint's step to its rule as written; `leads` tells for each step how far its frontier
    lies ahead of the watermark (negative: behind; `POS` where no stream feeds it); `prospects` tell who may sleep, and
    `announcing` are the steps that tell of what goes on holding when it begins and when it ends alone.
    `questions` are what `ask` asks, `unfoldings` what each of them needs (known once all facts are there), and `delays`
    (encoded) how far behind the watermark the facts of an input may begin, for those that declare it. `by_calendars` are the
    steps that rest on calendars, and on no stream; `over_calendars` those that follow from calendars, or count per period,
    each with how far (encoded) before the stream's start it is told. `silent` are outputs that only a desk is told of: what
    becomes of `alarms`; those of them that are `spoken` are answers nevertheless, for sinks that ask for them. `storms` are
    those of its sinks.
    """

    name: str
    timeline: Timeline
    schema: Schema
    steps: tuple[Step, ...]
    loops: tuple[Loop, ...]
    outputs: Mapping[str, str]
    constraints: Mapping[str, Rule]
    facts: tuple[Record, ...]
    backgrounds: tuple[Background, ...]
    leads: Mapping[str, int]
    program: Program = field(repr=False)
    normal: NormalProgram = field(repr=False)
    warnings: tuple[Diagnostic, ...] = ()
    prospects: Prospects = field(default_factory=Prospects, repr=False)
    announcing: Mapping[str, Announced] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    unfoldings: tuple[Unfolding, ...] = field(default=(), repr=False)
    delays: Mapping[str, int] = field(default_factory=dict)
    by_calendars: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    spoken: frozenset[str] = frozenset()
    alarms: tuple[Alarm, ...] = ()
    storms: tuple[Storm | Gate, ...] = ()
    over_calendars: Mapping[str, int] = field(default_factory=dict)

    @property
    def told(self) -> tuple[str, ...]:
        """The outputs that go to sinks."""
        return tuple(name for name in self.outputs if name not in self.silent)

    @property
    def follows_time(self) -> bool:
        """Whether something is followed as far as the stream goes: what has no end in recursion, as rows, or per period."""
        clocked = any(feed.kind == "clock" for step in self.steps for feed in step.inputs)
        counts = any(isinstance(step.shape, PeriodShape) for step in self.steps)
        return clocked or counts or any(loop.holds for loop in self.loops)

    def step(self, name: str) -> Step:
        """The step with this id; KeyError if there is none."""
        for step in self.steps:
            if step.id == name:
                return step
        raise KeyError(name)

    def record(
        self, predicate: str, row: Sequence[ValueLike] = (), time: TimeLike | None = None, interval: str | None = None
    ) -> Record:
        """The record of a fact at a `time`, or over an `interval` such as `"[1,2)"`: what a source hands over.

        Raises DataError for a row or a time that the program cannot take, TypeError for what is none.
        """
        return make_record(self.schema, TimeReader(self.timeline), predicate, row, time, interval)

    def __repr__(self) -> str:
        return brief(self, self.name, named(self.outputs, "output"), number(len(self.steps), "step"))

    def _repr_html_(self) -> str:
        """The plan as a graph, for notebooks."""
        from tidelog.plans.explaining.showing.graphs import plan_picture  # noqa: PLC0415 - a run, which has to start at once, draws nothing

        return plan_picture(self).svg

    def answer(self, record: Record) -> Answer:
        """A record as an answer, with its exact interval and its text; that of a change is a `Change`."""
        known = self.schema.predicates.get(record[0])
        names = known.fields if known is not None and known.is_named else ()
        return (Change if isinstance(record, ChangeRecord) else Answer)(record, self.timeline, names)
