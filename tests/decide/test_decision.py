"""What a worker tells its parent of a decision."""

from __future__ import annotations

import pytest

from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import MethodError
from tidelog.runtime.batch.decisions.decision import Decision, heard, told, undecided
from tidelog.runtime.emission.violations import Violation


@pytest.mark.parametrize(
    "decision",
    [
        Decision("true"),
        Decision("inconsistent"),
        Decision("inconsistent", Violation("bottom :- p(X).", ("p(a)", 'q("é\n")'), "(0,1)", 1, 1)),
        Decision("inconsistent", Violation("bottom :- top.", (), "(-inf,inf)", NEG, POS)),
    ],
)
def test_a_decision_comes_over_as_it_was(decision: Decision) -> None:
    """The violation too."""
    assert heard(told(decision)) == decision


@pytest.mark.parametrize(
    ("decision", "reason"), [(undecided("too large"), "too large"), (None, "it had not come to an end")]
)
def test_no_decision_is_a_failure(decision: Decision | None, reason: str) -> None:
    """So that it is left to the other method."""
    with pytest.raises(MethodError, match=reason):
        told(decision)
