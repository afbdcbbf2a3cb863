"""The table of malformed programs: each entry's example earns its hint."""

import pytest

from tidelog.plans.errors import ProgramError
from tidelog.plans.hints import HINTS, Hint
from tidelog.plans.parser import parse


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: hint.example)
def test_each_example_earns_its_hint(hint: Hint):
    """The parser stops at the example's mistake, and the entry's help is what it says."""
    with pytest.raises(ProgramError) as caught:
        parse(hint.example)
    assert caught.value.diagnostics[0].help == hint.help


def test_a_plain_mistake_earns_no_hint():
    """Where nothing is known of what was meant, nothing is guessed."""
    with pytest.raises(ProgramError) as caught:
        parse("p(X) :- q(X, not).\nr(,).")
    assert [item.help for item in caught.value.diagnostics] == [""]
