"""How plans are cut: the examples as golden files, and small programs by hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest

import tidelog
from tidelog.plans.explaining.islands import explain_islands
from tidelog.plans.islands.island import Island, owner
from tidelog.plans.islands.islands import islands_of
from tidelog.plans.islands.sub_plan import island_plan
from tidelog.plans.plan.plan import Feed, Plan
from tidelog.runtime.network.network import Network
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.state_bound import StateBound

HOW: tuple[Literal["islands", "rule"], ...] = ("islands", "rule")
GOLDEN = Path(__file__).parent / "golden"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/*.tide"))


def cut(text: str) -> tuple[Plan, list[Island]]:
    plan = tidelog.compile(f"timeline integer. {text}")
    return plan, [*islands_of(plan)]


def keys(text: str) -> list[object]:
    """For each island what it is called, and its key, or the rule for which it has none."""
    return [(each.name, each.prevented_by if each.key is None else dict(each.key)) for each in cut(text)[1]]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    """The islands of the examples are what the golden files say."""
    plan = tidelog.compile(path.read_text(encoding="utf-8"), name=path.name, folder=path.parent)
    shown, golden = explain_islands(plan), GOLDEN / f"{path.stem}.txt"
    if os.environ.get("TIDELOG_GOLDEN") == "write":
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("desk", [False, True])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_step_is_in_one_island(path: Path, desk: bool) -> None:
    """What rests on the stream is in one, and each output; an island imports what earlier ones export, at steady steps."""
    plan = tidelog.compile(path.read_text(encoding="utf-8"), name=path.name, folder=path.parent, desk=desk)
    network = network_of(plan)
    for how in HOW:
        islands = islands_of(plan, how)
        fed = [name for island in islands for name in _fed(plan, island)]
        assert len(fed) == len({*fed}) and {*fed} == _fed_steps(plan)
        exported: set[str] = set()
        for number, island in enumerate(islands):
            assert island.number == number
            assert {*island.imports} <= exported
            exported |= {*island.exports}
            assert all(network._unit_of[name].is_steady for name in island.exports)
            assert not any(network._unit_of[name].is_irregular for name in island.exports)
        plans = [island_plan(plan, island) for island in islands]
        for island, part in zip(islands, plans, strict=True):
            assert [step.id for step in part.steps] == [*island.steps]
            assert {feed.name for step in part.steps for feed in step.inputs if feed.kind == "remote"} == {*island.imports}
            assert {step.loop for step in part.steps} - {None} == {*range(len(part.loops))}
            assert [loop.number for loop in part.loops] == [*range(len(part.loops))]
        assert sorted(name for part in plans for name in part.outputs) == sorted(plan.outputs)
        assert sorted(name for part in plans for name in part.constraints) == sorted(plan.constraints)
        if how == "islands":
            assert [[*network_of(part).graph.steps] for part in plans] == [[*island.steps] for island in islands]


def network_of(plan: Plan) -> Network:
    return Network(plan, Outlet(plan, "intervals", StateBound(None)), StateBound(None))


def _fed_steps(plan: Plan) -> set[str]:
    """The steps that a fact of the stream can reach, found one round after the other."""
    found = {step.id for step in plan.steps if {feed.kind for feed in step.inputs} & {"stream", "arrivals"}}
    while more := {step.id for step in plan.steps if not found.isdisjoint(step.feeders)} - found:
        found |= more
    return found


def _fed(plan: Plan, island: Island) -> list[str]:
    fed = _fed_steps(plan)
    return [name for name in island.steps if name in fed]


def test_a_chain_with_one_key_is_one_island() -> None:
    text = "input temp(s, v). input fan(s). hot(S) :- temp(S, V), V > 80, not fan(S). bad(S) :- boxminus[0,9] hot(S)."
    assert keys(text) == [("hot", {"temp": 0, "fan": 0})]


def test_programs_that_hang_together_by_nothing() -> None:
    text = "input p(x). input q(x). a(X) :- boxminus[0,1] p(X). b(X) :- boxminus[0,1] q(X)."
    assert keys(text) == [("a", {"p": 0}), ("b", {"q": 0})]


def test_what_loses_the_key_is_behind() -> None:
    """A sum over all sensors is not spread; what it takes is computed where the sensors are."""
    text = """
        input temp(s, v). output all.
        mean(S, A) :- A = avg(V) over temp(S, V) in [9] by S.
        all(N) :- N = count() over mean(_, _) in [9].
    """
    plan, (first, second) = cut(text)
    assert (first.key, first.prevented_by, first.reads) == ({"temp": 0}, "", ("temp",))
    assert first.columns.keys() == {*first.steps} and {"temp", "mean"} <= {*first.steps}
    assert second.key is None and second.prevented_by == "all(N) :- N = count() over mean(_, _) in [9]."
    assert second.imports == first.exports and second.reads == () and second.columns == {}
    assert [*island_plan(plan, first).outputs] == [] and [*island_plan(plan, second).outputs] == ["all"]


def test_a_row_goes_to_another_key() -> None:
    """What is imported has its key where it is read."""
    text = """
        input seen(s, room). input door(room). output busy, draught.
        near(S, R) :- latest seen(S, R) by S in [9].
        busy(S, N) :- N = count() over near(S, _) in [9] by S.
        draught(R) :- N = count() over near(_, R) in [9] by R, N > 3, door(R).
    """
    plan, (sensors, rooms) = cut(text)
    assert (sensors.key, sensors.exports, rooms.key, rooms.imports) == ({"seen": 0}, ("near",), {"door": 0}, ("near",))
    assert (sensors.columns["near"], rooms.columns["near"]) == (0, 1)
    steps = [step.id for step in island_plan(plan, rooms).steps if Feed("remote", "near") in step.inputs]
    assert steps and {*steps} <= {*rooms.steps}
    assert [*island_plan(plan, sensors).outputs] == ["busy"] and [*island_plan(plan, rooms).outputs] == ["draught"]


@pytest.mark.parametrize(
    ("rule", "key"),
    [
        ("a(X, Y) :- p(X, Y), q(Y, Z).", {"p": 1, "q": 0}),  # the place may change from atom to atom
        ("a(Y) :- p(Y, Y), q(_, Y).", {"p": 0, "q": 1}),
        ("a(X) :- p(X, Y), q(Z, W).", None),  # nothing in common
        ("a(Z) :- p(X, Y), q(X, Z).", None),  # not shown
        ("a(X) :- p(X, Y), not q(X, Y).", {"p": 0, "q": 0}),
        ("a(X) :- p(X, Y), not q(b, X).", {"p": 0, "q": 1}),
        ("a(X) :- p(X, _), not q(_, b).", None),
        ("a(X, Y) :- p(Y, X) since[0,5] q(X, Y).", {"p": 0, "q": 1}),
        ("a(X) :- not p(X, b) since[0,inf) q(X, b).", {"p": 0, "q": 0}),
        ("a(X, Y) :- latest p(X, Y) by Y in [5], latest q(Y, Z) by Y in [5].", {"p": 1, "q": 0}),
        ("a(X, N) :- N = count() over p(X, Y) in [5] by X, latest q(X, Z) by X in [5].", {"p": 0, "q": 0}),
        ("a(N) :- N = count() over p(X, Y) in [5] by X, latest q(X, Z) by X in [5].", None),
        ("a(X) :- count() over p(X, _) in [5] by X >= 3, latest q(X, Z) by X in [5].", {"p": 0, "q": 0}),
        ("a(X, T) :- p(X, Y)@T in [5], q(X, Y).", {"p": 0, "q": 0}),
        ("a(X)@T+3 :- p(X, Y)@T, q(X, Y)@T.", {"p": 0, "q": 0}),
        ("a(X) :- p(X, Y), q(X, Y) in [#3].", None),
    ],
)
def test_how_a_key_goes_through_a_rule(rule: str, key: object) -> None:
    """All of it is one island with this key; or what tells the output is not spread."""
    plan, islands = cut(f"input p(x, y). input q(x, y). output a. {rule}")
    (telling,) = [each for each in islands if island_plan(plan, each).outputs]
    assert telling.key == key
    assert (telling.prevented_by == "") == (key is not None)
    assert len(islands) == 1 or key is None


def test_a_group_is_held_where_its_columns_are() -> None:
    """What is held by one column, and joined by another, is held in an island before."""
    rule = "a(X, Y) :- latest p(X, Y) by Y in [5], latest q(X, Z) by X in [5]."
    _, (first, second) = cut(f"input p(x, y). input q(x, y). output a. {rule}")
    assert (first.key, second.key, second.imports) == ({"p": 1}, {"q": 0}, first.exports)
    assert [(first.columns[name], second.columns[name]) for name in first.exports] == [(1, 0)]


def test_machines_are_keyed_by_all_but_their_value() -> None:
    text = "input open(v). input shut(v). valve(V) := on :- open(V), not valve(V, on). valve(V) := none :- shut(V)."
    _, (island,) = cut(text)
    assert island.key == {"open": 0, "shut": 0}
    assert island.columns["valve"] == 0
    assert keys("input set(v). last := V :- set(V).")[-1] == ("last", "last := V :- set(V).")


def test_recursion_has_a_key() -> None:
    """One that goes round at one time has, if all show it; one that goes on in time has none: it waits for the present."""
    text = "input edge(net, x, y). path(N, X, Y) :- edge(N, X, Y). path(N, X, Z) :- path(N, X, Y), edge(N, Y, Z)."
    assert keys(text) == [("path", {"edge": 0})]
    assert keys("input p(x). on(X) :- p(X). on(X) :- diamondminus[1,1] on(X), p(X).") == [
        ("on", "on(X) :- diamondminus[1,1] on(X), p(X).")
    ]


def test_a_constant_at_the_place_of_the_key() -> None:
    """Rows that have it are together, and where it is shown it is the key; a variable in its place is another."""
    assert keys("input p(x, y). a(b, Y) :- p(b, Y), boxminus[0,1] p(b, Y).") == [("a", {"p": 1})]
    _, (island,) = cut("input p(x, y). input q(x, y). output a. a(b) :- latest p(b, Y) in [5], latest q(b, Z) in [5].")
    assert island.key is None


def test_what_rests_on_no_stream_has_an_island() -> None:
    """It is told there alone, though other islands have its steps."""
    text = "input p(x). e(a, b). e(b, c). r(X, Y) :- e(X, Y). r(X, Z) :- r(X, Y), e(Y, Z). a(X) :- p(X), r(X, _)."
    plan, (static, keyed) = cut(text)
    assert (static.key, static.reads, static.imports, static.prevented_by) == (None, (), (), "")
    assert [*island_plan(plan, static).outputs] == ["r"] and [*island_plan(plan, keyed).outputs] == ["a"]
    assert keyed.key == {"p": 0} and "r" in keyed.steps and "r" not in keyed.columns
    assert {record[0] for record in island_plan(plan, keyed).facts} == {"e"}


def test_absence_alone_prevents_a_key() -> None:
    """Where no fact is needed, every shard would tell of every key that is stated."""
    text = "input temp(s). sensor(a). sensor(b). silent(S) :- sensor(S), not diamondminus[0,5] temp(S)."
    assert keys(text)[-1] == ("silent", "silent(S) :- sensor(S), not diamondminus[0,5] temp(S).")


def test_stated_facts_of_an_input_prevent_a_key() -> None:
    assert keys("temp(a)@3. hot(S) :- boxminus[0,2] temp(S).")[-1][1] == "the facts of `temp`"


def test_a_tuple_window_counts_all_that_comes() -> None:
    """Its island reads what it counts."""
    _, islands = cut("input p(x). input q(x). output a. a(X) :- p(X) in [#3].")
    assert islands[-1].key is None and {*islands[-1].reads} == {"p", "q"}


def test_constraints_are_found_once() -> None:
    """One that shows the key is judged where the key is; one over several keys behind."""
    text = (
        "input on(x). input off(x). p(X) :- latest on(X) by X in [5]. bottom :- p(X), off(X). bottom :- p(X), off(Y), X < Y."
    )
    plan, islands = cut(text)
    found = [(each.key, [str(rule) for rule in island_plan(plan, each).constraints.values()]) for each in islands]
    assert [(key, len(rules)) for key, rules in found] == [({"on": 0, "off": 0}, 1), (None, 1)]


def test_owners_are_the_same_everywhere() -> None:
    """They are stored with the state of a run, and so stay."""
    assert [owner(value, 7) for value in ("a", "b", "", 0, 1, -1, 2.5, 1e300, float("inf"))] == OWNERS
    assert owner(3, 100) == owner(3.0, 100) and owner(0, 100) == owner(-0.0, 100) and owner(True, 100) == owner(1, 100)
    assert owner("1", 1000) != owner(1, 1000)


OWNERS = [5, 0, 5, 6, 6, 5, 5, 0, 1]
