"""The checks: what they let pass, what they find, and what they leave alone. Their messages are golden files."""

import pytest

import tidelog
from tidelog.plans.checks import check, require
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse


def codes(text: str) -> list[str]:
    return [item.code for item in check(parse(text))]


@pytest.mark.parametrize(
    "text",
    [
        "alarm(X) :- boxminus[0,4] hot(X), not ok(X).",
        "p(X) :- q(X), not r(X, _), boxminus[0,2] not s(X).",
        "p(X, W) :- q(X, V), W = V * 9 / 5 + 32, 3 < W, Z = W, Z > V.",
        "p(X) :- X = 3, q(X).",
        "p(X) :- a(X) since[0,2] (b(X), c(X)).",
        "p(X) :- (a(X, Y), Y > 3) since[0,2] b(X).",
        "p(X) :- q(X, Y), boxminus[0,5] (r(X, Z), Z > Y, not s(Y)).",
        "p(X) :- sometime q(X) in [5], not always r(X) in [3].",
        "boxplus[1,2] boxminus[0,1] p(X) :- q(X).",
        "bottom :- p(X), q(X).",
        "reach(X, Y) :- boxplus[1,1] reach(X, Z), link(Z, Y).",
        "a(X) :- b(X), not c(X). c(X) :- d(X), not e(X).",
        "timeline integer, unit 1 s. p :- boxminus[0,5 min] q, diamondminus(0,2) r, ALWAYS(-inf,0] r.",
        "timeline rational, resolution 1/1000. p :- boxminus[0,1/3) q, r until(0,inf) q. q@[-5,3).",
        "input temp(sensor, value). output hot. hot(X) :- temp(X, V), V > 9, zone(X). zone(a).",
        'input t(x). background zone from "z.csv". hot(X) :- t(X), zone(X).',
        "input t(x). input t(x). p(X) :- t(X).",
        "p(_x) :- q(_x, _lonely).",
    ],
)
def test_sound_programs_pass(text):
    """Nothing is said of a program that means something."""
    assert codes(text) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("p(X) :- not q(X).", "unsafe-variable"),
        ("p(X) :- X > 3.", "unsafe-variable"),
        ("p(X) :- q(Y), X = Y + Z.", "unsafe-variable"),
        ("p :- q(X), X > _.", "unsafe-variable"),
        ("p(X) :- a(X), not (b(_, _), _ < 2).", "unsafe-variable"),
        ("p(X) :- a(X), not (c(X) since (b(_), 2 < _)).", "unsafe-variable"),
        ("p(X) :- a(X), not not (b(_), _ + 1 = X).", "unsafe-variable"),
        ("p :- diamondminus[0,2] not q(X).", "unsafe-variable"),
        ("p(X) :- X = Y, Y = X.", "unsafe-variable"),
        ("p :- top since[0,2] (q, X > 3).", "unsafe-variable"),
        ("boxplus[1] p(X) :- top.", "unsafe-variable"),
        ("a :- b since[0,2] not a.", "unstratified"),
        ("a :- not sometime a in [5].", "unstratified"),
        ("p(a). q :- p.", "arity-mismatch"),
        ("output missing. p :- q.", "unknown-predicate"),
        ("timeline integer, resolution 2. p :- q.", "bad-resolution"),
        ("timeline integer. p :- q in [#0].", "bad-window"),
        ("timeline integer. p :- q in [5 step 0].", "bad-window"),
        ("timeline integer. p :- boxminus[0,9999999999999999999999] q.", "bad-number"),
    ],
)
def test_mistakes_are_found(text, code):
    """Each of these programs is refused for this reason."""
    assert code in codes(text)


def test_a_cycle_of_several_predicates_is_named_whole():
    """The message walks from the head over its negation back to it."""
    (found,) = check(parse("a :- x, not b. b :- c. c :- boxminus[0,1] d. d :- a, x."))
    assert found.message == "`a` depends on its own negation: `a -> not b -> c -> d -> a`"


def test_each_variable_is_reported_once_a_rule():
    """However often it occurs, one message is enough."""
    assert codes("p(X, X) :- q, X > 3, not r(X).") == ["unsafe-variable"]


def test_findings_are_in_order_of_their_places():
    """They read from the top of the file to its end."""
    found = check(parse("p(X) :- q.\np(Y, Z) :- r(Y, W).\na :- not a."))
    assert [item.span for item in found] == sorted(item.span for item in found)
    assert len(found) == 5


def test_require_raises_the_errors_and_returns_the_warnings():
    """The gate before compilation."""
    assert [item.code for item in require(parse("p :- q(X)."))] == ["singleton-variable"]
    with pytest.raises(ProgramError) as caught:
        require(parse("p(Y) :- q(X).", "a.tide"))
    assert [item.code for item in caught.value.diagnostics] == ["unsafe-variable"]
    assert (caught.value.name, caught.value.text) == ("a.tide", "p(Y) :- q(X).")


def test_without_inputs_unknown_body_predicates_are_inputs():
    """Only where an input is declared is an undeclared one a mistake."""
    assert codes("p :- q.") == []
    assert codes("input r. p :- q, r.") == ["unknown-predicate"]


def test_constraints_keep_what_they_read():
    """A rule that only a constraint needs is needed."""
    assert codes("output p. p :- q. bottom :- r. r :- q.") == []


def test_what_inhibits_an_alarm_is_needed():
    """A rule for a predicate that only inhibits an alarm is no rule that no output needs."""
    assert codes("input t(x). alarm a(x: text), inhibited by b(x). a(X) :- t(X). b(X) :- t(X).") == []


def test_alarms_are_outputs_in_the_order_of_the_text():
    """What a program tells is listed as it is declared."""
    plan = tidelog.compile("input t(x). alarm b(x: text). alarm a(x: text). a(X) :- t(X). b(X) :- t(X).")
    assert [*plan.told] == ["b", "a"]
