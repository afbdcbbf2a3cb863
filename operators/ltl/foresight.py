"""What has to hold at all later positions, found without a guess: by propagation alone, followed until it repeats.

It finds contradictions however far ahead they lie, and eventualities whose goal is known to be false for ever, so that
they must not be waited for. What follows from Horn clauses is mostly found so; the search is for the rest.
"""

from __future__ import annotations

from tidelog.operators.ltl.groups import Components, Group
from tidelog.operators.ltl.propagation import Known
from tidelog.operators.ltl.states import State, close

_POSITIONS = 5_000
"""What has not repeated by then is left to the search."""


def foresee(components: Components, group: Group, state: State) -> State | None:
    """The state with what has to hold, or None where it cannot be satisfied; each component is followed by itself."""
    while True:
        known = dict(state.known)
        for component in group.components:
            part = components.group(frozenset({component}))
            own = {literal: mask for literal, mask in state.known.items() if literal >> 1 in part.variables}
            vain = _vain(part, State(own, {}, state.extent))
            if vain is None:
                return None
            for literal, since in vain.items():
                known[literal] = known.get(literal, 0) | -1 << since  # at all positions from there on
        if known == state.known:
            return state
        closed = close(group, known, dict(state.pending), state.extent)
        if closed is None:
            return None
        state = closed


def _vain(group: Group, state: State) -> Known | None:
    """The complements of the literals that wait for nothing, and from which position on; None for a contradiction."""
    last_open = dict.fromkeys(group.eventualities, -1)
    seen: dict[bytes, int] = {}
    for position in range(_POSITIONS):
        key = state.key()
        if key in seen:
            return {waiting ^ 1: last + 1 for (waiting, goal), last in last_open.items() if last < seen[key]}
        seen[key] = position
        for item in group.eventualities:
            if not state.known.get(item[1] ^ 1, 0) & 1:
                last_open[item] = position
        later = {literal: mask >> 1 for literal, mask in state.known.items() if mask >> 1}
        closed = close(group, later, {}, max(0, state.extent - 1))
        if closed is None:
            return None
        state = closed
    return {}
