"""Unfolding: the examples of Cruz-Filipe, Gaspar and Nunes 2020, each operator, and what is refused."""

from __future__ import annotations

import pytest

from ask.unfolded import count_comparisons, lines, question_of, unfolded, unfolding_of
from tidelog.operators.sld.unfold import unfold
from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError
from tidelog.plans.language.printing import format_formula
from tidelog.plans.tree.syntax import Atom

TURBINES = """
flag(X)@T :- temp(X,high)@T.
cool(X)@T+1 :- flag(X)@T, flag(X)@T+1.
shdn(X)@T+1 :- cool(X)@T, flag(X)@T+1.
malf(X)@T-2 :- shdn(X)@T.
"""


def refusal(text: str, depth: int | None = None) -> Diagnostic:
    """The only diagnostic of a query that is refused."""
    with pytest.raises(ProgramError) as caught:
        unfolding_of(text, depth)
    [diagnostic] = caught.value.diagnostics
    assert diagnostic.help
    return diagnostic


def blamed(text: str, diagnostic: Diagnostic) -> str:
    """The text that a diagnostic points at."""
    return ("timeline integer.\n" + text)[diagnostic.span.start : diagnostic.span.end]


# --- the paper ----------------------------------------------------------------------------------------------------------


def test_example_1_a_malfunction_needs_three_high_temperatures() -> None:
    """Example 1: malf(X)@T unfolds into the temperatures at T, T+1 and T+2 (also Example 5, over the empty history)."""
    assert unfolded(TURBINES + "ask malf(X)@T.") == ["temp(X,high)@T, temp(X,high)@T+1, temp(X,high)@T+2"]


def test_example_4_a_constant_in_the_query_stays() -> None:
    """Example 4: for one turbine, the goals hold that turbine alone."""
    assert unfolded(TURBINES + "ask shdn(wt25)@T.") == ["temp(wt25,high)@T-2, temp(wt25,high)@T-1, temp(wt25,high)@T"]


def test_example_6_what_needs_more_is_left_out() -> None:
    """Example 6: P(a,T) suffices, so P(a,T) with Q(a,T) is no minimal set."""
    assert unfolded("r(a)@T :- p(a)@T.\nr(a)@T :- p(a)@T, q(a)@T.\nask r(X)@T.") == ["X=a: p(a)@T"]


@pytest.mark.parametrize(("depth", "count"), [(0, 1), (1, 2), (5, 6)])
def test_example_7_an_endless_recursion_is_followed_to_a_depth(depth: int, count: int) -> None:
    """Example 7: with a depth N the recursion is unfolded N times, and the rest is said to be cut."""
    unfolding = unfolding_of("s(X)@T+1 :- s(X)@T.\ns(X)@T :- r(X)@T.\nask s(X)@T.", depth)
    assert unfolding.is_cut
    assert sorted(lines(unfolding.main)) == sorted(f"r(X)@T{-k if k else ''}" for k in range(count))


def test_example_7_without_a_depth_is_given_up() -> None:
    """Without a depth a recursion that never ends is an error, should one come so far."""
    diagnostic = refusal("s(X)@T+1 :- s(X)@T.\ns(X)@T :- r(X)@T.\nask s(X)@T.")
    assert diagnostic.code == "endless-ask"
    assert "--depth" in diagnostic.help


def test_example_8_another_rule_is_another_precondition() -> None:
    """Example 8: a reading that is n/a is a malfunction at once."""
    assert unfolded(TURBINES + 'malf(X)@T :- temp(X,"n/a")@T.\nask malf(X)@T.') == [
        "temp(X,high)@T, temp(X,high)@T+1, temp(X,high)@T+2",
        "temp(X,n/a)@T",
    ]


def test_example_9_independent_times_stay_independent() -> None:
    """Example 9: a defect holds at 0, whenever the two failures come; the times keep their names."""
    text = 'defective(X)@T :- temp(X,high)@T1, temp(X,"n/a")@T2, T = 0.\nask defective(X)@T.'
    assert unfolded(text) == ["T=0: temp(X,high)@T1, temp(X,n/a)@T2"]


# --- queries ------------------------------------------------------------------------------------------------------------


def test_a_time_in_the_query_may_be_shifted() -> None:
    """`@T+2` asks at T+2, and the column is T."""
    assert unfolded("p(X) :- q(X).\nask p(X)@T+2.") == ["q(X)@T+2"]


def test_an_input_can_be_asked_for() -> None:
    """The query of an input has itself as its premise."""
    assert unfolded("ask temp(X,high)@T.") == ["temp(X,high)@T"]


def test_a_wildcard_in_the_query_is_no_column() -> None:
    """`_` in a query is not told, and needs no value."""
    unfolding = unfolding_of("p(X,Y) :- q(X,Y).\nask p(X,_)@T.")
    assert unfolding.main.columns == ("X", "T")
    assert lines(unfolding.main) == ["q(X,_1)@T"]


def test_a_repeated_variable_is_one_column() -> None:
    """p(X,X) has one column, and the premise the same variable twice."""
    unfolding = unfolding_of("p(X,Y) :- q(X,Y).\nask p(X,X)@T.")
    assert unfolding.main.columns == ("X", "T")
    assert lines(unfolding.main) == ["q(X,X)@T"]


def test_a_query_may_ask_for_the_time_as_a_value() -> None:
    """The time's variable in an argument is the column of the time."""
    unfolding = unfolding_of("p(X,Y) :- q(X,Y).\nask p(X,T)@T.")
    assert unfolding.main.columns == ("X", "T")
    assert lines(unfolding.main) == ["q(X,T)@T"]


def test_a_query_without_a_time_is_refused() -> None:
    """The error of a query without `@T` shows how to write one."""
    diagnostic = refusal("p(X) :- q(X).\nask p(X).")
    assert diagnostic.code == "ask-without-time"
    assert "@T" in diagnostic.help


def test_names_stay_and_clashes_get_a_number() -> None:
    """The query's names come first; a variable of a rule that is called the same gets a number."""
    text = "p(Y,X) :- q(X,Y), r(T)@S, u(S)@T2.\nask p(X,Y)@T."
    assert unfolded(text) == ["q(Y,X)@T, r(T3)@S, u(S)@T2"]
    [precondition] = unfolding_of(text).main.preconditions
    assert len(set(precondition.variables)) == len(precondition.variables)


# --- operators ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("diamondminus[1,2] q(X)", ["q(X)@T-1", "q(X)@T-2"]),
        ("diamondplus(0,2] q(X)", ["q(X)@T+1", "q(X)@T+2"]),
        ("boxminus[0,2) q(X)", ["q(X)@T-1, q(X)@T"]),
        ("boxplus[1,2] q(X)", ["q(X)@T+1, q(X)@T+2"]),
        ("boxminus[0,1] q(X,_)", ["q(X,_1)@T-1, q(X,_1)@T"]),
        ("q(X) since[0,2] r(X)", ["r(X)@T", "r(X)@T-1", "r(X)@T-2, q(X)@T-1"]),
        ("q(X) since[2,2] r(X)", ["r(X)@T-2, q(X)@T-1"]),
        ("q(X) until[1,3] r(X)", ["r(X)@T+1", "q(X)@T+1, r(X)@T+2", "q(X)@T+1, q(X)@T+2, r(X)@T+3"]),
        ("boxminus[0,1] diamondplus[0,1] q(X)", ["q(X)@T-1, q(X)@T+1", "q(X)@T"]),
        ("diamondminus[0,1] (q(X), r(X))", ["q(X)@T, r(X)@T", "q(X)@T-1, r(X)@T-1"]),
        ("q(X), top", ["q(X)@T"]),
        ("q(X), bottom", []),
        ("q(X), r(X)@S+2", ["q(X)@T, r(X)@S+2"]),
    ],
)
def test_operators_unfold_by_their_meaning(body: str, expected: list[str]) -> None:
    """Each operator gives the alternatives and the premises of its line in the language's table."""
    assert sorted(unfolded(f"p(X) :- {body}.\nask p(X)@T.")) == sorted(expected)


def test_a_diamond_without_an_end_has_a_time_of_its_own() -> None:
    """The time is another variable, and a comparison says on which side it lies."""
    assert unfolded("p(X) :- q(X), diamondminus[3,inf) r(X).\nask p(X)@T.") == ["q(X)@T, r(X)@T2, T2 <= T - 3"]
    assert unfolded("p(X) :- q(X), diamondplus r(X).\nask p(X)@T.") == ["q(X)@T, r(X)@T2, T <= T2"]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("boxplus[1,2] p(X)", ["q(X)@T-1", "q(X)@T-2"]),
        ("boxminus[0,1] p(X)", ["q(X)@T", "q(X)@T+1"]),
        ("boxplus[1,2] boxminus[1,1] p(X)", ["q(X)@T", "q(X)@T-1"]),
    ],
)
def test_boxes_in_a_head_are_alternatives(head: str, expected: list[str]) -> None:
    """A head `boxplus[a,b] p` derives p from a to b later, so the goal is met by what held then."""
    assert sorted(unfolded(f"{head} :- q(X).\nask p(X)@T.")) == sorted(expected)


def test_a_head_with_a_time_leaves_the_rules_own_time_free() -> None:
    """What stands without `@` beside a head `h@T` is needed at some time."""
    assert unfolded("p(X)@T+1 :- q(X)@T, r(X).\nask p(X)@T.") == ["q(X)@T-1, r(X)@T2"]


# --- windows ------------------------------------------------------------------------------------------------------------


def test_sometime_in_a_window_is_a_diamond() -> None:
    """`sometime M in [n]` looks back n, wherever the stream began."""
    assert unfolded("p(X) :- sometime q(X) in [1].\nask p(X)@T.") == ["q(X)@T", "q(X)@T-1"]


def test_always_in_a_window_is_clipped_where_the_stream_starts() -> None:
    """Within n of the start, what holds since the start suffices."""
    assert unfolded("p(X) :- always q(X) in [2].\nask p(X)@T.") == [
        "q(X)@T, T = start",
        "q(X)@T-1, q(X)@T, T - 1 = start",
        "q(X)@T-2, q(X)@T-1, q(X)@T, T - 2 >= start",
    ]


def test_a_time_in_a_window_can_be_used_as_a_value() -> None:
    """`q(X)@S in [n]`: S is one of the window's times, and not before the start."""
    assert unfolded("p(X,S) :- q(X)@S in [1].\nask p(X,S)@T.") == [
        "T=S: q(X)@S, S >= start",
        "T=S+1: q(X)@S, S >= start",
    ]


def test_two_windows_of_one_time_choose_it_once() -> None:
    """The second window of a time only tells whether it holds the time that the first chose."""
    assert len(unfolded("p(X) :- q(X)@S in [300], r(X)@S in [200].\nask p(X)@T.")) == 201


def test_a_stepped_window_ends_at_the_last_multiple() -> None:
    """`[n step d]`: an alternative for each distance from the last multiple of d."""
    assert unfolded("p(X) :- sometime q(X) in [1 step 2].\nask p(X)@T.") == [
        "q(X)@T, T mod 2 = 0",
        "q(X)@T-1, T mod 2 = 0",
        "q(X)@T-1, (T - 1) mod 2 = 0",
        "q(X)@T-2, (T - 1) mod 2 = 0",
    ]


def test_stepped_windows_of_one_step_end_together() -> None:
    """A time is no multiple of 3 at two distances below 3."""
    text = "p(X) :- sometime q(X) in [0 step 3], sometime r(X) in [0 step 3].\nask p(X)@T."
    assert [len(line.split(", ")) for line in unfolded(text)] == [3, 3, 3]


# --- comparisons --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("q(X), X = a", ["X=a: q(a)@T"]),
        ("q(X), X = Y, r(Y)", ["q(X)@T, r(X)@T"]),
        ("q(X), 3 > 2", ["q(X)@T"]),
        ("q(X), 3 > 4", []),
        ('q(X), 3 != "3"', ["q(X)@T"]),
        ('q(X), 3 < "4"', []),
        ("q(X), 1 / 0 != 2", []),
        ("q(X), X > 3", ["q(X)@T, X > 3"]),
        ("q(X), X > 3, X = 4", ["X=4: q(4)@T"]),
        ("q(X)@S, r(X)@R, R = S + 2, s(X)", ["s(X)@T, q(X)@S, r(X)@S+2"]),
        ("q(X)@S, r(X)@R, R > S, s(X)", ["s(X)@T, q(X)@S, r(X)@R, S <= R - 1"]),
        ("q(X), r(V), X = V * 2 + 1", ["q(X)@T, r(V)@T, X = V * 2 + 1"]),
    ],
)
def test_comparisons_are_solved_decided_or_carried(body: str, expected: list[str]) -> None:
    """Equations are solved by unification, constants compared, and the rest waits for the facts."""
    assert unfolded(f"p(X) :- {body}.\nask p(X)@T.") == expected


def test_what_is_used_as_a_time_must_be_a_whole_number() -> None:
    """A time that only an argument tells is checked to be one."""
    assert unfolded("p(X)@X :- q(X).\nask p(X)@T.") == ["T=X: q(X)@T2, X = X // 1"]
    assert unfolded("p(X)@X :- q(X), X = a.\nask p(X)@T.") == []


# --- facts and background -----------------------------------------------------------------------------------------------


def test_background_is_resolved_at_once() -> None:
    """Facts without a time hold at all times: they leave no premise behind."""
    text = "p(X,Y) :- q(X), connect(X,Y).\nconnect(a,b). connect(a,c).\nask p(X,Y)@T."
    assert unfolded(text) == ["X=a, Y=b: q(a)@T", "X=a, Y=c: q(a)@T"]


def test_facts_at_a_time_bind_or_limit_it() -> None:
    """A fact at a point fixes the time, one over an interval limits it."""
    assert unfolded("p(X) :- q(X), e(X).\ne(a)@3. e(b)@[1,5).\nask p(X)@T.") == [
        "X=a, T=3: q(a)@3",
        "X=b: q(b)@T, T >= 1, T <= 4",
    ]


def test_a_time_that_nothing_else_mentions_is_done_away_with() -> None:
    """What held in [1,5] held at some time before T if T is 1 or more."""
    assert unfolded("p(X) :- q(X), diamondminus e(X).\ne(b)@[1,5].\nask p(X)@T.") == ["X=b: q(b)@T, T >= 1"]


def test_recursion_over_background_ends() -> None:
    """A goal that is its own ancestor is pruned, so a cycle in the background is gone round once."""
    text = "hot(X) :- connect(X,Y), hot(Y).\nhot(X) :- q(X).\nconnect(a,b). connect(b,a).\nask hot(X)@T."
    assert sorted(unfolded(text)) == ["X=a: q(b)@T", "X=b: q(a)@T", "q(X)@T"]


def test_left_recursion_over_background_ends() -> None:
    """The order of the literals in a rule does not matter."""
    text = "hot(X) :- hot(Y), connect(X,Y).\nhot(X) :- q(X).\nconnect(a,b). connect(b,a).\nask hot(X)@T."
    assert sorted(unfolded(text)) == ["X=a: q(b)@T", "X=b: q(a)@T", "q(X)@T"]


def test_recursion_over_a_grid_follows_no_way_twice() -> None:
    """Where many ways lead to the same goal, what it needs is found once: a grid has far too many ways."""
    side = 7
    ends = [(x, y) for x in range(side) for y in range(side)]
    pairs = [(a, b) for a in ends for b in ends if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1]
    rows = " ".join(f"connect(c{a[0]}-{a[1]}, c{b[0]}-{b[1]})." for a, b in pairs)
    text = f"hot(X) :- connect(X,Y), hot(Y).\nhot(X) :- q(X).\n{rows}\nask hot(c0-0)@T."
    assert len(unfolded(text)) == side * side


def test_an_input_may_have_facts_in_the_program() -> None:
    """Then it holds by these, or by what comes."""
    text = "input q(x). p(X) :- q(X), r(X).\ninput r(x). q(a).\nask p(X)@T."
    assert sorted(unfolded(text)) == ["X=a: r(a)@T", "q(X)@T, r(X)@T"]


# --- negation -----------------------------------------------------------------------------------------------------------


def test_a_negated_input_is_a_negated_premise() -> None:
    """An input needs no auxiliary query."""
    unfolding = unfolding_of("p(X) :- q(X), not r(X,a).\nask p(X)@T.")
    assert lines(unfolding.main) == ["q(X)@T, not r(X,a)@T"]
    assert not unfolding.auxiliary


def test_a_negated_derived_atom_is_an_auxiliary_query() -> None:
    """It is unfolded for all its arguments and times; so is what it negates in turn, until none is new."""
    unfolding = unfolding_of(
        "p(X) :- q(X), not d(X,a)@T-1, r(X)@T.\nd(X,Y) :- s(X,Y), not e(X).\ne(X) :- diamondminus[0,1] u(X).\nask p(X)@T."
    )
    assert lines(unfolding.main) == ["q(X)@T, r(X)@T2, not d(X,a)@T2-1"]
    assert set(unfolding.auxiliary) == {"d", "e"}
    assert unfolding.auxiliary["d"].columns == ("X1", "X2", "T")
    assert lines(unfolding.auxiliary["d"]) == ["s(X1,X2)@T, not e(X1)@T"]
    assert lines(unfolding.auxiliary["e"]) == ["u(X1)@T", "u(X1)@T-1"]


def test_a_query_may_negate_itself_in_the_past() -> None:
    """The auxiliary query is the predicate's own, in general form."""
    unfolding = unfolding_of("win(X)@T :- move(X,Y)@T, not win(Y)@T-1.\nask win(X)@T.")
    assert lines(unfolding.main) == ["move(X,Y)@T, not win(Y)@T-1"]
    assert lines(unfolding.auxiliary["win"]) == ["move(X1,Y)@T, not win(Y)@T-1"]


def test_not_passes_a_bounded_diamond() -> None:
    """What holds at no time of an interval is absent at each."""
    assert unfolded("p(X) :- q(X), not diamondminus[1,2] r(X).\nask p(X)@T.") == ["q(X)@T, not r(X)@[T-2,T-1]"]
    assert unfolded("p(X) :- q(X), not (sometime r(X) in [1]).\nask p(X)@T.") == ["q(X)@T, not r(X)@[T-1,T]"]


def test_not_over_more_than_an_atom_is_an_auxiliary_query() -> None:
    """Its columns are the variables that it shares with the rule, and its formula is what stood behind `not`."""
    unfolding = unfolding_of("p(X) :- q(X), not (r(X,_), s(X)).\np(X) :- u(X), not r(X,_).\nask p(X)@T.")
    assert lines(unfolding.main) == ["q(X)@T, not p.not1(X)@T", "u(X)@T, not p.not2(X)@T"]
    first, second = unfolding.auxiliary["p.not1"], unfolding.auxiliary["p.not2"]
    assert first.columns == ("X", "T")
    assert lines(first) == ["r(X,_1)@T, s(X)@T"]
    assert first.formula is not None
    assert format_formula(first.formula) == "(r(X, _), s(X))"
    assert isinstance(second.formula, Atom)
    assert lines(second) == ["r(X,_1)@T"]


def test_two_negations_are_none() -> None:
    """`not (not M)` asks for M."""
    assert unfolded("p(X) :- q(X), not (not r(X)).\nask p(X)@T.") == ["q(X)@T, r(X)@T"]


def test_negated_background_is_decided_at_once() -> None:
    """What is known from the start needs no query of its own."""
    unfolding = unfolding_of(
        "p(X,Y) :- q(X), connect(X,Y), not broken(Y).\nconnect(a,b). connect(a,c). broken(b).\nask p(X,Y)@T."
    )
    assert lines(unfolding.main) == ["X=a, Y=c: q(a)@T"]
    assert not unfolding.auxiliary


def test_negated_background_of_what_comes_is_an_auxiliary_query_without_premises() -> None:
    """Whether the constant that comes is in the background is known once it has come."""
    unfolding = unfolding_of("p(X) :- q(X), not broken(X).\nbroken(b). broken(c)@3.\nask p(X)@T.")
    assert lines(unfolding.main) == ["q(X)@T, not broken(X)@T"]
    assert lines(unfolding.auxiliary["broken"]) == ["X1=b: ", "X1=c, T=3: "]


def test_what_needs_a_fact_and_its_absence_never_holds() -> None:
    """Such a precondition is left out."""
    assert unfolded("p(X) :- q(X), not q(X).\nask p(X)@T.") == []


# --- what is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("literal", "place"),
    [
        ("boxminus r(X)", "boxminus r(X)"),
        ("boxplus[2,inf) r(X)", "boxplus[2,inf) r(X)"),
        ("s(X) since r(X)", "s(X) since r(X)"),
        ("s(X) until[1,inf) r(X)", "s(X) until[1,inf) r(X)"),
        ("sometime r(X) in [#3]", "in [#3]"),
        ("not diamondminus r(X)", "diamondminus r(X)"),
        ("not (s(X), diamondplus r(X))", "diamondplus r(X)"),
    ],
)
def test_what_would_need_infinitely_many_facts_is_refused(literal: str, place: str) -> None:
    """The error points at the formula that is to blame."""
    text = f"p(X) :- q(X), {literal}.\nask p(X)@T."
    diagnostic = refusal(text)
    assert diagnostic.code == "not-supported"
    assert place in blamed(text, diagnostic)


@pytest.mark.parametrize("rule", ["p(a) :- top.", "p(X) :- c(X).\nc(b).", "p(X) :- c(X), not q(X).\nc(b)."])
def test_a_query_that_needs_no_input_is_refused(rule: str) -> None:
    """An answer has to wait for something that comes."""
    diagnostic = refusal(f"{rule}\np(X) :- q(X).\nask p(X)@T.")
    assert diagnostic.code == "ask-always"
    assert "nothing to wait for" in diagnostic.message


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("p(X) :- q(X)@S.", "the time of `p`"),
        ("boxplus[1,inf) p(X) :- q(X).", "the time of `p`"),
        ("p(X)@T :- q(X)@S, c(X), c(Y), S < T.\nc(a).", "the time of `p`"),
        ("p(X)@T :- q(X)@T, not r(X).", "must not hold"),
    ],
)
def test_a_time_that_nothing_bounds_is_refused(rule: str, what: str) -> None:
    """Each column of an answer, and the time of each absence, is told by what comes."""
    diagnostic = refusal(f"{rule}\nask p(X)@T.")
    assert diagnostic.code == "ask-unbounded"
    assert what in diagnostic.message


@pytest.mark.parametrize(
    ("literal", "size"),
    [
        ("boxminus[0,9] diamondminus[0,3] q(X)", "1,048,576 alternatives"),
        ("diamondminus[0,1000000000] q(X)", "1,000,000,001 alternatives"),
        ("boxminus[0,1000000000] q(X)", "1,000,000,001 premises"),
        ("boxminus[0,1000000000] diamondminus[0,1] q(X)", "more than 10^30 alternatives"),
        ("q(X) since[0,1000000000000] r(X)", "1,000,000,000,001 alternatives"),
        ("always q(X) in [700]", "246,051 premises"),
        ("boxminus[0,15] d(X)", "65,536 alternatives"),
    ],
)
def test_what_unfolds_into_too_much_is_refused_before_it_is_built(literal: str, size: str) -> None:
    """The size is computed from the formulas, and named."""
    diagnostic = refusal(f"p(X) :- {literal}.\nd(X) :- q(X).\nd(X) :- r(X).\nask p(X)@T.")
    assert diagnostic.code == "ask-too-large"
    assert size in diagnostic.message


def test_the_innermost_formula_that_is_too_large_is_blamed() -> None:
    """The place is that in the rule which makes it so, however deep."""
    text = "p(X) :- d(X).\nd(X) :- q(X), q(X) since[0,10000] r(X).\nask p(X)@T."
    assert blamed(text, refusal(text)) == "q(X) since[0,10000] r(X)"


def test_background_counts_as_it_is_joined() -> None:
    """The rows of background make alternatives, too, and are limited as these are."""
    rows = " ".join(f"c({i})." for i in range(110))
    diagnostic = refusal(f"p(X,Y) :- c(X), c(Y), q(X,Y).\n{rows}\nask p(X,Y)@T.")
    assert diagnostic.code == "ask-too-large"
    assert "10,000" in diagnostic.message


# --- size and speed -----------------------------------------------------------------------------------------------------


def test_a_long_chain_of_rules_is_no_recursion() -> None:
    """The depth of a program is not limited, nor bounded by the interpreter's stack."""
    chain = "\n".join(f"p{i}(X) :- p{i + 1}(X)." for i in range(1500))
    assert unfolded(f"{chain}\np1500(X) :- q(X).\nask p0(X)@T.") == ["q(X)@T"]


def test_a_thousand_alternatives_are_not_compared_each_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minimality is no comparison of each with each."""
    question, facts = question_of("p(X) :- diamondminus[0,999] q(X).\nask p(X)@T.")
    compared = count_comparisons(monkeypatch)
    assert len(unfold(question, facts).main.preconditions) == 1000
    assert len(compared) == 1000


# --- ranges -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("r(X), diamondplus[1,30] q(X)", ["r(X)@T, q(X)@T2, T <= T2 - 1, T2 <= T + 30"]),
        ("r(X), diamondminus[1,30] q(X)", ["r(X)@T, q(X)@T2, T2 <= T - 1, T <= T2 + 30"]),
        ("r(X), q(X) in [9]", ["r(X)@T, q(X)@T2, T2 <= T, T <= T2 + 9"]),
        ("r(X), q(X)@S in [9]", ["r(X)@T, q(X)@S, S <= T, T <= S + 9, S >= start"]),
    ],
)
def test_what_bridges_many_distances_is_one_precondition_with_bounds(body: str, expected: list[str]) -> None:
    """The time is a variable, whatever the length of the range."""
    assert unfolded(f"p(X) :- {body}.\nask p(X)@T.") == expected


def test_a_head_that_bridges_many_distances_is_one_precondition() -> None:
    """`boxplus[0,30] a` in a head is as ◇ in a body."""
    text = "p(X) :- r(X), a(X).\nboxplus[0,30] a(X) :- q(X).\nask p(X)@T."
    assert unfolded(text) == ["r(X)@T, q(X)@T2, T2 <= T, T <= T2 + 30"]


def test_a_box_over_what_holds_for_long_needs_a_chain_of_few_facts() -> None:
    """`boxminus[0,20]` over `boxplus[0,12]`: two facts to four, one after the other, in place of 13^21 alternatives."""
    rules = "p(X) :- r(X), boxminus[0,20] a(X).\n"
    for long in ("boxplus[0,12] a(X) :- q(X).", "a(X) :- diamondminus[0,12] q(X).", "a(X) :- q(X) in [12]."):
        found = unfolded(f"{rules}{long}\nask p(X)@T.")
        assert [line.count("q(X)") for line in found] == [2, 3, 4]
        assert found[0] == "r(X)@T, q(X)@T2, q(X)@T3, T2 <= T - 20, T <= T3 + 12, T3 <= T2 + 13, T2 <= T3 - 1"


def test_a_time_that_nothing_else_binds_is_tied_to_a_fact_by_a_list() -> None:
    """Without `r(X)`, the answers' times are listed."""
    assert unfolded("p(X) :- diamondminus[0,6] q(X).\nask p(X)@T.") == ["q(X)@T", *(f"q(X)@T-{d}" for d in range(1, 7))]
    chain = unfolded("p(X) :- boxminus[0,20] a(X).\nboxplus[0,12] a(X) :- q(X).\nask p(X)@T.")
    assert {line.split(",")[0] for line in chain} == {f"q(X)@T-{d}" for d in range(20, 33)}
