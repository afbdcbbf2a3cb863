"""Partial answers, and the answers that they support."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from tidelog.operators.ask.premises.awaited import Binding
from tidelog.operators.ask.premises.patterns import Pattern
from tidelog.plans.plan.questions import NEVER, GroundLiteral
from tidelog.plans.tree.syntax import Value

Columns = tuple[Value | None, ...]
"""The values of a query's columns, the time last; None where one is open."""


class Compared(Protocol):
    """What an answer has to know of the comparison of its supports (`supports.py`)."""

    hidden: dict[Partial, None]

    def remove(self, partial: Partial) -> None: ...

    def update(self, changed: Iterable[Partial], beside: Sequence[Any]) -> None: ...


class Thread:
    """Lines that go together: of one way to an answer; with open columns, of one evidence, whatever it still needs.

    `alive` counts the partial answers that stand for it, `told` says that a line was told, `filled` that its lines go on in
    those of another one, to which a fact has led.
    """

    __slots__ = ("alive", "filled", "told")

    def __init__(self) -> None:
        self.alive = 0
        self.told = self.filled = False


class Answer:
    """What is known of one answer.

    `query` is the name of its query, `supports` are its partial answers. `told` says that a line was told of it, `is_asked`
    that somebody asked for it. `watchers` wait for what it turns out to be: negated premises of partial answers;
    `dependents` are answers that are open as long as they may come from this one. `compared` are its supports, once there
    were several; `fresh` are those that have changed since, `is_new` says that all have to be looked at. `failed` is the
    premise that was the last to speak against it, `proofs` what speaks for it, or spoke for it last; `rank` is when that
    failed, and how much spoke for it: of what failed at one moment, the most is told. `lost` is what a support lacked that
    was told and is none any more; `warned` says that its deadline was told to be near. `threads` are those of an answer
    with open columns, by evidence.
    """

    __slots__ = (
        *("certain", "columns", "compared", "dependents", "failed", "fresh", "is_asked", "is_new", "is_open", "proofs"),
        *("lost", "query", "rank", "supports", "threads", "told", "warned", "watchers"),
    )

    def __init__(self, query: str, columns: Columns) -> None:
        self.query, self.columns = query, columns
        self.is_open = None in columns
        self.supports: dict[Partial, None] = {}
        self.watchers: list[tuple[Partial, int]] = []
        self.dependents: dict[Answer, None] = {}
        self.certain = self.told = self.is_asked = False
        self.is_new = self.warned = False
        self.lost: GroundLiteral | None = None
        self.fresh: dict[Partial, None] = {}
        self.compared: Compared | None = None
        self.failed: GroundLiteral | None = None
        self.proofs: list[tuple[GroundLiteral, ...]] = []
        self.rank: tuple[int, ...] = ()
        self.threads: dict[frozenset[GroundLiteral], Thread] = {}

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

    `literals` are the premises in the public form, once they were needed; `divided` has them as evidence and hypotheses, and
    the state at which that was so. `told` is what was missing when it was told last, or its parent, where nothing else needs
    the values that it has beside that one's. `watched` are the absences that are waited for. `parent` is the partial answer
    of which a fact has made this one by giving open variables values. `threads` are those in which it stands: the last one,
    and those before it that were told, until a line is told of this one again.
    """

    __slots__ = (
        *("alive", "answer", "binding", "divided", "literals", "missing", "parent", "pattern", "pending", "threads", "told"),
        "watched",
    )

    def __init__(
        self,
        pattern: Pattern,
        binding: Binding,
        missing: int,
        pending: int,
        answer: Answer,
        parent: Partial | None = None,
    ) -> None:
        self.pattern, self.binding = pattern, binding
        self.missing, self.pending = missing, pending
        self.alive = True
        self.told: int | None = None
        self.answer, self.parent = answer, parent
        self.watched = 0
        self.threads: list[Thread] = []
        self.literals: list[tuple[int, GroundLiteral]] | None = None
        self.divided: tuple[object, tuple[list[GroundLiteral], list[GroundLiteral]]] | None = None

    def fill(self) -> None:
        """A line is told of it: lines of those that it came from go on in this one's."""
        partial = self.parent
        while partial is not None:
            for thread in partial.threads:
                thread.filled = True
            partial = partial.parent

    def enter(self, thread: Thread) -> None:
        """Stand for this evidence; and for the one before, if a line was told of it."""
        thread.alive += 1
        for former in [former for former in self.threads if not former.told]:
            self.leave(former)
        self.threads.append(thread)

    def leave(self, thread: Thread) -> None:
        """Stand for an evidence no longer."""
        thread.alive -= 1
        self.threads.remove(thread)

    def tell(self) -> None:
        """A line is told of it: it takes the place of what it stood for before."""
        for former in self.threads[:-1]:
            former.filled = True
            self.leave(former)
        for thread in self.threads:
            thread.told = True

    @property
    def is_complete(self) -> bool:
        """Whether nothing is needed any more."""
        return not self.missing and not self.pending

    def first_deadline(self) -> int:
        """The watermark at which the first of the premises still needed is decided."""
        return self.pattern.first_deadline(self.binding, self.missing)

    def last_deadline(self) -> int:
        """The watermark at which all premises still needed are decided."""
        pattern, binding = self.pattern, self.binding
        found = max((pattern.deadline(item, binding) for _, item in pattern.pending(self.pending)), default=-NEVER)
        if pattern.is_connected and self.missing:
            last = self.missing.bit_length() - 1
            own = pattern.own_time(binding)
            return max(found, own + pattern.deadlines[last] if isinstance(own, int) else NEVER)
        return max([found, *(pattern.deadline(item, binding) for _, item in pattern.missing(self.missing))])
