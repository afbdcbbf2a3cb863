"""Every operator, with every bracket, is explained, and what is said is taken by the verifier."""

from __future__ import annotations

import json

import pytest

from tidelog.runtime.why.explain import Reason
from why.corpus import CASES
from why.explaining import refusal, verifier, why


@pytest.mark.parametrize("name", CASES)
def test_an_answer_is_explained(name: str) -> None:
    """The whole maximal range of an answer has a certificate that holds."""
    case = CASES[name]
    reason = why(case.program, case.facts, case.fact)
    assert isinstance(reason, Reason), reason.text()
    assert refusal(verifier(case.program, case.facts), json.loads(reason.json())) is None, reason.text()
    assert reason.text().startswith(case.fact)


@pytest.mark.parametrize("name", CASES)
def test_each_premise_is_needed(name: str) -> None:
    """Not one of the premises can be left away: a proof rests on what it needs, and on nothing else."""
    case = CASES[name]
    reason = why(case.program, case.facts, case.fact)
    checker = verifier(case.program, case.facts)
    proof = json.loads(reason.json())["proof"]
    for at in range(len(proof["premises"])):
        less = {**proof, "premises": [*proof["premises"][:at], *proof["premises"][at + 1 :]]}
        assert refusal(checker, {"holds": True, "fact": case.fact, "proof": less}) is not None, proof["premises"][at]
