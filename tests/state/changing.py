"""Runs whose program changes between two halves, in tests: stored in memory, and what each half tells."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import anyio

from crashing import CrashError, ReplayableSource
from tidelog import Engine, MemorySink
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Program, Rule, Variable
from tidelog.runtime.intake.arguments import AtEnd
from tidelog.runtime.ports.durability import Changes, Input, Keep, Kept, Told

KEEP = Keep(seconds=1e9)


@dataclass
class Memory:
    """A store in memory. With `crash`, a commit crashes `before` it, or `after`."""

    name: str = "memory"
    stored: bytes | None = None
    packed: bytes = b""
    blocks: list[Input] = field(default_factory=list)
    held: dict[str, bytes] = field(default_factory=dict)
    answered: list[Told] = field(default_factory=list)
    crash: str = ""

    def head(self) -> bytes | None:
        return self.stored

    def plan(self) -> bytes:
        return self.packed

    def commit(self, changes: Changes) -> Kept:
        if self.crash == "before":
            raise CrashError
        self.stored = changes.head
        self.packed = self.packed if changes.plan is None else changes.plan
        self.blocks += changes.journal
        self.answered += changes.answers
        for name, data in (changes.parts or {}).items():
            self.held.pop(name, None)
            if data is not None:
                self.held[name] = data
        if changes.keep is None:
            self.blocks = [block for block in self.blocks if block.last >= changes.journal_from]
        if self.crash == "after":
            raise CrashError
        return self.kept()

    def kept(self) -> Kept:
        return Kept(1, 0)

    def parts(self) -> Iterator[tuple[str, bytes]]:
        yield from self.held.items()

    def journal(self, first: int = 0) -> Iterator[Input]:
        yield from (block for block in self.blocks if block.last >= first)

    def answers(self, first: int) -> Told | None:
        return next((block for block in self.answered if block.last >= first), None)

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass


def half(plan: Plan, store: Any, facts: Sequence[Record], *, last: bool = False, **options: Any) -> tuple[list[Record], int]:
    """Run a plan over the facts that were not read yet; what it tells, and how far the stream is complete then."""
    sink = MemorySink()
    at_end: AtEnd = "finish" if last else "stop"
    engine = Engine(plan, [ReplayableSource(facts)], [sink], state=store, commit_every=0, at_end=at_end, **options)
    anyio.run(engine.run, backend="trio")
    return sink.answers, engine._session.frontier


def rewritten(program: Program, seed: int) -> Program:
    """The same program with other variables, its rules in another order, and a comment."""
    rules = [item for item in program.statements if isinstance(item, Rule)]
    others = [item for item in program.statements if not isinstance(item, Rule)]
    random.Random(seed).shuffle(rules)
    text = "% rewritten\n" + format_program(_renamed(replace(program, statements=(*others, *rules))))
    return parse(text)


def _renamed(node: Any) -> Any:
    if isinstance(node, Variable):
        return replace(node, name=f"Z{node.name}")
    if isinstance(node, tuple):
        return tuple(map(_renamed, node))
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{item.name: _renamed(getattr(node, item.name)) for item in fields(node)})
    return node
