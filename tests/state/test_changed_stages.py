"""A program that is spread over stages changes: each session goes on as a run with a state does, or it is told why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from analysis.staged import StagedRun
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from state.changing import KEEP, Memory, half
from state.test_changed_program import BODIES, of
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.facts import Record
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.migration.staged import open_noting_stage
from tidelog.runtime.ports.interfaces import StageMode

BEGIN = "timeline integer. input on(x). input off(x). input at(x, place).\n"
LATER = [
    "",
    "busy(P) :- at(_, P), diamondminus[0,3] at(X, P), on(X).",
    "seen(P) :- kept(X), diamondminus[0,2] at(X, P).",
    "quiet(P) :- diamondminus[0,9] at(_, P), not diamondminus[0,2] at(_, P).",
]
"""Rules with another key than those over `on` and `off`, or that follow from these."""


@st.composite
def changes(draw: st.DrawFn) -> tuple[Plan, Plan, list[Record], int]:
    """A program of several rules and the same with some others, facts for both, and how many come before the change."""
    kept, later = draw(st.sampled_from(BODIES[:9])), draw(st.sampled_from(LATER))
    body, other = (draw(st.sampled_from(BODIES)) for _ in range(2))
    texts = [
        f"{BEGIN}kept(X) :- {kept}.\n{later}\n{f'q(X) :- {rule}.' if has else ''}"
        for rule, has in ((body, True), (other, draw(st.booleans())))
    ]
    if draw(st.booleans()):
        texts[1] += "\n" + draw(st.sampled_from(LATER)) if not later else ""
    if draw(st.booleans()):
        texts.reverse()
    plans = [compile_program(parse(text)) for text in texts]
    stream: list[Record] = []
    for time in sorted(draw(st.lists(st.integers(0, 14), min_size=3, max_size=14))):
        end = time + draw(st.sampled_from([0, 0, 3]))
        name, key = draw(st.sampled_from(["on", "on", "off", "at"])), draw(st.sampled_from("kj"))
        stream.append((name, (key, draw(st.sampled_from("ab"))) if name == "at" else (key,), time, end))
    return plans[0], plans[1], stream, draw(st.integers(1, len(stream)))


@pytest.mark.slow
@drawn(60)
@given(data=st.data())
def test_it_answers_as_a_run_with_a_state_does(data: st.DataObject) -> None:
    """What is kept or filled tells, over the change and behind it, what a gateway tells over the same change."""
    before, now, stream, cut = data.draw(changes())
    emit: StageMode = data.draw(st.sampled_from(["intervals", "final", "changes"]))
    keep = data.draw(st.sampled_from([None, KEEP]))
    store = Memory()
    options: dict[str, Any] = {"emit": emit, "lateness": 2, "keep": keep}
    told, frontier = half(before, store, stream[:cut], **options)
    more, _ = half(now, store, stream, last=True, reload="drop", **options)
    run = StagedRun(before, emit=emit, open_stage=open_noting_stage)
    run.push(stream[:cut])
    found = run.advance(before.timeline.decode_point(frontier))
    goes_on, at_once, becomings = run.changed_to(now, frontier, stream[cut - 1][2], keeps=keep is not None)
    goes_on.push(stream[cut:])
    found_more = [*at_once, *goes_on.finish()]
    sound = {item.name for item in becomings if item.fate == "kept" or item.told.endswith("filled from the journal")}
    gone = {item.name for item in becomings if item.fate == "ended"}
    assert set(now.outputs) | gone == {item.name for item in becomings}
    for output in sound:
        pairs = [
            of(output, [*one, *_behind(frontier, then, emit)], emit) for one, then in ((found, found_more), (told, more))
        ]
        assert pairs[0] == pairs[1], (output, format_program(before.program), format_program(now.program), stream, cut)
    if keep is not None and emit == "intervals":
        for output in {*before.outputs, *now.outputs}:
            of(output, [*found, *found_more], emit)  # no time is told twice, whatever becomes of it


def _behind(frontier: int, told: Sequence[Record], emit: StageMode) -> list[Record]:
    """What is told at the change and later. How much of an interval lies before, as it is told in pieces, may differ."""
    if emit != "intervals":
        return [*told]
    return [(name, row, max(lo, frontier + 1), hi) for name, row, lo, hi in told]
