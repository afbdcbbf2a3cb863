"""Check: alarms are derived, declared once, have names of their own, and are shelved for times that the program has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from tidelog.plans.diagnostics.errors import NOWHERE, Diagnostic, Note
from tidelog.plans.tree import syntax
from tidelog.plans.tree.declared.alarms import STATES, Alarm, alarms_of, is_of_alarm
from tidelog.plans.tree.walk import atoms, derived, head_atom, statements_of, written

MAX_ALARMS = 500
"""The most alarms that a program may declare."""
_DECLARING = (syntax.Input, syntax.Background, syntax.CalendarDeclaration, syntax.AlarmDeclaration)


def check_alarms(program: syntax.Program) -> Iterator[Diagnostic]:
    """What alarms say of time, of each other, and of the rest of the program."""
    declared = statements_of(program, syntax.AlarmDeclaration)
    if len(declared) > MAX_ALARMS:
        message = f"a program has at most {MAX_ALARMS} alarms"
        yield Diagnostic("too-many-alarms", message, declared[MAX_ALARMS].span)
        return
    first: dict[str, syntax.AlarmDeclaration] = {}
    for item in declared:
        if first.setdefault(item.predicate, item) is not item:
            message = f"alarm `{item.predicate}` is declared twice"
            notes = (Note(first[item.predicate].span, "declared here first"),)
            yield Diagnostic("duplicate-directive", message, item.span, notes=notes, help="keep one of them")
    yield from _check_units(program, declared)
    heads = derived(program)
    inputs = {item.predicate: item for item in statements_of(program, syntax.Input)}
    for alarm in alarms_of(program):
        yield from _check_derived(alarm, heads, inputs)
    yield from _check_names(program)
    yield from _check_states(program)


def _check_units(program: syntax.Program, declared: tuple[syntax.AlarmDeclaration, ...]) -> Iterator[Diagnostic]:
    timelines = statements_of(program, syntax.TimelineDeclaration)
    if timelines and timelines[-1].unit is not None:
        return
    for item in declared:
        if item.longest_unit:
            message = f"`shelve at most {item.longest} {item.longest_unit}` needs to know what the number 1 means as a time"
            yield Diagnostic("unit-undeclared", message, item.span, help="declare it, such as `timeline integer, unit 1 s`")


def _check_derived(
    alarm: Alarm, heads: Mapping[str, syntax.Atom], inputs: Mapping[str, syntax.Input]
) -> Iterator[Diagnostic]:
    if alarm.name in inputs and alarm.name not in heads:
        message = f"alarm `{alarm.name}` is an input: no rule says when it holds"
        notes = (Note(inputs[alarm.name].span, "declared as an input here"),)
        help = f"give the input another name, and write a rule such as `{alarm.name}(X) :- reported(X)`"
        yield Diagnostic("alarm-input", message, alarm.declared.span, notes=notes, help=help)


def _check_names(program: syntax.Program) -> Iterator[Diagnostic]:
    """Nobody else derives, or hands in, what an alarm's declaration stands for."""
    alarms = alarms_of(program)
    for item in written(program) if alarms else ():
        name = None
        if isinstance(item, syntax.Rule):
            head = head_atom(item)
            name = None if head is None else head.predicate
        elif isinstance(item, syntax.FactStatement):
            name = item.atom.predicate
        elif isinstance(item, _DECLARING):
            name = item.predicate
        alarm = None if name is None else next((alarm for alarm in alarms if is_of_alarm(name, [alarm])), None)
        if alarm is not None:
            what = "the state" if name == alarm.state else "a part"
            message = f"`{name}` is {what} of alarm `{alarm.name}`, and nothing else"
            notes = (Note(alarm.declared.span, "declared here"),)
            yield Diagnostic("alarm-name", message, item.span, notes=notes, help="give this another name")


def _check_states(program: syntax.Program) -> Iterator[Diagnostic]:
    """A rule names a state that its alarm can have."""
    alarms = {alarm.state: alarm for alarm in alarms_of(program)}
    rules = [item for item in written(program) if isinstance(item, syntax.Rule)] if alarms else []
    for atom in (atom for rule in rules for atom in atoms(*rule.body)):
        alarm = alarms.get(atom.predicate)
        last = atom.arguments[-1] if alarm is not None and atom.arguments else None
        if alarm is None or not isinstance(last, syntax.Constant) or last.value in alarm.states:
            continue
        state = str(last.value)
        near = get_close_matches(state[:200], alarm.states, n=1)
        if state in STATES:
            message = f"alarm `{alarm.name}` is never `{state}`"
            help = "say `acknowledge`, `shelve at most 8 h` or `inhibited by`, whichever the state needs"
        else:
            message = f"alarm `{alarm.name}` has no state `{state}`"
            known = ", ".join(f"`{each}`" for each in alarm.states)
            help = f"did you mean `{near[0]}`?" if near else f"its states are {known}"
        yield Diagnostic("alarm-state", message, last.span if last.span != NOWHERE else atom.span, help=help)
