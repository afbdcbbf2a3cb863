"""The oracle of hypothetical answers: its table is the naive evaluator's, its minimal sets are those found one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from itertools import chain, combinations

from hypothesis import assume, given
from hypothesis import strategies as st

from drawing import drawn
from oracle.evaluate import evaluate
from oracle.hypothetical import Answer, Oracle, Supported, answer_of, entailed, pending_facts
from oracle.hypothetical_programs import EVERYTHING, POSITIVE, ask_programs, queries
from oracle.hypothetical_streams import universes
from oracle.lars_programs import HEADS, STEPPED, lars_programs
from oracle.programs import NON_RECURSIVE, programs
from oracle.worlds import Fact, Table, listed, subsets
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.tree.syntax import Ask, Atom, Interval, Program

MALFUNCTIONS = """
timeline integer.
flag(X)@T :- temp(X, high)@T.
cool(X)@T+1 :- flag(X)@T, flag(X)@T+1.
shdn(X)@T+1 :- cool(X)@T, flag(X)@T+1.
malf(X)@T-2 :- shdn(X)@T.
ask malf(X)@T.
"""


def asked(text: str) -> tuple[Program, Atom]:
    """A program and what it asks."""
    program = parse(text)
    return program, next(statement.query for statement in program.statements if isinstance(statement, Ask))


def temp(turbine: str, time: int) -> Fact:
    return "temp", (turbine, "high"), time


# --- the table ----------------------------------------------------------------------------------------------------


def check_table(program: Program, worlds: Sequence[Collection[Fact]], start: int) -> None:
    """Fail where a world's atoms are not those of the naive evaluator's model of it."""
    table = Table(program, listed(worlds), len(worlds), start)
    low, high = table.time(0), table.time(table.grid.size - 1)
    for index, world in enumerate(worlds):
        points = [(name, row, Interval(Fraction(time), Fraction(time))) for name, row, time in world]
        model = evaluate(program, points, low=low, high=high, start=start)
        for predicate in {*model.coverage, *table._held}:
            for row in {*model.rows(predicate), *table.rows(predicate)}:
                found = [time for time, mask in table.truths(predicate, row).items() if mask >> index & 1]
                assert found == model.points(predicate, row), (format_program(program), sorted(world), predicate, row)


@drawn(60)
@given(st.data())
def test_each_world_of_a_table_is_the_naive_model(data: st.DataObject) -> None:
    """Programs that can be asked: what a table says of a world is what the naive evaluator derives from its facts."""
    program = data.draw(ask_programs(EVERYTHING))
    facts = st.frozensets(st.sampled_from(data.draw(universes(program))))
    check_table(program, data.draw(st.lists(facts, min_size=3, max_size=3)), data.draw(st.integers(-1, 2)))


@drawn(40)
@given(st.data())
def test_tables_cover_every_form_of_the_language(data: st.DataObject) -> None:
    """So it is for DatalogMTL's and LARS's forms in all their depth."""
    drawn = st.one_of(programs("integer", NON_RECURSIVE), lars_programs(HEADS), lars_programs(STEPPED))
    program = data.draw(drawn)
    names = st.sampled_from(("p", "q", "r", "s"))
    arities = {"p": 1, "q": 1, "r": 0, "s": 2}
    for rule in program.statements:
        arities |= dict(_arities(rule))
    values = st.sampled_from(("a", "b", 1))
    fact = names.flatmap(lambda n: st.tuples(st.just(n), st.tuples(*[values] * arities[n]), st.integers(0, 5)))
    check_table(program, data.draw(st.lists(st.frozensets(fact, max_size=8), min_size=2, max_size=2)), 0)


def _arities(node: object) -> list[tuple[str, int]]:
    if isinstance(node, Atom):
        return [(node.predicate, len(node.arguments))]
    names = getattr(node, "__dataclass_fields__", {})
    inner = [getattr(node, name) for name in names if name != "span"]
    parts = chain.from_iterable(each if isinstance(each, tuple) else (each,) for each in inner)
    return [found for part in parts for found in _arities(part)]


def test_a_table_has_a_world_for_each_subset() -> None:
    """World w has fact i where bit i of w is set."""
    facts = [("p", (), time) for time in range(3)]
    assert subsets(facts) == listed([[fact for i, fact in enumerate(facts) if w >> i & 1] for w in range(8)])


def test_negation_of_the_past_is_decided_time_by_time() -> None:
    """A program that is stratified by time alone: s every other time while p holds."""
    program, query = asked("timeline integer.\ns@T :- p@T, not s@T-1.\nask s@T.")
    held = entailed(program, query, [[("p", (), time) for time in range(4)]])
    assert held == [{(0,), (2,)}]


# --- the definitions ----------------------------------------------------------------------------------------------


def powerset(facts: Sequence[Fact]) -> list[frozenset[Fact]]:
    """All subsets, smaller ones first."""
    return [frozenset(each) for size in range(len(facts) + 1) for each in combinations(facts, size)]


def one_by_one(
    program: Program, query: Atom, known: Sequence[Fact], pending: Sequence[Fact]
) -> tuple[set[tuple[Answer, frozenset[Fact]]], set[Supported]]:
    """Definitions 1 and 2 with the naive evaluator: every subset is tried, and kept if none of its subsets was."""
    held = {world: naive(program, query, world) for world in powerset([*known, *pending])}
    hypothetical: set[tuple[Answer, frozenset[Fact]]] = set()
    supported: set[Supported] = set()
    for answer in set().union(*held.values()):
        kept = minimal(h for h in powerset(pending) if answer in held[h | {*known}])
        hypothetical |= {(answer, h) for h in kept}
        for h in kept:
            supported |= {Supported(answer, h, e) for e in minimal(e for e in powerset(known) if answer in held[e | h]) if e}
    return hypothetical, supported


def minimal(sets: Iterable[frozenset[Fact]]) -> list[frozenset[Fact]]:
    """Those that contain no other; smaller ones come first."""
    kept: list[frozenset[Fact]] = []
    for each in sets:
        if not any(other <= each for other in kept):
            kept.append(each)
    return kept


def naive(program: Program, query: Atom, world: Collection[Fact]) -> set[Answer]:
    """What the naive evaluator answers to a query over some facts."""
    points = [(name, row, Interval(Fraction(time), Fraction(time))) for name, row, time in world]
    model = evaluate(program, points, low=-20, high=30, start=0)
    pairs = [(row, int(time)) for row in model.rows(query.predicate) for time in model.points(query.predicate, row)]
    return {answer for row, time in pairs if -12 < time < 22 and (answer := answer_of(query, row, time)) is not None}


def is_near(answer: Answer) -> bool:
    """Whether the answer's time lies well inside the stretch that the naive evaluator looks at."""
    return isinstance(answer[-1], int) and -12 < answer[-1] < 22


@drawn(25)
@given(st.data())
def test_minimal_sets_are_those_found_one_by_one(data: st.DataObject) -> None:
    """H(Q,D,τ) and ℰ(Q,D,τ) are what trying all subsets with the naive evaluator finds."""
    program = data.draw(ask_programs(POSITIVE))
    query = data.draw(queries(program))
    universe = data.draw(universes(program, size=6, last=2))
    oracle = Oracle(program, query, universe, start=0)
    assume(not oracle.table.meets_edge)
    watermark = data.draw(st.integers(-1, 2))
    known = [fact for fact in universe if fact[2] <= watermark and data.draw(st.booleans())]
    pending = pending_facts(universe, known, watermark, {})
    hypothetical, supported = one_by_one(program, query, known, pending)
    found = {item for item in oracle.hypothetical(known, pending) if is_near(item[0])}
    assert found == hypothetical
    assert {item for item in oracle.supported(known, pending) if is_near(item.answer)} == supported


def test_the_definitions_give_the_sets_of_the_paper() -> None:
    """Examples 2 and 3: what is supported, what is only hypothetical, and what is neither any more."""
    program, query = asked(MALFUNCTIONS)
    universe = [temp(turbine, time) for turbine in ("wt25", "wt42") for time in range(4)]
    oracle = Oracle(program, query, universe)
    known = [temp("wt25", 0)]
    pending = pending_facts(universe, known, 0, {})
    assert (("wt25", 0), frozenset({temp("wt25", 1), temp("wt25", 2)})) in oracle.hypothetical(known, pending)
    assert (("wt42", 1), frozenset(temp("wt42", k) for k in (1, 2, 3))) in oracle.hypothetical(known, pending)
    assert oracle.supported(known, pending) == {
        Supported(("wt25", 0), frozenset({temp("wt25", 1), temp("wt25", 2)}), frozenset(known))
    }
    known = [temp("wt25", 0), temp("wt25", 1)]
    pending = pending_facts(universe, known, 1, {})
    assert ("wt42", 1) not in {answer for answer, _ in oracle.hypothetical(known, pending)}
    assert Supported(("wt25", 0), frozenset({temp("wt25", 2)}), frozenset(known)) in oracle.supported(known, pending)


@drawn(40)
@given(st.data())
def test_hypothetical_answers_shrink_as_time_passes(data: st.DataObject) -> None:
    """Propositions 3 and 4: what is hypothetical now was so before any fact came, with H and the facts that have come."""
    program = data.draw(ask_programs(POSITIVE))
    query = data.draw(queries(program))
    universe = data.draw(universes(program, size=9))
    oracle = Oracle(program, query, universe, start=0)
    watermark = data.draw(st.integers(-1, 5))
    known = [fact for fact in universe if fact[2] <= watermark and data.draw(st.booleans())]
    before = oracle.hypothetical([], universe)
    for answer, hypotheses in oracle.hypothetical(known, pending_facts(universe, known, watermark, {})):
        assert any(a == answer and h - {*known} == hypotheses for a, h in before)


def test_with_negation_answers_are_possible_or_certain() -> None:
    """An answer over `not` is certain once nothing that may come can take it back, and possible until it is taken back."""
    program, query = asked("timeline integer.\ninput p(x).\ninput ok(x).\nh(X)@T :- p(X)@T, not ok(X)@T+1.\nask h(X)@T.")
    came, taken = ("p", ("a",), 0), ("ok", ("a",), 1)
    oracle = Oracle(program, query, [came, taken])
    assert (oracle.possible([came], [taken]), oracle.certain([came], [taken])) == ({("a", 0)}, set())
    assert oracle.certain([came], []) == {("a", 0)}
    assert oracle.possible([came, taken], []) == set()
    assert oracle.needs(("a", 0)) == {came, taken}
