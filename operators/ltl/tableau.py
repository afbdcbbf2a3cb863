"""Whether an LTL formula is satisfiable: a search for a cycle through the states of a tableau, made as they are reached.

A model is an infinite path of states. There is one exactly if some strongly connected component that can be reached
fulfils every eventuality; components are merged as cycles close, so that the search stops at the first that does (Couvreur
1999). A component that is left without is dead, and never entered again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from tidelog.operators.ltl.clauses import MAX_LITERALS, clausal_form
from tidelog.operators.ltl.foresight import foresee
from tidelog.operators.ltl.formula import Formula
from tidelog.operators.ltl.groups import Components, Group
from tidelog.operators.ltl.propagation import Effort
from tidelog.operators.ltl.pruning import prune
from tidelog.operators.ltl.states import Expansion, State, initial_state
from tidelog.plans.diagnostics.errors import MethodError


@dataclass(frozen=True, slots=True)
class TableauLimits:
    """How much memory a search may take: states that it keeps, bits of their masks on the path that it follows
    (a bit is a literal at a position), and literals of all clauses. And how long: steps of propagation, each of them a
    clause over 4,096 positions."""

    states: int = 200_000
    bits: int = 500_000_000
    literals: int = MAX_LITERALS
    steps: int = 20_000_000


def satisfiable(formula: Formula, limits: TableauLimits | None = None) -> bool:
    """Whether some assignment of truth values to propositions at 0, 1, 2, … makes the formula true at 0.

    Raises MethodError where that takes more than the limits allow.

    >>> from tidelog.operators.ltl.formula import always, conjunction, following, negation, proposition
    >>> p = proposition("p")
    >>> satisfiable(negation(always(p))), satisfiable(conjunction(following(p), always(negation(p))))
    (True, False)
    """
    limits = limits or TableauLimits()
    form = prune(clausal_form(formula, limits.literals))
    if () in form.first or () in form.everywhere:
        return False
    components = Components(form, Effort(limits.steps))
    begin = initial_state(components.all(), form.first)
    if begin is not None:
        begin = foresee(components, components.all(), begin)
    return begin is not None and _Search(components, limits).decide(components.all(), begin)


_Question = tuple[Group, State]
_Asking = Generator[_Question, bool, bool]
"""A search that asks whether parts of a state, independent of each other, are satisfiable."""


@dataclass
class _Search:
    """What all searches of one problem share: the states that are known to be dead, and the memory taken."""

    components: Components
    limits: TableauLimits
    decided: dict[tuple[frozenset[int], bytes], bool] = field(default_factory=dict)
    bits: int = 0
    live: int = 0

    def decide(self, group: Group, state: State) -> bool:
        """Whether a state is satisfiable. Searches within searches stand on a stack of their own."""
        stack: list[_Asking] = [self._parts(group, state)]
        answer: bool | None = None
        while stack:
            try:
                question = next(stack[-1]) if answer is None else stack[-1].send(answer)
            except StopIteration as done:
                stack.pop()
                answer = bool(done.value)
            else:
                stack.append(_Path(self, question[0]).search(question[1]))
                answer = None
        return bool(answer)

    def _parts(self, group: Group, state: State) -> _Asking:
        """Whether each independent part of a state is satisfiable."""
        for part in self.components.split(group, state.pending):
            own = foresee(self.components, part, state.part(part))
            if own is None:
                return False
            if not (yield from self.ask(part, own, own.key())):
                return False
        return True

    def ask(self, group: Group, state: State, key: bytes) -> _Asking:
        """Whether a state is satisfiable, unless that is known."""
        known = self.decided.get((group.components, key))
        if known is None:
            known = yield group, state
            self.note(group, key, known)
        return known

    def note(self, group: Group, key: bytes, is_satisfiable: bool) -> None:
        """Keep an answer."""
        self.decided[group.components, key] = is_satisfiable

    def take(self, states: int, bits: int) -> None:
        """Count states that a path keeps, and memory that those on it take; less than 0: give it back."""
        self.live += states
        self.bits += bits
        if self.live + len(self.decided) > self.limits.states:
            raise MethodError(f"the LTL tableau has more than {self.limits.states:,} states")
        if self.bits > self.limits.bits:
            raise MethodError(f"the states of the LTL tableau take more than {self.limits.bits:,} bits at once")


@dataclass
class _Node:
    """A state on the path: the ways on from it, its number in order, and how many bits it takes."""

    ways: Iterator[tuple[State, int]]
    number: int
    bits: int


@dataclass
class _Component:
    """A strongly connected component on the path: its first node, what its edges fulfil, and what the edge into it does."""

    first: int
    fulfilled: int
    entered: int
    keys: list[bytes] = field(default_factory=list)


@dataclass
class _Path:
    """The depth-first search of one group, from one state."""

    shared: _Search
    group: Group
    nodes: list[_Node] = field(default_factory=list)
    components: list[_Component] = field(default_factory=list)
    numbers: dict[bytes, int] = field(default_factory=dict)
    """The states that are in no dead component."""

    def search(self, state: State) -> _Asking:
        """Whether a state begins an infinite path that fulfils every eventuality again and again."""
        every = (1 << len(self.group.eventualities)) - 1
        self._enter(state, state.key(), 0)
        while self.nodes:
            step = next(self.nodes[-1].ways, None)
            if step is None:
                self._leave()
                continue
            successor, fulfilled = step
            key = successor.key()
            if key in self.numbers:
                if self._merge(self.numbers[key], fulfilled) == every:
                    return self._found()
            elif (self.group.components, key) not in self.shared.decided:
                parts = self.shared.components.split(self.group, successor.pending)
                if len(parts) == 1:
                    self._enter(successor, key, fulfilled)
                elif (yield from self.shared._parts(self.group, successor)):
                    return self._found()
                else:
                    self.shared.note(self.group, key, False)
            elif self.shared.decided[self.group.components, key]:
                return self._found()
        return False

    def _enter(self, state: State, key: bytes, fulfilled: int) -> None:
        number = len(self.numbers)
        bits = 64 * len(state.known) + sum(mask.bit_length() for mask in state.known.values())
        bits += sum(128 * len(clause) + mask.bit_length() for clause, mask in state.pending.items())
        self.shared.take(1, bits)
        self.numbers[key] = number
        self.nodes.append(_Node(Expansion(self.group, state).successors(), number, bits))
        self.components.append(_Component(number, 0, fulfilled, [key]))

    def _leave(self) -> None:
        """A node has no further way: if its component is complete, it is dead."""
        node = self.nodes.pop()
        dead = self.components.pop().keys if self.components[-1].first == node.number else []
        for key in dead:
            del self.numbers[key]
            self.shared.note(self.group, key, False)
        self.shared.take(-len(dead), -node.bits)

    def _merge(self, number: int, fulfilled: int) -> int:
        """A way back to a node: all components since are one; returns what it fulfils."""
        keys: list[bytes] = []
        while self.components[-1].first > number:
            last = self.components.pop()
            fulfilled |= last.fulfilled | last.entered
            keys += last.keys
        self.components[-1].fulfilled |= fulfilled
        self.components[-1].keys += keys
        return self.components[-1].fulfilled

    def _found(self) -> bool:
        self.shared.take(-len(self.numbers), -sum(node.bits for node in self.nodes))
        return True
