"""The table of malformed programs: each entry's example earns its hint."""

import re

import pytest

from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.hints import HINTS, Hint
from tidelog.plans.language.parser import parse


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: hint.example)
def test_each_example_earns_its_hint(hint: Hint):
    """The parser stops at the example's mistake, and the entry's help is what it says."""
    with pytest.raises(ProgramError) as caught:
        parse(hint.example)
    pattern = re.sub(r"\\{\w+\\}", ".*", re.escape(hint.help))  # words of the program stand for `{name}`
    assert re.fullmatch(pattern, caught.value.diagnostics[0].help)


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("p(S) :- q(S, V), 3 < V < 5.", "write `3 < V, V < 5`"),
        ("p(S) :- diamondminus 5 hot(S).", "an interval stands in brackets: `diamondminus[0,5]`"),
        ("p(S) :- q(S) since 5 min hot(S).", "an interval stands in brackets: `since[0,5min]`"),
    ],
)
def test_hints_are_made_of_the_programs_words(text: str, help: str):
    """What is to be written is shown with what stands there."""
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert caught.value.diagnostics[0].help == help


def test_a_plain_mistake_earns_no_hint():
    """Where nothing is known of what was meant, nothing is guessed."""
    with pytest.raises(ProgramError) as caught:
        parse("p(X) :- q(X, not).\nr(,).")
    assert [item.help for item in caught.value.diagnostics] == [""]
