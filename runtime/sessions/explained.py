"""What holds in the end of a stream: for programs with tuple windows or times as values, which are not for batches."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.network.state_bound import MAX_STATE
from tidelog.runtime.sessions.session import Session
from tidelog.runtime.why.evidence.model import Writing
from tidelog.runtime.why.explain import Explainer
from tidelog.runtime.why.told import explainer_of


def explainer_of_stream(
    plan: Plan, records: Iterable[Record], at: Writing = None, max_state: int | None = MAX_STATE
) -> Explainer:
    """Explains what follows from facts, given in the order in which they arrived, by a plan that tells all."""
    in_order = sorted(records, key=lambda record: record[2])
    session = Session(plan, emit="final", max_state=max_state)
    session.push_records(in_order)
    session.finish()
    start = min((record[2] for record in in_order), default=None)
    return explainer_of(plan, in_order, session.pull_records(), start, at)
