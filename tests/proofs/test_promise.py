"""What is absent rests on what the input has promised, which the verdict names; nothing is absent that might be derived."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from why.explaining import why

from proofs.checker import COMMAND, Checker, checker

NOT_FOR_A_WHILE = "timeline integer. b(X) :- a(X), not diamondminus[0,2] c(X)."


@pytest.fixture(scope="module")
def proved() -> Iterator[Checker]:
    """The proved checker."""
    with checker("--json") as process:
        yield process


def certificate(program: str, facts: Sequence[str], fact: str) -> dict[str, Any]:
    """What ours says of a fact."""
    found = json.loads(why(program, facts, fact).json())
    assert isinstance(found, dict)
    return found


def test_the_verdict_names_the_promise(proved: Checker) -> None:
    """Up to when the input has to be complete: as far as something is absent, for ever where a rule below it looks ahead."""
    facts = ["a(x)@[1,9]", "c(x)@3"]
    proof = certificate(NOT_FOR_A_WHILE, facts, "b(x)@[6,7]")
    assert proved.verdict(NOT_FOR_A_WHILE, facts, proof) == {"verdict": "accepted", "complete_until": "7"}
    positive = "timeline integer. b(X) :- diamondminus[0,2] a(X)."
    assert proved.verdict(positive, facts, certificate(positive, facts, "b(x)@4")) == {"verdict": "accepted"}
    ahead = "b(X) :- a(X), not diamondplus[0,2] c(X)."
    told = proved.verdict(ahead, facts, certificate(ahead, facts, "b(x)@5"))
    assert told == {"verdict": "accepted", "complete_until": "7"}
    derived = "b(X) :- a(X), not d(X). d(X) :- diamondplus[0,2] c(X)."
    told = proved.verdict(derived, facts, certificate(derived, facts, "b(x)@5"))
    assert told == {"verdict": "accepted", "complete_until": "inf"}


@pytest.mark.parametrize("where", ["request", "certificate"])
def test_nothing_is_absent_behind_the_promise(proved: Checker, where: str) -> None:
    """Where the input is complete up to 6 only, a fact may still come that makes it wrong at 7; not at 6."""
    facts = ["a(x)@[1,9]", "c(x)@3"]

    def told(fact: str) -> str:
        proof = certificate(NOT_FOR_A_WHILE, facts, fact)
        if where == "certificate":
            return str(proved.verdict(NOT_FOR_A_WHILE, facts, {**proof, "complete_until": "6"})["verdict"])
        return str(proved.verdict(NOT_FOR_A_WHILE, facts, proof, complete_until="6")["verdict"])

    assert told("b(x)@6") == "accepted"
    assert told("b(x)@[6,7]") == "not covered"
    assert told("b(x)@4") == "accepted"  # it does not hold
    assert told("b(x)@8") == "not covered"


def test_the_verdict_says_where_the_promise_ends(proved: Checker) -> None:
    """A promise that ends too early is told so: up to when it is, and up to when it would have to be."""
    facts = ["a(x)@[1,9]", "c(x)@3"]
    told = proved.verdict(NOT_FOR_A_WHILE, facts, certificate(NOT_FOR_A_WHILE, facts, "b(x)@[6,7]"), complete_until="6")
    needed = "an absence that is known only of an input that is complete up to 7: this one promises to be so up to 6"
    assert told == {"verdict": "not covered", "met": needed}
    told = proved.verdict(NOT_FOR_A_WHILE, facts, certificate(NOT_FOR_A_WHILE, facts, "b(x)@8"), complete_until="6")
    assert told == {"verdict": "not covered", "met": needed.replace("up to 7", "up to 8")}


def test_nothing_is_absent_that_a_rule_may_derive_which_is_not_covered(proved: Checker) -> None:
    """A rule with a tuple window derives `c`, too: then `c` is not absent where the other rules do not derive it."""
    program = "timeline integer. b :- a, not c. c :- d. c :- always e(x)@T in [#2], e(x)@T."
    for facts in (["a@5", "e(x)@4", "e(x)@5"], ["a@5", "e(x)@9"]):
        told = proved.verdict(program, facts, {"holds": False, "fact": "b@5"})
        assert told == {"verdict": "not covered", "met": "a tuple window (`in [#n]`), on which `c` rests"}, told
    proof = {"fact": "b@5", "by": "b :- a, not c.", "premises": [{"fact": "a@5", "by": "input", "premises": []}]}
    proof["premises"] = [*proof["premises"], {"absent": "c@5"}]
    told = proved.verdict(program, ["a@5"], {"holds": True, "fact": "b@5", "proof": proof})
    assert told["verdict"] == "not covered"


def test_rules_that_are_not_covered_do_not_matter_elsewhere(proved: Checker) -> None:
    """A program may hold what the checker does not know, as long as the certificate does not rest on it."""
    program = "timeline integer. calendar k = mon-fri. b(X) :- a(X), not c(X). n(N) :- N = count() over a(X) per day."
    facts = ["a(x)@5"]
    plain = "timeline integer. b(X) :- a(X), not c(X)."
    assert proved.verdict(program, facts, certificate(plain, facts, "b(x)@5"))["verdict"] == "accepted"


def test_a_rule_that_denies_itself_proves_nothing(proved: Checker) -> None:
    """There is no stable model of `p :- not p`: neither `p` nor its absence is taken."""
    program = "timeline integer. p :- top, not p. q :- a, not p."
    for fact in ("p@3", "q@3"):
        told = proved.verdict(program, ["a@3"], {"holds": False, "fact": fact})
        assert told["verdict"] in ("not covered", "refused"), told
    proof = {"fact": "p@3", "by": "p :- top, not p.", "premises": [{"absent": "p@3"}]}
    assert proved.verdict(program, [], {"holds": True, "fact": "p@3", "proof": proof})["verdict"] != "accepted"


def test_background_facts_hold_at_all_times(proved: Checker) -> None:
    """They come with the request; a certificate has to call them by their kind."""
    program = 'timeline integer. background k from "k.csv". b(X) :- a(X), k(X).'
    premises = [{"fact": f"{name}(x)@5", "by": kind, "premises": []} for name, kind in (("a", "input"), ("k", "background"))]
    proof = {"fact": "b(x)@5", "by": "b(X) :- a(X), k(X).", "premises": premises}
    held = {"holds": True, "fact": "b(x)@5", "proof": proof}
    assert proved.verdict(program, ["a(x)@5"], held, background=["k(x)"])["verdict"] == "accepted"
    assert proved.verdict(program, ["a(x)@5", "k(x)@5"], held)["verdict"] == "refused"
    told = proved.verdict(program, ["a(x)"], held, background=["k(x)"])
    assert told == {"verdict": "refused", "reason": "the fact `a(x)` has no time"}


def test_the_command(tmp_path: Path) -> None:
    """Files in, a line for each certificate out; the exit code is that of the worst."""
    facts = ["a(x)@[1,9]", "c(x)@3"]
    proof = json.dumps(certificate(NOT_FOR_A_WHILE, facts, "b(x)@[6,7]"))
    (tmp_path / "p.tide").write_text(NOT_FOR_A_WHILE)
    (tmp_path / "f.txt").write_text("\n".join(facts) + "\n")
    paths = [str(tmp_path / name) for name in ("p.tide", "f.txt", "c.json")]

    def run(text: str, *options: str) -> tuple[int, str]:
        (tmp_path / "c.json").write_text(text)
        done = subprocess.run([COMMAND, *options, *paths], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert run(proof) == (0, "accepted, if the facts are all there are up to 7\n")
    code, told = run(f"{proof}\n{proof.replace('[6,7]', '[4,7]')}\n")
    assert (code, told.splitlines()[1].split(":")[0]) == (1, "refused")
    code, told = run(proof, "--complete-until", "6")
    assert (code, told.split(":")[0]) == (3, "not covered")
    assert run("") == (2, "")
