"""What becomes of actors that fail: by facts, which are left out, by too many of them, or by what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import anyio
import pytest
from engine.running import DeadLetterList

import tidelog
from crashing import ReplayableSource
from islands import poisoning
from islands.scripts import takes
from tidelog import Engine, MemorySink
from tidelog.connectors.store.state_store import StateDirectory
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import OperatorError
from tidelog.runtime.islands.spreading import Layout, SpreadReasoner
from tidelog.runtime.islands.supervision import Supervision
from tidelog.runtime.ports.interfaces import Batch
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import SOURCE, Settings

PLAN = tidelog.compile(poisoning.PROGRAM)
Spread = Callable[[Layout], SpreadReasoner]


def p(name: str, time: int) -> Record:
    return "p", (name, 1), time, time


def batches(poison: str) -> list[list[Record]]:
    """Good facts, with poison alone, first, last, and several in a batch."""
    good = [[p(f"k{i}", time) for i in range(6)] + [("q", (f"k{time}",), time, time)] for time in range(6)]
    bad = [p(f"{poison}{i}", 2) for i in range(3)]
    good[1].insert(3, p(f"{poison}3", 1))
    good[2] = [bad[0], *good[2][:4], bad[1], *good[2][4:], bad[2]]
    return [*good[:4], [p(f"{poison}4", 3)], *good[4:]]


def is_poison(record: Record) -> bool:
    return str(record[1][0]).startswith(("fails", "ends"))


@pytest.fixture
def spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spread]:
    """Makes sessions whose actors fail by poison; they are closed in the end."""
    made: list[SpreadReasoner] = []

    def make(layout: Layout, **settings: object) -> SpreadReasoner:
        if layout.workers:
            poisoning.in_workers(monkeypatch, tmp_path)
        else:
            poisoning.install(monkeypatch.setattr)
        made.append(SpreadReasoner(PLAN, Settings(**settings), layout))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for session in made:
        session.close()


def tell(session: Reasoner, said: Sequence[list[Record]]) -> dict[tuple[str, object], list[object]]:
    """The answers about each row, in order, to the end."""
    steps = [takes(SOURCE, Batch(batch)) for batch in said]
    found: dict[tuple[str, object], list[object]] = {}
    for step in [*steps, lambda session: session.end(SOURCE)]:
        step(session)
        for predicate, row, *when in session.pull_records():
            found.setdefault((predicate, row), []).append(when)
    return found


def asides(session: SpreadReasoner) -> dict[str, str]:
    return {found.name: found.aside for found in session.actors() if found.aside}


@pytest.mark.parametrize(
    ("layout", "poison"),
    [(Layout(shards=2), "fails"), (Layout(workers=2), "fails"), (Layout(workers=1), "ends"), (Layout(workers=2), "ends")],
    ids=str,
)
def test_poison_is_left_out_and_all_else_is_answered(spread: Spread, layout: Layout, poison: str) -> None:
    """As if it had not come; each is told once. Nobody else in the same worker is to blame, nor set aside."""
    said = batches(poison)
    session = spread(layout)
    found = tell(session, said)
    expected = tell(Reasoner(PLAN, Settings()), [[item for item in batch if not is_poison(item)] for batch in said])
    assert found == expected
    assert sorted(item.record for item in session.left_out) == sorted(
        item for batch in said for item in batch if is_poison(item)
    )
    assert not asides(session)
    assert sum(item.poisons for item in session.actors()) == 5


def test_an_actor_with_too_much_poison_is_set_aside_with_who_reads_it(spread: Spread) -> None:
    """The island beside goes on."""
    session = spread(Layout(shards=1, supervision=Supervision(poisons=2)))
    said = batches("fails")
    found = tell(session, said)
    assert set(asides(session)) == {"a", "b"}
    assert {name for name, _ in found} >= {"c"}
    expected = tell(Reasoner(PLAN, Settings()), [[item for item in batch if not is_poison(item)] for batch in said])
    assert {key: when for key, when in found.items() if key[0] == "c"} == {
        key: when for key, when in expected.items() if key[0] == "c"
    }


@pytest.mark.parametrize("layout", [Layout(shards=2), Layout(workers=1)], ids=str)
def test_the_first_failure_ends_a_run_that_says_so(spread: Spread, layout: Layout) -> None:
    session = spread(Layout(workers=layout.workers, shards=layout.shards, supervision=Supervision("end")))
    with pytest.raises(OperatorError, match="it cannot be taken"):
        tell(session, batches("fails"))


def test_an_island_that_holds_too_much_is_set_aside_and_others_go_on(spread: Spread) -> None:
    """No fact is to blame, so none is left out."""
    session = spread(Layout(shards=1), max_state=40)
    many = [[p(f"k{i}", 0) for i in range(60)], [("q", ("k",), 1, 1)]]
    found = tell(session, many)
    assert set(asides(session)) == {"a", "b"}
    assert not session.left_out
    assert ("c", ("k",)) in found


def test_poison_is_a_dead_letter_once_though_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told again to a session that goes on has been refused by then."""
    poisoning.install(monkeypatch.setattr)
    facts = [p("k1", 0), p("fails1", 1), p("k2", 2)]
    letters, sink = DeadLetterList(), MemorySink()
    for given in (facts, [*facts, p("k3", 9)]):
        with StateDirectory(tmp_path / "state") as store:
            engine = Engine(
                PLAN, [ReplayableSource(given)], [sink], state=store, actors="islands", at_end="stop", dead_letters=letters
            )
            anyio.run(engine.run)
    assert [item.record for item in letters.rejected] == [facts[1]]
    assert {answer[1] for answer in sink.answers if answer[0] == "a"} == {("k1", 1), ("k2", 1), ("k3", 1)}
