"""The names in a program's text: each predicate and each variable where it stands, in the statements that can be read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from lark import Token

from tidelog.plans.diagnostics.errors import Span
from tidelog.plans.language.formatting.program import tokens_of
from tidelog.plans.language.parser import MAX_STATEMENTS, parse_what_reads
from tidelog.plans.language.statements import RawStatement, StatementKind, split_statements
from tidelog.plans.tree import syntax
from tidelog.plans.tree.declared.alarms import Alarm, is_of_alarm
from tidelog.plans.tree.walk import head_atom, written

Role = Literal[
    "input", "background", "calendar", "fact", "head", "body", "output", "alarm", "ask", "window", "period", "variable"
]
DEFINING: tuple[Role, ...] = ("input", "background", "calendar", "fact", "head")
"""Where a predicate comes from: what `go to definition` finds."""

_WITH_FIELDS = (syntax.Input, syntax.CalendarDeclaration, syntax.AlarmDeclaration)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name where it stands; `statement` is the number of its statement, `text` is as it is written, quotes included.

    `arity` is how many arguments the predicate has there; None where they are not written.
    """

    name: str
    role: Role
    span: Span
    statement: int
    text: str
    arity: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement that can be read: all places in it count from its own begin."""

    statement: syntax.Statement
    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]


class Names:
    """All mentions in a text, in order; `readings` are its statements, None for what cannot be read.

    A statement that did not change is not read again.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.raws: list[RawStatement] = list(islice(split_statements(text), MAX_STATEMENTS))
        self.readings = [read_statement(text[raw.start : raw.end], raw.kind) for raw in self.raws]
        self.mentions = list(self._find())

    @property
    def statements(self) -> list[syntax.Statement]:
        """The statements that can be read."""
        return [reading.statement for reading in self.readings if reading is not None]

    @property
    def is_whole(self) -> bool:
        """Whether every statement can be read."""
        return None not in self.readings

    def at(self, offset: int) -> Mention | None:
        """The name that stands at a place, or ends there."""
        return next((item for item in self.mentions if item.span.start <= offset <= item.span.end), None)

    def same(self, mention: Mention) -> list[Mention]:
        """Every mention of the same predicate, or of the same variable in the same statement."""
        is_variable = mention.role == "variable"
        return [
            item
            for item in self.mentions
            if item.name == mention.name
            and (item.role == "variable") == is_variable
            and (not is_variable or item.statement == mention.statement)
        ]

    def of(self, predicate: str) -> list[Mention]:
        """Every mention of a predicate."""
        return [item for item in self.mentions if item.name == predicate and item.role != "variable"]

    def definitions(self, mention: Mention) -> list[Mention]:
        """Where a predicate comes from: its declaration if it has one, else its facts and the heads of its rules.

        The state of an alarm comes from the alarm.
        """
        if (alarm := self.alarm_of(mention.name)) is not None:
            return [item for item in self.of(alarm.name) if item.role == "alarm"]
        places = [item for item in self.same(mention) if item.role in DEFINING]
        declared = [item for item in places if item.role in ("input", "background", "calendar")]
        return declared or places

    @property
    def alarms(self) -> list[Alarm]:
        """The alarms that are declared."""
        return [Alarm(item) for item in self.statements if isinstance(item, syntax.AlarmDeclaration)]

    def alarm_of(self, predicate: str) -> Alarm | None:
        """The alarm whose state, or other part, a predicate is."""
        return next((alarm for alarm in self.alarms if is_of_alarm(predicate, [alarm])), None)

    def predicates(self) -> dict[str, int | None]:
        """Each predicate, with the number of its arguments where that is known."""
        found: dict[str, int | None] = {}
        for mention in self.mentions:
            if mention.role != "variable" and found.get(mention.name) is None:
                found[mention.name] = mention.arity
        states = {alarm.state: len(alarm.declared.fields) + 1 for alarm in self.alarms}
        return {**states, **{name: arity for name, arity in found.items() if arity is not None or name not in states}}

    def statement_at(self, offset: int) -> int | None:
        """The number of the statement that begins at a place, or last before it."""
        at = bisect_right([raw.start for raw in self.raws], offset) - 1
        return at if at >= 0 else None

    def comment_above(self, statement: int) -> str:
        """What the comment says that stands right above a statement."""
        lines = self.text[: self.raws[statement].start].split("\n")[:-1]
        found: list[str] = []
        while lines and lines[-1].lstrip().startswith("%"):
            found.append(lines.pop().strip().lstrip("%").strip())
        return "\n".join(reversed(found))

    def _find(self) -> Iterator[Mention]:
        """All mentions; `per day` mentions a predicate only where a calendar is called so."""
        calendars = {item.predicate for item in self.statements if isinstance(item, syntax.CalendarDeclaration)}
        for number, (raw, reading) in enumerate(zip(self.raws, self.readings, strict=True)):
            for item in reading.mentions if reading is not None else ():
                if item.role == "period" and item.name not in calendars:
                    continue
                span = Span(raw.start + item.span.start, raw.start + item.span.end)
                yield replace(item, span=span, statement=number)


@lru_cache(maxsize=4096)
def read_statement(text: str, kind: StatementKind) -> Reading | None:
    """A statement by itself; None where it cannot be read."""
    program, problems = parse_what_reads(text)
    statements = written(program)
    if problems or len(statements) != 1:
        return None
    tokens = tokens_of(text, RawStatement(kind, 0, len(text)))
    found = sorted(_mentions(statements[0], 0, tokens), key=lambda mention: mention.span)
    return Reading(statements[0], tuple(tokens), tuple(found))


def _mentions(statement: syntax.Statement, number: int, tokens: list[Token]) -> Iterator[Mention]:
    """The mentions in one statement."""
    at = {token.start_pos: token for token in tokens}
    head = head_atom(statement) if isinstance(statement, syntax.Rule) else None
    for node in _nodes(statement):
        token = at.get(node.span.start)
        if token is None:
            continue
        if isinstance(node, syntax.Variable):
            yield _mention(node.name, "variable", token, number)
        elif isinstance(node, syntax.Atom):
            role: Role = "head" if node is head else _role_of_atoms(statement)
            yield _mention(node.predicate, role, token, number, len(node.arguments))
    arity = len(statement.fields) if isinstance(statement, _WITH_FIELDS) else None
    for token, role in _listed(statement, tokens):
        name = token[1:-1] if token.type == "QUOTED" else str(token)
        yield _mention(name, role, token, number, arity if role in (*DEFINING, "alarm") else None)


def _mention(name: str, role: Role, token: Token, statement: int, arity: int | None = None) -> Mention:
    return Mention(name, role, Span(token.start_pos or 0, token.end_pos or 0), statement, str(token), arity)


def _role_of_atoms(statement: syntax.Statement) -> Role:
    if isinstance(statement, syntax.FactStatement):
        return "fact"
    return "ask" if isinstance(statement, syntax.Ask) else "body"


def _listed(statement: syntax.Statement, tokens: list[Token]) -> Iterator[tuple[Token, Role]]:
    """The predicates that are no atoms: those of directives, of periods, and of tuple windows, `[#5 of p, q]`."""
    match statement:
        case syntax.Input():
            yield tokens[1], "input"
        case syntax.Background():
            yield tokens[1], "background"
        case syntax.CalendarDeclaration():
            yield tokens[1], "calendar"
            yield from ((token, "period") for token in tokens[2:] if token.type in ("NAME", "QUOTED"))
        case syntax.AlarmDeclaration():
            yield tokens[1], "alarm"
        case syntax.Output():
            yield from _in_lists(tokens, "output", in_list=True)
        case syntax.Rule():
            yield from _in_lists(tokens, "window", in_list=False)
            yield from _periods(tokens)


def _periods(tokens: list[Token]) -> Iterator[tuple[Token, Role]]:
    """`day` in `per day`, but not in `per day zone "…"`, which is never a calendar of the program."""
    for at, token in enumerate(tokens[:-1]):
        if token.type == "PER" and not (len(tokens) > at + 2 and tokens[at + 2].type == "ZONE"):
            yield tokens[at + 1], "period"


def _in_lists(tokens: list[Token], role: Role, *, in_list: bool) -> Iterator[tuple[Token, Role]]:
    for token in tokens:
        if token.type == "OF":
            in_list = True
        elif token.type == "RSQ":
            in_list = False
        elif in_list and token.type in ("NAME", "QUOTED"):
            yield token, role


def _nodes(node: Any) -> Iterator[Any]:
    """A node of the syntax tree, and all below it that have a place."""
    if isinstance(node, tuple):
        yield from _of_all(node)
    elif is_dataclass(node) and not isinstance(node, Span):
        if hasattr(node, "span"):
            yield node
        yield from _of_all(getattr(node, item.name) for item in fields(node))


def _of_all(nodes: Iterable[Any]) -> Iterator[Any]:
    for node in nodes:
        yield from _nodes(node)
