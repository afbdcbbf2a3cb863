"""Which answers a sink is told, and under which names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from types import MappingProxyType

from tidelog.connectors.formats.formatting import predicate_of
from tidelog.connectors.mapping.templates import State, state_of
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer

_NONE: Mapping[str, str] = MappingProxyType({})


class Choice:
    """Called with an answer, it returns what the sink is told of it; None where that is nothing.

    With `predicates`, the sink is told of these alone. `names` are other names for some of them: of an alarm, a sink is told
    when it is active, under the alarm's own name. With `states`, it is told alone what begins, has ended, or holds.

    >>> choice = Choice({"alarm", "alarm active"}, {"alarm active": "alarm"})
    >>> choice(("alarm active", ("p1",), 1, 2)), choice(("spell", (), 1, 2))
    (('alarm', ('p1',), 1, 2), None)
    """

    __slots__ = ("_names", "_predicates", "_states")

    def __init__(
        self, predicates: Set[str] | None = None, names: Mapping[str, str] = _NONE, states: Collection[State] = ()
    ) -> None:
        self._predicates, self._names, self._states = predicates, names, states

    def __call__(self, answer: AnyAnswer) -> AnyAnswer | None:
        name = predicate_of(answer)
        if self._predicates is not None and name not in self._predicates:
            return None
        if self._states and not isinstance(answer, HypotheticalAnswer) and state_of(answer) not in self._states:
            return None
        other = self._names.get(name)
        if other is None or isinstance(answer, HypotheticalAnswer):
            return answer
        if isinstance(answer, ChangeRecord):  # or one that is taken back
            return answer._replace(predicate=other)
        _, row, lo, hi = answer
        return other, row, lo, hi
