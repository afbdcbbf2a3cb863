"""A run with a state goes on with another program: what is kept, filled from the journal, told, and refused."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from engine.running import records
from hypothesis import assume, given
from hypothesis import strategies as st

import tidelog
from crashing import CrashError
from drawing import drawn
from oracle.agreement import records_of
from oracle.evaluate import GroundFact
from oracle.lars_programs import GROUPS, RECURSION, TUPLES, lars_programs, lars_streams
from oracle.programs import ANY, programs, streams
from state.changing import KEEP, Memory, half, rewritten
from tidelog import SpecError
from tidelog.cli import main
from tidelog.plans.analysis.physical.identity import identify
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.names import head_predicate
from tidelog.plans.tree.syntax import Atom, Formula, Interval, Program, Rule, Unary

FORMS = {"groups": GROUPS, "recursion": RECURSION, "tuples": TUPLES}


def compiled(program: Program) -> Plan:
    try:
        return compile_program(parse(format_program(program)))
    except ProgramError:
        assume(False)
        raise


def drawn_program(data: st.DataObject) -> tuple[Program, list[GroundFact]]:
    """A program of any kind, and facts for it."""
    form = data.draw(st.sampled_from([*FORMS, "rational", "integer"]))
    if form in FORMS:
        return data.draw(lars_programs(FORMS[form])), data.draw(lars_streams())
    program = data.draw(programs(form, data.draw(ANY)))
    return program, data.draw(streams(program))


def rules_of(program: Program) -> list[Rule]:
    return [item for item in program.statements if isinstance(item, Rule)]


def taken(facts: list[GroundFact], *plans: Plan) -> list[Record]:
    """The facts that all of these programs can take."""
    return [record for record in records_of(plans[0], facts) if all(_takes(plan, record) for plan in plans)]


def _takes(plan: Plan, record: Record) -> bool:
    schema = plan.schema.predicates.get(record[0])
    return schema is not None and schema.accepts_input


def of(output: str, told: Sequence[Record], emit: str) -> Counter[Record]:
    """What was told of an output; intervals may be cut in other places, but tell no time twice."""
    found = [record for record in told if record[0] == output]
    if emit != "intervals":
        return Counter(found)
    whole: list[Record] = []
    for name, row, lo, hi in sorted(found, key=lambda record: (repr(record[1]), record[2])):
        if whole and whole[-1][1] == row and lo <= whole[-1][3] + 1:
            assert lo == whole[-1][3] + 1, f"{name}{row} is told twice"
            whole[-1] = (name, row, whole[-1][2], hi)
        else:
            whole.append((name, row, lo, hi))
    return Counter(whole)


@pytest.mark.slow
@drawn(30)
@given(data=st.data())
def test_what_a_program_goes_on_to_compute_goes_on(data: st.DataObject) -> None:
    """Written anew, with more rules or fewer, a program tells of the others what an undisturbed run tells."""
    program, facts = drawn_program(data)
    rules = rules_of(program)
    gone = data.draw(st.lists(st.sampled_from(rules), max_size=len(rules) - 1, unique_by=id)) if rules else []
    left = tuple(item for item in program.statements if not any(item is rule for rule in gone))
    smaller = replace(program, statements=left)
    before, now = (smaller, program) if data.draw(st.booleans()) else (program, smaller)
    assert_it_goes_on(before, now, facts, data)


LATCHES_AND_JOINS = """
timeline integer. input p(a, b). input q(a, b). input r(a).
l(A,B) :- not r(A) since p(A,B).
w(A,B) :- diamondminus[0,3] p(A,B).
v(A,B) :- diamondminus[0,5] q(A,B), not r(A).
""".strip()
JOINS = [
    "o1(A,B) :- l(A,B).",
    "o2(A,B,C) :- l(A,B), w(B,C).",
    "o3(A,B,C) :- w(A,B), w(A,C).",
    "o4(A,B,C) :- w(A,B), v(B,C).",
    "o5(A,B,C) :- v(A,B), w(A,C), not l(B,C).",
    "o6(A,B) :- boxminus[0,2] l(A,B).",
    "o7(A,C) :- w(A,B), w(B,C), l(A,C).",
    "o8(A,B) :- not q(A,B) since l(A,B).",
    "o9(A,B) :- v(A,B), u(B). u(B) :- w(A,B).",
    "o10(A,N) :- N = count() over l(A,B) in [2] by A. o11(N) :- N = max(B) over v(A,B) in [3].",
    "o12(A,B) :- latest v(A,B) by A in [4]. o13(A,B) :- latest l(A,B) by A in [2].",
    "o16(A,B) :- l(A,B). o16(A,C) :- o16(A,B), l(B,C).",
    "o17(A,B) :- v(A,B). o17(B,A) :- o17(A,B), w(A,B). o18(A) :- o17(A,B), not r(B).",
    "o19(A,B) :- l(A,B) since[1,3] w(A,B). o20(A,B) :- w(A,B) since[0,4] l(A,B).",
    "o21(A,B) :- l(A,B) until[0,3] q(A,B).",
    "o14(A) :- count() over l(A,B) in [3] by A >= 3. o15() :- count() over v(A,B) in [0] >= 2.",
]


@pytest.mark.slow
@drawn(30)
@given(data=st.data())
def test_latches_and_shared_stores_go_on(data: st.DataObject) -> None:
    """Likewise where what a join stores is shared or not, and where switches are one step or several."""
    before, now = (
        parse("\n".join([LATCHES_AND_JOINS, *data.draw(st.lists(st.sampled_from(JOINS), min_size=1, unique=True))]))
        for _ in range(2)
    )
    names, times = st.sampled_from(["a", "b"]), st.integers(0, 12)
    facts: list[GroundFact] = []
    for time in sorted(data.draw(st.lists(times, min_size=3, max_size=12))):
        name = data.draw(st.sampled_from("ppqqr"))
        row = (data.draw(names),) if name == "r" else (data.draw(names), data.draw(names))
        facts.append((name, row, Interval(Fraction(time), Fraction(time))))
    assert_it_goes_on(before, now, facts, data)


def assert_it_goes_on(before: Program, now: Program, facts: list[GroundFact], data: st.DataObject) -> None:
    now = rewritten(now, data.draw(st.integers(0, 99)))
    was, plan = compiled(before), compiled(now)
    assume(was.timeline == plan.timeline)
    given = taken(facts, was, plan)
    cut = data.draw(st.integers(0, len(given)))
    emit = data.draw(st.sampled_from(["intervals", "final", "changes"]))
    keep = data.draw(st.sampled_from([None, KEEP]))
    options: dict[str, Any] = {"emit": emit, "lateness": data.draw(st.integers(0, 2)), "keep": keep}
    undisturbed, store = Memory(), Memory()
    half(was, undisturbed, given[:cut], **options)
    half(was, store, given[:cut], **options)
    expected, _ = half(was, undisturbed, given, last=True, **options)
    found, _ = half(plan, store, given, last=True, reload="drop", **options)
    identities = identify(was), identify(plan)
    for output in was.outputs.keys() & plan.outputs.keys():
        means = [identity.meaning[output] for identity in identities]
        forms = [identity.form[output] for identity in identities]
        if means[0] == means[1] and (forms[0] == forms[1] or keep is not None):
            assert of(output, found, emit) == of(output, expected, emit), (
                format_program(before),
                format_program(now),
                given,
                cut,
            )


@pytest.mark.slow
@drawn(30)
@given(data=st.data())
def test_a_new_rule_tells_what_it_would_have_told(data: st.DataObject) -> None:
    """With the whole journal, a new output tells from the change on what it tells where it was there from the start.

    Of what that told before, it tells what holds behind the change.
    """
    before, facts = drawn_program(data)
    rules = [rule for rule in rules_of(before) if head_predicate(rule.head) is not None]
    assume(rules)
    like = data.draw(st.sampled_from(rules))
    new = replace(like, head=_called("fresh", like.head))
    now = rewritten(replace(before, statements=(*before.statements, new)), data.draw(st.integers(0, 99)))
    was, plan = compiled(before), compiled(now)
    assume("fresh" in plan.outputs and was.timeline == plan.timeline)
    given = taken(facts, was, plan)
    cut = data.draw(st.integers(0, len(given)))
    emit = data.draw(st.sampled_from(["intervals", "final", "changes"]))
    options: dict[str, Any] = {"emit": emit, "lateness": data.draw(st.integers(0, 2)), "keep": KEEP}
    always, store = Memory(), Memory()
    told, frontier = half(plan, always, given[:cut], **options)
    half(was, store, given[:cut], **options)
    expected, _ = half(plan, always, given, last=True, **options)
    found, _ = half(plan, store, given, last=True, reload="drop", **options)
    wanted = of("fresh", [*_holding_on(told, frontier), *expected], emit)
    assert of("fresh", found, emit) == wanted, (format_program(now), given, cut)


def _called(name: str, head: Formula) -> Formula:
    """A head with another predicate."""
    if isinstance(head, Unary):
        return replace(head, operand=_called(name, head.operand))
    assert isinstance(head, Atom)
    return replace(head, predicate=name)


def _holding_on(told: Sequence[Record], frontier: int) -> list[Record]:
    """What was told, and holds behind a time; of changes, what has begun and not ended."""
    begun: dict[Any, Record] = {}
    found = []
    for record in told:
        if not isinstance(record, ChangeRecord):
            found += [record] if record[3] > frontier else []
        elif record.has_ended:
            del begun[record[:2]]
        else:
            begun[record[:2]] = record
    return [*found, *begun.values()]


def test_how_a_program_is_written_changes_nothing_of_its_steps() -> None:
    """Variables, the order of rules and comments do not take part in what a step computes; numbers and constants do."""
    inputs = "input p(x). input q(x). "
    text = inputs + "a(X) :- boxminus[0,3] p(X), not q(X). b(Y) :- a(Y). b(Y) :- diamondminus[0,2] b(Y), q(Y)."
    other = inputs + "% b\nb(X) :- diamondminus[0,2] b(X), q(X). b(Z) :- a(Z). a(U) :- boxminus[0,3] p(U), not q(U)."
    one, same = (identify(tidelog.compile(program)).meaning for program in (text, other))
    assert {name: one[name] for name in "ab"} == {name: same[name] for name in "ab"}
    for changed in (text.replace("[0,3]", "[0,4]"), text.replace("not q(X)", "not q(one)")):
        assert identify(tidelog.compile(changed)).meaning["a"] != one["a"]
    assert identify(tidelog.compile(text.replace("[0,2]", "[0,1]"))).meaning["a"] == one["a"]


ALARM = "timeline integer. input hot(x). alarm(X) :- boxminus[0,2] hot(X). "
WARM = "warm(X) :- diamondminus[0,3] hot(X). "


def stored(text: str, facts: Sequence[str], **options: Any) -> Memory:
    """The state of a run of a program over some facts."""
    store = Memory()
    plan = tidelog.compile(text)
    half(plan, store, records(plan, facts), **options)
    return store


def go_on(store: Memory, text: str, facts: Sequence[str], **options: Any) -> list[str]:
    """What a run tells that goes on with a program, and ends."""
    plan = tidelog.compile(text)
    told, _ = half(plan, store, records(plan, facts), last=True, **options)
    return [str(plan.answer(record)) for record in told]


HOT = [f"hot(a)@{time}" for time in range(6)]


def test_state_is_not_dropped_unless_it_is_said() -> None:
    """A rule that is gone with what it remembers is refused by name, with the statement; the state is as it was."""
    store = stored(ALARM + WARM, HOT[:4])
    before = dict(store.held), store.stored
    with pytest.raises(SpecError, match=r"`warm\(X\) .* is gone.* would lose state: warm: ended: .* rows? (is|are) dropped"):
        go_on(store, ALARM, HOT)
    assert (store.held, store.stored) == before
    assert go_on(store, ALARM, HOT, reload="drop") == ["alarm(a)@4", "alarm(a)@5"]


def test_a_rule_that_the_journal_cannot_fill_says_from_when_on_it_counts(caplog: pytest.LogCaptureFixture) -> None:
    """Without a journal a new rule knows what comes; it is said when that is all that it looks back to."""
    store = stored(ALARM, HOT[:4])
    with caplog.at_level(logging.WARNING, "tidelog"):
        told = go_on(store, ALARM + "cold(X) :- boxminus[0,1] hot(X). ", HOT)
    assert "cold: new, its answers count from 6 on" in caplog.text
    assert told == ["alarm(a)@4", "cold(a)@5", "alarm(a)@5"]
    caplog.clear()
    dated = ALARM.replace("integer", "integer, unit 60 s")
    with caplog.at_level(logging.WARNING, "tidelog"):
        go_on(stored(dated, HOT[:4]), dated + "cold(X) :- boxminus[0,1] hot(X). ", HOT)
    assert "cold: new, its answers count from 1970-01-01T00:06:00Z on" in caplog.text


def test_a_constraint_is_named_in_quotes(caplog: pytest.LogCaptureFixture) -> None:
    """What becomes of a constraint is told of the rule, as it is written."""
    rule = "bottom :- hot(X), X = b."
    with caplog.at_level(logging.WARNING, "tidelog"):
        go_on(stored(ALARM, HOT[:4], keep=KEEP), ALARM + rule, [])
        go_on(stored(ALARM + rule, HOT[:4], keep=KEEP), ALARM, [], reload="drop")
    assert f"`{rule}`: new, filled from the journal" in caplog.text
    assert f"`{rule}`: ended" in caplog.text


def test_an_input_with_other_arguments_is_a_new_one(caplog: pytest.LogCaptureFixture) -> None:
    """Facts in the journal with fewer arguments are none of it: the rule says from when on its answers count."""
    store = stored(ALARM, HOT[:4], keep=KEEP)
    with caplog.at_level(logging.WARNING, "tidelog"):
        go_on(store, "timeline integer. input hot(x, y). cold(X) :- boxminus[0,1] hot(X, _).", [], reload="drop")
    assert "cold: new, its answers count from 6 on" in caplog.text


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ("any", "integer", "cold: changed, filled from the journal"),
        ("number", "integer", "cold: changed, filled from the journal"),
        ("text", "boolean", "cold: changed, filled from the journal"),
        ("integer", "number", "cold: changed, its answers count from 6 on"),
        ("text", "any", "cold: changed, its answers count from 6 on"),
    ],
)
def test_an_input_of_another_type_has_the_facts_that_it_would_have_taken(
    before: str, now: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A narrower type leaves out facts of the journal; of a wider one, the facts that were refused are not known."""
    value = {"text": "true", "any": "word"}.get(before, "3")
    text = "timeline integer. input hot(x: {}). cold(X) :- boxminus[0,1] hot(X). output cold."
    facts = [f"hot({value})@{time}" for time in range(4)]
    with caplog.at_level(logging.WARNING, "tidelog"):
        told = go_on(stored(text.format(before), facts, keep=KEEP), text.format(now), [], reload="drop")
    assert said in caplog.text
    assert not any("word" in line for line in told)


def test_what_goes_on_is_known_to_a_new_rule_without_a_journal() -> None:
    """A new rule over a negation that has held since before the change is told so: what is kept knows it."""
    text = "timeline integer. input hot(x). input seen(x). calm(X) :- diamondminus[0,90] seen(X), not hot(X). output calm. "
    facts = ["seen(a)@0", "seen(b)@1", "hot(b)@2", "seen(c)@3", "hot(a)@9", "seen(c)@12"]
    longer = text + "long(X) :- boxminus[0,3] calm(X). output long. "
    told = go_on(stored(text, facts[:4], emit="changes"), longer, facts, emit="changes")
    always = go_on(stored(longer, facts[:4], emit="changes"), longer, facts, emit="changes")
    assert [line for line in told if "calm" in line] == [line for line in always if "calm" in line]
    assert any("long(a)" in line for line in told)


@pytest.mark.parametrize(
    "held", ["latest hot(X) by X in [90]", "N = count() over hot(X) in [90] by X", "diamondminus[0,90] hot(X), not off(X)"]
)
def test_whatever_goes_on_is_handed_over_without_a_journal(held: str) -> None:
    """Held values, aggregates and negations say what is open to a rule that comes later."""
    text = f"timeline integer. input hot(x). input off(x). on(X) :- {held}. output on. "
    facts = ["hot(a)@0", "hot(b)@1", "off(c)@2", "off(c)@9", "off(c)@10"]
    told = go_on(
        stored(text, facts[:3], emit="changes"),
        text + "long(X) :- boxminus[0,3] on(X). output long. ",
        facts,
        emit="changes",
    )
    assert any("long(a)" in line for line in told), told


def test_what_has_begun_and_is_gone_is_told_to_have_ended() -> None:
    """Under `changes` nothing is left begun: a rule that is gone ends what it told, as far as the stream was complete."""
    store = stored(ALARM + WARM, HOT[:4], emit="changes")
    plan = tidelog.compile(ALARM)
    told, _ = half(plan, store, records(plan, HOT[:4]), emit="changes", reload="drop")
    assert told == [ChangeRecord("warm", ("a",), 0, 2)]


def test_a_rule_that_changed_ends_what_holds_no_more_and_repeats_nothing() -> None:
    """With the journal, a changed rule ends what it takes back, begins what is new, and tells nothing twice."""
    store = stored(ALARM, [*HOT[:4], "hot(b)@3"], emit="changes", keep=KEEP)
    facts = [*HOT[:4], "hot(b)@3"]
    plan = tidelog.compile(ALARM.replace("[0,2]", "[0,1]"))
    told, _ = half(plan, store, records(plan, facts), emit="changes", keep=KEEP)
    assert told == []  # alarm(a) goes on
    plan = tidelog.compile(ALARM.replace("[0,2]", "[0,9]"))
    told, _ = half(plan, store, records(plan, facts), emit="changes", keep=KEEP)
    assert told == [ChangeRecord("alarm", ("a",), 2, 2)]  # with the begin that was told


FADING = "timeline integer. input off(x). q(X) :- diamondminus[{},3] off(X)."
EVER = "timeline integer. input on(x). input off(x). q(X) :- diamondminus on(X){}."


@pytest.mark.parametrize(
    ("before", "now", "first", "then"),
    [
        (FADING.format(1), FADING.format(2), ["off(k)@3", "off(j)@5"], ["off(j)@9"]),
        (FADING.format(2), FADING.format(1), ["off(k)@3", "off(j)@5"], ["off(j)@9"]),
        (FADING.format(1), FADING.format(3), ["off(k)@3", "off(j)@6"], ["off(j)@9"]),
        (EVER.format(""), EVER.format(", not off(X)"), ["on(k)@3", "on(j)@5"], ["on(j)@9", "off(k)@11", "on(j)@14"]),
        (EVER.format(", not off(X)"), EVER.format(""), ["on(k)@3", "off(k)@4", "on(j)@5"], ["off(j)@9", "off(k)@11"]),
    ],
)
def test_each_begin_has_one_end_over_a_change(before: str, now: str, first: list[str], then: list[str]) -> None:
    """Under `changes` an end has the begin that was told, and nothing begins twice, where a rule has changed meanwhile."""
    plans = tidelog.compile(before), tidelog.compile(now)
    store = Memory()
    told, _ = half(plans[0], store, records(plans[0], first), emit="changes", keep=KEEP)
    more, _ = half(plans[1], store, records(plans[1], [*first, *then]), emit="changes", keep=KEEP, last=True)
    begun: dict[tuple[str, Any], int] = {}
    for record in [*told, *more]:
        assert isinstance(record, ChangeRecord)
        key = record.predicate, record.row
        if record.has_ended:
            assert begun.pop(key) == record.lo, f"{record} has another begin"
        else:
            assert key not in begun, f"{record} begins twice"
            begun[key] = record.lo
    anew, _ = half(plans[1], Memory(), records(plans[1], [*first, *then]), emit="changes", last=True)
    last = {record[:2]: record for record in anew}
    assert begun.keys() == {key for key, record in last.items() if record[3] >= POS}


BODIES = [
    "diamondminus[1,3] off(X)",
    "diamondminus[2,3] off(X)",
    "diamondplus[0,3] off(X)",
    "diamondminus on(X)",
    "diamondminus on(X), not off(X)",
    "not off(X) since on(X)",
    "not off(X) since[0,4] on(X)",
    "boxminus[0,2] on(X)",
    "on(X), not diamondplus[0,2] off(X)",
    "count() over on(X) in [4] by X >= 2",
    "latest on(X) by X in [3], not off(X)",
    "diamondminus[1] q(X), not off(X). q(X) :- on(X)",
]


@st.composite
def changes_of_a_rule(draw: st.DrawFn) -> tuple[str, str, list[Record], int]:
    """A program with one rule, the same with another body, facts for both, and how many come before the change."""
    before, now = (
        f"timeline integer. input on(x). input off(x). q(X) :- {draw(st.sampled_from(BODIES))}." for _ in range(2)
    )
    stream: list[Record] = []
    for time in sorted(draw(st.lists(st.integers(0, 12), min_size=2, max_size=12))):
        end = time + draw(st.sampled_from([0, 0, 3]))
        stream.append((draw(st.sampled_from(["on", "off"])), (draw(st.sampled_from("kj")),), time, end))
    return before, now, stream, draw(st.integers(1, len(stream)))


@drawn(60)
@given(data=st.data())
def test_no_time_is_told_twice_over_any_change(data: st.DataObject) -> None:
    """With the whole journal, whatever a rule becomes, `intervals` tells each time of a row once."""
    before, now, stream, cut = data.draw(changes_of_a_rule())
    plans = compile_program(parse(before)), compile_program(parse(now))
    options: dict[str, Any] = {"emit": "intervals", "lateness": data.draw(st.integers(0, 2)), "keep": KEEP}
    store = Memory()
    told, _ = half(plans[0], store, stream[:cut], **options)
    more, _ = half(plans[1], store, stream, last=True, reload="drop", **options)
    of("q", [*told, *more], "intervals")


@drawn(60)
@given(data=st.data())
def test_begins_and_ends_are_pairs_over_any_change(data: st.DataObject) -> None:
    """Whatever a rule becomes, with a journal or without, each end has the begin that was told, and nothing begins twice."""
    before, now, stream, cut = data.draw(changes_of_a_rule())
    plans = compile_program(parse(before)), compile_program(parse(now))
    is_endless = "diamondminus on(X)." in before  # what has no end is forgotten once it is told: the journal alone knows
    keep = KEEP if is_endless else data.draw(st.sampled_from([None, KEEP]))
    options: dict[str, Any] = {"emit": "changes", "lateness": data.draw(st.integers(0, 2)), "keep": keep}
    store = Memory()
    told, _ = half(plans[0], store, stream[:cut], **options)
    more, _ = half(plans[1], store, stream, last=True, reload="drop", **options)
    begun: dict[tuple[str, Any], int] = {}
    for record in [*told, *more]:
        assert isinstance(record, ChangeRecord)
        key = record.predicate, record.row
        if record.has_ended:
            assert begun.pop(key, None) == record.lo, f"{record} has another begin: {before} {now} {stream} {cut}"
        else:
            assert key not in begun, f"{record} begins twice: {before} {now} {stream} {cut}"
            begun[key] = record.lo
    if keep is not None:
        anew, _ = half(plans[1], Memory(), stream, last=True, **options)
        last = {record[:2]: record for record in anew}
        assert begun.keys() == {key for key, record in last.items() if record[3] >= POS}


def test_a_changed_rule_tells_no_time_twice() -> None:
    """Under `intervals`, what the rule before told of later times, the rule now does not tell again."""
    facts = ["on(k)@3", "on(j)@5", "on(j)@9", "off(k)@11", "on(i)@12", "on(j)@14"]
    plans = tidelog.compile(EVER.format("")), tidelog.compile(EVER.format(", not off(X)"))
    store = Memory()
    told, _ = half(plans[0], store, records(plans[0], facts[:2]), keep=KEEP)
    for upto in (3, 4, len(facts)):  # over a restart, too
        more, _ = half(plans[1], store, records(plans[1], facts[:upto]), keep=KEEP, last=upto == len(facts))
        told += more
    assert [str(plans[0].answer(record)) for record in told[:2]] == ["q(k)@[3,inf)", "q(j)@[5,inf)"]
    assert {record[1] for record in told[2:]} == {("i",)}
    assert sum(of("q", told, "intervals").values()) == 3


def test_another_way_of_counting_time_is_refused() -> None:
    """What is stored are times of one timeline."""
    with pytest.raises(SpecError, match="counts time in another way: it was integer in steps of 1, now rational"):
        go_on(stored(ALARM, HOT[:4]), ALARM.replace("timeline integer. ", ""), HOT)


@pytest.mark.parametrize("is_after", [False, True])
def test_a_crash_while_the_program_changes_leaves_one_state_or_the_other(is_after: bool) -> None:
    """Before the first commit the state is the old program's, after it the new one's; no answer is lost or told twice."""
    longer = ALARM + "long(X) :- boxminus[0,3] hot(X). "
    expected = go_on(stored(ALARM, HOT[:4], keep=KEEP), longer, HOT, keep=KEEP)
    for program in (ALARM, longer):
        store = stored(ALARM, HOT[:4], keep=KEEP)
        store.crash = "after" if is_after else "before"
        with pytest.raises(CrashError):
            go_on(store, longer, HOT, keep=KEEP)
        store.crash = ""
        if is_after or program == longer:
            assert sorted(go_on(store, longer, HOT, keep=KEEP)) == sorted(expected)
        else:
            assert go_on(store, program, HOT, keep=KEEP) == ["alarm(a)@4", "alarm(a)@5"]


def test_reload_check_says_what_would_be_kept_filled_and_lost(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It runs nothing, and its exit code says whether state would be lost; a run then needs `--reload drop`."""
    (tmp_path / "a.tide").write_text(ALARM + WARM)
    (tmp_path / "b.tide").write_text(ALARM + "long(X) :- boxminus[0,3] hot(X). ")
    (tmp_path / "facts.txt").write_text("".join(f"{fact}\n" for fact in HOT))
    out = tmp_path / "out.jsonl"
    options = ["--in", str(tmp_path / "facts.txt"), "--out", str(out), "--at-end", "stop"]
    options += ["--state", str(tmp_path / "state"), "--keep", "7d"]
    assert main(["run", str(tmp_path / "a.tide"), *options]) == 0
    assert main(["run", str(tmp_path / "a.tide"), *options, "--reload", "check"]) == 0
    assert capfd.readouterr().out == "the program is the same\n"
    before = out.read_text()
    assert main(["run", str(tmp_path / "b.tide"), *options, "--reload", "check"]) == 1
    shown = capfd.readouterr().out.splitlines()
    assert shown[:2] == ["alarm: kept", "long: new, filled from the journal"]
    assert shown[2].startswith("warm: ended: ")
    assert main(["run", str(tmp_path / "b.tide"), *options]) == 2
    assert out.read_text() == before
    assert main(["run", str(tmp_path / "b.tide"), *options, "--reload", "drop"]) == 0
    assert main(["run", str(tmp_path / "b.tide"), *options, "--reload", "check"]) == 0
