"""A program that is spread over stages changes: each session goes on as a run with a state does, or it is told why not."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
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
from tidelog.plans.data.timeline import NEG
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.columns.stages.flow import open_flow
from tidelog.runtime.migration.staged import open_noting_stage
from tidelog.runtime.ports.interfaces import StageMode

BEGIN = "timeline integer. input on(x). input off(x). input at(x, place).\n"
LATER = [
    "",
    "busy(P) :- at(_, P), diamondminus[0,3] at(X, P), on(X).",
    "seen(P) :- kept(X), diamondminus[0,2] at(X, P).",
    "quiet(P) :- diamondminus[0,9] at(_, P), not diamondminus[0,2] at(_, P).",
    "used(P) :- kept(X), diamondminus[0,9] at(X, P).\nseen(P) :- diamondminus[0,3] used(P).",
    "used(P) :- kept(X), diamondminus[0,9] at(X, P).\nseen(P) :- at(_, P), diamondplus[0,2] used(P).",
]
"""Rules with another key than those over `on` and `off`, in a stage behind these, or in one with them."""


@st.composite
def changes(draw: st.DrawFn) -> tuple[list[Plan], list[Record], list[int]]:
    """A program of several rules, the same with some others, and perhaps the first again; facts for all of them, and how
    many come before each change."""
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
    cuts = sorted(draw(st.lists(st.integers(1, len(stream)), min_size=1, max_size=2)))
    return [*plans, plans[0]][: len(cuts) + 1], stream, cuts


@pytest.mark.slow
@drawn(60)
@given(data=st.data())
def test_it_answers_as_a_run_with_a_state_does(data: st.DataObject) -> None:
    """What is kept, or filled from a whole journal, tells, over one change or two, what a gateway tells over them."""
    plans, stream, cuts = data.draw(changes())
    emit: StageMode = data.draw(st.sampled_from(["intervals", "final", "changes"]))
    keep = data.draw(st.sampled_from([None, KEEP]))
    options: dict[str, Any] = {"emit": emit, "lateness": 2, "keep": keep, "reload": "drop"}
    opener = data.draw(st.sampled_from([open_noting_stage, open_flow])) if keep is None else open_noting_stage
    store, run = Memory(), StagedRun(plans[0], emit=emit, open_stage=opener)
    right, found, begun, frontier_before = list[Record](), list[Record](), 0, NEG
    unsound, lost = set[str](), set[str]()
    for plan, now, cut in zip(plans, plans[1:], cuts, strict=False):
        told, frontier = half(plan, store, stream[:cut], **options)
        run.push(stream[begun:cut])
        found += _behind(frontier_before, run.advance(plan.timeline.decode_point(frontier)), emit)
        right += _behind(frontier_before, told, emit)
        run, at_once, becomings = run.changed_to(now, frontier, stream[cut - 1][2], keeps=keep is not None)
        found += _behind(frontier, at_once, emit)
        kept = {
            item.name
            for item in becomings
            if item.fate == "kept" or (keep and item.told.endswith("filled from the journal"))
        }
        gone = {item.name for item in becomings if item.fate == "ended"}
        assert set(now.outputs) | gone == {item.name for item in becomings}
        unsound |= {item.name for item in becomings} - kept
        lost |= {item.name for item in becomings if item.fate == "lost"}
        begun, frontier_before = cut, frontier
    told, _ = half(plans[-1], store, stream, last=True, **options)
    run.push(stream[begun:])
    found += _behind(frontier_before, run.finish(), emit)
    right += _behind(frontier_before, told, emit)
    shown = [format_program(plan.program) for plan in plans]
    for output in {name for plan in plans for name in plan.outputs} - unsound:
        assert of(output, found, emit) == of(output, right, emit), (output, shown, stream, cuts)
    if keep is not None and emit == "intervals":
        for output in unsound - lost:
            of(output, found, emit)  # no time is told twice


def _behind(frontier: int, told: Sequence[Record], emit: StageMode) -> list[Record]:
    """What is told at the change and later. How much of an interval lies before, as it is told in pieces, may differ."""
    if emit != "intervals":
        return [*told]
    first = frontier + 1 if frontier > NEG else NEG
    return [(name, row, max(lo, first), hi) for name, row, lo, hi in told if hi >= first]


def fates(before: str, now: str, stream: Sequence[Record], watermark: int) -> list[str]:
    """What becomes of what a program tells, whose stages have kept all that they were told."""
    run = StagedRun(compile_program(parse(BEGIN + before)), open_stage=open_noting_stage)
    run.push(stream)
    run.advance(Fraction(watermark))
    latest = max(lo for _, _, lo, _ in stream)
    _, _, found = run.changed_to(compile_program(parse(BEGIN + now)), watermark, latest, keeps=True)
    return [str(item) for item in found]


FACTS: list[Record] = [("on", ("k",), 1, 1), ("off", ("k",), 2, 2), ("at", ("k", "a"), 3, 3)]


def test_another_key_is_told_with_both() -> None:
    """What sessions by one key remember cannot be dealt by another."""
    found = fates("p(X) :- at(X, Y), at(X, b).", "p(Y) :- at(X, Y), at(b, Y).", FACTS, 2)
    assert found == [
        "p: changed, and its key has changed: at was spread by argument 1, and is by argument 2: what was remembered is "
        "dropped, and its answers count from 4 on"
    ]


def test_what_follows_in_a_later_stage_from_a_rule_that_changed_is_lost() -> None:
    """The later stage was told what the rule before had told, which counts no more."""
    rules = "hot(X) :- {}.\nplace(P) :- hot(X), at(X, P)."
    found = fates(rules.format("on(X)"), rules.format("diamondminus[0,1] on(X)"), FACTS, 2)
    assert found[0] == "hot: changed, filled from the journal"
    assert found[1].startswith("place: changed, and the journal does not reach back as far as it looks: its answers count ")


def test_what_columns_had_not_told_reaches_the_next_stage() -> None:
    """A stage goes on row by row, and has more to say at once than columns had: to the stage behind it, too."""
    rules = f"{BEGIN}kept(X) :- not off(X) since on(X).\n{LATER[-2]}\n"
    plans = [compile_program(parse(rules + more)) for more in ("", "other(X) :- on(X).")]
    run = StagedRun(plans[0], open_stage=open_flow)
    run.push([("on", ("k",), 1, 1), ("at", ("k", "b"), 2, 2)])
    found = run.advance(Fraction(1))
    run, told, _ = run.changed_to(plans[1], 1, 2, keeps=False)
    run.push([("on", ("k",), 9, 9)])
    found += told + run.finish()
    assert of("seen", found, "intervals") == {("seen", ("b",), 2, 14): 1}


@pytest.mark.parametrize("name", ["ended", "kept", "changed"])
def test_questions_go_on(name: str) -> None:
    """A question that is asked as before keeps its possible answers; another one is filled; one that is gone is named."""
    asks = "output on_. on_(X) :- on(X).\nask gone(X)@T.\ngone(X) :- on(X), {}."
    now = {"ended": "output on_. on_(X) :- on(X).", "kept": asks.format("off(X)")}
    found = fates(asks.format("off(X)"), now.get(name, asks.format("diamondplus[0,3] off(X)")), FACTS, 0)
    told = {"ended": "ended: ", "kept": "kept", "changed": "changed, filled from the journal"}[name]
    assert found[0] == "on_: kept"
    assert found[1].startswith(f"ask gone: {told}")
