"""What of a history a picture from one time to another needs: what lies in it, and as far around it as rules look."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tidelog.commands.rules.plot_columns import are_large
from tidelog.compiling import compile_whole_path
from tidelog.connectors.spec import Spec
from tidelog.plans.analysis.horizons.around import Around, around
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import DataError, ProgramError, SpecError
from tidelog.plans.explaining.showing.plots import PlotOptions, encoded_ends
from tidelog.plans.plan.plan import Plan


def needed_of(options: argparse.Namespace, plan: Plan) -> Around:
    """What a picture by this plan needs; SpecError where the times make no picture."""
    try:
        begin, end = encoded_ends(plan.schema, PlotOptions(begin=options.begin, end=options.end))
    except (DataError, ValueError) as error:
        raise SpecError(str(error)) from error
    return around(plan, options.predicates or plan.schema.predicates, begin, end)


def needed_by_rows(options: argparse.Namespace, specs: Sequence[Spec], timeline: Timeline) -> Around:
    """The same where facts are read row by row, which are encoded for this timeline: all where these are few.

    So it is with constraints, which are looked at over the whole history, and with `--until`.
    """
    has_window = options.begin is not None or options.end is not None
    if not has_window or options.until is not None or not are_large(specs):
        return Around()
    try:
        plan = compile_whole_path(options.program)
    except ProgramError:  # batch reasoning can take more than a stream
        return Around()
    return Around() if plan.constraints or plan.timeline != timeline else needed_of(options, plan)
