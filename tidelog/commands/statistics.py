"""What an engine has done and what it stores, on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tidelog.commands.outcome import count, say
from tidelog.operators.operator import OperatorStatistics
from tidelog.plans.analysis.notation import decode_distance
from tidelog.plans.plan import Plan
from tidelog.plans.timeline import format_time
from tidelog.runtime.intake import IntakeStatistics
from tidelog.runtime.session import SessionStatistics


class Running(Protocol):
    """What streams facts through a plan: an engine, or a durable run."""

    plan: Plan
    rejected: int

    async def run(self) -> None: ...

    @property
    def is_storing(self) -> bool: ...

    def stop(self, grace: float) -> None: ...

    def intake_statistics(self) -> IntakeStatistics: ...

    def statistics(self) -> SessionStatistics: ...

    def unfinished(self) -> list[str]: ...


def show_statistics(engine: Running) -> None:
    """Facts at the intake, then each step, and each question."""
    statistics = engine.statistics()
    intake = statistics.intake
    facts = f"{intake.accepted} accepted, {intake.unused} unused, {intake.late} late, {intake.ahead} ahead"
    facts += f", {intake.long} long" if statistics.questions else ""
    say(f"facts: {facts}; {engine.rejected} rejected in all")
    _show_steps(engine, statistics.steps)
    for name, asked in statistics.questions.items():
        done = f"{count(asked.received, 'fact')} received, {count(asked.told, 'answer line')}"
        stored = f"{count(asked.open, 'partial answer')}, {count(asked.facts, 'fact')}, {count(asked.answers, 'answer')}"
        say(f"ask {name}: {done}; stored: {stored}")


def _show_steps(engine: Running, steps: Mapping[str, OperatorStatistics]) -> None:
    """A table with a row for each step; nothing where nothing is derived."""
    if not steps:
        return
    columns = ("evaluated", "received", "sent", "stored", "failed", "dropped", "spared")
    say(f"{'step':<32}" + "".join(f" {column:>10}" for column in columns) + f" {'asleep':>12}")
    for name, step in steps.items():
        counts = (
            step.evaluations,
            step.received,
            step.sent,
            step.entries,
            step.failed_evaluations,
            step.dropped,
            step.spared,
        )
        slept = format_time(decode_distance(step.slept, engine.plan.timeline))
        say(f"{name:<32}" + "".join(f" {number:>10}" for number in counts) + f" {slept:>12}")
