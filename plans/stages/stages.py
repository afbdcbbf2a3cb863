"""Stages: a program as several, each of which can be split by a key, and read what earlier ones tell.

A *stage* is a program of its own. Where it has a key, the work for one value of the key needs nothing of the others: each
value can have a session of its own, on any machine. A stage reads the stream, and answers of earlier stages; between two
stages rows move to where the next key wants them.

Whoever runs stages keeps to four rules, and gets the answers that one session over everything gives, as intervals or final:

1. All sessions have the same `start`, and all get the same watermark, told by `advance` alone: `lateness` is `math.inf`.
2. A session gets the watermark w once it has all facts of the stream up to w, and all that earlier stages told when they got
   it. What they tell later begins after w less the `delay` that the stage's program declares for this input.
3. A fact goes to the session of its key: the argument at `key[predicate]`, numbers by their value. A stage without a key has
   one session; it runs also where nothing comes, and so do the sessions of a stage's seeds, from the start.
4. Of a session's answers those count that are about its key, if they show it, and about an output of the stage.

At the stream's end the last watermark is told to all, then each stage is finished, in order.

What an `ask` asks is a stage of its own, which reads the stream alone (`plans/stages/question_keys.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tidelog.plans.analysis.horizons.notation import decode_distance
from tidelog.plans.calendars.declared import with_events
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record, format_predicate
from tidelog.plans.data.timeline import POS, format_time
from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program, format_statement
from tidelog.plans.plan.plan import Plan, TupleShape
from tidelog.plans.plan.questions import Question
from tidelog.plans.stages.declared import declaration, declare_inputs
from tidelog.plans.stages.grouping import Group, best_key, groups_of
from tidelog.plans.stages.partition import Key, extend_key, is_fed, links_of
from tidelog.plans.stages.question_keys import question_key
from tidelog.plans.stages.seeds import seeds_program
from tidelog.plans.stages.splitting import split_rules
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import (
    AlarmDeclaration,
    Ask,
    Atom,
    Background,
    CalendarDeclaration,
    FactStatement,
    Input,
    Output,
    Program,
    Rule,
    Statement,
    Time,
    TimelineDeclaration,
    Window,
)
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import atoms, head_atom, needed_for, periods, statements_of


@dataclass(frozen=True, slots=True)
class StageInput:
    """What a stage reads. In its program it is called `name`; in the stream's data, or as an answer, `predicate`.

    It comes from the stage with the number `source`, or from the stream. Its facts go by the argument at `position` (from
    0), if the stage has a key; `is_rekeyed` where the earlier stage has another one. They begin at most `delay` behind the
    watermark.
    """

    name: str
    predicate: str
    source: int | None
    position: int | None
    delay: Time
    is_rekeyed: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage, numbered from 1; times are in the program's unit.

    `key` is, for each input and each output that shows it, the place (from 0) of the argument that is the key. Answers that
    do not show it come from several sessions, and go to later stages alone. It is None where there is one session for all,
    because of the rule `prevented_by`, or, where that is empty, because nothing tells sessions apart.

    `outputs` are told to users or to later stages, with how far behind the watermark new answers may begin; `told` are those
    for users. `broadcast` is what the program states, as facts or background, and every session holds. `constraints` are the
    rules that it checks. `seeds`, if any, is a plan whose answers to an empty stream, each with one argument, are the keys
    that need a session from the start. With `needs_start` the stream's start has to be told, with `needs_order` facts have
    to come in the order of their arrival.

    `plan` is `program` compiled for stages, with the background that was loaded; run it, and not what `program` compiles to
    elsewhere: that one tells users in time, but perhaps not later stages.

    A stage that answers a question has it as `asked`, and no outputs.
    """

    number: int
    program: Program
    plan: Plan = field(repr=False)
    key: Key | None
    inputs: tuple[StageInput, ...]
    outputs: Mapping[str, Time]
    told: tuple[str, ...]
    broadcast: tuple[str, ...]
    constraints: tuple[str, ...]
    prevented_by: str
    seeds: Plan | None = field(repr=False)
    needs_start: bool
    needs_order: bool
    asked: Question | None = None


@dataclass(frozen=True, slots=True)
class StagePlan:
    """The stages in order, each behind those that it reads; none where `problems` say why the program has no stages."""

    stages: tuple[Stage, ...]
    problems: tuple[Diagnostic, ...] = ()


def stages_of(plan: Plan) -> StagePlan:
    """The stages of a plan: as few as possible, so that each has a key if its rules have one."""
    problems = tuple(_problems(plan))
    if problems:
        return StagePlan((), problems)
    stages = _derived_stages(_without_asking(plan) if plan.questions else plan)
    asked = (_asked_stage(plan, question, number) for number, question in enumerate(plan.questions, len(stages) + 1))
    return StagePlan((*stages, *asked))


def _derived_stages(plan: Plan) -> tuple[Stage, ...]:
    """The stages of a plan that asks nothing."""
    plan = _without_alarms(plan) if plan.alarms else plan
    program, data = declare_inputs(plan)
    declared = compile_program(program, outputs=bool(plan.outputs)) if data or program is not plan.program else plan
    split, loose = split_rules(declared)
    builder = _Builder(split, loose, {name: told for told, name in data.items()}, plan.facts)
    return tuple(builder.stages())


def _without_alarms(plan: Plan) -> Plan:
    """The plan of the same program with its alarms as rules alone, as any others."""
    kept = tuple(each for each in plan.program.statements if not isinstance(each, AlarmDeclaration))
    program = replace(plan.program, statements=kept)
    return _with_facts_of(plan, compile_program(program, outputs=bool(plan.outputs)))


# --- questions ----------------------------------------------------------------------------------------------------------


def _without_asking(plan: Plan) -> Plan:
    """The plan of the same program without its questions, and without the rules that they alone need."""
    needed = needed_for(plan.outputs, statements_of(plan.program, Rule))
    kept = [each for each in plan.program.statements if not isinstance(each, Ask) and not _is_unneeded(each, needed)]
    if plan.outputs and not statements_of(plan.program, Output):
        kept.append(Output(tuple(plan.outputs)))
    program = replace(plan.program, statements=tuple(kept))
    return _with_facts_of(plan, compile_program(program, outputs=bool(plan.outputs)))


def _is_unneeded(statement: Statement, needed: Collection[str]) -> bool:
    head = head_atom(statement) if isinstance(statement, Rule) else None
    return head is not None and head.predicate not in needed


def _with_facts_of(plan: Plan, other: Plan) -> Plan:
    """Another plan with the background that was loaded for this one."""
    names = {item.predicate for item in other.backgrounds}
    return replace(other, facts=(*other.facts, *(record for record in plan.facts if record[0] in names)))


def _concerns(statement: Statement, needed: Collection[str]) -> bool:
    """Whether a statement says something of these predicates, or of time."""
    match statement:
        case Rule():
            return _derives(statement, {*needed})
        case FactStatement():
            return statement.atom.predicate in needed
        case Input() | Background():
            return statement.predicate in needed
        case Output() | Ask():
            return False
    return True


def _asked_stage(plan: Plan, question: Question, number: int) -> Stage:
    """The stage of a question, split by a key where the question has one."""
    ask = Ask(question.query)
    derived = {head.predicate for rule in question.rules if (head := head_atom(rule))}
    needed = needed_for([question.query.predicate], [rule for rule in statements_of(plan.program, Rule) if head_atom(rule)])
    program = replace(plan.program, statements=(*(each for each in plan.program.statements if _concerns(each, needed)), ask))
    parts = (part for rule in question.rules for formula in rule.body for part in subformulas(formula))
    stated = {fact.atom.predicate for fact in statements_of(program, FactStatement)}
    stated |= {item.predicate for item in statements_of(program, Background)}
    key = question_key(question, stated)
    return Stage(
        number=number,
        program=program,
        plan=_with_facts_of(plan, compile_program(program, outputs=False)),
        key=key,
        inputs=tuple(_asked_input(plan, question, name, key) for name in sorted(question.inputs)),
        outputs={},
        told=(),
        broadcast=tuple(sorted(stated - question.inputs - derived)),
        constraints=(),
        prevented_by="" if key is not None else format_statement(ask),
        seeds=None,
        needs_start=any(isinstance(part, Window) for part in parts),
        needs_order=False,
        asked=question,
    )


def _asked_input(plan: Plan, question: Question, name: str, key: Key | None) -> StageInput:
    delay = decode_distance(question.delay(name), plan.timeline)
    return StageInput(name, name, None, None if key is None else key[name], delay)


def _problems(plan: Plan) -> Iterator[Diagnostic]:
    counted = {step.source for step in plan.steps if isinstance(step.shape, TupleShape) and not step.shape.of}
    for rule in statements_of(plan.program, Rule):
        windows = [part for each in rule.body for part in subformulas(each) if isinstance(part, Window)]
        for window in windows:
            if window.window.tuples and not window.window.of and format_statement(rule) in counted:
                message = "a window over the last facts of all inputs cannot be split into stages"
                names = ", ".join(map(format_predicate, plan.normal.inputs))
                help = f"name what it counts, such as `[#{format_time(window.window.size)} of {names}]`"
                yield Diagnostic("no-stages", message, window.span, help=help)


class _Builder:
    """Makes the stages of a plan that declares its inputs; `data` is what users call an input that has a name of its own."""

    def __init__(self, plan: Plan, loose: Collection[str], data: Mapping[str, str], loaded: Iterable[Record]) -> None:
        self._plan = plan
        self._data = data
        self._loose = loose
        self._groups = groups_of(plan, loose)
        self._rules = statements_of(plan.program, Rule)
        self._facts = statements_of(plan.program, FactStatement)
        self._backgrounds = statements_of(plan.program, Background)
        self._calendars = {item.predicate: item for item in statements_of(plan.program, CalendarDeclaration)}
        self._declared = {item.predicate: item for item in statements_of(plan.program, Input)}
        self._arities = {a.predicate: len(a.arguments) for rule in self._rules for a in atoms(rule.head, *rule.body)}
        rational = not plan.timeline.is_integer
        resolution = plan.timeline.resolution if rational else None
        self._timeline = TimelineDeclaration(plan.timeline.kind, plan.timeline.unit, resolution, plan.timeline.rounding)
        self._read = frozenset(name for group in self._groups for name in group.reads)
        self._source: dict[str, int] = {}
        self._loaded = [record for record in loaded if record[0] in {item.predicate for item in self._backgrounds}]
        self._made: list[Stage] = []

    def stages(self) -> Iterator[Stage]:
        """Each stage behind those that it reads; what no stream feeds last."""
        for group in self._groups:
            self._add(group)
        told = [name for name in self._plan.outputs if not is_fed(self._plan, Atom(name))]
        checked = [name for name in self._plan.constraints if not is_fed(self._plan, Atom(name))]
        if told or checked:
            self._add(Group(tuple(told), tuple(checked), frozenset(), (), (), "", frozenset()))
        return iter(self._made)

    def _add(self, group: Group) -> None:
        outputs = self._outputs(group)
        rules = self._rules_of(group)
        mentioned = {atom.predicate for rule in rules for atom in atoms(rule.head, *rule.body)} | group.touches
        stated = {name for name in mentioned if self._is_stated_here(name, group)}
        derived = {head.predicate for rule in rules if (head := head_atom(rule)) is not None}
        inputs = self._inputs_of(sorted(mentioned - derived - (stated - self._declared.keys())))
        statements: list[Statement] = [self._timeline, *inputs]
        statements += [Output(outputs)] if outputs else []
        statements += [item for item in self._backgrounds if item.predicate in stated]
        calendars = self._calendars_of(rules, mentioned)
        statements += calendars
        statements += [fact for fact in self._facts if fact.atom.predicate in stated]
        text = format_program(Program((*statements, *rules)))
        program = with_events(parse(text, self._plan.name), calendars)
        plan = self._compiled(program, bool(outputs))
        broadcast = tuple(sorted(name for name in stated if not is_fed(self._plan, Atom(name))))
        self._made.append(self._stage(group, program, plan, outputs, broadcast))
        self._source |= {name: len(self._made) for name in outputs if name in group.predicates}

    def _stage(
        self, group: Group, program: Program, plan: Plan, outputs: tuple[str, ...], broadcast: tuple[str, ...]
    ) -> Stage:
        key = best_key(group)
        visible = None if key is None else {name: key[name] for name in sorted(group.touches) if name in key}
        is_read = any(name in self._read for name in group.predicates)
        return Stage(
            number=len(self._made) + 1,
            program=program,
            plan=replace(plan, announcing={} if is_read else plan.announcing, over_calendars={}),
            key=visible,
            inputs=tuple(self._input(plan, name, visible) for name in sorted(group.reads)),
            outputs={name: _delay(plan, name) for name in outputs},
            told=tuple(name for name in outputs if name in self._plan.outputs),
            broadcast=broadcast,
            constraints=tuple(format_statement(self._plan.constraints[name]) for name in group.constraints),
            prevented_by=group.prevented_by,
            seeds=self._seeds(plan, visible) if group.seeded else None,
            needs_start=any(feed.kind == "start" for step in plan.steps for feed in step.inputs),
            needs_order=any(isinstance(step.shape, TupleShape) for step in plan.steps),
        )

    # --- what a stage's program holds -----------------------------------------------------------------------------------

    def _outputs(self, group: Group) -> tuple[str, ...]:
        told = [*self._plan.outputs, *sorted(self._read - self._plan.outputs.keys())]
        return tuple(name for name in told if name in group.predicates or name in group.passes)

    def _rules_of(self, group: Group) -> list[Rule]:
        """Its rules, in the program's order, with those that no stream feeds, as far as they need them."""
        checked = [self._plan.constraints[name] for name in group.constraints]
        own = {*group.predicates}
        rules = [rule for rule in self._rules if rule in checked or _derives(rule, own)]
        read = {atom.predicate for rule in rules for atom in atoms(*rule.body)} | group.touches
        static = [rule for rule in self._rules if (head := head_atom(rule)) and not is_fed(self._plan, Atom(head.predicate))]
        own |= needed_for(read, static) & {head.predicate for rule in static if (head := head_atom(rule))}
        return [rule for rule in self._rules if rule in checked or _derives(rule, own)]

    def _is_stated_here(self, name: str, group: Group) -> bool:
        """Whether the program's own facts of a predicate are this stage's, not an earlier one's."""
        stated = any(fact.atom.predicate == name for fact in self._facts)
        stated = stated or any(item.predicate == name for item in self._backgrounds) or name in self._calendars
        return stated and (name in group.predicates or name not in self._source)

    def _calendars_of(self, rules: Sequence[Rule], mentioned: Collection[str]) -> list[CalendarDeclaration]:
        """The calendars that rules read or count by, with those that these leave out."""
        named = [*mentioned, *(period.name for period in periods(Program(tuple(rules))))]
        needed = reachable(named, lambda name: self._calendars[name].excepted if name in self._calendars else ())
        return [item for name, item in self._calendars.items() if name in needed]

    def _inputs_of(self, names: Sequence[str]) -> list[Input]:
        found = []
        for name in names:
            source = self._source.get(name)
            if source is None and name in self._declared:
                found.append(self._declared[name])
            else:
                delay = self._made[source - 1].outputs[name] if source is not None else Fraction(0)
                found.append(replace(declaration(name, self._arities[name]), delay=delay or None))
        return found or list(self._declared.values())[:1]  # with one, a program takes nothing else

    def _input(self, plan: Plan, name: str, key: Key | None) -> StageInput:
        source = self._source.get(name)
        position = None if key is None else key[name]
        before = None if source is None else self._made[source - 1].key
        is_rekeyed = source is not None and (None if before is None else before.get(name, -1)) != position
        delay = decode_distance(plan.delays.get(name, 0), plan.timeline)
        return StageInput(name, self._data.get(name, name), source, position, delay, is_rekeyed)

    def _seeds(self, plan: Plan, key: Key | None) -> Plan | None:
        if key is None:
            return None
        program = seeds_program(plan, extend_key(list(links_of(plan, self._loose)), key), self._timeline)
        return None if program is None else self._compiled(program, True)

    def _compiled(self, program: Program, outputs: bool) -> Plan:
        """The plan of a program, with the background that was loaded."""
        plan = compile_program(program, outputs=outputs)
        names = {item.predicate for item in plan.backgrounds}
        return replace(plan, facts=(*plan.facts, *(record for record in self._loaded if record[0] in names)))


def _derives(rule: Rule, names: set[str]) -> bool:
    head = head_atom(rule)
    return head is not None and head.predicate in names


def _delay(plan: Plan, name: str) -> Time:
    """How far behind the watermark an output's new answers may begin."""
    lead = plan.leads.get(name, POS) - max(plan.delays.values(), default=0)
    return decode_distance(0 if lead >= 0 else -lead, plan.timeline)
