"""`tidelog check`: the errors and warnings of a program, and with -v its analysis."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from tidelog.commands.batch.notes import IN_BATCH, batch_plan_if_any
from tidelog.commands.numbers import duration, positive
from tidelog.commands.outcome import BAD, DONE, load_plan, say, show_diagnostics, write_out
from tidelog.plans.diagnostics.errors import ProgramError, SpecError
from tidelog.plans.diagnostics.source import diagnostics_to_fields, to_fields
from tidelog.plans.language.parser import parse
from tidelog.plans.tree.syntax import Ask

if TYPE_CHECKING:
    from tidelog.plans.compiling.batch import BatchPlan
    from tidelog.plans.plan.plan import Plan


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("program", metavar="PROGRAM", help="the file of the program")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the analysis: delay, window, memory bound …")
    parser.add_argument("--objects", type=positive, metavar="N", help="how many constants the stream has, for the bounds")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="for people, or for programs (default text)"
    )
    parser.add_argument(
        "--prove", action="store_true", help="say what the rules can tell without data, with facts that show it"
    )
    parser.add_argument(
        "--time", type=duration, default=10.0, metavar="D", help="with --prove: look for so long (default 10s)"
    )
    parser.add_argument("--scenarios", metavar="FILE", help="with --prove: write the facts found as tests of rules")
    parser.add_argument(
        "--against",
        metavar="OLD",
        help="with --prove: what the program tells that this one does not, and the other way round",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check a program: exit code 1 if it has errors."""
    for option in ("scenarios", "against"):
        if getattr(options, option) is not None and not options.prove:
            raise SpecError(f"--{option} is for --prove: give it, too")
    try:
        plan = load_plan(options.program)
    except ProgramError as error:
        return _show_errors(error, options)
    if options.prove:
        return _prove(plan, options)
    if options.verbose:
        return _show_analysis(plan, options)
    if options.format == "json":
        _print_json({"diagnostics": diagnostics_to_fields(plan.warnings, plan.name, plan.program.text)})
    else:
        show_diagnostics(plan.warnings, plan.name, plan.program.text)
    return DONE


def _prove(plan: Plan, options: argparse.Namespace) -> int:
    """Show what is proved of a program, and write its witnesses."""
    from tidelog.commands.rules import prove  # noqa: PLC0415 - loads the engine, which a check has no use for
    from tidelog.testing.against import against  # noqa: PLC0415 - as above
    from tidelog.testing.proving import prove as found  # noqa: PLC0415 - as above

    old = None if options.against is None else load_plan(options.against)
    proof = found(plan, options.time)
    compared = None if old is None else against(plan, old, options.time)
    diagnostics = (*plan.warnings, *proof.findings)
    if options.format == "json":
        shown = diagnostics_to_fields(diagnostics, plan.name, plan.program.text)
        analysis = _analysis_fields(plan, options) if options.verbose else {}
        beside = {} if compared is None else {"against": prove.against_fields(compared)}
        _print_json({"diagnostics": shown, **analysis, "proved": prove.fields(proof), **beside})
    else:
        show_diagnostics(diagnostics, plan.name, plan.program.text)
        write_out(_analysis_text(plan, options) if options.verbose else "")
        write_out(prove.text(proof))
        if compared is not None:
            write_out(prove.against_text(compared, (options.program, options.against)))
    if options.scenarios is not None:
        prove.write_scenarios(proof, options.program, options.scenarios)
    return DONE


def _show_analysis(plan: Plan, options: argparse.Namespace) -> int:
    """Show the warnings of a program, and its analysis."""
    if options.format == "json":
        shown = diagnostics_to_fields(plan.warnings, plan.name, plan.program.text)
        _print_json({"diagnostics": shown, **_analysis_fields(plan, options)})
    else:
        show_diagnostics(plan.warnings, plan.name, plan.program.text)
        write_out(_analysis_text(plan, options))
    return DONE


def _analysis_text(plan: Plan, options: argparse.Namespace) -> str:
    from tidelog.commands.rules.check_reports import text  # noqa: PLC0415 - takes longer to load than programs to check

    return text(plan, batch_plan_if_any(options.program), options.objects)


def _analysis_fields(plan: Plan, options: argparse.Namespace) -> dict[str, object]:
    from tidelog.commands.rules.check_reports import fields  # noqa: PLC0415 - as above

    return fields(plan, batch_plan_if_any(options.program), options.objects)


def _show_errors(error: ProgramError, options: argparse.Namespace) -> int:
    """Show why a stream cannot take a program, and whether batch reasoning can."""
    from tidelog.commands.rules.check_reports import batch_fields, batch_lines  # noqa: PLC0415 - as above

    batch = _batch_plan_instead(options.program)
    if options.format == "json":
        _print_json({"diagnostics": to_fields(error), "batch": batch_fields(batch) if batch else None})
        return BAD
    show_diagnostics(error.diagnostics, error.name, error.text)
    if batch is None:
        return BAD
    if options.verbose:
        lines = ["a stream cannot take this program, batch reasoning can", *batch_lines(batch)]
        write_out("".join(f"{line}\n" for line in lines))
    else:
        say(IN_BATCH)
    return BAD


def _batch_plan_instead(path: str) -> BatchPlan | None:
    """The batch plan of a program that streams cannot take; None where it asks, which is for streams alone."""
    plan = batch_plan_if_any(path)
    asks = plan is not None and any(isinstance(item, Ask) for item in parse(plan.program.text, plan.name).statements)
    return None if asks else plan


def _print_json(fields: dict[str, object]) -> None:
    write_out(json.dumps(fields, indent=2, ensure_ascii=False) + "\n")
