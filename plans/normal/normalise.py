"""From a program to its normal form: one ordered tuple of passes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.normal.lower_heads import lower_heads
from tidelog.plans.normal.naming.name_constraints import name_constraints
from tidelog.plans.normal.naming.name_wildcards import name_wildcards
from tidelog.plans.normal.program import NormalProgram, as_program, begin
from tidelog.plans.normal.sharing.leave_to_ask import leave_to_ask
from tidelog.plans.normal.sharing.part_products import part_products
from tidelog.plans.normal.sharing.prune import prune
from tidelog.plans.normal.sharing.share import share
from tidelog.plans.normal.sharing.share_joins import share_joins
from tidelog.plans.normal.sharing.simplify import simplify
from tidelog.plans.normal.splitting.close_scopes import close_scopes
from tidelog.plans.normal.splitting.flatten import flatten
from tidelog.plans.normal.splitting.keep_assigned import keep_assigned
from tidelog.plans.normal.splitting.separate_negation import separate_negation
from tidelog.plans.normal.splitting.split_aggregates import split_aggregates
from tidelog.plans.normal.splitting.split_constants import split_constants
from tidelog.plans.normal.splitting.split_since import split_since
from tidelog.plans.normal.splitting.split_windows import split_windows
from tidelog.plans.normal.times.bind_times import bind_times
from tidelog.plans.normal.times.expand_windows import expand_windows
from tidelog.plans.normal.times.resolve_times import resolve_times
from tidelog.plans.normal.times.step_back import step_back
from tidelog.plans.normal.times.sustain import sustain
from tidelog.plans.tree.syntax import Program

Stage = Callable[[NormalProgram], NormalProgram]

STAGES: tuple[Stage, ...] = (
    name_constraints,
    leave_to_ask,
    keep_assigned,
    resolve_times,
    split_aggregates,
    bind_times,
    split_windows,
    expand_windows,
    lower_heads,
    simplify,
    sustain,
    close_scopes,
    name_wildcards,
    split_since,
    flatten,
    separate_negation,
    split_constants,
    step_back,
    part_products,
    share,
    prune,
    share_joins,
)
"""The passes, in order. Each takes what the one before it made, and keeps the program's meaning."""


def normalise(program: Program, keep: Iterable[str] | None = None, *, without: Collection[Stage] = ()) -> NormalProgram:
    """The normal form of a checked program (Wałęga et al. 2023, Definition 5 and Proposition 6).

    `keep` names the predicates that are asked for, in place of the outputs; what they do not need is dropped. Passes that
    hold for streams alone may be left out.
    Fresh predicates are named the same each time. ProgramError, with every reason, for what no operator computes.
    """
    for _, program_so_far in run_stages(program, keep, without=without):
        normal = program_so_far
    return normal


def run_stages(
    program: Program, keep: Iterable[str] | None = None, *, without: Collection[Stage] = ()
) -> Iterator[tuple[str, NormalProgram]]:
    """Run the passes one by one, but for those left out: each one's name, and the program behind it."""
    current = begin(program, keep)
    try:
        for stage in (stage for stage in STAGES if stage not in without):
            current = stage(current)
            yield stage.__name__, current
    except ProgramError as error:
        raise ProgramError(error.diagnostics, program.name, program.text) from error


def text_after(stage: str, text: str) -> str:
    """A program's text as the passes up to this one leave it."""
    for name, program in run_stages(parse(text)):
        if name == stage:
            return format_program(as_program(program)).rstrip()
    raise KeyError(stage)
