"""Grounding: each operator with each bracket as clauses, at points and in gaps; grids, rows, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from batch.materialising import plan_of, records
from batch.worked import UNARY

from decide.theories import least_model, shown, theory_of
from oracle.evaluate import evaluate
from tidelog.operators.horn.grounding import GroundingLimits, ground
from tidelog.operators.horn.relevance import relevant
from tidelog.operators.horn.theory import Given, Theory
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.plans.language.parser import parse

# --- operators, worked by hand ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operator", "closed", "open_"), UNARY)
def test_unary_operators(operator: str, closed: str, open_: str) -> None:
    """Over p@[0,4] and over p@(0,4), each operator with each kind of bracket holds exactly where Table 1 says."""
    assert shown(theory_of(f"h :- {operator} p. bottom :- h, z.", ["p@[0,4]", "z@1"]), "h") == [closed]
    assert shown(theory_of(f"h :- {operator} p. bottom :- h, z.", ["p@(0,4)", "z@1"]), "h") == [open_]


@pytest.mark.parametrize(
    ("formula", "facts", "holds"),
    [
        ("p since[1,2] q", ["p@[0,4]", "q@1"], ["[2,3]"]),
        ("p since(1,2] q", ["p@[0,4]", "q@1"], ["(2,3]"]),
        ("p since[1,2) q", ["p@[0,4]", "q@1"], ["[2,3)"]),
        ("p since(1,2) q", ["p@[0,4]", "q@1"], ["(2,3)"]),
        ("p since[1,2] q", ["p@(0,3)", "q@2"], ["[3,3]"]),
        ("p since[0,2] q", ["p@(0,3)", "q@0"], ["[0,2]"]),
        ("p since(0,2] q", ["p@(0,1)", "q@[0,3]"], ["(0,1]"]),
        ("p since(0,2] q", ["p@(0,1)", "q@(0,1)"], ["(0,1]"]),
        ("p since[0,2] q", ["p@(0,1)", "q@(0,1)"], ["(0,1]"]),
        ("p since[0,0] q", ["p@(0,1)", "q@[0,3]"], ["[0,3]"]),
        ("p since[0,inf) q", ["p@[0,4]", "q@1"], ["[1,4]"]),
        ("p since(0,inf) q", ["p@(1,4)", "q@1"], ["(1,4]"]),
        ("p since[1,inf) q", ["p@(1,4)", "q@1"], ["[2,4]"]),
        ("p since(1,inf) q", ["p@(0,4)", "q@1"], ["(2,4]"]),
        ("p since(1,inf) q", ["p@(0,4)", "q@(1,2)"], ["(2,4]"]),
        ("p since[1,inf) q", ["p@[0,inf)", "q@1"], ["[2,inf)"]),
        ("p until[1,2] q", ["p@[0,4]", "q@3"], ["[1,2]"]),
        ("p until(1,2] q", ["p@[0,4]", "q@3"], ["[1,2)"]),
        ("p until[1,2) q", ["p@[0,4]", "q@3"], ["(1,2]"]),
        ("p until(1,2) q", ["p@[0,4]", "q@3"], ["(1,2)"]),
        ("p until[1,2] q", ["p@(1,4)", "q@2"], ["[1,1]"]),
        ("p until[1,inf) q", ["p@(-inf,3)", "q@3"], ["(-inf,2]"]),
        ("p until(0,inf) q", ["p@(1,4)", "q@4"], ["[1,4)"]),
        ("p until[0,inf) q", ["p@(1,4)", "q@4"], ["[1,4]"]),
    ],
)
def test_since_and_until(formula: str, facts: list[str], holds: list[str]) -> None:
    """The left side is needed strictly between the two times alone, in whatever part of a gap lies between them."""
    assert shown(theory_of(f"h :- {formula}. bottom :- h, z.", [*facts, "z@1"]), "h") == holds


@pytest.mark.parametrize(
    ("rule", "facts", "holds"),
    [
        ("h :- diamondminus[1,inf) p.", ["p@2"], ["[3,inf)"]),
        ("h :- diamondminus(1,inf) p.", ["p@2"], ["(3,inf)"]),
        ("h :- diamondplus[1,inf) p.", ["p@2"], ["(-inf,1]"]),
        ("h :- diamondplus(1,inf) p.", ["p@2"], ["(-inf,1)"]),
        ("h :- diamondplus(1,inf) p.", ["p@(1,2)"], ["(-inf,1)"]),
        ("h :- boxplus[0,inf) p.", ["p@[2,inf)"], ["[2,inf)"]),
        ("h :- boxplus[1,inf) p.", ["p@(2,inf)"], ["(1,inf)"]),
        ("h :- boxplus(1,inf) p.", ["p@(2,inf)"], ["[1,inf)"]),
        ("h :- boxplus[0,inf) p.", ["p@[2,9]"], []),
        ("h :- boxminus[1,inf) p.", ["p@(-inf,5)"], ["(-inf,6)"]),
        ("h :- boxminus(1,inf) p.", ["p@(-inf,5)"], ["(-inf,6]"]),
        ("boxplus[0,inf) h :- p.", ["p@2"], ["[2,inf)"]),
        ("boxminus[0,inf) h :- p.", ["p@2"], ["(-inf,2]"]),
        ("boxminus(1,2] h :- p.", ["p@2"], ["[0,1)"]),
        ("boxplus[1,1] boxminus[0,2] h :- p.", ["p@2"], ["[1,3]"]),
        ("h :- top, p.", ["p@(-inf,inf)"], ["(-inf,inf)"]),
        ("h :- boxminus[0,1] top.", ["p@1"], ["(-inf,inf)"]),
    ],
)
def test_the_whole_timeline(rule: str, facts: list[str], holds: list[str]) -> None:
    """Unbounded distances with each bracket, boxes in heads, times before 0, facts without begin or end, recursion."""
    assert shown(theory_of(f"{rule} bottom :- h, z.", [*facts, "z@1"]), "h") == holds


# --- operators, by the oracle -------------------------------------------------------------------------------------------

LENGTHS = (("0", "1"), ("1", "2"), ("0", "3"), ("1", "13"), ("0", "8"))
BRACKETS = ("[]", "(]", "[)", "()")
INTERVALS = [f"{left}{low},{high}{right}" for low, high in LENGTHS for left, right in BRACKETS]
INTERVALS += ["[0,0]", "[1,1]", "[0,inf)", "(0,inf)", "[1,inf)", "(1,inf)"]
FACTS = {
    "p": ["(-inf,-3)", "[0,2)", "(2,3]", "4", "(5,8)", "[9,inf)"],
    "q": ["-3", "(-1,1)", "[1,1]", "(5,7)", "(8,9]"],
}


def _is_empty_on_integers(interval: str) -> bool:
    return interval in ("(0,1)", "(1,2)")


@pytest.mark.parametrize("kind", ["rational", "integer"])
@pytest.mark.parametrize("operator", ["diamondminus", "diamondplus", "boxminus", "boxplus", "since", "until"])
def test_operators_hold_where_the_oracle_says(kind: str, operator: str) -> None:
    """Each operator with many intervals and each bracket, over points, gaps and infinite runs, as Table 1 line by line."""
    intervals = [text for text in INTERVALS if kind == "rational" or not _is_empty_on_integers(text)]
    formulas = [f"p {operator}{text} q" if operator in ("since", "until") else f"{operator}{text} p" for text in intervals]
    program = f"timeline {kind}. " + " ".join(f"h{number} :- {formula}." for number, formula in enumerate(formulas))
    plan = plan_of(program)
    facts = records(plan, [f"{name}@{when}" for name, times in FACTS.items() for when in times])
    theory = ground(plan, facts)
    held = least_model(theory)
    given = [(name, row, plan.timeline.decode_interval(lo, hi)) for name, row, lo, hi in facts]
    model = evaluate(parse(program), given, low=-20, high=20)
    for number, formula in enumerate(formulas):
        atom = f"h{number}"
        found = held[theory.names.index(atom)] if atom in theory.names else set()
        for position in range(-16, 33):
            time = Fraction(position, 2 if theory.is_dense else 1)
            if time <= 16:
                assert (position in found) == model.holds(atom, (), time), f"{formula} at {time}"


# --- grids --------------------------------------------------------------------------------------------------------------


def test_positions_are_multiples_of_what_divides_all_numbers() -> None:
    """The finest resolution of a timeline costs nothing: only what the operators and the relevant facts mention does."""
    program = "h :- diamondminus[6,10] p. bottom :- h, z."
    theory = theory_of(program, ["p@4", "p@(-2,8)", "other@1"])
    assert theory.is_dense
    assert set(theory.given) == {Given(0, 4, 4), Given(0, -1, 7)}
    assert [clause.body for clause in theory.clauses if clause.head] == [((0, -distance),) for distance in range(6, 11)]


def test_integers_between_two_multiples_are_one_gap() -> None:
    """On integers too, where no operator asks what comes next: an hour's window of seconds is two positions wide."""
    program = "timeline integer. h :- diamondminus[0,3600] p. g :- boxplus[3600,7200] p. bottom :- h, g."
    theory = theory_of(program, ["p@3600", "p@[-7200,-3600]"])
    assert theory.is_dense
    assert set(theory.given) == {Given(0, 2, 2), Given(0, -4, -2)}
    assert {clause.body for clause in theory.clauses} >= {((0, 0),), ((0, -1),), ((0, -2),), ((0, 2), (0, 3), (0, 4))}


@pytest.mark.parametrize(
    "operator", ["diamondminus[2,4]", "diamondplus[0,2]", "boxminus[0,4]", "boxplus[2,2]", "boxplus[2,inf)"]
)
def test_a_gap_of_integers_is_as_its_integers_are(operator: str) -> None:
    """What the coarse grid says of a point or a gap, the oracle says of each integer in it."""
    program = f"timeline integer. h :- {operator} p."
    plan = plan_of(program)
    facts = records(plan, ["p@[-8,-2]", "p@2", "p@[6,10]", "p@[14,inf)"])
    theory = ground(plan, facts)
    held = least_model(theory)[theory.names.index("h")]
    given = [(name, row, plan.timeline.decode_interval(lo, hi)) for name, row, lo, hi in facts]
    model = evaluate(parse(program), given, low=-30, high=30)
    assert theory.is_dense
    assert [time in held for time in range(-20, 21)] == [model.holds("h", (), time) for time in range(-20, 21)]


def test_since_keeps_integers_apart() -> None:
    """Since asks whether integers follow each other, so none are taken together."""
    theory = theory_of("timeline integer. h :- p since[10,20] q. bottom :- h.", ["p@[0,40]", "q@10"])
    assert not theory.is_dense
    assert Given(theory.names.index("q"), 10, 10) in theory.given


# --- rows ---------------------------------------------------------------------------------------------------------------


def test_only_rows_that_can_hold_become_propositions() -> None:
    """Joins, comparisons, wildcards and since meet rows that the facts can give, whatever their times."""
    program = """
        h(X,W) :- p(X,V), q(X,_), V > 1, W = V*2.
        s(Y) :- r(X,Y) since[1,2] q(Y,_).
        bottom :- h(X,W), s(X).
    """
    facts = ["p(a,1)@0", "p(a,3)@1", "p(b,4)@[2,5]", "q(a,x)@9", "q(a,y)@10", "r(c,a)@1", "r(c,b)@1"]
    names = set(theory_of(program, facts).names)
    assert {name for name in names if name[0] in "hs" and name[1] != "."} == {"h(a,6)", "s(a)"}


def test_since_without_a_left_side_that_can_hold() -> None:
    """Where nothing lies between the two times, the left side is not needed, and need not be able to hold."""
    theory = theory_of("h(X) :- p(X) since[0,1] q(X). bottom :- h(X), z.", ["q(a)@1", "z@2"])
    assert shown(theory, "h(a)") == ["[1,1]"]
    assert "p(a)" not in theory.names
    integers = theory_of("timeline integer. h(X) :- p(X) since[0,inf) q(X). bottom :- h(X), z.", ["q(a)@1"])
    assert shown(integers, "h(a)") == ["[1,2]"]


def test_recursion_over_rows() -> None:
    """Rows travel through recursion until there are no new ones."""
    program = "boxplus[1,1] reach(Y) :- reach(X), link(X,Y). bottom :- reach(X), bad(X)."
    theory = theory_of(program, ["link(a,b)@[0,9]", "link(b,c)@[0,9]", "link(x,y)@[0,9]", "reach(a)@0", "bad(c)@5"])
    assert {name for name in theory.names if name.startswith("reach(")} == {"reach(a)", "reach(b)", "reach(c)"}
    assert shown(theory, "reach(c)") == ["[2,2]"]


def test_constraints_have_no_head() -> None:
    """Whatever operator a constraint comes down to, its clauses exclude their bodies, and it is no proposition."""
    program = "bottom :- diamondminus[0,1] p. bottom :- boxminus[1,inf) p. bottom :- p since[0,2] q. bottom :- p, q."
    theory = theory_of(program, ["p@1", "q@1"])
    heads = {"" if clause.head is None else theory.names[clause.head[0]] for clause in theory.clauses}
    assert heads == {"", "q where p may begin"}
    assert [name for name in theory.names if "bottom" in name] == []
    assert [(item.operand, item.future) for item in theory.always] == [(theory.names.index("p"), False)]


# --- what is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("h :- p, not q.", "`not`"),
        ("h :- always p in [2].", "clipped"),
        ("timeline integer. h :- sometime p in [1 step 5].", "`step`"),
        ("n(Y) :- n(X), Y = X + 1.", "makes new values"),
    ],
)
def test_what_has_no_theory(rule: str, what: str) -> None:
    """Rules that are not monotone, or have no end, are refused by name."""
    plan = plan_of(rule)
    facts = records(plan, ["n(0)@0", "p@1", "q@2"])
    with pytest.raises(MethodError, match=what):
        ground(plan, facts, GroundingLimits(atoms=1_000))


def test_more_literals_than_allowed() -> None:
    """A theory is refused as soon as it becomes larger than the limits."""
    plan = plan_of("h(X) :- diamondminus[0,7] p(X), q(X).")
    facts = records(plan, [fact for i in range(9) for fact in (f"p({i})@1", f"q({i})@1")])
    assert len(ground(plan, facts, GroundingLimits(literals=500)).names) == 9 * 7
    with pytest.raises(MethodError, match="clauses with more than 100 literals"):
        ground(plan, facts, GroundingLimits(literals=100))
    with pytest.raises(MethodError, match="ground instances of more than 20 literals"):
        ground(plan, facts, GroundingLimits(literals=20))


# --- what matters -------------------------------------------------------------------------------------------------------


def test_what_no_constraint_depends_on_is_left_out() -> None:
    """Only what a clause without a head can be reached from is kept, and of `Always` too."""
    program = "a :- p. b :- boxplus[1,inf) a. c :- b, q. d :- boxplus[0,inf) c. bottom :- b, z."
    part = relevant(theory_of(program, ["p@1", "q@1", "z@1"]))
    assert set(part.names) == {"p", "a", "boxplus a", "b", "z"}
    assert [part.names[item.flag] for item in part.always] == ["boxplus a"]
    assert relevant(theory_of("a :- p.", ["p@1"])) == Theory((), (), (), (), is_dense=True)


def test_what_holds_everywhere_is_not_asked_for() -> None:
    """Background facts, and what follows from them alone, cost nothing; where nothing else is asked, one of them stays."""
    program = "near(X,Y) :- link(X,Y). near(X,Y) :- link(Y,X). link(a,b). link(b,c). bottom :- at(X), near(X,Y), at(Y)."
    part = relevant(theory_of(program, ["at(a)@1", "at(b)@2", "at(c)@3"]))
    assert set(part.names) == {"at(a)", "at(b)", "at(c)"}
    assert {tuple(sorted(clause.body)) for clause in part.clauses} == {((0, 0), (1, 0)), ((1, 0), (2, 0))}
    (excluded,) = relevant(theory_of("h :- boxminus[1,2] top. bottom :- h.", ["p@1"])).clauses
    assert excluded.head is None
