"""A later version goes on with what this one has stored, also where it makes other plans; this one refuses what is newer."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from state.changing import KEEP, Memory, half
from state.test_changed_program import compiled, drawn_program, of, taken
from state.versions import another, later
from tidelog import Session, SnapshotError, SpecError, version
from tidelog.plans.data import forms
from tidelog.plans.data.facts import Record
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.stored import can_stand_in, pack_plan, plan_digest, unpack_plan
from tidelog.runtime.sessions import reasoner

pytestmark = pytest.mark.pure
KINDS = ["other names", "other shapes", "no passing"]
CHAIN = """
timeline integer. input hot(x). input seen(x). output alarm, calm.
alarm(X) :- boxminus[0,2] diamondminus[0,1] hot(X), not seen(X).
calm(X) :- not hot(X) since seen(X).
"""
FACTS: list[Record] = [
    *[("hot", ("a",), time, time) for time in (0, 1, 2, 3, 4)],
    ("seen", ("b",), 4, 4),
    *[("hot", ("a",), time, time) for time in (5, 6, 7, 8)],
    ("hot", ("b",), 9, 9),
    ("hot", ("a",), 12, 12),
]


def changed(text: str, *kinds: str) -> tuple[Plan, Plan]:
    """The plan that this version makes of a program, and that of a version which does things in another way."""
    was = tidelog.compile(text)
    with another(*kinds):
        now = tidelog.compile(text)
    assert plan_digest(was) != plan_digest(now)
    return was, now


def two_versions(data: st.DataObject) -> tuple[Plan, Plan, list[Record], int]:
    """The plans that this version and another one make of a drawn program; its facts, and where they are cut."""
    program, facts = drawn_program(data)
    was = compiled(program)
    with another(*data.draw(st.lists(st.sampled_from(KINDS), min_size=1, unique=True))):
        now = compiled(program)
    given = taken(facts, was)
    return was, now, given, data.draw(st.integers(0, len(given)))


def goes_on(was: Plan, now: Plan, facts: Sequence[Record], cut: int, **options: Any) -> tuple[list[Record], list[Record]]:
    """What the second half of a run tells: of one version throughout, and of another one from the cut on."""
    undisturbed, store = Memory(), Memory()
    half(was, undisturbed, facts[:cut], **options)
    half(was, store, facts[:cut], **options)
    expected, _ = half(was, undisturbed, facts, last=True, **options)
    with another():
        found, _ = half(now, store, facts, last=True, **options)
    return found, expected


@drawn(30)
@given(data=st.data())
def test_a_plan_is_what_was_stored_of_it(data: st.DataObject) -> None:
    """Plans of all programs come back from bytes as they were, and nothing in them counts in another order."""
    plan = compiled(drawn_program(data)[0])
    again = unpack_plan(pack_plan(plan), "here")
    assert again == replace(plan, warnings=())
    assert repr(again) == repr(plan)
    assert plan_digest(again) == plan_digest(plan)
    assert format_program(again.program) == format_program(plan.program)
    assert can_stand_in(again, plan)


@pytest.mark.slow
@drawn(60)
@given(data=st.data())
def test_a_run_goes_on_in_a_later_version(data: st.DataObject) -> None:
    """Whatever other steps it makes of a program, it tells what the version before would have told, and refuses nothing."""
    was, now, given, cut = two_versions(data)
    emit = data.draw(st.sampled_from(["intervals", "final", "changes"]))
    options: dict[str, Any] = {"emit": emit, "lateness": data.draw(st.integers(0, 2))}
    options["keep"] = data.draw(st.sampled_from([None, KEEP]))
    found, expected = goes_on(was, now, given, cut, **options)
    for output in was.outputs:
        assert of(output, found, emit) == of(output, expected, emit), (format_program(was.program), given, cut, options)


@pytest.mark.slow
@drawn(60)
@given(data=st.data())
def test_a_snapshot_goes_on_in_a_later_version(data: st.DataObject) -> None:
    """A session goes on with the plan of its snapshot: it tells what one tells that was never stopped."""
    was, now, given, cut = two_versions(data)
    emit: Any = data.draw(st.sampled_from(["intervals", "final", "changes"]))
    first = Session(was, emit=emit, lateness=100)
    first.push_records(given[:cut])
    first.pull_records()
    first.pull_violations()
    text = json.dumps(first.snapshot())
    with another():
        then = Session(now, emit=emit, lateness=100)
        then.restore(json.loads(text))
    for session in (first, then):
        session.push_records(given[cut:])
        session.finish()
    assert Counter(then.pull_records()) == Counter(first.pull_records()), (format_program(was.program), given, cut)
    assert Counter(map(str, then.pull_violations())) == Counter(map(str, first.pull_violations()))


@pytest.mark.parametrize("kind", ["other names", "other shapes"])
@pytest.mark.parametrize("keep", [None, KEEP])
def test_nothing_is_lost_at_an_upgrade(kind: str, keep: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Steps with other names are the same steps. Others are filled from the journal; without one, the plan stays."""
    was, now = changed(CHAIN, kind)
    with caplog.at_level(logging.INFO, "tidelog"):
        found, expected = goes_on(was, now, FACTS, 6, emit="changes", keep=keep)
    assert Counter(found) == Counter(expected)
    assert found
    if kind == "other shapes" and keep is None:
        assert "made other steps of this program: the run goes on with them, since with those of this version" in caplog.text


def test_a_run_that_stays_with_its_plan_goes_on_from_itself() -> None:
    """It may be stopped again and again, and a changed program is compared with the plan that it has."""
    was, now = changed(CHAIN, "other shapes")
    always, store = Memory(), Memory()
    for run in (always, store):
        half(was, run, FACTS[:3], emit="changes")
    plan = store.packed
    told: list[Record] = []
    expected: list[Record] = []
    for cut in (5, 7, 9):
        with another():
            told += half(now, store, FACTS[:cut], emit="changes")[0]
        expected += half(was, always, FACTS[:cut], emit="changes")[0]
        assert store.packed == plan
    assert told == expected
    more = tidelog.compile(CHAIN + "output more. more(X) :- seen(X).")
    with another():
        told, _ = half(more, store, FACTS, last=True, emit="changes")
    expected, _ = half(more, always, FACTS, last=True, emit="changes")
    assert Counter(told) == Counter(expected)
    assert store.packed != plan


# --- what a later version has stored ----------------------------------------------------------------------------------


def test_what_a_newer_version_has_stored_is_refused_by_name() -> None:
    """A state and a snapshot say who wrote them, and what to do; nothing is changed."""
    plan, store = tidelog.compile(CHAIN), Memory()
    named = later()
    with another():
        half(plan, store, FACTS[:4])
        snapshot = Session(plan).snapshot()
    before = store.stored, dict(store.held)
    newer = rf"was stored by tidelog {named} in format \d+, and this is tidelog {version.VERSION}, which is older"
    with pytest.raises(SpecError, match=rf"state `memory` {newer}.*: go on with tidelog {named}, or a newer one; or choose"):
        half(plan, store, FACTS)
    assert (store.stored, store.held) == before
    with pytest.raises(SnapshotError, match=f"the snapshot {newer}"):
        Session(plan).restore(snapshot)


def test_a_newer_patch_version_is_not_newer() -> None:
    """Forms change with minor versions alone: who goes back to an older patch of the same one loses nothing."""
    major, minor, *_ = version.VERSION.split(".")
    plan, store = tidelog.compile(CHAIN), Memory()
    with another(called=f"{major}.{minor}.999"):
        first, _ = half(plan, store, FACTS[:4])
    rest, _ = half(plan, store, FACTS, last=True)
    assert first + rest == half(plan, Memory(), FACTS, last=True)[0]


def test_a_form_is_brought_up_to_date_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version whose states, heads, plans and journals look otherwise reads those of this one by its steps."""
    plan, store = tidelog.compile(CHAIN), Memory()
    first, _ = half(plan, store, FACTS[:4], keep=KEEP)
    old = Session(plan)
    old.push_records(FACTS[:4])
    old.pull_records()
    snapshot = old.snapshot()
    done: list[str] = []

    def step(name: str) -> Any:
        def bring(data: Any) -> Any:
            done.append(name)
            return data

        return bring

    def next_form(form: forms.Form, name: str) -> forms.Form:
        steps = {form.version: step(f"{name} 1"), form.version + 1: step(f"{name} 2")}
        return replace(form, version=form.version + 2, steps=steps)

    monkeypatch.setattr("tidelog.runtime.journal.manifest.HEAD", next_form(forms.HEAD, "head"))
    monkeypatch.setattr(reasoner, "STATE", next_form(forms.STATE, "state"))
    monkeypatch.setattr("tidelog.plans.plan.stored.PLAN", next_form(forms.PLAN, "plan"))
    journal = next_form(forms.JOURNAL, "journal")
    monkeypatch.setattr("tidelog.runtime.journal.events.JOURNAL", journal)
    monkeypatch.setattr("tidelog.runtime.journal.events._VERSION", bytes([journal.version]))
    rest, _ = half(plan, store, FACTS[:6], keep=KEEP)
    assert done == ["head 1", "head 2", "state 1", "state 2"]
    done.clear()
    changed_plan = tidelog.compile(CHAIN + "output more. more(X) :- seen(X).")
    more, _ = half(changed_plan, store, FACTS, last=True, keep=KEEP)
    assert {"plan 1", "plan 2", "journal 1", "journal 2"} <= set(done)
    told = [record for record in [*first, *rest, *more] if record[0] != "more"]
    assert of("alarm", told, "intervals") == of("alarm", half(plan, Memory(), FACTS, last=True)[0], "intervals")
    done.clear()
    then = Session(plan)
    then.restore(snapshot)
    assert done == ["state 1", "state 2"]
