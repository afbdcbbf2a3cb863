"""Merging: the state of a session whose program has changed, from the stored state and from a session that was told the
journal.

States are plain data by the ids of steps, as `Session.state` gives them. What is **kept** comes from the stored state, under
the ids that it has now; all else comes from the session that was told the journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.plans.analysis.physical.identity import Identity, bridges_less, port_map
from tidelog.plans.analysis.physical.prospects import STRANGERS
from tidelog.plans.plan.plan import Loop, Plan, UnionShape
from tidelog.runtime.network.arranging import unshared
from tidelog.runtime.network.deploy import build_group


@dataclass(frozen=True, slots=True)
class Mixture:
    """Two plans, and what is kept of the first: steps now → steps before, outputs, and questions now → before."""

    before: Plan
    now: Plan
    was: Identity
    identity: Identity
    steps: Mapping[str, str]
    outputs: frozenset[str]
    questions: Mapping[int, int]

    def mix(self, stored: dict[str, Any], told: dict[str, Any], blank: Mapping[str, Any]) -> dict[str, Any]:
        """The state of the plan now. `blank` is the emission's without any, for each output that begins so."""
        was = unshared(stored["network"]["graph"], self.before)
        is_told = unshared(told["network"]["graph"], self.now)
        network = {**stored["network"], "graph": self._graph(was, is_told)}
        questions = [
            stored["questions"][self.questions[i]] if i in self.questions else state
            for i, state in enumerate(told["questions"])
        ]
        outlet = self._outlet(stored["outlet"], told["outlet"], blank)
        intake = {name: stored[name] for name in ("sources", "intake")}
        return {**told, **intake, "network": network, "outlet": outlet, "questions": questions}

    # --- steps ----------------------------------------------------------------------------------------------------------

    def _ports(self, name: str) -> list[int]:
        """For each port of a kept step, the port that it was."""
        now, before = self.identity.fed_by[name], self.was.fed_by[self.steps[name]]
        if isinstance(self.now.step(name).shape, UnionShape):
            return port_map(before, now)
        return list(range(len(now)))

    def _graph(self, stored: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
        operators = {
            name: self._operator(name, stored["operators"][self.steps[name]]) if self._is_kept(name) else state
            for name, state in told["operators"].items()
        }
        loops = [self._loop(i, stored["loops"], state) for i, state in enumerate(told["loops"])]
        prospects = self._prospects(stored["prospects"], told["prospects"])
        return {"operators": operators, "arrangements": {}, "loops": loops, "prospects": prospects}

    def _is_kept(self, name: str) -> bool:
        return name in self.steps and not bridges_less(self.now.step(name), self.before.step(self.steps[name]))

    def _operator(self, name: str, state: dict[str, Any]) -> dict[str, Any]:
        ports = self._ports(name)
        frontiers = [state["frontiers"][port] for port in ports]
        passing = state["passing"]
        if passing is not None:
            known = [[image, ports.index(port), row, lo] for image, port, row, lo in passing["known"]]
            passing = {**passing, "known": known}
        return {**state, "frontiers": frontiers, "passing": passing}

    def _loop(self, number: int, stored: list[dict[str, Any]], told: dict[str, Any]) -> dict[str, Any]:
        loop = self.now.loops[number]
        if loop.members[0] not in self.steps:
            return told
        of = self.before.step(self.steps[loop.members[0]]).loop
        before = self.before.loops[of or 0]
        state = stored[of or 0]
        reached = dict(zip(before.entries, state["reached"], strict=True))
        entries = [(self.steps[name], self._ports(name)[port]) for name, port in loop.entries]
        state = {**state, "reached": [reached[entry] for entry in entries]}
        if loop.order:
            return {**state, **self._clock(loop, before, state)}
        places = [before.entries.index(entry) for entry in entries]
        opened = state["open"] and self._open_loop(loop.members, before.members, state["open"], places)
        return {**state, "open": opened}

    def _clock(self, loop: Loop, before: Loop, stored: dict[str, Any]) -> dict[str, Any]:
        """What waits inside a loop that goes through time, whose parts, members and ports may have another order now."""
        was = [_ports_of(self.before, members) for members in before.order]
        grouped = [number for number, members in enumerate(before.order) if _is_group(self.before, members)]
        inboxes, groups = [], []
        for members in loop.order:
            number = next(i for i, others in enumerate(before.order) if self.steps[members[0]] in others)
            own = _ports_of(self.now, members)
            ports = [was[number][self.steps[name], self._ports(name)[port]] for name, port in own]
            inboxes.append([[ports.index(port), *rest] for port, *rest in stored["inboxes"][number]])
            if number in grouped:
                state = stored["groups"][grouped.index(number)]
                groups.append(self._open_loop(members, before.order[number], state, ports))
        return {"inboxes": inboxes, "groups": groups}

    def _open_loop(
        self, members: Sequence[str], before: Sequence[str], stored: dict[str, Any], ports: Sequence[int]
    ) -> dict[str, Any]:
        """What takes notices for a loop, whose members and ports may have another order now."""
        number = {before.index(self.steps[name]): i for i, name in enumerate(members)}

        def renamed(row: Sequence[Any]) -> list[Any]:
            return [number[row[0]], *row[1:]]

        state = stored["state"]
        mixed = {
            "spells": [state["spells"][port] for port in ports],
            "holding": [state["holding"][port] for port in ports],
            "turns": [[time, ports.index(port), row] for time, port, row in state["turns"]],
            "since": [[renamed(row), since] for row, since in state["since"]],
            "ahead": [[renamed(row), *rest] for row, *rest in state["ahead"]],
        }
        return {**stored, "frontiers": [stored["frontiers"][port] for port in ports], "state": {**state, **mixed}}

    def _prospects(self, stored: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
        gates = {(name, port): state for name, port, state in stored["gates"]}
        mixed = []
        for name, port, state in told["gates"]:
            before = (self.steps[name], self._ports(name)[port]) if name in self.steps else ("", 0)
            mixed.append([name, port, gates.get(before, state)])
        sleeps, rows = (
            {name: self._sleep(name, stored[kind], state) for name, state in told[kind].items()}
            for kind in ("sleeps", "rows")
        )
        return {"sleeps": sleeps, "rows": rows, "gates": mixed, "seen": stored["seen"]}

    def _sleep(self, name: str, stored: dict[str, Any], state: Any) -> Any:
        if name != STRANGERS:
            return stored.get(self.steps.get(name, ""), state)
        now, before = (
            [item.predicates for item in plan.prospects.sleepers if item.step == STRANGERS]
            for plan in (self.now, self.before)
        )
        return stored.get(name, state) if now == before else state

    # --- what is told ---------------------------------------------------------------------------------------------------

    def _outlet(self, stored: dict[str, Any], told: dict[str, Any], blank: Mapping[str, Any]) -> dict[str, Any]:
        known = {
            name: stored["violations"]["known"].get(self.steps.get(name, ""), state)
            for name, state in told["violations"]["known"].items()
        }
        violations = {"known": known, "count": stored["violations"]["count"]}
        kept = self.outputs | {name for name in known if name in self.steps}
        since = {name: time for name, time in told["since"].items() if name not in kept}
        since |= {name: stored["since"][name] for name in self.outputs if name in stored["since"]}
        emission = {
            name: self._emission(name, stored["emission"][name], state, blank) for name, state in told["emission"].items()
        }
        held, was_held = told["held"], stored.get("held") or {}
        if held is not None:
            held = held | {name: state for name, state in was_held.items() if name in self.outputs}
        already = {name: state for name, state in told["told"].items() if name not in self.outputs}
        already |= {name: state for name, state in stored.get("told", {}).items() if name in self.outputs}
        return {"emission": emission, "violations": violations, "since": since, "held": held, "told": already}

    def _emission(self, part: str, stored: Any, told: Any, blank: Mapping[str, Any]) -> Any:
        """A part of the emission's state: by output, as records of outputs, or of all together."""
        outputs = self.outputs
        if part == "records":
            fresh = outputs | blank.keys()
            return [item for item in stored if item[0] in outputs] + [item for item in told if item[0] not in fresh]
        if not isinstance(told, dict):
            return stored
        begun = {name: found[part][name] for name, found in blank.items() if name in told}
        return told | begun | {name: state for name, state in stored.items() if name in outputs}


def _is_group(plan: Plan, members: Sequence[str]) -> bool:
    """Whether steps of a clocked loop are one operator, as they feed each other at one time."""
    return build_group(plan, members, None) is not None


def _ports_of(plan: Plan, members: Sequence[str]) -> dict[tuple[str, int], int]:
    """The ports of a part of a clocked loop, in order."""
    group = build_group(plan, members, None)
    if group is not None:
        return dict(sorted(group.ports.items(), key=lambda item: item[1]))
    return {(members[0], port): port for port in range(len(plan.step(members[0]).inputs))}
