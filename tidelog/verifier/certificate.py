"""Certificates, node by node."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.syntax import (
    Aggregate,
    Comparison,
    Conjunction,
    Constant,
    FactStatement,
    Formula,
    Rule,
    Value,
    Variable,
)
from tidelog.verifier.almanac import Events
from tidelog.verifier.counting import mentions, with_thresholds
from tidelog.verifier.matching import substitutions
from tidelog.verifier.terms import (
    Row,
    grounded,
    head_predicate,
    is_ahead,
    numbered,
    of_group,
    predicates_in,
    value_of,
)
from tidelog.verifier.theory import Given, Theory
from tidelog.verifier.times import Refused, Times, both, contains, union
from tidelog.verifier.world import World

Claim = tuple[str, Row, Times]
"""A fact of a certificate: its predicate, its row, its times."""


class Verifier:
    """Checks certificates for one program and its facts. `check` returns nothing, or raises Refused.

    >>> from fractions import Fraction
    >>> from tidelog.plans.tree.syntax import Interval
    >>> verifier = Verifier("b :- diamondminus[0,2] a.", [("a", (), Interval(Fraction(1), Fraction(1)))])
    >>> given = {"fact": "a@1", "by": "input", "premises": []}
    >>> proof = {"fact": "b@[1,3]", "by": "b :- diamondminus[0,2] a.", "premises": [given]}
    >>> verifier.check({"holds": True, "fact": "b@[1,3]", "proof": proof})
    >>> verifier.check({"holds": True, "fact": "b@[1,4]", "proof": {**proof, "fact": "b@[1,4]"}})
    Traceback (most recent call last):
    tidelog.verifier.times.Refused: `b` does not follow by its rule from these premises alone
    """

    def __init__(
        self,
        text: str,
        facts: Iterable[Given],
        background: Iterable[tuple[str, Row]] = (),
        events: Events = MappingProxyType({}),
    ) -> None:
        self._theory = Theory(text, facts, background, events)
        self._lemmas = World(False)

    def check(self, certificate: object) -> None:
        """Refused if the certificate does not prove what it says."""
        told = _object(certificate)
        claim = self._claim(told.get("fact"))
        self._theory.look_at(end[0] for stretch in claim[2] for end in stretch)
        if told.get("holds") is False:
            self._check_missing(claim)
            return
        if told.get("holds") is not True:
            raise Refused("a certificate says whether its fact `holds`")
        self._lemmas = World(False)
        for lemma in _list(told.get("lemmas", [])):
            self._check_proof(lemma)
            self._lemmas.add(*self._claim(_object(lemma).get("fact")))
        proof = _object(told.get("proof"))
        if self._claim(proof.get("fact")) != claim:
            raise Refused("the proof is of another fact")
        self._check_proof(proof)

    def _check_missing(self, claim: Claim) -> None:
        predicate, row, times = claim
        world = self._theory.model([predicate], times[-1][1][0])
        if contains(world.times(predicate, row, least=True), times):
            raise Refused("the fact holds")

    def _check_proof(self, proof: object) -> None:
        """Check a node and all below it, with those above it at hand."""
        waiting: list[tuple[object, tuple[Any, ...]]] = [(proof, ())]
        while waiting:
            node, above = waiting.pop()
            told = _object(node)
            if "absent" in told:
                self._check_absence(told)
                continue
            if "aggregate" in told:
                self._check_total(told)
                waiting += [(each, above) for each in _list(told.get("premises", []))]
                continue
            claim, by, premises = self._claim(told.get("fact")), str(told.get("by")), _list(told.get("premises", []))
            if by == "parts":
                waiting += [(each, above) for each in self._parts_of(claim, premises)]
            elif by == "lemma" or by in self._theory.given:
                given = self._lemmas if by == "lemma" else self._theory.given[by]
                if premises or not contains(given.times(claim[0], claim[1], least=True), claim[2]):
                    raise Refused(f"`{told['fact']}` is no {by} fact")
            else:
                self._check_older(claim, above)
                self._check_step(claim, self._theory.rule(by), premises)
                waiting += [(each, (claim, above)) for each in premises]

    def _parts_of(self, claim: Claim, premises: list[Any]) -> list[Any]:
        parts = [self._claim(_object(each).get("fact")) for each in premises]
        if any(part[:2] != claim[:2] for part in parts) or union(each for part in parts for each in part[2]) != claim[2]:
            raise Refused("the parts are not the whole")
        return premises

    def _check_older(self, claim: Claim, above: tuple[Any, ...]) -> None:
        while above:
            conclusion, above = above
            if conclusion[:2] == claim[:2] and both(conclusion[2], claim[2]):
                raise Refused("a fact rests on itself")

    def _check_step(self, claim: Claim, rule: Rule, premises: list[Any]) -> None:
        world = self._world_of(premises)
        predicate, row, times = claim
        given = [each for found, held in self._theory.derived(rule, world, (row, times)) if found == row for each in held]
        if head_predicate(rule) != predicate or not contains(union(given), times):
            raise Refused(f"`{predicate}` does not follow by its rule from these premises alone")

    def _world_of(self, premises: list[Any]) -> World:
        """What premises say, and nothing else."""
        world = World(True)
        waiting = list(premises)
        while waiting:
            each = _object(waiting.pop())
            if "absent" in each:
                world.absent += self._absences(each)
            elif "aggregate" in each:
                world.totals.append(self._total(each))
                waiting += _list(each.get("premises", []))
            else:
                world.add(*self._claim(each.get("fact")))
        return world

    def _check_total(self, told: Mapping[str, Any]) -> None:
        """The value of an aggregate, worked out over all pairs, and that those that are not shown are as many as is said."""
        said, value, times = self._total(told)
        (aggregate,) = (each for each in numbered([said]) if isinstance(each, Aggregate))
        model = self._theory.model(predicates_in([aggregate.operand]), times[-1][1][0])
        every = self._theory.evaluator(model)
        if not contains(every.truth(aggregate, {aggregate.result.name: value} if value is not None else {}), times):
            raise Refused(f"`{told['aggregate']}` is not the value")
        window = every.window_of(aggregate, times)
        shown = self._theory.evaluator(self._world_of(_list(told.get("premises", []))))
        there = [both(each, window) for _, each in every.pairs(aggregate, {})]
        given = [both(each, window) for _, each in shown.pairs(aggregate, {})]
        more = told.get("more", 0)
        if size(there) == math.inf:
            is_right = more == "inf" or (more == 0 and sorted(filter(None, there)) == sorted(filter(None, given)))
        else:
            is_right = size(there) - size(given) == more
        if not is_right:
            raise Refused(f"`{told['aggregate']}` is worked out from other facts than those that are shown, and {more} more")

    def _total(self, told: Mapping[str, Any]) -> tuple[Aggregate, Value | None, Times]:
        text, _, time = str(told["aggregate"]).rpartition("@")
        body = self._body(text)
        marked = with_thresholds(body, [])
        match tuple(map(self._theory.read, numbered(marked))):
            case (Aggregate() as aggregate,) if aggregate.threshold is not None and not aggregate.by:
                value = None
            case (Aggregate() as aggregate, Comparison("=", Constant() as constant, Variable() as result)) if (
                result == aggregate.result and not aggregate.by
            ):
                value = value_of(constant, {})
            case _:
                raise Refused(f"`{told['aggregate']}` is no value of an aggregate with its time")
        return of_group(aggregate, {}), value, self._claim(f"x@{time}")[2]

    def _body(self, text: str) -> tuple[Formula, ...]:
        try:
            (rule,) = parse(f"x :- {text}.").statements
        except (ProgramError, ValueError):
            raise Refused(f"`{text}` is no formula") from None
        if not isinstance(rule, Rule):
            raise Refused(f"`{text}` is no formula")
        return rule.body

    def _check_absence(self, told: Mapping[str, Any]) -> None:
        formula, times, where = self._absences(told)[0]
        (ready,) = numbered([formula])
        world = self._theory.model(predicates_in([formula]), times[-1][1][0] if not is_ahead(formula) else math.inf)
        evaluator = self._theory.evaluator(world)
        held = (
            each for binding in substitutions(evaluator, [ready], dict(where)) for each in evaluator.truth(ready, binding)
        )
        if both(union(held), times):
            raise Refused(f"`{told['absent']}` is not absent")

    def _absences(self, told: Mapping[str, Any]) -> list[tuple[Formula, Times, dict[str, Value]]]:
        """What is said to be absent: as it is written, and with thresholds in its aggregates."""
        text, where = str(told["absent"]), _object(told.get("where", {}))
        formula, _, time = text.rpartition("@")
        if not all(isinstance(value, int) for value in where.values()):
            raise Refused(f"`{text}` is no absence")
        body = self._body(formula)
        times = self._claim(f"x@{time}")[2]
        found = []
        for parts in dict.fromkeys([body, with_thresholds(body, [])]):
            names = Counter(name for part in parts for name in mentions(part))
            (whole,) = numbered([parts[0] if len(parts) == 1 else Conjunction(parts)])
            kept = {name for name, uses in names.items() if uses > 1}
            found.append((self._theory.read(grounded(whole, {}, kept)), times, where))
        return found

    def _claim(self, text: object) -> Claim:
        """A fact of the certificate: its predicate, its row, its times."""
        try:
            (fact,) = parse(f"{text}.").statements if isinstance(text, str) else ()
        except (ProgramError, ValueError):
            raise Refused(f"`{text}` is no fact with its time") from None
        if not isinstance(fact, FactStatement) or fact.interval is None:
            raise Refused(f"`{text}` is no fact with its time")
        times = self._theory.line.times(fact.interval)
        if not times:
            raise Refused(f"`{text}` has no times")
        return fact.atom.predicate, tuple(value_of(term, {}) for term in fact.atom.arguments), times


def size(pairs: Iterable[Times]) -> float:
    """How many pairs of a row and a time point there are."""
    return float(sum(high - low for times in pairs for (low, _), (high, _) in times))


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused("a certificate is of objects, with a `fact`, a `by` and `premises`")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise Refused("`premises` and `lemmas` are lists")
    return value
