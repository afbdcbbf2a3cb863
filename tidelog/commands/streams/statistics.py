"""What an engine has done and what it stores, on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.commands.outcome import count, say
from tidelog.operators.operator import OperatorStatistics
from tidelog.plans.analysis.horizons.notation import decode_distance
from tidelog.plans.data.timeline import NEG, Timeline, format_time
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.intake.source_state import PartStatistics, SourceStatistics
from tidelog.runtime.intake.watermarks import plain_name
from tidelog.runtime.running.runner import Runner

if TYPE_CHECKING:
    from tidelog.runtime.running.history import HistoryRunner

_PARTS_SHOWN = 5
"""How many parts of a source are shown: those with the least watermarks."""


def show_statistics(engine: Runner | HistoryRunner) -> None:
    """Facts at the intake, then each step, and each question."""
    statistics = engine.statistics()
    intake = statistics.intake
    facts = f"{intake.accepted} accepted, {intake.unused} unused, {intake.late} late, {intake.ahead} ahead"
    facts += f", {intake.long} long" if statistics.questions else ""
    facts += f", {intake.held} held" if intake.held else ""
    say(f"facts: {facts}; {engine.rejected} rejected in all")
    if len(statistics.sources) > 1 or any(set(source.parts) - {None} for source in statistics.sources.values()):
        _show_sources(engine, statistics.sources)
    show_steps(statistics.steps, engine.plan.timeline)
    for name, asked in statistics.questions.items():
        done = f"{count(asked.received, 'fact')} received, {count(asked.told, 'answer line')}"
        stored = f"{count(asked.open, 'partial answer')}, {count(asked.facts, 'fact')}, {count(asked.answers, 'answer')}"
        say(f"ask {name}: {done}; stored: {stored}")


def _show_sources(engine: Runner | HistoryRunner, sources: Mapping[str, SourceStatistics]) -> None:
    """A line for each source, and of one that is divided the parts that the others wait for."""
    timeline = engine.plan.timeline
    for name, source in sources.items():
        line = f"source {plain_name(name)}: {source.accepted} accepted, {source.late} late, {source.ahead} ahead; "
        if source.has_ended:
            say(line + "ended")
            continue
        line += _expected(timeline, source.watermark) if source.parts else "idle"
        line += f", {source.lead} ahead of the slowest" if source.lead else ""
        line += f", {count(len(source.parts), 'part')}" if set(source.parts) - {None} else ""
        say(line + (f", {source.dropped} dropped" if source.dropped else ""))
        for part, of_part in _slowest(source):
            told = f"{of_part.accepted} accepted, {of_part.late} late, {of_part.ahead} ahead"
            say(f"  `{part}`: {told}; {_expected(timeline, of_part.watermark)}")


def _expected(timeline: Timeline, watermark: int) -> str:
    return "has brought nothing" if watermark == NEG else f"expected from {timeline.format_point(watermark + 1)} on"


def _slowest(source: SourceStatistics) -> list[tuple[Value, PartStatistics]]:
    parts = [(part, of_part) for part, of_part in source.parts.items() if part is not None]
    return sorted(parts, key=lambda item: item[1].watermark)[:_PARTS_SHOWN]


def show_steps(steps: Mapping[str, OperatorStatistics], timeline: Timeline) -> None:
    """A table with a row for each step, with what it took where that was measured; nothing where nothing is derived."""
    if not steps:
        return
    columns = ("evaluated", "received", "sent", "stored", "failed", "dropped", "spared")
    is_measured = any(step.seconds for step in steps.values())
    header = f"{'step':<32}" + "".join(f" {column:>10}" for column in columns) + f" {'asleep':>12}"
    say(f"{header} {'seconds':>10}" if is_measured else header)
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
        slept = format_time(decode_distance(step.slept, timeline))
        line = f"{name:<32}" + "".join(f" {number:>10}" for number in counts) + f" {slept:>12}"
        say(f"{line} {step.seconds:>10.3f}" if is_measured else line)
