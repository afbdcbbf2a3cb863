"""What a session may begin with in place of facts one by one."""

from __future__ import annotations

from typing import Any, Protocol

from tidelog.runtime.intake.intake import Intake
from tidelog.runtime.network.graph import Graph
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.state_bound import StateBound


class History(Protocol):
    """Facts that lie there as a whole, with which a stream begins: `runtime/columns/first_frames.py`."""

    def go_through(self, graph: Graph, outlet: Outlet, bound: StateBound) -> dict[str, Any]:
        """Tell the outlet what follows for sure; returns what a network goes on from."""

    def enter(self, intake: Intake, source: str) -> None:
        """Let the intake know that these facts have gone by."""
