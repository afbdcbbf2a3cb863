"""tidelog: a stream reasoner for the edge. Write temporal rules as text, feed facts, get what follows, at once."""

from tidelog.compiling import compile, compile_path
from tidelog.connectors.memory import MemorySink, MemorySource
from tidelog.plans.errors import (
    ConnectorError,
    DataError,
    Diagnostic,
    LateError,
    OperatorError,
    ProgramError,
    SnapshotError,
    SpecError,
    TidelogError,
)
from tidelog.plans.facts import Answer
from tidelog.plans.plan import Plan
from tidelog.runtime.engine import Engine
from tidelog.runtime.session import Session

__all__ = [
    "Answer",
    "ConnectorError",
    "DataError",
    "Diagnostic",
    "Engine",
    "LateError",
    "MemorySink",
    "MemorySource",
    "OperatorError",
    "Plan",
    "ProgramError",
    "Session",
    "SnapshotError",
    "SpecError",
    "TidelogError",
    "compile",
    "compile_path",
]
