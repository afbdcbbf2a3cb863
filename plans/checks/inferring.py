"""Which type each argument of a predicate has, from the types of inputs through the rules.

What is inferred is true of each row that rules can derive: a type that is not known is `any`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.plans.diagnostics.errors import Diagnostic, Note, Span
from tidelog.plans.tree import syntax
from tidelog.plans.tree.declared.machines import takes_away
from tidelog.plans.tree.traverse import children
from tidelog.plans.tree.walk import atoms, head_atom, named_outputs, statements_of

_Types = dict[str, syntax.FieldType]
"""The types of a rule's variables."""
_WIDER: Mapping[syntax.FieldType, syntax.FieldType] = {"boolean": "text", "integer": "number"}
_SAME: frozenset[str] = frozenset(["min", "max", "first", "last", "sum"])
"""The functions of aggregates whose result has the type of their argument."""
_WHOLE: frozenset[str] = frozenset(["count", "distinct"])


@dataclass(slots=True)
class _Argument:
    """What is known of one argument so far (None: no row), and where its type comes from."""

    type: syntax.FieldType | None = None
    span: Span = field(default_factory=lambda: Span(0, 0))

    def widen(self, found: syntax.FieldType, span: Span) -> bool:
        """Take in another type; returns whether that changes what is known."""
        wider = found if self.type is None else _join(self.type, found)
        if wider == self.type:
            return False
        self.type, self.span = wider, span
        return True


def output_fields(program: syntax.Program, open_to_data: Collection[str] = ()) -> dict[str, tuple[syntax.Field, ...]]:
    """The fields of the outputs whose arguments have names; a type that is not written is inferred.

    Predicates that are `open_to_data` may have facts of any type, unless they are inputs that declare theirs.
    """
    named = named_outputs(program)
    if not named:
        return {}
    inferred = _Inference(program, open_to_data).arguments
    return {name: tuple(_typed(inferred.get(name, ()), fields)) for name, fields in named.items()}


def _typed(arguments: Sequence[_Argument], fields: Sequence[syntax.Field]) -> Iterator[syntax.Field]:
    for argument, declared in zip(arguments or [_Argument()] * len(fields), fields, strict=False):
        yield declared if declared.type != "any" else replace(declared, type=argument.type or "any")


def check_outputs(program: syntax.Program) -> Iterator[Diagnostic]:
    """An output names its arguments once, as its `input` does where it has one, and by types that its rules can give."""
    first: dict[str, tuple[syntax.Field, ...]] = {}
    inputs = {item.predicate: item.fields for item in statements_of(program, syntax.Input) if item.fields}
    for output in statements_of(program, syntax.Output):
        for name, fields in output.named:
            earlier = first.setdefault(name, inputs.get(name, fields))
            if [each.name for each in earlier] != [each.name for each in fields] and len(earlier) == len(fields):
                notes = (Note(earlier[0].span, "named here first"),)
                message = f"the arguments of `{name}` are named twice, in different ways"
                yield Diagnostic("renamed-output", message, fields[0].span, notes=notes, help="keep one of them")
    if first:
        inferred = _Inference(program, ()).arguments
        for name, fields in named_outputs(program).items():
            for argument, declared in zip(inferred.get(name, ()), fields, strict=False):
                if argument.type is not None and not _meets(argument.type, declared.type):
                    notes = (Note(argument.span, f"here it is of type {argument.type}"),)
                    message = f"`{name}` never has {declared.type} as its `{declared.name}`"
                    yield Diagnostic("output-type", message, declared.span, notes=notes, help="change the type, or the rule")


def _join(one: syntax.FieldType, other: syntax.FieldType) -> syntax.FieldType:
    """The narrowest type that has the values of both."""
    if one == other or _WIDER.get(other) == one:
        return one
    return other if _WIDER.get(one) == other else "any"


def _meets(one: syntax.FieldType, other: syntax.FieldType) -> bool:
    """Whether a value may be of both types."""
    return "any" in (one, other) or _join(one, other) != "any"


class _Inference:
    """The types of all arguments: they are widened, rule by rule, until no rule derives a row of another type."""

    def __init__(self, program: syntax.Program, open_to_data: Collection[str]) -> None:
        self.arguments: dict[str, list[_Argument]] = {}
        timelines = statements_of(program, syntax.TimelineDeclaration)
        self._time: syntax.FieldType = "integer" if timelines and timelines[-1].kind == "integer" else "number"
        self._rules = [
            (head, rule.body)
            for rule in statements_of(program, syntax.Rule)
            if (head := head_atom(rule)) and not (rule.assigns == "value" and takes_away(rule))  # no row has this value
        ]
        self._begin(program, open_to_data)
        self._spread()

    def _begin(self, program: syntax.Program, open_to_data: Collection[str]) -> None:
        """What is known without rules: declared inputs, stated facts; of what else data may hold, nothing is known."""
        derived = {head.predicate for head, _ in self._rules}
        facts = statements_of(program, syntax.FactStatement)
        inputs = {item.predicate: item for item in statements_of(program, syntax.Input)}
        for declared in inputs.values():
            for place, each in enumerate(declared.fields):
                self._widen(declared.predicate, place, each.type, each.span)
        for fact in facts:
            for place, term in enumerate(fact.atom.arguments):
                if isinstance(term, syntax.Constant):
                    self._widen(fact.atom.predicate, place, _of_value(term.value), term.span)
        for calendar in statements_of(program, syntax.CalendarDeclaration):
            for name in calendar.fields:
                self._widen(calendar.predicate, 0, "text", name.span)
        known = derived | {calendar.predicate for calendar in statements_of(program, syntax.CalendarDeclaration)}
        known |= {fact.atom.predicate for fact in facts}
        unknown = {item.predicate for item in statements_of(program, syntax.Background)}
        unknown |= {name for name in open_to_data if not (name in inputs and inputs[name].fields)}
        for head, body in self._rules:
            for atom in atoms(head, *body):
                fields = inputs[atom.predicate].fields if atom.predicate in inputs else ()
                if atom.predicate in unknown or (not fields and atom.predicate not in known):
                    for place in range(len(atom.arguments)):
                        self._widen(atom.predicate, place, "any", atom.span)

    def _spread(self) -> None:
        readers: dict[str, list[int]] = {}
        for number, (_, body) in enumerate(self._rules):
            for name in {atom.predicate for atom in atoms(*body)}:
                readers.setdefault(name, []).append(number)
        waiting = list(reversed(range(len(self._rules))))
        is_waiting = set(waiting)
        while waiting:
            number = waiting.pop()
            is_waiting.discard(number)
            head, body = self._rules[number]
            if self._derive(head, body):
                fresh = [each for each in readers.get(head.predicate, ()) if each not in is_waiting]
                waiting += fresh
                is_waiting.update(fresh)

    def _derive(self, head: syntax.Atom, body: Sequence[syntax.Formula]) -> bool:
        """Widen the types of a rule's head; returns whether any was."""
        types: _Types = {}
        may_hold = [self._bind(part, types) for part in body]  # all of them, whatever the first says
        if not all(may_hold):
            return False
        for _ in body:  # a comparison may need the variable of one that stands behind it
            for part in body:
                self._assign(part, types)
        changes = [
            self._widen(head.predicate, place, self._type(argument, types), argument.span)
            for place, argument in enumerate(head.arguments)
        ]
        return any(changes)

    def _widen(self, predicate: str, place: int, found: syntax.FieldType, span: Span) -> bool:
        arguments = self.arguments.setdefault(predicate, [])
        while len(arguments) <= place:
            arguments.append(_Argument())
        return arguments[place].widen(found, span)

    def _bind(self, formula: syntax.Formula, types: _Types) -> bool:
        """Note the variables that atoms bind wherever a formula holds; returns whether it may hold, as far as known."""
        match formula:
            case syntax.Atom():
                if formula.at is not None:
                    types[formula.at.variable.name] = self._time
                known = self.arguments.get(formula.predicate, [])
                found = [each.type for each in known] or [None] * len(formula.arguments)
                for argument, kind in zip(formula.arguments, found, strict=False):
                    if isinstance(argument, syntax.Variable) and kind is not None:
                        _note(argument.name, kind, types)
                return None not in found
            case syntax.Aggregate():
                own: _Types = {}
                is_there = self._bind(formula.operand, own)
                for variable in formula.by:
                    _note(variable.name, own.get(variable.name, "any"), types)
                _note(formula.result.name, self._of_aggregate(formula, own), types)
                return is_there
            case syntax.Negation():
                return True
            case syntax.Binary():  # the left side need not hold at any time
                return self._bind(formula.right, types)
            case _:
                may_hold = [self._bind(child, types) for child in children(formula)]
                return all(may_hold)

    def _of_aggregate(self, aggregate: syntax.Aggregate, own: _Types) -> syntax.FieldType:
        if aggregate.function in _WHOLE:
            return "integer"
        if aggregate.function in _SAME and aggregate.argument is not None:
            return self._type(aggregate.argument, own)
        return "number"

    def _assign(self, formula: syntax.Formula, types: _Types) -> None:
        match formula:
            case syntax.Comparison("=", left, right):
                for one, other in ((left, right), (right, left)):
                    if isinstance(one, syntax.Variable) and one.name not in types:
                        types[one.name] = self._type(other, types)
            case syntax.Conjunction():
                for part in formula.parts:
                    self._assign(part, types)

    def _type(self, expression: syntax.Expression, types: _Types) -> syntax.FieldType:
        match expression:
            case syntax.Constant(value):
                return _of_value(value)
            case syntax.Variable(name):
                return types.get(name, "any")
            case syntax.Arithmetic("/"):
                return "number"
            case syntax.Arithmetic(_, operands):
                whole = all(self._type(operand, types) == "integer" for operand in operands)
                return "integer" if whole else "number"
        return "any"


def _note(name: str, found: syntax.FieldType, types: _Types) -> None:
    """A variable is of each type that an atom gives it: the narrowest is kept."""
    known = types.get(name, "any")
    if known == "any" or _WIDER.get(found) == known:
        types[name] = found


def _of_value(value: syntax.Value) -> syntax.FieldType:
    if isinstance(value, str):
        return "boolean" if value in ("true", "false") else "text"
    return "integer" if isinstance(value, int) else "number"
