"""What the playground runs: a program over facts, with its answers and a timeline; what it says while one is typed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from tidelog.compiling import compile
from tidelog.connectors.formats.dividing import DividingDecoder, positions_of
from tidelog.connectors.formats.text.decoder import TextDecoder
from tidelog.connectors.formats.text.encoder import TextEncoder
from tidelog.editing.document import Draft, Findings, examine
from tidelog.editing.hovering import hover_text
from tidelog.editing.names import Names
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError, TidelogError
from tidelog.plans.diagnostics.source import render_diagnostics
from tidelog.plans.explaining.showing.plots import plot
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import AnyAnswer, EmitMode, Rejected
from tidelog.runtime.sessions.session import Session

_SOURCE = "facts"
_DRAFT = Draft()
MAX_STATE = 300_000
"""How many rows a run may hold: what a browser's tab has room for."""


class Options(TypedDict):
    """How to run: the mode of the answers, how late facts may be, the field that tells devices apart, dates or numbers."""

    emit: EmitMode
    lateness: str
    by: str
    iso: bool


class Outcome(TypedDict):
    """What came of it: answers and messages as lines of text, the timeline as SVG, and what is marked in the program."""

    answers: str
    messages: str
    picture: str
    marks: list[Mark]


class Mark(TypedDict):
    """What is wrong or doubtful in a program, and where: places count as the browser does, in units of UTF-16."""

    start: int
    end: int
    line: int
    severity: str
    message: str


class Hover(TypedDict):
    """What there is to say of a word, and where it begins."""

    start: int
    text: str


def run(program: str, facts: str, options: Options) -> Outcome:
    """Run a program over text facts, one a line. What is wrong is told in `messages`, and raises nothing."""
    try:
        plan = compile(program, name="program")
        told, messages, facts_taken = _stream(plan, facts, options, options["emit"])
        final = told if options["emit"] == "final" else _stream(plan, facts, options, "final")[0]
    except ProgramError as error:
        rendered = render_diagnostics(error.diagnostics, error.name, error.text)
        return Outcome(answers="", messages=rendered, picture="", marks=_marks(error.diagnostics, program))
    except (TidelogError, ValueError, TypeError) as error:
        return Outcome(answers="", messages=f"error: {error}\n", picture="", marks=[])
    warnings = render_diagnostics(plan.warnings, plan.name, plan.program.text) if plan.warnings else ""
    records = [*facts_taken, *(answer for answer in final if isinstance(answer, tuple))]
    return Outcome(
        answers=TextEncoder(plan.schema, iso=options["iso"], sentences=True).encode(told).decode(),
        messages=warnings + "".join(f"{line}\n" for line in messages),
        picture=plot(records, plan.schema, plan.program).svg if records else "",
        marks=_marks(plan.warnings, program),
    )


def look(program: str) -> list[Mark]:
    """What is wrong with a program while it is typed, as far as it can be told without its plan."""
    return _marks(_DRAFT.look(program).diagnostics, program)


def hover(program: str, at: int) -> Hover | None:
    """What the language server says of the word at a place; None where there is nothing to say."""
    offset = len(program.encode("utf-16-le", "surrogatepass")[: 2 * at].decode("utf-16-le", "ignore"))
    found = hover_text(Names(program), _findings(program), offset)
    return None if found is None else Hover(start=_units(program, found[1].start), text=_plain(found[0]))


@lru_cache(maxsize=1)
def _findings(program: str) -> Findings:
    """What a program's plan tells of its predicates."""
    return examine(_DRAFT.look(program), Path(), deeply=False)


def _plain(markdown: str) -> str:
    """A text of the language server without the signs of Markdown."""
    return re.sub(r"```(?:tide)?\n?|[*`]", "", markdown).strip()


def _marks(found: Iterable[Diagnostic], program: str) -> list[Mark]:
    return [
        Mark(
            start=_units(program, item.span.start),
            end=_units(program, item.span.end),
            line=program.count("\n", 0, item.span.start) + 1,
            severity=item.severity,
            message="\n".join(part for part in (item.message, item.help) if part),
        )
        for item in found
    ]


def _units(text: str, offset: int) -> int:
    return len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


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
