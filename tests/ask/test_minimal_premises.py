"""Minimal sets of premises: factoring, θ-subsumption, and each set of facts in one precondition alone."""

from __future__ import annotations

import pytest

from ask.unfolded import count_comparisons, question_of, unfolded
from tidelog.operators.sld.unfold import unfold


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("p(X) :- q(X), r(X). p(X) :- q(X).", ["q(X)@T"]),
        ("p(X) :- q(X). p(Y) :- q(Y).", ["q(X)@T"]),
        ("p(X) :- q(X,Y). p(X) :- q(X,a).", ["q(X,Y)@T"]),
        ("p(X) :- q(X,Y), r(Y). p(X) :- q(X,a), r(b).", ["q(X,Y)@T, r(Y)@T", "q(X,a)@T, r(b)@T"]),
        ("p(a) :- q(a). p(X) :- q(X).", ["q(X)@T"]),
        ("p(a) :- q(b). p(X) :- q(X).", ["X=a: q(b)@T", "q(X)@T"]),
        ("p(X) :- q(X), not r(X). p(X) :- q(X), not r(X), not s(X).", ["q(X)@T, not r(X)@T"]),
        ("p(X) :- q(X), not r(X). p(X) :- q(X), s(X).", ["q(X)@T, not r(X)@T", "q(X)@T, s(X)@T"]),
        ("p(X) :- q(X), X > 3. p(X) :- q(X), X > 3, r(X).", ["q(X)@T, X > 3"]),
        ("p(X) :- q(X), X > 3. p(4) :- q(4), r(a).", ["q(X)@T, X > 3"]),
        ("p(4) :- q(4). p(3) :- q(3). p(X) :- q(X), X > 3.", ["X=3: q(3)@T", "q(X)@T, X > 3"]),
        ("p(X) :- q(X), X > 3. p(X) :- q(X), X > 2, r(X).", ["q(X)@T, X > 3", "q(X)@T, r(X)@T, X > 2"]),
        ("p(X) :- q(X), r(X)@S, S > 2. p(X) :- q(X), r(X)@S, S > 4.", ["q(X)@T, r(X)@S, S >= 3"]),
        ("p(X) :- q(X), r(X)@S. p(X) :- q(X), r(X)@S-1, r(X)@S.", ["q(X)@T, r(X)@S"]),
        ("p(X) :- q(X), diamondminus r(X). p(X) :- q(X), diamondminus[2,5] r(X).", ["q(X)@T, r(X)@T2, T2 <= T"]),
        ("p(X) :- q(X)@S in [2], S > 3, r(X). p(X) :- r(X).", ["r(X)@T"]),
    ],
)
def test_what_needs_more_than_another_is_left_out(rules: str, expected: list[str]) -> None:
    """A precondition goes if another one, its variables replaced, gives the same answer for no more."""
    text = rules.replace(". p", ".\np")
    assert unfolded(f"{text}\nask p(X)@T.") == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("p(X) :- q(X,Y), q(Y,X).", ["q(X,Y)@T, q(Y,X)@T", "q(X,X)@T"]),
        ("p(X) :- q(X,Y), q(X,Z), r(Y,Z).", ["q(X,Y)@T, q(X,Z)@T, r(Y,Z)@T", "q(X,Y)@T, r(Y,Y)@T"]),
        ("p(X) :- q(X,Y), q(X,Z), Y != Z.", ["q(X,Y)@T, q(X,Z)@T, Y != Z"]),
        ("p(X) :- q(X,a), q(X,Y), r(Y).", ["q(X,Y)@T, q(X,a)@T, r(Y)@T", "q(X,a)@T, r(a)@T"]),
        ("p(X) :- r(X), q(X)@S, q(X)@S+2.", ["r(X)@T, q(X)@S, q(X)@S+2"]),
    ],
)
def test_premises_that_could_be_one_fact_get_a_precondition_of_their_own(rule: str, expected: list[str]) -> None:
    """Different premises stand for different facts, so what one fact can do is written so."""
    assert unfolded(f"{rule}\nask p(X)@T.") == expected


def test_a_repetition_is_no_second_premise() -> None:
    """q(X,Y) and q(X,Z) ask for no more than q(X,Y)."""
    assert unfolded("p(X) :- q(X,Y), q(X,Z).\nask p(X)@T.") == ["q(X,Y)@T"]


def test_three_premises_are_made_one_in_every_way() -> None:
    """All three the same, two of them, or none."""
    text = "p(X) :- q(X,A), q(X,B), q(X,C), r(A,B,C).\nask p(X)@T."
    assert [line.count("q(") for line in unfolded(text)].count(3) == 1
    assert sorted(line.count("q(") for line in unfolded(text)) == [1, 2, 2, 2, 3]


def test_times_that_could_be_the_same_are_made_the_same() -> None:
    """Independent times may meet."""
    text = "p(X) :- r(X), q(X,a)@S1, q(X,Y)@S2, u(Y).\nask p(X)@T."
    assert unfolded(text) == ["r(X)@T, u(Y)@T, q(X,a)@S1, q(X,Y)@S2", "r(X)@T, u(a)@T, q(X,a)@S1"]


def test_comparisons_are_decided_anew_once_premises_are_one() -> None:
    """What cannot hold of one fact gives no precondition."""
    text = "p(X) :- r(X), q(X)@S1, q(X)@S2, S1 < S2.\nask p(X)@T."
    assert unfolded(text) == ["r(X)@T, q(X)@S1, q(X)@S2, S1 <= S2 - 1"]


@pytest.mark.long
@pytest.mark.slow
def test_ten_thousand_preconditions_are_compared_without_trying_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Preconditions are found by the premise that the fewest have."""
    rules = "\n".join(f"a(X)@T :- r(X)@T+{i}.\nb(X)@T :- q(X)@T+{i}." for i in range(100))
    question, facts = question_of(f"{rules}\np(X) :- a(X), b(X).\nask p(X)@T.")
    compared = count_comparisons(monkeypatch)
    assert len(unfold(question, facts).main.preconditions) == 10_000
    assert len(compared) < 2_000_000


def test_background_of_thousands_of_rows_is_compared_by_its_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Premises that differ in a constant are never compared."""
    rows = " ".join(f"c({i},{i + 1})." for i in range(3000))
    question, facts = question_of(f"p(X) :- c(X,Y), q(Y).\n{rows}\nask p(X)@T.")
    compared = count_comparisons(monkeypatch)
    assert len(unfold(question, facts).main.preconditions) == 3000
    assert len(compared) == 3000
