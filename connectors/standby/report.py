"""How one of two gateways stands: what the page, the metrics, and who asks whether it is healthy are told."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

Role = Literal["leads", "follows"]


@dataclass(frozen=True, slots=True)
class Report:
    """Its role since a moment (seconds since 1970), and the epoch of who leads.

    `lag` is how many commits the one that follows lacks, `lag_seconds` for how long it has lacked some, or heard nothing.
    `is_alone` says that no other gateway has all that this one tells; of one that follows, that it lacks something.
    `alone_count` is how often this one has gone on alone. `problem` says what cannot be reached.
    """

    role: Role
    epoch: int
    since: float
    lag: int
    lag_seconds: float
    is_alone: bool
    alone_count: int
    problem: str = ""

    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        moment = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        parts = [f"{self.role} under epoch {self.epoch} since {moment}"]
        if self.role == "follows":
            parts.append("has all" if not self.is_alone else f"lacks {self.lag} commits, for {self.lag_seconds:.1f} s")
        else:
            parts.append("alone" if self.is_alone else "the other one has all")
        return ", ".join([*parts, *([self.problem] if self.problem else [])])
