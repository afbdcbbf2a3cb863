"""Pass: what several joins look up together is looked up once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from tidelog.plans.normal.form import form_of
from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import taken_names
from tidelog.plans.tree.names import FreshNames, predicates
from tidelog.plans.tree.syntax import Atom, Formula, Rule, Variable

_MOST_ATOMS = 16
"""Of a longer rule only so many atoms are looked at, since their pairs are."""

Pair = tuple[str, str, tuple[int, ...]]
"""Two atoms over the same variables: their predicates, and where the second's arguments stand in the first."""


def share_joins(program: NormalProgram) -> NormalProgram:
    """Give two atoms over the same variables a predicate of their own, where several joins have them; most shared first.

    Such a join holds at most as much as either atom, so it can only save work: a stream's facts then meet it once, and
    the rules that share it meet what is left.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("share_joins", "p(X) :- a(X), b(X), c(X). q(Y) :- b(Y), d(Y), a(Y)."))
    output p, q.
    'p.1'(X) :- a(X), b(X).
    p(X) :- 'p.1'(X), c(X).
    q(Y) :- 'p.1'(Y), d(Y).
    """
    sharing = _Sharing(list(program.rules), list(program.sources), FreshNames(taken_names(program)))
    while (pair := sharing.most_shared()) is not None:
        sharing.give_name(pair)
    ordered = sharing.in_order()
    return replace(
        program,
        rules=tuple(rule for rule, _ in ordered),
        sources=tuple(source for _, source in ordered),
        origins={**program.origins, **sharing.fresh.made},
    )


@dataclass
class _Sharing:
    """The rules so far, and which of them have which pair of atoms."""

    rules: list[Rule]
    sources: list[Rule]
    fresh: FreshNames
    holders: dict[Pair, dict[int, None]] = field(default_factory=dict)
    definitions: dict[str, int] = field(default_factory=dict)
    begins: dict[Pair, int] = field(default_factory=dict)
    """Since when each pair has holders, by a count of pairs: of pairs that as many rules have, the first is chosen."""
    begun: int = 0
    candidates: list[tuple[int, int, Pair]] = field(default_factory=list)
    """A heap of the pairs that several rules have had, most first; what is no longer so is passed over."""

    def __post_init__(self) -> None:
        for number in range(len(self.rules)):
            self._note(number)

    def most_shared(self) -> Pair | None:
        """The pair that most rules have, the first of these; None where no two rules share one."""
        while self.candidates:
            size, begin, pair = self.candidates[0]
            if len(self.holders.get(pair, ())) == -size and self.begins[pair] == begin:
                return pair
            heappop(self.candidates)
        return None

    def give_name(self, pair: Pair) -> None:
        """Put a fresh predicate in place of the pair in every rule that has it."""
        numbers = list(self.holders[pair])
        name = self.fresh.name(self.sources[numbers[0]])
        for number in numbers:
            self._forget(number)
            definition = self._replace(number, pair, name)
            if number == numbers[0]:
                self.definitions[name] = len(self.rules)  # behind all rules, so that their numbers stay
                self.rules.append(definition)
                self.sources.append(self.sources[number])
            self._note(number)
        self._note(len(self.rules) - 1)

    def in_order(self) -> list[tuple[Rule, Rule]]:
        """The rules with their sources, each definition before the first rule that reads it."""
        ordered: dict[int, None] = {}
        pending = list(range(len(self.rules) - 1, -1, -1))
        while pending:
            number = pending.pop()
            read = [self.definitions.get(name) for part in self.rules[number].body for name in predicates(part)]
            missing = [other for other in read if other is not None and other not in ordered]
            if missing:
                pending += [number, *reversed(missing)]
            else:
                ordered.setdefault(number)
        return [(self.rules[number], self.sources[number]) for number in ordered]

    def _replace(self, number: int, pair: Pair, name: str) -> Rule:
        rule = self.rules[number]
        first, second = next(atoms for key, *atoms in _pairs(rule) if key == pair)
        joined = Atom(name, first.arguments, span=first.span)
        body: list[Formula] = [joined if part is first else part for part in rule.body if part is not second]
        if rule.body.index(second) < rule.body.index(first):
            body = [joined, *(part for part in body if part is not joined)]
        self.rules[number] = replace(rule, body=tuple(body))
        return Rule(joined, (first, second), rule.span)

    def _note(self, number: int) -> None:
        for key, *_ in _pairs(self.rules[number]):
            if key not in self.holders:
                self.holders[key] = {}
                self.begins[key] = self.begun = self.begun + 1
            self.holders[key][number] = None
            self._suggest(key)

    def _suggest(self, key: Pair) -> None:
        size = len(self.holders[key])
        if size > 1:
            heappush(self.candidates, (-size, self.begins[key], key))

    def _forget(self, number: int) -> None:
        for key, *_ in _pairs(self.rules[number]):
            holders = self.holders.get(key, {})
            holders.pop(number, None)
            if holders:
                self._suggest(key)
            else:
                self.holders.pop(key, None)


def _pairs(rule: Rule) -> list[tuple[Pair, Atom, Atom]]:
    """The pairs of atoms of a join that have the same variables and nothing else, in a canonical order."""
    if form_of(rule) != "join":
        return []
    plain = [part for part in rule.body if isinstance(part, Atom) and part.arguments and _is_plain(part)]
    del plain[_MOST_ATOMS:]
    found = []
    for position, one in enumerate(plain):
        for other in plain[position + 1 :]:
            if set(one.arguments) == set(other.arguments) and one != other:
                first, second = sorted((one, other), key=lambda atom: atom.predicate)
                places = tuple(first.arguments.index(argument) for argument in second.arguments)
                found.append(((first.predicate, second.predicate, places), first, second))
    return found


def _is_plain(atom: Atom) -> bool:
    names = [argument.name for argument in atom.arguments if isinstance(argument, Variable)]
    return len(names) == len(atom.arguments) == len(set(names))
