"""The outboxes of a program of a gateway, open as long as it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tidelog.connectors.outbox.outbox import Outbox
from tidelog.connectors.outbox.spec import OutboxSpec, parse_outbox
from tidelog.gateway.file.settings import GatewaySettings
from tidelog.gateway.kinds.own.spec import SpecSinkSettings
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan


def read_outbox(sink: SpecSinkSettings, plan: Plan, settings: GatewaySettings, folder: Path) -> OutboxSpec:
    """The outbox that a sink names, whose relative path begins at the file's folder; SpecError where it cannot be one."""
    spec = parse_outbox(sink.spec)
    if not settings.state:
        raise SpecError(
            'an outbox goes on with the state after a restart: say where that is kept, such as `state = "state"`'
        )
    if plan.questions:
        raise SpecError("an outbox holds derived facts, and what `ask` answers are none: leave the questions out")
    if spec.every is not None:
        raise SpecError("`every` is the file's `commit_every`: leave it away here")
    return replace(spec, path=str(folder / spec.path))


def open_outboxes(specs: Mapping[str, OutboxSpec], plan: Plan, *, holds_changes: bool) -> dict[str, Outbox]:
    """The outboxes by the names of their sinks, for writing; raises what `Outbox` raises, and then none is open."""
    opened: dict[str, Outbox] = {}
    try:
        for name, spec in specs.items():
            opened[name] = spec.open(plan, holds_changes=holds_changes)
    except BaseException:
        close_outboxes(opened)
        raise
    return opened


def close_outboxes(opened: Mapping[str, Outbox]) -> None:
    """Give them up: what was not committed is dropped."""
    for outbox in opened.values():
        outbox.close()
