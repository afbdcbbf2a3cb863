"""Check: `always[5min] p`, which looks ahead where most people mean to look back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidelog.plans.diagnostics.errors import Diagnostic, Span
from tidelog.plans.tree import syntax
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import statements_of

_ONE_BOUND = re.compile(r"(?P<word>always|sometime)\s*\[\s*(?P<time>\d[^,\]]*?)\s*\]", re.IGNORECASE)


def check_direction(program: syntax.Program) -> Iterator[Diagnostic]:
    """`ALWAYS[a,b]` and `SOMETIME[a,b]` look ahead, as in MeTeoR; one bound without a sign hints at "for so long"."""
    for rule in statements_of(program, syntax.Rule):
        for formula in rule.body:
            for part in subformulas(formula):
                if isinstance(part, syntax.Unary) and part.interval.is_punctual and part.interval.low > 0:
                    yield from _ahead(program, part)


def _ahead(program: syntax.Program, part: syntax.Unary) -> Iterator[Diagnostic]:
    written = _ONE_BOUND.match(program.text, part.span.start, part.span.end)
    if written is None:
        return
    back = "boxminus" if written["word"].lower() == "always" else "diamondminus"
    time = "".join(written["time"].split())
    message = f"`{written[0]}` looks ahead, at one time alone"
    help = f"`{back}[0,{time}]` looks back; write `{part.operator}[{time}]` if this is meant"
    yield Diagnostic("looks-ahead", message, Span(*written.span()), help=help, severity="warning")
