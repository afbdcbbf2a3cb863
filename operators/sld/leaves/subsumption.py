"""θ-subsumption of leaves: whether one needs no more than another, once its variables are replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from tidelog.operators.sld.comparisons.bounds import Bounds, steps_in
from tidelog.operators.sld.comparisons.comparing import START_SLOT, decide, instantiate, refresh
from tidelog.operators.sld.comparisons.systems import System
from tidelog.operators.sld.comparisons.terms import Bindings, shift
from tidelog.operators.sld.leaves.leaves import Leaf, denies, system_of
from tidelog.plans.plan.preconditions import START, Argument, Premise, Slot
from tidelog.plans.tree.names import expression_variables
from tidelog.plans.tree.syntax import Comparison, Value

_KEYED = 3
"""So many arguments of a premise take part in its key."""
_FEW = 200
"""Absences over longer stretches say nothing of what a leaf may subsume."""
MAX_TRIES = 10_000
"""After so many tries to match two leaves both are kept: that is never wrong."""

MAX_EFFORT = 10_000_000
"""After so many looks at pairs of leaves the others are kept, which is never wrong either: about five seconds."""
_MATCHING = 40
"""What it costs to match two leaves, in looks."""
_TRYING = 5
"""What it costs to let a premise of one be a premise of the other."""


class Key(NamedTuple):
    """The features of a premise that a substitution keeps: a premise that it can become has the same key, or one with fewer
    None."""

    predicate: str
    distance: int | None
    """Its time less that of the answer, where that is a number."""
    constants: tuple[Value | None, ...]


class Entry(NamedTuple):
    """A leaf, and what it looks like to what might subsume it, or be subsumed by it.

    `tied` has the predicate and the distance of what needs to come, and of what must not, at a time that is tied to the
    answer's, each as often as it does; `steps` the multiples at which windows end, as seen from there.
    """

    leaf: Leaf
    keys: tuple[Key, ...]
    tied: frozenset[tuple[str, int, int]]
    steps: frozenset[tuple[int, int]]

    def may_subsume(self, other: Entry) -> bool:
        """Whether it is worth a closer look: all that is tied is tied in the other, too."""
        if self is other or not self.tied <= other.tied:
            return False
        return self.steps <= other.steps or not isinstance(other.leaf.answer[-1], Slot)


def entry_of(leaf: Leaf) -> Entry:
    """The leaf with its keys."""
    now = leaf.answer[-1]
    keys = tuple(Key(p.predicate, _distance(p.time, now), _constants(p)) for p in leaf.premises)
    count = Counter[tuple[str, int]]()
    tied = []
    for key in keys:
        if key.distance is not None:
            place = key.predicate, key.distance
            tied.append((*place, count[place]))
            count[place] += 1
    tied += [place for p in leaf.negated for place in _tied_absences(p, now)]
    steps = ((step, _distance(time, now) or 0) for time, step in steps_in(leaf.comparisons) if _is_tied(time, now))
    return Entry(leaf, keys, frozenset(tied), frozenset((step, distance % step) for step, distance in steps))


def _tied_absences(absent: Premise, now: Argument) -> Iterator[tuple[str, int, int]]:
    """Where a fact must not be, as far as these places are few."""
    distance = _distance(absent.time, now)
    if distance is not None and absent.width <= _FEW:
        yield from ((absent.predicate, distance + k, -1) for k in range(absent.width + 1))


class LeafIndex:
    """Leaves, each found by the one of its premises that the fewest have."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._frequency = Counter(key for entry in entries for key in entry.keys)
        self._buckets: dict[Key | None, list[Entry]] = {}
        self._shapes: dict[str, set[tuple[bool, tuple[bool, ...]]]] = {}
        self._effort = 0

    def add(self, entry: Entry) -> None:
        """Take a leaf in."""
        key = min(entry.keys, key=self._frequency.__getitem__, default=None)
        self._buckets.setdefault(key, []).append(entry)
        if key is not None:
            shape = key.distance is not None, tuple(item is not None for item in key.constants)
            self._shapes.setdefault(key.predicate, set()).add(shape)

    def subsumes(self, entry: Entry) -> bool:
        """Whether a leaf that was taken in, another than this one, needs no more than this one."""
        target = Target(entry.leaf)
        for known in self._candidates(entry):
            self._effort += 1
            if known.may_subsume(entry):
                matching = _Matching(known.leaf, target)
                is_subsumed = matching.succeeds()
                self._effort += _MATCHING + _TRYING * matching.tries
                if is_subsumed:
                    return True
            if self._effort > MAX_EFFORT:
                return False
        return False

    def _candidates(self, entry: Entry) -> Iterator[Entry]:
        yield from self._buckets.get(None, ())
        for general in {general for key in entry.keys for general in self._generalised(key)}:
            yield from self._buckets.get(general, ())

    def _generalised(self, key: Key) -> Iterator[Key]:
        """The keys under which a premise may stand that can become one of this key."""
        for is_tied, mask in self._shapes.get(key.predicate, ()):
            if len(mask) == len(key.constants):
                constants = tuple(item if has else None for item, has in zip(key.constants, mask, strict=True))
                yield Key(key.predicate, key.distance if is_tied else None, constants)


def _distance(time: Slot | int, now: Argument) -> int | None:
    if isinstance(time, Slot):
        return time.offset - now.offset if isinstance(now, Slot) and now.variable == time.variable else None
    return time - now if isinstance(now, int) else None


def _is_tied(time: Slot | int, now: Argument) -> bool:
    return isinstance(time, Slot) and _distance(time, now) is not None


def _constants(premise: Premise) -> tuple[Value | None, ...]:
    return tuple(None if isinstance(item, Slot) else item for item in premise.arguments[:_KEYED])


# --- matching -----------------------------------------------------------------------------------------------------------


class Target:
    """A leaf that others may subsume: its premises by predicate and time, and what its comparisons say."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf
        self.comparisons = frozenset(leaf.comparisons)
        self.bindings = Bindings.of(leaf.names, leaf.times)
        self.bounds = Bounds()
        for comparison in leaf.comparisons:
            self.bounds.add(comparison, self.bindings)
        self._system: System | None = None
        self._by_predicate: dict[str, list[Premise]] = {}
        self._by_time: dict[tuple[str, Argument], list[Premise]] = {}
        for premise in leaf.premises:
            self._by_predicate.setdefault(premise.predicate, []).append(premise)
            self._by_time.setdefault((premise.predicate, premise.time), []).append(premise)

    def implies(self, comparison: Comparison) -> bool:
        """Whether a comparison holds wherever the leaf's do."""
        if not self.leaf.comparisons:
            return False
        if self._system is None:
            self._system = system_of(self.leaf.comparisons, self.bindings)
        return self._system is not None and self._system.implies(comparison)

    def premises(self, predicate: str, time: Argument | None) -> Iterable[Premise]:
        """The premises of a predicate, at this time if it is known."""
        if time is None:
            return self._by_predicate.get(predicate, ())
        return self._by_time.get((predicate, time), ())


class _Matching:
    """The search for a substitution that makes a leaf need no more than another one, for the same answer."""

    __slots__ = ("_chosen", "_general", "_marks", "_premises", "_target", "_theta", "_trail", "tries")

    def __init__(self, general: Leaf, target: Target) -> None:
        self._general, self._target = general, target
        now = general.answer[-1]
        self._premises = sorted(general.premises, key=lambda premise: _distance(premise.time, now) is None)
        self._theta: dict[int, Argument] = {}
        self._trail: list[int] = []
        self._marks: list[int] = []
        self._chosen: dict[Premise, None] = {}
        self.tries = 0

    def succeeds(self) -> bool:
        """Whether it maps the leaf's answer onto the target's, and all that it needs into what that needs."""
        special = self._target.leaf
        if len(self._general.premises) > len(special.premises) or len(self._general.negated) > len(special.negated):
            return False
        if not all(map(self._match, self._general.answer, self._target.leaf.answer)):
            return False
        if not all(self._is_given(item) for item in self._general.comparisons if self._is_settled(item)):
            return False  # whatever its premises are
        if not self._premises:
            return self._holds_beside()
        ways = [self._candidates(self._premises[0])]
        while ways and self.tries <= MAX_TRIES:
            self._go_back(len(ways) - 1)
            if not any(map(self._take, ways[-1])):
                ways.pop()
            elif len(ways) < len(self._premises):
                ways.append(self._candidates(self._premises[len(ways)]))
            elif self._holds_beside():
                return True
        return False

    def _candidates(self, premise: Premise) -> Iterator[Premise]:
        return iter(self._target.premises(premise.predicate, self._known(premise.time)))

    def _known(self, term: Argument) -> Argument | None:
        if not isinstance(term, Slot):
            return term
        value = self._theta.get(term.variable)
        return None if value is None else shift(value, term.offset)

    def _take(self, candidate: Premise) -> bool:
        """Let the next premise be this one of the target's, if it can be."""
        self.tries += 1
        if candidate in self._chosen:
            return False
        premise, mark = self._premises[len(self._marks)], len(self._trail)
        if self._match(premise.time, candidate.time) and all(map(self._match, premise.arguments, candidate.arguments)):
            self._marks.append(mark)
            self._chosen[candidate] = None
            return True
        self._undo(mark)
        return False

    def _match(self, term: Argument, target: Argument) -> bool:
        known = self._known(term)
        if known is not None:
            return known == target
        if not isinstance(term, Slot) or (term.offset and isinstance(target, str)):
            return False
        self._theta[term.variable] = shift(target, -term.offset)
        self._trail.append(term.variable)
        return True

    def _go_back(self, level: int) -> None:
        while len(self._marks) > level:
            self._chosen.popitem()
            self._undo(self._marks.pop())

    def _undo(self, mark: int) -> None:
        for variable in self._trail[mark:]:
            del self._theta[variable]
        del self._trail[mark:]

    def _holds_beside(self) -> bool:
        """Whether what must not come, and what must hold, is among the target's, too."""
        return all(map(self._is_denied, self._general.negated)) and all(map(self._is_given, self._general.comparisons))

    def _is_denied(self, premise: Premise) -> bool:
        time, arguments = self._known(premise.time), tuple(map(self._known, premise.arguments))
        if not isinstance(time, int | Slot) or None in arguments:
            return False
        first = Premise(premise.predicate, tuple(term for term in arguments if term is not None), time)
        end = Slot(time.variable, time.offset + premise.width) if isinstance(time, Slot) else time + premise.width
        last = replace(first, time=end)
        return any(denies(absent, first) and denies(absent, last) for absent in self._target.leaf.negated)

    def _is_settled(self, comparison: Comparison) -> bool:
        """Whether the answers alone say what a comparison is about."""
        names = set(expression_variables(comparison.left, comparison.right))
        return {f"#{variable}" for variable in self._theta} | {START} >= names

    def _is_given(self, comparison: Comparison) -> bool:
        scope = {f"#{variable}": term for variable, term in self._theta.items()} | {START: START_SLOT}
        if not scope.keys() >= set(expression_variables(comparison.left, comparison.right)):
            return False
        left, right = instantiate(comparison.left, scope), instantiate(comparison.right, scope)
        replaced, bindings = Comparison(comparison.operator, left, right), self._target.bindings
        decided = decide(replaced, bindings)
        if decided != "open":
            return decided == "holds"
        written = Comparison(comparison.operator, refresh(left, bindings), refresh(right, bindings))
        target = self._target
        return written in target.comparisons or target.bounds.implies(written, bindings) or target.implies(written)
