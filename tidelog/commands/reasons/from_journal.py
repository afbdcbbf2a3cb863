"""What a run has read, from its journal, for `why` and `verify`."""

from __future__ import annotations

import argparse

from tidelog.commands.given import named_facts
from tidelog.commands.outcome import count, load_plan
from tidelog.commands.stored.replay import plan_of, say_what_was_left_out
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.durable.replaying import Replayed, forget_before_journal, head_of, replay, session_for
from tidelog.runtime.sessions.reasoner import Reasoner


def check_alone(options: argparse.Namespace) -> None:
    """SpecError where files of facts are named beside a state."""
    if named := named_facts(options):
        raise SpecError(f"--state takes the facts from the journal of a run, and `{named[0]}` beside it is none")


def remembered(options: argparse.Namespace) -> tuple[Plan, Reasoner]:
    """The plan of a run, or of another program, and a session that has been told the run's journal.

    The session remembers the last facts that it accepted, `--max-state` at most, and knows that those before are not known.

    DataError with `--strict` where facts of the journal cannot be used.
    """
    most = options.max_state
    with StateDirectory(options.state, read_only=True) as store:
        head = head_of(store)
        before = plan_of(head)
        plan = before if options.program is None else load_plan(options.program)
        done = Replayed()
        session = session_for(head, plan, before.timeline, remember=most, max_state=most)
        forget_before_journal(session, store)
        for _ in replay(store, session, POS, done):
            pass
    left_out = say_what_was_left_out(done)
    if options.strict and left_out:
        raise DataError(f"{count(left_out, 'fact')} of the journal could not be used (`--strict`)")
    return plan, session
