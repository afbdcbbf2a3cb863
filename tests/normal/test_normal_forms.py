"""Normal forms, written by hand from the papers' definitions, for programs of every kind."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_statement
from tidelog.plans.normal.normalise import normalise
from tidelog.plans.normal.program import as_program
from tidelog.plans.tree.syntax import Rule


def normal_rules(text: str) -> str:
    """The rules of the program's normal form, one a line."""
    program = as_program(normalise(parse(dedent(text))))
    rules = [format_statement(item) for item in program.statements if isinstance(item, Rule)]
    return "\n".join(rules)


def assert_becomes(text: str, expected: str) -> None:
    assert normal_rules(text) == dedent(expected).strip()


def test_example_7() -> None:
    """The network of Wałęga et al. 2023, Example 1, becomes the rules of Example 7."""
    assert_becomes(
        """
        Flag(X,Z) :- Monit(X,Z), boxminus[0,4] diamondminus[0,2] Signal(Z)
        boxplus[0,3] Monit(X,Z) :- Flag(Y,Z), Connect(X,Y)
        """,
        """
        'Flag.1'(Z) :- diamondminus[0,2] Signal(Z).
        'Flag.2'(Z) :- boxminus[0,4] 'Flag.1'(Z).
        Flag(X, Z) :- Monit(X, Z), 'Flag.2'(Z).
        'Monit.1'(X, Z) :- Flag(Y, Z), Connect(X, Y).
        Monit(X, Z) :- diamondminus[0,3] 'Monit.1'(X, Z).
        """,
    )


def test_short_stops_share() -> None:
    """The short-stop rules of section 7.2 compute each shifted predicate, and what their joins share, once."""
    assert_becomes(
        """
        NotPos(V) :- NotOnMap(V)
        ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]NotPos(V)
        ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]NotPos(V)
        ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]Pos(V), Boxminus[4,4]NotPos(V)
        """,
        """
        NotPos(V) :- NotOnMap(V).
        'ShortStop.1'(V) :- diamondminus[1,1] Pos(V).
        'ShortStop.2'(V) :- diamondminus[2,2] NotPos(V).
        'ShortStop.3'(V) :- NotPos(V), 'ShortStop.1'(V).
        ShortStop(V) :- 'ShortStop.3'(V), 'ShortStop.2'(V).
        'ShortStop.4'(V) :- diamondminus[2,2] Pos(V).
        'ShortStop.5'(V) :- diamondminus[3,3] NotPos(V).
        'ShortStop.6'(V) :- 'ShortStop.3'(V), 'ShortStop.4'(V).
        ShortStop(V) :- 'ShortStop.6'(V), 'ShortStop.5'(V).
        'ShortStop.8'(V) :- diamondminus[3,3] Pos(V).
        'ShortStop.9'(V) :- diamondminus[4,4] NotPos(V).
        ShortStop(V) :- 'ShortStop.6'(V), 'ShortStop.8'(V), 'ShortStop.9'(V).
        """,
    )


def test_projection_before_diamond() -> None:
    """Below a diamond, constants are selected and unneeded columns dropped before the operator."""
    assert_becomes(
        """
        p(X) :- diamondminus[0,5] q(X,_,Y,a), r(X).
        """,
        """
        'p.1'(X) :- q(X, _, Y, a).
        'p.2'(X) :- diamondminus[0,5] 'p.1'(X).
        p(X) :- 'p.2'(X), r(X).
        """,
    )


def test_projection_after_box() -> None:
    """Below a box, a wildcard and an unneeded variable are one constant at all times, so they stay as columns."""
    assert_becomes(
        """
        p(X) :- boxminus[0,5] q(X,_), boxminus[0,6] diamondminus[1,2] r(X,Y).
        """,
        """
        'p.1'(X, _1) :- boxminus[0,5] q(X, _1).
        'p.2'(X, Y) :- diamondminus[1,2] r(X, Y).
        'p.3'(X, Y) :- boxminus[0,6] 'p.2'(X, Y).
        p(X) :- 'p.1'(X, _1), 'p.3'(X, Y).
        """,
    )


def test_lone_operator_with_other_head() -> None:
    """A rule with one operator keeps it if the head has the operator's columns, else a rule sets the head right."""
    assert_becomes(
        """
        p(X,Y) :- diamondminus[0,1] q(X,Y).
        r(Y,X) :- diamondminus[0,2] q(X,Y).
        s(X,X,a) :- diamondminus[0,3] q(X,Y).
        """,
        """
        p(X, Y) :- diamondminus[0,1] q(X, Y).
        'r.1'(X, Y) :- diamondminus[0,2] q(X, Y).
        r(Y, X) :- 'r.1'(X, Y).
        's.1'(X) :- q(X, Y).
        's.2'(X) :- diamondminus[0,3] 's.1'(X).
        s(X, X, a) :- 's.2'(X).
        """,
    )


def test_since_with_bound_left_side() -> None:
    """Since is not split where the right side binds the left side's variables."""
    assert_becomes(
        """
        p(X) :- q(X) since[0,5] (r(X,Y), s(Y)).
        """,
        """
        'p.1'(X) :- r(X, Y), s(Y).
        p(X) :- q(X) since[0,5] 'p.1'(X).
        """,
    )


def test_since_with_free_left_side() -> None:
    """A free variable on the left of since makes an alternative in which only the right side holds."""
    assert_becomes(
        """
        p(X) :- (q(X,Y), Y > 20) since[0,5] r(X), s(X).
        """,
        """
        'p.1'(X) :- r(X).
        'p.2'(X, Y) :- q(X, Y), Y > 20.
        'p.3'(X, Y) :- 'p.2'(X, Y) since(0,5] r(X).
        'p.1'(X) :- 'p.3'(X, Y).
        p(X) :- 'p.1'(X), s(X).
        """,
    )


def test_since_with_variable_bound_beside() -> None:
    """Where the free variable is bound beside since, the conjunction is doubled."""
    assert_becomes(
        """
        p(X) :- q(X,Y) since[0,5] r(X), s(Y).
        """,
        """
        p(X) :- r(X), s(Y).
        'p.1'(X, Y) :- q(X, Y) since(0,5] r(X).
        p(X) :- 'p.1'(X, Y), s(Y).
        """,
    )


def test_since_on_integers() -> None:
    """On integers the stretch is empty at the distances 0 and 1."""
    assert_becomes(
        """
        timeline integer. p(X,Y) :- q(X,Y) since[0,5] r(X), s(Y). u(X) :- q(X,Y) until[1,5] r(X).
        """,
        """
        'p.1'(X) :- diamondminus[0,1] r(X).
        p(X, Y) :- 'p.1'(X), s(Y).
        'p.2'(X, Y) :- q(X, Y) since[2,5] r(X).
        p(X, Y) :- 'p.2'(X, Y), s(Y).
        u(X) :- diamondplus[1,1] r(X).
        'u.1'(X, Y) :- q(X, Y) until[2,5] r(X).
        u(X) :- 'u.1'(X, Y).
        """,
    )


def test_since_below_a_diamond() -> None:
    """A diamond passes the alternatives of a since on, where they cannot be one predicate."""
    assert_becomes(
        """
        p(X,Y) :- diamondminus[0,2] (q(X,Y) since[0,1] r(X)), s(Y).
        """,
        """
        'p.1'(X) :- diamondminus[0,2] r(X).
        p(X, Y) :- 'p.1'(X), s(Y).
        'p.2'(X, Y) :- q(X, Y) since(0,1] r(X).
        'p.3'(X, Y) :- diamondminus[0,2] 'p.2'(X, Y).
        p(X, Y) :- 'p.3'(X, Y), s(Y).
        """,
    )


def test_since_below_a_box() -> None:
    """Below a box the conjunction around since becomes one predicate with two rules."""
    assert_becomes(
        """
        p(X) :- boxminus[0,2] (q(X,Y) since[0,1] r(X), s(Y)).
        """,
        """
        'p.1'(X, Y) :- r(X), s(Y).
        'p.2'(X, Y) :- q(X, Y) since(0,1] r(X).
        'p.1'(X, Y) :- 'p.2'(X, Y), s(Y).
        'p.3'(X, Y) :- boxminus[0,2] 'p.1'(X, Y).
        p(X) :- 'p.3'(X, Y).
        """,
    )


def test_negated_left_side() -> None:
    """A negation on the left of since is computed beside the right side's recent past."""
    assert_becomes(
        """
        p(X) :- not q(X) since[0,5] r(X).
        """,
        """
        'p.1'(X) :- diamondminus(0,5] r(X).
        'p.2'(X) :- 'p.1'(X), not q(X).
        p(X) :- 'p.2'(X) since[0,5] r(X).
        """,
    )


def test_chain_of_negations() -> None:
    """Negations become a chain, and a last rule puts the head together."""
    assert_becomes(
        """
        p(X, X, c) :- q(X, Y), not r(Y,_), not diamondminus[0,5] s(X).
        """,
        """
        'p.1'(X) :- diamondminus[0,5] s(X).
        'p.2'(X, Y) :- q(X, Y), not r(Y, _).
        'p.3'(X, Y) :- 'p.2'(X, Y), not 'p.1'(X).
        p(X, X, c) :- 'p.3'(X, Y).
        """,
    )


def test_assignments_before_negation() -> None:
    """The positive part with its comparisons is joined before the first negation."""
    assert_becomes(
        """
        p(X, W) :- q(X, V), W = V + 1, W > 100, not r(W).
        """,
        """
        'p.1'(X, W) :- q(X, V), W = V + 1, W > 100.
        p(X, W) :- 'p.1'(X, W), not r(W).
        """,
    )


def test_negation_alone() -> None:
    """A body of negations alone is taken away from `top`."""
    assert_becomes(
        """
        p :- not q.
        """,
        """
        'p.1' :- top.
        p :- 'p.1', not q.
        """,
    )


def test_negated_comparison() -> None:
    """A negation that cannot bind its variables is joined with the atoms beside it."""
    assert_becomes(
        """
        p(X,Y) :- a(X), b(Y), not (c(X), X > Y).
        """,
        """
        'p.1'(X, Y) :- a(X), b(Y), c(X), X > Y.
        'p.2'(X, Y) :- a(X), b(Y).
        p(X, Y) :- 'p.2'(X, Y), not 'p.1'(X, Y).
        """,
    )


def test_box_over_negation() -> None:
    """`always not` is `not sometime`."""
    assert_becomes(
        """
        p(X) :- a(X), boxminus[0,5] not b(X).
        """,
        """
        'p.1'(X) :- diamondminus[0,5] b(X).
        p(X) :- a(X), not 'p.1'(X).
        """,
    )


def test_heads_with_boxes() -> None:
    """Boxes in heads become diamonds in the opposite direction, outermost first."""
    assert_becomes(
        """
        boxplus[0,3] boxminus[1,2] p(X, a) :- q(X, Y), r(Y).
        """,
        """
        'p.1'(X) :- q(X, Y), r(Y).
        'p.2'(X) :- diamondminus[0,3] 'p.1'(X).
        'p.3'(X) :- diamondplus[1,2] 'p.2'(X).
        p(X, a) :- 'p.3'(X).
        """,
    )


def test_head_and_body_add_up() -> None:
    """A head's boxes and a body's diamond in one direction are one operator; open ends stay open."""
    assert_becomes(
        """
        boxplus[0,1] boxplus[1,2) p(X) :- diamondminus(0,1] q(X).
        """,
        """
        p(X) :- diamondminus(1,4) q(X).
        """,
    )


def test_constraints_get_predicates() -> None:
    """Each constraint is a predicate over what its body binds, shifted in time where its head is."""
    assert_becomes(
        """
        bottom :- on(X), off(X, Y). boxplus[0,1] bottom :- a(X), not b(X).
        """,
        """
        'bottom.1'(X, Y) :- on(X), off(X, Y).
        'bottom.3'(X) :- a(X), not b(X).
        'bottom.2'(X) :- diamondminus[0,1] 'bottom.3'(X).
        bottom :- 'bottom.1'(X, Y).
        bottom :- 'bottom.2'(X).
        """,
    )


def test_windows() -> None:
    """Time windows are diamonds, and boxes that are clipped at the stream's start."""
    assert_becomes(
        """
        p(X) :- always q(X) in [5], sometime (r(X,Y), Y > 3) in [2].
        """,
        """
        'p.1'(X) :- always q(X) in [5].
        'p.2'(X) :- r(X, Y), Y > 3.
        'p.3'(X) :- diamondminus[0,2] 'p.2'(X).
        p(X) :- 'p.1'(X), 'p.3'(X).
        """,
    )


def test_units_and_open_ends_on_integers() -> None:
    """Durations become ticks, and open ends on integers closed ones."""
    assert_becomes(
        """
        timeline integer, unit 1 min. p :- boxminus(0,1h) q, sometime r in [1 d].
        """,
        """
        'p.1' :- boxminus[1,59] q.
        'p.2' :- diamondminus[0,1440] r.
        p :- 'p.1', 'p.2'.
        """,
    )


def test_top_and_bottom() -> None:
    """What always holds is left out, a body that never holds takes its rule away."""
    assert_becomes(
        """
        p(X) :- top since[1,2] q(X), not bottom.
        p(X) :- q(X), boxminus[0,1] bottom.
        r :- boxminus[1,2] top.
        s(X) :- bottom since[0,2] q(X).
        """,
        """
        p(X) :- diamondminus[1,2] q(X).
        r :- top.
        s(X) :- q(X).
        """,
    )


def test_since_top() -> None:
    """`M since[a,b] top` is a box over the shortest stretch, and stays since where there is no shortest one."""
    assert_becomes(
        """
        p(X) :- r(X), q(X) since[2,3] top. s(X) :- r(X), q(X) since(2,3] top. u(X) :- r(X), q(X) since[0,3] top.
        """,
        """
        'p.1'(X) :- boxminus(0,2) q(X).
        p(X) :- r(X), 'p.1'(X).
        's.1' :- top.
        's.2'(X) :- q(X) since(2,3] 's.1'.
        s(X) :- r(X), 's.2'(X).
        u(X) :- r(X).
        """,
    )


def test_what_no_output_needs_goes() -> None:
    """Rules that no output reads are dropped; names that the program uses are not taken."""
    assert_becomes(
        """
        output b. a(X) :- q(X). b(X) :- diamondminus[0,2] diamondplus[0,2] c(X). c(X) :- 'b.1'(X,X).
        """,
        """
        'b.2'(X) :- diamondplus[0,2] c(X).
        b(X) :- diamondminus[0,2] 'b.2'(X).
        c(X) :- 'b.1'(X, X).
        """,
    )


REFUSED = {
    "p(X) :- a(X), diamondminus[0,5] (b(X,Z), not c(Y)), d(Y).": "bound outside of its operator",
    "p(X) :- a(X), diamondminus[0,5] not b(X,_).": "bound outside of its operator",
    "p(X) :- (q(X), X > Y) since[0,5] r(X), s(Y).": "bound outside of its operator",
    "p(X) :- a(X), r since[0,5] (q(X), not b(Y)), s(Y).": "bound outside of its operator",
    "p(X) :- a(X), always not b(X) in [5].": "`always not`",
    "p(X) :- boxminus[0,3] (q(X,Y) since[0,1] r(X)).": "variable `Y` needs one value here",
    "p(X) :- boxminus[0,3] (q(_) since[0,1] r(X)).": "variable `_` needs one value here",
    "p :- " + ", ".join(f"q(A{i}) since[0,1] r, s(A{i})" for i in range(7)) + ".": "more than 64 rules",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_what_no_operator_computes_is_refused(text: str, message: str) -> None:
    """A formula that leans on variables in a way that no law resolves is an error with its place."""
    with pytest.raises(ProgramError) as caught:
        normalise(parse(text, "rules.tide"))
    (finding,) = caught.value.diagnostics
    assert finding.code == "not-supported"
    assert message in finding.message
    assert finding.span.end > finding.span.start
    assert (caught.value.name, caught.value.text) == ("rules.tide", text)


def test_all_refusals_are_reported_at_once() -> None:
    """Each rule that cannot be computed gives its own diagnostic."""
    texts = [text for text, message in REFUSED.items() if "needs one value" in message]
    with pytest.raises(ProgramError) as caught:
        normalise(parse("\n".join(texts)))
    assert len(caught.value.diagnostics) == len(texts)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("p :- diamondminus[0,5 min] q.", "unit-undeclared"),
        ("timeline integer, unit 1 s. p :- diamondminus[0,5 ms] q.", "not-whole"),
        ("timeline integer. p :- diamondminus(0,1) q.", "empty-interval"),
        ("timeline integer. p :- (q(X), r(X)) in [#5].", "not-supported"),
    ],
)
def test_unchecked_programs_are_refused(text: str, code: str) -> None:
    """The passes refuse times and windows that the checks should have refused before."""
    with pytest.raises(ProgramError) as caught:
        normalise(parse(text))
    assert [finding.code for finding in caught.value.diagnostics] == [code]


def test_parts_of_a_join_are_not_multiplied() -> None:
    """What a part says beyond the head's variables is no matter to the others; what a comparison ties is one part."""
    assert_becomes(
        "p(X) :- a(X), b(Y), c(Y, Z), d(Z)",
        """
        'p.1' :- b(Y), c(Y, Z), d(Z).
        p(X) :- a(X), 'p.1'.
        """,
    )
    assert_becomes(
        "p(X) :- b(X, Y), c(Y), d(X, Z), e(Z)",
        """
        'p.1'(X) :- b(X, Y), c(Y).
        'p.2'(X) :- d(X, Z), e(Z).
        p(X) :- 'p.1'(X), 'p.2'(X).
        """,
    )
    for rule in (
        "p(X) :- a(X), b(Y), c(Z), Y < Z, Z < X.",
        "p(X) :- a(X), b(X, Y), c(Y).",
        "p(X, Y) :- a(X), b(Y), c(Y).",
        "p(X) :- a(X), b(Y), c(Z).",
        "p :- on, b(Y), c(Y).",
    ):
        assert_becomes(rule, rule)
