"""A reasoner whose operators are spread over actors: the same intake, the same answers, row by row in the same order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.islands.island import Island, owner
from tidelog.plans.islands.islands import islands_of
from tidelog.plans.islands.sub_plan import island_plan
from tidelog.plans.plan.plan import Plan
from tidelog.plans.alarms.desk import parts_of
from tidelog.plans.analysis.horizons.absences import absences
from tidelog.operators.operator import OperatorStatistics
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.intake.intake import Delivery
from tidelog.runtime.islands.actors import Actor
from tidelog.runtime.islands.dividing import cut_state, divide, join_states, unite
from tidelog.runtime.islands.lines import LocalLine
from tidelog.runtime.islands.messages import Count, Counted, Reply, Save, Saved, unpacked_sent
from tidelog.runtime.islands.network import IslandNetwork, Landed
from tidelog.runtime.islands.nursery import Nursery, Worker
from tidelog.runtime.islands.part import Work
from tidelog.runtime.ports.interfaces import Batch, Rejected, Tick
from tidelog.runtime.sessions.reasoner import History, Reasoner
from tidelog.runtime.sessions.settings import Settings

Actors = Literal["one", "islands", "rule"]
"""What becomes an actor: all operators together, each island of the plan, or each rule as far as it can be cut off."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How the operators of a run are spread: over which actors, and how many workers they live in (0: in this process)."""

    actors: Actors = "islands"
    workers: int = 0
