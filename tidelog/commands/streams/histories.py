"""When `run` goes over its sources in columns: where all of them end, are there as a whole, and are worth it."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tidelog.commands.given import named_facts
from tidelog.commands.progress import Progress
from tidelog.connectors.files.folders import parse_sources
from tidelog.connectors.spec import Spec, parse_spec
from tidelog.plans.analysis.physical.in_columns import refused
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import Sink

if TYPE_CHECKING:
    from tidelog.runtime.running.history import HistoryRunner
    from tidelog.runtime.running.settings import RunSettings
    from tidelog.runtime.sessions.settings import Settings

LEAST = 4 << 20
"""Files of fewer bytes together are read row by row: to load NumPy takes longer."""
_FORMATS = ("csv", "parquet")
_NEEDS_ROWS = (
    "explain",
    "corrections",
    "http",
    "state",
    "clock",
    "idle_after",
    "max_ahead",
    "no_prospects",
    "workers",
    "actors",
)
"""Options with which facts pass one by one."""


def history_maker(plan: Plan, options: argparse.Namespace, sinks: Sequence[str]) -> Callable[..., HistoryRunner] | None:
    """What makes the runner of a history; None where facts have to, or had better, pass row by row."""
    if any(getattr(options, name, None) for name in _NEEDS_ROWS) or options.at_end != "finish" or plan.questions:
        return None
    if plan.delays or refused(plan) is not None or any(loop.holds for loop in plan.loops):
        return None
    specs = parse_sources(named_facts(options) or ["-"], allow_remote=options.allow_remote)
    if not all(map(_is_history, specs)) or sum(os.path.getsize(spec.path) for spec in specs) < LEAST:
        return None
    if any(parse_spec(sink, allow_remote=True).scheme not in ("-", "file", "parquet") for sink in sinks):
        return None
    if find_spec("numpy") is None or find_spec("pyarrow") is None:
        return None
    from tidelog.connectors.files.history_files import BLOCK_ROWS, open_history  # noqa: PLC0415 - only histories need NumPy
    from tidelog.runtime.columns.memory import Memory, usual_memory  # noqa: PLC0415 - as above
    from tidelog.runtime.running.history import HistoryRunner  # noqa: PLC0415 - as above

    memory = Memory(options.memory or usual_memory())
    rows = memory.rows(plan.schema, BLOCK_ROWS)
    progress = Progress()
    progress.expect(spec.path for spec in specs)
    histories = [
        partial(open_history, spec, plan.schema, rows=rows, max_line=options.max_line, on_read=progress.note)
        for spec in specs
    ]

    def make(plan: Plan, _: Sequence[object], sinks: Sequence[Sink], settings: Settings, run: RunSettings) -> HistoryRunner:
        return HistoryRunner(plan, histories, sinks, settings, run, memory, progress)

    return make


def _is_history(spec: Spec) -> bool:
    """Whether a source is a regular file of a format whose columns are read as such, undivided."""
    if spec.scheme != "file" or spec.format not in _FORMATS or spec.by is not None:
        return False
    try:
        return stat.S_ISREG(os.stat(spec.path).st_mode)
    except OSError:
        return False
