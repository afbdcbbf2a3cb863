"""The cut of a plan into islands: what hangs together, and of it as much as has a key by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tidelog.plans.data.facts import format_predicate
from tidelog.plans.islands.blocks import Groups, blocks_of
from tidelog.plans.islands.island import Island, resting_on_streams
from tidelog.plans.islands.keys import Keyed, KeyFinder
from tidelog.plans.plan.plan import AssignShape, JoinShape, Plan, Step, ToldShape, TupleShape, UnionShape
from tidelog.plans.tree.reaching import reachable

Block = tuple[str, ...]


Cut = Literal["islands", "rule"]
"""Into how many islands a plan is cut: as many as fit their keys, or each rule, as far as it can be cut off."""


def islands_of(plan: Plan, how: Cut = "islands") -> tuple[Island, ...]:
    """The islands of a plan, each behind those whose steps it imports.

    By `rule` each rule is an island, as far as it can be cut off, and none has a key.
    """
    cutter = _Cutter(plan)
    parts = cutter.by_rule() if how == "rule" else cutter.parts(cutter.blocks)
    return cutter.islands(list(parts))


@dataclass(frozen=True, slots=True)
class _Part:
    """Steps that are to be an island, and its key."""

    steps: frozenset[str]
    keyed: Keyed | None
    prevented_by: str = ""


class _Cutter:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.steps = {step.id: step for step in plan.steps}
        self.fed = resting_on_streams(plan)
        self.blocks = blocks_of(plan, self.fed)
        self.finder = KeyFinder(plan, self.fed)

    def by_rule(self) -> Iterator[_Part]:
        for block in self.blocks:
            yield _Part(frozenset(block), None)

    # --- the parts --------------------------------------------------------------------------------------------------------

    def parts(self, blocks: Sequence[Block]) -> Iterator[_Part]:
        """What becomes of blocks that need nothing of each other but what hangs together: each behind what it reads."""
        waiting = [list(blocks)]
        while waiting:
            for connected in self._connected(waiting.pop(0)):
                names = [name for block in connected for name in block]
                keyed_parts, keyed = self._keyed_parts(connected, names)
                if not keyed_parts:
                    yield _Part(frozenset(names), None, self._prevented_by(names, keyed))
                    continue
                for part in keyed_parts:
                    yield _Part(frozenset(name for block in part for name in block), keyed)
                rest = [block for block in connected if all(block not in part for part in keyed_parts)]
                if rest:
                    waiting.append(rest)

    def _connected(self, blocks: Sequence[Block]) -> list[list[Block]]:
        """Blocks that hang together, in the order in which they are given."""
        groups = Groups(name for block in blocks for name in block)
        for block in blocks:
            for name in block:
                groups.join(block[0], name)
                for feeder in self.steps[name].feeders:
                    if feeder in groups:
                        groups.join(block[0], feeder)
        found: dict[str, list[Block]] = {}
        for block in blocks:
            found.setdefault(groups.of(block[0]), []).append(block)
        return list(found.values())

    def _keyed_parts(self, blocks: Sequence[Block], names: Collection[str]) -> tuple[list[list[Block]], Keyed | None]:
        """The largest parts that have a key and need no other part of these blocks; and the key that goes furthest.

        Where nothing is gained by the cut there are none.
        """
        best: list[list[Block]] = []
        furthest: Keyed | None = None
        for keyed in self.finder.candidates(names):
            upstream = self._upstream(blocks, keyed)
            found = [part for part in self._connected(upstream) if len(upstream) == len(blocks) or self._is_worth(part)]
            if sum(map(_size, found)) > sum(map(_size, best)):
                best, furthest = found, keyed
            elif not best and (furthest is None or len(keyed.columns) > len(furthest.columns)):
                furthest = keyed
        return best, furthest

    def _is_worth(self, blocks: Iterable[Block]) -> bool:
        """Whether blocks do more than to hand on what comes, or a part of it."""
        return not all(_is_light(self.steps[name]) for block in blocks for name in block)

    def _upstream(self, blocks: Sequence[Block], keyed: Keyed) -> list[Block]:
        """The blocks that show the key, and read no others; without those that only hand on what comes to others."""
        others = {name for block in blocks for name in block}
        found: list[Block] = []
        for block in blocks:
            if not all(name in keyed.columns for name in block):
                continue
            needed = {feeder for name in block for feeder in self.steps[name].feeders if feeder in others}
            if needed <= set(block):
                found.append(block)
                others -= set(block)
        read = {feeder for block in found for name in block for feeder in self.steps[name].feeders}
        return [block for block in found if not self._hands_on(block) or block[0] in read]

    def _hands_on(self, block: Block) -> bool:
        """Whether a block only takes what the stream brings of a predicate."""
        return (
            len(block) == 1 and not self.steps[block[0]].feeders and not isinstance(self.steps[block[0]].shape, TupleShape)
        )

    def _prevented_by(self, names: Collection[str], keyed: Keyed | None) -> str:
        """The rule in which the key is lost that goes furthest."""
        shown = keyed.columns if keyed is not None else {}
        lost = [step for step in self.plan.steps if step.id in names and step.id not in shown]
        first = [step for step in lost if all(feeder in shown for feeder in step.feeders if feeder in names)] or lost
        by_rule = [step for step in first if step.source or step.rule]
        return self._rule_of((by_rule or first)[0])

    def _rule_of(self, step: Step) -> str:
        """The rule of the text that a step is of; what becomes of an assignment is of the rule that assigns."""
        while step.feeders and (isinstance(step.shape, AssignShape) or not (step.source or step.rule)):
            step = self.steps[step.feeders[0]]
        return step.source or step.rule or f"the facts of `{format_predicate(step.predicate)}`"

    # --- the islands ------------------------------------------------------------------------------------------------------

    def islands(self, parts: Sequence[_Part]) -> tuple[Island, ...]:
        """The parts as islands; what is told and rests on no stream is the first."""
        found: list[Island] = []
        watched = [*self.plan.outputs.values(), *self.plan.constraints]
        static = [name for name in watched if name not in self.fed]
        if static:
            found.append(self._island(0, _Part(frozenset(static), None), frozenset()))
        read = {feeder: None for part in parts for feeder in self._imports(part)}
        found += [self._island(number, part, read.keys()) for number, part in enumerate(parts, len(found))]
        return tuple(found)

    def _imports(self, part: _Part) -> tuple[str, ...]:
        feeders = (feeder for step in self.plan.steps if step.id in part.steps for feeder in step.feeders)
        return tuple(dict.fromkeys(name for name in feeders if name in self.fed and name not in part.steps))

    def _island(self, number: int, part: _Part, read: Collection[str]) -> Island:
        imports = self._imports(part)
        steps = self._with_static(part.steps)
        key, columns = None, {}
        if part.keyed is not None:
            choice = part.keyed.choice
            key = {name: column for (kind, name), column in choice.items() if kind == "stream"}
            columns = {name: choice["step", name] for name in imports}
            columns |= {name: min(part.keyed.columns[name]) for name in steps if name in part.steps}
        reads = self._reads(part.steps)
        return Island(
            number=number,
            name=self._name(part.steps),
            steps=steps,
            reads=reads,
            key=None if key is None else {name: key[name] for name in reads},
            columns=columns,
            imports=imports,
            exports=tuple(name for name in steps if name in read and name in part.steps),
            prevented_by=part.prevented_by,
        )

    def _with_static(self, names: Iterable[str]) -> tuple[str, ...]:
        """The steps with those that they rest on, of what rests on no stream, in the plan's order."""

        def static(name: str) -> list[str]:
            return [feeder for feeder in self.steps[name].feeders if feeder not in self.fed]

        found = reachable(names, static)
        return tuple(step.id for step in self.plan.steps if step.id in found)

    def _reads(self, names: Collection[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for step in self.plan.steps:
            if step.id in names:
                found.update((feed.name, None) for feed in step.inputs if feed.kind == "stream")
                if isinstance(step.shape, TupleShape):
                    found.update((name, None) for name in self._counted(step.shape))
        return tuple(found)

    def _counted(self, shape: TupleShape) -> Iterable[str]:
        """What a tuple window counts, and finds."""
        known = self.plan.schema.predicates
        return shape.of or [name for name, schema in known.items() if schema.accepts_input]

    def _name(self, names: Collection[str]) -> str:
        told = [name for name, step in self.plan.outputs.items() if step in names]
        spoken = [name for name in told if name not in self.plan.silent]
        if told:
            return (spoken or told)[0]
        derived = [step for step in self.plan.steps if step.id in names and step.predicate not in self.plan.normal.origins]
        return (derived or [step for step in self.plan.steps if step.id in names])[-1].predicate


def _size(blocks: Iterable[Block]) -> int:
    return sum(map(len, blocks))


def _is_light(step: Step) -> bool:
    """Whether a step keeps nothing of what comes, but to tell it once: more is done to bring it a fact than by it."""
    shape = step.shape
    return isinstance(shape, UnionShape | ToldShape) or (isinstance(shape, JoinShape) and len(shape.atoms) == 1)
