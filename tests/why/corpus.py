"""Programs with an answer over a maximal range, of which each premise is needed: all operators, with all brackets."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A program, facts, and an answer over a maximal range."""

    program: str
    facts: tuple[str, ...]
    fact: str


RATIONAL = {
    "atom": Case("b(X) :- a(X).", ("a(x)@[1,3)",), "b(x)@[1,3)"),
    "conjunction": Case("b(X) :- a(X), c(X,Y), Y > 2.", ("a(x)@[1,5]", "c(x,3)@(2,9)"), "b(x)@(2,5]"),
    "diamondminus [a,b]": Case("b :- diamondminus[1,2] a.", ("a@5",), "b@[6,7]"),
    "diamondminus (a,b]": Case("b :- diamondminus(1,2] a.", ("a@5",), "b@(6,7]"),
    "diamondminus [a,b)": Case("b :- diamondminus[1,2) a.", ("a@5",), "b@[6,7)"),
    "diamondminus (a,b)": Case("b :- diamondminus(1,2) a.", ("a@5",), "b@(6,7)"),
    "diamondminus of an open end": Case("b :- diamondminus[1,2] a.", ("a@[5,6)",), "b@[6,8)"),
    "diamondminus without end": Case("b :- diamondminus a.", ("a@5",), "b@[5,inf)"),
    "diamondplus [a,b]": Case("b :- diamondplus[1,2] a.", ("a@5",), "b@[3,4]"),
    "diamondplus (a,b]": Case("b :- diamondplus(1,2] a.", ("a@5",), "b@[3,4)"),
    "diamondplus [a,b)": Case("b :- diamondplus[1,2) a.", ("a@5",), "b@(3,4]"),
    "boxminus [a,b]": Case("b :- boxminus[1,2] a.", ("a@[3,7]",), "b@[5,8]"),
    "boxminus (a,b]": Case("b :- boxminus(1,2] a.", ("a@[3,7)",), "b@[5,8]"),
    "boxminus [a,b)": Case("b :- boxminus[1,2) a.", ("a@(3,7]",), "b@[5,8]"),
    "boxminus (a,b)": Case("b :- boxminus(1,2) a.", ("a@(3,7)",), "b@[5,8]"),
    "boxminus of an open end": Case("b :- boxminus[1,2] a.", ("a@(3,7)",), "b@(5,8)"),
    "boxplus [a,b]": Case("b :- boxplus[1,2] a.", ("a@[3,7]",), "b@[2,5]"),
    "boxplus (a,b)": Case("b :- boxplus(1,2) a.", ("a@(3,7)",), "b@[2,5]"),
    "boxplus without end": Case("b :- boxplus a.", ("a@(3,inf)",), "b@(3,inf)"),
    "since [a,b]": Case("b :- a since[1,2] c.", ("a@(3,9)", "c@3"), "b@[4,5]"),
    "since (a,b]": Case("b :- a since(1,2] c.", ("a@(3,9)", "c@3"), "b@(4,5]"),
    "since [a,b)": Case("b :- a since[1,2) c.", ("a@(3,9)", "c@3"), "b@[4,5)"),
    "since (0,b]": Case("b :- a since(0,2] c.", ("a@(3,4)", "c@3"), "b@(3,4]"),
    "since from 0": Case("b :- a since[0,2] c.", ("a@(3,4)", "c@3"), "b@[3,4]"),
    "until [a,b]": Case("b :- a until[1,2] c.", ("a@(0,5)", "c@5"), "b@[3,4]"),
    "until (a,b)": Case("b :- a until(1,2) c.", ("a@(0,5)", "c@5"), "b@(3,4)"),
    "until (0,b)": Case("b :- a until(0,2) c.", ("a@(4,5)", "c@5"), "b@[4,5)"),
    "head boxplus": Case("boxplus(1,2] b :- a.", ("a@5",), "b@(6,7]"),
    "head boxminus": Case("boxminus[1,2) b :- a.", ("a@5",), "b@(3,4]"),
    "head boxes": Case("boxplus[1,2] boxminus[0,3] b :- a.", ("a@5",), "b@[3,7]"),
    "nested": Case("b :- boxminus[0,2] diamondminus[0,1] a.", ("a@1", "a@2", "a@3"), "b@[3,4]"),
    "negation": Case("b(X) :- a(X), not c(X).", ("a(x)@[1,9]", "c(x)@(4,5]", "c(y)@2"), "b(x)@[1,4]"),
    "negation of any": Case("b(X) :- a(X), not c(X,_).", ("a(x)@[1,9]", "c(x,7)@(4,5]"), "b(x)@[1,4]"),
    "negated diamond": Case("b :- a, not diamondminus[0,2] c.", ("a@[1,9]", "c@3"), "b@(5,9]"),
    "negated box": Case("b :- a, not boxminus[0,2] c.", ("a@[1,9]", "c@[2,6]"), "b@[1,4)"),
    "negated since": Case("b :- a, not (d since[0,2] c).", ("a@[1,9]", "c@3", "d@(3,8)"), "b@(5,9]"),
    "negation of a derived fact": Case(
        "b(X) :- a(X), not d(X). d(X) :- diamondminus[0,1] c(X).", ("a(x)@[1,9]", "c(x)@4"), "b(x)@(5,9]"
    ),
    "recursion": Case("b(Y) :- b(X), e(X,Y).", ("b(x)@[1,9]", "e(x,y)@[2,5]", "e(y,z)@[3,7)"), "b(z)@[3,5]"),
    "recursion through time": Case("boxplus[2,2] b :- b, a.", ("b@[0,1]", "a@[0,5]"), "b@[6,7]"),
    "several rules": Case("b :- a. b :- c.", ("a@[1,3]", "c@(3,6]"), "b@[1,6]"),
    "facts of the program": Case("b(X) :- a(X), k(X). k(x)@[2,4). k(y).", ("a(x)@[1,9]",), "b(x)@[2,4)"),
    "units": Case("timeline rational, unit 1 s. b :- boxminus[0,1 min] a.", ("a@[0,100]",), "b@[60,100]"),
    "window": Case("b :- sometime a in [2].", ("a@5",), "b@[5,7]"),
    "window without end": Case("b :- sometime a in [inf].", ("a@5",), "b@[5,inf)"),
    "clipped window without end": Case("b :- always a in [inf].", ("a@[5,7]", "c@5"), "b@[5,7]"),
    "clipped window": Case("b :- always a in [4].", ("a@[5,7]", "c@5"), "b@[5,7]"),
    "arithmetic": Case("b(W) :- a(V), W = V*9/5+32.", ("a(10)@3",), "b(50)@3"),
    "other names": Case("'the b'(X) :- 'the a'(X).", ("'the a'(\"Not, plain\")@3",), "'the b'(\"Not, plain\")@3"),
}

WHOLE = {
    "since over one time": Case("b :- a since[1,3] c.", ("c@3", "a@[4,5]"), "b@[4,6]"),
    "until over one time": Case("b :- a until[1,3] c.", ("c@9", "a@[7,8]"), "b@[6,8]"),
    "open brackets": Case("b :- diamondminus(0,3) a.", ("a@5",), "b@[6,7]"),
    "box": Case("b :- boxminus(0,3) a.", ("a@3", "a@[4,6]"), "b@[5,7]"),
    "stepped window": Case("b :- sometime a in [2 step 5].", ("a@4",), "b@[5,9]"),
    "stepped window, always": Case("b :- always a in [2 step 5].", ("c@0", "a@[7,11]"), "b@[10,14]"),
    "a time in a window": Case("b(X) :- a(X)@T in [3], c(X)@T+1.", ("a(x)@4", "c(x)@5"), "b(x)@[4,7]"),
    "a time in the head": Case("b(X)@T+2 :- a(X)@T in [3], c(X)@T+1.", ("a(x)@4", "c(x)@5"), "b(x)@6"),
    "a time as a value": Case("b(X,T) :- a(X)@T in [3].", ("a(x)@4",), "b(x,4)@[4,7]"),
    "a time that is not": Case("b(X) :- a(X)@T in [3], not c(X)@T.", ("a(x)@4", "c(x)@5"), "b(x)@[4,7]"),
    "value held for ever": Case("b(S) :- latest a(X,S) by X in [inf].", ("a(x,1)@3", "a(x,2)@8"), "b(1)@[3,7]"),
    "tuple window": Case("b(X) :- a(X) in [#2].", ("a(x)@1", "a(y)@3", "a(z)@3", "a(y)@9"), "b(x)@[1,2]"),
    "tuple window of": Case("b(X) :- a(X) in [#1 of a]. d :- c.", ("a(x)@1", "c@3", "a(y)@7"), "b(x)@[1,6]"),
    "tuple window, always": Case("b(X) :- always a(X) in [#2].", ("a(x)@1", "a(x)@2", "a(y)@3"), "b(x)@[1,2]"),
    "tuple window, at": Case("b(X,T) :- a(X)@T in [#2].", ("a(x)@1", "a(x)@2", "a(y)@3"), "b(x,1)@[1,2]"),
    "out of a tuple window": Case(
        "b(X) :- c(X), not a(X) in [#2 of a].", ("c(x)@[1,9]", "a(x)@1", "a(y)@3", "a(z)@5"), "b(x)@[5,9]"
    ),
    "recursion through time": Case("boxplus[1,1] b :- b, a.", ("b@0", "a@[0,3]"), "b@4"),
}

COUNTED = {
    "count": Case("b(X,N) :- N = count() over a(X,_) in [2] by X.", ("a(x,1)@1", "a(x,2)@[2,3]", "a(y,2)@2"), "b(x,3)@3"),
    "mean": Case("b(X,10) :- 10 = avg(V) over a(X,V) in [2] by X.", ("a(x,5)@1", "a(x,15)@3", "a(y,2)@2"), "b(x,10)@3"),
    "sum of an expression": Case(
        "b(50) :- 50 = sum(V*2) over (a(V), c) in [4 step 5].", ("a(10)@1", "a(15)@3", "c@[0,9]"), "b(50)@[5,9]"
    ),
    "sum of a group that the head does not name": Case(
        "b(N) :- N = sum(V) over a(X,V) in [3] by X.", ("a(w,7)@1", "a(x,5)@3", "a(x,3)@3"), "b(8)@[3,6]"
    ),
    "greatest": Case(
        "b(X,V) :- V = max(W) over a(X,W) in [2] by X.", ("a(x,5)@1", "a(x,15)@3", "a(y,20)@2"), "b(x,15)@[3,5]"
    ),
    "median": Case(
        "b(X,V) :- V = quantile(0.5, W) over a(X,W) in [2] by X.", ("a(x,10)@1", "a(x,50)@2", "a(x,20)@3"), "b(x,20)@3"
    ),
    "mean of what is held": Case(
        "b(X,V) :- V = avg(W) over (latest a(X,W) by X in [5]) in [2] by X.", ("a(x,10)@1", "a(x,50)@2"), "b(x,50)@[4,7]"
    ),
    "threshold": Case("b(X) :- count() over a(X,_) in [2] by X >= 2.", ("a(x,1)@1", "a(x,2)@3", "a(y,2)@2"), "b(x)@3"),
    "threshold of a sum": Case(
        "b(X) :- sum(V) over (a(X,V), V >= 0) in [2] by X > 60.", ("a(x,11)@1", "a(x,50)@3"), "b(x)@3"
    ),
    "threshold in recursion": Case(
        "b(X) :- c(X). b(X) :- count() over (a(X,Y), b(Y)) in [2] by X >= 2.",
        ("c(x)@[0,9]", "a(y,x)@1", "a(y,x)@2", "a(z,y)@2", "a(z,y)@3"),
        "b(z)@[3,4]",
    ),
    "latest": Case("b(X,V) :- latest a(X,V) by X in [5].", ("a(x,10)@1", "a(x,50)@3", "a(y,1)@4"), "b(x,50)@[3,8]"),
    "no count": Case(
        "b(X) :- c(X), not count() over a(X,_) in [2] by X > 1.", ("c(x)@[0,9]", "a(x,1)@3", "a(x,2)@4"), "b(x)@[6,9]"
    ),
}

CASES = RATIONAL | {
    f"whole: {name}": case._replace(program=f"timeline integer. {case.program}") for name, case in (WHOLE | COUNTED).items()
}
