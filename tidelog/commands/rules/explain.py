"""`tidelog explain`: a program as read, in normal form, as a plan, as code, or with its facts as a formula of LTL."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import get_args

from tidelog.commands.batch.facts import (
    load,
    load_batch_plan,
    parse_facts,
    write_lines,
)
from tidelog.commands.batch.notes import IN_BATCH, batch_plan_if_any
from tidelog.commands.given import add_facts, named_facts
from tidelog.commands.outcome import BAD, DONE, USAGE, load_plan, say, show_diagnostics, write_out
from tidelog.commands.progress import Progress
from tidelog.operators.horn.grounding import ground
from tidelog.operators.joins.shown_code import describe_code
from tidelog.operators.ltl.printing import describe
from tidelog.operators.ltl.translation import translate
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.diagnostics.errors import MethodError, ProgramError, SpecError
from tidelog.plans.explaining.islands import explain_islands
from tidelog.plans.explaining.text import explain
from tidelog.plans.islands.islands import Cut
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.batch.decisions.relevance import predicates_read, refined


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("program", metavar="PROGRAM", help="the file of the program")
    add_facts(parser, "none; with `--stage ltl` alone")
    parser.add_argument(
        "--stage",
        choices=("text", "normal", "plan", "code", "ltl"),
        default="plan",
        help="which form of the program (default plan)",
    )
    parser.add_argument(
        "--format", choices=("text", "mermaid", "json", "svg"), default="text", help="how to show it (default text)"
    )
    parser.add_argument("--all", action="store_true", help="with `--format svg`: all steps, however wide the picture is")
    parser.add_argument(
        "--actors",
        action="store_true",
        help="the parts that can run beside each other, with their keys, in place of the steps",
    )
    parser.add_argument(
        "--by", choices=get_args(Cut), help="with `--actors`: the parts are islands (the default), or each rule, as in `run`"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print one stage of a program."""
    _check(options)
    if options.stage == "ltl":
        return _as_formula(options)
    if named_facts(options):
        raise SpecError(f"`--stage {options.stage}` shows a program alone: facts are for `--stage ltl`")
    if options.stage == "code":
        _require_text(options.stage, options.format)
    try:
        plan: Plan | BatchPlan = load_plan(options.program)
    except ProgramError as error:
        in_batch = batch_plan_if_any(options.program)
        if in_batch is None:
            raise
        if options.stage in ("plan", "code"):
            show_diagnostics(error.diagnostics, error.name, error.text)
            say(f"{IN_BATCH}: `--stage text` and `--stage normal` show it")
            return BAD
        plan = replace(in_batch, program=parse(in_batch.program.text, in_batch.name))  # with what it asks, too
    if options.stage == "code" and isinstance(plan, Plan):
        write_lines(describe_code(plan.steps))
        return DONE
    if options.actors and isinstance(plan, Plan):
        write_out(explain_islands(plan, options.format, options.by or "islands").rstrip("\n") + "\n")
        return DONE
    try:
        shown = explain(plan, options.stage, options.format, unfold=options.all)
    except ValueError as error:
        raise SpecError(str(error)) from error
    write_out(shown.rstrip("\n") + "\n")
    return DONE


def _check(options: argparse.Namespace) -> None:
    """SpecError for options that do not go together."""
    if options.all and (options.format != "svg" or options.actors):
        raise SpecError("`--all` is for `--format svg` without `--actors`: only pictures of steps are folded")
    if options.actors and options.stage != "plan":
        raise SpecError(f"`--actors` shows parts of the plan, not the stage `{options.stage}`: leave out `--stage`")
    if options.by and not options.actors:
        raise SpecError("`--by` says which parts `--actors` shows: it needs `--actors`")


def _require_text(stage: str, format: str) -> None:
    if format != "text":
        raise SpecError(f"cannot show the stage `{stage}` as {format}: `text` is its one format")


def _as_formula(options: argparse.Namespace) -> int:
    """Print the LTL formula that is satisfiable exactly if the program and its facts are consistent."""
    _require_text("ltl", options.format)
    with Progress() as progress:
        plan = load_batch_plan(options.program)
        specs = parse_facts(options)
        loader = load(plan, plan.timeline, specs, progress, predicates_read(plan), is_strict=options.strict)
        try:
            translation = translate(ground(refined(plan, loader.timeline), loader.drain()))
        except MethodError as error:
            say(f"error: {error}")
            return USAGE
        progress.clear()
        write_lines(describe(translation))
        return DONE
