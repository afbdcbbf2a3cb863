"""One stratum's operators: what enters runs through all of them once, each behind what feeds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tidelog.operators.grouped.periods import Periods
from tidelog.operators.joins.join import Join
from tidelog.operators.operator import Operator
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.analysis.recursion.rounds import Stratum
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Fact, format_atom
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import OperatorError
from tidelog.plans.language.places import place_of
from tidelog.plans.plan.plan import Step
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.network.deploy import build_operator
from tidelog.runtime.network.state_bound import ON_THE_WAY, Holding, StateBound

Port = tuple[str, int]
Message = tuple[int, Sequence[Fact], int]
Derived = Mapping[str, Sequence[Fact]]
"""What rules gave for each predicate of the text, and each constraint; new or not."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What saturation asks of a stratum: `tapped` collects what these steps tell, `forever` is what steps are known to tell
    for ever. Where the stratum reads what repeats, `horizon` is how much of that is laid out, and `clips` when the steps
    that negate it see enough of it. Nothing is told beyond `until`.
    """

    tapped: Mapping[str, Coverage] = field(default_factory=dict)
    forever: Mapping[str, Sequence[Fact]] = field(default_factory=dict)
    horizon: tuple[int, int] | None = None
    clips: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    until: int = POS


class Wiring:
    """The operators of a stratum with empty state, and who feeds whom within a round.

    An operator that is complete, since its frontier is `POS`, is let go with all that it stored. With `foresight`, a join
    also is when an atom that is complete meets nothing any more (Procedure 3 of Wang et al. 2022, lines 13–23).
    `discarded` are the rules (their steps) let go so far.
    """

    def __init__(
        self,
        plan: BatchPlan,
        stratum: Stratum,
        start: int | None,
        frame: Frame,
        bound: StateBound,
        *,
        foresight: bool = False,
    ) -> None:
        self._frame = frame
        self._bound = bound
        self._program = plan.program
        steps = {step.id: step for step in plan.steps}
        self._steps: dict[str, Step] = {name: steps[name] for name in stratum.steps}
        self._operators: dict[str, Operator] = {
            name: build_operator(step, plan.timeline) for name, step in self._steps.items()
        }
        for operator in self._operators.values():
            operator.far_sighted = foresight and isinstance(operator, Join)
            if isinstance(operator, Periods):
                operator.end = frame.until
            operator.room = bound.room
        self._constraints = frozenset(stratum.constraints)
        self._unions = {rule: name for name in stratum.predicates for rule in steps[name].feeders}
        self._consumers = self._wire([*stratum.steps, *stratum.reads])
        self._waiting: dict[str, list[Message]] = {name: [] for name in self._steps}
        self.discarded: list[str] = []
        self._evaluations = 0
        self._made: dict[str, int] = {}
        bound.watch("steps", self.holdings)
        self._begin(start)

    def _wire(self, sources: Sequence[str]) -> Mapping[str, list[Port]]:
        consumers: dict[str, list[Port]] = {name: [] for name in sources}
        for step in self._steps.values():
            for port, feed in enumerate(step.inputs):
                if feed.kind == "step":
                    consumers[feed.name].append((step.id, port))
        return consumers

    def _begin(self, start: int | None) -> None:
        """What comes from no predicate of the text is complete at once: the start, and what nothing can derive."""
        begin: list[Fact] = [] if start is None else [((), start, start)]
        for name, step in self._steps.items():
            for port, feed in enumerate(step.inputs):
                if feed.kind != "step":
                    self._waiting[name].append((port, begin if feed.kind == "start" else [], POS))

    @property
    def evaluations(self) -> int:
        """How often an operator was given facts."""
        return self._evaluations + sum(operator.evaluations for operator in self._operators.values())

    def frontier(self, step: str) -> int:
        """What a step has promised."""
        operator = self._operators.get(step)
        return POS if operator is None else operator.frontier

    def enter(self, source: str, facts: Sequence[Fact], frontier: int) -> None:
        """Let new coverage of a predicate of the text, or of a step, wait for the next round, and the frontier behind it."""
        for step, port in self._consumers.get(source, ()):
            if step in self._operators:
                self._waiting[step].append((port, facts, frontier))

    def run(self) -> Derived:
        """One round: all that waits runs through the operators; returns what comes out for predicates and constraints."""
        derived: dict[str, list[Fact]] = {}
        self._made.clear()
        for name in self._steps:
            messages, self._waiting[name] = self._waiting[name], []
            if not messages or name not in self._operators:
                continue
            out, frontier = self._receive(name, messages)
            for step, port in self._consumers[name]:
                self._waiting[step].append((port, out, frontier))
            target = self._unions.get(name, name if name in self._constraints else None)
            if out and target is not None:
                self._made[name] = len(out)
                derived.setdefault(target, []).extend(out)
        return derived

    def _receive(self, name: str, messages: Sequence[Message]) -> tuple[list[Fact], int]:
        operator = self._operators[name]
        out: list[Fact] = []
        for port, facts, frontier in messages:
            try:
                made = operator.receive(port, facts, frontier)
                out += made
            except NoRoomError as full:
                raise self._bound.error(Holding(full.rows, partial(tell_step, self._program, self._steps[name]))) from None
            except Exception as error:
                raise _failure(self._steps[name], port, facts, error) from error
            self._bound.moved(len(facts) + len(made))
        if operator.frontier >= POS:
            self._let_go(name, operator)
        if name in self._frame.clips:
            out = list(_clipped(out, *self._frame.clips[name]))
        if name in self._frame.tapped:
            self._frame.tapped[name].insert(out)
        return out, operator.frontier

    def holdings(self) -> Iterator[Holding]:
        """What each step stores, and what waits for it; what a round has derived so far is told by its rules' steps."""
        for name, operator in self._operators.items():
            waiting = sum(len(facts) for _, facts, _ in self._waiting[name])
            moving = (waiting + self._made.get(name, 0)) // ON_THE_WAY
            yield Holding(operator.entries() + moving, partial(tell_step, self._program, self._steps[name]))

    def _let_go(self, name: str, operator: Operator) -> None:
        self._evaluations += operator.evaluations
        del self._operators[name]
        if name in self._unions or name in self._constraints:
            self.discarded.append(name)


def tell_step(program: Program, step: Step) -> tuple[str, str]:
    """The rule that a step is of, and where that is."""
    text = step.source
    return (f"the rule `{text}`", place_of(program, text)) if text else (f"the step `{step.id}`", "")


def _clipped(facts: Iterable[Fact], first: int, last: int) -> Iterator[Fact]:
    for row, lo, hi in facts:
        if max(lo, first) <= min(hi, last):
            yield row, max(lo, first), min(hi, last)


def _failure(step: Step, port: int, facts: Sequence[Fact], error: Exception) -> OperatorError:
    shown = format_atom(step.inputs[port].name or "start", facts[0][0]) if facts else "(the frontier)"
    others = f" or one of {len(facts) - 1:,} others" if len(facts) > 1 else ""
    return OperatorError(step.id, step.source or step.id, shown + others, f"{type(error).__name__}: {error}")
