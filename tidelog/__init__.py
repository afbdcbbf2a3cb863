"""tidelog: a stream reasoner for the edge. Write temporal rules as text, feed facts, get what follows, at once."""

from typing import TYPE_CHECKING

from tidelog import native
from tidelog.plans.lazy import exports

native.choose()

if TYPE_CHECKING:
    from tidelog.compiling import compile, compile_batch, compile_batch_path, compile_path
    from tidelog.connectors.opening import open_sink, open_source
    from tidelog.connectors.sources.memory import MemorySink, MemorySource, PushSource
    from tidelog.connectors.store.state_store import StateDirectory
    from tidelog.plans.alarms.desk import Deed, OpenAlarm
    from tidelog.plans.compiling.batch import BatchPlan
    from tidelog.plans.data.changes import Change
    from tidelog.plans.data.facts import Answer
    from tidelog.plans.diagnostics.errors import (
        ConnectorError,
        DataError,
        Diagnostic,
        EndlessError,
        LateError,
        OperatorError,
        ProgramError,
        SnapshotError,
        SpecError,
        StateError,
        TidelogError,
    )
    from tidelog.plans.plan.plan import Plan
    from tidelog.plans.plan.questions import GroundLiteral, HypotheticalAnswer, Open
    from tidelog.runtime.actors.supervision import RestartPolicy
    from tidelog.runtime.batch.decisions.decision import Decision
    from tidelog.runtime.batch.decisions.entailment import consistent, entails
    from tidelog.runtime.batch.entry import materialise, read_frame
    from tidelog.runtime.batch.materialisation import Materialisation, MaterialisationStatistics
    from tidelog.runtime.columns.entry import backtest
    from tidelog.runtime.emission.violations import Violation
    from tidelog.runtime.engine import Engine
    from tidelog.runtime.islands.supervision import Supervision
    from tidelog.runtime.ports.actors import ActorStatistics
    from tidelog.runtime.ports.durability import Backlog, Keep
    from tidelog.runtime.sessions.session import Session

__all__ = [
    "ActorStatistics",
    "Answer",
    "Backlog",
    "BatchPlan",
    "Change",
    "ConnectorError",
    "DataError",
    "Decision",
    "Deed",
    "Diagnostic",
    "EndlessError",
    "Engine",
    "GroundLiteral",
    "HypotheticalAnswer",
    "Keep",
    "LateError",
    "Materialisation",
    "MaterialisationStatistics",
    "MemorySink",
    "MemorySource",
    "Open",
    "OpenAlarm",
    "OperatorError",
    "Plan",
    "ProgramError",
    "PushSource",
    "RestartPolicy",
    "Session",
    "SnapshotError",
    "SpecError",
    "StateDirectory",
    "StateError",
    "Supervision",
    "TidelogError",
    "Violation",
    "backtest",
    "compile",
    "compile_batch",
    "compile_batch_path",
    "compile_path",
    "consistent",
    "entails",
    "materialise",
    "open_sink",
    "open_source",
    "read_frame",
]

_HOMES = {
    "compiling": ("compile", "compile_batch", "compile_batch_path", "compile_path"),
    "connectors.sources.memory": ("MemorySink", "MemorySource", "PushSource"),
    "connectors.opening": ("open_sink", "open_source"),
    "connectors.store.state_store": ("StateDirectory",),
    "plans.compiling.batch": ("BatchPlan",),
    "plans.data.changes": ("Change",),
    "plans.diagnostics.errors": (
        "ConnectorError",
        "DataError",
        "Diagnostic",
        "EndlessError",
        "LateError",
        "OperatorError",
        "ProgramError",
        "SnapshotError",
        "SpecError",
        "StateError",
        "TidelogError",
    ),
    "plans.alarms.desk": ("Deed", "OpenAlarm"),
    "plans.data.facts": ("Answer",),
    "plans.plan.plan": ("Plan",),
    "plans.plan.questions": ("GroundLiteral", "HypotheticalAnswer", "Open"),
    "runtime.batch.decisions.decision": ("Decision",),
    "runtime.batch.decisions.entailment": ("consistent", "entails"),
    "runtime.batch.materialisation": ("Materialisation", "MaterialisationStatistics"),
    "runtime.ports.actors": ("ActorStatistics",),
    "runtime.ports.durability": ("Backlog", "Keep"),
    "runtime.engine": ("Engine",),
    "runtime.islands.supervision": ("Supervision",),
    "runtime.batch.entry": ("materialise", "read_frame"),
    "runtime.columns.entry": ("backtest",),
    "runtime.sessions.session": ("Session",),
    "runtime.actors.supervision": ("RestartPolicy",),
    "runtime.emission.violations": ("Violation",),
}

if not TYPE_CHECKING:  # a checker would take it that every name is there
    __getattr__, __dir__ = exports(__name__, _HOMES)
