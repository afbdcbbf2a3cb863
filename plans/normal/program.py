"""The program that the passes hand on, and that the compiler takes: its rules, and where each of them came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from tidelog.plans.tree.declared.machines import is_of_machine
from tidelog.plans.tree.names import head_predicate, predicates
from tidelog.plans.tree.syntax import (
    Ask,
    Atom,
    Background,
    CalendarDeclaration,
    FactStatement,
    Formula,
    Input,
    Output,
    Program,
    Rule,
    Statement,
    TimelineDeclaration,
    Truth,
    Unary,
    Window,
    WindowSize,
)
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import statements_of

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class NormalProgram:
    """A program on its way to the normal form, and in it once the last pass has run (`plans/normal/form.py`).

    A predicate that the passes made is *fresh*; it is named after the head of the rule it serves: `alarm.1`. A derived
    predicate may have no rule left: then it never holds beyond its facts.
    """

    rules: tuple[Rule, ...]
    sources: tuple[Rule, ...]
    """For each of `rules`, the rule of the program's text that it came from."""
    facts: tuple[FactStatement, ...] = ()
    timeline: TimelineDeclaration = field(default_factory=TimelineDeclaration)
    inputs: tuple[str, ...] = ()
    """What streams may feed: the declared inputs, then what is neither declared, derived, a fact nor background."""
    declarations: tuple[Input, ...] = ()
    """The `input` statements, as written."""
    outputs: tuple[str, ...] = ()
    """The declared outputs; without any, each derived predicate that the text names."""
    backgrounds: tuple[Background, ...] = ()
    calendars: tuple[CalendarDeclaration, ...] = ()
    asked: tuple[Ask, ...] = ()
    """The `ask` statements. Their answers are found from the rules as written, not from the normal form."""
    kept: tuple[str, ...] = ()
    """The predicates whose rules `prune` keeps, besides the constraints'."""
    constraints: Mapping[str, Rule] = field(default_factory=dict)
    """Each fresh predicate that stands for `bottom`, and the rule that it came from. Where it holds, there is no model."""
    split: tuple[str, ...] = ()
    """The predicates that were split by constants: they have no other facts than what rules derive."""
    origins: Mapping[str, Rule] = field(default_factory=dict)
    """Each fresh predicate, the constraints' included, and the rule that it came from."""

    @property
    def supplied(self) -> tuple[str, ...]:
        """The predicates of backgrounds and calendars, which bring facts of their own."""
        names = [item.predicate for item in self.backgrounds]
        return (*names, *(item.predicate for item in self.calendars))


def begin(program: Program, keep: Iterable[str] | None = None) -> NormalProgram:
    """The program before the first pass: its statements by kind, its inputs and outputs named."""
    rules = statements_of(program, Rule)
    facts = statements_of(program, FactStatement)
    declarations = statements_of(program, Input)
    backgrounds = statements_of(program, Background)
    calendars = statements_of(program, CalendarDeclaration)
    timelines = statements_of(program, TimelineDeclaration)
    derived = _unique(name for rule in rules if (name := head_predicate(rule.head)) is not None)
    stated = [fact.atom.predicate for fact in facts]
    declared = [name for output in statements_of(program, Output) for name in output.predicates]
    outputs = _unique(declared) or tuple(name for name in derived if not is_of_machine(name))
    return NormalProgram(
        rules=rules,
        sources=rules,
        facts=facts,
        timeline=timelines[-1] if timelines else TimelineDeclaration(),
        inputs=_inputs(program, {*derived, *stated, *(item.predicate for item in calendars)}, declarations, backgrounds),
        declarations=declarations,
        outputs=outputs,
        backgrounds=backgrounds,
        calendars=calendars,
        asked=statements_of(program, Ask),
        kept=outputs if keep is None else _unique(keep),
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _inputs(
    program: Program, known: set[str], declarations: tuple[Input, ...], backgrounds: tuple[Background, ...]
) -> tuple[str, ...]:
    known = known | {background.predicate for background in backgrounds}
    bodies = (part for rule in statements_of(program, Rule) for part in rule.body)
    read = [name for part in bodies for name in (*predicates(part), *_counted(part))]
    read += [ask.query.predicate for ask in statements_of(program, Ask)]
    return _unique([*(item.predicate for item in declarations), *(name for name in read if name not in known)])


def _counted(formula: Formula) -> Iterator[str]:
    """The predicates that tuple windows name."""
    return (name for part in subformulas(formula) if isinstance(part, Window) for name in part.window.of)


def as_program(normal: NormalProgram, name: str = "<program>") -> Program:
    """The same program as a syntax tree, to be printed, or evaluated by what takes any program."""
    statements: list[Statement] = [normal.timeline] if normal.timeline != TimelineDeclaration() else []
    statements += normal.declarations
    if normal.outputs:
        statements.append(Output(normal.outputs))
    statements += [*normal.backgrounds, *normal.calendars, *normal.asked, *normal.facts]
    statements += [
        Rule(rule.head, tuple(map(_as_written, rule.body)), rule.span, "" if rule.assigns == "holds" else rule.assigns)
        for rule in normal.rules
    ]
    for predicate, source in normal.constraints.items():
        heads = [rule.head for rule in normal.rules if isinstance(rule.head, Atom) and rule.head.predicate == predicate]
        statements += [Rule(Truth(False), (head,), source.span) for head in heads[:1]]
    return Program(tuple(statements), name)


def _as_written(part: Formula) -> Formula:
    """A clipped box has no text of its own but `always … in [n]`, and a step none but `sometime … in [0 step d]`."""
    if isinstance(part, Unary) and part.step:
        return Window("sometime", part.operand, WindowSize(part.interval.high, step=Fraction(part.step)), part.span)
    if isinstance(part, Unary) and part.clipped:
        return Window("always", part.operand, WindowSize(part.interval.high), part.span)
    return part
