"""What goes on for ever is found out: by its period, by extension to infinity, and before it is denied."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from batch.materialising import STRATEGIES, loaded, records, shown
from tidelog.plans.data.facts import format_record
from tidelog.plans.data.repeating import Repeating
from tidelog.plans.data.timeline import Timeline, format_time
from tidelog.plans.diagnostics.errors import EndlessError, MethodError
from tidelog.runtime.batch import materialisation, sight
from tidelog.runtime.batch.folding import fold
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.batch.repetition import Repetition, find_repetition

FOREVER = "% and every {} after it, for ever"


def saturated(program: str, facts: Sequence[str]) -> list[str]:
    """All that holds, as `materialise` prints it; all strategies agree on it."""
    found = []
    for strategy in STRATEGIES:
        done = loaded(program, facts, strategy)
        done.run()
        assert done.violation() is None
        found.append(lines(done))
    assert found[0] == found[1] == found[2]
    return found[0]


def lines(done: Materialisation) -> list[str]:
    return sorted([*shown(done), *(_repeating(fact, done.plan.timeline) for fact in done.repeating())])


def _repeating(fact: Repeating, timeline: Timeline) -> str:
    """A fact with how it goes on."""
    way = "after" if fact.period > 0 else "before"
    period = format_time(timeline.decode_point(abs(fact.period)))
    return f"{format_record((fact.predicate, fact.row, fact.lo, fact.hi), timeline)} % and every {period} {way} it, for ever"


def test_components_have_periods_of_their_own() -> None:
    """What joins two of them repeats when both do."""
    found = saturated("boxplus[2,2] p :- p. boxplus[3,3] q :- q. r :- p, q.", ["p@0", "q@1"])
    assert found == [f"p@0 {FOREVER.format(2)}", f"q@1 {FOREVER.format(3)}", f"r@4 {FOREVER.format(6)}"]


def test_both_sides() -> None:
    """To the left and to the right, told apart."""
    found = saturated("boxplus[1,1] at :- at. boxminus[2,2] at :- at.", ["at@[0,1/2)"])
    assert found == ["at@[0,1/2) % and every 1 before it, for ever", f"at@[1,3/2) {FOREVER.format(1)}"]


def test_what_fills_a_period_holds_for_ever() -> None:
    """It is a fact to infinity, which boxes without an end can see: also of what is no predicate of the text."""
    program = """
        boxplus[0,1] f :- f. full :- boxplus[0,inf) f. early :- boxplus[2,inf) f.
        boxplus[3,3] p :- p. near :- boxplus[0,inf) diamondminus[0,5] p.
    """
    found = saturated(program, ["f@0", "p@1"])
    assert found == ["early@[-2,inf)", "f@[0,inf)", "full@[0,inf)", "near@[1,inf)", f"p@1 {FOREVER.format(3)}"]


def test_a_box_without_an_end_is_known_before_it_is_denied() -> None:
    """That something holds for ever is found out for what negation asks for, at each depth, before it is answered."""
    program = """
        boxplus[3,3] p :- p.
        no :- a, not boxplus[0,inf) diamondminus[0,5] p.
        yes :- a, not no, not diamondplus[0,inf) (a, not boxplus[0,inf) diamondminus[0,5] p).
    """
    found = saturated(program, ["p@0", "a@[-4,9]"])
    assert found == ["a@[-4,9]", "no@[-4,0)", f"p@0 {FOREVER.format(3)}", "yes@[0,9]"]


def test_what_repeats_may_be_negated() -> None:
    """The stratum above repeats as well; where data end, it does not from the start."""
    found = saturated("boxplus[2,2] p :- p. q :- a, not p. r :- b, not p.", ["p@0", "a@[0,inf)", "b@[0,3]"])
    assert found == [
        "a@[0,inf)",
        "b@[0,3]",
        f"p@0 {FOREVER.format(2)}",
        f"q@(0,2) {FOREVER.format(2)}",
        "r@(0,2)",
        "r@(2,3]",
    ]


@pytest.mark.parametrize(
    ("program", "facts", "expected"),
    [
        (  # what lasts for ever is no range that repeats
            "timeline integer. boxminus[2,2] p :- q. boxminus[2,2] q :- q.",
            ["q@[5,6]"],
            ["p@(-inf,4]", "q@(-inf,6]"],
        ),
        (  # the first range behind the data is one that repeats
            "p :- boxplus[3,3] p, boxplus[2,2] p.",
            ["p@[1,3]"],
            ["p@-2 % and every 1 before it, for ever", "p@[-1,0]", "p@[1,3]"],
        ),
        (  # extending one predicate does not complete the others
            "timeline integer. boxplus[1,1] p(X) :- p(X). boxplus[0,1] n :- n.",
            ["n@0", "p(a)@0", "p(b)@[0,2]"],
            ["n@[0,inf)", "p(a)@[0,inf)", "p(b)@[0,inf)"],
        ),
        (  # what holds for ever has no period
            "boxplus[0,1] p :- p since[0,2] p. n :- m(a), not p. boxplus[3,3] m(a) :- p. m(a) :- m(a).",
            ["m(a)@0", "p@0"],
            ["m(a)@0", "m(a)@[3,inf)", "p@[0,inf)"],
        ),
        ("boxplus[0,1] p :- p. boxplus[5,5] q :- q. u :- p until[2,inf) q.", ["p@0", "q@5"], None),
    ],
)
def test_regressions_of_saturation(program: str, facts: list[str], expected: list[str] | None) -> None:
    """Cases in which a model was once told wrongly."""
    expected = expected or ["p@[0,inf)", f"q@5 {FOREVER.format(5)}", "u@[0,inf)"]
    assert saturated(program, facts) == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("program", "facts"),
    [
        (
            """boxplus[3,3] q :- r since[0,inf) p. q :- r. boxplus(0,2) r :- diamondminus[1,2) p.
            q :- diamondplus(1,inf) p. boxminus(0,1] p :- boxminus[0,0] r. r :- diamondminus[3,3] p.
            bottom :- boxplus[0,inf) q.""",
            ["r@[1,2)", "p@1", "q@7"],
        ),
        (
            """timeline integer. boxminus[2,2] r :- r. boxplus[0,1] r :- boxminus[0,1] r.
            boxminus(1,inf) q :- boxminus[1,inf) r. r :- p. q :- q since[0,inf) r.
            bottom :- r, boxminus(1,inf) q, q.""",
            ["r@(1,3]", "p@1"],
        ),
        ("boxplus[2,2] p :- p. boxplus[3,3] q :- q. bottom :- p, q, boxminus[12,12] (p, q).", ["p@0", "q@1"]),
    ],
)
def test_constraints_are_violated_far_away(program: str, facts: list[str], strategy: str) -> None:
    """A violation at infinity, or where periods meet, is found."""
    done = loaded(program, facts, next(name for name in STRATEGIES if name == strategy))
    done.run()
    assert done.violation() is not None


def test_facts_far_away_are_decided() -> None:
    """`holds` and `between` answer about any time."""
    done = loaded("boxplus[7,7] p :- p. boxminus[2,2] q :- q.", ["p@[1,2)", "q@0"])
    done.run()
    record = done.plan.record
    assert done.holds(record("p", interval="[700000001,700000002)"))
    assert not done.holds(record("p", interval="[700000001,700000002]"))
    assert not done.holds(record("p", interval="[1,inf)"))
    assert done.holds(record("q", time=-1000000))
    assert not done.holds(record("q", time=-1000001))
    point = done.plan.timeline.encode_point
    found = [(name, row, lo, hi) for name, row, lo, hi in done.between(point(70), point(73))]
    assert found == [("p", (), point(71), point(72) - 1)]


@pytest.mark.parametrize(
    ("program", "facts", "far"),
    [
        (
            "boxplus[5,5] q :- q. boxminus[2,2] g :- g. y :- g, not diamondminus[0,inf) q.",
            ["q@0", "g@1"],
            {"y@-10001": True, "y@-10000": False, "y@1": False},
        ),
        (
            """boxplus[3,3] g :- g. boxplus[101,101] r :- r. boxminus[1,1] q :- q.
            y :- g, not diamondplus[0,inf) q. z :- r, not q.""",
            ["g@1", "r@0", "q@4"],
            {"y@4": False, "y@7": True, "y@30001": True, "y@30002": False},
        ),
        (
            "boxplus[5,5] q :- q. boxminus[3,3] r :- r. y :- g, not q. z :- r, not u.",
            ["q@0", "r@0", "g@(-inf,1]"],
            {"y@(-inf,0)": True, "y@(0,1]": True, "z@-9999": True},
        ),
    ],
)
def test_what_repeats_at_one_side_is_whole_at_the_other(program: str, facts: list[str], far: dict[str, bool]) -> None:
    """What is laid out of one predicate does not cut off what another one's absence tells."""
    for strategy in STRATEGIES:
        done = loaded(program, facts, strategy)
        done.run()
        assert {fact: done.holds(*records(done.plan, [fact])) for fact in far} == far


def test_what_lies_beyond_the_end_is_not_taken_for_absent() -> None:
    """With `until`, nothing is told by the absence of what might have come later."""
    program = "boxplus[6,6] p :- s. n :- g, not diamondplus[0,10] p. m :- g, not diamondplus[0,10] s."
    facts = ["s@0", "g@[-9,9]"]
    assert [line for line in lines(_run(program, facts, None)) if line[0] in "mn"] == ["m@(0,9]", "n@(6,9]", "n@[-9,-4)"]
    assert [line for line in lines(_run(program, facts, 2)) if line[0] in "mn"] == ["m@(0,2]", "n@[-9,-8]"]


def _run(program: str, facts: Sequence[str], until: int | None) -> Materialisation:
    done = loaded(program, facts, until=until)
    done.run()
    return done


def test_rounds_go_no_further_than_asked() -> None:
    """With a number of rounds nothing is looked for that repeats."""
    done = loaded("boxplus[2,2] p :- p.", ["p@0"])
    done.run(rounds=30)
    assert (len(shown(done)), list(done.repeating())) == (31, [])


def test_periods_that_meet_too_late_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would have to be laid out for too long is refused, with how much it is."""
    monkeypatch.setattr(sight, "MOST_LAID_OUT", 100)
    done = loaded("boxplus[7,7] p :- p. boxplus[11,11] q :- q. boxplus[13,13] r :- r. s :- a, not p, not q, not r.", ["p@0"])
    done.load([done.plan.record(name, time=0) for name in "qr"])
    done.load([done.plan.record("a", interval="[0,inf)")])
    with pytest.raises(MethodError, match=r"of what repeats in .*`p`.* would have to be laid out .*: [0-9,]+ ranges"):
        done.run()


def test_a_repetition_is_as_wide_as_rules_look() -> None:
    """Two stretches have to be alike in all that holds at their beginning, and in all that changes."""
    alike = [("p", 0, 0), ("p", 10, 10), ("p", 20, 20)]
    assert find_repetition(alike, -1, 25, 8, 2) == Repetition(-1, 10)
    assert find_repetition([*alike, ("q", 12, 99)], -1, 25, 8, 2) is None
    assert find_repetition([*alike, ("q", 3, 99)], -1, 25, 8, 2) == Repetition(2, 10)
    assert find_repetition([("p", 0, 9), ("p", 20, 29)], -1, 12, 8, 2) is None


def test_ranges_are_folded_to_the_least_period() -> None:
    """Also across the border of a period."""
    assert fold([(2, 3), (6, 7), (12, 13), (16, 17), (22, 23)], 10, 10, 0, 2) == ([], [(2, 3), (6, 7)], 10)
    assert fold([(0, 1), (10, 11), (15, 16), (20, 21)], 12, 10, 0, 1) == ([(0, 1)], [(10, 11)], 5)


def test_what_would_take_too_many_ranges_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A period that is not reached within bounds ends with an error, also where strata begin anew."""
    monkeypatch.setattr(materialisation, "MOST_RANGES", 100)
    rules = "boxplus[1,1] p(X) :- p(X). boxplus[1000,1000] q :- q."
    done = loaded(rules, ["p(a)@0", "p(b)@0", "q@0", "q@1/2"])
    done.run()  # which settles long before
    assert len(list(done.repeating())) == 4
    done = loaded("boxplus[1,1] p(X) :- p(X). boxplus[1,1] p(b) :- p(a), q.", ["p(a)@0", "q@[0,900]"])
    with pytest.raises(EndlessError, match="`p` has not come to an end after"):
        done.run()
