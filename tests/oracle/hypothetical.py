"""Hypothetical and supported answers by their definitions: Cruz-Filipe, Gaspar and Nunes 2020, Definitions 1 and 2.

A finite universe of input facts stands for all that may come. What the program derives from each subset of it is tabulated
(`oracle.worlds`); the definitions are read off the table. As both are minimal sets of facts, a universe that leaves facts
out leaves out the answers that need these, and no others change. With negation, where the definitions do not apply, an
answer is **possible** if some completion of what has come gives it, and **certain** if all do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from oracle.grounding import Row
from oracle.values import canonical
from oracle.worlds import Fact, Table, listed, subsets
from tidelog.plans.tree.syntax import Atom, Constant, Program, Value, Variable

Answer = tuple[Value, ...]
"""θ: the values of the query's columns."""


@dataclass(frozen=True, slots=True)
class Supported:
    """⟨θ, H, E⟩ as in Definition 2."""

    answer: Answer
    hypotheses: frozenset[Fact]
    evidence: frozenset[Fact]


def columns_of(query: Atom) -> tuple[str, ...]:
    """The query's variables in order, that of its time last."""
    names = [argument.name for argument in query.arguments if isinstance(argument, Variable)]
    assert query.at is not None
    return tuple(dict.fromkeys([*names, query.at.variable.name]))


def answer_of(query: Atom, row: Row, time: int) -> Answer | None:
    """The θ with Pθ = row@time, if there is one."""
    assert query.at is not None
    found: dict[str, Value] = {}
    pairs = [*zip(query.arguments, row, strict=True), (query.at.variable, time - query.at.shift)]
    for argument, value in pairs:
        if isinstance(argument, Constant) and canonical(argument.value) != value:
            return None
        if isinstance(argument, Variable) and found.setdefault(argument.name, value) != value:
            return None
    return tuple(found[name] for name in columns_of(query))


def answers(table: Table, query: Atom) -> dict[Answer, int]:
    """For each answer to the query the worlds that entail it."""
    found: dict[Answer, int] = {}
    for row in table.rows(query.predicate):
        for time, mask in table.truths(query.predicate, row).items():
            answer = answer_of(query, row, time)
            if mask and answer is not None:
                found[answer] = found.get(answer, 0) | mask
    return found


def entailed(
    program: Program, query: Atom, worlds: Sequence[Collection[Fact]], start: int | None = None
) -> list[set[Answer]]:
    """For each world what it entails: Π ∪ D ⊨ Pθ."""
    table = Table(program, listed(worlds), len(worlds), start)
    found = answers(table, query)
    return [{answer for answer, mask in found.items() if mask >> index & 1} for index in range(len(worlds))]


class Oracle:
    """The answers to a query over every subset of a universe.

    `known` are the facts that have come (the τ-history D_τ) and `pending` those that may still come; what is in neither
    will not come.
    """

    def __init__(self, program: Program, query: Atom, universe: Sequence[Fact], start: int | None = None) -> None:
        self.universe = list(universe)
        self.size = len(self.universe)
        self.table = Table(program, subsets(self.universe), 1 << self.size, start)
        self.answers = answers(self.table, query)
        self._number = {fact: index for index, fact in enumerate(self.universe)}
        self._having = list(subsets(self.universe).values())

    def hypothetical(self, known: Collection[Fact], pending: Collection[Fact]) -> set[tuple[Answer, frozenset[Fact]]]:
        """H(Q, D, τ), Definition 1."""
        found = set()
        for answer, mask in self.answers.items():
            given = self._where(mask, present=known, absent=self._rest(known, pending))
            found |= {(answer, hypotheses) for hypotheses in self._minimal(given)}
        return found

    def supported(self, known: Collection[Fact], pending: Collection[Fact]) -> set[Supported]:
        """ℰ(Q, D, τ), Definition 2: only nonempty evidence counts."""
        found = set()
        for answer, hypotheses in self.hypothetical(known, pending):
            absent = [fact for fact in self.universe if fact not in hypotheses and fact not in known]
            given = self._where(self.answers[answer], present=hypotheses, absent=absent)
            found |= {Supported(answer, hypotheses, evidence) for evidence in self._minimal(given) if evidence}
        return found

    def possible(self, known: Collection[Fact], pending: Collection[Fact]) -> set[Answer]:
        """The answers that some completion gives."""
        absent = self._rest(known, pending)
        return {answer for answer, mask in self.answers.items() if self._where(mask, present=known, absent=absent)}

    def certain(self, known: Collection[Fact], pending: Collection[Fact]) -> set[Answer]:
        """The answers that all completions give."""
        absent, everything = self._rest(known, pending), self.table.full
        return {a for a, mask in self.answers.items() if self._where(mask, present=known, absent=absent) == everything}

    def needs(self, answer: Answer) -> set[Fact]:
        """The facts on which it depends whether the answer holds."""
        mask = self.answers.get(answer, 0)
        differing = ((fact, self._with(mask, i) != self._without(mask, i)) for fact, i in self._number.items())
        return {fact for fact, differs in differing if differs}

    def _rest(self, known: Collection[Fact], pending: Collection[Fact]) -> list[Fact]:
        return [fact for fact in self.universe if fact not in known and fact not in pending]

    def _where(self, mask: int, *, present: Iterable[Fact], absent: Iterable[Fact]) -> int:
        """The truth table given these facts; it no longer depends on them."""
        for fact in present:
            mask = self._with(mask, self._number[fact])
        for fact in absent:
            mask = self._without(mask, self._number[fact])
        return mask

    def _with(self, mask: int, index: int) -> int:
        chosen = mask & self._having[index]
        return chosen | chosen >> (1 << index)

    def _without(self, mask: int, index: int) -> int:
        chosen = mask & ~self._having[index]
        return chosen | chosen << (1 << index)

    def _minimal(self, mask: int) -> Iterator[frozenset[Fact]]:
        """The worlds in a table that lose it with any one fact: the minimal ones, as the program is monotone."""
        larger = 0
        for index, having in enumerate(self._having):
            larger |= (mask & ~having) << (1 << index)
        found = mask & ~larger
        while found:
            world = (found & -found).bit_length() - 1
            found &= found - 1
            yield frozenset(fact for index, fact in enumerate(self.universe) if world >> index & 1)


def pending_facts(
    universe: Iterable[Fact], known: Collection[Fact], watermark: int, delays: Mapping[str, int]
) -> list[Fact]:
    """What may still come: a fact of p at t until the watermark reaches t + delay of p."""
    return [fact for fact in universe if fact not in known and fact[2] + delays.get(fact[0], 0) > watermark]
