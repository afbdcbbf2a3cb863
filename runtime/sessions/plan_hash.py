"""What tells the plan of a snapshot from another; that of a stored run is in `runtime/journal/manifest.py`."""

from __future__ import annotations

import hashlib

from tidelog.plans.data.once import once_per_object
from tidelog.plans.language.printing import format_program, format_statement
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Ask


def _plan_hash(plan: Plan) -> str:
    steps = [(step.id, step.rule, step.inputs) for step in plan.steps]
    asked = [(format_statement(Ask(question.query)), question.depth) for question in plan.questions]
    parts = (format_program(plan.program), steps, asked, sorted(plan.outputs), plan.facts)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


plan_hash = once_per_object(_plan_hash, most=16)
"""A hash of a plan's program, as printed, its steps, its questions and its facts."""
