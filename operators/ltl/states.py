"""The states of the tableau: what is known of the positions from the present one on, and which clauses are still open.

A state comes to be with everything that propagation finds in it, at the present position and as far ahead as its window
goes; so a Horn clause whose body is known never needs a guess. Its successors settle the present position: literals that no
open clause wants otherwise are set at once, and guesses are made only where a clause wants a literal and another one its
complement, false before true, so that the least assignment comes first. What is still open is left to the next position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from tidelog.operators.ltl.clauses import Clause
from tidelog.operators.ltl.groups import Group
from tidelog.operators.ltl.propagation import Instances, Known, propagate, watchers_of

_REACHES = 16
"""How many reaches of its clauses a state looks ahead, so that what goes back and forth is followed for a while."""


@dataclass(frozen=True, slots=True)
class State:
    """Obligations from one position on: `known` literals, and `pending` clauses with the mask of where they begin.

    A mask below 0 has no end: the literal holds at all positions from some one on. `extent` is how far ahead the problem's
    beginning still reaches: the window of propagation covers it.
    """

    known: Known
    pending: dict[Clause, int]
    extent: int

    def key(self) -> bytes:
        """What identifies the state: a digest of 32 bytes, since thousands of states are kept."""
        known = ";".join(f"{literal}:{mask:x}" for literal, mask in sorted(self.known.items()) if mask)
        pending = ";".join(f"{clause}:{mask:x}" for clause, mask in sorted(self.pending.items()))
        return blake2b(f"{known}|{pending}".encode(), digest_size=32).digest()

    def part(self, group: Group) -> State:
        """What of the state concerns a group; no pending clause may concern it in part."""
        known = {literal: mask for literal, mask in self.known.items() if literal >> 1 in group.variables}
        pending = {
            clause: mask for clause, mask in self.pending.items() if all(item >> 1 in group.variables for _, item in clause)
        }
        return State(known, pending, self.extent)


def initial_state(group: Group, clauses: Iterable[Clause]) -> State | None:
    """The state at the position 0, with the clauses that hold there; None if they contradict each other."""
    pending: dict[Clause, int] = {}
    extent = 0
    for clause in clauses:
        _add(pending, clause, 0)
        extent = max(extent, clause[-1][0])
    return close(group, {}, pending, extent)


def _add(pending: dict[Clause, int], clause: Clause, position: int) -> None:
    """Add a clause at a position, told from its first literal, so that equal ones at other positions share a mask."""
    first = clause[0][0]
    if first:
        clause = tuple((ahead - first, literal) for ahead, literal in clause)
    pending[clause] = pending.get(clause, 0) | 1 << (position + first)


def _instances(group: Group, pending: dict[Clause, int], extent: int) -> list[Instances]:
    window = (1 << (extent + _REACHES * (group.reach + 1))) - 1
    return [*((clause, window) for clause in group.clauses), *pending.items()]


def close(group: Group, known: Known, pending: dict[Clause, int], extent: int) -> State | None:
    """The state with all that propagation finds, added to `known` itself; None for a contradiction."""
    instances = _instances(group, pending, extent)
    watchers = (group.watchers, watchers_of(pending, len(group.clauses)))
    if not propagate(known, instances, watchers, range(len(instances)), group.effort):
        return None
    return State(known, _simplified(known, pending), extent)


def _simplified(known: Known, pending: dict[Clause, int]) -> dict[Clause, int]:
    """The clauses that are not known to hold, without literals that are known to be false."""
    simple: dict[Clause, int] = {}
    for clause, mask in pending.items():
        false = 0
        for ahead, literal in clause:
            mask &= ~(known.get(literal, 0) >> ahead)
            false |= known.get(literal ^ 1, 0) >> ahead
        shorter, mask = mask & false, mask & ~false
        if mask:
            simple[clause] = simple.get(clause, 0) | mask
        while shorter:
            position = (shorter & -shorter).bit_length() - 1
            shorter &= shorter - 1
            left = tuple(item for item in clause if not known.get(item[1] ^ 1, 0) >> (position + item[0]) & 1)
            _add(simple, left, position)
    return simple


class Expansion:
    """The ways to settle a state's present position."""

    def __init__(self, group: Group, state: State) -> None:
        self._group = group
        self._state = state
        self._instances = _instances(group, state.pending, state.extent)
        self._watchers = (group.watchers, watchers_of(state.pending, len(group.clauses)))

    def successors(self) -> Iterator[tuple[State, int]]:
        """The states at the next position, each with the mask of the eventualities that the present one fulfils."""
        known = dict(self._state.known)
        begin = [clause for clause, mask in self._instances if mask & 1]
        alternatives: list[tuple[Known, list[Clause], int | None]] = [(known, begin, None)]
        while alternatives:
            known, wanted, guess = alternatives.pop()
            while guess is None or self._holds_now(known, guess):
                wanted = self._settle(known, wanted)
                guess = self._guess(known, wanted)
                if guess is None:
                    yield from self._step(known, wanted)
                    break
                alternatives.append((dict(known), wanted, guess ^ 1))

    def _holds_now(self, known: Known, literal: int) -> bool:
        """Set a literal at the present position; false where that cannot be."""
        known[literal] = known.get(literal, 0) | 1
        waiting = [number for watching in self._watchers for number in watching.get(literal, ())]
        return propagate(known, self._instances, self._watchers, waiting, self._group.effort)

    def _settle(self, known: Known, wanted: list[Clause]) -> list[Clause]:
        """Set each literal that open clauses want one way only; returns the clauses that are open still."""
        while True:
            wanted = [clause for clause in wanted if not _is_satisfied(known, clause)]
            occurring = self._occurring(known, wanted)
            pure = [literal for literal in occurring if literal ^ 1 not in occurring]
            if not pure:
                return wanted
            for literal in pure:  # it propagates nowhere: no open clause has its complement
                known[literal] = known.get(literal, 0) | 1

    def _occurring(self, known: Known, wanted: list[Clause]) -> dict[int, None]:
        """The literals of the present position that something wants and that are not known; goals of eventualities first."""
        occurring: dict[int, None] = {}
        for waiting, goal in self._group.eventualities:
            if known.get(waiting, 0) & 1:
                occurring[goal] = None
            else:
                occurring[waiting ^ 1] = None
        for clause in wanted:
            for ahead, literal in clause:
                if ahead:
                    break
                occurring[literal] = None
        return {item: None for item in occurring if not (known.get(item, 0) | known.get(item ^ 1, 0)) & 1}

    def _guess(self, known: Known, wanted: list[Clause]) -> int | None:
        """What to try first: the goal of an eventuality that is waited for, then that something is false.

        Whether to wait comes last: for a Horn theory, not to wait is to raise a flag that nothing may ask for.
        """
        occurring = self._occurring(known, wanted)
        waits = set()
        for waiting, goal in self._group.eventualities:
            if goal in occurring and known.get(waiting, 0) & 1:
                return goal
            waits |= {waiting, waiting ^ 1}
        return next((item | 1 for item in occurring if item not in waits), next((item | 1 for item in occurring), None))

    def _step(self, known: Known, wanted: list[Clause]) -> Iterator[tuple[State, int]]:
        fulfilled = 0
        for number, (waiting, goal) in enumerate(self._group.eventualities):
            if not known.get(waiting, 0) & 1 or known.get(goal, 0) & 1:
                fulfilled |= 1 << number
        pending = {clause: mask >> 1 for clause, mask in self._state.pending.items() if mask >> 1}
        for clause in wanted:
            left = tuple(item for item in clause if not known.get(item[1] ^ 1, 0) >> item[0] & 1)
            _add(pending, left, -1)
        later = {literal: mask >> 1 for literal, mask in known.items() if mask >> 1}
        state = close(self._group, later, pending, max(0, self._state.extent - 1))
        if state is not None:
            yield state, fulfilled


def _is_satisfied(known: Known, clause: Clause) -> bool:
    return any(known.get(literal, 0) >> ahead & 1 for ahead, literal in clause)
