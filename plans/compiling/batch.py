"""From a program to what batch reasoning needs: the shapes of a stream's plan, in rounds and without frontiers' leads.

All facts are there at once, so what a stream could never decide is no error: operators that look ahead without end,
recursion that looks further ahead in each round. Nothing is pruned: every predicate of the text is part of the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tidelog.plans.analysis.horizons.calendar_reach import over_calendars, with_reach
from tidelog.plans.analysis.recursion.rounds import Component, RoundPlanner, Stratum
from tidelog.plans.analysis.recursion.strata import levels_of
from tidelog.plans.calendars.ticks import on_timeline
from tidelog.plans.checks import require
from tidelog.plans.compiling.compile import DEFAULT_RESOLUTION, Compiler, choose_timeline
from tidelog.plans.data.facts import Answer, Record, Schema, ValueLike
from tidelog.plans.data.records import make_record
from tidelog.plans.data.timeline import Timeline, format_time
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.diagnostics.errors import DataError, Diagnostic, ProgramError
from tidelog.plans.normal.normalise import normalise
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.times.sustain import sustain
from tidelog.plans.plan.plan import BindShape, CalendarShape, Feed, MoveShape, Step, TupleShape, UnionShape
from tidelog.plans.tree.brief import brief, named, number
from tidelog.plans.tree.declared.machines import is_of_machine, machine_of
from tidelog.plans.tree.dependencies import circles, dependencies
from tidelog.plans.tree.names import head_predicate
from tidelog.plans.tree.numerals import shorten
from tidelog.plans.tree.syntax import Ask, Background, Field, Program, Rule
from tidelog.plans.tree.walk import needed_for

_OF_STREAMS = frozenset({"unused-rule", "never-derived"})
"""Warnings of what an output does not need: here all is told."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Everything that materialisation needs. `steps` are the operators, each component behind what feeds it.

    `strata` are computed one after another; a step of each predicate of the text unites its rules and its facts. `facts` are
    the program's own (and loaded background), `calendars` what is needed of each calendar, `over_calendars` what
    follows from them, as in `Plan`, `constraints` map each
    constraint's step to its rule as written. Streams feed nothing here: `schema` lets data hold facts of any predicate but
    calendars. Where the program declares no resolution, the timeline is as fine as `undeclared`, at least.
    """

    name: str
    timeline: Timeline
    schema: Schema
    steps: tuple[Step, ...]
    strata: tuple[Stratum, ...]
    constraints: Mapping[str, Rule]
    facts: tuple[Record, ...]
    backgrounds: tuple[Background, ...]
    calendars: Mapping[str, CalendarShape]
    over_calendars: Mapping[str, int]
    program: Program = field(repr=False)
    normal: NormalProgram = field(repr=False)
    kept: tuple[str, ...] | None = None
    undeclared: Fraction = DEFAULT_RESOLUTION
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def components(self) -> tuple[Component, ...]:
        """The derived predicates by mutual recursion, each component behind those that it reads."""
        return tuple(component for stratum in self.strata for component in stratum.components)

    def with_resolution(self, resolution: Fraction) -> BatchPlan:
        """The same program on a timeline that also holds every multiple of `resolution`, for data that are finer.

        Background facts that have been loaded stay. DataError where it leaves no room for the program's own times,
        ValueError for a timeline of integers, or for a resolution of 0 or less.
        """
        if self.timeline.is_integer:
            raise ValueError("`timeline integer` has no resolution")
        if resolution <= 0:
            raise ValueError(f"a resolution is above 0, got {resolution}")
        try:
            finer = _compile(self.program, self.kept, (self.timeline.resolution, resolution), self.undeclared)
        except ProgramError as error:  # it has been compiled before: only its times can be too large now
            needed = f"at the resolution {shorten(format_time(resolution))} that the facts need"
            raise DataError(f"{needed}, the program's {error.diagnostics[0].message}") from error
        return replace(finer, facts=(*finer.facts, *self.facts[len(finer.facts) :]))  # what was loaded holds at all times

    def record(
        self, predicate: str, row: Sequence[ValueLike] = (), time: TimeLike | None = None, interval: str | None = None
    ) -> Record:
        """The record of a fact at a `time`, or over an `interval` such as `"[1,2)"`.

        Raises DataError for a row or a time that the program cannot take, TypeError for what is none.
        """
        return make_record(self.schema, TimeReader(self.timeline), predicate, row, time, interval)

    def __repr__(self) -> str:
        return brief(self, self.name, named(self.schema.predicates, "predicate"), number(len(self.steps), "step"))

    def _repr_html_(self) -> str:
        """The program, for notebooks."""
        return self.program._repr_html_()

    def answer(self, record: Record) -> Answer:
        """A record as an answer, with its exact interval and its text."""
        known = self.schema.predicates.get(record[0])
        return Answer(record, self.timeline, known.fields if known is not None and known.is_named else ())


def compile_batch(
    program: Program, keep: Iterable[str] | None = None, undeclared: Fraction = DEFAULT_RESOLUTION
) -> BatchPlan:
    """The batch plan of a parsed program; ProgramError with every independent reason if it has none.

    With `keep`, nothing is computed but what these predicates and the constraints need. What `ask` asks plays no part.
    `undeclared` is the resolution where the program declares none; 0 for one that is no finer than its numbers need.

    >>> from tidelog.plans.language.parser import parse
    >>> plan = compile_batch(parse("p(X) :- boxplus[0,inf) q(X). r(X) :- p(X), not s(X). r(X) :- r(X)."))
    >>> [component.predicates for component in plan.components]
    [('p',), ('r',)]
    """
    statements = tuple(statement for statement in program.statements if not isinstance(statement, Ask))
    return _compile(replace(program, statements=statements), None if keep is None else tuple(keep), (), undeclared)


def _compile(program: Program, keep: tuple[str, ...] | None, finer: Sequence[Fraction], undeclared: Fraction) -> BatchPlan:
    rules = [statement for statement in program.statements if isinstance(statement, Rule)]
    heads = tuple(dict.fromkeys(name for rule in rules if (name := head_predicate(rule.head)) is not None))
    wanted = heads if keep is None else (*keep, *_that_end(heads, keep, rules))
    warnings = tuple(item for item in require(program, wanted) if item.code not in _OF_STREAMS)
    try:
        normal = replace(normalise(program, wanted, without=(sustain,)), outputs=wanted)  # data may hold any predicate
        return _BatchCompiler(program, normal, finer=finer, undeclared=undeclared).batch_plan(keep, warnings)
    except ProgramError as error:
        raise ProgramError(error.diagnostics, program.name, program.text) from error


def _that_end(heads: Iterable[str], keep: Iterable[str], rules: Iterable[Rule]) -> Iterator[str]:
    """What ends what is assigned: nothing needs it that is kept, but who asks why something does not hold."""
    if not any(map(is_of_machine, heads)):
        return
    needed = needed_for(keep, rules)
    yield from (name for name in heads if is_of_machine(name) and machine_of(name) in needed)


@dataclass
class _BatchCompiler(Compiler):
    finer: Sequence[Fraction] = ()
    undeclared: Fraction = DEFAULT_RESOLUTION

    def batch_plan(self, kept: tuple[str, ...] | None, warnings: tuple[Diagnostic, ...]) -> BatchPlan:
        self._add_steps()
        if self.problems:
            raise ProgramError(self.problems)
        text = [name for name in self.steps if name in self.arities and name not in self.normal.origins]
        found = circles(dependencies(self.normal.rules, is_integer=self.timeline.is_integer))
        clocked = frozenset(name for circle in found for name in circle.members).union(self.normal.split)
        planner = RoundPlanner(self.steps.values(), text, self.normal.constraints, clocked)
        return BatchPlan(
            name=self.program.name,
            timeline=self.timeline,
            schema=self.schema,
            steps=planner.in_order(),
            strata=planner.strata(levels_of(self.normal)),
            constraints=dict(self.normal.constraints),
            facts=self.facts,
            backgrounds=self.normal.backgrounds,
            calendars=self._calendars(),
            over_calendars=over_calendars(self._with_calendars(), self.timeline),
            program=self.program,
            normal=self.normal,
            kept=kept,
            undeclared=self.undeclared,
            warnings=warnings,
        )

    def _add_calendar(self, predicate: str) -> None:
        """A calendar is told as facts, as far as it may matter (`runtime/batch/clocks/calendars.py`)."""
        self.steps[predicate] = Step(predicate, predicate, UnionShape(), (Feed("facts", predicate),))

    def _with_calendars(self) -> dict[str, Step]:
        """The steps as they are in a stream."""
        found = dict(self.steps)
        for name in (name for name in self.steps if name in self.calendars and not self.calendars[name].is_listed):
            found[name] = replace(found[name], shape=CalendarShape(on_timeline(self.calendars[name], self.timeline), 0, 0))
        return found

    def _calendars(self) -> dict[str, CalendarShape]:
        known = with_reach(self._with_calendars(), (), self.timeline)
        return {name: step.shape for name, step in known.items() if isinstance(step.shape, CalendarShape)}

    def _choose_timeline(self) -> Timeline:
        return choose_timeline(self.normal, self.finer, self.undeclared)

    def _schema(self) -> Schema:
        """Data may hold facts of every predicate; so each of them unites its rules with facts."""
        schema = super()._schema()
        every = {name: replace(item, accepts_input=name not in self.calendars) for name, item in schema.predicates.items()}
        others = None if schema.others is None else dict.fromkeys(schema.others, True)
        return replace(schema, predicates=every, others=others)

    def _outer_feeds(self, predicate: str) -> list[Feed]:
        """What is assigned is no data, but derived in rounds like all else that the text names."""
        feeds = super()._outer_feeds(predicate)
        return feeds if feeds or not is_of_machine(predicate) else [Feed("facts", predicate)]

    def _named_outputs(self, open_to_data: Collection[str]) -> Mapping[str, tuple[Field, ...]]:
        return super()._named_outputs({*self.arities})

    def _shortest_reader(self) -> dict[str, int]:
        """No `#`-facts: every predicate is part of the result."""
        return {}

    def _add_rule(self, name: str, rule: Rule, source: Rule) -> None:
        super()._add_rule(name, rule, source)
        step = self.steps.get(name)
        if step is not None and isinstance(step.shape, BindShape | MoveShape | TupleShape):
            what = "a tuple window" if isinstance(step.shape, TupleShape) else "a time used as a value"
            message = f"{what} is for streams: batch reasoning does not have it"
            help = "run the rule with `tidelog run`, or write it with metric operators, such as `diamondminus[0,5] p(X)`"
            if not any(problem.span == source.span for problem in self.problems):
                self.problems.append(Diagnostic("not-in-batch", message, source.span, help=help))
