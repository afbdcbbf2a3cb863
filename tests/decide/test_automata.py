"""Automata over windows: theories with and without a model, in both directions, and their limits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from batch.materialising import plan_of, records
from hypothesis import assume, given
from hypothesis import strategies as st

from decide.theories import theory_of
from drawing import drawn
from oracle.agreement import records_of
from oracle.evaluate import rules_of
from oracle.programs import EVERYTHING, Kind, streams
from oracle.programs import programs as oracle_programs
from tidelog.operators.automata.cycles import Cycle, CycleFinder
from tidelog.operators.automata.procedure import AutomatonLimits, has_model
from tidelog.operators.automata.word import Side
from tidelog.operators.horn.grounding import ground
from tidelog.operators.horn.theory import Always, Clause, Given, Theory
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.tree.syntax import Rule, Truth
from tidelog.runtime.batch.materialisation import Materialisation


def is_consistent(program: str, facts: list[str]) -> bool:
    """Whether the automata find a model."""
    return has_model(theory_of(program, facts))


@pytest.mark.parametrize(
    ("program", "facts", "expected"),
    [
        ("bottom :- p, q.", ["p@1", "q@2"], True),
        ("bottom :- p, q.", ["p@[1,2]", "q@2"], False),
        ("bottom :- p, q.", ["p@[1,2)", "q@2"], True),
        ("bottom :- p, q.", ["p@(-inf,2)", "q@(-inf,-7]"], False),
        ("bottom :- p, q.", ["p@[3,inf)", "q@(-inf,3)"], True),
        ("h :- p. g :- h.", ["p@1"], True),
        ("bottom :- top.", [], False),
        ("bottom :- boxminus[1,2] p.", ["p@[0,1]"], False),
        ("bottom :- boxminus[1,2] p.", ["p@[0,1)"], True),
        ("bottom :- boxplus(1,2) p.", ["p@(0,1)"], False),
    ],
)
def test_without_recursion(program: str, facts: list[str], expected: bool) -> None:
    """Facts alone, over points, gaps and without ends, meet or miss a constraint."""
    assert is_consistent(program, facts) is expected


MOVES_RIGHT = "boxplus[2,2] h :- h. bottom :- h, z."
MOVES_LEFT = "boxminus[2,2] h :- h. bottom :- h, z."


@pytest.mark.parametrize(
    ("program", "facts", "expected"),
    [
        (MOVES_RIGHT, ["h@1", "z@100"], True),
        (MOVES_RIGHT, ["h@1", "z@101"], False),
        (MOVES_RIGHT, ["h@1", "z@-1"], True),
        (MOVES_RIGHT, ["h@-101", "z@-1"], False),
        (MOVES_RIGHT, ["h@(1,2)", "z@9"], True),
        (MOVES_RIGHT, ["h@(1,2)", "z@(9,10)"], False),
        (MOVES_LEFT, ["h@1", "z@-99"], False),
        (MOVES_LEFT, ["h@1", "z@-100"], True),
        (MOVES_LEFT, ["h@1", "z@3"], True),
        ("h :- diamondminus[3,5) h. bottom :- boxminus[0,4] h.", ["h@0"], False),
        ("h :- diamondminus[3,4] h. bottom :- boxminus[0,4] h.", ["h@0"], False),
        ("h :- diamondminus[3,3] h. bottom :- boxminus[0,4] h.", ["h@[0,3)"], False),
        ("h :- diamondminus[3,3] h. bottom :- boxminus[0,4] h.", ["h@(0,3)"], True),
        ("h :- diamondplus[3,3] h. bottom :- boxminus[0,4] h.", ["h@(0,3)"], True),
        ("h :- diamondplus[3,3] h. bottom :- boxminus[0,4] h.", ["h@(0,3]"], False),
        ("boxplus[4,4] a :- a. boxplus[6,6] b :- b. bottom :- a, b.", ["a@1", "b@3"], False),
        ("boxplus[4,4] a :- a. boxplus[6,6] b :- b. bottom :- a, b.", ["a@1", "b@2"], True),
        ("boxplus[2,2] a :- a. boxminus[3,3] b :- a. boxminus[3,3] b :- b. bottom :- b, z.", ["a@0", "z@-7"], False),
        ("boxplus[2,2] a :- a. boxminus[4,4] b :- a. boxminus[4,4] b :- b. bottom :- b, z.", ["a@0", "z@-7"], True),
    ],
)
def test_recursion_that_never_ends(program: str, facts: list[str], expected: bool) -> None:
    """What goes on for ever, to the right, to the left and back again, comes round to a state that was there before."""
    assert is_consistent(program, facts) is expected


@pytest.mark.parametrize("future", [True, False])
@pytest.mark.parametrize(
    ("program", "facts", "expected"),
    [
        ("bottom :- boxplus[0,inf) p.", ["p@[2,inf)"], False),
        ("bottom :- boxplus[0,inf) p.", ["p@[2,inf)", "p@(-inf,1]"], False),
        ("bottom :- boxplus[0,inf) p.", ["p@[2,99]"], True),
        ("h :- boxplus[0,inf) p. bottom :- h, z.", ["p@[2,inf)", "z@2"], False),
        ("h :- boxplus[0,inf) p. bottom :- h, z.", ["p@(2,inf)", "z@2"], True),
        ("h :- boxplus(0,inf) p. bottom :- h, z.", ["p@(2,inf)", "z@2"], False),
        ("h :- boxplus[3,inf) p. bottom :- h, z.", ["p@[2,inf)", "z@-1"], False),
        ("h :- boxplus[3,inf) p. bottom :- h, z.", ["p@[2,inf)", "z@[-3,-1)"], True),
        ("p :- diamondminus[2,3] p. h :- boxplus[0,inf) p. bottom :- h.", ["p@0"], False),
        ("p :- diamondminus[2,2] p. h :- boxplus[0,inf) p. bottom :- h.", ["p@[0,2)"], False),
        ("p :- diamondminus[2,2] p. h :- boxplus[0,inf) p. bottom :- h.", ["p@(0,2)"], True),
        ("p :- diamondplus[2,2] p. h :- boxminus[0,inf) p. bottom :- h, z.", ["p@[0,2)", "z@2"], True),
        ("p :- diamondplus[2,2] p. h :- boxminus[0,inf) p. bottom :- h, z.", ["p@[0,2)", "z@-5"], False),
        ("g :- boxplus[0,inf) p. h :- boxplus[0,inf) g. bottom :- diamondplus[7,9] h, z.", ["p@[2,inf)", "z@-5"], False),
        ("g :- boxplus[0,inf) p. h :- boxplus[0,inf) g. bottom :- diamondplus[7,9] h, z.", ["p@[2,inf)", "z@-8"], True),
        ("g :- boxplus[0,inf) p. p :- diamondplus[1,1] g, q. bottom :- p, z.", ["p@[2,inf)", "q@[-9,9]", "z@-9"], False),
        ("g :- boxplus[0,inf) p. p :- diamondplus[1,1] g, q. bottom :- p, z.", ["p@[2,inf)", "q@[-9,9]", "z@-10"], True),
    ],
)
def test_boxes_without_an_end(program: str, facts: list[str], expected: bool, future: bool) -> None:
    """What holds for ever is known from the cycle in which it does; as well with past and future exchanged."""
    if not future:
        program, facts = _turned(program), [_turned_fact(fact) for fact in facts]
    assert is_consistent(program, facts) is expected


def _turned(program: str) -> str:
    marks = program.replace("boxplus", "BOX").replace("boxminus", "boxplus").replace("BOX", "boxminus")
    return marks.replace("diamondplus", "DIA").replace("diamondminus", "diamondplus").replace("DIA", "diamondminus")


def _turned_fact(fact: str) -> str:
    name, time = fact.split("@")
    if time[0] not in "[(":
        return f"{name}@{_negative(time)}"
    low, high = time[1:-1].split(",")
    mirrored = str.maketrans("[](){}", "][)({}")
    return f"{name}@{time[-1].translate(mirrored)}{_negative(high)},{_negative(low)}{time[0].translate(mirrored)}"


def _negative(time: str) -> str:
    return time[1:] if time.startswith("-") else f"-{time}"


@pytest.mark.parametrize(
    ("program", "facts", "expected"),
    [
        ("boxplus[0,inf) h :- p. bottom :- h, z.", ["p@2", "z@50"], False),
        ("boxminus[1,inf) h :- p. bottom :- h, z.", ["p@2", "z@1"], False),
        ("boxminus(1,inf) h :- p. bottom :- h, z.", ["p@2", "z@1"], True),
        ("boxminus[0,inf) boxplus[0,inf) h :- p. bottom :- boxminus[0,inf) h.", ["p@2"], False),
        ("boxminus[0,inf) boxplus[0,inf) h :- p. bottom :- boxplus[0,inf) h.", ["p@2"], False),
        ("boxminus[0,inf) h :- p. bottom :- boxplus[0,inf) h.", ["p@2"], True),
        ("bottom :- p since[2,inf) q, z.", ["p@[0,inf)", "q@0", "z@2"], False),
        ("bottom :- p since[2,inf) q, z.", ["p@[0,inf)", "q@0", "z@[0,2)"], True),
        ("bottom :- p since[2,inf) q, z.", ["p@(0,9)", "p@(9,20)", "q@0", "z@10"], True),
        ("bottom :- p until[2,inf) q, z.", ["p@(-inf,0)", "q@0", "z@-70"], False),
        ("bottom :- p until(2,inf) q, z.", ["p@(-inf,0)", "q@0", "z@[-2,0]"], True),
        ("p :- p since(0,inf) q. p :- boxplus(0,1) p. bottom :- p, z.", ["p@(3,4)", "q@3", "z@2"], True),
        ("p :- p since(0,inf) q. p :- boxplus(0,1) p. bottom :- p, z.", ["p@(3,4)", "q@3", "z@4"], False),
        ("bottom :- diamondminus[5,inf) p, diamondplus[5,inf) q.", ["p@0", "q@10"], False),
        ("bottom :- diamondminus[5,inf) p, diamondplus(5,inf) q.", ["p@0", "q@10"], True),
    ],
)
def test_without_a_longest_distance(program: str, facts: list[str], expected: bool) -> None:
    """Heads that hold for ever, since and until over any distance, unbounded diamonds."""
    assert is_consistent(program, facts) is expected


@pytest.mark.parametrize(
    ("program", "facts", "expected"),
    [
        ("h :- diamondminus[3,3] h. bottom :- h, z.", ["h@1", "z@31"], False),
        ("h :- diamondminus[3,3] h. bottom :- h, z.", ["h@1", "z@30"], True),
        ("bottom :- p since[3,3] q.", ["p@[1,2]", "q@0"], False),
        ("bottom :- p since[3,3] q.", ["p@1", "q@0"], True),
        ("bottom :- boxplus[0,inf) h. h :- diamondminus(0,2] h.", ["h@7"], False),
        ("bottom :- boxplus[0,inf) h. h :- diamondminus[2,2] h.", ["h@7"], True),
        ("bottom :- diamondminus[0,86400] p, diamondminus[3600,7200] q.", ["p@0", "q@90000"], True),
        ("bottom :- diamondminus[0,86400] p, diamondminus[3600,7200] q.", ["p@0", "q@79200"], False),
    ],
)
def test_integers(program: str, facts: list[str], expected: bool) -> None:
    """On integers nothing lies between two neighbours; long windows cost nothing where all numbers have a divisor."""
    assert is_consistent(f"timeline integer. {program}", facts) is expected


def test_rows() -> None:
    """Propositions are rows: what travels from row to row is excluded where it arrives, and nowhere else."""
    program = "boxplus[1,1] at(Y) :- at(X), link(X,Y). bottom :- at(X), closed(X)."
    links = ["link(a,b)@(-inf,inf)", "link(b,c)@(-inf,inf)", "link(c,a)@(-inf,inf)", "at(a)@0"]
    assert is_consistent(program, [*links, "closed(b)@30"])
    assert not is_consistent(program, [*links, "closed(b)@31"])


def test_a_counter_of_many_states() -> None:
    """Cycles of coprime lengths come round together after their product alone, and meet there."""
    program = "".join(f"boxplus[{length},{length}] c{length} :- c{length}. " for length in (5, 7, 9))
    program = f"timeline integer. {program} bottom :- c5, c7, c9, z."
    assert is_consistent(program, ["c5@1", "c7@2", "c9@3", "z@[157,470]"])
    assert not is_consistent(program, ["c5@1", "c7@2", "c9@3", "z@[157,471]"])


def test_acceptance_needs_no_facts() -> None:
    """A theory over bare propositions: a flag follows from a cycle on its own side, and is carried back to the other."""
    goes_on = Clause((0, 1), ((0, 0),))
    excluded = Clause(None, ((1, 0), (2, 3)))
    given_facts = (Given(0, 5, 5), Given(2, 8, 8))
    theory = Theory(("p", "always p", "z"), (goes_on, excluded), (Always(1, 0, True),), given_facts, False)
    assert not has_model(theory)
    assert has_model(replace(theory, given=(Given(0, 5, 5), Given(2, 7, 7))))
    assert has_model(replace(theory, always=(Always(1, 0, False),)))


def test_limits() -> None:
    """More states than allowed are refused: by the data's length at once, or where a run does not come round in time."""
    with pytest.raises(MethodError, match=r"more than 1,000 states: data over 4,001 positions"):
        has_model(theory_of("bottom :- p, q.", ["p@0", "q@2000", "q@1"]), AutomatonLimits(states=1_000))
    program = "".join(f"boxplus[{length},{length}] c{length} :- c{length}. " for length in (13, 17, 19))
    theory = theory_of(f"timeline integer. {program} bottom :- c13, c17, c19.", ["c13@1", "c17@2", "c19@3", "c19@4"])
    with pytest.raises(MethodError, match="did not come round"):
        has_model(theory, AutomatonLimits(states=300))
    with pytest.raises(MethodError, match=r"\d+ propositions hold in them"):
        has_model(theory, AutomatonLimits(entries=100))


# --- cycles -------------------------------------------------------------------------------------------------------------


def _finder(letters: str, width: int, period: int = 1) -> CycleFinder:
    return CycleFinder(Side(set(), letters=[{ord(letter)} for letter in letters]), width, period)


@pytest.mark.parametrize(
    ("letters", "width", "period", "expected"),
    [
        ("abcd", 1, 1, None),
        ("abca", 1, 1, (0, 3)),
        ("abca", 1, 2, None),
        ("abcda", 1, 2, (0, 4)),
        ("abcab", 2, 1, (1, 4)),
        ("abcbabxab", 2, 1, (1, 5)),
        ("abcabdabc", 3, 1, (2, 8)),
        ("aaaa", 3, 1, (2, 3)),
        ("aaa", 3, 1, None),
    ],
)
def test_the_first_state_that_comes_again(letters: str, width: int, period: int, expected: tuple[int, int] | None) -> None:
    """A state is as many letters as the width, at a place of the same kind; it is told by the indices of its ends."""
    cycle = _finder(letters, width, period).find()
    assert (None if cycle is None else (cycle.first, cycle.last)) == expected


def test_a_cycle_is_none_once_a_letter_in_it_has_grown() -> None:
    """What has been hashed is forgotten from the first letter on that has changed; what lies before stays."""
    finder = _finder("abcab", 2)
    assert finder.find() == Cycle(1, 4)
    finder.side.letters[3].add(0)
    finder.side.touched = 3
    assert finder.find() is None
    for letter in "cab":
        finder.side.letters.append({ord(letter)})
    assert finder.find() == Cycle(2, 5)


def test_cycles_begin_where_nothing_given_changes() -> None:
    """A state before the data's end may go on in another way than one behind it."""
    finder = _finder("abab", 1)
    finder.side.steady = 2
    assert finder.find() == Cycle(1, 3)


# --- by materialisation -------------------------------------------------------------------------------------------------

ROUNDS = 40
TIMES = ("0", "1", "2", "3", "(0,1)", "[1,2)", "(1,3]", "(-inf,0)", "(-inf,1]", "[2,inf)", "(0,inf)")
LENGTHS = ("[0,0]", "[1,1]", "[0,1]", "(0,1]", "[1,2)", "(0,2)", "[2,2]", "[0,inf)", "(1,inf)", "[1,inf)")


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A small positive program over four propositions, recursive in any direction, and facts for it."""
    names, lengths = st.sampled_from("pqrs"), st.sampled_from(LENGTHS)
    signs = st.sampled_from(("plus", "minus"))
    unary = st.builds("{}{}{} {}".format, st.sampled_from(("diamond", "box")), signs, lengths, names)
    binary = st.builds("{} {}{} {}".format, names, st.sampled_from(("since", "until")), lengths, names)
    formulas = st.one_of(names, unary, unary, binary)
    bodies = st.lists(formulas, min_size=1, max_size=2).map(", ".join)
    boxes = st.builds("box{}{} {}".format, signs, lengths, names)
    rules = draw(st.lists(st.builds("{} :- {}.".format, st.one_of(names, boxes), bodies), min_size=1, max_size=4))
    constraint = f"bottom :- {draw(bodies)}, {draw(formulas)}."
    kind = draw(st.sampled_from(("rational", "integer")))
    times = [time for time in TIMES if kind == "rational" or time != "(0,1)"]
    facts = draw(st.lists(st.builds("{}@{}".format, names, st.sampled_from(times)), min_size=1, max_size=4))
    return f"timeline {kind}. {' '.join(rules)} {constraint}", facts


@pytest.mark.slow
@drawn(150)
@given(programs())
def test_consistency_is_the_materialisations(case: tuple[str, list[str]]) -> None:
    """Where materialisation comes to its end, or to a violation, the automata say the same."""
    program, facts = case
    plan = plan_of(program)
    given_records = records(plan, facts)
    done = Materialisation(plan)
    done.load(given_records)
    done.run(ROUNDS)
    assume(done.violation() is not None or not done.round())
    assert has_model(ground(plan, given_records)) == (done.violation() is None)


ROWS = replace(EVERYTHING, negation=False, windows=False, rules=3)


@pytest.mark.slow
@drawn(50)
@given(st.data(), st.sampled_from(("rational", "integer")))
def test_with_rows(data: st.DataObject, kind: Kind) -> None:
    """The same for programs with variables, joins, wildcards, comparisons and nested operators."""
    program = data.draw(oracle_programs(kind, ROWS))
    forbidden = Rule(Truth(False), data.draw(st.sampled_from(rules_of(program))).body)
    program = replace(program, statements=(*program.statements, forbidden))
    facts = data.draw(streams(program, infinite=True, size=6, last=8))
    plan = compile_batch(program)
    given_records = records_of(plan, facts)
    done = Materialisation(plan)
    done.load(given_records)
    done.run(ROUNDS)
    assume(done.violation() is not None or not done.round())
    assert has_model(ground(plan, given_records)) == (done.violation() is None)
