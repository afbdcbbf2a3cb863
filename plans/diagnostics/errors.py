"""The exceptions that tidelog raises, and the diagnostics that they carry.

TidelogError
├── ProgramError       the program's text is wrong: carries every independent Diagnostic
├── DataError          a fact, a timestamp or a record cannot be read: carries its place
├── LateError          a fact lies behind the watermark: it is refused, nothing else is lost
├── SpecError          a source, sink or option cannot be understood
├── ConnectorError     a source or a sink failed for good (its retries are spent)
├── OperatorError      an operator failed: carries its step, its rule and the fact
├── StateError         what a run holds has grown beyond its bound: carries what grows, and how far it had come
├── EndlessError       a materialisation has not come to an end: carries the predicates that go on
├── MethodError        a way to decide entailment cannot take this program, or has met its limits
└── SnapshotError      a snapshot does not belong to this plan, or is damaged
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "hint"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a program's text: character offsets, `end` exclusive."""

    start: int
    end: int


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that a diagnostic points at, such as `only negated here`."""

    span: Span
    label: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about a program: what, where, and how to mend it.

    `code` is stable (`unsafe-variable`), `message` is lower case without a full stop, `label` stands beside
    the caret, `help` holds the fix.
    """

    code: str
    message: str
    span: Span
    label: str = ""
    notes: tuple[Note, ...] = field(default=())
    help: str = ""
    severity: Severity = "error"


class TidelogError(Exception):
    """The base of every error that tidelog raises on purpose."""


class ProgramError(TidelogError):
    """A program cannot be compiled; `diagnostics` holds every independent reason, `name` its file.

    `text` is the program's source, so that the error can be shown with its lines.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic], name: str = "<program>", text: str = "") -> None:
        self.diagnostics = tuple(diagnostics)
        self.name = name
        self.text = text
        super().__init__(diagnostics, name, text)

    def __str__(self) -> str:
        """`file:line:column: code: message` of the first diagnostic, and how many more there are."""
        if not self.diagnostics:
            return self.name
        first = min(self.diagnostics, key=lambda item: item.span)
        more = len(self.diagnostics) - 1
        beside = f" (and {more} more error{'s' if more > 1 else ''})" if more else ""
        return f"{self.name}{self._place(first.span.start)}: {first.code}: {first.message}{beside}"

    def _place(self, offset: int) -> str:
        """`:line:column`, both from 1; nothing where the text is not known."""
        if not self.text:
            return ""
        return f":{self.text.count(chr(10), 0, offset) + 1}:{offset - self.text.rfind(chr(10), 0, offset)}"


class DataError(TidelogError):
    """A record cannot be read; `reason` says why, `place` where (`file:line`), if it is known."""

    def __init__(self, reason: str, place: str = "") -> None:
        self.reason = reason
        self.place = place
        super().__init__(reason, place)

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}" if self.place else self.reason


class LateError(DataError):
    """A fact begins at or before the watermark, so answers that it could change are out already."""


class SpecError(TidelogError):
    """A source, a sink or an option is not of the documented form."""


class ConnectorError(TidelogError):
    """A source or a sink failed, and its budget of restarts is spent."""


class FencedError(ConnectorError):
    """This process leads no more: another one may, so nothing is told."""


class OperatorError(TidelogError):
    """An operator failed; `step`, `rule` and `fact` name where, the cause is chained."""

    def __init__(self, step: str, rule: str, fact: str, reason: str) -> None:
        self.step = step
        self.rule = rule
        self.fact = fact
        self.reason = reason
        super().__init__(step, rule, fact, reason)

    def __str__(self) -> str:
        return f"step {self.step} failed on {self.fact}: {self.reason} (rule: {self.rule})"


class StateError(TidelogError):
    """A run holds more than it may: `most` rows.

    `holder` is what holds most of it, a rule as text or what else there is, `place` where it stands (`file:line`, or
    nothing), `rows` how many it holds. By then `accepted` facts had been taken, and `told` answers had been handed over.
    """

    limit = "--max-state"
    """The option of the command line that sets the bound."""

    def __init__(self, holder: str, place: str, rows: int, most: int) -> None:
        self.holder = holder
        self.place = place
        self.rows = rows
        self.most = most
        self.accepted = self.told = 0
        super().__init__(holder, place, rows, most)

    def __str__(self) -> str:
        held = f"the state has grown beyond {self.most:,} rows: {self.rows:,} are held by {self._named()}"
        return f"{held}; {self._so_far()}"

    def _named(self) -> str:
        return f"{self.holder} ({self.place})" if self.place else self.holder

    def _so_far(self) -> str:
        facts, answers = "fact" if self.accepted == 1 else "facts", "answer" if self.told == 1 else "answers"
        return f"{self.accepted:,} {facts} accepted, {self.told:,} {answers} told"


class MemoryBoundError(StateError):
    """The same of a history in columns, in bytes (`rows` and `most`); `advice` says what needs less."""

    limit = "--memory"

    def __init__(self, holder: str, place: str, rows: int, most: int, advice: str) -> None:
        super().__init__(holder, place, rows, most)
        self.advice = advice

    def __str__(self) -> str:
        held = f"the history takes more than {_bytes(self.most)} of memory: {_bytes(self.rows)} go to {self._named()}"
        return f"{held}; {self._so_far()}; {self.advice}"


def _bytes(number: int) -> str:
    """A number of bytes as people read it.

    >>> _bytes(1_500), _bytes(64_000_000)
    ('1.5 kB', '64 MB')
    """
    for name, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number} bytes"


class EndlessError(TidelogError):
    """A materialisation has not come to an end: `predicates` of one recursive component go on, `rounds` were done."""

    def __init__(self, predicates: Sequence[str], rounds: int, reason: str) -> None:
        self.predicates = tuple(predicates)
        self.rounds = rounds
        self.reason = reason
        super().__init__(self.predicates, rounds, reason)

    def __str__(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.predicates)
        return f"the recursion through {names} has not come to an end after {self.rounds:,} rounds: {self.reason}"


class MethodError(TidelogError):
    """A way to decide (automata, LTL) cannot take a program, or needs more memory than its limit; another one may do."""


class SnapshotError(TidelogError):
    """A snapshot was taken from another plan or another version, or is not a snapshot."""
