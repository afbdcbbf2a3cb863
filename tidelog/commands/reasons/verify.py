"""`tidelog verify`: check what `tidelog why --format json` says, from the program's text and the facts alone."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from typing import Any

from tidelog.commands.batch.facts import parse_facts, write_lines
from tidelog.commands.given import add_facts
from tidelog.commands.outcome import BAD, DONE, add_max_state, say
from tidelog.commands.progress import Progress
from tidelog.commands.reasons.from_journal import check_alone, remembered
from tidelog.commands.reasons.given_facts import GivenFacts, load_any_plan, load_given
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Background, CalendarDeclaration
from tidelog.plans.tree.walk import statements_of
from tidelog.runtime.network.state_bound import MAX_STATE_IN_BATCH
from tidelog.verifier.certificate import Verifier
from tidelog.verifier.times import Refused

MOST_BYTES = 64 * 1024 * 1024
"""A certificate that is longer is refused unread."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="the file of the program")
    add_facts(parser, "those of the program alone")
    parser.add_argument("certificate", metavar="CERTIFICATE", help="the file of the certificate")
    parser.add_argument("--state", metavar="DIR", help="take the facts, and the program, from the journal of a run")
    add_max_state(parser, MAX_STATE_IN_BATCH)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print `true` where every certificate of the file proves what it says, otherwise `false`, and why on standard error."""
    if options.state is not None:
        check_alone(options)
    elif options.program is None:
        raise SpecError("expected the file of a program: `tidelog verify PROGRAM FACTS… CERTIFICATE`")
    certificates = list(_certificates(options.certificate))
    with Progress() as progress:
        plan, given = _journaled(options) if options.state is not None else _of_files(options, progress)
        backgrounds = {item.predicate for item in plan.program.statements if isinstance(item, Background)}
        verifier = Verifier(
            plan.program.text,
            ((name, row, given.timeline.decode_interval(lo, hi)) for name, row, lo, hi in given.records),
            [record[:2] for record in plan.facts if record[0] in backgrounds and record[2:] == (NEG, POS)],
            {item.predicate: item.events or () for item in statements_of(plan.program, CalendarDeclaration)},
        )
        try:
            for certificate in certificates:
                verifier.check(certificate)
        except Refused as refused:
            progress.clear()
            say(f"refused: {refused}")
            write_lines(["false"])
            return BAD
    write_lines(["true"])
    return DONE


def _of_files(options: argparse.Namespace, progress: Progress) -> tuple[BatchPlan | Plan, GivenFacts]:
    plan = load_any_plan(options.program)
    return plan, load_given(plan.schema, parse_facts(options), progress, is_strict=options.strict)


def _journaled(options: argparse.Namespace) -> tuple[Plan, GivenFacts]:
    plan, session = remembered(options)
    return plan, GivenFacts(plan.timeline, session.memory.facts)


def _certificates(path: str) -> Iterator[Any]:
    """The certificates of a file, of which there may be several, one a line; DataError for what is no JSON."""
    text = _read(path).strip()
    decoder, at = json.JSONDecoder(), 0
    while at < len(text) or not at:
        try:
            certificate, at = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = "is nested too deep" if isinstance(error, RecursionError) else f"is no JSON: {error}"
            raise DataError(f"the certificate {reason}", path) from None
        yield certificate
        while text[at : at + 1].isspace():
            at += 1


def _read(path: str) -> str:
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError(f"cannot read `{path}`: {os.strerror(error.errno or 0)}") from error
    if len(data) > MOST_BYTES:
        raise DataError(f"the certificate has more than {MOST_BYTES} bytes", path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"the certificate is not UTF-8: {error.reason} at byte {error.start}", path) from None
