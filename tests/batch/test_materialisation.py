"""Materialisation: what each operator derives over the whole timeline, strata, recursion, constraints, rounds and ends."""

from __future__ import annotations

from fractions import Fraction

import pytest

from batch.materialising import derived, loaded, plan_of, records, shown
from batch.worked import UNARY
from tidelog.plans.analysis.recursion.ends import Ending
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.diagnostics.errors import DataError, EndlessError, ProgramError
from tidelog.plans.language.parser import parse
from tidelog.runtime.batch.materialisation import MOST_ROUNDS, Materialisation

# --- operators ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operator", "closed", "open_"), UNARY)
def test_unary_operators(operator: str, closed: str, open_: str) -> None:
    """Over p@[0,4] and over p@(0,4), each operator with each kind of bracket gives exactly what Table 1 says."""
    assert derived(f"h :- {operator} p.", ["p@[0,4]"], "h") == [f"h@{closed}"]
    assert derived(f"h :- {operator} p.", ["p@(0,4)"], "h") == [f"h@{open_}"]


@pytest.mark.parametrize(
    ("formula", "facts", "holds"),
    [
        ("p since[1,2] q", ["p@[0,4]", "q@1"], ["h@[2,3]"]),
        ("p since(1,2] q", ["p@[0,4]", "q@1"], ["h@(2,3]"]),
        ("p since[1,2) q", ["p@[0,4]", "q@1"], ["h@[2,3)"]),
        ("p since(1,2) q", ["p@[0,4]", "q@1"], ["h@(2,3)"]),
        ("p since[1,2] q", ["p@(0,3)", "q@2"], ["h@3"]),
        ("p since[0,2] q", ["p@(0,3)", "q@0"], ["h@[0,2]"]),
        ("p since[1,2] q", ["p@(1,3)", "q@0"], []),
        ("p until[1,2] q", ["p@[0,4]", "q@3"], ["h@[1,2]"]),
        ("p until(1,2] q", ["p@[0,4]", "q@3"], ["h@[1,2)"]),
        ("p until[1,2) q", ["p@[0,4]", "q@3"], ["h@(1,2]"]),
        ("p until(1,2) q", ["p@[0,4]", "q@3"], ["h@(1,2)"]),
        ("p until[1,2] q", ["p@(1,4)", "q@2"], ["h@1"]),
    ],
)
def test_since_and_until(formula: str, facts: list[str], holds: list[str]) -> None:
    """Since and until need the left side strictly between the two times alone."""
    assert derived(f"h :- {formula}.", facts, "h") == holds


@pytest.mark.parametrize(
    ("rule", "facts", "holds"),
    [
        ("h :- diamondminus[1,inf) p.", ["p@2"], ["h@[3,inf)"]),
        ("h :- diamondplus[1,inf) p.", ["p@2"], ["h@(-inf,1]"]),
        ("h :- diamondplus(1,inf) p.", ["p@2"], ["h@(-inf,1)"]),
        ("h :- boxplus[0,inf) p.", ["p@[2,inf)"], ["h@[2,inf)"]),
        ("h :- boxplus[1,inf) p.", ["p@(2,inf)"], ["h@(1,inf)"]),
        ("h :- boxplus[0,inf) p.", ["p@[2,9]"], []),
        ("h :- boxminus[1,inf) p.", ["p@(-inf,5)"], ["h@(-inf,6)"]),
        ("h :- p since[0,inf) q.", ["p@[0,inf)", "q@1"], ["h@[1,inf)"]),
        ("h :- p until[1,inf) q.", ["p@(-inf,3)", "q@3"], ["h@(-inf,2]"]),
        ("boxplus[0,inf) h :- p.", ["p@2"], ["h@[2,inf)"]),
        ("boxminus[0,inf) h :- p.", ["p@2"], ["h@(-inf,2]"]),
        ("boxminus(1,2] h :- p.", ["p@2"], ["h@[0,1)"]),
        ("boxplus[1,1] boxminus[0,2] h :- p.", ["p@2"], ["h@[1,3]"]),
        ("h :- top, boxminus[0,1] p.", ["p@(-inf,inf)"], ["h@(-inf,inf)"]),
        ("h :- diamondplus[1,1] p.", ["p@[-5,-3)"], ["h@[-6,-4)"]),
        ("h :- boxminus[1/3,1/2] p.", ["p@[-1/3,1/4]"], ["h@[1/6,7/12]"]),
    ],
)
def test_the_whole_timeline(rule: str, facts: list[str], holds: list[str]) -> None:
    """Unbounded distances, boxes in heads, times before 0, facts without begin or end, fractions."""
    plan = plan_of(rule)
    if "/" in rule:
        plan = plan.with_resolution(Fraction(1, 12))
    done = Materialisation(plan)
    done.load(records(plan, facts))
    done.run()
    assert shown(done, "h") == holds


def test_integers() -> None:
    """On integers, nothing lies between two times that follow each other."""
    program = "timeline integer. h :- p since[1,3] q. g :- boxminus(0,3) p. w :- always p in [2]."
    facts = ["p@[3,4]", "q@2"]
    assert derived(program, facts, "h", "g", "w") == ["g@5", "h@[3,5]"]


def test_windows_are_clipped_where_the_facts_begin() -> None:
    """`always … in [n]` looks back to the earliest fact loaded, and no further; stepped windows hold until the next step."""
    program = "timeline integer. w :- always p in [2]. s :- sometime p in [1 step 5]."
    assert derived(program, ["p@[3,5]", "other@9"], "w", "s") == ["s@[5,9]", "w@[3,5]"]
    assert derived(program, ["p@[3,5]", "other@1"], "w") == ["w@5"]


def test_joins_comparisons_and_arithmetic() -> None:
    """Rows meet where they agree and at the times that they share; arithmetic gives new values."""
    program = "h(X,W) :- p(X,V), q(X), V > 1, W = V*2."
    facts = ["p(a,1)@[0,9]", "p(a,3)@[2,5]", "p(b,4)@[2,5]", "q(a)@(3,7)"]
    assert derived(program, facts, "h") == ["h(a,6)@(3,5]"]


# --- what is told -------------------------------------------------------------------------------------------------------


def test_everything_is_told_coalesced() -> None:
    """Input facts, the program's facts and predicates that no rule mentions are part of the result, coalesced."""
    program = "h(X) :- p(X). p(b)@[1,2). p(c)."
    facts = ["p(a)@[0,1]", "p(a)@(1,2]", "p(b)@2", "other(a)@[1,2)", "other(a,b)@1", "other(a)@[2,3]", "'top'@1"]
    assert derived(program, facts) == [
        "'top'@1",
        "h(a)@[0,2]",
        "h(b)@[1,2]",
        "h(c)@(-inf,inf)",
        "other(a)@[1,3]",
        "other(a,b)@1",
        "p(a)@[0,2]",
        "p(b)@[1,2]",
        "p(c)@(-inf,inf)",
    ]


def test_nothing_is_left_out_or_widened() -> None:
    """Predicates that are no outputs are told, exactly where they hold, though only a diamond reads them."""
    program = "output h. m :- p. h :- diamondminus[0,5] m. unused :- p. ask h@T. timeline integer."
    assert derived(program, ["p@1", "p@3"], "m", "unused") == ["m@1", "m@3", "unused@1", "unused@3"]


def test_data_may_hold_derived_and_undeclared_predicates() -> None:
    """Facts of a predicate that rules derive are united with what they derive, also where inputs are declared."""
    assert derived("input q(x). p(X) :- q(X).", ["p(a)@[0,1]", "q(a)@(1,2]"], "p") == ["p(a)@[0,2]"]


def test_keep_leaves_out_what_is_not_asked_for() -> None:
    """With `keep`, rules that neither these predicates nor constraints need are gone."""
    plan = compile_batch(parse("a :- p. b :- p. c :- p. bottom :- c, q."), keep=["a"])
    done = Materialisation(plan)
    done.load(records(plan, ["p@1"]))
    done.run()
    assert shown(done) == ["a@1", "c@1", "p@1"]
    assert plan.with_resolution(Fraction(1, 3)).components == plan.components


# --- strata and recursion -----------------------------------------------------------------------------------------------


def test_negation_waits_for_the_stratum_below() -> None:
    """A round belongs to one stratum; the next begins when nothing is new in it."""
    done = loaded("b :- a. c :- b. d :- x, not c. e :- not d, x.", ["a@1", "x@[0,2]"])
    told = []
    while done.round():
        told.append(shown(done, "b", "c", "d", "e"))
    assert told == [
        ["b@1"],
        ["b@1", "c@1"],
        ["b@1", "c@1", "d@(1,2]", "d@[0,1)"],
        ["b@1", "c@1", "d@(1,2]", "d@[0,1)", "e@1"],
    ]
    assert done.statistics().rounds == 4
    assert done.statistics().facts == (1, 1, 2, 1)


def test_what_is_negated_may_look_ahead_without_end() -> None:
    """Negation below operators, and over unbounded ones, is decided once everything below is known."""
    program = "free(X) :- room(X), not diamondplus[0,inf) (booked(X), not cancelled(X)). booked(X) :- asked(X)."
    facts = ["room(a)@[0,9]", "asked(a)@[3,5]", "cancelled(a)@(4,5]"]
    assert derived(program, facts, "free") == ["free(a)@(4,9]"]


def test_recursion_without_a_shift_ends() -> None:
    """Transitive closure holds where all the edges of a way do."""
    program = "reach(X,Y) :- edge(X,Y). reach(X,Z) :- reach(X,Y), edge(Y,Z)."
    facts = ["edge(a,b)@[0,5]", "edge(b,c)@[3,9]", "edge(c,a)@4"]
    assert derived(program, facts, "reach") == [
        "reach(a,a)@4",
        "reach(a,b)@[0,5]",
        "reach(a,c)@[3,5]",
        "reach(b,a)@4",
        "reach(b,b)@4",
        "reach(b,c)@[3,9]",
        "reach(c,a)@4",
        "reach(c,b)@4",
        "reach(c,c)@4",
    ]


def test_rules_that_move_there_and_back_end() -> None:
    """A recursion with net shift 0 comes to its end by itself."""
    assert derived("p :- diamondminus[2,2] q. q :- diamondplus[2,2] p, go.", ["p@[2,4]", "go@[1,9]"]) == [
        "go@[1,9]",
        "p@[2,4]",
        "q@[1,2]",
    ]


def test_recursion_through_boxes_and_since() -> None:
    """A recursion that moves in time and comes to rest is followed to its end."""
    program = "on :- boxminus[0,1] on. on :- start. on :- keep since[0,inf) on."
    assert derived(program, ["start@[0,3]", "keep@(3,7)", "keep@[8,9]"], "on") == ["on@[0,7]"]


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        ("p :- q.", "finite"),
        ("p(X) :- p(Y), e(X,Y).", "finite"),
        ("p :- diamondminus[2,2] q. q :- diamondplus[2,2] p.", "finite"),
        (
            "p :- diamondminus[2,2] q. q :- diamondplus[1,1] p. q :- diamondplus[1,1] r. r :- diamondplus[1,1] p.",
            "periodic",
        ),
        ("p :- diamondminus[1,1] p.", "forward"),
        ("p :- boxminus[0,2] p, p since[1,inf) p.", "forward"),
        ("boxplus[0,1] p :- p.", "forward"),
        ("p :- diamondplus[1,1] p.", "periodic"),
        ("p :- q until[0,1] p.", "periodic"),
        ("p :- diamondplus[0,1] q. q :- diamondminus[0,1] p.", "periodic"),
        ("p :- p, boxplus[0,inf) q.", "finite"),
        ("p(Y) :- p(X), Y = X+1.", "unbounded"),
        ("p(Y) :- q(X), Y = X+1. q(X) :- q(X).", "finite"),
    ],
)
def test_ends_are_known_before(program: str, ending: Ending) -> None:
    """Which components come to an end follows from the shifts of their rounds."""
    endings = {component.ending for component in plan_of(program).components}
    assert endings - {"finite"} == {ending} - {"finite"}


def test_a_recursion_that_makes_values_is_stopped() -> None:
    """After 10,000 rounds without an end the error names the predicates; what is derived stays."""
    done = loaded("p(Y) :- p(X), Y = X+1.", ["p(1)@0"])
    with pytest.raises(EndlessError, match="`p` has not come to an end after 10,000 rounds: there was always something new"):
        done.run()
    assert done.statistics().rounds == MOST_ROUNDS


def test_rounds_and_until_bound_a_recursion() -> None:
    """So many rounds are done, however many; up to a time, what looks back alone ends."""
    done = loaded("p :- diamondminus[1,1] p.", ["p@0"])
    done.run(MOST_ROUNDS + 5)
    assert done.statistics().rounds == MOST_ROUNDS + 5
    assert len(done.statistics().facts) == MOST_ROUNDS
    assert done.holds(done.plan.record("p", time=MOST_ROUNDS + 5))
    assert not done.holds(done.plan.record("p", time=MOST_ROUNDS + 6))
    done = loaded("p :- diamondminus[1,1] p, top since[0,inf) p.", ["p@0"], until=50)
    done.run()
    assert shown(done)[-1] == "p@9"
    assert done.statistics().rounds == 50


def test_long_rounds_without_a_shift_are_no_recursion_without_end() -> None:
    """What must end is followed beyond 10,000 rounds."""
    length = MOST_ROUNDS + 20
    done = loaded("r(Y) :- r(X), e(X,Y).", ["r(0)@1", *(f"e({i},{i + 1})@1" for i in range(length))])
    done.run()
    assert done.statistics().rounds == length


def test_until_cuts_what_is_derived() -> None:
    """Nothing is derived beyond the time; input facts stay as they are."""
    program = "h :- diamondminus[0,4] p. g :- diamondplus[3,3] p. boxplus[1,1] r :- r."
    assert derived(program, ["p@[2,9]", "r@(0,1/2)"], until=4) == [
        "g@[-1,4]",
        "h@[2,4]",
        "p@[2,9]",
        "r@(0,1/2)",
        "r@(1,3/2)",
        "r@(2,5/2)",
        "r@(3,7/2)",
    ]


def test_a_run_stops_when_it_is_decided() -> None:
    """`decided` is asked before each round."""
    done = loaded("p :- diamondminus[1,1] p.", ["p@0"])
    fact = done.plan.record("p", interval="[3,3]")
    done.run(decided=lambda: done.holds(fact))
    assert done.statistics().rounds == 3


def test_times_beyond_the_timeline_are_an_error() -> None:
    """A recursion that leaves the times that can be represented says so."""
    done = loaded("boxplus[400000000000,400000000000] p :- p.", ["p@0"])
    with pytest.raises(DataError, match="`p` is derived at times beyond what the timeline can hold"):
        done.run()


# --- constraints --------------------------------------------------------------------------------------------------------


def test_a_violated_constraint_ends_the_run() -> None:
    """The violation names the ground rule and the time; no round is done beyond."""
    program = "p(X) :- diamondminus[1,1] p(X). bottom :- p(X), off(X)."
    done = loaded(program, ["p(a)@0", "off(a)@[2,5]", "off(b)@0"])
    done.run()
    assert str(done.violation()) == "constraint violated at 2: p(a), off(a) (rule: bottom :- p(X), off(X).)"
    assert done.statistics().rounds == 3
    assert not done.round()


def test_constraints_hold_over_all_time_and_below_negation() -> None:
    """A constraint may look anywhere and negate what is derived; one that is kept tells nothing."""
    program = "ok(X) :- seen(X). bottom :- due(X), not diamondplus[0,inf) ok(X)."
    kept = loaded(program, ["due(a)@0", "seen(a)@9"])
    kept.run()
    assert kept.violation() is None
    broken = loaded(program, ["due(a)@0", "seen(a)@-1", "seen(b)@7"])
    broken.run()
    assert str(broken.violation()).startswith("constraint violated at 0: due(a), not diamondplus[0,inf) ok(a) (rule: ")


def test_until_also_bounds_constraints() -> None:
    """A constraint that is violated beyond the time alone is not."""
    done = loaded("bottom :- p, q.", ["p@[0,9]", "q@5"], until=4)
    done.run()
    assert done.violation() is None


# --- misuse -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["p :- boxplus[0,inf) q.", "p :- diamondplus[1,1] p. p :- q."])
def test_what_a_stream_cannot_decide_is_no_error(program: str) -> None:
    """Infinite delay is a stream's alone."""
    with pytest.raises(ProgramError, match="infinite-delay"):
        compile_program(parse(program))
    assert plan_of(program).components[0].predicates == ("p",)


@pytest.mark.parametrize("body", ["sometime q(X) in [#3]", "q(X)@T in [3], T > 2"])
def test_what_is_for_streams_is_refused(body: str) -> None:
    """Tuple windows, and times used as values, get an error with their place, once for each rule."""
    with pytest.raises(ProgramError) as caught:
        plan_of(f"timeline integer.\np(X) :- {body}.\nr :- q(X).")
    (problem,) = caught.value.diagnostics
    assert problem.code == "not-in-batch"
    assert caught.value.text[problem.span.start : problem.span.end] == f"p(X) :- {body}"


def test_mistakes_in_the_program_are_told() -> None:
    """The checks are those of streams."""
    with pytest.raises(ProgramError, match="unsafe-variable"):
        plan_of("p(X) :- q.")
    with pytest.raises(ProgramError, match="unstratified"):
        plan_of("p :- q, not p.")


def test_misuse_of_the_interface() -> None:
    """A late load, an unknown strategy, a time or a resolution that cannot be."""
    done = loaded("p :- q.", ["q@1"])
    done.run()
    with pytest.raises(RuntimeError, match="before the first round"):
        done.load([])
    with pytest.raises(ValueError, match="one of seminaive, naive, optimised; got `fast`"):
        Materialisation(done.plan, "fast")
    with pytest.raises(DataError, match="finer than the resolution"):
        Materialisation(done.plan, until="1/3")
    with pytest.raises(ValueError, match="above 0"):
        done.plan.with_resolution(Fraction(0))
    with pytest.raises(ValueError, match="no resolution"):
        plan_of("timeline integer. p :- q.").with_resolution(Fraction(1, 2))


def test_nothing_to_do() -> None:
    """Without facts, or without rules, the first round is the last."""
    assert not loaded("p :- q, not r.", []).round()
    done = loaded("timeline rational.", ["p@1", "p@(1,2]"])
    assert not done.round()
    assert shown(done) == ["p@[1,2]"]
