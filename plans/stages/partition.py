"""Partition keys: arguments on which every rule joins, so that rows that differ in them never meet.

Work with different keys can be done apart: on other cores, other machines. Predicates that no stream feeds are exempt: they
are few, do not change, and every part can have them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.plans.data.timeline import POS
from tidelog.plans.language.printing import format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.shapes import TOP
from tidelog.plans.tree.components import components
from tidelog.plans.tree.names import head_predicate
from tidelog.plans.tree.syntax import Aggregate, Atom, Constant, Formula, Latest, Rule, Variable, Visits, Wildcard
from tidelog.plans.tree.walk import atoms

Key = Mapping[str, int]
"""For each predicate, the position (from 0) of the argument that is the key."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of the program that shares no stream-fed predicate with the rest.

    Each of `keys` alone partitions it, and so do several together. Without any, `prevented_by` is the rule that lets rows
    meet whatever their arguments are. `arities` has each predicate, the fresh ones too.
    """

    predicates: tuple[str, ...]
    arities: Mapping[str, int]
    keys: tuple[Key, ...]
    prevented_by: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """What one normalised rule ties together: its stream-fed atoms, which must agree on the key.

    `head` is the predicate that the rule derives, also where it does not take part; `source` the rule of the text.
    """

    head: str
    atoms: tuple[Atom, ...]
    source: str


def partitions_of(plan: Plan) -> tuple[Partition, ...]:
    """The keys of each weakly connected part. All told are keys; where an atom repeats a variable, some may be missed."""
    links = list(links_of(plan))
    arities = _arities(links)
    parts = components(_neighbours(arities, links))
    part_of = {name: number for number, members in enumerate(parts) for name in members}
    links_in: list[list[Link]] = [[] for _ in parts]
    for link in links:
        links_in[part_of[link.atoms[0].predicate]].append(link)
    return tuple(
        _partition(plan, members, {name: arities[name] for name in members}, own)
        for members, own in zip(parts, links_in, strict=True)
    )


def _arities(links: Iterable[Link]) -> dict[str, int]:
    return {atom.predicate: len(atom.arguments) for link in links for atom in link.atoms}


def links_of(plan: Plan, loose: Collection[str] = ()) -> Iterator[Link]:
    """The rules with at least one stream-fed atom in the body.

    What breaks a constraint need not show the key, nor need the heads of the predicates `loose`.
    """
    loose = {*loose, *plan.normal.constraints}
    for rule, source in zip(plan.normal.rules, plan.normal.sources, strict=True):
        if isinstance(rule.body[0], Visits) and isinstance(rule.head, Atom):
            yield _counting(plan, rule.head, rule.body[0], source)
            continue
        if isinstance(rule.body[0], Latest | Aggregate):
            yield _grouping(rule.head, rule.body[0], source)
            continue
        if rule.assigns == "kept":
            yield _keeping(rule, source)
            continue
        body = [atom for atom in atoms(*rule.body) if is_fed(plan, atom)]
        head = [rule.head] if isinstance(rule.head, Atom) and rule.head.predicate not in loose else []
        if body:
            yield Link(head_predicate(rule.head) or "", (*head, *body), format_statement(source))


def _keeping(rule: Rule, source: Rule) -> Link:
    """What is assigned to a key is ended by all else that is: the value is no part of the key."""
    found = [rule.head, *atoms(*rule.body)]
    width = len(rule.head.arguments) - 1 if isinstance(rule.head, Atom) else 0
    keys = tuple(
        replace(atom, arguments=(*atom.arguments[:width], *[Wildcard()] * (len(atom.arguments) - width)))
        for atom in found
        if isinstance(atom, Atom)
    )
    return Link(head_predicate(rule.head) or "", keys, format_statement(source))


def _grouping(head: Formula, body: Latest | Aggregate, source: Rule) -> Link:
    """A group is counted as a whole: `by` must hold the key, even where the head need not show it."""
    if not isinstance(head, Atom):
        raise TypeError(f"not in normal form: {head!r}")
    listed = {variable.name for variable in body.by}
    operand = next(atoms(body))
    kept = [term if isinstance(term, Variable) and term.name in listed else Wildcard() for term in operand.arguments]
    return Link(head.predicate, (head, replace(operand, arguments=tuple(kept))), format_statement(source))


def _counting(plan: Plan, head: Atom, visits: Visits, source: Rule) -> Link:
    """A tuple window counts facts whatever their arguments are, so that it ties together all predicates that it counts."""
    known = plan.schema.predicates
    names = [name for name in visits.window.of or plan.normal.inputs if name in known]
    atoms = [_anything(name, known[name].arity) for name in names]
    return Link(head.predicate, (_anything(head.predicate, len(head.arguments)), *atoms), format_statement(source))


def _anything(predicate: str, arity: int) -> Atom:
    return Atom(predicate, (Wildcard(),) * arity)


def is_fed(plan: Plan, atom: Atom) -> bool:
    """Whether a stream, or the clock, has a part in what holds; calendars have none, for everybody knows them."""
    name = atom.predicate
    return name != TOP and plan.leads.get(name, POS) < POS and name not in plan.by_calendars


def _neighbours(arities: Iterable[str], links: Iterable[Link]) -> dict[str, list[str]]:
    neighbours: dict[str, list[str]] = {name: [] for name in arities}
    for link in links:
        first = link.atoms[0].predicate
        for atom in link.atoms[1:]:
            neighbours[first].append(atom.predicate)
            neighbours[atom.predicate].append(first)
    return neighbours


def _partition(plan: Plan, members: list[str], arities: Mapping[str, int], links: list[Link]) -> Partition:
    named = tuple(name for name in members if name not in plan.normal.origins) or tuple(members)
    keys, culprit = common_keys(links)
    return Partition(named, arities, keys, culprit)


def common_keys(links: Sequence[Link]) -> tuple[tuple[Key, ...], str]:
    """The keys on which all of these links agree, which hang together; without any, the rule that prevents them."""
    arities = _arities(links)
    culprit = next((link.source for link in links if not all(atom.arguments for atom in link.atoms)), "")
    links = [link for link in links if len(link.atoms) > 1]
    candidates, emptied = _candidates(arities, links)
    culprit = culprit or emptied
    seed = min(arities, key=lambda name: len(candidates[name]))
    keys: list[Key] = []
    for position in sorted(candidates[seed]):
        key, conflict = _spread({seed: position}, candidates, links)
        if conflict:
            culprit = culprit or conflict
        elif key not in keys:
            keys.append(key)
    return tuple(keys), "" if keys else culprit


def extend_key(links: Sequence[Link], key: Key) -> Key:
    """The key with the places that follow from it in these links; ValueError if it is none of theirs."""
    arities = _arities(links)
    links = [link for link in links if len(link.atoms) > 1]
    candidates, _ = _candidates(arities, links)
    found, conflict = _spread(key, candidates, links)
    if conflict:
        raise ValueError(f"not a key of {conflict}")
    return found


def _candidates(arities: Mapping[str, int], links: Sequence[Link]) -> tuple[dict[str, set[int]], str]:
    """The arguments that could be a predicate's key: those whose term each of its rules has in all atoms, at a candidate.

    Also the rule that takes the last candidate from some predicate, if one does.
    """
    candidates = {name: set(range(arity)) for name, arity in arities.items()}
    culprit = ""
    changed = True
    while changed:
        changed = False
        for link in links:
            common = set.intersection(*(_terms_at(atom, candidates[atom.predicate]) for atom in link.atoms))
            for atom in link.atoms:
                left = {i for i in candidates[atom.predicate] if atom.arguments[i] in common}
                if left != candidates[atom.predicate]:
                    candidates[atom.predicate], changed = left, True
                    culprit = culprit or ("" if left else link.source)
    return candidates, culprit


def _terms_at(atom: Atom, positions: Iterable[int]) -> set[object]:
    terms = {atom.arguments[i] for i in positions}
    return {term for term in terms if isinstance(term, Variable | Constant)}


def _spread(start: Key, candidates: Mapping[str, set[int]], links: Sequence[Link]) -> tuple[Key, str]:
    """The key that follows from one predicate's argument, rule by rule; or the rule in which it contradicts itself."""
    key = dict(start)
    links_of = _by_predicate(links)
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        for link in links_of.get(name, []):
            known = next(atom for atom in link.atoms if atom.predicate == name)
            term = known.arguments[key[name]]
            for atom in link.atoms:
                fitting = [i for i in sorted(candidates[atom.predicate]) if atom.arguments[i] == term]
                if fitting and atom.predicate not in key:
                    key[atom.predicate] = fitting[0]
                    waiting.append(atom.predicate)
                if not fitting or atom.arguments[key[atom.predicate]] != term:
                    return {}, link.source
    return key, ""


def _by_predicate(links: Sequence[Link]) -> dict[str, list[Link]]:
    found: dict[str, list[Link]] = {}
    for link in links:
        for name in dict.fromkeys(atom.predicate for atom in link.atoms):
            found.setdefault(name, []).append(link)
    return found
