"""Keys: for a choice of arguments of what comes in, the steps whose rows, and all that they rest on, show the key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.plans.islands.blocks import Groups
from tidelog.plans.islands.ties import Tie, may_be_seeded, ties_of
from tidelog.plans.plan.feeds import widths_of
from tidelog.plans.plan.plan import Feed, Plan, Step

Source = tuple[str, str]
"""What facts come from: `stream` and a predicate, or `step` and an imported step."""
Choice = Mapping[Source, int]
"""For each source the column that is the key."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """A choice of keys, and what follows: for each step that shows the key the columns in which it does."""

    choice: Choice
    columns: Mapping[str, frozenset[int]]


@dataclass(slots=True)
class KeyFinder:
    """Finds keys of parts of one plan; `fed` are the steps that rest on the stream."""

    plan: Plan
    fed: Collection[str]
    steps: dict[str, Step] = field(init=False)
    ties: dict[str, list[Tie]] = field(init=False)
    widths: Mapping[tuple[str, str], int] = field(init=False)

    def __post_init__(self) -> None:
        self.steps = {step.id: step for step in self.plan.steps}
        self.widths = widths_of(self.plan)
        given = {record[0] for record in self.plan.facts} | {item.predicate for item in self.plan.backgrounds}
        self.ties = {
            step.id: [] if self._is_barred(step) else list(self._unseeded(step, given))
            for step in self.plan.steps
            if step.id in self.fed
        }

    def _is_barred(self, step: Step) -> bool:
        """A recursion that goes on in time is followed as far as the last fact, of whatever key."""
        return step.loop is not None and bool(self.plan.loops[step.loop].holds)

    def _unseeded(self, step: Step, given: Collection[str]) -> Iterator[Tie]:
        rests = [self.rests(feed) for feed in step.inputs]
        holds = [feed.kind not in ("facts", "start", "clock") or feed.name in given for feed in step.inputs]
        widths = [self.widths.get((feed.kind, feed.name), 0) for feed in step.inputs]
        return (tie for tie in ties_of(step, widths) if not may_be_seeded(step, tie, rests, holds))

    def rests(self, feed: Feed) -> bool:
        """Whether what a feed brings rests on the stream."""
        return feed.name in self.fed if feed.kind == "step" else feed.kind in ("stream", "arrivals")

    def sources_of(self, names: Iterable[str]) -> dict[Source, None]:
        """What brings facts of the stream to these steps from outside."""
        own = dict.fromkeys(names)
        feeds = [feed for name in own for feed in self.steps[name].inputs if self.rests(feed)]
        return dict.fromkeys((feed.kind, feed.name) for feed in feeds if feed.kind != "step" or feed.name not in own)

    def candidates(self, names: Collection[str]) -> list[Keyed]:
        """The keys that some steps may have, for all or a part of them, each as far as it goes."""
        sources = self.sources_of(names)
        groups = Groups(f"{kind} {name} {column}" for kind, name, column in self._places(names, sources))
        for name in names:
            for tie in self.ties[name]:
                first = f"step {name} {tie.own[0]}"
                for column in tie.own:
                    groups.join(first, f"step {name} {column}")
                for feed, columns in zip(self.steps[name].inputs, tie.ports, strict=True):
                    if self.rests(feed):
                        for column in columns:
                            groups.join(first, f"{feed.kind} {feed.name} {column}")
        choices: dict[str, dict[Source, list[int]]] = {}
        for kind, name in sources:
            for column in range(self.widths.get((kind, name), 0)):
                group = groups.of(f"{kind} {name} {column}")
                choices.setdefault(group, {}).setdefault((kind, name), []).append(column)
        members: dict[str, dict[str, None]] = {group: {} for group in choices}
        for name in names:
            for tie in self.ties[name]:
                if (group := groups.of(f"step {name} {tie.own[0]}")) in members:
                    members[group][name] = None
        return [self._best(members[group], options) for group, options in choices.items()]

    def _places(self, names: Iterable[str], sources: Iterable[Source]) -> Iterator[tuple[str, str, int]]:
        for kind, name in (*sources, *(("step", name) for name in names)):
            for column in range(self.widths.get((kind, name), 0)):
                yield kind, name, column

    def _best(self, names: Collection[str], options: Mapping[Source, list[int]]) -> Keyed:
        """Of the arguments that a key may be, those with which it goes furthest: one source after the other is tried."""
        choice = {source: columns[0] for source, columns in options.items()}
        best = self.follow(names, choice)
        for source, columns in options.items():
            for column in columns[1:]:
                found = self.follow(names, {**best.choice, source: column})
                if len(found.columns) > len(best.columns):
                    best = found
        return best

    def follow(self, names: Collection[str], choice: Choice) -> Keyed:
        """The steps that show the key, with such keys of the sources.

        In loops it is assumed of each step until something speaks against it: what a step has shown goes round.
        """
        known: dict[tuple[str, str], frozenset[int]] = {source: frozenset([column]) for source, column in choice.items()}
        inside = list(names)
        for name in inside:
            known["step", name] = frozenset(column for tie in self.ties[name] for column in tie.own)
        changed = True
        while changed:
            changed = False
            for name in inside:
                found = self._shown(self.steps[name], known)
                changed = changed or found != known["step", name]
                known["step", name] = found
        return Keyed(choice, {name: found for name in inside if (found := known["step", name])})

    def _shown(self, step: Step, known: Mapping[tuple[str, str], frozenset[int]]) -> frozenset[int]:
        none: frozenset[int] = frozenset()
        return frozenset(
            column
            for tie in self.ties[step.id]
            if all(
                not known.get((feed.kind, feed.name), none).isdisjoint(columns)
                for feed, columns in zip(step.inputs, tie.ports, strict=True)
                if self.rests(feed)
            )
            for column in tie.own
        )
