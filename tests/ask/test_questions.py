"""Questions in programs: what is asked, which rules and inputs it needs, what runs forward beside it, and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tidelog import Plan, ProgramError, Session
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.diagnostics.source import render
from tidelog.plans.explaining.reports.report import analyse, analysis_fields, format_analysis
from tidelog.plans.explaining.text import explain
from tidelog.plans.language.printing import format_formula, format_statement

TURBINES = """timeline integer.
input temp(sensor, level) delay 2.
input serviced(sensor).
output flag.
ask malf(X)@T.
flag(X) :- temp(X, high).
cool(X)@T+1 :- flag(X)@T, flag(X)@T+1.
shut(X)@T+1 :- cool(X)@T, flag(X)@T+1.
malf(X)@T-2 :- shut(X)@T, not serviced(X)@T.
defective(X)@T :- temp(X, high)@T1, temp(X, "n/a")@T2, T = 0.
"""


def codes(text: str, **options: Any) -> list[str]:
    """The errors of a program that has some."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(text, **options)
    return [item.code for item in caught.value.diagnostics]


def heads(plan: Plan) -> list[str]:
    (question,) = plan.questions
    return [format_formula(rule.head) for rule in question.rules]


# --- what is asked ------------------------------------------------------------------------------------------------------


def test_a_question_has_what_its_query_needs() -> None:
    """Its rules in the program's order, the inputs that these read, and their delays; nothing of the rest."""
    (question,) = tidelog.compile(TURBINES).questions
    assert (question.name, format_formula(question.query), question.depth) == ("malf", "malf(X)@T", None)
    assert [format_formula(rule.head) for rule in question.rules] == [
        "flag(X)",
        "cool(X)@T+1",
        "shut(X)@T+1",
        "malf(X)@T-2",
    ]
    assert (question.inputs, dict(question.delays)) == ({"temp", "serviced"}, {"temp": 2})


def test_times_of_a_question_are_ticks() -> None:
    """Units and open ends are resolved; the rest of a rule is as written."""
    text = "timeline integer, unit 10 s. input a delay 1min. ask p@T. p :- diamondminus[0,1min) a, not a in [1 step 1min]."
    (question,) = tidelog.compile(text, outputs=False).questions
    assert [format_statement(rule) for rule in question.rules] == ["p :- diamondminus[0,5] a, not sometime a in [1 step 6]."]
    assert question.delays == {"a": 6}


def test_every_question_has_a_name() -> None:
    """The predicate's; further questions about it are named by their text, and the same question is asked once."""
    plan = tidelog.compile(TURBINES + "ask malf(wt25)@T+1.\nask malf(X)@T.\nask shut(X)@T.\n")
    assert [question.name for question in plan.questions] == ["malf", "malf(wt25)@T+1", "shut"]


def test_queries_take_the_place_of_asks() -> None:
    """Queries are asked instead of what the program asks; none at all is possible, too."""
    plan = tidelog.compile(TURBINES, queries=["shut(X)@T", " cool(wt25)@T. "], depth=3)
    assert [format_formula(question.query) for question in plan.questions] == ["shut(X)@T", "cool(wt25)@T"]
    assert [question.depth for question in plan.questions] == [3, 3]
    assert tidelog.compile("timeline integer. p :- a. ask p@T.", queries=[]).questions == ()
    with pytest.raises(ValueError, match="at least 1"):
        tidelog.compile(TURBINES, depth=0)


def test_a_file_is_asked_like_a_text(tmp_path: Path) -> None:
    """`compile_path` has the same options."""
    path = tmp_path / "turbines.tide"
    path.write_text(TURBINES, encoding="utf-8")
    plan = tidelog.compile_path(path, queries=["defective(X)@T"], outputs=False, depth=2)
    assert (heads(plan), dict(plan.outputs), plan.questions[0].depth) == (["defective(X)@T"], {}, 2)


def test_an_input_can_be_asked_for() -> None:
    """Then no rule is needed: the input itself is the premise."""
    (question,) = tidelog.compile(TURBINES, queries=["temp(X, high)@T"]).questions
    assert (question.rules, question.inputs) == ((), {"temp"})


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("malf(X", "expected `,` or `)`, found the end of the statement"),
        ("malf(X)@T. p(a)", "a query is one atom with its time"),
        ("", "a query is one atom with its time"),
        ("malf(X)@T, flag(X)@T", "expected the end of the statement, found `,`"),
    ],
)
def test_a_query_that_cannot_be_read(query: str, said: str) -> None:
    """The error shows the query, not the program."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(TURBINES, queries=[query])
    shown = render(caught.value)
    assert said in shown
    assert "--> <query>:1:" in shown
    assert query in shown


def test_a_query_that_does_not_fit_the_program() -> None:
    """The error shows the query as the statement that it stands for, and says where the program says otherwise."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(TURBINES.rstrip("\n"), name="turbines.tide", queries=["flag(X)@T", "malf(X, Y)@T"])
    shown = render(caught.value)
    assert "predicate `malf` has 2 arguments here, but 1 elsewhere" in shown
    assert "<query>:2:5\n" in shown
    assert "1 argument here: turbines.tide:9" in shown
    assert "ask malf(X, Y)@T." in shown


# --- what comes from outside --------------------------------------------------------------------------------------------


def test_without_declarations_what_is_derived_is_no_input() -> None:
    """Where a program asks, streams bring what no rule derives and no fact states; elsewhere they may bring anything."""
    rules = "timeline integer. c(u). b(X) :- a(X), c(X). p(X)@T :- b(X)@T."
    asked, plain = tidelog.compile(rules + "ask p(X)@T."), tidelog.compile(rules)
    assert asked.questions[0].inputs == {"a"}
    assert {name for name, schema in asked.schema.predicates.items() if schema.accepts_input} == {"a"}
    assert {name for name, schema in plain.schema.predicates.items() if schema.accepts_input} == {"a", "b", "c", "p"}
    with pytest.raises(DataError, match="`b` is derived"):
        asked.record("b", ["u"], time=1)


def test_what_only_a_question_reads_is_known() -> None:
    """An input that no forward rule reads has its arity, and counts as used."""
    plan = tidelog.compile(TURBINES)
    with pytest.raises(DataError, match="takes 1 argument, got 2"):
        plan.record("serviced", ["a", "b"], time=1)
    session = Session(plan)
    session.push("serviced", ["a"], time=1)
    assert session.statistics().intake.unused == 0


# --- what runs forward --------------------------------------------------------------------------------------------------


def test_what_only_a_question_needs_does_not_run() -> None:
    """Declared outputs and constraints are computed forward, nothing else."""
    plan = tidelog.compile(TURBINES)
    assert (dict(plan.outputs), {step.id for step in plan.steps}) == ({"flag": "flag"}, {"flag", "temp"})
    bare = tidelog.compile(TURBINES, outputs=False)
    assert (dict(bare.outputs), bare.steps, len(bare.questions)) == ({}, (), 1)
    constrained = tidelog.compile(TURBINES + "bottom :- cool(X), serviced(X).", outputs=False)
    assert set(constrained.constraints) == {"bottom.1"}
    assert {"temp", "flag", "cool", "serviced"} <= {step.id for step in constrained.steps}


def test_several_times_that_nothing_bounds() -> None:
    """Example 9: a rule with times far apart can be asked, though no forward operator computes it."""
    (question,) = tidelog.compile(TURBINES, queries=["defective(X)@T"]).questions
    assert (question.name, question.inputs) == ("defective", {"temp"})
    assert codes(TURBINES.replace("output flag", "output flag, defective")) == ["unbounded-time"]


def test_negation_that_goes_back_in_time() -> None:
    """A T-stratified program can be asked; as an output it is not stratified, and so where a constraint needs it."""
    rules = "timeline integer. input a(x). s(X)@T :- a(X)@T, not s(X)@T-1. ask s(X)@T. q(X) :- a(X)."
    assert tidelog.compile(rules + "output q.").outputs == {"q": "q"}
    assert codes(rules + "output s.") == ["unstratified"]
    assert codes(rules + "output q. bottom :- s(X), a(X).") == ["unstratified"]
    assert codes(rules + "output q.", queries=[]) == ["unstratified"]  # nothing is asked, so all is checked


def test_undeclared_outputs_are_what_runs() -> None:
    """Without an `output` what only `ask` can compute is none, nor what reads it; a warning says so."""
    text = """timeline integer. ask far(X)@T.
        far(X)@T :- a(X)@T, b(X)@S.
        farther(X) :- far(X).
        odd(X)@T :- a(X)@T, not odd(X)@T-1.
        near(X) :- a(X)."""
    plan = tidelog.compile(text)
    assert list(plan.outputs) == ["near"]
    warnings = {item.message for item in plan.warnings if item.code == "only-asked"}
    assert warnings == {
        "`far` is no output, only `ask` computes it: nothing bounds `S`: it may lie anywhere",
        "`odd` is no output, only `ask` computes it: `odd` depends on its own negation, and reads "
        "`odd` at times that facts tell",
    }
    assert codes(text.replace("ask far(X)@T.", "")) == ["unstratified"]
    assert codes(text + "wrong(X, Y) :- a(X).") == ["unsafe-variable"]


def test_answers_do_not_depend_on_what_is_asked() -> None:
    """What runs forward answers as without the question."""
    facts = [("temp", (name, "high"), time, time) for time in range(5) for name in ("u", "v")]
    found = []
    for text in (TURBINES, TURBINES.replace("ask malf(X)@T.\n", "").replace("defective(X)@T :-", "% ")):
        session = Session(tidelog.compile(text), emit="final")
        session.push_records(facts)
        session.finish()
        found.append([str(answer) for answer in session.pull()])
    assert found[0] == found[1] != []


# --- what is wrong ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("input a(x). p(X) :- a(X). ask p(X)@T.", ["needs-integer-timeline"]),
        ("timeline integer. input a(x). p(X) :- a(X). ask p(X).", ["ask-without-time"]),
        ("timeline integer. input a(x). p(X) :- a(X). ask q(X)@T.", ["unknown-predicate"]),
        ("timeline integer. p(X) :- a(X). ask q(X)@T.", ["unknown-query"]),
        ("timeline integer. input a(x). p(X) :- a(X). ask p(X, Y)@T.", ["arity-mismatch"]),
        ("timeline integer. input a(x). p(X, Y) :- a(X). ask p(X, Y)@T. output q. q(X) :- a(X).", ["unsafe-variable"]),
        ("timeline integer. input a(x). p(X) :- b(X). ask p(X)@T. output q. q(X) :- a(X).", ["unknown-predicate"]),
        ("timeline integer. input a(x) delay -1. p(X) :- a(X). ask p(X)@T.", ["bad-delay"]),
        ("timeline integer. input a(x) delay 5 s. p(X) :- a(X).", ["unit-undeclared"]),
    ],
)
def test_what_is_wrong_is_told(text: str, expected: list[str]) -> None:
    """Of rules that only a question needs, too."""
    assert codes(text) == expected


# --- what is shown ------------------------------------------------------------------------------------------------------


def test_asks_and_delays_are_printed() -> None:
    """The stages `text` and `normal` print them, and the text reads back as the same program."""
    plan = tidelog.compile(TURBINES)
    shown = explain(plan, "text")
    assert "input temp(sensor, level) delay 2.\n" in shown
    assert "ask malf(X)@T.\n" in shown
    assert tidelog.compile(shown).program == tidelog.compile(TURBINES, name="<program>").program
    assert "ask malf(X)@T.\n" in explain(plan, "normal")


def test_the_plan_tells_its_questions() -> None:
    """As text, JSON and Mermaid."""
    plan = tidelog.compile(TURBINES, queries=["malf(X)@T"], depth=4)
    assert "questions:\n  malf(X)@T from stream serviced, stream temp (up to 2 late), followed 4 deep\n" in explain(plan)
    (question,) = json.loads(explain(plan, "plan", "json"))["questions"]
    assert (question["query"], question["inputs"], question["depth"]) == ("malf(X)@T", {"serviced": 0, "temp": 2}, 4)
    assert '  q0(["ask malf(X)@T"])\n' in explain(plan, "plan", "mermaid")


def test_the_analysis_tells_how_long_answers_stay_open() -> None:
    """Delay and window of Definition 5, as text and as fields."""
    plan = tidelog.compile(TURBINES, queries=["malf(X)@T+1", "defective(X)@T"])
    shown = format_analysis(analyse(plan))
    assert "  malf(X)@T+1: non-recursive, connected\n" in shown
    assert "    delay: 3 (an answer at T is decided by T+3; with late facts of `temp` by T+5)\n" in shown
    assert "    window: 3 (it needs facts from T+1 to T+3)\n" in shown
    assert "  defective(X)@T: non-recursive, not connected\n" in shown
    assert "    delay: none, nothing bounds how long an answer stays open\n" in shown
    malf, defective = json.loads(json.dumps(analysis_fields(analyse(plan))["questions"]))
    assert (malf["delay"], malf["window"], malf["settled"], malf["connected"]) == (3, 3, 5, True)
    assert (defective["delay"], defective["window"], defective["settled"]) == (None, None, None)
    assert not defective["connected"]


@pytest.mark.parametrize(
    ("rules", "delay", "window"),
    [
        ("p(X) :- a(X).", 0, 1),
        ("p(X) :- diamondminus[2,5] a(X).", 0, 6),
        ("p(X) :- boxplus[1,3] a(X).", 3, 3),
        ("boxplus[1,3] p(X) :- a(X).", 0, 4),
        ("p(X) :- a(X) since[0,4] b(X).", 0, 5),
        ("p(X) :- a(X) until[2,4] b(X).", 4, 4),
        ("p(X) :- a(X) in [3].", 0, 4),
        ("p(X) :- a(X)@S in [3], b(X)@S+2.", 2, 6),
        ("p(X) :- a(X) in [3 step 2].", 0, 5),
        ("p(X)@T :- a(X)@T, b(X)@S, S <= T, S >= T - 4.", 0, 5),
        ("p(X) :- a(X), not b(X)@S in [2], b(X)@S in [4].", 0, 5),
        ("p(X) :- a(X), diamondminus b(X).", 0, None),
        ("p(X) :- a(X), diamondplus b(X).", None, None),
        ("p(X) :- q(X), a(X). q(X) :- p(X). q(X)@T :- b(X)@T+2.", 2, 3),
        ("p(X)@T :- a(X)@T, not p(X)@T-1.", 0, None),
    ],
)
def test_delay_and_window(rules: str, delay: int | None, window: int | None) -> None:
    """The least ones, from how far rules reach; none where nothing bounds them."""
    plan = tidelog.compile(f"timeline integer. input a(x). input b(x). {rules}", queries=["p(X)@T"], outputs=False)
    (found,) = analyse(plan).questions
    assert (found.delay, found.window) == (delay, window)


@pytest.mark.parametrize(
    ("query", "place", "code"),
    [
        ("flg(X)@T", ":1:5", "unknown-predicate"),
        ("flag(X,Y)@T", ":1:5", "arity-mismatch"),
        ("flag(X)", ":1:5", "ask-without-time"),
    ],
)
def test_an_error_of_a_query_points_into_the_query(query: str, place: str, code: str) -> None:
    """The program's file has no such line: the query's own text is shown."""
    program = "timeline integer.\ninput temp(device, level).\nflag(X)@T :- temp(X, high)@T.\n"
    with pytest.raises(ProgramError) as caught:
        tidelog.compile(program, name="x.tide", queries=[query], outputs=False)
    assert str(caught.value).startswith(f"<query>{place}: {code}")
    assert caught.value.text == f"ask {query}.\n"


def test_an_error_of_the_program_beside_a_query_points_into_the_program() -> None:
    """What is wrong without the query is shown as ever."""
    with pytest.raises(ProgramError) as caught:
        tidelog.compile("timeline integer.\na(X) :- p(Y).\n", name="x.tide", queries=["a(X)@T"], outputs=False)
    assert str(caught.value).startswith("x.tide:2:")
