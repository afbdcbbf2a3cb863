"""Check: predicates are declared, used and numbered consistently."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches

from tidelog.plans.diagnostics.errors import Diagnostic, Note, Span
from tidelog.plans.tree import syntax
from tidelog.plans.tree.traverse import subformulas as below
from tidelog.plans.tree.walk import atoms, derived, name_span, statements_of, supplied

MAX_CANDIDATES = 2000
"""Among more names than this the nearest is not looked for."""
MAX_SUGGESTIONS = 20
"""How many unknown names of one program are told the nearest."""


def check_directives(program: syntax.Program) -> Iterator[Diagnostic]:
    """One timeline a program, one declaration an input, each field of it, and of an output, named once."""
    timelines = statements_of(program, syntax.TimelineDeclaration)
    for again in timelines[1:]:
        notes = (Note(timelines[0].span, "declared here first"),)
        message = "the timeline is declared twice"
        yield Diagnostic("duplicate-directive", message, again.span, notes=notes, help="keep one of them")
    first: dict[str, syntax.Input] = {}
    for declaration in statements_of(program, syntax.Input):
        earlier = first.setdefault(declaration.predicate, declaration)
        if earlier != declaration:
            notes = (Note(earlier.span, "declared here first"),)
            message = f"input `{declaration.predicate}` is declared twice, in different ways"
            yield Diagnostic("duplicate-directive", message, declaration.span, notes=notes, help="keep one of them")
        yield from _check_fields("input", declaration.predicate, declaration.fields)
    for output in statements_of(program, syntax.Output):
        for name, fields in output.named:
            yield from _check_fields("output", name, fields)


def _check_fields(kind: str, predicate: str, fields: tuple[syntax.Field, ...]) -> Iterator[Diagnostic]:
    seen: dict[str, syntax.Field] = {}
    for field in fields:
        earlier = seen.setdefault(field.name, field)
        if earlier is not field:
            notes = (Note(earlier.span, "first here"),)
            message = f"{kind} `{predicate}` has two fields `{field.name}`"
            yield Diagnostic("duplicate-field", message, field.span, notes=notes, help="rename one of them")


def check_arity(program: syntax.Program) -> Iterator[Diagnostic]:
    """A predicate has as many arguments in one place as in any other."""
    first: dict[str, tuple[int, Span]] = {}
    reported: set[str] = set()
    for predicate, arity, span in _uses(program):
        expected, place = first.setdefault(predicate, (arity, span))
        if arity != expected and predicate not in reported:
            reported.add(predicate)
            message = f"predicate `{predicate}` has {_arguments(arity)} here, but {expected} elsewhere"
            notes = (Note(place, f"{_arguments(expected)} here"),)
            help = "give it the same number in both places, or rename one of the two"
            yield Diagnostic("arity-mismatch", message, span, notes=notes, help=help)


def _arguments(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def _uses(program: syntax.Program) -> Iterator[tuple[str, int, Span]]:
    for statement in program.statements:
        match statement:
            case syntax.Rule():
                for atom in atoms(statement.head, *statement.body):
                    yield atom.predicate, len(atom.arguments), atom.span
            case syntax.FactStatement():
                yield statement.atom.predicate, len(statement.atom.arguments), statement.atom.span
            case syntax.Input() if statement.fields:  # without fields it says nothing of its arguments
                yield statement.predicate, len(statement.fields), statement.span
            case syntax.CalendarDeclaration():
                yield statement.predicate, len(statement.fields), statement.span
            case syntax.Output():
                yield from ((name, len(fields), fields[0].span) for name, fields in statement.named)
            case syntax.Ask():
                yield statement.query.predicate, len(statement.query.arguments), statement.query.span
            case _:
                pass


def check_inputs(program: syntax.Program) -> Iterator[Diagnostic]:
    """No rule derives an input: what it derived could not be told from what was read."""
    heads = derived(program)
    for name, declaration in {item.predicate: item for item in statements_of(program, syntax.Input)}.items():
        if name in heads:
            notes = (Note(declaration.span, "declared as an input here"),)
            message = f"input `{name}` is derived by a rule"
            help = "give the head another name, or take the `input` away"
            yield Diagnostic("input-derived", message, heads[name].span, notes=notes, help=help)


def check_known(program: syntax.Program) -> Iterator[Diagnostic]:
    """Where any input is declared, a body names known predicates alone; an output names a known predicate."""
    known = {item.predicate for item in statements_of(program, syntax.Input)}
    strict = bool(known)
    known |= set(derived(program))
    known |= {item.predicate for item in supplied(program)}
    known |= {item.atom.predicate for item in statements_of(program, syntax.FactStatement)}
    read = list(_read(program))
    if not strict:
        known |= {name for name, _ in read}
    suggest = sorted(known) if len(known) <= MAX_CANDIDATES else []
    reported: set[str] = set()
    for name, span in [*read, *_put_out(program, known)]:
        if name not in known and name not in reported:
            reported.add(name)
            yield _unknown(name, span, suggest if len(reported) <= MAX_SUGGESTIONS else [])


def _read(program: syntax.Program) -> Iterator[tuple[str, Span]]:
    for rule in statements_of(program, syntax.Rule):
        for part in rule.body:
            for formula in below(part):
                if isinstance(formula, syntax.Atom):
                    yield formula.predicate, formula.span
                elif isinstance(formula, syntax.Window):
                    for name in formula.window.of:
                        yield name, name_span(program, formula.window.span, name)
    for ask in statements_of(program, syntax.Ask):
        yield ask.query.predicate, ask.query.span


def _put_out(program: syntax.Program, known: Collection[str]) -> Iterator[tuple[str, Span]]:
    """The outputs that are not known."""
    for output in statements_of(program, syntax.Output):
        for name in output.predicates:
            if name not in known:
                yield name, name_span(program, output.span, name)


def _unknown(name: str, span: Span, known: list[str]) -> Diagnostic:
    near = get_close_matches(name[:200], [candidate for candidate in known if len(candidate) <= 200], n=1)
    if name[:3].lower() == "not" and name[3:] in known:  # a keyword may touch what follows it, but for this one
        near = [f"not {name[3:]}"]
    help = f"did you mean `{near[0]}`?" if near else f"declare it, such as `input {name}`, or write a rule for it"
    message = f"predicate `{name}` is neither an input, nor derived, nor a fact"
    return Diagnostic("unknown-predicate", message, span, help=help)
