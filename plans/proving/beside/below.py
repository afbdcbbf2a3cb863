"""What holds in one program only where it does in another: by how rules are written, and by proofs about single rules.

A predicate lies below the one of the same name where each rule of it does. A rule does so where the other program has one of
the same form, each predicate of which is the same, or lies above, or, behind `not`, below; or where the `Judge` proves its
head. Predicates that need each other are assumed to lie below one another until one of their rules does not: what is derived
in n steps by the ones is then derived in n steps by the others. Behind `not`, only what was proved before counts, and an
aggregate or a held value has to be of the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.plans.proving.beside.matching import Sign, Token, classes, form
from tidelog.plans.proving.judging import Judge
from tidelog.plans.proving.merging import FAR, merged, other
from tidelog.plans.proving.rulebook import Clause, Rulebook
from tidelog.plans.tree.syntax import Atom, CalendarDeclaration, Variable
from tidelog.plans.tree.walk import statements_of

_ZERO = Fraction(0)
_ROUNDS = 4
Names = tuple[frozenset[str], frozenset[str]]
"""Predicates of the first program that lie below the second's, and the other way round."""


class Beside:
    """Two programs on one timeline. Sides go by numbers: 0 is the first one."""

    def __init__(self, first: Rulebook, second: Rulebook, is_over: Callable[[], bool] = lambda: False) -> None:
        self._books = (first, second)
        self._is_over = is_over
        self._classes = classes(first, second)
        self._shared = {*self._classes[0].values()} & {*self._classes[1].values()}
        self._proved: set[tuple[int, int]] = set()
        """Rules whose heads a proof has shown to hold in the other program, by sides and numbers."""
        self._below: Names | None = None
        self._alike = tuple(map(self._named_alike, (0, 1)))

    def is_same(self, name: str) -> bool:
        """Whether a predicate is the same in both by how it is written."""
        return name in self._classes[0] and self._classes[0][name] == self._classes[1].get(name)

    def is_below(self, side: int, name: str) -> bool:
        """Whether it is proved that a predicate of one side holds only where it does on the other."""
        if self.is_same(name):
            return True
        if self._below is None:
            self._below = self._settled()
        return name in self._below[side]

    def _settled(self) -> Names:
        known: Names = (frozenset(), frozenset())
        for _ in range(_ROUNDS):
            judges = tuple(self._judge(side, known[side]) for side in (0, 1))
            found = self._greatest(known, judges)
            if found == known:
                break
            known = found
        return known

    def _judge(self, side: int, known: frozenset[str]) -> Judge:
        """One that knows both programs, and of what lies below that it does."""
        mine, others = self._books[side], self._books[1 - side]
        book = merged(mine, others, self._alike[side])
        clauses = dict(book.clauses)
        for number, name in enumerate(sorted(known)):
            if not self.is_same(name) and mine.of(name):
                bridge = _bridge(mine.of(name)[0], 2 * FAR + number)
                clauses[other(name)] = (*clauses.get(other(name), ()), bridge)
        return Judge(replace(book, clauses=clauses), self._is_over)

    def _named_alike(self, side: int) -> Mapping[str, str]:
        """What predicates of the other side are on this one, where they are the same."""
        mine = self._classes[side]
        by_class = {number: name for name, number in sorted(mine.items(), reverse=True)}
        found = {name: number for name, number in self._classes[1 - side].items() if number in by_class}
        return {name: name if mine.get(name) == number else by_class[number] for name, number in found.items()}

    def _greatest(self, known: Names, judges: Sequence[Judge]) -> Names:
        """The most predicates that may be assumed to lie below without contradiction."""
        both = {name for name in self._classes[0] if name in self._classes[1]}
        found = tuple({name for name in both if self._is_brought_too(side, name)} for side in (0, 1))
        refused: set[tuple[int, int]] = set()
        changed = True
        while changed:
            changed = False
            for side in (0, 1):
                for name in sorted(found[side]):
                    if not self.is_same(name) and not self._holds(side, name, found[side], known, judges[side], refused):
                        found[side].discard(name)
                        changed = True
        return frozenset(found[0]), frozenset(found[1])

    def _is_brought_too(self, side: int, name: str) -> bool:
        """Whether what holds of a predicate without a rule does so on the other side, too."""
        if self.is_same(name):
            return True
        mine, others = self._books[side], self._books[1 - side]
        if name in mine.given and (name not in others.given or mine.types.get(name) != others.types.get(name)):
            return False
        calendars = {item.predicate for book in self._books for item in statements_of(book.program, CalendarDeclaration)}
        return name not in calendars and set(mine.facts.get(name, ())) <= set(others.facts.get(name, ()))

    def _holds(
        self, side: int, name: str, assumed: set[str], known: Names, judge: Judge, refused: set[tuple[int, int]]
    ) -> bool:
        mine, others = self._books[side], self._books[1 - side]
        forms = {form(others, clause, self._token(1 - side, side, assumed, known)) for clause in others.of(name)}
        token = self._token(side, side, assumed, known)
        above = self._alike[side].get(name, other(name))
        for clause in mine.of(name):
            if form(mine, clause, token) in forms or (side, clause.number) in self._proved:
                continue
            if (side, clause.number) in refused or not judge.is_below(clause, above):
                refused.add((side, clause.number))
                return False
            self._proved.add((side, clause.number))
        return True

    def _token(self, of: int, below: int, assumed: set[str], known: Names) -> Token:
        """What stands for a predicate of a side where rules of one are compared with those above."""
        numbers: Mapping[str, int] = self._classes[of]

        def token(name: str, sign: Sign) -> Hashable:
            number = numbers.get(name)
            if number in self._shared:
                return number
            if (sign == "more" and name in assumed) or (sign == "less" and name in known[1 - below]):
                return sign, name
            return of, name

        return token


def _bridge(clause: Clause, number: int) -> Clause:
    """The rule by which the other program's predicate holds where this one does."""
    terms = tuple(Variable(f"X{place}") for place in range(len(clause.head.arguments)))
    name = clause.head.predicate
    return Clause(number, Atom(other(name), terms), _ZERO, _ZERO, False, False, (Atom(name, terms),), clause.rule)
