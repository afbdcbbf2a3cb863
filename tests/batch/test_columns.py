"""Rounds in columns reach what rounds over rows reach, after every round, and in the end."""

from __future__ import annotations

from itertools import count
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batch.materialising import plan_of, records
from batch.test_equals_oracle import FRAGMENTS, KINDS, Comparison, cases, compiled, show
from drawing import drawn
from oracle.agreement import records_of
from oracle.lars_programs import AGGREGATES, COUNTED, HELD, lars_programs, lars_streams
from oracle.programs import Features, Kind
from oracle.recursive_programs import Tiny, few_facts, tiny_programs
from oracle.recursive_programs import compiled as compiled_tiny
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import DataError, EndlessError, StateError
from tidelog.plans.tree.syntax import Program
from tidelog.runtime.batch import choosing, materialisation
from tidelog.runtime.batch.columnar import rounds
from tidelog.runtime.batch.materialisation import Materialisation

ROUNDS = 30


class InColumns(Materialisation):
    """Goes in columns wherever it can, however few facts there are."""

    def round(self) -> bool:
        with patch.object(choosing, "WORTH_IT", 0):
            return super().round()


def both(
    plan: BatchPlan, facts: list[Record], until: int | None = None, max_state: int | None = None
) -> tuple[Materialisation, InColumns]:
    """By rows and in columns, before the first round."""
    every = Materialisation(plan, until=until, max_state=max_state), InColumns(plan, until=until, max_state=max_state)
    for done in every:
        done.load(facts)
    return every


def same_after_every_round(plan: BatchPlan, facts: list[Record], where: str, until: int | None = None) -> int:
    """Fails where the two differ after any round; how many rounds there were."""
    rows, columns = both(plan, facts, until)
    for number in count():
        went_on = rows.round()
        assert columns.round() == went_on, f"round {number}\n{where}"
        assert holding(columns) == holding(rows), f"round {number}\n{where}"
        assert str(columns.violation()) == str(rows.violation()), where
        if not went_on or number == ROUNDS:
            return number
    raise AssertionError


def holding(done: Materialisation) -> list[str]:
    return sorted(map(repr, (*done.facts(), *done.repeating())))


def outcome(done: Materialisation) -> str:
    """How a run ends."""
    try:
        done.run()
    except (DataError, EndlessError) as error:
        return f"{type(error).__name__}: {error}"
    return str(done.violation())


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS), st.sampled_from(FRAGMENTS))
def test_they_are_as_rows_after_every_round(data: st.DataObject, kind: Kind, fragment: Features) -> None:
    """Random programs with everything, recursion into the past or into the future, and data for all predicates."""
    program, facts = data.draw(cases(kind, fragment))
    plan = compiled(program)
    same_after_every_round(plan, records_of(plan, facts), show(program, facts), data.draw(st.sampled_from([None, 20])))


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS), st.sampled_from(FRAGMENTS), st.sampled_from([1, 3, 100]))
def test_they_end_as_rows_do(data: st.DataObject, kind: Kind, fragment: Features, small: int) -> None:
    """What holds, what repeats for ever, how many rounds that takes, and what is an error; also where rows take over."""
    program, facts = data.draw(cases(kind, fragment))
    plan = compiled(program)
    rows, columns = both(plan, records_of(plan, facts), data.draw(st.sampled_from([None, 20])))
    where = show(program, facts)
    with (
        patch.object(rounds, "SMALL_ROUNDS", small),
        patch.object(materialisation, "MOST_ROUNDS", 200),
        patch.object(materialisation, "MOST_ROUNDS_TO_REPEAT", 300),
    ):
        assert outcome(columns) == outcome(rows), where
    assert holding(columns) == holding(rows), where
    assert columns.complete() == rows.complete(), where
    assert columns.statistics().rounds == rows.statistics().rounds, where


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS), st.sampled_from(FRAGMENTS))
def test_what_holds_is_the_oracles(data: st.DataObject, kind: Kind, fragment: Features) -> None:
    """What has come to its end holds exactly; what has not, or is inconsistent, holds nothing that does not follow."""
    program, facts = data.draw(cases(kind, fragment))
    plan, expected = compiled(program), Comparison(program, facts)
    done = InColumns(plan)
    done.load(records_of(plan, facts))
    done.run(ROUNDS)
    ended = not done.round()
    is_partial = done.violation() is not None or not ended
    assert not expected.differences(done, sound_only=is_partial), show(program, facts)


@pytest.mark.slow
@drawn(60)
@given(st.data(), st.sampled_from([AGGREGATES, HELD, COUNTED]))
def test_aggregates_are_as_rows(data: st.DataObject, forms: object) -> None:
    """Counted and held values, of what is complete before the first round."""
    program: Program = data.draw(lars_programs(forms))  # type: ignore[arg-type] # one of these
    facts = data.draw(lars_streams())
    plan = compile_batch(program)
    rows, columns = both(plan, records_of(plan, facts))
    assert outcome(columns) == outcome(rows)
    assert holding(columns) == holding(rows), show(program, facts)


@pytest.mark.slow
@drawn(60)
@given(
    st.data(),
    st.sampled_from([Tiny(), Tiny(kind="integer"), Tiny(kind="integer", windows=True), Tiny(endless=2)]),
    st.sampled_from([2, 100]),
)
def test_what_repeats_for_ever_is_as_by_rows(data: st.DataObject, tiny: Tiny, small: int) -> None:
    """Recursion that need not end, into the past and the future, is found to repeat in the same round, to the same facts."""
    program = data.draw(tiny_programs(tiny))
    facts = data.draw(few_facts(program, tiny))
    plan = compiled_tiny(program)
    with (
        patch.object(rounds, "SMALL_ROUNDS", small),
        patch.object(materialisation, "MOST_ROUNDS", 100),
        patch.object(materialisation, "MOST_ROUNDS_TO_REPEAT", 150),
    ):
        rows, columns = both(plan, records_of(plan, facts))
        assert outcome(columns) == outcome(rows)
    assert holding(columns) == holding(rows), show(program, facts)
    assert columns.statistics().rounds == rows.statistics().rounds


# --- wide rows, many of them --------------------------------------------------------------------------------------------

VARIABLES = "ABCDE"
INPUTS = {"p": 5, "q": 3, "r": 1}
ALONE = ("{one}", "diamondminus{span} {one}", "diamondplus{span} {one}", "boxminus{span} {one}", "boxplus{span} {one}")
JOINED = ("{one}, {other}", "{one}, diamondplus{span} {other}", "boxminus{span} {one}, {other}")
PAIRED = ("{other} since{span} {one}", "{other} until{span} {one}")
SPANS = ("[0,1]", "[1,1]", "(0,2]", "[1,3)", "[0,0]")
MOST = 20_000
"""What joins make without end is not followed further than so many rows."""


@st.composite
def wide_programs(draw: st.DrawFn, kind: Kind) -> str:
    """Rules over predicates of up to 5 arguments, permuted, projected and joined, some of them recursive through time."""
    arities = dict(INPUTS)
    lines = [f"timeline {kind}."]
    for number in range(draw(st.integers(1, 6))):
        names = draw(st.sampled_from(list(arities))), draw(st.sampled_from(list(arities)))
        one, other = (draw(st.permutations(VARIABLES))[: arities[name]] for name in names)
        bodies = draw(st.sampled_from([ALONE, JOINED, PAIRED]))
        bound = [*one, *(name for name in other if name not in one)] if bodies is JOINED else one
        if bodies is PAIRED:
            other = [name if name in one else "_" for name in other]
        texts = (f"{name}({','.join(arguments)})" for name, arguments in zip(names, (one, other), strict=True))
        one_text, other_text = texts
        body = draw(st.sampled_from(bodies)).format(one=one_text, other=other_text, span=draw(st.sampled_from(SPANS)))
        if draw(st.integers(0, 7)) == 7:
            negated = draw(st.sampled_from(list(INPUTS)))
            terms = [draw(st.sampled_from([*bound, "_", "0"])) for _ in range(INPUTS[negated])]
            body += f", not {negated}({','.join(terms)})"
        head = draw(st.sampled_from([f"d{number}", *(name for name in names if name not in INPUTS)]))
        arguments = [draw(st.sampled_from(bound)) for _ in range(arities.setdefault(head, draw(st.integers(1, 5))))]
        lines.append(f"{head}({','.join(arguments)}) :- {body}.")
    return "\n".join(lines)


def wide_facts(random: Random, plan: BatchPlan, facts: int) -> list[Record]:
    """So many facts of the inputs, at random times with open and closed ends."""
    found: list[Record] = []
    for _ in range(facts):
        name = random.choice(list(INPUTS))
        row = tuple(random.choice((0, 1, 2.5, "a")) for _ in range(INPUTS[name]))
        low = random.randrange(20 + facts)
        found.append((name, row, low, low + random.randrange(12)))
    return found


@pytest.mark.slow
@given(st.data(), st.sampled_from(KINDS), st.sampled_from([3, 30, 300]), st.integers(0, 1 << 30).map(Random))
def test_wide_rows_are_as_rows(data: st.DataObject, kind: Kind, facts: int, random: Random) -> None:
    """Programs over up to 5 arguments, with joins and recursion through time in both directions, few facts and hundreds."""
    text = data.draw(wide_programs(kind))
    plan = plan_of(text)
    rows, columns = both(plan, wide_facts(random, plan, facts), max_state=MOST)
    for _ in range(6):
        try:
            went_on = rows.round()
        except StateError:
            return
        assert columns.round() == went_on, text
        assert holding(columns) == holding(rows), text


# --- by name ------------------------------------------------------------------------------------------------------------


def test_a_cross_product_without_room_is_told_as_by_rows() -> None:
    """What would make more rows than may be held is left to rows, which tell the rule that does."""
    text = "pair(X,Y) :- p(X), q(Y)."
    facts = [f"{name}({number})@1" for name in "pq" for number in range(200)]
    plan = plan_of(text)
    errors = []
    for done in both(plan, records(plan, facts), max_state=5_000):
        with pytest.raises(StateError) as error:
            done.run()
        errors.append(str(error.value))
    assert errors[0] == errors[1]
    assert "pair(X, Y)" in errors[0]


def test_times_beyond_the_timeline_are_told_as_by_rows() -> None:
    """Recursion that leaves the times that there are ends with the same error."""
    text = "timeline integer. p :- diamondminus[500000000000000000,500000000000000000] p."
    plan = plan_of(text)
    rows, columns = map(outcome, both(plan, records(plan, ["p@0"])))
    assert rows == columns
    assert "beyond what the timeline can hold" in columns


def test_integers_that_floats_do_not_carry_stay_apart() -> None:
    """Large integers, numbers and texts share a column, and none becomes another."""
    values = [2**53, 2**53 + 1, "a", 0.5, 1]
    done = InColumns(plan_of("q(X, Y) :- p(X), p(Y), X != Y. r(X) :- q(X, _)."))
    done.load([("p", (value,), 0, 0) for value in values])
    done.run()
    assert sorted((row for name, row, _, _ in done.facts() if name == "r"), key=repr) == sorted(
        ((value,) for value in values), key=repr
    )
    assert sum(name == "q" for name, *_ in done.facts()) == len(values) * (len(values) - 1)


def test_many_facts_go_in_columns_and_few_do_not() -> None:
    """`statistics` say how many rounds went so; a program that cannot is computed by rows."""
    text = "q(X) :- diamondminus[0,1] p(X). r(X) :- q(X)."
    plan = plan_of(text)
    few, columns = both(plan, records(plan, ["p(a)@1"]))
    for done in (few, columns):
        done.run()
    assert (few.statistics().in_columns, columns.statistics().in_columns) == (0, 2)
    many = Materialisation(plan)
    many.load([("p", (number,), 0, 0) for number in range(choosing.WORTH_IT)])
    many.run()
    assert many.statistics().in_columns == 2
