"""Which questions have an end, and which are T-stratified: the verdicts, what is shown of them, and that they are right."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog import ProgramError
from tidelog.plans.asking.time_edges import edges_of
from tidelog.plans.asking.time_strata import time_strata
from tidelog.plans.diagnostics.errors import Diagnostic
from tidelog.plans.diagnostics.source import render
from tidelog.plans.language.parser import parse
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree.syntax import Rule

INPUTS = "timeline integer. input r(x). input e(x, y). "


def question(rules: str, query: str = "s(X)@T", depth: int | None = None) -> Question:
    (found,) = tidelog.compile(INPUTS + rules, queries=[query], outputs=False, depth=depth).questions
    return found


def refusal(rules: str, query: str = "s(X)@T", depth: int | None = None) -> Diagnostic:
    """The only reason why something cannot be asked."""
    with pytest.raises(ProgramError) as caught:
        question(rules, query, depth)
    (found,) = caught.value.diagnostics
    return found


# --- termination --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    [
        "s(X) :- diamondminus[0,3] t(X). t(X) :- r(X).",
        's(X)@T :- r(X)@T1, e(X, "n/a")@T2, T = 0.',  # several times, as in Example 9
        "s(X) :- t(X). t(X) :- s(X). t(X) :- r(X).",  # a round that stays at one time
        "s(X)@T+1 :- t(X)@T. t(X)@T :- s(X)@T+1. t(X) :- r(X).",
        "s(X) :- boxplus[2] t(X). boxplus[2] t(X) :- s(X). t(X) :- r(X).",
        "s(X) :- r(X), s(Y), Y = X. s(X) :- r(X).",
        "s(X) :- s(a), r(X).",
        "s(X)@T :- s(X)@S, S = T, r(X)@T.",
        "n(a, b). n(b, c). s(X) :- n(X, Y), s(Y). s(X) :- r(X).",  # facts bind what is new
        "s(X) :- r(X), not t(X). t(X) :- r(X), not s(X)@T-1 in [0], r(X)@T.",  # `not` begins a query of its own
    ],
)
def test_what_has_an_end(rules: str) -> None:
    """Without recursion, or where each round comes back to its time and brings in no new variable."""
    try:
        question(rules)
    except ProgramError as error:
        assert "endless-ask" not in {item.code for item in error.diagnostics}


@pytest.mark.parametrize(
    ("rules", "cycle"),
    [
        ("s(X)@T+1 :- s(X)@T. s(X) :- r(X).", "`s(X)@T+1 ← s(X)@T`"),  # Example 7
        ("s(X) :- diamondminus[0,3] s(X). s(X) :- r(X).", "`s(X) ← diamondminus[0,3] s(X)`"),
        ("boxplus[0,1] s(X) :- s(X). s(X) :- r(X).", "`boxplus[0,1] s(X) ← s(X)`"),
        ("s(X)@T :- t(X)@T. t(X)@T :- r(X)@T, s(X)@T-2.", "`s(X)@T ← t(X)@T, t(X)@T ← s(X)@T-2`"),
        ("s(X)@T :- s(X)@S, r(X)@T.", "`s(X)@T ← s(X)@S`"),
        ("s(X) :- e(X, Y), s(Y). s(X) :- r(X).", "`s(X) ← s(Y)`"),
        ("s(X) :- s(_), r(X).", "`s(X) ← s(_)`"),
        ("s(X) :- s(Y), X = Y + 1. s(X) :- r(X).", "`s(X) ← s(Y)`"),
        (
            "s(X) :- t(X). t(X) :- s(X). t(X)@T+1 :- u(X)@T. u(X) :- s(X). s(X) :- r(X).",
            "`s(X) ← t(X), t(X)@T+1 ← u(X)@T, u(X) ← s(X)`",
        ),
    ],
)
def test_what_has_no_end(rules: str, cycle: str) -> None:
    """It is refused with the round, the place in the rule and what to do; with a depth it is not."""
    found = refusal(rules)
    assert found.code == "endless-ask"
    assert found.message.endswith(cycle)
    assert "--depth" in found.help
    assert question(rules, depth=3).depth == 3


def test_an_endless_question_is_shown_with_its_rule() -> None:
    """The rule's literal is underlined, and where it is asked."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile("timeline integer.\nask s(X)@T.\ninput r(x).\noutput o.\no(X) :- r(X).\ns(X)@T+1 :- s(X)@T.\n")
    assert render(caught.value) == (
        "error[endless-ask]: unfolding `s(X)@T` has no end, since `s` needs itself at ever other times: "
        "`s(X)@T+1 ← s(X)@T`\n"
        " --> <program>:6:13\n"
        "  |\n"
        "2 | ask s(X)@T.\n"
        "  |     ------ asked here\n"
        "...\n"
        "6 | s(X)@T+1 :- s(X)@T.\n"
        "  |             ^^^^^^ comes round here\n"
        "  = help: follow the recursion for some rounds alone, such as `tidelog ask --depth 5`, or bound it in the rules\n"
    )


def test_an_endless_question_of_the_command_line_is_shown_with_its_rule() -> None:
    """The query stands in no line of the program, so only the rule is underlined."""
    text = "timeline integer.\ninput r(x).\ns(X) :- r(X).\ns(X)@T+1 :- s(X)@T.\n"
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(text, queries=["s(X)@T"])
    shown = render(caught.value)
    assert " --> <program>:4:13\n" in shown
    assert "asked here" not in shown


def test_one_round_is_told_once() -> None:
    """However many questions need it; and one that no question needs is not told."""
    rules = INPUTS + "s(X)@T+1 :- s(X)@T. s(X) :- r(X). t(X) :- s(X). u(X) :- r(X). output u."
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(rules, queries=["s(X)@T", "t(X)@T"])
    assert [item.code for item in caught.value.diagnostics] == ["endless-ask"]
    assert len(tidelog.compile(rules, queries=["u(X)@T"]).questions) == 1


# --- T-stratification ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    [
        "s(X)@T :- r(X)@T, not s(X)@T-1.",
        "s(X) :- r(X), not boxminus[1,3] s(X).",
        "s(X) :- r(X), not diamondminus[2,3] t(X). t(X) :- r(X), s(X).",
        "boxplus[1,4] s(X) :- r(X), not s(X).",
        "s(X)@T :- r(X)@T, r(X)@S, S < T, not s(X)@S.",
        "s(X)@T :- r(X)@T, not t(X)@T-3. t(X)@T :- r(X)@T, s(X)@T+2.",
        "s(X) :- r(X), not t(X). t(X) :- r(X), not u(X). u(X) :- e(X, Y).",
        "s(X) :- r(X), not t(X) since[2,3] r(X). t(X)@T :- s(X)@T-1.",
    ],
)
def test_t_stratified(rules: str) -> None:
    """Where every round through a negation leads strictly back in time, strata are told that order it."""
    assert is_ordered(question(rules, depth=2).rules)


@pytest.mark.parametrize(
    ("rules", "cycle"),
    [
        ("s(X) :- r(X), not s(X).", "`s(X) ← not s(X)`"),
        ("s(X)@T :- r(X)@T, not s(X)@T+1.", "`s(X)@T ← not s(X)@T+1`"),
        ("s(X) :- r(X), not diamondminus[0,3] s(X).", "`s(X) ← not diamondminus[0,3] s(X)`"),
        ("s(X)@T :- r(X)@T, not s(X)@S, r(X)@S.", "`s(X)@T ← not s(X)@S`"),
        ("s(X)@T :- r(X)@T, r(X)@S, S <= T, not s(X)@S.", "`s(X)@T ← not s(X)@S`"),
        ("s(X)@T :- r(X)@T, not t(X)@T-1. t(X)@T :- s(X)@T+1.", "`s(X)@T ← not t(X)@T-1, t(X)@T ← s(X)@T+1`"),
        # neither round comes to its own time, both together do
        ("s(X)@T :- r(X)@T, not s(X)@T-2. s(X)@T :- s(X)@T+1.", "`s(X)@T ← s(X)@T+1, s(X)@T ← not s(X)@T-2`"),
        ("boxminus[0,4] s(X) :- r(X), not s(X)@T-1 in [3], r(X)@T.", "`boxminus[0,4] s(X) ← not s(X)@T-1 in [3]`"),
    ],
)
def test_not_t_stratified(rules: str, cycle: str) -> None:
    """It is refused with the round, however deep a recursion is followed."""
    found = refusal(rules, depth=3)
    assert (found.code, found.label) == ("not-t-stratified", "negated in its own recursion")
    assert found.message.endswith(cycle)
    assert found.message.startswith("`s` depends on its own negation")


def test_strata_are_told_by_predicate() -> None:
    """A number where time plays no part; within a recursion through negation, a step that grows with time."""
    rules = question("s(X)@T :- r(X)@T, not t(X)@T-1. t(X) :- s(X), not u(X). u(X) :- r(X).", depth=2).rules
    assert {str(item) for item in time_strata(rules)} == {"r: 0", "u: 0", "s@T: 1, step 3T", "t@T: 1, step 3T"}


def is_ordered(rules: tuple[Rule, ...]) -> bool:
    """Whether the strata put what is negated below, and what is read not above, at all times nearby."""
    strata = {item.predicate: item for item in time_strata(rules)}
    for edge in edges_of(rules):
        for time in range(20, 24):
            last = time + int(min(edge.high, 30))
            for at in range(max(int(max(edge.low, -30)) + time, last - 40), last + 1):
                above, below = strata[edge.head.predicate].at(time), strata[edge.atom.predicate].at(at)
                if above < below or (edge.negated and above == below):
                    return False
    return True


Edge = tuple[str, str, int, bool]
"""A rule: the predicate of its head, what it reads, how far ahead of the head that lies, and whether it is negated."""
NAMES = st.sampled_from("pqs")
EDGES = st.lists(st.tuples(NAMES, NAMES, st.integers(-2, 2), st.booleans()), min_size=1, max_size=5)


def depends_on_itself(edges: list[Edge]) -> bool:
    """Whether a predicate depends on its own negation at the same time, or later, by up to so many rules that all shows.

    By Definition 6 the first is what T-stratification forbids; the second would have no lowest stratum.
    """
    reached: dict[tuple[str, str], set[tuple[int, bool]]] = {pair: set() for pair in product("pqs", repeat=2)}
    for head, atom, shift, negated in edges:
        reached[head, atom].add((shift, negated))
    for _ in range(14):
        for (head, atom), found in list(reached.items()):
            for _, read, shift, negated in (edge for edge in edges if edge[0] == atom):
                new = {(far + shift, sign or negated) for far, sign in found}
                reached[head, read] |= {(far, sign) for far, sign in new if abs(far) <= 40}
    return any(negated and shift >= 0 for name in "pqs" for shift, negated in reached[name, name])


@pytest.mark.slow
@drawn(100)
@given(EDGES)
def test_the_verdict_is_that_of_the_definition(edges: list[Edge]) -> None:
    """T-stratified if and only if nothing depends on its own negation then or later; and then the strata are in order."""
    lines = [f"{head}(X)@T :- r(X)@T, {'not ' * negated}{atom}(X)@T{shift:+}." for head, atom, shift, negated in edges]
    text = INPUTS + "p(X) :- r(X). q(X) :- r(X). s(X) :- r(X). asked(X) :- p(X), q(X), s(X). " + " ".join(lines)
    rules = tuple(item for item in parse(text).statements if isinstance(item, Rule))
    try:
        tidelog.compile(text, queries=["asked(X)@T"], outputs=False, depth=1)
    except ProgramError as error:
        assert {item.code for item in error.diagnostics} == {"not-t-stratified"}
        assert depends_on_itself(edges)
    else:
        assert not depends_on_itself(edges)
        assert is_ordered(rules)
