"""Certificates, node by node."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.plans.errors import ProgramError
from tidelog.plans.parser import parse
from tidelog.plans.syntax import Conjunction, FactStatement, Formula, Rule, Value
from tidelog.verifier.matching import substitutions
from tidelog.verifier.terms import Row, grounded, head_predicate, is_ahead, numbered, predicates_in, value_of
from tidelog.verifier.theory import Given, Theory
from tidelog.verifier.times import Refused, Times, both, contains, union
from tidelog.verifier.world import World

Claim = tuple[str, Row, Times]
"""A fact of a certificate: its predicate, its row, its times."""


class Verifier:
    """Checks certificates for one program and its facts. `check` returns nothing, or raises Refused.

    >>> from fractions import Fraction
    >>> from tidelog.plans.syntax import Interval
    >>> verifier = Verifier("b :- diamondminus[0,2] a.", [("a", (), Interval(Fraction(1), Fraction(1)))])
    >>> given = {"fact": "a@1", "by": "input", "premises": []}
    >>> proof = {"fact": "b@[1,3]", "by": "b :- diamondminus[0,2] a.", "premises": [given]}
    >>> verifier.check({"holds": True, "fact": "b@[1,3]", "proof": proof})
    >>> verifier.check({"holds": True, "fact": "b@[1,4]", "proof": {**proof, "fact": "b@[1,4]"}})
    Traceback (most recent call last):
    tidelog.verifier.times.Refused: `b` does not follow by its rule from these premises alone
    """

    def __init__(self, text: str, facts: Iterable[Given], background: Iterable[tuple[str, Row]] = ()) -> None:
        self._theory = Theory(text, facts, background)
        self._lemmas = World(False)

    def check(self, certificate: object) -> None:
        """Refused if the certificate does not prove what it says."""
        told = _object(certificate)
        claim = self._claim(told.get("fact"))
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
        world = World(True)
        for each in map(_object, premises):
            if "absent" in each:
                world.absent.append(self._absence(each))
            else:
                world.add(*self._claim(each.get("fact")))
        predicate, row, times = claim
        given = [each for found, held in self._theory.derived(rule, world, (row, times)) if found == row for each in held]
        if head_predicate(rule) != predicate or not contains(union(given), times):
            raise Refused(f"`{predicate}` does not follow by its rule from these premises alone")

    def _check_absence(self, told: Mapping[str, Any]) -> None:
        formula, times, where = self._absence(told)
        (ready,) = numbered([formula])
        world = self._theory.model(predicates_in([formula]), times[-1][1][0] if not is_ahead(formula) else math.inf)
        evaluator = self._theory.evaluator(world)
        held = (each for binding in substitutions(world, [ready], dict(where)) for each in evaluator.truth(ready, binding))
        if both(union(held), times):
            raise Refused(f"`{told['absent']}` is not absent")

    def _absence(self, told: Mapping[str, Any]) -> tuple[Formula, Times, dict[str, Value]]:
        text, where = str(told["absent"]), _object(told.get("where", {}))
        formula, _, time = text.rpartition("@")
        try:
            (rule,) = parse(f"x :- {formula}.").statements
        except (ProgramError, ValueError):
            raise Refused(f"`{text}` is no absence") from None
        if not isinstance(rule, Rule) or not all(isinstance(value, int) for value in where.values()):
            raise Refused(f"`{text}` is no absence")
        body = rule.body[0] if len(rule.body) == 1 else Conjunction(rule.body)
        return self._theory.read(grounded(body, {})), self._claim(f"x@{time}")[2], where

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


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused("a certificate is of objects, with a `fact`, a `by` and `premises`")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise Refused("`premises` and `lemmas` are lists")
    return value
