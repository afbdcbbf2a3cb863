"""Where a statement ends: full stops, line ends, and what goes on."""

import pytest

from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program


def lines(text: str) -> list[str]:
    return format_program(parse(text)).splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- a(X),\n b(X)",
        "p(X) :-\n a(X), b(X)",
        "p(X)\n :- a(X), b(X)",
        "p(X) :- a(X)\n , b(X)",
        "p(\nX\n) :- a(X), b(\nX)",
        "p(X) :- a(X), % a comment\n % another\n\n b(X)",
        "p(X) :- a(X)\n\n  % a comment, and then\n , b(X).",
        "p(X) :- a(X), b(X)\r\n",
    ],
)
def test_a_rule_over_several_lines(text):
    """Brackets, `,` and `:-` carry a statement over a line end, from either side of it."""
    assert lines(text) == ["p(X) :- a(X), b(X)."]


@pytest.mark.parametrize(
    "text",
    [
        "p :- boxminus[0,2]\n q",
        "p :- boxminus\n [0,2] q",
        "p :- boxminus[0,\n2] q",
        "p :- ALWAYS(-2,0]\n q",
        "p :- not\n q",
        "p :- q since\n r",
        "p :- q since[0,1]\n r",
        "p :- q\n since[0,1] r",
        "p :- q in\n [5]",
        "p(X) :- q(X), X >\n 3",
        "p(X) :- q(Y), X = Y +\n 3",
        "p(X) :- q(Y), X = Y mod\n 3",
        "output\n p",
    ],
)
def test_an_unfinished_line_goes_on(text):
    """After an operator, its interval, an infix word or a sign, the statement goes on in the next line."""
    assert len(lines(text)) == 1


def test_one_rule_a_line_without_full_stops():
    """Programs as published for MeTeoR need no full stop."""
    assert lines("p(X) :- q(X)\nr(X) :- boxminus[1,1]p(X)\ns(a)@1\ns") == [
        "p(X) :- q(X).",
        "r(X) :- boxminus[1,1] p(X).",
        "s(a)@1.",
        "s.",
    ]


def test_several_statements_on_a_line():
    """Full stops end statements anywhere; a decimal point does not."""
    assert lines("p(a)@1.5. q(2.5). r :- p(X), X > 1.5.") == ["p(a)@3/2.", "q(2.5).", "r :- p(X), X > 1.5."]


def test_empty_programs():
    """Spaces, comments and lone full stops hold no statement."""
    assert lines("") == lines(" \n% nothing\n . .\n\ufeff") == []


def test_a_full_stop_inside_brackets_ends_the_statement():
    """One bracket that is not closed does not swallow the rest."""
    with pytest.raises(ProgramError) as caught:
        parse("p(X) :- q(X. r(X) :- s(X). t(X :- q.")
    assert len(caught.value.diagnostics) == 2


def test_an_unclosed_line_without_full_stop_costs_itself_alone():
    """A second `:-` shows that the statement before it was never closed."""
    with pytest.raises(ProgramError) as caught:
        parse("p(X) :- q(X\nr(X) :- s(X),\nt(X) :- u(X)\nv(X) :- w(X)")
    assert [item.span.start for item in caught.value.diagnostics] == [11, 25]


def test_directive_words_are_directives_before_a_name_alone():
    """`output alarm` is a directive, `output(a)` and `output` are facts."""
    assert lines("output alarm\noutput(a)\noutput.\ninput :- ask.") == [
        "output alarm.",
        "output(a).",
        "output.",
        "input :- ask.",
    ]
