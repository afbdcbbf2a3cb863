"""From a normal form to a plan: the steps, what feeds what, the loops, and all that is decided about time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tidelog.plans.analysis.horizons.calendar_reach import over_calendars, resting_on_calendars, with_reach
from tidelog.plans.analysis.physical.announcing import announcing_steps
from tidelog.plans.analysis.physical.prospects import find_prospects
from tidelog.plans.analysis.physical.repeating import pass_on
from tidelog.plans.analysis.recursion.beginning import cut_what_never_begins
from tidelog.plans.analysis.recursion.loops import LoopFinder
from tidelog.plans.asking.asked import asked_arities, delays_of, questions_of
from tidelog.plans.calendars.declared import calendars_of
from tidelog.plans.calendars.ticks import on_timeline
from tidelog.plans.checks import require
from tidelog.plans.checks.inferring import output_fields
from tidelog.plans.compiling.fusing import fuse
from tidelog.plans.compiling.only_asked import as_warnings, blamed, chooses_outputs, outputs_without
from tidelog.plans.compiling.pieces import tell_in_pieces
from tidelog.plans.data.actions import alarm_schema
from tidelog.plans.data.facts import AlarmSchema, PredicateSchema, Record, Row, Schema
from tidelog.plans.data.refining import common_divisor
from tidelog.plans.data.timeline import LIMIT, NEG, POS, Timeline
from tidelog.plans.diagnostics.errors import DataError, Diagnostic, ProgramError, Span
from tidelog.plans.language.printing import format_statement
from tidelog.plans.normal.normalise import normalise
from tidelog.plans.normal.program import NormalProgram, begin
from tidelog.plans.plan.plan import (
    BindShape,
    CalendarShape,
    DilateShape,
    Feed,
    PeriodShape,
    Plan,
    Shape,
    Step,
    TupleShape,
    UnionShape,
)
from tidelog.plans.plan.shapes import TOP, names_read, shape_of
from tidelog.plans.tree.declared.alarms import alarms_of, silent_outputs
from tidelog.plans.tree.declared.machines import is_of_machine
from tidelog.plans.tree.syntax import (
    Atom,
    Binary,
    Constant,
    FactStatement,
    Field,
    Formula,
    Interval,
    Latest,
    Program,
    Rule,
    Truth,
    Unary,
    Visits,
)
from tidelog.plans.tree.traverse import subformulas

DEFAULT_RESOLUTION = Fraction(1, 1_000_000)


def compile_program(program: Program, *, outputs: bool = True, depth: int | None = None) -> Plan:
    """The plan of a parsed program; ProgramError with every independent reason if it has none.

    Without `outputs`, nothing is derived but what constraints need. To `depth` the questions follow recursion. Where a
    program asks and declares no outputs, what only `ask` can compute is none, with a warning.
    """
    if outputs and chooses_outputs(program):
        return _compile_what_runs(program, depth)
    return _compile(program, None if outputs else (), depth)


def _compile(program: Program, keep: Iterable[str] | None, depth: int | None) -> Plan:
    warnings = require(program, keep)
    try:
        normal = normalise(program, keep)
        return Compiler(program, replace(normal, outputs=normal.kept), depth).plan(warnings)
    except ProgramError as error:
        raise ProgramError(error.diagnostics, program.name, program.text) from error


def _compile_what_runs(program: Program, depth: int | None) -> Plan:
    """Leave out what cannot run forward until the rest can; what is wrong even then is wrong."""
    excluded: frozenset[str] = frozenset()
    skipped: list[Diagnostic] = []
    while True:
        try:
            plan = _compile(program, outputs_without(program, excluded), depth)
        except ProgramError as error:
            more = blamed(program, error.diagnostics) - excluded
            if not more:
                raise
            excluded |= more
            skipped += [problem for problem in error.diagnostics if blamed(program, [problem])]
            continue
        return replace(plan, warnings=(*plan.warnings, *as_warnings(program, skipped)))


@dataclass
class Compiler:
    """What a program becomes on its way from the normal form to a plan: its timeline, schema, facts and steps."""

    program: Program
    normal: NormalProgram
    depth: int | None = None
    problems: list[Diagnostic] = field(default_factory=list)
    steps: dict[str, Step] = field(default_factory=dict)
    shapes: dict[int, tuple[Shape, tuple[str, ...]]] = field(default_factory=dict)
    """The shape of each rule, by the rule's `id`, and what it reads."""

    def __post_init__(self) -> None:
        self.timeline = self._choose_timeline()
        self.calendars = calendars_of(self.normal.calendars)
        self.arities = _arities(self.normal) | asked_arities(self.program)
        self.schema = self._schema()
        self.facts = self._facts()
        self.given = {record[0] for record in self.facts} | {item.predicate for item in self.normal.backgrounds}

    def _choose_timeline(self) -> Timeline:
        return choose_timeline(self.normal)

    def plan(self, warnings: tuple[Diagnostic, ...]) -> Plan:
        """The plan for streams; ProgramError with every independent reason if there is none."""
        self._add_steps()
        delays = delays_of(self.normal, self.timeline)
        told = {name: on_timeline(item, self.timeline) for name, item in self.calendars.items() if not item.is_listed}
        questions, wrong = questions_of(self.program, self.schema, delays, told, self.depth)
        self.problems += wrong
        if self.problems:
            raise ProgramError(self.problems)
        outputs = {name: name for name in self.normal.outputs if name in self.steps}
        watched = {*outputs.values(), *self.normal.constraints}
        begun = cut_what_never_begins(self.steps, watched)
        known = with_reach(begun, self.facts, self.timeline)
        steps, loops, leads = LoopFinder(list(known.values()), self._span_of, self.normal.origins).arrange()
        self._check_alarms(leads)
        clocked = {loop.number for loop in loops if loop.order}
        open_facts = {item.predicate for item in self.normal.backgrounds}
        prospects = find_prospects(steps, watched, self.facts, open_facts, self.timeline)
        announcing, taking = announcing_steps(steps, watched, leads, prospects, clocked)
        fused = fuse(steps, announcing, watched, self.normal.rules, self.timeline.touch)
        if fused != steps:
            steps = fused
            announcing, taking = announcing_steps(steps, watched, leads, prospects, clocked)
        steps = pass_on(steps, watched, announcing)
        steps, leads = tell_in_pieces(steps, announcing, taking, leads)
        return Plan(
            name=self.program.name,
            timeline=self.timeline,
            schema=replace(self.schema, questions={question.name: question.time for question in questions}),
            steps=steps,
            loops=loops,
            outputs=outputs,
            constraints=dict(self.normal.constraints),
            facts=self.facts,
            backgrounds=self.normal.backgrounds,
            leads=leads,
            program=self.program,
            normal=self.normal,
            warnings=warnings,
            prospects=prospects,
            announcing=announcing,
            questions=questions,
            delays=delays,
            by_calendars=resting_on_calendars(steps),
            silent=silent_outputs(self.program),
            alarms=alarms_of(self.program),
            over_calendars=over_calendars({step.id: step for step in steps}, self.timeline),
        )

    def _check_alarms(self, leads: Mapping[str, int]) -> None:
        """An alarm begins and ends at times that come to be known: people answer it in between."""
        late = [alarm for alarm in alarms_of(self.program) if leads.get(alarm.name, POS) <= NEG]
        if late:
            message = f"alarm `{late[0].name}` looks ahead without end, so a stream never decides when it begins and ends"
            span = late[0].declared.span
            help = "give the operator a finite interval"
            raise ProgramError([Diagnostic("infinite-delay", message, span, help=help)])

    # --- predicates -----------------------------------------------------------------------------------------------------

    def _schema(self) -> Schema:
        declared = {item.predicate: item.fields for item in self.normal.declarations}
        open_to_all = not declared and not self.normal.asked
        named = self._named_outputs({*self.arities} if open_to_all else ())
        predicates = {}
        for name, arity in self.arities.items():
            if name in self.normal.origins or name in self.normal.constraints or name == TOP:
                continue
            if is_of_machine(name) and name not in self.normal.inputs:
                continue
            fields: tuple[Field, ...] = named.get(name) or declared.get(name, ())
            predicates[name] = PredicateSchema(
                name=name,
                arity=arity,
                fields=tuple(item.name for item in fields),
                types=tuple(item.type for item in fields),
                accepts_input=(open_to_all or name in self.normal.inputs) and name not in self.normal.split,
                is_named=name in named,
            )
        others = {name: False for name in _arities(begin(self.program)) if name not in predicates} if declared else None
        return Schema(self.timeline, predicates, others=others, alarms=self._alarms())

    def _alarms(self) -> dict[str, AlarmSchema]:
        """What people may do with the alarms that the program declares."""
        return {
            alarm.name: alarm_schema(alarm.name, alarm.actions, alarm.declared, self.timeline.unit)
            for alarm in alarms_of(self.program)
        }

    def _named_outputs(self, open_to_data: Collection[str]) -> Mapping[str, tuple[Field, ...]]:
        """The fields of outputs whose arguments have names; data may hold anything of what is `open_to_data`."""
        return output_fields(self.program, open_to_data)

    def _facts(self) -> tuple[Record, ...]:
        records: list[Record] = []
        for statement in self.normal.facts:
            try:
                records.append(self._record(statement))
            except DataError as error:
                self._problem("bad-fact", error, statement.span)
        if TOP in self.arities:
            records.append((TOP, (), NEG, POS))
        for name, calendar in self.calendars.items():
            if calendar.is_listed and name in self.arities:
                listed = on_timeline(calendar, self.timeline).ranges(-LIMIT, LIMIT)
                records += [(name, row, lo, hi) for row, lo, hi in listed]
        return tuple(records)

    def _record(self, statement: FactStatement) -> Record:
        terms = statement.atom.arguments
        row: Row = tuple(term.value for term in terms if isinstance(term, Constant))
        lo, hi = (NEG, POS) if statement.interval is None else self.timeline.encode_interval(statement.interval)
        return statement.atom.predicate, row, lo, hi

    # --- steps ----------------------------------------------------------------------------------------------------------

    def _add_steps(self) -> None:
        rules = self._rules_by_head()
        short = self._shortest_reader()
        read = {name for rule in self.normal.rules for part in rule.body for name in names_read(part)}
        needed = {*read, *self.normal.outputs, *self.normal.constraints}
        for predicate in (name for name in self.arities if name in needed):
            self._add_predicate(predicate, rules.get(predicate, []), short.get(predicate, 1))

    def _rules_by_head(self) -> dict[str, list[tuple[Rule, Rule]]]:
        rules: dict[str, list[tuple[Rule, Rule]]] = {}
        for rule, source in zip(self.normal.rules, self.normal.sources, strict=True):
            if isinstance(rule.head, Atom):
                rules.setdefault(rule.head.predicate, []).append((rule, source))
        return rules

    def _add_predicate(self, predicate: str, rules: list[tuple[Rule, Rule]], reach: int) -> None:
        """The producer of a predicate, with the predicate's name as its id: its only rule, or the union of all."""
        if predicate in self.calendars and not self.calendars[predicate].is_listed:
            self._add_calendar(predicate)
            return
        feeds = self._outer_feeds(predicate)
        if len(rules) == 1 and not feeds:
            self._add_rule(predicate, *rules[0])
            return
        for number, (rule, source) in enumerate(rules, 1):
            name = f"{predicate}/{number}"
            self._add_rule(name, rule, source)
            feeds.append(Feed("step", name))
        if not feeds:
            feeds.append(Feed("facts", predicate))  # nothing can hold: complete from the start
        self.steps[predicate] = Step(predicate, predicate, UnionShape(reach), tuple(feeds))

    def _add_calendar(self, predicate: str) -> None:
        shape = CalendarShape(on_timeline(self.calendars[predicate], self.timeline), 0, 0)
        written = next(item for item in self.normal.calendars if item.predicate == predicate)
        self.steps[predicate] = Step(
            predicate, predicate, shape, (Feed("start"), Feed("clock")), "", format_statement(written)
        )

    def _outer_feeds(self, predicate: str) -> list[Feed]:
        feeds = []
        schema = self.schema.predicates.get(predicate)
        if schema is not None and schema.accepts_input:
            feeds.append(Feed("stream", predicate))
        if predicate in self.given:
            feeds.append(Feed("facts", predicate))
        return feeds

    def _add_rule(self, name: str, rule: Rule, source: Rule) -> None:
        try:
            shape, reads = self._shape_of(rule)
        except DataError as error:
            self._problem("bad-interval", error, rule.span)
            return
        feeds = tuple(Feed("step", predicate) for predicate in reads)
        if getattr(shape, "clipped", False):
            feeds += (Feed("start"),)
        if isinstance(shape, BindShape):
            feeds += (Feed("clock"),)
        if isinstance(shape, PeriodShape):
            feeds += (Feed("start"),)
        if isinstance(shape, TupleShape):
            feeds += (Feed("arrivals"), Feed("start")) if shape.part == "points" else (Feed("arrivals"),)
        predicate = rule.head.predicate if isinstance(rule.head, Atom) else name
        text = format_statement(rule)
        self.steps[name] = Step(name, predicate, shape, feeds, text, text if source is rule else format_statement(source))

    def _shape_of(self, rule: Rule) -> tuple[Shape, tuple[str, ...]]:
        found = self.shapes.get(id(rule))
        if found is None:
            found = self.shapes[id(rule)] = shape_of(rule, self.timeline, self.calendars)
        return found

    def _shortest_reader(self) -> dict[str, int]:
        """The `reach` of each predicate that only ◇ reads: how long a gap all of its readers bridge (Algorithm 6)."""
        reach: dict[str, int] = {}
        visible = {*self.normal.outputs, *self.normal.constraints}
        for rule in self.normal.rules:
            try:
                shape, reads = self._shape_of(rule)
            except DataError:
                continue  # reported where its step is added
            for predicate in reads:
                reach[predicate] = min(reach.get(predicate, POS), _bridged(shape))
        return {predicate: max(1, length) for predicate, length in reach.items() if predicate not in visible}

    def _problem(self, code: str, error: DataError, span: Span) -> None:
        self.problems.append(Diagnostic(code, error.reason, span))

    def _span_of(self, step: Step) -> Span:
        for rule in self.normal.rules:
            if format_statement(rule) == step.rule:
                return rule.span
        return Span(0, 0)


def _bridged(shape: Shape) -> int:
    """The longest distance between two encoded ranges that ◇ϱ makes one: |ϱ| + 1, less what open ends cost."""
    if not isinstance(shape, DilateShape):
        return 1
    metric = shape.metric
    return min(POS, metric.length + 1 - metric.left_open - metric.right_open)


def choose_timeline(
    normal: NormalProgram, also: Iterable[Fraction] = (), undeclared: Fraction = DEFAULT_RESOLUTION
) -> Timeline:
    """The timeline that the program declares, fine enough for every number in it, and for those given `also`.

    Without a declared resolution it is as fine as `undeclared`, too; 0 stands for no finer than the numbers need.
    """
    declared = normal.timeline
    if declared.kind == "integer":
        return Timeline("integer", Fraction(1), declared.unit, declared.rounding)
    resolution = declared.resolution or undeclared
    for number in (*_numbers(normal), *also):
        resolution = common_divisor(resolution, number)
    return Timeline("rational", resolution or Fraction(1), declared.unit)


def _numbers(normal: NormalProgram) -> Iterable[Fraction]:
    """Every finite time that the rules and the facts mention."""
    for rule in normal.rules:
        for part in rule.body:
            yield from _times_in(part)
    for fact in normal.facts:
        if fact.interval is not None:
            yield from _ends(fact.interval)
    for declaration in normal.declarations:
        if isinstance(declaration.delay, Fraction) and declaration.delay:
            yield declaration.delay


def _times_in(formula: Formula) -> Iterable[Fraction]:
    for part in subformulas(formula):
        if isinstance(part, Unary | Binary):
            yield from _ends(part.interval)
        elif isinstance(part, Latest) and isinstance(part.window.size, Fraction) and part.window.size:
            yield part.window.size


def _ends(interval: Interval) -> Iterable[Fraction]:
    for end in (interval.low, interval.high):
        if isinstance(end, Fraction) and end:
            yield abs(end)


def _arities(normal: NormalProgram) -> dict[str, int]:
    """Every predicate and how many arguments it takes, in order of first mention."""
    arities: dict[str, int] = {}

    def note(formula: Formula) -> None:
        for part in subformulas(formula):
            if isinstance(part, Atom):
                arities.setdefault(part.predicate, len(part.arguments))
            elif isinstance(part, Truth) and part.value:
                arities.setdefault(TOP, 0)
            elif isinstance(part, Visits):
                note(part.atom)

    for declaration in normal.declarations:
        arities.setdefault(declaration.predicate, len(declaration.fields))
    for calendar in normal.calendars:
        arities.setdefault(calendar.predicate, len(calendar.fields))
    for rule in normal.rules:
        for part in (*rule.body, rule.head):
            note(part)
    for fact in normal.facts:
        note(fact.atom)
    return arities
