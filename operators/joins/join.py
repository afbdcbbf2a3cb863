"""Join: a rule's body atoms hold together; also selection, projection, comparison and arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.operators.joins.arrangement import Arranged, Arrangement
from tidelog.operators.joins.join_code import write_join
from tidelog.operators.joins.join_scope import definitions
from tidelog.operators.operator import Operator
from tidelog.operators.stores.amortised import LIMITS
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.room import UNBOUNDED, NoRoomError
from tidelog.operators.stores.time_index import TimeIndex
from tidelog.plans.analysis.physical.lookups import Key
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.plan import JoinShape

Pattern = Callable[[Sequence[Fact]], list[Fact]]
Probe = Callable[[Sequence[Fact], int, list[Fact], list[int], int, "Join"], None]

_ROWS = "rows"
"""The name of a port's store of whole rows, beside those of its indexes."""


class Join(Operator):
    """`M' ← M1 ∧ … ∧ Mn ∧ comparisons`.

    Intervals: the intersection ϱ₁ ∩ … ∩ ϱₙ of coverage whose rows agree (Algorithm 2 of Wałęga et al. 2023, lines
    11–13). New coverage of one atom meets the stored coverage of the others through hash indexes, in code generated for the
    rule (`join_code`). State: for each atom, what the others may still meet: behind the frontiers of all of them it
    goes; beside atoms that are complete nothing is kept. Final: as far as all ports; far-sighted, as far as one that is
    known to hold nothing.

    >>> from tidelog.plans.tree.syntax import Variable
    >>> x, y = Variable("X"), Variable("Y")
    >>> join = Join(JoinShape(head=(x, y), atoms=((x,), (x, y))))
    >>> join.receive(0, [(("a",), 1, 5)], 0), join.receive(1, [(("a", 7), 4, 9)], 0)
    ([], [(('a', 7), 4, 5)])
    """

    __slots__ = (
        "_bounds",
        "_code",
        "_ends",
        "_failed",
        "_met",
        "_new",
        "_others",
        "_own",
        "_pattern",
        "_probe",
        "_shared",
        "indexes",
        "sent_coverage",
        "stores",
    )

    settles_by_port = False

    def __init__(self, shape: JoinShape, arranged: Arranged | None = None) -> None:
        ports = len(shape.atoms)
        super().__init__(ports)
        self._code = write_join(shape) if arranged is None else arranged.code
        self.stores = [Coverage() for _ in range(ports)]
        self.indexes = [{name: TimeIndex(positions) for name, positions in names.items()} for names in self._code.indexes]
        self._shared: list[dict[str, tuple[Arrangement, int]]] = [{} for _ in range(ports)]
        if arranged is not None:
            for (port, key), arrangement in arranged.shared.items():
                self._share(port, key, arrangement)
        self._others = [[i for i in range(ports) if i != port] for port in range(ports)]
        self._ends = [NEG] * ports  # the latest end stored of each atom
        self._met = self._least_of_others(self._ends)  # what begins behind it meets nothing yet
        self._bounds = self._least_of_others(self.frontiers)  # what ends behind it may still meet something
        self._define()
        self.sent_coverage = None if self._code.distinct else Coverage()
        self._new: list[Fact] = []
        self._failed = [0]

    def _define(self) -> None:
        """Let the code look into the stores as they are."""
        # what is entered into and forgotten here; an arrangement is fed by what feeds the port
        self._own = [
            [index for name, index in indexes.items() if name not in shared]
            for indexes, shared in zip(self.indexes, self._shared, strict=True)
        ]
        groups = [{name: index.groups for name, index in indexes.items()} for indexes in self.indexes]
        scope = definitions(self._code, [store.rows for store in self.stores], groups)
        # taken out of their own scope, which makes no circle then: stores go as soon as the operator does
        ports = range(len(self.stores))
        self._pattern: list[Pattern | None] = [scope.pop(f"pattern_{i}") for i in ports]
        self._probe: list[Probe] = [scope.pop(f"probe_{i}") for i in ports]

    def _share(self, port: int, key: Key, arrangement: Arrangement) -> None:
        """Read an arrangement instead of a store of its own."""
        if isinstance(arrangement.store, TimeIndex):
            name = next(name for name, positions in self._code.indexes[port].items() if positions == key)
            self.indexes[port][name] = arrangement.store
        else:
            name = _ROWS
            self.stores[port] = arrangement.store
        self._shared[port][name] = (arrangement, arrangement.reader())

    def feed(self, port: int, facts: Sequence[Fact]) -> list[Fact]:
        pattern = self._pattern[port]
        if pattern is not None:
            facts = pattern(facts)
        if not self._code.whole[port]:
            facts = self.stores[port].insert(facts)
        kept = self._keep(port, facts) if facts else 0
        met = self._met[port]
        out: list[Fact] = []
        most = self.room.rows if self.sent_coverage is None else min(self.room.rows, LIMITS.portion)
        self._probe[port](facts, met, out, self._failed, most, self)
        if self._new:
            return self._take_new(out)
        if not out:
            self.dropped += len(facts) - kept
        return out if self.sent_coverage is None else self.sent_coverage.insert(out)

    def image(self, port: int, row: Row) -> Sequence[Row]:
        pattern, fact = self._pattern[port], (row, NEG, POS)
        found: list[Fact] = []
        self._probe[port]([fact] if pattern is None else pattern([fact]), POS, found, [0], UNBOUNDED, self)
        return [image for image, _, _ in found]

    def relieve(self, out: list[Fact]) -> None:
        """Called by the generated code when `out` is long: keep what is new of it; NoRoomError if that is too much."""
        if self.sent_coverage is not None:
            self._new += self.sent_coverage.insert(out)
            out.clear()
        made = len(out) + len(self._new)
        if made > self.room.rows:
            raise NoRoomError(made)

    def _take_new(self, out: list[Fact]) -> list[Fact]:
        """What was new on the way, and at the end."""
        self.relieve(out)
        new, self._new = self._new, []
        return new

    def _keep(self, port: int, facts: Sequence[Fact]) -> int:
        """Store what new coverage of the other atoms may still meet: what ends behind one of their frontiers; how many."""
        bound = self._bounds[port]
        if bound >= POS:
            return 0
        if len(facts) == 1:
            latest = least = facts[0][2]
        else:
            ends = [hi for _, _, hi in facts]
            latest, least = max(ends), min(ends)
        if latest <= bound:
            return 0
        if latest > self._ends[port]:
            self._ends[port] = latest
            for other in self._others[port]:
                others = self._others[other]
                self._met[other] = latest if len(others) == 1 else min([self._ends[i] for i in others])
        lasting = facts if least > bound else [fact for fact in facts if fact[2] > bound]
        if self._code.whole[port] and self._code.looked_up[port] and _ROWS not in self._shared[port]:
            self.stores[port].extend(lasting)
        for index in self._own[port]:
            index.add(lasting)
        return len(lasting)

    def _least_of_others(self, times: Sequence[int]) -> list[int]:
        """For each port, the least time of all ports but this."""
        return [min([times[i] for i in others], default=POS) for others in self._others]

    def settle(self, port: int) -> list[Fact]:
        self.frontier = max(self.frontier, min(self.frontiers))
        if self.far_sighted:
            self.frontier = max(self.frontier, self._nothing_until(self.frontier))
        self._bounds = self._least_of_others(self.frontiers)
        for shared, bound in zip(self._shared, self._bounds, strict=True):
            for arrangement, reader in shared.values():
                arrangement.needs_behind(reader, bound)
        return []

    def tidy(self) -> None:
        for i, store in enumerate(self.stores):
            bound = self._bounds[i]
            for index in self._own[i]:
                index.forget(bound)
            for arrangement, _ in self._shared[i].values():
                arrangement.tidy()
            if _ROWS not in self._shared[i]:
                # where columns are left out, coverage is kept as well to tell what is new
                store.forget(bound if self._code.whole[i] else min(bound, self.frontiers[i]))
        if self.sent_coverage is not None:
            self.sent_coverage.forget(self.frontier)

    def latest(self, port: int) -> int:
        """The latest end of what an atom has stored."""
        return self._ends[port]

    def _nothing_until(self, known: int) -> int:
        """How far it is known that some atom does not hold, beyond a time up to which all is known."""
        return max((far for far, end in zip(self.frontiers, self._ends, strict=True) if end <= known), default=known)

    def entries(self) -> int:
        """How many ranges are stored; what an arrangement has counts for the first of its readers."""
        found = 0 if self.sent_coverage is None else self.sent_coverage.entries()
        for store, indexes, shared in zip(self.stores, self.indexes, self._shared, strict=True):
            others = [name for name, (arrangement, reader) in shared.items() if not arrangement.counts_for(reader)]
            found += sum(index.entries() for name, index in indexes.items() if name not in others)
            found += 0 if _ROWS in others else store.entries()
        return found

    def failed_evaluations(self) -> int:
        return self._failed[0]

    def state(self) -> dict[str, Any]:
        sent = [] if self.sent_coverage is None else self.sent_coverage.snapshot()
        indexes = [
            {name: self._saved(port, name, index) for name, index in indexes.items()}
            for port, indexes in enumerate(self.indexes)
        ]
        stores = [self._saved(port, _ROWS, store) for port, store in enumerate(self.stores)]
        return {"stores": stores, "indexes": indexes, "ends": list(self._ends), "sent": sent, "failed": self._failed[0]}

    def _saved(self, port: int, name: str, store: TimeIndex | Coverage) -> list[Any] | str:
        """What a store, or an index, of a port holds; of an arrangement its name."""
        shared = self._shared[port].get(name)
        return store.snapshot() if shared is None else shared[0].name

    def load(self, state: dict[str, Any]) -> None:
        self._ends[:] = state["ends"]
        self._met, self._bounds = self._least_of_others(self._ends), self._least_of_others(self.frontiers)
        for i, (stored, indexed) in enumerate(zip(state["stores"], state["indexes"], strict=True)):
            for name, data in ((_ROWS, stored), *indexed.items()):
                self._load(i, name, data)
        if self.sent_coverage is not None:
            self.sent_coverage.restore(state["sent"])
        self._failed[0] = state["failed"]

    def _load(self, port: int, name: str, data: list[Any]) -> None:
        """Take over what one store, or index, of a port held; by itself, where its readers do not agree on that."""
        shared = self._shared[port].get(name)
        if shared is not None:
            arrangement, reader = shared
            if arrangement.restore(reader, data, self._bounds[port]):
                return
            del self._shared[port][name]
            if name == _ROWS:
                self.stores[port] = Coverage()
            else:
                self.indexes[port][name] = TimeIndex(self._code.indexes[port][name])
            self._define()
        if name == _ROWS:
            self.stores[port].restore(data)
        else:
            self.indexes[port][name].restore(data)
