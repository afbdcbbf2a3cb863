"""Partial answers, and the answers that they support."""

from __future__ import annotations

from tidelog.operators.ask.patterns import Binding, Pattern
from tidelog.plans.questions import NEVER, GroundLiteral
from tidelog.plans.syntax import Value

Columns = tuple[Value | None, ...]
"""The values of a query's columns, the time last; None where one is open."""


class Answer:
    """What is known of one answer.

    `query` is the name of its query, `supports` are its partial answers. `told` says that a line was told of it, `filled`
    that facts have made other answers of it by giving its open columns values, `is_asked` that somebody asked for it.
    `watchers` wait for what it turns out to be: negated premises of partial answers. `dependents` are answers that it may
    become. `is_new` says that its supports have changed since they were compared, `has_hidden` that some need more than
    others. `failed` is the premise that was the last to speak against it, `proofs` what speaks for it, or spoke for it last.
    """

    __slots__ = (
        *("certain", "columns", "dependents", "failed", "filled", "has_hidden", "is_asked", "is_new", "is_open", "proofs"),
        *("query", "supports", "told", "watchers"),
    )

    def __init__(self, query: str, columns: Columns) -> None:
        self.query, self.columns = query, columns
        self.is_open = None in columns
        self.supports: dict[Partial, None] = {}
        self.watchers: list[tuple[Partial, int]] = []
        self.dependents: dict[Answer, None] = {}
        self.certain = self.told = self.filled = self.is_asked = False
        self.is_new = self.has_hidden = False
        self.failed: GroundLiteral | None = None
        self.proofs: list[tuple[GroundLiteral, ...]] = []

    @property
    def time(self) -> int:
        """The answer's time point; NEVER while it is open."""
        time = self.columns[-1]
        return time if isinstance(time, int) else NEVER

    @property
    def is_awaited(self) -> bool:
        """Whether anybody has to be told what becomes of it."""
        return self.told or bool(self.watchers)


class Partial:
    """A partial answer ⟨θ, E, H⟩: a pattern, the values bound so far, which premises are `missing`, what absences `pending`.

    `literals` are the premises in the public form, once they were needed. `told` is what was missing and pending when it was
    told last; `hidden` says that another support needs less.
    """

    __slots__ = ("alive", "answer", "binding", "hidden", "literals", "missing", "pattern", "pending", "told")

    def __init__(self, pattern: Pattern, binding: Binding, missing: int, pending: int, answer: Answer) -> None:
        self.pattern, self.binding = pattern, binding
        self.missing, self.pending = missing, pending
        self.alive, self.hidden = True, False
        self.told: tuple[int, int] | None = None
        self.answer = answer
        self.literals: list[tuple[int, GroundLiteral]] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is needed any more."""
        return not self.missing and not self.pending

    def first_deadline(self) -> int:
        """The watermark at which the first of the premises still needed is decided."""
        pattern, binding = self.pattern, self.binding
        if pattern.is_connected and self.missing:
            first = (self.missing & -self.missing).bit_length() - 1
            return _add(binding[pattern.time], pattern.deadlines[first])  # type: ignore[index] # connected: it has a time
        return min((pattern.deadline(item, binding) for _, item in pattern.missing(self.missing)), default=NEVER)

    def last_deadline(self) -> int:
        """The watermark at which all premises still needed are decided."""
        pattern, binding = self.pattern, self.binding
        found = max((pattern.deadline(item, binding) for _, item in pattern.pending(self.pending)), default=-NEVER)
        if pattern.is_connected and self.missing:
            last = self.missing.bit_length() - 1
            return max(found, _add(binding[pattern.time], pattern.deadlines[last]))  # type: ignore[index] # as above
        return max((pattern.deadline(item, binding) for _, item in pattern.missing(self.missing)), default=found)


def _add(time: Value | None, distance: int) -> int:
    return time + distance if isinstance(time, int) else NEVER
