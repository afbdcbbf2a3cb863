"""Naive, seminaive and optimised materialisation reach the same after every round, with less and less work."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batch.materialising import STRATEGIES, loaded, plan_of, records, shown
from oracle.agreement import records_of
from oracle.evaluate import GroundFact, rules_of
from oracle.grounding import head_atom
from oracle.programs import EVERYTHING, Kind, programs, streams
from tidelog.plans.compiling.batch import BatchPlan, compile_batch
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Binary, Formula, Interval, Program, Rule, Unary, Window
from tidelog.plans.tree.traverse import children, rebuild
from tidelog.runtime.batch.materialisation import Materialisation, MaterialisationStatistics
from tidelog.runtime.batch.strategies import StrategyName

# --- the example of Wang et al. 2022 ------------------------------------------------------------------------------------

EXAMPLE = """
R1(X,Y) :- boxminus[1,1] R1(X,Y)
boxplus[1,1] R5(Y) :- R2(X,Y), boxplus[1,2] R3(Y,Z)
R4(X) :- diamondminus[0,1] R5(X)
R6(Y) :- R1(X,Y), boxminus[0,2] R4(Y), R5(Y)
"""
DATA = ["R1(c1,c2)@[0,1]", "R2(c1,c2)@[1,2]", "R3(c2,c3)@[2,3]", "R5(c2)@[0,1]"]
GIVEN = ["R2(c1,c2)@[1,2]", "R3(c2,c3)@[2,3]"]
ROUNDS = [
    ["R1(c1,c2)@[0,2]", *GIVEN, "R4(c2)@[0,2]", "R5(c2)@2", "R5(c2)@[0,1]"],
    ["R1(c1,c2)@[0,3]", *GIVEN, "R4(c2)@[0,3]", "R5(c2)@2", "R5(c2)@[0,1]", "R6(c2)@2"],
    ["R1(c1,c2)@[0,4]", *GIVEN, "R4(c2)@[0,3]", "R5(c2)@2", "R5(c2)@[0,1]", "R6(c2)@2"],
]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_example_4_1_round_by_round(strategy: StrategyName) -> None:
    """The partial materialisations of Example 4.1 after its three rounds are the paper's, and its input fact is entailed."""
    done = loaded(EXAMPLE, DATA, strategy)
    goal = done.plan.record("R1", ["c1", "c2"], time=4)
    for expected in ROUNDS:
        assert not done.holds(goal)
        assert done.round()
        assert shown(done) == expected
    assert done.holds(goal)
    assert done.statistics().facts == (3, 3, 1)


def test_example_4_1_discards_rules() -> None:
    """Procedure 3 discards r2, r3 and r4 of Example 4.1, and only r1 is left; seminaive keeps all."""
    done = loaded(EXAMPLE, DATA, "optimised")
    discarded = []
    for _ in range(5):
        done.round()
        discarded.append(done.statistics().discarded)
    assert discarded == [1, 2, 3, 3, 3]
    assert after(EXAMPLE, DATA, "seminaive", 5).discarded == 0


def after(program: str, facts: list[str], strategy: StrategyName, rounds: int | None = None) -> MaterialisationStatistics:
    done = loaded(program, facts, strategy)
    done.run(rounds)
    return done.statistics()


def test_each_strategy_does_less_than_the_one_before() -> None:
    """Seminaive feeds operators with what is new alone; optimised does not feed discarded rules."""
    naive, seminaive, optimised = (after(EXAMPLE, DATA, strategy, 20) for strategy in STRATEGIES)
    assert naive.facts == seminaive.facts == optimised.facts
    assert naive.evaluations > 2 * seminaive.evaluations
    assert seminaive.evaluations > optimised.evaluations


# --- what is discarded --------------------------------------------------------------------------------------------------


def test_rules_go_when_all_they_read_is_complete() -> None:
    """Without recursion each rule goes one round after those that it reads."""
    done = loaded("a :- p. b :- a. c :- b. d :- diamondplus[1,1] c.", ["p@1"], "optimised")
    discarded = []
    while done.round():
        discarded.append(done.statistics().discarded)
    assert discarded == [1, 2, 3, 4]


def test_a_rule_goes_whose_complete_atom_never_holds() -> None:
    """A recursive rule with an atom that holds nowhere can give nothing (Procedure 3, line 15)."""
    done = loaded(
        "p(X) :- diamondminus[1,1] p(X), on(X). q(X) :- diamondminus[1,1] q(X).", ["p(a)@0", "q(a)@0"], "optimised"
    )
    done.run(2)
    assert done.statistics().discarded == 1


def test_a_recursion_is_complete_once_it_has_come_to_rest() -> None:
    """A component that a round has left as it was is told so, while others of its stratum go on."""
    program = "up(X,Z) :- up(X,Y), up(Y,Z). tick :- diamondminus[1,1] tick. far(X) :- up(X,Y), tick."
    done = loaded(program, ["up(a,b)@[0,9]", "up(b,c)@[0,9]", "tick@0"], "optimised")
    done.run(3)
    assert done.statistics().discarded == 1
    done.run(20)
    assert done.statistics().discarded == 2
    assert shown(done, "far") == [f"far({x})@{t}" for x in "ab" for t in range(10)]


def test_a_recursion_that_looks_ahead_is_promised_nothing() -> None:
    """Where rules look ahead, what lies before the news of a round may still change."""
    program = "p :- diamondplus[1,1] p. h :- p, on."
    same_after_every_round(plan_of(program), records(plan_of(program), ["p@9", "on@[2,3]"]), rounds=12)
    done = loaded(program, ["p@9", "on@[2,3]"], "optimised")
    done.run(9)
    assert shown(done, "h") == ["h@2", "h@3"]
    assert done.statistics().discarded == 0


# --- the same after every round -----------------------------------------------------------------------------------------


def same_after_every_round(plan: BatchPlan, facts: list[Record], rounds: int = 40, until: int | None = None) -> int:
    """Fails where strategies differ after any round, in what holds or in what is violated; how many rounds there were."""
    every = [Materialisation(plan, strategy, until) for strategy in STRATEGIES]
    for done in every:
        done.load(facts)
    for number in count():
        went_on = [done.round() for done in every]
        holds = [sorted(done.facts(), key=repr) for done in every]
        violated = [str(done.violation()) for done in every]
        where = f"round {number}\n{format_program(plan.program)}\n{facts}"
        assert holds[0] == holds[1] == holds[2], where
        assert violated[0] == violated[1] == violated[2], where
        assert went_on[0] == went_on[1] == went_on[2], where
        if not went_on[0] or number == rounds:
            return number
    raise AssertionError


@pytest.mark.parametrize(
    ("program", "facts"),
    [
        ("reach(X,Z) :- reach(X,Y), reach(Y,Z).", [f"reach({i},{i + 1})@[{i},20]" for i in range(9)]),
        ("p :- boxminus[0,1] q. q :- diamondplus[0,2] p. r :- p since[1,3) q.", ["q@[0,5]", "p@(7,8)"]),
        (
            "p(X) :- diamondminus(0,1] p(X), on(X). q(X) :- p(X), not r(X). r(X) :- diamondplus[2,2] p(X).",
            ["p(a)@0", "on(a)@[0,5)"],
        ),
        ("a :- b until[0,2] a. b :- c since[0,1] a. c :- diamondminus[1,1] c.", ["a@[5,6]", "c@0", "b@(1,5)"]),
        (
            "timeline integer. p :- always q in [3]. q :- diamondminus[1,2] p, go. bottom :- q, stop.",
            ["q@[0,3]", "go@[0,30]", "stop@9"],
        ),
        (
            "p(X,Y) :- q(X), r(Y). q(X) :- p(X,X). r(Y) :- diamondminus[3,3] p(Y,_). s(X) :- p(X,_).",
            ["q(a)@[0,9]", "r(a)@1", "r(b)@2"],
        ),
        (
            "p :- q. p :- r. q :- p. r :- diamondminus[1,1] q. t :- not u, p. u :- diamondplus[0,inf) v.",
            ["q@0", "v@4"],
        ),
    ],
)
def test_strategies_agree(program: str, facts: list[str]) -> None:
    """All strategies hold the same after every round."""
    plan = plan_of(program)
    assert same_after_every_round(plan, records(plan, facts)) > 1


RICH = replace(EVERYTHING, nested_negation=True)
MIRRORED = {
    "diamondminus": "diamondplus",
    "diamondplus": "diamondminus",
    "boxminus": "boxplus",
    "boxplus": "boxminus",
    "since": "until",
    "until": "since",
}


def mirrored(program: Program) -> Program:
    """The program with time turned round, so that its recursion looks ahead; as it is, if it has windows."""
    rules = rules_of(program)
    if any(_has_window(part) for rule in rules for part in rule.body):
        return program
    turned = [Rule(_turned(rule.head), tuple(map(_turned, rule.body))) for rule in rules]
    return replace(program, statements=(program.statements[0], *turned))


def _has_window(formula: Formula) -> bool:
    return isinstance(formula, Window) or any(map(_has_window, children(formula)))


def _turned(formula: Formula) -> Formula:
    formula = rebuild(formula, _turned)
    if isinstance(formula, Unary | Binary):
        return replace(formula, operator=MIRRORED[formula.operator])
    return formula


def _turned_interval(interval: Interval) -> Interval:
    return Interval(-interval.high, -interval.low, interval.right_open, interval.left_open)


def _also_derived(program: Program, facts: list[GroundFact]) -> list[GroundFact]:
    """The facts, and every second of them for derived predicates of the same arity too."""
    heads = {atom.predicate: len(atom.arguments) for rule in rules_of(program) if (atom := head_atom(rule.head))}
    return facts + [(name, row, when) for _, row, when in facts[::2] for name, arity in heads.items() if arity == len(row)]


@pytest.mark.slow
@given(st.data(), st.sampled_from(("rational", "integer")))
def test_strategies_agree_on_random_programs(data: st.DataObject, kind: Kind) -> None:
    """Random programs with everything, recursion into the past or into the future, and data for all predicates."""
    program = data.draw(programs(kind, RICH))
    facts = _also_derived(program, data.draw(streams(program, infinite=True, size=8)))
    if data.draw(st.booleans()):
        program, facts = mirrored(program), [(name, row, _turned_interval(when)) for name, row, when in facts]
    try:
        plan = compile_batch(program)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} <= {"not-supported"}, format_program(program)
        assume(False)
        raise
    until: int | None = data.draw(st.sampled_from([None, 20]))
    same_after_every_round(plan, records_of(plan, facts), until=until)
