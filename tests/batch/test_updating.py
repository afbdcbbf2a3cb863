"""What is updated holds as if all were materialised anew, whatever comes and goes; what does not change is left alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batch.drawn_plans import DrawnPlan, calendar_plans, endless_plans, group_plans, machine_plans, metric_plans
from batch.materialising import plan_of, records, shown
from drawing import drawn
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, Row
from tidelog.plans.data.intervals import Ranges, subtracted, united
from tidelog.plans.data.times import TimeLike
from tidelog.plans.diagnostics.errors import DataError, StateError, TidelogError
from tidelog.runtime.batch import choosing
from tidelog.runtime.batch.interpretation import Interpretation
from tidelog.runtime.batch.materialisation import Materialisation

Given = dict[tuple[str, Row], Ranges]


def materialised(plan: BatchPlan, facts: Iterable[Record], until: TimeLike | None = None) -> Materialisation:
    done = Materialisation(plan, until=until)
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


def check(data: st.DataObject, drawn_plan: DrawnPlan, last: int = 400, until: TimeLike | None = None) -> None:
    """A sequence of changes, each with facts of those that were drawn, or parts of them, that come and go."""
    plan, pool = drawn_plan.plan, drawn_plan.facts
    assume(pool)
    some = st.lists(st.sampled_from(pool), max_size=4)
    facts = changed({}, data.draw(some), ())
    try:
        done = materialised(plan, listed(facts), until)
    except TidelogError:
        assume(False)
    for _ in range(data.draw(st.integers(1, 4))):
        there = listed(facts)  # what holds together mostly goes together, if much of what is there goes at once
        going = st.lists(st.sampled_from(there), min_size=1, max_size=len(there), unique=True) if there else some
        added, removed = data.draw(some), data.draw(some | going)
        if data.draw(st.booleans()):
            removed = [(name, row, lo, lo) for name, row, lo, _ in removed]
        facts = changed(facts, added, removed)
        try:
            expected = materialised(plan, listed(facts), until)
        except TidelogError:
            assume(False)
        done.update(added, removed)
        where = drawn_plan.shown(added, removed, listed(facts))
        assert str(done.violation()) == str(expected.violation()), where
        assert done.violation() or holding(done, -last, last) == holding(expected, -last, last), where


@pytest.mark.slow
@given(st.data(), metric_plans(size=12), st.sampled_from([None, None, 5]))
def test_an_update_equals_a_fresh_run(data: st.DataObject, drawn_plan: DrawnPlan, until: int | None) -> None:
    """In programs with joins, negation, recursion, since, and constraints; also up to a time."""
    check(data, drawn_plan, until=until)


@pytest.mark.slow
@drawn(60)
@given(st.data(), metric_plans(size=8, windows=True))
def test_an_update_of_clipped_windows_equals_a_fresh_run(data: st.DataObject, drawn_plan: DrawnPlan) -> None:
    """Which hold by less where the stream starts, whether it starts elsewhere now or not."""
    check(data, drawn_plan)


@pytest.mark.slow
@drawn(120)
@given(st.data(), group_plans(windows=True))
def test_an_update_of_groups_equals_a_fresh_run(data: st.DataObject, drawn_plan: DrawnPlan) -> None:
    """What is aggregated, or held, is derived anew for the groups that change, and what follows from it where it changes."""
    check(data, drawn_plan)


@pytest.mark.slow
@drawn(40)
@given(st.data(), calendar_plans())
def test_an_update_over_calendars_equals_a_fresh_run(data: st.DataObject, drawn_plan: DrawnPlan) -> None:
    """Also where facts say other days than before."""
    check(data, drawn_plan)


@pytest.mark.slow
@drawn(40)
@given(st.data(), machine_plans())
def test_an_update_of_machines_equals_a_fresh_run(data: st.DataObject, drawn_plan: DrawnPlan) -> None:
    """A value is assigned until another one is, whatever came or went before."""
    check(data, drawn_plan)


@pytest.mark.slow
@given(st.data(), endless_plans(negation=True, times=2) | endless_plans(times=2))
def test_an_update_of_what_repeats_equals_a_fresh_run(data: st.DataObject, drawn_plan: DrawnPlan) -> None:
    """Recursion through time, in both directions, that begins to repeat and ceases to, with what reads and negates it."""
    check(data, drawn_plan, last=60)


@pytest.mark.parametrize(
    "rule",
    [
        "r(X) :- e(X), f(X).",
        "r(X) :- e(X), diamondplus[0,1] e(X).",
        "r(X) :- e(X), diamondminus[1,1] f(X).",
        "r(X) :- m(X), f(X). m(X) :- e(X), f(X).",
    ],
)
def test_what_goes_together_is_looked_up_as_it_was(rule: str) -> None:
    """The first update lists rows before it takes any away: what followed from two of them stayed."""
    facts = ["e(a)@[0,9]", "f(a)@[0,9]", "e(b)@1"]
    assert shown(updated(f"timeline integer. {rule}", facts, removed=facts), "r") == []


@pytest.mark.parametrize(
    ("program", "most", "added", "error"),
    [
        ("z(X) :- s(X). w(X) :- v(X).", 40, [f"s({i})@1" for i in range(30)], StateError),
        ("z(X,Y) :- s(X), s(Y). w(X) :- v(X).", 60, [f"s({i})@1" for i in range(10)], StateError),
        ("s(3). z(X) :- s(X). w(X) :- v(X).", 40, [f"s({i})@1" for i in range(30)], StateError),
        ("boxplus[3,3] z(X) :- s(X). w(X) :- v(X).", 40, ["s(1)@1152921504606846975"], DataError),
        ("z(Y) :- z(X), go, Y = X + 1. z(0) :- v(_).", 40, ["go@1"], TidelogError),
    ],
)
def test_an_update_that_fails_changes_nothing(program: str, most: int, added: list[str], error: type[Exception]) -> None:
    """Whether facts are too many, or what follows from them: what comes behind is right."""
    plan = plan_of(f"timeline integer. {program}")
    facts = records(plan, [f"v({i})@1" for i in range(15)])
    done = Materialisation(plan, max_state=most)
    done.load(facts)
    done.run()
    before = holding(done)
    for _ in range(2):
        with pytest.raises(error):
            done.update(records(plan, added), facts[:2])
        assert holding(done) == before
    done.update(records(plan, ["v(99)@2"]), facts[:10])
    expected = materialised(plan, [*facts[10:], *records(plan, ["v(99)@2"])])
    assert holding(done) == holding(expected)


def test_rows_that_never_come_to_hold_are_not_kept() -> None:
    """They are looked up while an update asks whether they do."""
    plan = plan_of("timeline integer. q(X) :- p(X), not r.")
    done = materialised(plan, records(plan, ["r@(-inf,inf)"]))
    for i in range(30):
        done.update(records(plan, [f"p({i})@{i}"]))
        done.update((), records(plan, [f"p({i})@{i}"]))
    assert done._updater is not None
    assert not done._updater.index.rows("q") and not done._updater.index.rows("p")


def test_machines_are_updated() -> None:
    """Their two rules are one loop, over a predicate that nobody declares."""
    done = updated(
        "timeline integer. input door(room: text, state: text). leaf(R) := S :- door(R, S).",
        ["door(a,open)@1"],
        added=["door(a,closed)@5"],
    )
    assert shown(done, "leaf") == ["leaf(a,closed)@[6,inf)", "leaf(a,open)@[2,5]"]


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


def test_what_holds_at_all_times_is_there_for_an_update() -> None:
    """Where nothing but an absence has to hold, up to something that has come."""
    done = updated("timeline integer. q(X) :- not p since[2,2] r(X).", ["p@2"], added=["r(a)@1", "r(b)@5"])
    assert shown(done, "q") == ["q(b)@7"]


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
    """As a fresh run with the same end; facts behind it are as they are given."""
    plan = plan_of("timeline integer. boxplus[1,1] p(X) :- p(X).")
    done = materialised(plan, records(plan, ["p(a)@1", "p(c)@[8,9]"]), until=5)
    done.update(records(plan, ["p(b)@3"]), records(plan, ["p(c)@9"]))
    assert shown(done) == ["p(a)@[1,5]", "p(b)@[3,5]", "p(c)@8"]


CLIPPED = "timeline integer. q(X) :- always p(X) in [3]."


@pytest.mark.parametrize(
    "added, removed", [([], ["p(a)@1"]), (["p(b)@0"], []), (["r@(-inf,inf)"], []), (["p(b)@[8,9]"], [])]
)
def test_what_depends_on_the_first_fact_follows_it(added: list[str], removed: list[str]) -> None:
    """A window is cut off at another time, or at the same."""
    facts = ["p(a)@1", "p(a)@[3,5]", "p(b)@[2,7]"]
    done = updated(CLIPPED, facts, added, removed)
    now = [fact for fact in facts if fact not in removed]
    assert shown(done) == shown(materialised(done.plan, records(done.plan, [*now, *added])))


def test_no_first_fact_is_left() -> None:
    """And then there is one again."""
    plan = plan_of(CLIPPED)
    done = materialised(plan, records(plan, ["p(a)@3"]))
    done.update((), records(plan, ["p(a)@3"]))
    assert not shown(done)
    done.update(records(plan, ["p(a)@[5,6]"]))
    assert shown(done, "q") == ["q(a)@[5,6]"]


NIGHTS = """timeline integer, unit 1 h.
calendar night = 18:00-06:00.
late(X) :- on(X), night.
shifts(X, N) :- N = count() over on(X) per night by X.
"""


def test_calendars_go_on_to_the_days_of_new_facts() -> None:
    """And are told no more of days that no fact mentions."""
    plan = plan_of(NIGHTS)
    facts = records(plan, ["on(a)@[10,20]", "on(b)@[15,16]", "on(c)@30"])
    done = materialised(plan, facts)
    for added, removed in ([["on(b)@19"], []], [["on(c)@[90,99]"], []], [[], ["on(c)@[90,99]", "on(a)@[10,12]"]]):
        came, went = records(plan, added), records(plan, removed)
        done.update(came, went)
        facts = listed(changed(changed({}, facts, ()), came, went))
        assert shown(done) == shown(materialised(plan, facts))


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


class _Counting:
    """How many facts are loaded from here on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loaded = 0
        load = Interpretation.load

        def counting(known: Interpretation, some: Iterable[Record]) -> None:
            listed_records = list(some)
            self.loaded += len(listed_records)
            load(known, listed_records)

        monkeypatch.setattr(Interpretation, "load", counting)


@pytest.mark.parametrize("in_columns", [False, True])
def test_what_does_not_change_is_left_alone(in_columns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand links, a change of one has the rules applied to a handful of rows; also where rounds went in columns."""
    monkeypatch.setattr(choosing, "WORTH_IT", 0 if in_columns else 1_000_000)
    plan = plan_of(f"{WAYS} far(X,Y) :- reach(X,Y), not link(X,Y).")
    facts = [f"link({i}_{j},{i}_{j + 1})@[{j},9]" for i in range(200) for j in range(5)]
    done = materialised(plan, records(plan, facts))
    counting = _Counting(monkeypatch)
    done.update(records(plan, ["link(7_5,7_6)@[0,9]"]), records(plan, ["link(8_2,8_3)@9"]))
    assert 0 < counting.loaded < 150
    monkeypatch.undo()
    fresh = materialised(plan, [fact for fact in done.facts() if fact[0] == "link"])
    assert holding(done) == holding(fresh)


GROUPS = """timeline integer.
n(S,N) :- N = count() over t(S,V) in [5] by S.
l(S,V) :- latest t(S,V) by S in [50].
busy(Z) :- N = sum(V) over t(S,V) in [5] by S, N > 20, at(S,Z).
most(M) :- M = max(V) over t(S,V) in [5].
"""


def test_a_group_is_derived_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two hundred groups the one that changes, near the times at which it does; what has no group near these times."""
    plan = plan_of(GROUPS)
    facts = [f"t({i},{i % 9 + j})@{i + 10 * j}" for i in range(200) for j in range(10)]
    facts += [f"at({i},{i // 10})@(-inf,inf)" for i in range(200)]
    done = materialised(plan, records(plan, facts))
    counting = _Counting(monkeypatch)
    done.update(records(plan, ["t(7,30)@40"]), records(plan, [f"t(7,{7 + 6})@67"]))
    assert 0 < counting.loaded < 400
    monkeypatch.undo()
    fresh = materialised(plan, [fact for fact in done.facts() if fact[0] in {"t", "at"}])
    assert holding(done) == holding(fresh)
    assert done.holds(plan.record("most", [30], time=44))
