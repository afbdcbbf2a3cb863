"""What the playground runs: a program over facts, line by line, with its answers as text and as a timeline."""

from __future__ import annotations

from typing import TypedDict

from tidelog.compiling import compile
from tidelog.connectors.formats.dividing import DividingDecoder, positions_of
from tidelog.connectors.formats.text.decoder import TextDecoder
from tidelog.connectors.formats.text.encoder import TextEncoder
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ProgramError, TidelogError
from tidelog.plans.diagnostics.source import render_diagnostics
from tidelog.plans.explaining.showing.plots import plot
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import AnyAnswer, EmitMode, Rejected
from tidelog.runtime.sessions.session import Session

_SOURCE = "facts"
MAX_STATE = 300_000
"""How many rows a run may hold: what a browser's tab has room for."""


class Options(TypedDict):
    """How to run: the mode of the answers, how late facts may be, the field that tells devices apart, dates or numbers."""

    emit: EmitMode
    lateness: str
    by: str
    iso: bool


class Outcome(TypedDict):
    """What came of it: the answers and the messages as lines of text, the timeline as SVG."""

    answers: str
    messages: str
    picture: str


def run(program: str, facts: str, options: Options) -> Outcome:
    """Run a program over text facts, one a line. What is wrong is told in `messages`, and raises nothing."""
    try:
        plan = compile(program, name="program")
        told, messages, facts_taken = _stream(plan, facts, options, options["emit"])
        final = told if options["emit"] == "final" else _stream(plan, facts, options, "final")[0]
    except ProgramError as error:
        return Outcome(answers="", messages=render_diagnostics(error.diagnostics, error.name, error.text), picture="")
    except (TidelogError, ValueError, TypeError) as error:
        return Outcome(answers="", messages=f"error: {error}\n", picture="")
    warnings = render_diagnostics(plan.warnings, plan.name, plan.program.text) if plan.warnings else ""
    records = [*facts_taken, *(answer for answer in final if isinstance(answer, tuple))]
    return Outcome(
        answers=TextEncoder(plan.schema, iso=options["iso"], sentences=True).encode(told).decode(),
        messages=warnings + "".join(f"{line}\n" for line in messages),
        picture=plot(records, plan.schema, plan.program).svg if records else "",
    )


def _stream(plan: Plan, facts: str, options: Options, emit: EmitMode) -> tuple[list[AnyAnswer], list[str], list[Record]]:
    """The answers, the messages, and the facts that were taken."""
    session = Session(plan, emit=emit, lateness=options["lateness"], sources=(_SOURCE,), max_state=MAX_STATE)
    plain = TextDecoder(plan.schema, _SOURCE)
    by = options["by"]
    decoder = DividingDecoder(plain, positions_of(by, plan.schema, None, f"by={by}")) if by else plain
    told: list[AnyAnswer] = []
    messages: list[str] = []
    taken: list[Record] = []
    for number, line in enumerate(facts.splitlines(), 1):
        batch = decoder.decode([line.encode()], number)
        refused = session.take(_SOURCE, batch)
        taken += [] if refused else batch.records
        messages += map(_line, [*batch.rejected, *refused])
        told += [*session.pull_records(), *session.pull_hypothetical()]
        messages += map(str, session.pull_violations())
    messages += map(_line, session.end(_SOURCE))
    told += [*session.pull_records(), *session.pull_hypothetical()]
    messages += map(str, session.pull_violations())
    return told, messages, taken


def _line(rejected: Rejected) -> str:
    return f"{rejected.place}: {rejected.reason}: {rejected.raw.decode(errors='replace')}"
