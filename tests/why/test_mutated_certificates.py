"""Certificates that say something else than what holds are refused: all of them, for every operator; they are counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction
from typing import Any

import pytest

from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from why.corpus import CASES
from why.explaining import refusal, verifier, why

Mutant = tuple[str, dict[str, Any]]


def mutants(certificate: dict[str, Any], rules: list[str]) -> Iterator[Mutant]:
    """Certificates that differ in one place, each with what has been done to it."""
    for path in _paths(certificate["proof"]):
        yield from _dropped(certificate, path)
        yield from _widened(certificate, path)
        yield from _renamed(certificate, path)
        yield from _swapped(certificate, path, rules)
        yield from _circular(certificate, path)
        yield from _counted_otherwise(certificate, path)


def _paths(node: dict[str, Any], path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    yield path
    for number, premise in enumerate(node.get("premises", ())):
        yield from _paths(premise, (*path, number))


def _at(certificate: dict[str, Any], path: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A copy, and the node at a path of it."""
    copy = deepcopy(certificate)
    node = copy["proof"]
    for number in path:
        node = node["premises"][number]
    return copy, node


def _dropped(certificate: dict[str, Any], path: tuple[int, ...]) -> Iterator[Mutant]:
    _, node = _at(certificate, path)
    for number in range(len(node.get("premises", ()))):
        copy, node = _at(certificate, path)
        del node["premises"][number]
        yield "dropped premise", copy


def _widened(certificate: dict[str, Any], path: tuple[int, ...]) -> Iterator[Mutant]:
    """The conclusion by the least there is at either end, what is given or absent for ever."""
    _, node = _at(certificate, path)
    name = _said(node)
    text, _, time = node[name].rpartition("@")
    for wider in _wider(time) if not path else ("(-inf,inf)",):
        copy, node = _at(certificate, path)
        node[name] = f"{text}@{wider}"
        if not path:
            copy["fact"] = node[name]
        if wider != time:
            yield f"widened {name}", copy


def _said(node: dict[str, Any]) -> str:
    return next(name for name in ("absent", "aggregate", "fact") if name in node)


def _begin(time: str) -> str:
    return time.partition(",")[0] if time[0] in "[(" else f"[{time}"


def _end(time: str) -> str:
    return time.partition(",")[2] if time[0] in "[(" else f"{time}]"


def _wider(time: str) -> Iterator[str]:
    """The same with a closed end in place of an open one, or, where it is closed, with an end further on."""
    begin, end = _begin(time), _end(time)
    if "inf" not in begin:
        yield f"[{begin[1:]},{end}" if begin[0] == "(" else f"[{Fraction(begin[1:]) - 1},{end}"
    if "inf" not in end:
        yield f"{begin},{end[:-1]}]" if end[-1] == ")" else f"{begin},{Fraction(end[:-1]) + 1}]"


def _renamed(certificate: dict[str, Any], path: tuple[int, ...]) -> Iterator[Mutant]:
    copy, node = _at(certificate, path)
    name = _said(node)
    for old, new in (("(x", "(w"), ("(10)", "(11)"), ("(50)", "(51)")):
        if old in node[name]:
            node[name] = node[name].replace(old, new)
            if not path:
                copy["fact"] = node[name]
            yield "other constant", copy
            return


def _swapped(certificate: dict[str, Any], path: tuple[int, ...], rules: list[str]) -> Iterator[Mutant]:
    _, node = _at(certificate, path)
    if node.get("by", "parts") == "parts":
        return
    for rule in [*rules, "q(X) :- r(X).", "b :- top.", "program", "lemma"]:
        if not _is_same(rule, node["by"]):
            copy, changed = _at(certificate, path)
            changed["by"] = rule
            yield "swapped rule", copy


def _is_same(rule: str, other: str) -> bool:
    """Whether two texts read the same."""
    try:
        return rule == other or parse(rule).statements == parse(other).statements
    except ProgramError:
        return False


def _circular(certificate: dict[str, Any], path: tuple[int, ...]) -> Iterator[Mutant]:
    """A step that rests on its own conclusion: as a premise, in place of its premises, as a lemma."""
    _, node = _at(certificate, path)
    if not node.get("premises") or node.get("by", "parts") == "parts":
        return
    own = {"fact": node["fact"], "by": node["by"], "premises": []}
    copy, changed = _at(certificate, path)
    changed["premises"] = [own]
    yield "circular proof", copy
    copy, changed = _at(certificate, path)
    changed["premises"] = [deepcopy(changed)]
    yield "circular proof", copy
    copy, changed = _at(certificate, path)
    lemma = {"fact": node["fact"], "by": "lemma", "premises": []}
    copy["lemmas"] = [{**lemma, "by": node["by"], "premises": [lemma]}]
    copy["proof"] = {**lemma, "fact": copy["fact"]}
    yield "circular proof", copy


def _counted_otherwise(certificate: dict[str, Any], path: tuple[int, ...]) -> Iterator[Mutant]:
    """Another value of an aggregate, another group, another function, more pairs than there are or fewer."""
    _, node = _at(certificate, path)
    if "aggregate" not in node:
        return
    value, _, rest = node["aggregate"].partition(" = ")
    for text in (
        f"{_another(value)} = {rest}" if rest else node["aggregate"],
        node["aggregate"].replace("(x", "(y"),
        node["aggregate"].replace("[2]", "[1]"),
    ):
        copy, changed = _at(certificate, path)
        changed["aggregate"] = text
        if text != node["aggregate"]:
            yield "other value", copy
    for more in (node["more"] + 1, node["more"] - 1, "inf", None):
        copy, changed = _at(certificate, path)
        changed["more"] = more
        yield "other number of pairs", copy
    for number in range(len(node["premises"])):
        for old, new in (("x", "y"), ("10", "11"), ("1)@", "2)@")):
            copy, changed = _at(certificate, path)
            premise = changed["premises"][number]
            premise.update({name: premise[name].replace(old, new) for name in ("fact", "absent") if name in premise})
            if copy != certificate:
                yield "other pair", copy


def _another(value: str) -> str:
    """A greater number, or another text."""
    try:
        return f"{float(value) + 1:g}"
    except ValueError:
        return '"another"'


LEAST = {
    "dropped premise": 100,
    "widened fact": 200,
    "widened absent": 8,
    "other constant": 40,
    "swapped rule": 600,
    "circular proof": 200,
    "widened aggregate": 6,
    "other value": 12,
    "other number of pairs": 24,
    "other pair": 12,
}
"""So many mutants of a kind there are, at least, over all cases."""


@pytest.mark.long
def test_mutants_are_refused() -> None:
    """Dropped premises, widened intervals, other constants, swapped rules, circular proofs: not one of them is taken."""
    refused: Counter[str] = Counter()
    taken = []
    for name, case in CASES.items():
        certificate = json.loads(why(case.program, case.facts, case.fact).json())
        checker = verifier(case.program, case.facts)
        rules = [f"{rule.strip()}." for rule in case.program.split(". ") if ":-" in rule]
        assert refusal(checker, certificate) is None
        for kind, mutant in mutants(certificate, [rule.replace("..", ".") for rule in rules]):
            if refusal(checker, mutant) is None:
                taken.append((name, kind, json.dumps(mutant)))
            refused[kind] += 1
    assert not taken, "\n".join(map(str, taken))
    assert {kind: refused[kind] >= least for kind, least in LEAST.items()} == dict.fromkeys(LEAST, True), refused


@pytest.mark.parametrize(
    "certificate",
    [
        None,
        [],
        {},
        {"holds": True},
        {"holds": True, "fact": "b@6"},
        {"holds": 1, "fact": "b@6", "proof": {}},
        {"holds": True, "fact": "b@6", "proof": []},
        {"holds": True, "fact": "b", "proof": {"fact": "b", "by": "input", "premises": []}},
        {"holds": True, "fact": "b@[3,1]", "proof": {"fact": "b@[3,1]", "by": "input", "premises": []}},
        {"holds": True, "fact": "b@6", "proof": {"fact": "b@6", "by": "b :- a.", "premises": {}}},
        {"holds": True, "fact": "b@6", "proof": {"fact": "b@6", "by": ["b :- a."], "premises": []}},
        {"holds": True, "fact": "b@6", "proof": {"fact": "b@6", "by": "b :- a.", "premises": ["a@6"]}},
        {"holds": True, "fact": "b@6", "proof": {"fact": "b@6", "by": "parts", "premises": []}},
        {"holds": True, "fact": "b@6", "proof": {"absent": "b@7"}},
        {"holds": True, "fact": "b@6", "proof": {"fact": "b@6", "by": "b :- a.", "premises": [{"absent": "not("}]}},
        {"holds": True, "fact": "b@6", "proof": {"fact": "b@6", "by": "b :- a.", "premises": [{"absent": 7}]}},
        {"holds": False, "fact": "b@3"},
    ],
)
def test_what_is_no_certificate_is_refused(certificate: object) -> None:
    """Whatever stands in the file, it is refused with a reason, and nothing else is raised."""
    assert refusal(verifier("b :- a.", ["a@3"]), certificate)
