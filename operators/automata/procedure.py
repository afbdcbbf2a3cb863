"""Whether a theory has a model: two generalised Büchi automata over windows, one to either side of the data.

After Wałęga et al. 2023, section 4.3. A state is a window, as many letters as the clauses reach; the automaton to
the right moves it by one position, adding a letter such that each clause that lies in the window and the new letter holds;
the one to the left likewise. Both begin where the data begin, in a common window. `Always` gives the acceptance sets:
the flag, or the lack of its operand, again and again. A model exists exactly if both automata have an accepting run.

Runs are found on the fly, from the least letters (`word.py`), and an accepting one is a cycle (`cycles.py`). There is no
search among runs: the least word is a part of every model, so

* a clause without a head that is not satisfied in it excludes every run;
* where a state of a run comes again and everything explored is satisfied, going round for ever satisfies all clauses;
  and since the least word with this window does just that, so does every model, if with more;
* so where that misses an acceptance set, the operand holds for ever in every model, and the flag must: the run is
  taken up again with the flag. Each flag is added once.

Each run ends, for there are finitely many windows; a long one ends at the limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.operators.automata.cycles import CycleFinder, unmet
from tidelog.operators.automata.word import LEFT, RIGHT, Excluded, Word, carried, data_of
from tidelog.operators.horn.relevance import relevant
from tidelog.operators.horn.theory import Always, Theory
from tidelog.plans.diagnostics.errors import MethodError


@dataclass(frozen=True, slots=True)
class AutomatonLimits:
    """How much is kept: `states` visited in both runs together, and `entries`, propositions in all their letters."""

    states: int = 200_000
    entries: int = 5_000_000


DEFAULT_LIMITS = AutomatonLimits()


def has_model(theory: Theory, limits: AutomatonLimits = DEFAULT_LIMITS) -> bool:
    """Whether some word over all positions satisfies the theory; MethodError where that takes more than the limits.

    >>> from tidelog.operators.horn.theory import Clause, Given
    >>> moves, meets = Clause((0, 2), ((0, 0),)), Clause(None, ((0, 0), (1, 0)))
    >>> [has_model(Theory(("p", "q"), (moves, meets), (), (Given(0, 0, 0), Given(1, k, k)), False)) for k in (-2, 7, 8)]
    [True, True, False]
    """
    part = relevant(theory)
    width = window_width(part)
    _check_data(part, width, limits)
    try:
        _Decision(part, width, limits).run()
    except Excluded:
        return False
    return True


def window_width(theory: Theory) -> int:
    """How many letters a state has, so that it and the next letter hold every clause that ends in this."""
    widest = 1
    for clause in (*theory.clauses, *carried(theory)):
        literals = clause.body if clause.head is None else (*clause.body, clause.head)
        offsets = [offset for _, offset in literals]
        widest = max(widest, max(offsets) - min(offsets))
    return widest


def _check_data(theory: Theory, width: int, limits: AutomatonLimits) -> None:
    """Refuse at once what cannot be decided within the limits."""
    _, length = data_of(theory)
    if length + 2 * width > limits.states:
        sizes = f"data over {length:,} positions and windows of {width:,}"
        raise MethodError(f"the automata would visit more than {limits.states:,} states: {sizes}")


class _Decision:
    """Both runs, prolonged in turns until each has an accepting cycle in a word that stays as it is."""

    def __init__(self, theory: Theory, width: int, limits: AutomatonLimits) -> None:
        self._word = Word(theory)
        self._width = width
        self._limits = limits
        period = 2 if any(clause.parity is not None for clause in theory.clauses) else 1
        self._finders = tuple(CycleFinder(side, width, period) for side in self._word.sides)
        self._always: tuple[Sequence[Always], Sequence[Always]] = (
            [item for item in theory.always if not item.future],
            [item for item in theory.always if item.future],
        )

    def run(self) -> None:
        """End when both runs accept; Excluded if there are none that do."""
        while not all([self._prolong(RIGHT), self._prolong(LEFT)]):
            pass

    def _prolong(self, which: int) -> bool:
        """Prolong a run up to an accepting cycle; whether it had one already."""
        side, finder = self._word.sides[which], self._finders[which]
        is_settled = True
        while True:
            cycle = finder.find()
            if cycle is None:
                is_settled = False
                self._check_limits()
                self._word.extend(which)
                continue
            flags = list(unmet(side, cycle, self._always[which]))
            if not flags:
                return is_settled
            is_settled = False
            self._word.promise(which, flags, cycle.first + 1)

    def _check_limits(self) -> None:
        visited, entries = sum(len(side.letters) for side in self._word.sides), self._word.entries
        if visited >= self._limits.states or entries >= self._limits.entries:
            size = f"windows of {self._width:,} positions, {entries:,} propositions hold in them"
            raise MethodError(f"the automata have visited {visited:,} states ({size}) and did not come round")
