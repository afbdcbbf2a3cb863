"""Why a fact does not hold: the first premise that fails, for the substitution that comes furthest, and how near it came."""

from __future__ import annotations

import pytest

from tidelog.runtime.why.absent.why_not import Attempt, WhyNot
from tidelog.runtime.why.evidence import following
from why.explaining import why

READINGS = ("t(p1,99.7)@1", "t(p1,80)@1", "t(p1,102)@[2,9]", "t(p2,98.25)@5")


def failed(program: str, facts: tuple[str, ...], fact: str, depth: int = 1) -> WhyNot:
    answer = why(program, facts, fact, depth)
    assert isinstance(answer, WhyNot), answer.text()
    return answer


def attempt(program: str, facts: tuple[str, ...], fact: str) -> Attempt:
    """What fails of the only rule."""
    (found,) = failed(program, facts, fact).attempts
    return found


@pytest.mark.parametrize(
    ("body", "facts", "fact", "fails", "nearest"),
    [
        ("t(X,_)", READINGS, "b(p1)@1.5", "t(p1,_)@3/2", "t(p1,99.7)@1"),
        ("t(X,V), V >= 100", READINGS, "b(p1)@1", "99.7 >= 100", "99.7 misses 100 by 0.3"),
        ("V >= 100, t(X,V)", READINGS, "b(p2)@5", "98.25 >= 100", "98.25 misses 100 by 1.75"),
        ("boxminus[0,2] t(X,102)", READINGS, "b(p1)@3", "t(p1,102)@[1,2)", "t(p1,102)@[2,9]"),
        ("boxplus[0,2) t(X,102)", READINGS, "b(p1)@8", "t(p1,102)@(9,10)", "t(p1,102)@[2,9]"),
        ("diamondminus[1,2] t(X,V)", READINGS, "b(p2)@4", "t(p2,_)@[2,3]", "t(p2,98.25)@5"),
        ("t(X,_), not ok(X)", (*READINGS, "ok(p1)@[4,5)"), "b(p1)@4", "not ok(p1)@4", "ok(p1)@[4,5)"),
        (
            "t(X,_), not diamondminus[0,3] ok(X)",
            (*READINGS, "ok(p1)@3"),
            "b(p1)@5",
            "not diamondminus[0,3] ok(p1)@5",
            "ok(p1)@3",
        ),
        ("a(X) since[0,3] c(X)", ("c(x)@5", "a(x)@(5,7)"), "b(x)@8", "a(x)@[7,8)", "a(x)@(5,7)"),
        ("a(X) since[0,3] c(X)", ("c(x)@5", "a(x)@(5,9)"), "b(x)@9", "c(x)@[6,9]", "c(x)@5"),
        ("a(X) until[1,3] c(X)", ("c(x)@5", "a(x)@(4,5)"), "b(x)@3", "a(x)@(3,4]", "a(x)@(4,5)"),
        ("sometime a(X) in [2]", ("a(x)@5",), "b(x)@8", "a(x)@[6,8]", "a(x)@5"),
        ("always a(X) in [4]", ("c@5", "a(x)@[5,7]"), "b(x)@8", "a(x)@(7,8]", "a(x)@[5,7]"),
        ("a(X), c(X)", ("a(x)@5", "c(y)@5"), "b(x)@5", "c(x)@5", "c(y)@5"),
        ("a(X), c(X)", ("a(x)@5",), "b(x)@5", "c(x)@5", None),
        ("diamondminus[0,2] (a(X), c(X))", ("a(x)@5",), "b(x)@6", "c(x)@5", None),
        ("a(X), X != x", ("a(x)@5",), "b(x)@5", "x != x", "x against x"),
    ],
)
def test_the_first_premise_that_fails_and_what_came_nearest(
    body: str, facts: tuple[str, ...], fact: str, fails: str, nearest: str | None
) -> None:
    """Each operator tells the range that it lacks, each comparison by how much it was missed."""
    miss = attempt(f"b(X) :- {body}.", facts, fact).miss
    assert (miss.fails, miss.nearest) == (fails, nearest)


def test_the_substitution_that_comes_furthest_is_told() -> None:
    """Of the values for which the first premises hold, those with which most of them do, and of these the nearest."""
    found = attempt(
        "b(X) :- a(X,Y), c(Y), d(Y,V), V > 10.", ("a(x,y1)@5", "a(x,y2)@5", "c(y2)@5", "d(y2,4)@5", "d(y2,9)@5"), "b(x)@5"
    )
    assert dict(found.binding) == {"X": "x", "Y": "y2", "V": 9}
    assert found.miss.fails == "9 > 10"


def test_a_box_in_the_head_is_looked_through() -> None:
    """The body may hold at any time from which the head reaches the fact's time."""
    found = attempt("boxplus[1,2] b :- a.", ("a@3",), "b@9")
    assert (found.miss.fails, found.miss.nearest) == ("a@[7,8]", "a@3")


def test_a_time_in_the_head_is_the_facts() -> None:
    """`@T` of the head is told by the fact."""
    found = attempt("timeline integer. b(X)@T+2 :- a(X)@T, c(X)@T+1.", ("a(x)@4",), "b(x)@6")
    assert (dict(found.binding), found.miss.fails) == ({"X": "x", "T": 4}, "c(x)@5")


def test_what_lacks_is_explained_in_turn() -> None:
    """With a depth, why the missing fact does not hold, level by level and no further."""
    program = "d :- c. c :- b. b :- a."
    assert failed(program, (), "d@1", 1).attempts[0].attempts == ()
    deep = failed(program, (), "d@1", 3)
    inner = deep.attempts[0].attempts[0].attempts[0]
    assert (inner.by, inner.miss.fails, inner.attempts) == ("b :- a.", "a@1", ())


def test_a_rule_of_another_head_is_no_attempt() -> None:
    """Rules whose head is for other constants are passed over."""
    found = failed("b(x) :- a. b(Y) :- c(Y).", (), "b(z)@1")
    assert [each.by for each in found.attempts] == ["b(Y) :- c(Y)."]


def test_only_the_times_that_lack_are_explained() -> None:
    """Of a fact that holds in part the first time at which it does not."""
    found = failed("b :- a.", ("a@[1,5)",), "b@[3,7]")
    assert (found.missing, found.nearest, found.attempts[0].miss.fails) == ("5", "b@[1,5)", "a@5")


def test_bounded_work_says_that_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more substitutions would have to be followed than may be, that is told."""
    facts = tuple(f"a(x,{number})@1" for number in range(30))
    assert not failed("b(X) :- a(X,Y), c(Y).", facts, "b(x)@1").stopped
    monkeypatch.setattr(following, "MOST_STATES", 10)
    found = failed("b(X) :- a(X,Y), c(Y).", facts, "b(x)@1")
    assert found.stopped
    assert "the search was stopped" in found.text()
    assert '"stopped": true' in found.json()


def test_recursion_is_followed_no_further_than_asked() -> None:
    """A rule that fails because of itself is told, not followed for ever."""
    found = failed("timeline integer. boxplus[1,1] b :- b.", (), "b@9", 50)
    level, attempts = 0, found.attempts
    while attempts:
        level, attempts = level + 1, attempts[0].attempts
    assert level == 50
