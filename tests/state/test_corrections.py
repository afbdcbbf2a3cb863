"""Corrections: facts that were accepted are taken back, and in sum that is told which would have been told without them."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from engine.running import BACKENDS, plan_of, records
from engine.test_lars_equals_oracle import compiled
from engine.test_session_equals_oracle import compiled as compiled_metric
from hypothesis import given
from hypothesis import strategies as st

from drawing import drawn
from oracle.agreement import records_of
from oracle.lars_programs import lars_programs, lars_streams
from oracle.programs import ANY, programs, streams
from state.correcting import Letters, corrected, expected, in_sum, run, some_taken_back, write
from state.versions import another
from tidelog import Engine, Keep, MemorySink, MemorySource, SpecError, StateDirectory
from tidelog.connectors.transport.descriptors import Descriptor
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.stored import plan_digest
from tidelog.runtime.corrections.taking_back import pieces_of
from tidelog.runtime.durable import pace, snapshots
from tidelog.runtime.durable.ledger import Ledger
from tidelog.runtime.durable.replaying import head_of
from tidelog.runtime.journal.events import Retracted, unpack_events
from tidelog.runtime.ports.durability import Changes, Kept
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch, Rejected, Retraction

BEYOND = "not retracted: beyond the journal (`--keep`): of `{}` only what begins after {} can be taken back"


class Deaf:
    """A sink that says nothing of answers that are taken back."""

    name = "deaf"

    async def __aenter__(self) -> Deaf:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        pass


PUMPS = """
timeline integer.
input hot(pump).
alarm(P) :- boxminus[0,2] hot(P).
quiet(P) :- diamondminus[0,5] hot(P), not hot(P).
"""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read a few lines at a time, and each commit has a snapshot."""
    read = Descriptor.read
    monkeypatch.setattr(Descriptor, "read", lambda descriptor: read(descriptor, 30))
    monkeypatch.setattr(pace, "_PAUSE", 0)
    monkeypatch.setattr(snapshots, "REPLAY_SECONDS", 0.0)
    monkeypatch.setattr(snapshots, "_REPLAYED", 0)


def steps_of(plan: Plan, lines: str) -> list[tuple[bool, Record]]:
    """Lines such as `hot(a)@3`, and `retract hot(a)@3`."""
    texts = [line.strip() for line in lines.strip().splitlines()]
    return [(text.startswith("retract "), records(plan, [text.removeprefix("retract ")])[0]) for text in texts]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_alarm_is_taken_back_with_the_fact_that_it_rests_on(tmp_path: Path, backend: str) -> None:
    """What was told is taken back, its end before its begin; what holds without the fact is told."""
    plan = plan_of(PUMPS)
    steps = steps_of(plan, "hot(a)@1 \n hot(a)@2 \n hot(a)@3 \n hot(a)@4 \n hot(b)@7 \n retract hot(a)@3 \n hot(b)@8")
    write(plan, tmp_path / "facts.txt", steps)
    told = run(plan, tmp_path, backend=backend, at_end="stop")
    assert told == [
        "alarm(a)@[3..",
        "quiet(a)@[5..",
        "alarm(a)@[3,4]",
        "retract alarm(a)@[3,4]",
        "retract alarm(a)@[3..",
        "quiet(a)@[3..",
        "quiet(a)@3",
    ]


def told_of(plan: Plan, folder: Path, lines: str, letters: Letters | None = None, **options: Any) -> list[str]:
    """What a run tells of these lines, which are added to those that it has had."""
    path = folder / "facts.txt"
    before = path.read_text() if path.exists() else ""
    write(plan, path, steps_of(plan, lines))
    path.write_text(before + path.read_text())
    return run(plan, folder, at_end="stop", dead_letters=letters, **options)


def test_what_was_never_accepted_is_a_dead_letter(tmp_path: Path) -> None:
    """Neither a fact that was not said, nor one that was late, nor one that was taken back before."""
    letters = Letters()
    lines = "hot(a)@5 \n hot(b)@1 \n retract hot(b)@1 \n retract hot(c)@5 \n retract hot(a)@5 \n retract hot(a)@[4,5]"
    told_of(plan_of(PUMPS), tmp_path, lines, letters)
    assert [reason.partition(":")[0] for reason in letters.reasons] == ["late", *["not retracted"] * 3]
    assert letters.lines == {2, 3, 4, 6}
    assert b"retract hot(b)@1" in [item.raw for item in letters.rejected]
    assert letters.reasons[1] == "not retracted: nothing that was accepted holds then"


def test_first_facts_that_wait_cannot_be_taken_back_yet(tmp_path: Path) -> None:
    """With `max_ahead` a first fact is accepted when another one agrees with it; a letter says so."""
    letters = Letters()
    told_of(plan_of(PUMPS), tmp_path, "hot(a)@5 \n retract hot(a)@5 \n hot(a)@6", letters, max_ahead=10)
    [reason] = letters.reasons
    assert "first facts wait for others" in reason


def test_a_fact_said_again_after_it_was_taken_back_counts(tmp_path: Path) -> None:
    """A retraction takes back what was said before it, also where both stand in one piece of the file."""
    lines = "hot(a)@1 \n hot(a)@2 \n hot(a)@3 \n retract hot(a)@3 \n hot(a)@3 \n hot(a)@4 \n hot(a)@5"
    told = told_of(plan_of(PUMPS), tmp_path, lines, lateness=2)
    assert in_sum(told) == {"alarm(a)@[3..": 1}


def test_a_violated_constraint_is_told_where_a_fact_is_taken_back(tmp_path: Path) -> None:
    """What a constraint forbids may follow from what is no more."""
    plan = plan_of("timeline integer. input p(x). input q(x). bottom :- p(X), not q(X). seen(X) :- p(X).")
    violated: list[Any] = []
    told_of(plan, tmp_path, "q(a)@1 \n p(a)@1 \n q(b)@2 \n retract q(a)@1", on_violation=violated.append)
    assert [violation.during for violation in violated] == ["1"]


def test_beyond_the_journal_nothing_is_taken_back(tmp_path: Path) -> None:
    """What is no longer in the journal stays, and the letter says from when on facts can be taken back."""
    letters = Letters()
    plan = plan_of(PUMPS)
    facts = [f"hot(a)@{time}" for time in range(60)]
    for lines in (facts[:15], facts[15:], ["retract hot(a)@2", "retract hot(a)@58"]):
        told = told_of(plan, tmp_path, "\n".join(lines), letters, keep=Keep(size=200))
    [reason] = letters.reasons
    assert "not retracted: beyond the journal (`--keep`): of `hot` only what begins after " in reason
    assert letters.lines == {61}
    assert in_sum(told) == {"alarm(a)@[2..": 1, "alarm(a)@[2,57]": 1, "quiet(a)@[58..": 1}


def test_a_damaged_journal_costs_retractions_and_not_the_run(tmp_path: Path) -> None:
    """Where the journal cannot be read, a retraction is a dead letter that says so, and the run goes on."""
    letters = Letters()
    plan = plan_of(PUMPS)
    told_of(plan, tmp_path, "hot(a)@1 \n hot(a)@2 \n hot(a)@3")
    with sqlite3.connect(tmp_path / "state" / "state.sqlite") as connection:
        connection.execute("UPDATE journal SET data = x'00' WHERE first = 1")
    connection.close()
    told = told_of(plan, tmp_path, "retract hot(a)@2 \n hot(a)@4 \n hot(b)@6", letters)
    assert "the journal cannot be told again" in letters.reasons[0]
    assert in_sum(told) == {"alarm(a)@[3..": 1, "alarm(a)@[3,4]": 1, "quiet(a)@[5..": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": None}, "add `--state DIR --keep 7d`"),
        ({"emit": "final"}, "corrections take back changes alone"),
        ({"sinks": [Deaf()]}, "`deaf` has no form for answers that are taken back"),
    ],
)
def test_a_run_that_could_not_tell_it_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    """Before anything is read: without a journal, in other modes, with other sinks."""
    with StateDirectory(str(tmp_path)) as state, pytest.raises(SpecError, match=re.escape(message)):
        corrected(plan_of(PUMPS), [], options.pop("sinks", []), state, **options)


def test_questions_are_refused(tmp_path: Path) -> None:
    """What is known of a question's answers is not taken back."""
    plan = plan_of("timeline integer. alarm(X) :- hot(X). ask alarm(X)@T.")
    with StateDirectory(str(tmp_path)) as state, pytest.raises(SpecError, match="leave the question out"):
        corrected(plan, [], [], state)


def test_other_corrections_are_another_run(tmp_path: Path) -> None:
    """A state that was stored without corrections does not go on with them, nor the other way round."""
    told_of(plan_of(PUMPS), tmp_path, "hot(a)@1")
    with pytest.raises(SpecError, match="stored with another `corrections`"):
        told_of(plan_of(PUMPS), tmp_path, "hot(a)@2", corrections=False)


def test_without_corrections_an_engine_takes_nothing_back() -> None:
    """A source of one's own may bring retractions: each is a dead letter, and its facts count."""
    plan, letters, sink = plan_of(PUMPS), Letters(), MemorySink()
    batch = Batch(records(plan, ["hot(a)@1"]), retractions=[Retraction(1, records(plan, ["hot(a)@1"])[0], "here:2")])
    anyio.run(Engine(plan, [MemorySource([batch])], [sink], dead_letters=letters).run, backend="trio")
    assert letters.rejected == [
        Rejected("here:2", "not retracted: this run takes nothing back (`--corrections`)", b"retract hot(a)@1")
    ]


def test_what_fails_behind_a_retraction_is_as_if_it_had_not_been_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something fails while the same piece of the file is taken: the next run reads all of the piece again."""
    plan = plan_of(PUMPS)
    told_of(plan, tmp_path, "hot(a)@1 \n hot(a)@2 \n hot(a)@3")
    correct = Ledger.correct

    async def failing(self: Ledger, *arguments: Any) -> Any:
        await correct(self, *arguments)
        raise RuntimeError

    lines = "hot(a)@4 \n retract hot(a)@2"
    with monkeypatch.context() as patched, pytest.raises(RuntimeError):
        patched.setattr(Ledger, "correct", failing)
        told_of(plan, tmp_path, lines)
    told = told_of(plan, tmp_path, "hot(b)@6")
    assert in_sum(told) == {"quiet(a)@[2..": 1, "quiet(a)@2": 1, "quiet(a)@[5..": 1}


def test_after_a_correction_the_intake_is_what_it_was(tmp_path: Path) -> None:
    """Time does not go back: what is late stays late, and the run knows of its sources what it knew."""
    plan, letters = plan_of(PUMPS), Letters()
    told = told_of(plan, tmp_path, "hot(a)@1 \n hot(b)@9 \n retract hot(b)@9 \n hot(a)@2 \n hot(a)@10", letters)
    assert letters.lines == {4}
    assert in_sum(told) == {"quiet(a)@[2..": 1, "quiet(a)@[2,6]": 1}


def test_after_a_correction_whoever_listens_to_a_step_still_does(tmp_path: Path) -> None:
    """The session goes on as another one, which tells them what its steps take."""
    plan, heard = plan_of("input hot(pump). warm(P) :- diamondminus[0,1] hot(P)."), list[tuple[str, ...]]()
    facts = records(plan, ["hot(a)@1", "hot(b)@5"])
    batches = [Batch(facts[:1]), Batch(retractions=[Retraction(0, facts[0])]), Batch(facts[1:])]
    with StateDirectory(str(tmp_path)) as state:
        engine = corrected(plan, [MemorySource(batches)], [MemorySink()], state)
        engine.listen(plan.outputs["warm"], lambda feeder, taken, _: heard.extend((feeder, *row) for row, _, _ in taken))
        anyio.run(engine.run, backend="trio")
    assert ("hot", "a") in heard
    assert ("hot", "b") in heard


def test_the_commit_of_a_correction_has_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though none is due: so a restart is never told again what was taken back."""
    monkeypatch.setattr(snapshots, "REPLAY_SECONDS", 10**9)
    commits: list[tuple[bool, bool]] = []
    commit = StateDirectory.commit

    def noted(self: StateDirectory, changes: Changes) -> Kept:
        events = [event for block in changes.journal for event in unpack_events(block.data)]
        commits.append((any(isinstance(event, Retracted) for event in events), changes.parts is not None))
        return commit(self, changes)

    monkeypatch.setattr(StateDirectory, "commit", noted)
    facts = [f"hot(b)@{time}" for time in range(4, 200)]
    told_of(plan_of(PUMPS), tmp_path, "\n".join(["hot(a)@1", "hot(a)@2", "hot(a)@3", "retract hot(a)@2", *facts]))
    assert [takes_snapshot for corrects, takes_snapshot in commits if corrects] == [True]
    assert (False, False) in commits


def test_no_replay_begins_before_the_program_has_changed(tmp_path: Path) -> None:
    """What the program before told is not put right: it would tell something else."""
    now, letters = plan_of(f"{PUMPS} warm(P) :- diamondminus[0,1] hot(P)."), Letters()
    told_of(plan_of(PUMPS), tmp_path, "hot(a)@1 \n hot(a)@2 \n hot(a)@3")
    told_of(now, tmp_path, "hot(a)@4 \n hot(a)@5")
    told = told_of(now, tmp_path, "retract hot(a)@3 \n retract hot(a)@5", letters)
    assert letters.reasons == [BEYOND.format("hot", 3)]
    assert in_sum(told) == {"alarm(a)@[3..": 1, "warm(a)@[1..": 1}


@pytest.mark.pure
def test_another_version_takes_back_what_came_before(tmp_path: Path) -> None:
    """Where it makes other steps of the program, the run goes on with those that it has: so all of it can be told again."""
    was, letters = plan_of(PUMPS), Letters()
    with another("other names", "other shapes"):
        now = plan_of(PUMPS)
    assert plan_digest(was) != plan_digest(now)
    told_of(was, tmp_path, "hot(a)@1 \n hot(a)@2 \n hot(a)@3")
    with another():
        told_of(now, tmp_path, "hot(a)@4 \n hot(a)@5", letters)
        told = told_of(now, tmp_path, "retract hot(a)@3", letters)
    (tmp_path / "always").mkdir()
    told_of(was, tmp_path / "always", "hot(a)@1 \n hot(a)@2 \n hot(a)@3")
    told_of(was, tmp_path / "always", "hot(a)@4 \n hot(a)@5")
    assert told == told_of(was, tmp_path / "always", "retract hot(a)@3")
    assert letters.reasons == []
    assert any("retract" in line for line in told)


@pytest.mark.parametrize("has_snapshot", [False, True])
def test_a_changed_program_knows_what_the_journal_holds_behind_the_last_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_snapshot: bool
) -> None:
    """The run before was killed: no retraction takes back a half of what was said, and the run goes on."""
    plan, now, letters = plan_of(PUMPS), plan_of(f"{PUMPS} warm(P) :- diamondminus[0,1] hot(P)."), Letters()
    if has_snapshot:
        told_of(plan, tmp_path, "hot(b)@0")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "_is_unsaved", lambda _: False)  # so it takes no snapshot, not even at its end
        told_of(plan, tmp_path, "hot(a)@[1,9] \n hot(b)@2")
    with StateDirectory(str(tmp_path / "state")) as state:
        head = head_of(state)
    assert (head.snapshot > 0, head.snapshot < head.events) == (has_snapshot, True)
    lines = "hot(a)@[5,12] \n retract hot(a)@[6,11] \n retract hot(a)@[11,12] \n hot(c)@20"
    told = told_of(now, tmp_path, lines, letters)
    assert letters.reasons == [BEYOND.format("hot", 9)]
    assert in_sum(told)["warm(a)@[1,11]"] == 1


def test_what_the_program_before_did_not_know_is_not_taken_back_by_half(tmp_path: Path) -> None:
    """Facts of a predicate that a changed program reads first may have come before, and hold still."""
    free = PUMPS.replace("input hot(pump).", "")
    now, letters = plan_of(f"{free} icy(P) :- cold(P)."), Letters()
    told_of(plan_of(free), tmp_path, "hot(a)@1 \n cold(a)@[2,9]")
    lines = "cold(a)@[5,12] \n retract cold(a)@[6,11] \n retract cold(a)@[11,12] \n cold(c)@20"
    told = told_of(now, tmp_path, lines, letters)
    assert letters.reasons == [BEYOND.format("cold", 9)]
    assert in_sum(told)["icy(a)@[2,10]"] == 1


def test_many_retractions_of_a_batch_cost_one_correction() -> None:
    """Facts of other rows are taken before; a fact that is taken back, and said again behind that, is not."""
    facts = [("p", (name,), time, time) for time, name in enumerate("abcab")]
    backs = [Retraction(1, facts[0], "x:2"), Retraction(3, facts[1], "x:5")]
    batch = Batch(facts, places=list("12345"), parts=list("abcab"), position={"at": 5}, watermark=7, retractions=backs)
    pieces = list(pieces_of(batch))
    assert [list(piece.places or ()) for piece in pieces] == [["1", "2", "3"], ["4", "5"]]
    assert [piece.retractions for piece in pieces] == [backs, []]
    assert [(piece.position, piece.watermark) for piece in pieces] == [(None, None), ({"at": 5}, 7)]
    assert [piece.parts for piece in pieces] == [list("abc"), list("ab")]


def check(plan: Plan, facts: list[Record], draw: random.Random, **options: Any) -> None:
    """In sum a run tells what one over the corrected facts tells, also where it was killed meanwhile."""
    steps = some_taken_back(facts, draw, draw.randint(1, 3))
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(plan, folder / "facts.txt", steps)
        crashes = [draw.choice((-1, 1)) * draw.randint(1, 6) for _ in range(draw.randint(0, 4))]
        told = run(plan, folder, crashes=crashes, backend=draw.choice(BACKENDS), **options)
        assert in_sum(told) == expected(plan, steps, **options), (steps, crashes, told)


@drawn(40)
@given(st.data(), st.randoms(use_true_random=False))
def test_windows_aggregates_loops_and_tuples(data: st.DataObject, draw: random.Random) -> None:
    """Programs with every form on `timeline integer`."""
    plan = compiled(data.draw(lars_programs()))
    check(plan, records_of(plan, data.draw(lars_streams())), draw, start=0)


@drawn(20)
@given(st.data(), st.randoms(use_true_random=False))
@pytest.mark.parametrize("timeline", ["rational", "integer"])
def test_metric_operators_and_negation(timeline: str, data: st.DataObject, draw: random.Random) -> None:
    """Programs with boxes, diamonds, since, until, negation and recursion on both timelines."""
    program = data.draw(programs(timeline, data.draw(ANY)))
    plan = compiled_metric(program)
    facts = records_of(plan, data.draw(streams(program)))
    if facts:
        check(plan, facts, draw, start=0)


@drawn(20)
@given(st.data(), st.randoms(use_true_random=False))
def test_with_a_short_journal_what_is_not_refused_is_put_right(data: st.DataObject, draw: random.Random) -> None:
    """Where the journal does not reach back, a retraction is refused, never taken by half; the others are exact."""
    plan = compiled(data.draw(lars_programs()))
    steps = some_taken_back(records_of(plan, data.draw(lars_streams(size=25))), draw, 6)
    with TemporaryDirectory() as name:
        write(plan, Path(name) / "facts.txt", steps)
        letters = Letters()
        told = run(plan, Path(name), keep=Keep(size=draw.choice([100, 300, 1000])), start=0, dead_letters=letters)
        taken = [step for line, step in enumerate(steps, 1) if not step[0] or line not in letters.lines]
        assert in_sum(told) == expected(plan, taken, start=0), (steps, letters.lines)
