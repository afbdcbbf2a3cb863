"""tidelog: a stream reasoner for the edge. Write temporal rules as text, feed facts, get what follows, at once."""

from tidelog.compiling import compile, compile_batch, compile_batch_path, compile_path
from tidelog.connectors.memory import MemorySink, MemorySource, PushSource
from tidelog.connectors.spec import open_sink, open_source
from tidelog.plans.batch import BatchPlan
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
from tidelog.runtime.engine import Engine
from tidelog.runtime.session import Session
from tidelog.runtime.supervision import RestartPolicy
from tidelog.runtime.violations import Violation

__all__ = [
    "Answer",
    "BatchPlan",
    "ConnectorError",
    "DataError",
    "Decision",
    "Diagnostic",
    "EndlessError",
    "Engine",
    "GroundLiteral",
    "HypotheticalAnswer",
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
    "StateError",
    "TidelogError",
    "Violation",
    "compile",
    "compile_batch",
    "compile_batch_path",
    "compile_path",
    "consistent",
    "entails",
    "open_sink",
    "open_source",
]
