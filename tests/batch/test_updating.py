"""What is updated holds as if all were materialised anew, whatever comes and goes; what does not change is left alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batch.materialising import plan_of, records, shown
from drawing import drawn
from oracle.agreement import records_of
from oracle.lars_programs import AGGREGATES, COUNTED, HELD, lars_programs, lars_streams
from oracle.programs import EVERYTHING, Kind, programs, streams
from oracle.recursive_programs import Tiny, compiled, few_facts, tiny_programs
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.intervals import Ranges, subtracted, united
from tidelog.plans.diagnostics.errors import MethodError, ProgramError, TidelogError
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.batch import choosing
from tidelog.runtime.batch.demand.restricting import can_restrict
from tidelog.runtime.batch.materialisation import Materialisation

Given = dict[tuple[str, Row], Ranges]


def materialised(plan: BatchPlan, facts: Iterable[Record]) -> Materialisation:
    done = Materialisation(plan)
    done.load(facts)
    done.run()
    return done


def holding(done: Materialisation, first: int = -400, last: int = 400) -> list[Record]:
    """What holds between two times, over maximal ranges."""
    found: Given = {}
    for name, row, lo, hi in done.between(first, last):
        found.setdefault((name, row), []).append((lo, hi))
    return sorted(((name, row, *times) for (name, row), ranges in found.items() for times in united(ranges)), key=repr)


def changed(facts: Given, added: Iterable[Record], removed: Iterable[Record]) -> Given:
    """The facts that are given after a change, by its definition."""
    now = dict(facts)
    for name, row, lo, hi in removed:
        now[name, row] = subtracted(now.get((name, row), []), [(lo, hi)])
    for name, row, lo, hi in added:
        now[name, row] = united([*now.get((name, row), []), (lo, hi)])
    return now


def listed(facts: Given) -> list[Record]:
    return [(name, row, lo, hi) for (name, row), ranges in facts.items() for lo, hi in ranges]


def check(data: st.DataObject, program: Program, plan: BatchPlan, pool: Sequence[Record], last: int = 400) -> None:
    """A sequence of changes, each with facts of the pool, or parts of them, that come and go."""
    assume(can_restrict(plan) and pool)
    some = st.lists(st.sampled_from(pool), max_size=4)
    facts = changed({}, data.draw(some), ())
    try:
        done = materialised(plan, listed(facts))
    except TidelogError:
        assume(False)
    for _ in range(data.draw(st.integers(1, 4))):
        added, removed = data.draw(some), data.draw(some)
        if data.draw(st.booleans()):
            removed = [(name, row, lo, lo) for name, row, lo, _ in removed]
        facts = changed(facts, added, removed)
        try:
            expected = materialised(plan, listed(facts))
        except TidelogError:
            assume(False)
        done.update(added, removed)
        where = f"{format_program(program)}\n{added}\n{removed}\n{listed(facts)}"
        assert str(done.violation()) == str(expected.violation()), where
        assert done.violation() or holding(done, -last, last) == holding(expected, -last, last), where


@pytest.mark.slow
@given(st.data(), st.sampled_from(("rational", "integer")))
def test_an_update_equals_a_fresh_run(data: st.DataObject, kind: Kind) -> None:
    """In programs with joins, negation, recursion, since, and constraints that are violated and are not."""
    constraints = data.draw(st.booleans())
    program = data.draw(programs(kind, replace(EVERYTHING, constraints=constraints, windows=False)))
    try:
        plan = compile_batch(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"not-supported"}
        return
    check(data, program, plan, records_of(plan, data.draw(streams(program, infinite=True, size=12))))


@pytest.mark.slow
@drawn(60)
@given(st.data(), st.sampled_from([AGGREGATES, HELD, COUNTED]))
def test_an_update_of_groups_equals_a_fresh_run(data: st.DataObject, forms: object) -> None:
    """What is aggregated, or held, is derived as a whole, and what follows from it where it changes."""
    program = data.draw(lars_programs(forms))  # type: ignore[arg-type] # one of these
    plan = compile_batch(program)
    check(data, program, plan, records_of(plan, data.draw(lars_streams())))


@pytest.mark.slow
@given(st.data(), st.sampled_from(("rational", "integer")), st.booleans())
def test_an_update_of_what_repeats_equals_a_fresh_run(data: st.DataObject, kind: Kind, negation: bool) -> None:
    """Recursion through time, in both directions, that begins to repeat and ceases to, with what reads and negates it."""
    tiny = Tiny(kind, negation=negation)
    program = data.draw(tiny_programs(tiny))
    plan = compiled(program)
    pool = records_of(plan, [*data.draw(few_facts(program, tiny)), *data.draw(few_facts(program, tiny))])
    check(data, program, plan, pool, last=60)


# --- by hand ------------------------------------------------------------------------------------------------------------

WAYS = "reach(X,Y) :- link(X,Y). reach(X,Y) :- reach(X,Z), link(Z,Y)."


def updated(program: str, facts: list[str], added: Sequence[str] = (), removed: Sequence[str] = ()) -> Materialisation:
    """A materialisation that has been updated once."""
    plan = plan_of(program)
    done = materialised(plan, records(plan, facts))
    done.update(records(plan, added), records(plan, removed))
    return done


def test_what_supports_itself_alone_goes() -> None:
    """Rows that follow from each other in a circle do not keep each other."""
    done = updated(WAYS, ["link(a,b)@[0,9]", "link(b,c)@[0,9]", "link(c,b)@[0,9]"], removed=["link(a,b)@[3,4]"])
    assert shown(done, "reach") == [
        *(f"reach(a,{to})@{when}" for to in "bc" for when in ("(4,9]", "[0,3)")),
        *(f"reach({of},{to})@[0,9]" for of in "bc" for to in "bc"),
    ]


def test_what_was_not_given_changes_nothing() -> None:
    """Nor may the program's own facts, or what follows, be taken away."""
    done = updated("p(a)@[0,5]. q(X) :- p(X).", ["r(a)@1"], removed=["p(a)@[2,3]", "q(a)@1", "s(b)@1", "p(c)@1"])
    assert shown(done) == ["p(a)@[0,5]", "q(a)@[0,5]", "r(a)@1"]


def test_given_facts_of_derived_predicates_are_kept_apart() -> None:
    """What is both given and derived still holds when one of the two goes."""
    facts = ["p(a)@[0,5]", "q(a)@[3,9]"]
    assert shown(updated("q(X) :- p(X).", facts, removed=["p(a)@[0,5]"])) == ["q(a)@[3,9]"]
    assert shown(updated("q(X) :- p(X).", facts, removed=["q(a)@[3,9]"])) == ["p(a)@[0,5]", "q(a)@[0,5]"]


def test_predicates_that_no_rule_reads_are_updated() -> None:
    """They hold as they are given."""
    done = updated("q(X) :- p(X).", ["z(a)@1", "z(b)@1"], added=["y@2"], removed=["z(a)@1"])
    assert shown(done) == ["y@2", "z(b)@1"]


REPEATS = """timeline integer.
boxplus[7,7] due(X) :- due(X), not stopped(X).
visit(X,Y) :- due(X), site(X,Y).
idle(X) :- site(X,Y), not due(X).
"""


def test_what_repeats_begins_and_ceases() -> None:
    """With what reads it, and negates it, at any time."""
    plan = plan_of(REPEATS)
    done = materialised(plan, records(plan, ["due(a)@1", "site(a,s)@[0,100]", "site(b,t)@[0,100]"]))

    def holds(*facts: str) -> list[bool]:
        return [done.holds(fact) for fact in records(plan, facts)]

    done.update(records(plan, ["due(b)@3"]))
    begun = ("due(b)@700003", "due(b)@700004", "visit(b,t)@10", "idle(b)@10", "due(a)@700001")
    assert holds(*begun) == [True, False, True, False, True]
    done.update(records(plan, ["stopped(a)@15"]), records(plan, ["due(b)@3"]))
    assert holds("due(b)@700003", "visit(b,t)@10", "idle(b)@10") == [False, False, True]
    assert holds("due(a)@15", "due(a)@22", "idle(a)@22", "visit(a,s)@15") == [True, False, True, True]
    assert not list(done.repeating())
    done.update((), records(plan, ["stopped(a)@15"]))
    assert holds("due(a)@22", "due(a)@700001", "visit(a,s)@99", "visit(a,s)@106") == [True, True, True, False]


def test_a_reader_of_what_repeats_is_updated_alone() -> None:
    """What repeats is not derived again for it, but told by its period, to one side or to both."""
    plan = plan_of("timeline integer. boxplus[3,3] p(X) :- p(X). boxminus[4,4] p(X) :- p(X), back. q(X,Y) :- p(X), r(Y).")
    done = materialised(plan, records(plan, ["p(a)@0", "back@(-inf,inf)", "r(b)@5"]))
    done.update(records(plan, ["r(c)@(-inf,inf)"]), records(plan, ["r(b)@5"]))
    expected = materialised(plan, records(plan, ["p(a)@0", "back@(-inf,inf)", "r(c)@(-inf,inf)"]))
    assert holding(done) == holding(expected)
    assert done.holds(plan.record("q", ["a", "c"], time=3_000_000))


def test_constraints_are_checked_again() -> None:
    """What was violated need not be so any more, and the other way round."""
    plan = plan_of("q(X) :- p(X). bottom :- q(X), bad(X).")
    done = materialised(plan, records(plan, ["p(a)@1"]))
    done.update(records(plan, ["bad(a)@1"]))
    assert done.violation() is not None
    done.update(records(plan, ["p(b)@1"]), records(plan, ["bad(a)@1"]))
    assert done.violation() is None
    assert shown(done, "q") == ["q(a)@1", "q(b)@1"]


def test_reasons_are_told_of_what_is_updated() -> None:
    """By the facts that there are now."""
    done = updated(WAYS, ["link(a,b)@[0,9]"], added=["link(b,c)@5"])
    assert "link(b,c)@5" in done.why(done.plan.record("reach", ["a", "c"], time=5)).text()


def test_what_ends_at_a_time_is_updated_up_to_it() -> None:
    """As a fresh run with the same end."""
    plan = plan_of("timeline integer. boxplus[1,1] p(X) :- p(X).")
    done = Materialisation(plan, until=5)
    done.load(records(plan, ["p(a)@1"]))
    done.run()
    done.update(records(plan, ["p(b)@3"]))
    assert shown(done) == ["p(a)@[1,5]", "p(b)@[3,5]"]


@pytest.mark.parametrize(
    "program", ["q :- always p in [3].", "timeline integer, unit 1 s. calendar c = each day. q :- p, c."]
)
def test_what_depends_on_the_first_fact_is_refused(program: str) -> None:
    """Clipped windows, and calendars: what was materialised stays as it is."""
    plan = plan_of(program)
    done = materialised(plan, records(plan, ["p@1"]))
    before = shown(done)
    with pytest.raises(MethodError, match="load all facts anew"):
        done.update(records(plan, ["p@2"]))
    assert shown(done) == before


def test_an_update_comes_behind_the_end() -> None:
    """Rounds that are under way take no changes."""
    plan = plan_of(WAYS)
    done = Materialisation(plan)
    with pytest.raises(RuntimeError, match="`run` first"):
        done.update()
    done.load(records(plan, ["link(a,b)@1", "link(b,c)@1"]))
    done.run(1)
    with pytest.raises(RuntimeError, match="`run` first"):
        done.update()


@pytest.mark.parametrize("in_columns", [False, True])
def test_what_does_not_change_is_left_alone(in_columns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand links, a change of one has the rules applied to a handful of rows; also where rounds went in columns."""
    monkeypatch.setattr(choosing, "WORTH_IT", 0 if in_columns else 1_000_000)
    plan = plan_of(f"{WAYS} far(X,Y) :- reach(X,Y), not link(X,Y).")
    facts = [f"link({i}_{j},{i}_{j + 1})@[{j},9]" for i in range(200) for j in range(5)]
    done = materialised(plan, records(plan, facts))
    loaded: list[int] = []
    load = Materialisation.load

    def counting(self: Materialisation, some: Iterable[Record]) -> None:
        listed_records = list(some)
        loaded.append(len(listed_records))
        load(self, listed_records)

    monkeypatch.setattr(Materialisation, "load", counting)
    done.update(records(plan, ["link(7_5,7_6)@[0,9]"]), records(plan, ["link(8_2,8_3)@9"]))
    assert 0 < sum(loaded) < 150
    monkeypatch.undo()
    fresh = materialised(plan, [fact for fact in done.facts() if fact[0] == "link"])
    assert holding(done) == holding(fresh)
