"""tidelog: a stream reasoner for the edge. Write temporal rules as text, feed facts, get what follows, at once."""

from typing import TYPE_CHECKING

from tidelog import native
from tidelog.plans.lazy import exports

native.choose()

if TYPE_CHECKING:
    from tidelog.compiling import compile, compile_batch, compile_batch_path, compile_path
    from tidelog.connectors.memory import MemorySink, MemorySource, PushSource
    from tidelog.connectors.spec import open_sink, open_source
    from tidelog.connectors.state_store import StateDirectory
    from tidelog.plans.batch import BatchPlan
    from tidelog.plans.changes import Change
    from tidelog.plans.errors import (
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
    from tidelog.plans.facts import Answer
    from tidelog.plans.plan import Plan
    from tidelog.plans.questions import GroundLiteral, HypotheticalAnswer, Open
    from tidelog.runtime.batch.decision import Decision
    from tidelog.runtime.batch.entailment import consistent, entails
    from tidelog.runtime.batch.materialisation import Materialisation, MaterialisationStatistics
    from tidelog.runtime.durability import Backlog, Keep
    from tidelog.runtime.engine import Engine
    from tidelog.runtime.frames.entry import materialise, read_frame
    from tidelog.runtime.session import Session
    from tidelog.runtime.supervision import RestartPolicy
    from tidelog.runtime.violations import Violation

__all__ = [
    "Answer",
    "Backlog",
    "BatchPlan",
    "Change",
    "ConnectorError",
    "DataError",
    "Decision",
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
    "TidelogError",
    "Violation",
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
    "connectors.memory": ("MemorySink", "MemorySource", "PushSource"),
    "connectors.spec": ("open_sink", "open_source"),
    "connectors.state_store": ("StateDirectory",),
    "plans.batch": ("BatchPlan",),
    "plans.changes": ("Change",),
    "plans.errors": (
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
    "plans.facts": ("Answer",),
    "plans.plan": ("Plan",),
    "plans.questions": ("GroundLiteral", "HypotheticalAnswer", "Open"),
    "runtime.batch.decision": ("Decision",),
    "runtime.batch.entailment": ("consistent", "entails"),
    "runtime.batch.materialisation": ("Materialisation", "MaterialisationStatistics"),
    "runtime.durability": ("Backlog", "Keep"),
    "runtime.engine": ("Engine",),
    "runtime.frames.entry": ("materialise", "read_frame"),
    "runtime.session": ("Session",),
    "runtime.supervision": ("RestartPolicy",),
    "runtime.violations": ("Violation",),
}

if not TYPE_CHECKING:  # a checker would take it that every name is there
    __getattr__, __dir__ = exports(__name__, _HOMES)
