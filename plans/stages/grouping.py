"""Which rules form a stage: as many as have a key in common, without a stage that would wait for itself.

What is recursive stays together. So does a rule that binds times with what it reads, where this may hold before the stream's
start: an input never does, and the rule's normal form relies on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.plans.language.printing import format_statement
from tidelog.plans.normal.program import begin
from tidelog.plans.normal.times.before_start import Before, ranks_of
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.partition import Key, Link, common_keys, is_fed, links_of
from tidelog.plans.stages.seeds import is_seedable, unfed_rules
from tidelog.plans.tree.components import components
from tidelog.plans.tree.names import head_predicate, predicates
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import Atom, FactStatement, Output, Rule, Variable, Window
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import atoms, statements_of


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that run in one stage: the predicates that they derive, their constraints, the fed predicates that they read.

    What it `passes` on, an input, is an output as it comes. Each of `keys` alone splits it; without any, `prevented_by` is
    the rule that keeps it together, if one does. Of what is `seeded` something may hold for a key of which nothing comes.
    `links` are those of its rules. What it `projects` does not show the key: other groups read it, and answers of several
    sessions may be the same.
    """

    predicates: tuple[str, ...]
    constraints: tuple[str, ...]
    reads: frozenset[str]
    links: tuple[Link, ...]
    keys: tuple[Key, ...]
    prevented_by: str
    seeded: frozenset[str]
    passes: tuple[str, ...] = ()
    projects: frozenset[str] = frozenset()

    @property
    def touches(self) -> frozenset[str]:
        """The stream-fed predicates that it derives or reads."""
        return self.reads | {*self.predicates}


def groups_of(plan: Plan, loose: Collection[str] = ()) -> list[Group]:
    """The groups, each behind those that derive what it reads. What no stream feeds is in none.

    The predicates `loose` need not show the key of the group that derives them.
    """
    return _Merger(list(smallest_groups(plan, loose))).merged()


def best_key(group: Group) -> Key | None:
    """The key that the fewest rules have as a constant, for a constant does not spread the work."""
    keys = sorted(group.keys, key=lambda key: sum(not _varies(link, key) for link in group.links))
    return keys[0] if keys else None


# --- the smallest groups ------------------------------------------------------------------------------------------------


def smallest_groups(plan: Plan, loose: Collection[str] = ()) -> Iterator[Group]:
    """What cannot be taken apart: a recursive component, a constraint, an input that is an output."""
    made = _Maker(plan, loose)
    names = [name for name in made.rules if is_fed(plan, Atom(name)) and (made.is_told(name) or name in plan.constraints)]
    reads = {name: [other for other in made.reads([name]) if other in made.rules] for name in names}
    feeds: dict[str, list[str]] = {name: [] for name in names}
    for name, read in reads.items():
        for other in read:
            feeds[other].append(name)
    for early, late in _inseparable(plan, reads):
        feeds[late].append(early)
    for members in components(feeds):
        yield made.group(members)
    for name in plan.outputs:
        if name not in made.rules and is_fed(plan, Atom(name)):
            yield made.passed_on(name)


class _Maker:
    """Makes groups of the normal rules of a plan."""

    def __init__(self, plan: Plan, loose: Collection[str]) -> None:
        self._plan = plan
        self._loose = frozenset(loose)
        self.rules: dict[str, list[Rule]] = {}
        for rule in plan.normal.rules:
            self.rules.setdefault(head_predicate(rule.head) or "", []).append(rule)
        self._links: dict[str, list[Link]] = {}
        for link in links_of(plan, loose):
            self._links.setdefault(link.head, []).append(link)
        stated = {fact.atom.predicate for fact in statements_of(plan.program, FactStatement)}
        self._stated = frozenset(stated | {background.predicate for background in plan.backgrounds})

    def is_told(self, name: str) -> bool:
        """Whether the program's text names a predicate."""
        return name not in self._plan.normal.origins

    def reads(self, names: Iterable[str]) -> list[str]:
        """The stream-fed predicates of the text that predicates are derived from, in one step of the text."""
        links = [link for name in self._closure(names) for link in self._links.get(name, [])]
        found = dict.fromkeys(atom.predicate for link in links for atom in link.atoms)
        return [name for name in found if self.is_told(name)]

    def _closure(self, names: Iterable[str]) -> list[str]:
        """Some predicates, and the fresh ones that their rules read."""
        found = dict.fromkeys(names)
        waiting = list(found)
        while waiting:
            rules = self.rules.get(waiting.pop(), [])
            read = {name for rule in rules for part in rule.body for name in predicates(part)}
            more = [name for name in sorted(read) if name not in found and not self.is_told(name)]
            found.update(dict.fromkeys(more))
            waiting += more
        return list(found)

    def group(self, members: Sequence[str]) -> Group:
        """The group that derives some predicates, and checks the constraints among them."""
        constraints = tuple(name for name in members if name in self._plan.constraints)
        links = tuple(link for name in self._closure(members) for link in self._links.get(name, []))
        projects = self._loose & {*members}
        reads = frozenset(self.reads(members))
        is_torn = bool(projects & reads)
        reads -= {*members}
        unfed = [rule for name in self._closure(members) for rule in unfed_rules(self._plan, self.rules.get(name, []))]
        seeded = self._stated & {*members, *reads} | {head_predicate(rule.head) or "" for rule in unfed}
        keys, culprit = common_keys(links) if links else ((), "")
        keys = tuple(
            key for key in keys if _is_useful(key, links) and all(is_seedable(self._plan, rule, key) for rule in unfed)
        )
        if not reads or is_torn or _misleads(seeded, links, {*constraints, *projects}):
            keys = ()
        if not keys and links:
            culprit = culprit or links[0].source
        told = tuple(name for name in members if name not in constraints)
        return Group(told, constraints, reads, links, keys, culprit, frozenset(seeded), (), projects)

    def passed_on(self, name: str) -> Group:
        """An input that is told as it comes: any argument is a key."""
        arity = self._plan.schema.predicates[name].arity
        keys = tuple({name: place} for place in range(arity))
        culprit = "" if keys else format_statement(Output((name,)))
        return Group((), (), frozenset({name}), (), keys, culprit, self._stated & {name}, (name,))


def _misleads(seeded: Collection[str], links: Sequence[Link], loose: Collection[str]) -> bool:
    """Whether what does not show the key, or a constraint, would see what holds since all other keys are elsewhere."""
    if not seeded or not loose:
        return False
    readers: dict[str, set[str]] = {}
    for link in links:
        for atom in link.atoms:
            readers.setdefault(atom.predicate, set()).add(link.head)
    return not reachable(seeded, lambda name: readers.get(name, ())).isdisjoint(loose)


def _is_useful(key: Key, links: Sequence[Link]) -> bool:
    """Whether it is a key of all of them, and spreads the work of one."""
    covers = all(atom.predicate in key for link in links for atom in link.atoms)
    return covers and any(_varies(link, key) for link in links)


def _varies(link: Link, key: Key) -> bool:
    atom = link.atoms[0]
    return isinstance(atom.arguments[key[atom.predicate]], Variable)


def _inseparable(plan: Plan, reads: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Pairs `(read, reader)` that one stage has to hold: what may hold before the start, down to a rule that binds times."""
    ranks = ranks_of(begin(plan.program))
    timed = {head_predicate(rule.head) for rule in statements_of(plan.program, Rule) if _binds_times(rule)}
    timed |= {name for name, rule in plan.constraints.items() if _binds_times(rule)}
    waiting = [name for name in reads if name in timed]
    seen = set(waiting)
    while waiting:
        reader = waiting.pop()
        for name in reads[reader]:
            if name in reads and ranks.get(name, Before.NEVER) > Before.NEVER:
                yield name, reader
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)


def _binds_times(rule: Rule) -> bool:
    windows = [part for each in rule.body for part in subformulas(each) if isinstance(part, Window)]
    is_counted = any(part.window.tuples or part.window.step is not None for part in windows)
    return is_counted or any(atom.at is not None for atom in atoms(rule.head, *rule.body))


# --- merging ------------------------------------------------------------------------------------------------------------


class _Merger:
    """Merges groups that touch the same predicates, as long as a key is left to them, or none of them has one."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups: dict[int, Group] = dict(enumerate(groups))
        self._now = list(range(len(groups)))
        self._maker = {name: number for number, group in enumerate(groups) for name in group.predicates}
        self._touching: dict[str, set[int]] = {}
        self._feeds: dict[int, set[int]] = {number: set() for number in self._groups}

    def merged(self) -> list[Group]:
        """The groups that are left."""
        for number, group in list(self._groups.items()):
            before = {self._maker[name] for name in group.reads if name in self._maker}
            for other in before:
                self._feeds[self._find(other)].add(number)
            for other in dict.fromkeys(map(self._find, [*sorted(before, reverse=True), *self._beside(group)])):
                self._try(other, self._find(number))
            for name in group.touches:
                self._touching[name] = {*map(self._find, self._touching.get(name, ())), self._find(number)}
        order = components({str(number): [str(self._find(to)) for to in self._feeds[number]] for number in self._groups})
        return [self._groups[int(number)] for (number,) in order]

    def _beside(self, group: Group) -> list[int]:
        """The groups so far that touch the same predicates."""
        return sorted({other for name in group.touches for other in self._touching.get(name, ())})

    def _find(self, number: int) -> int:
        while self._now[number] != number:
            self._now[number] = self._now[self._now[number]]
            number = self._now[number]
        return number

    def _try(self, one: int, other: int) -> None:
        if one == other:
            return
        together = _together(self._groups[one], self._groups[other])
        if together is None or self._is_between(one, other) or self._is_between(other, one):
            return
        self._groups[one] = together
        del self._groups[other]
        self._now[other] = one
        self._feeds[one] |= self._feeds.pop(other)
        self._feeds[one] = {self._find(number) for number in self._feeds[one]} - {one}

    def _is_between(self, first: int, last: int) -> bool:
        """Whether a third group waits for the first, and the last for it."""
        waiting = [self._find(number) for number in self._feeds[first]]
        seen = {first, *waiting} - {last}
        waiting = [number for number in seen if number != first]
        while waiting:
            for following in map(self._find, self._feeds[waiting.pop()]):
                if following == last:
                    return True
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return False


def _together(one: Group, other: Group) -> Group | None:
    """Two groups as one, if both have no key, or share one."""
    seeded = one.seeded | other.seeded
    constraints, projects = (*one.constraints, *other.constraints), one.projects | other.projects
    if one.projects & other.reads or other.projects & one.reads:
        return None
    keys = tuple({**a, **b} for a in one.keys for b in other.keys if all(b.get(name, at) == at for name, at in a.items()))
    links = (*one.links, *other.links)
    if bool(one.keys) != bool(other.keys) or (one.keys and not keys):
        return None
    if keys and _misleads(seeded, links, {*constraints, *projects}):
        return None
    members = (*one.predicates, *other.predicates)
    return Group(
        predicates=members,
        constraints=constraints,
        reads=(one.reads | other.reads) - {*members},
        links=links,
        keys=keys,
        prevented_by=one.prevented_by or other.prevented_by,
        seeded=seeded,
        passes=(*one.passes, *other.passes),
        projects=projects,
    )
