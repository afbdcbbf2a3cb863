"""What an actor has not told since it was set aside, the next run tells, and nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from crashing import CrashError, CrashingDirectory, ReplayableSource
from tidelog import Engine, MemorySink, StateDirectory
from tidelog.plans.data.facts import Record
from tidelog.plans.data.intervals import Range, united
from tidelog.runtime.emission.modes import EmitMode

PLAN = tidelog.compile("""
timeline integer.
input p(name: text, n: integer).
input q(name: text).
output held(name, n), many(n), seen(name).
held(X, N) :- p(X, N) within 6.
many(N) :- N = count() over p(X, M) in [4], N > 1.
seen(X) :- q(X).
""")
MODES: Sequence[EmitMode] = get_args(EmitMode)
_names = st.sampled_from("abc")
facts_drawn = st.lists(
    st.tuples(st.just("p"), st.tuples(_names, st.integers(0, 9))) | st.tuples(st.just("q"), st.tuples(_names)),
    min_size=2,
    max_size=40,
)


def at_times(drawn: Sequence[tuple[str, tuple[Any, ...]]]) -> list[Record]:
    """Two facts at each time."""
    return [(name, row, i // 2, i // 2) for i, (name, row) in enumerate(drawn)]


def go(store: StateDirectory, facts: Sequence[Record], emit: EmitMode, **options: Any) -> tuple[list[Any], list[str]]:
    """What a run tells, up to facts behind which it is stopped, and of which outputs answers are missing."""
    sink = MemorySink()
    source = ReplayableSource(list(facts))
    engine = Engine(PLAN, [source], [sink], state=store, emit=emit, at_end="stop", commit_every=0, **options)
    anyio.run(engine.run)
    return sink.answers, [name for name, _ in engine.set_aside()]


def told(answers: Sequence[Any], emit: EmitMode) -> object:
    """Answers, so that those of two runs can be compared: `intervals` may come in other pieces, none of them twice."""
    if emit != "intervals":
        return Counter(answers)
    ranges: dict[tuple[str, object], list[Range]] = {}
    for name, row, lo, hi in answers:
        ranges.setdefault((name, row), []).append((lo, hi))
    assert all(
        sum(hi - lo + 1 for lo, hi in found) == sum(hi - lo + 1 for lo, hi in united(found)) for found in ranges.values()
    )
    return {key: united(found) for key, found in ranges.items()}


@given(facts_drawn, st.integers(2, 12), st.integers(1, 3), st.sampled_from(MODES), st.sampled_from(["islands", "rule"]))
def test_the_next_run_tells_what_was_missing(
    drawn: list[tuple[str, tuple[Any, ...]]], most: int, parts: int, emit: EmitMode, actors: str
) -> None:
    """However often the limit is met before, all that is told is what a run without a limit tells."""
    facts = at_times(drawn)
    with TemporaryDirectory() as folder:
        with StateDirectory(f"{folder}/whole") as store:
            expected, _ = go(store, facts, emit)
        found: list[Any] = []
        for part in range(parts):
            with StateDirectory(f"{folder}/state") as store:
                answers, _ = go(store, facts[: len(facts) * (part + 1) // parts], emit, actors=actors, max_state=most)
                found += answers
        for _ in range(2):  # the second of these has nothing more to tell
            with StateDirectory(f"{folder}/state") as store:
                found += go(store, facts, emit, actors=actors)[0]
    assert told(found, emit) == told(expected, emit)


@pytest.mark.parametrize(
    ("emit", "options"), [*zip(MODES, [{"actors": "islands"}, {"workers": 2}, {}, {"actors": "rule"}], strict=True)], ids=str
)
def test_what_was_missing_is_told_in_each_layout(tmp_path: Path, emit: EmitMode, options: dict[str, Any]) -> None:
    """What was told by the islands beside is not told again, also where the next run is not spread."""
    facts = at_times([("pq"[i % 3 == 2], ("abc"[i % 3], i)[: 1 if i % 3 == 2 else 2]) for i in range(60)])
    with StateDirectory(tmp_path / "whole") as store:
        expected, _ = go(store, facts, emit)
    with StateDirectory(tmp_path / "state") as store:
        found, aside = go(store, facts[:40], emit, workers=2, max_state=10)
    assert aside
    assert {answer[0] for answer in found} >= {"seen"}
    with StateDirectory(tmp_path / "state") as store:
        late, aside = go(store, facts, emit, **options)
    assert not aside
    assert told([*found, *late], emit) == told(expected, emit)


def test_a_kill_while_it_is_told_tells_nothing_twice(tmp_path: Path) -> None:
    """At each call that stores something."""
    facts = at_times([("p", ("a", i)) for i in range(30)])
    with StateDirectory(tmp_path / "whole") as store:
        expected, _ = go(store, facts, "changes")
    at, has_ended = 0, False
    while not has_ended:
        at += 1
        path = tmp_path / f"{at}"
        with StateDirectory(path) as store:
            found, aside = go(store, facts, "changes", actors="islands", max_state=4)
        assert aside
        sinks = MemorySink(), MemorySink()
        for sink in sinks:
            crashing = sink is sinks[0]
            with CrashingDirectory(str(path)) if crashing else StateDirectory(path) as store:
                if isinstance(store, CrashingDirectory):
                    store.crash_at = at
                source = ReplayableSource(facts)
                engine = Engine(PLAN, [source], [sink], state=store, emit="changes", at_end="stop", actors="islands")
                try:
                    anyio.run(engine.run)
                    has_ended = has_ended or crashing
                except CrashError:
                    pass
        assert Counter([*found, *sinks[0].answers, *sinks[1].answers]) >= Counter(expected)
        again = Counter(found) & Counter([*sinks[0].answers, *sinks[1].answers])
        assert not again, "what the first run told is told again"
    assert at > 1
