"""How aggregates and held values are written, and what they become."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_statement
from tidelog.plans.tree.syntax import Rule

READ = [
    ("a(S, A) :- A = avg(V) over t(S, V) in [5] by S.", "a(S, A) :- A = avg(V) over t(S, V) in [5] by S."),
    (
        "a(S) :- count() over f(S,_) by S in [10 min] >= 5.",
        "a(S) :- Count = count() over f(S, _) in [10min] by S, Count >= 5.",
    ),
    (
        "a(S, Z) :- count() over f(S, Z) in [5] by S, Z >= 3.",
        "a(S, Z) :- Count = count() over f(S, Z) in [5] by (S, Z), Count >= 3.",
    ),
    (
        "a(S) :- not count() over f(S) in [5] by S > 1, g(S).",
        "a(S) :- not (Count = count() over f(S) in [5] by S, Count > 1), g(S).",
    ),
    ("a(V) :- latest t(S, V) in [5] by S.", "a(V) :- latest t(S, V) by S in [5]."),
    (
        "a :- max(V) over t(V) in [5] - min(V) over t(V) in [5] > 3.",
        "a :- Max = max(V) over t(V) in [5], Min = min(V) over t(V) in [5], Max - Min > 3.",
    ),
    ("a(Q) :- Q = QUANTILE(0.5, V) OVER t(V) in [5].", "a(Q) :- Q = quantile(0.5, V) over t(V) in [5]."),
    (
        "a(S) :- A = sum(W) over (t(S, V), W = V*V) in [5 step 5] by S, A > 3.",
        "a(S) :- A = sum(W) over (t(S, V), W = V * V) in [5 step 5] by S, A > 3.",
    ),
]


@pytest.mark.parametrize(("text", "written"), READ)
def test_it_reads_as_one_literal_beside_its_comparison(text: str, written: str) -> None:
    """Each aggregate has a variable for its result, and reads back as it is written."""
    (statement,) = parse(text).statements
    assert format_statement(statement) == written
    assert parse(written).statements == (statement,)


@pytest.mark.parametrize(
    "following",
    ["A > 3", "S != s1", "B = max(V) over t(S, V) in [5] by S, B > A", "A + 1 > 3, h(S)", "h(S), A > 2"],
)
def test_a_comma_behind_by_may_begin_the_next_literal(following: str) -> None:
    """Where the aggregate has been compared already, what follows the comma is a comparison of its own."""
    text = f"a(S) :- A = avg(V) over t(S, V) in [5] by S, {following}."
    (statement,) = parse(text).statements
    assert format_statement(statement) == text


def test_the_words_are_reserved_nowhere_else() -> None:
    """Predicates may still be called `latest`, `over`, `by` and `count`."""
    text = "latest(X) :- over(X), by(X), count(X), latest, first in [5]."
    assert (
        format_statement(parse(text).statements[0])
        == "latest(X) :- over(X), by(X), count(X), latest, sometime first in [5]."
    )


def test_a_line_may_end_behind_over_and_by() -> None:
    """They are words between two things, so that what follows on the next line belongs to them."""
    text = "a(S, A) :- A = avg(V) over\n t(S, V) in [5] by\n S\nb(X) :- c(X)"
    first, second = parse(text).statements
    assert format_statement(first) == "a(S, A) :- A = avg(V) over t(S, V) in [5] by S."
    assert format_statement(second) == "b(X) :- c(X)."


def test_comparisons_do_not_chain() -> None:
    """A comparison of three sides is refused, with what is meant."""
    with pytest.raises(ProgramError) as caught:
        parse("a(X) :- t(X), 3 < X < 5.")
    assert caught.value.diagnostics[0].help == "write `3 < X, X < 5`"


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("A = avg(X) over r(X) in [5]", "this aggregate, on which `p(X)@T` depends: `avg` is no threshold that more facts "),
        (
            "sum(X) over (r(X), X >= 0) in [5] > 3",
            "this aggregate, on which `p(X)@T` depends: any number of facts may",
        ),
        ("count() over r(X) in [5] by X > 9", "this aggregate, on which `p(X)@T` depends: its threshold wants more than 5"),
        ("latest r(X) in [5]", "`latest`: `p(X)@T` depends on one"),
    ],
)
def test_ask_takes_no_aggregate_but_thresholds(literal: str, message: str) -> None:
    """A question that depends on another one is refused by name; a program may have some beside its questions."""
    text = "timeline integer. input q(x). input r(x). output c. c(X) :- latest r(X) in [5]. ask p(X)@T. "
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(f"{text} p(X) :- q(X), {literal}.")
    (problem,) = caught.value.diagnostics
    assert problem.code == "not-in-ask"
    assert problem.message.startswith(f"`ask` does not take {message}")
    assert tidelog.compile(f"{text} p(X) :- q(X), not r(X).").questions


@pytest.mark.parametrize(
    "literal",
    [
        "count() over q(X) in [1] by X > 0",
        "(N = count() over q(X) in [1] by X, N = 2)",
        "N = sum(X) over q(X) in [2 step 2] by X",
        "latest q(X) by X in [3]",
    ],
)
def test_what_has_no_value_is_asked_for_by_not(literal: str) -> None:
    """Under `not` a result needs no atom that binds it."""
    session = tidelog.Session(tidelog.compile(f"timeline integer. input p(x). input q(x). a(X) :- p(X), not {literal}."))
    session.push("p", [1], time=0)
    session.push("q", [2], time=0)
    session.finish()
    assert [answer.text for answer in session.pull()] == ["a(1)@0"]


def test_an_aggregate_under_not_leans_on_nothing() -> None:
    """Compared with a variable from outside, it is refused, with what to do."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile("timeline integer. a(X) :- p(X), l(L), not count() over q(X) in [1] by X > L.")
    (problem,) = caught.value.diagnostics
    assert problem.message == "an aggregate under `not` is compared with `L`, which stands outside"


def test_an_atom_without_arguments_may_follow_by() -> None:
    """A lower-case name behind the comma is the next premise, not a variable of `by`."""
    (_, rule) = parse("timeline integer. x(X) :- N = count() over p(X) in [5] by X, r.").statements
    assert isinstance(rule, Rule)
    assert [type(part).__name__ for part in rule.body] == ["Aggregate", "Atom"]


@pytest.mark.parametrize("body", ["N = count() over p(S) by S", "count() over p(S) >= 3", "latest p(S) by S"])
def test_a_missing_window_is_named(body: str) -> None:
    """What is expected is a window, and how one is written."""
    with pytest.raises(ProgramError, match=r"expected a window, such as `in \[10\]`"):
        parse(f"timeline integer. a(S) :- {body}.")


def test_latest_of_one_group_is_warned_of() -> None:
    """Without `by`, the last row of all is held: seldom what is meant where there are several columns."""
    warned = tidelog.compile("timeline integer. a(S,V) :- latest p(S,V) in [5].").warnings
    assert [warning.code for warning in warned] == ["one-group"]
    assert not tidelog.compile("timeline integer. a(S,V) :- latest p(S,V) by S in [5].").warnings
