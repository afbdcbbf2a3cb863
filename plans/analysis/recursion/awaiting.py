"""What looks ahead without end: it is certain as soon as what it looks for has come, and open until then.

So what follows from `diamondplus[a,inf)` or `until[a,inf)` is never known to be absent while the stream goes on: its
frontier stays behind all times (a lead of `NEG`). Steps that take what comes whenever it comes go on from it. Who has to
know what does not hold would wait until the stream's end, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tidelog.plans.data.facts import format_predicate
from tidelog.plans.data.timeline import NEG
from tidelog.plans.diagnostics.errors import Diagnostic, Span
from tidelog.plans.plan.plan import (
    AntiJoinShape,
    DilateShape,
    ErodeShape,
    HoldShape,
    JoinShape,
    PairShape,
    Step,
    UnionShape,
)
from tidelog.plans.plan.shapes import awaits, lead_of_feed
from tidelog.plans.tree.reaching import reachable


def check_awaiting(steps: Sequence[Step], leads: Mapping[str, int], span_of: Callable[[Step], Span]) -> Iterator[Diagnostic]:
    """The steps that would have to know when something does not hold that may be found to hold at any later time."""
    by_name = {step.id: step for step in steps}
    for step in steps:
        late = [feed for port, feed in enumerate(step.inputs) if lead_of_feed(feed, leads) <= NEG and not _takes(step, port)]
        if not late:
            continue
        open_ended = reachable([feed.name for feed in late], lambda name: by_name[name].feeders)
        cause = next(each for name, each in by_name.items() if name in open_ended and awaits(each.shape))
        what = f"`{step.source}`" if step.source else f"`{format_predicate(step.predicate)}`"
        message = (
            f"{what} has to know when something does not hold that looks ahead without end, which a stream never decides"
        )
        help = "give the operator a finite interval; without one it may stand where only what holds matters"
        notes = () if cause.source == step.source else (f"`{cause.source}` looks ahead without end",)
        yield Diagnostic("infinite-delay", "; ".join((message, *notes)), span_of(step), help=help)


def _takes(step: Step, port: int) -> bool:
    """Whether a port takes what holds whenever it comes to be known."""
    match step.shape:
        case AntiJoinShape():
            return port == 0 and step.loop is None
        case UnionShape() | JoinShape() | DilateShape() | HoldShape() | PairShape():
            return True
        case ErodeShape(clipped=clipped):
            return not clipped
    return False
