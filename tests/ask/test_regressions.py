"""Questions that were once answered wrongly, each as small as it can be."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

import tidelog
from tidelog import Session
from tidelog.operators.ask.asker import Asker
from tidelog.operators.ask.telling import witnesses
from tidelog.operators.sld.comparisons.systems import System
from tidelog.plans.data.facts import Record
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant

_FACT = re.compile(r"(\w+)(?:\((.*)\))?@\[?(-?\d+)(?:,(-?\d+)\])?")


def record(fact: str) -> Record:
    """`p(a,3)@[1,4]` as a record."""
    match = _FACT.fullmatch(fact)
    assert match is not None
    values = (match[2] or "").split(",") if match[2] else []
    row = tuple(int(value) if value.lstrip("-").isdigit() else value for value in values)
    return match[1], row, int(match[3]), int(match[4] or match[3])


def tell(program: str, *batches: Sequence[str], lateness: int = 0, finish: bool = True) -> list[HypotheticalAnswer]:
    """All lines of a program's question over batches of facts."""
    session = Session(tidelog.compile(f"timeline integer.\n{program}", outputs=False), lateness=lateness)
    for batch in batches:
        session.push_records([record(fact) for fact in batch])
    if finish:
        session.finish()
    return session.pull_hypothetical()


def short(line: HypotheticalAnswer) -> str:
    """`possible h,3: open(h)@3 | temp(h,V)@4 where V < 5 by 4`, with what failed after `!`."""
    values = ",".join("?" if value is None else str(value) for value in line.answer.values())
    evidence, hypotheses = (" ".join(map(str, side)) for side in (line.evidence, line.hypotheses))
    where = f" where {', '.join(line.conditions)}" if line.where else ""
    needs = f" | {hypotheses}{where} by {line.deadline}" if line.hypotheses else ""
    return f"{line.status} {values}: {evidence}{needs}{f' ! {line.failed}' if line.failed else ''}"


ALARM = """input open(room). input temp(room, v: number).
alarm(R)@T :- open(R)@T, temp(R,V)@T+1, V < 5.
alarm(R)@T :- temp(R,V)@T+1, V > 30.
ask alarm(R)@T.
"""


def test_a_rule_for_other_values_hides_no_warning() -> None:
    """Where another rule needs less for other values alone, the answer is possible, and `where` tells for which values."""
    assert [short(line) for line in tell(ALARM, ["open(h)@3"], finish=False)] == [
        "possible h,3: open(h)@3 | temp(h,V)@4 where V < 5 by 4"
    ]


def test_rules_that_cover_all_values_together_hide_a_warning() -> None:
    """Where others need less for each value, this one's facts are evidence for nothing."""
    program = ALARM.replace("V > 30.", "V > 2.") + "alarm(R)@T :- temp(R,V)@T+1, V <= 2.\n"
    assert tell(program, ["open(h)@3"], finish=False) == []


def test_premises_that_exclude_each_other_stay_two() -> None:
    """One fact cannot have a value below 5 and above 5."""
    program = """input r(x, n: number). input p(x).
    low(X) :- r(X,N), N < 5.
    d(Y)@T :- p(Y)@T, low(Y)@T+1, r(Y,N)@T+1, N > 5.
    ask d(Y)@T."""
    (line,) = tell(program, ["p(a)@3"], finish=False)
    assert short(line) == "possible a,3: p(a)@3 | r(a,N)@4 r(a,N2)@4 where N > 5, N2 < 5 by 4"


def test_what_no_value_meets_is_not_told() -> None:
    """Once a value has come, what is compared with it may leave nothing."""
    program = "input p(n: number). input q(n: number). d@T :- p(N)@T, q(M)@T+1, M > N, M < 5. ask d@T."
    assert tell(program, ["p(7)@1"]) == []
    assert [short(line) for line in tell(program, ["p(2)@1"], finish=False)] == [
        "possible 1: p(2)@1 | q(M)@2 where M > 2, M < 5 by 2"
    ]


def test_an_open_answer_ends_once_for_all_of_its_alternatives() -> None:
    """It is not rejected while the same evidence may still be completed, nor where a fact has completed it."""
    program = "input s. input p(x). w(X) :- s, diamondplus[2,4] p(X). ask w(X)@T."
    assert [short(line) for line in tell(program, ["s@0"], ["p(a)@3"])] == [
        "possible ?,0: s@0 | p(X)@S where S >= 2, S <= 4 by 4",
        "certain a,0: s@0 p(a)@3",
    ]
    assert [short(line) for line in tell(program, ["s@0"])] == [
        "possible ?,0: s@0 | p(X)@S where S >= 2, S <= 4 by 4",
        "rejected ?,0: s@0 ! p(X)@4",
    ]


def test_columns_that_are_one_variable_are_told_to_be() -> None:
    """No other variable is called as a column, and where two columns are the same the line says so."""
    program = "input p(x). input q(x). w(Z,Z)@T :- p(a)@T, p(Z)@T+1, q(Y)@T+2. ask w(X,Y)@T."
    assert [short(line) for line in tell(program, ["p(a)@0"], finish=False)] == [
        "possible ?,?,0: p(a)@0 | p(X)@1 q(Y2)@2 where Y = X by 2"
    ]


def test_an_absence_that_is_evidence_is_no_hypothesis_of_another_way() -> None:
    """A way that needs less hides another one, whatever absences speak for it already."""
    program = """input p(x). input r(x). input s. input n.
    w@T :- p(Y)@T, r(Y)@T+2, s@T+3, not n@T-1.
    w@T :- r(a)@T+2, not n@T-1.
    ask w@T."""
    assert tell(program, ["p(a)@1"], finish=False) == []
    assert [short(line) for line in tell(program, ["p(a)@1"], ["r(a)@3"])] == ["certain 1: not n@0 r(a)@3"]


def test_a_deadline_counts_facts_and_absences() -> None:
    """An absence behind an open time may be decided after all facts that are missing."""
    program = "input q. input r. input s. d@T :- q@T, r@S, S >= T+1, S <= T+2, not s@S+3. ask d@T."
    assert [short(line) for line in tell(program, ["q@8"], finish=False)] == [
        "possible 8: q@8 | r@S not s@S+3 where S >= 9, S <= 10 by 13"
    ]


def test_a_time_between_bounds_is_decided() -> None:
    """Bounds that leave one time give it, and such as leave several decide what is open when they have passed."""
    program = "input q. input r. d@S :- q@T, r@S, S > T, S < T+{}. ask d@T."
    assert [short(line) for line in tell(program.format(2), ["q@1"], ["r@5"], finish=False)][:2] == [
        "possible 2: q@1 | r@2 by 2",
        "rejected 2: q@1 ! r@2",
    ]
    assert [short(line) for line in tell(program.format(4), ["q@1"], ["q@9"], finish=False)][:2] == [
        "possible ?: q@1 | r@T where T >= 2, T <= 4 by 4",
        "rejected ?: q@1 ! r@T",
    ]


def test_a_fact_over_an_interval_comes_at_once() -> None:
    """It comes at its begin, with all of its time points: none of these is a hypothesis, and no line is told later."""
    program = "input p. input r(x). d(X)@T :- p@T-2, r(X)@T. ask d(X)@T."
    lines = tell(program, ["p@[2,6]", "r(b)@4"], finish=False)
    assert [(line.status, line.answer["T"], line.at) for line in lines][-1] == ("certain", 4, 4)
    assert [line.at for line in lines if line.status == "possible"] == [2] * 5
    pairs = "input p. d@T :- p@T, p@T+1, p@T+9. ask d@T."
    assert all("p@3" not in map(str, line.hypotheses) for line in tell(pairs, ["p@[2,6]"], finish=False))


def test_facts_at_once_are_told_of_as_singly() -> None:
    """Under lateness, the order of arrival counts, not the order of time; nothing is told as if before a fact had come."""
    program = "input p. input q. input r. d@T :- p@T, q@T+1. d@T :- r@T, q@T+1. ask d@T."
    facts = ["q@3", "p@2", "r@1", "q@2", "p@6", "q@7"]
    together = tell(program, facts, lateness=2)
    assert together == tell(program, *[[fact] for fact in facts], lateness=2)
    assert [line.at for line in together][:2] == [3, 3]


def test_the_time_of_a_line_counts_every_fact() -> None:
    """A fact that does not concern the question tells the time all the same."""
    program = "input q(x). y(X)@T :- q(X)@T. ask y(b)@T."
    (line,) = tell(program, ["q(a)@1", "q(b)@0"], lateness=1)
    assert (line.status, line.at) == ("certain", 1)


def test_what_failed_did_not_come() -> None:
    """A rejection does not name a fact that came."""
    program = "input q. input r(x). input p. d(b)@T :- q@T-3, q@T-2. d(X)@T :- r(X)@T, p@T. ask d(X)@T."
    lines = [line for line in tell(program, ["q@1"], ["p@4"]) if line.status == "rejected" and line.answer["X"] == "b"]
    assert [str(line.failed) for line in lines] == ["r(b)@4"]


def test_a_fact_and_its_absence_are_never_needed_together() -> None:
    """Neither at once, nor where one has come to be the other by what a fact has told, nor behind another rule."""
    plain = "input p(x). input q(x). d(X)@T :- q(X)@T, p(X)@T+2, not p(a)@T+2. ask d(X)@T."
    assert tell(plain, ["q(a)@5"]) == []
    behind = "input p(x). input q(x). c(X) :- p(X). d(X)@T :- q(X)@T, p(X)@T+2, not c(X)@T+2. ask d(X)@T."
    assert tell(behind, ["q(a)@5"]) == []
    other = "input p(x). input q(x). d(X)@T :- q(X)@T, p(Y)@T+2, not p(X)@T+2. ask d(X)@T."
    assert [short(line) for line in tell(other, ["q(a)@5"], finish=False)] == [
        "possible a,5: q(a)@5 | p(Y)@7 not p(a)@7 where Y != a by 7"
    ]


def test_an_answer_that_holds_in_each_case_is_certain() -> None:
    """Whether `a@3` comes or not, one of two rules gives the answer: it does not wait until that is known."""
    program = "input a. input b. input c. w@T :- b@T, a@T+2. w@T :- c@T, not a@T+2. ask w@T."
    lines = tell(program, ["b@1", "c@1"], finish=False)
    assert [short(line) for line in lines][-1] == "certain 1: b@1 c@1"
    derived = "input a. input b. input c. x :- a. w@T :- b@T, x@T+2. w@T :- c@T, not x@T+2. ask w@T."
    assert [short(line) for line in tell(derived, ["b@1", "c@1"], finish=False)][-1] == "certain 1: b@1 c@1"


def test_an_absence_that_lasts_makes_no_line_each_second() -> None:
    """An answer that waits for nothing to come has a line when it becomes possible, and one when it is decided."""
    program = "input lost(n). input heard(n). d(N) :- lost(N), boxplus[1,30] not heard(N). ask d(N)@T."
    lines = tell(program, ["lost(a)@0"], *[[f"lost(b)@{time}"] for time in (5, 10, 40)], finish=False)
    assert [(line.status, line.at) for line in lines if line.answer == {"N": "a", "T": 0}] == [
        ("possible", 0),
        ("certain", 30),
    ]


def test_a_way_that_is_lost_is_told_with_the_reason() -> None:
    """What is left of the answer is told, and what the way lacked that was told before."""
    program = "input s. input p. input q. input r. w@T :- s@T, p@T+1, q@T+4. w@T :- s@T, r@T+6. ask w@T."
    lines = tell(program, ["s@0"], ["s@3"], finish=False)
    assert [short(line) for line in lines if line.answer == {"T": 0}] == [
        "possible 0: s@0 | p@1 q@4 by 6",
        "possible 0: s@0 | r@6 by 6",
        "possible 0: s@0 | r@6 by 6 ! p@1",
    ]


def test_a_recursion_along_constants_has_an_end() -> None:
    """Each round needs another constant, or goes one step on along facts that have no cycle."""
    stages = """input start. stage(a)@T :- start@T. stage(b)@T+1 :- stage(a)@T. stage(c)@T+2 :- stage(b)@T.
    ask stage(c)@T."""
    assert [short(line) for line in tell(stages, ["start@0"])] == ["certain 3: start@0"]
    chain = """input at(x). next(a,b). next(b,c). gets(X)@T :- at(X)@T. gets(Y)@T+1 :- gets(X)@T, next(X,Y).
    ask gets(c)@T."""
    assert [short(line) for line in tell(chain, ["at(a)@0"])] == ["certain 2: at(a)@0"]


def test_a_recursion_round_constants_has_no_end() -> None:
    """Facts with a cycle lead on for ever."""
    chain = """input at(x). next(a,b). next(b,a). gets(X)@T :- at(X)@T. gets(Y)@T+1 :- gets(X)@T, next(X,Y).
    ask gets(c)@T."""
    with pytest.raises(tidelog.ProgramError) as caught:
        tell(chain.replace("gets(c)", "gets(a)"))
    assert [item.code for item in caught.value.diagnostics] == ["endless-ask"]


def test_a_time_that_is_left_open_but_has_one_value_is_covered() -> None:
    """Where only the next time point is left, a rule that needs the fact then and nothing else needs less."""
    program = "input p(x). input r. a(X) :- p(X). a(X) :- diamondminus[0,1] r, diamondminus p(X). ask a(X)@T."
    lines = tell(program, ["p(k)@0", "r@0"], finish=False)
    assert not [line for line in lines if line.answer == {"X": None, "T": 1}]


LEFT = "input p(x). a(X)@S :- p(_)@T, p(X)@T+1, p(X)@S, S <= 1. ask a(X)@S."


@pytest.mark.parametrize("facts", [("p(1)@0", "p(1)@1"), ("p(1)@1", "p(1)@0")])
def test_an_open_time_is_told_only_where_hypotheses_can_be_facts_of_their_own(
    facts: tuple[str, ...],
) -> None:
    """At each time left two hypotheses are one, or that fact has come: another support stands for it."""
    lines = tell(LEFT, *([fact] for fact in facts), lateness=1, finish=False)
    assert [short(line) for line in lines if None in line.answer.values()] == ["possible ?,1: p(1)@0 | p(X)@1 by 2"]


def test_two_diamonds_hold_no_product_of_their_times() -> None:
    """What is open grows with the facts that came, and not with the ways in which they may meet what may come."""
    rules = "input p. input q. input r. a :- p, diamondplus[1,30] q, diamondplus[1,30] r. ask a@T."
    session = Session(tidelog.compile(f"timeline integer.\n{rules}", outputs=False))
    for time in range(40):
        session.push_records([record(f"{'pq'[time % 2]}@{time}")])
    (statistics,) = session.statistics().questions.values()
    assert statistics.open < 500
    lines = [line for line in session.pull_hypothetical() if line.answer["T"] == 0]
    assert short(lines[0]) == "possible 0: p@0 | q@T2 r@T3 where T2 >= 1, T2 <= 30, T3 >= 1, T3 <= 30 by 30"


def test_an_answer_is_rejected_when_the_last_way_to_it_is_closed() -> None:
    """Where nothing speaks for an answer any more, but something still may, it stays open until the last way is closed."""
    rules = "input p. input q. a :- (not p) since[2,4] q. ask a@T."
    lines = tell(rules, ["q@0"], ["p@1"], ["p@2"], ["p@5"], finish=False)
    rejected = [(line.answer["T"], line.at, str(line.failed)) for line in lines if line.status == "rejected"]
    assert rejected == [(2, 1, "not p@1"), (3, 1, "not p@1"), (4, 2, "q@2")]


def test_the_start_of_the_stream_counts_where_ways_are_compared() -> None:
    """The fact that came serves both windows, so a way that needs another one is not minimal."""
    rules = "input p(x). input r. b(X) :- p(_)@T in [6], sometime p(X) in [6], r. ask b(X)@T."
    assert [short(line) for line in tell(rules, ["p(k)@0"], ["r@9"], finish=False)][:1] == [
        "possible k,?: p(k)@0 | r@T where T >= 0, T <= 6 by 6"
    ]
    lines = tell(rules, ["p(k)@0"], ["r@9"], finish=False)
    assert not any(str(literal).startswith("p(") for line in lines for literal in line.hypotheses)


def test_a_name_for_a_sum_of_times_hides_no_way_that_needs_less() -> None:
    """`W = T + T` asks nothing of T, so it does not tell ways apart."""
    rules = "input p(x). a(W)@T :- p(k)@T, p(k)@T+1, W = T + T. b(X)@T :- a(_)@T, p(X)@S. ask b(X)@T."
    lines = tell(rules, ["p(k)@0"], finish=False)
    assert "possible k,?: p(k)@0 | p(k)@T p(k)@T+1 by None" not in [short(line) for line in lines]


def test_an_open_time_that_no_multiple_meets_is_not_told() -> None:
    """The window ends at an even time; of the times that are left to the fact none is one."""
    rules = "input p(x). input r. a :- sometime p(X) in [5], sometime r in [0 step 8]. a :- p(X). ask a@T."
    lines = tell(rules, ["p(l)@0"], finish=False)
    assert [short(line) for line in lines] == ["certain 0: p(l)@0"]


def test_an_open_time_is_not_told_where_each_answer_is_certain() -> None:
    """What the line would stand for is certain already, each of it by another fact."""
    rules = "input p(x). input r. input s. c :- s. c :- p(X), diamondminus[0,5] r. ask c@T."
    facts = [f"s@{time}" for time in range(1, 6)] + ["p(k)@6"]
    lines = tell(rules, facts, ["r@1"], lateness=20, finish=False)
    assert not [line for line in lines if line.answer == {"T": None}]
    assert [line.answer["T"] for line in lines if line.status == "certain"] == [1, 2, 3, 4, 5, 6]


def test_an_open_time_is_not_told_where_each_answer_needs_less() -> None:
    """The fact that came serves both premises at the one time that is left, so nothing but `r` is needed then."""
    rules = "input p(x). input r. c(X) :- p(Y) until[0,1] p(Y), boxplus[1,2] r, diamondplus[0,inf) p(X). ask c(X)@T."
    lines = [short(line) for line in tell(rules, ["p(l)@0"], finish=False)]
    assert not [line for line in lines if line.startswith("possible l") and "p(Y)" in line.split("|")[1]]


def test_a_search_for_an_instance_ends_after_so_many_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond, what is open counts as if it stood for something: more lines may be told, and none is missing."""
    rules = "input p(x). input r. c(X) :- p(Y) until[0,1] p(Y), boxplus[1,2] r, diamondplus[0,inf) p(X). ask c(X)@T."
    exact = {short(line) for line in tell(rules, ["p(l)@0"], finish=False)}
    monkeypatch.setattr(witnesses, "MOST_COMPARED", 1)
    assert exact < {short(line) for line in tell(rules, ["p(l)@0"], finish=False)}


def test_which_of_two_times_varies_does_not_depend_on_how_texts_are_hashed() -> None:
    """Whatever the constant is, the same hypothesis has the variable."""
    rules = "input p(x). input q(x). input r(x). a(X) :- p(X), diamondplus[1,4] q(X), diamondplus[1,4] r(X). ask a(X)@T."
    for name in (f"n{i}" for i in range(40)):
        lines = tell(rules, [f"p({name})@0"], finish=False)
        assert [str(line.hypotheses[0]) for line in lines] == [f"q({name})@S"] * 4


def test_a_time_with_bounds_that_a_fact_tells_is_decided() -> None:
    """`T >= T + S` bounds S, and so does `2 * T >= S` once T is known."""
    rules = "input r. input s(x). b(S)@T :- {}, r@T-1, s(X)@S+1. ask b(Y)@T."
    assert tell(rules.format("T >= T + S"), ["r@1"], finish=False) == []
    lines = tell(rules.format("2 * T >= S"), ["r@1"], ["r@7"], finish=False)
    first, last = (line for line in lines if line.answer == {"Y": None, "T": 2})
    assert short(first) == "possible ?,2: r@1 | s(X)@Y+1 where Y <= 4 by 5"
    assert (last.status, last.at) == ("rejected", 5)


def test_a_text_is_compared_with_a_sum_as_it_stands() -> None:
    """Nothing is subtracted from a text: `where` says what the rule does."""
    rules = "input p(x). input s(y: number). a(X)@T :- p(X)@T, s(Y)@T+1, X != Y + 1. ask a(X)@T."
    assert [short(line) for line in tell(rules, ["p(l)@0"], finish=False)] == [
        "possible l,0: p(l)@0 | s(Y)@1 where l != Y + 1 by 1"
    ]


def test_what_a_fact_makes_impossible_is_not_told() -> None:
    """With T = 5, `X = X - T` holds for nothing."""
    rules = "input r. input p(x). c(X)@T :- X = X - T, p(X)@T+1, r@T. ask c(Y)@T."
    assert tell(rules, ["r@5"], finish=False) == []


def test_a_multiple_that_a_time_is_covers_a_way_that_needs_more() -> None:
    """Whether 3 is a multiple of 3 is decided, where ways to an answer are compared."""
    system = System(["T"])
    three = Arithmetic("mod", (Constant(3), Constant(3)))
    assert system.is_covered([[Comparison("=", three, Constant(0))]])
    assert not system.is_covered([[Comparison("=", three, Constant(1))]])
    assert not system.add(Comparison("=", three, Constant(1)))


def test_a_text_is_no_sum() -> None:
    """Once X is a text, no Y makes `X = Y + Y` so."""
    rules = "input p(x). input s(x, y). a(X)@T :- p(X)@T, s(X,Y)@T+1, X = Y + Y. ask a(X)@T."
    assert tell(rules, ["p(l)@0"], finish=False) == []
    assert [line.status for line in tell(rules, ["p(4)@0"], ["s(4,2)@1"])] == ["possible", "certain"]


def test_what_speaks_for_a_certain_answer_stays() -> None:
    """A way that is lost later changes nothing of the evidence."""
    rules = "input p(x). b(X)@S :- p(X)@T+2, p(Y)@S-1, p(Y)@T-1. ask b(X)@T."
    plan = tidelog.compile(f"timeline integer. {rules}", outputs=False)
    asker = Asker(plan.questions[0], plan.unfoldings[0], 15)
    asker.receive([record(fact) for fact in ("p(l)@2", "p(l)@0", "p(1)@1")], -1, 0)
    asker.receive([record("p(1)@4")], 8, 0)
    (known,) = [line for line in asker.supported() if line.answer == {"X": 1, "T": 2} and line.status == "certain"]
    assert short(known) == "certain 1,2: p(1)@1 p(1)@4"


def test_what_is_negated_is_decided_by_the_fact_that_makes_it_impossible() -> None:
    """What nothing can make true any more is absent at once: no hypothesis that waits for a time to pass."""
    program = """input p(x). input q.
    d@T :- q@T+50, not p(_)@T.
    z@T :- p(a)@T, not d@T.
    ask z@T."""
    lines = tell(program, ["p(a)@1"], ["p(b)@7"], ["q@60"])
    assert [(short(line), line.at) for line in lines] == [("certain 1: p(a)@1 not d@1", 1)]


def test_a_known_fact_that_narrows_an_open_time_brings_the_end_nearer() -> None:
    """Where the last time left for a fact is one at which it must not come, it is decided one time earlier."""
    program = "d@T :- q@T, s@S, S >= T-1, S <= T, not q@S. ask d@T."
    lines = tell(program, ["q@2"], ["q@9"], lateness=2)
    assert [(short(line), line.at) for line in lines] == [
        ("possible 2: q@2 | s@S not q@S where S >= 1, S <= 2 by 3", 2),
        ("rejected 2: q@2 ! s@S", 3),
        ("possible 9: q@9 | s@S not q@S where S >= 8, S <= 9 by 10", 9),
        ("rejected 9: q@9 ! s@S", 10),
    ]


def test_a_later_fact_that_narrows_an_open_time_counts_too() -> None:
    """So it is where such a fact comes after the answer was told, whatever the stretch that was left."""
    program = "input q(x). input s. d@T :- q(a)@T, s@S, S >= T, S <= T+{}, not q(b)@S. ask d@T."
    for width in (5, 100):
        end = 2 + width
        facts = ["q(a)@2"], [f"q(b)@[{end - 1},{end}]"], [f"q(c)@{end + 9}"]
        lines = tell(program.format(width), *facts, lateness=2)
        assert [(line.status, line.at, line.deadline) for line in lines] == [
            ("possible", 2, end + 2),
            ("rejected", end, None),
        ]
