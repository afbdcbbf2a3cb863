"""`materialise`, `entails` and `consistent` as a user meets them: answers, exit codes, mistakes, signals."""

from __future__ import annotations

import itertools
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from children import WAIT, child
from tidelog.cli import main
from waiting import computed, eventually

TIDELOG = [sys.executable, "-m", "tidelog"]

WEATHER = """\
boxplus[0,1] hot(C) :- temp(C, T), T >= 30.
spell(C) :- boxminus[0,2] hot(C).
warned(C) :- diamondplus(0,3] spell(C), not closed(C).
"""
READINGS = "temp(rome,31)@1\ntemp(rome,33)@2\ntemp(rome,30)@5/2\ntemp(oslo,12)@2\nclosed(rome)@[2,inf)\n"
MATERIALISED = """\
closed(rome)@[2,inf)
hot(rome)@[1,7/2]
spell(rome)@[3,7/2]
temp(oslo,12)@2
temp(rome,30)@5/2
temp(rome,31)@1
temp(rome,33)@2
warned(rome)@[0,2)
"""


def run(*arguments: str, given: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TIDELOG, *arguments], input=given, capture_output=True, text=True, cwd=cwd, check=False)


class Here:
    """A folder with a program and facts, in which commands run inside this process."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def write(self, program: str, facts: str) -> None:
        Path("p.tide").write_text(program)
        Path("facts.txt").write_text(facts)

    def run(self, command: str, *arguments: str) -> tuple[str, str, int]:
        """Standard output, standard error and exit code of a command about `p.tide` and `facts.txt`."""
        code = main([command, "p.tide", "facts.txt", *arguments])
        out, error = self._capfd.readouterr()
        return out, error, code


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.chdir(tmp_path)
    return Here(capfd)


# --- materialise --------------------------------------------------------------------------------------------------------


def test_everything_that_follows_is_printed(here: Here) -> None:
    """All predicates, input too, coalesced, sorted by text, with exact ends; future operators, negation, boxes in heads."""
    here.write(WEATHER, READINGS)
    assert here.run("materialise") == (MATERIALISED, "", 0)


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        (["hot"], "hot(rome)@[1,7/2]\n"),
        (["hot(oslo)"], ""),
        (["warned(rome)", "temp(_, 33)"], "temp(rome,33)@2\nwarned(rome)@[0,2)\n"),
        (["temp(C, T)"], "".join(f"{line}\n" for line in MATERIALISED.splitlines() if line.startswith("temp"))),
    ],
)
def test_outputs_alone_are_printed(here: Here, outputs: list[str], told: str) -> None:
    """`--output` names predicates, or rows of them; what they do not need is neither derived nor printed."""
    here.write(WEATHER, READINGS)
    assert here.run("materialise", *(f"--output={output}" for output in outputs)) == (told, "", 0)


def test_an_output_that_repeats_is_told_with_its_period(here: Here) -> None:
    """Of one row alone, if one is asked for."""
    here.write("timeline integer.\nboxplus[7,7] p(X) :- p(X).\n", "p(a)@1\np(b)@2\n")
    assert here.run("materialise", "--output", "p(a)") == ("p(a)@1  % and every 7 after it, for ever\n", "", 0)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("hott", "the program has no predicate `hott`; did you mean `hot`?"),
        ("hot(a, b)", "`hot` has 1 arguments, got 2: `hot(a, b)`"),
        ("temp(X, X)", "each variable stands once, for any value: `temp(X, X)`"),
        ("not hot(a)", "expected a predicate, such as `alarm` or `alarm(hall, _)`, got `not hot(a)`"),
        ("hot(a), hot(b)", "expected a predicate, such as `alarm` or `alarm(hall, _)`, got `hot(a), hot(b)`"),
        ("hot(", "expected a predicate, such as `alarm` or `alarm(hall, _)`, got `hot(`"),
    ],
)
def test_an_output_that_is_none_is_told(here: Here, output: str, told: str) -> None:
    """Before the facts are read."""
    here.write(WEATHER, READINGS)
    assert here.run("materialise", "--output", output) == ("", f"tidelog: error: --output: {told}\n", 2)


@pytest.mark.parametrize("strategy", ["naive", "seminaive", "optimised"])
@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 9])
def test_strategies_print_the_same_after_each_round(here: Here, strategy: str, rounds: int) -> None:
    """`--rounds K` is what K applications of the rules give, whichever way they are computed; with 0, the input."""
    here.write("boxplus[1,1] p(X) :- p(X).\nq(X) :- p(X), boxminus[0,1] r(X).\n", "p(a)@0\nr(a)@[0,5/2)\n")
    expected = [f"p(a)@{i}" for i in range(rounds + 1)] + ["q(a)@1"] * (rounds > 1) + ["q(a)@2"] * (rounds > 2)
    out, error, code = here.run("materialise", "--rounds", str(rounds), "--strategy", strategy)
    assert (out.splitlines(), error, code) == (sorted([*expected, "r(a)@[0,5/2)"]), "", 0)


def test_until_bounds_what_has_no_end(here: Here) -> None:
    """Nothing is derived beyond `--until`, which may be finer than all else; what the data say stays."""
    here.write("boxplus[1,1] p :- p.\nboxplus[0,inf) q :- p.\n", "p@0\nr@[0,9)\n")
    out, _, code = here.run("materialise", "--until", "7/3")
    assert (out, code) == ("p@0\np@1\np@2\nq@[0,7/3]\nr@[0,9)\n", 0)


def test_recursion_that_makes_values_is_an_error_that_names_it(here: Here) -> None:
    """After ten thousand rounds: which recursion, and what to do; nothing is printed."""
    here.write("p(M) :- p(N), M = N+1.\n", "p(0)@0\n")
    out, error, code = here.run("materialise")
    assert (out, code) == ("", 1)
    assert "`p` has not come to an end after 10,000 rounds" in error
    assert "--until" in error
    assert "--rounds" in error


def test_what_repeats_for_ever_is_printed_once(here: Here) -> None:
    """One of each range that returns, with its period and its direction as a comment; the output can be read again."""
    here.write("boxplus[7,7] p :- p.\nboxminus[2,2] p :- p, q.\nboxminus[3,3] r(X) :- r(X).\n", "p@5\nq@12\nr(a)@[0,1/2)\n")
    out, error, code = here.run("materialise")
    assert (error, code) == ("", 0)
    assert out.splitlines() == [
        "p@10  % and every 7 after it, for ever",
        "p@5  % and every 7 after it, for ever",
        "q@12",
        "r(a)@[0,1/2)  % and every 3 before it, for ever",
    ]
    here.write("top2 :- p.\n", out)
    assert here.run("materialise")[0].splitlines()[:2] == ["p@10", "p@5"]


def test_what_repeats_both_ways_is_one_line(here: Here) -> None:
    """Each range once, where one period leads on from it to both sides; not where the sides have periods of their own."""
    here.write("boxplus[7,7] p(X) :- p(X).\nboxminus[7,7] p(X) :- p(X).\n", "p(a)@0\np(b)@[0,2]\np(b)@3\n")
    out, error, code = here.run("materialise")
    assert (error, code) == ("", 0)
    assert out.splitlines() == [
        "p(a)@0  % and every 7 before and after it, for ever",
        "p(b)@3  % and every 7 before and after it, for ever",
        "p(b)@[0,2]  % and every 7 before and after it, for ever",
    ]
    here.write("boxplus[4,4] on :- on.\nboxminus[2,2] back :- back.\np :- on.\np :- back.\n", "on@0\nback@0\n")
    told = [line for line in here.run("materialise")[0].splitlines() if line.startswith("p")]
    assert len(told) == 2
    assert told[0].endswith("every 2 before it, for ever")
    assert told[1].endswith("every 4 after it, for ever")


MONTHLY = """\
timeline rational, unit 1 min.
boxplus[43200,43200] due(B) :- due(B).
boxplus[5,10) soon(B) :- due(B), on.
bottom :- due(B), bad(B).
"""
DUE = "due(b7)@2010-07-01T00:00:30Z\n"


def test_times_as_iso(here: Here) -> None:
    """Points, intervals, violations and the period, which is in the program's unit; the output can be read again."""
    here.write(MONTHLY, DUE + "on@2010-07-01T00:00:30Z\n")
    out, error, code = here.run("materialise", "--iso")
    assert (error, code) == ("", 0)
    assert out.splitlines() == [
        "due(b7)@2010-07-01T00:00:30Z  % and every 43200 min after it, for ever",
        "on@2010-07-01T00:00:30Z",
        "soon(b7)@[2010-07-01T00:05:30Z,2010-07-01T00:10:30Z)",
    ]
    here.write(MONTHLY, out)
    assert here.run("materialise", "--iso") == (out, "", 0)


@pytest.mark.parametrize(
    ("timeline", "period"),
    [
        ("integer, unit 1 s", "30 s"),
        ("integer, unit 1 d", "30 d"),
        ("integer, unit 15 min", "450 min"),
        ("rational, unit 90 s", "2700 s"),
        ("rational, unit 1 ms", "30 ms"),
    ],
)
def test_the_period_in_the_unit_of_the_program(here: Here, timeline: str, period: str) -> None:
    """A unit that is several seconds, minutes, … is written in these."""
    here.write(f"timeline {timeline}.\nboxplus[30,30] p :- p.\n", "p@0\n")
    told = f"p@1970-01-01T00:00:00Z  % and every {period} after it, for ever\n"
    assert here.run("materialise", "--iso") == (told, "", 0)


def test_a_violation_as_iso(here: Here) -> None:
    """In each command, on standard error."""
    here.write(MONTHLY, DUE + "bad(b7)@[2010-07-01,2010-07-02T12:00:00Z]\n")
    at = "violated at 2010-07-01T00:00:30Z: "
    for command in (["materialise"], ["consistent"], ["entails", "--fact", "on@1"]):
        assert at in here.run(*command, "--iso")[1]
        assert at not in here.run(*command)[1]


@pytest.mark.parametrize("time", ["1/3", "0.1234567", "5/2", "-7/3", "1e-9"])
def test_times_are_exact(here: Here, time: str) -> None:
    """Whatever the program's resolution, data may be finer, and what is derived is exact."""
    here.write("timeline rational, resolution 1.\nboxplus[1,1] q :- p.\n", f"p@[{time},{time}]\n")
    exact = {"1/3": ("1/3", "4/3"), "0.1234567": ("1234567/10000000", "11234567/10000000"), "5/2": ("5/2", "7/2")}
    exact |= {"-7/3": ("-7/3", "-4/3"), "1e-9": ("1/1000000000", "1000000001/1000000000")}
    before, after = exact[time]
    assert here.run("materialise")[0] == f"p@{before}\nq@{after}\n"


def test_facts_too_fine_for_the_times_of_the_program(here: Here) -> None:
    """They are told to be the reason, as the program is right by itself; nothing goes to standard output."""
    here.write(WEATHER, "temp(rome,31)@1e-19\n")
    for command in (["materialise"], ["entails", "--fact", "spell(rome)@1e-19"]):
        out, error, code = here.run(*command)
        assert (out, code) == ("", 1)
        assert error == (
            "tidelog: error: at the resolution 1/10000000000000000000 that the facts need, "
            "the program's time 1 lies beyond what the timeline can hold\n"
        )


def test_what_the_program_does_not_mention_is_printed_too(here: Here) -> None:
    """Facts of any predicate are part of the result, also where a normal form's own predicate has the name."""
    here.write("p(X) :- diamondminus[0,2] (a(X), b(X)).\n", "a(x)@1\nb(x)@1\nother(x,y)@7\nother@8\n'p.1'(x)@[3,4]\n")
    expected = "'p.1'(x)@[3,4]\na(x)@1\nb(x)@1\nother(x,y)@7\nother@8\np(x)@[1,3]\n"
    assert here.run("materialise")[:2] == (expected, "")


def test_facts_of_the_program_and_its_background(here: Here) -> None:
    """Facts in the text, at a time or at all times, and background count; also where data make the times finer."""
    Path("link.csv").write_text("from,to\na,b\n")
    program = 'background link from "link.csv".\nup(a)@[0,1].\nup(X) :- link(Y, X), up(Y), on.\non.\n'
    here.write(program, "up(c)@1/3000000007\n")
    expected = "link(a,b)@(-inf,inf)\non@(-inf,inf)\nup(a)@[0,1]\nup(b)@[0,1]\nup(c)@1/3000000007\n"
    assert here.run("materialise") == (expected, "", 0)


def test_facts_come_in_every_format(here: Here) -> None:
    """Several inputs: text, JSON lines from standard input, CSV; in any order with options."""
    here.write(WEATHER, "closed(rome)@[2,inf)\n")
    Path("temp.csv").write_text("city,value,time\nrome,31,1\nrome,33,2\n")
    given = '{"predicate":"temp","args":["rome",30],"time":2.5}\n{"predicate":"temp","args":["oslo",12],"time":2}\n'
    done = run("materialise", "p.tide", "-", "--strategy", "naive", "facts.txt", "temp.csv", given=given)
    assert (done.stdout, done.stderr, done.returncode) == (MATERIALISED, "", 0)


def test_no_facts_but_those_of_the_program(here: Here) -> None:
    """FACTS may be left out."""
    here.write("p(a)@1.\nq(X) :- diamondminus[1,1] p(X).\n", "")
    assert main(["materialise", "p.tide"]) == 0


def test_the_integer_timeline(here: Here) -> None:
    """Neighbours coalesce, and open ends are resolved."""
    here.write("timeline integer.\nq(X) :- p(X).\n", "p(a)@(0,3)\np(a)@3\n")
    assert here.run("materialise")[0] == "p(a)@[1,3]\nq(a)@[1,3]\n"


def test_statistics_go_to_standard_error(here: Here) -> None:
    """--stats tells the rounds and what each brought; the answers stay the same."""
    here.write(WEATHER, READINGS)
    out, error, _ = here.run("materialise", "--stats")
    assert out == MATERIALISED
    assert "round 1: " in error
    assert "evaluation" in error


def test_an_inconsistent_program_prints_no_facts(here: Here) -> None:
    """The ground rule and the time of the violation on standard error, exit code 1, nothing on standard output."""
    here.write("bottom :- on(X), boxplus[0,1] off(X).\n", "on(a)@[1,3]\noff(a)@[2,9/2]\n")
    out, error, code = here.run("materialise")
    assert (out, code) == ("", 1)
    assert "inconsistent: constraint violated at [2,3]: on(a), boxplus[0,1] off(a)" in error
    assert "rule: bottom :- on(X), boxplus[0,1] off(X)." in error


def test_a_record_that_cannot_be_read_is_told_with_its_place(here: Here) -> None:
    """In each command; with `--strict` it is an error, with nothing on standard output, also where it plays no part."""
    here.write(WEATHER, "temp(rome,31)@1\n% fine\ntemp(rome)@2\n")
    for command in (["materialise"], ["consistent"], ["entails", "--fact", "temp(rome,31)@1"]):
        out, error, code = here.run(*command)
        assert (bool(out), code) == (True, 0)
        assert error.endswith("facts.txt:3: `temp` takes 2 arguments, got 1\ntidelog: note: 1 record could not be used\n")
        out, error, code = here.run(*command, "--strict")
        assert (out, code) == ("", 1)
        assert "facts.txt:3: `temp` takes 2 arguments, got 1" in error
        assert error.endswith("tidelog: error: 1 record could not be used (`--strict`)\n")


def test_what_is_for_streams_alone_is_refused(here: Here) -> None:
    """A tuple window has no meaning without an order of arrival: an error of the program."""
    here.write("timeline integer.\np(X) :- q(X) in [#3].\n", "")
    out, error, code = here.run("materialise")
    assert (out, code) == ("", 1)
    assert "error[not-in-batch]" in error


# --- entails ------------------------------------------------------------------------------------------------------------

BRACKETS = [f"{left}{{}},{{}}{right}" for left in "[(" for right in ")]"]


@pytest.mark.parametrize(("given", "asked"), [*itertools.product(BRACKETS, BRACKETS)])
@pytest.mark.parametrize("ends", [("1/3", "2"), ("-inf", "2"), ("1/3", "inf"), ("-inf", "inf")])
def test_entailment_with_every_bracket(here: Here, given: str, asked: str, ends: tuple[str, str]) -> None:
    """An interval follows where it lies inside what holds; an infinite end is never reached, whatever its bracket."""
    here.write("q(X) :- p(X).\n", f"p(a)@{given.format(*ends)}\n")
    follows = (given[0] == "[" or asked[0] == "(" or ends[0] == "-inf") and (
        given[-1] == "]" or asked[-1] == ")" or ends[1] == "inf"
    )
    out, error, code = here.run("entails", "--fact", f"q(a)@{asked.format(*ends)}")
    assert (out, error, code) == (("true\n", "", 0) if follows else ("false\n", "", 1))


@pytest.mark.parametrize(
    ("fact", "answer"),
    [
        ("spell(rome)@3", "true"),
        ("spell(rome)@[3,7/2]", "true"),
        ("spell(rome)@[3,3.50000001]", "false"),
        ("spell(rome)@(-inf,inf)", "false"),
        ("warned(rome)@[0,2)", "true"),
        ("warned(rome)@1.9999999999", "true"),
        ("warned(rome)@2", "false"),
        ("warned(nowhere)@1", "false"),
        ("unheard(of)@1", "false"),
        ("closed(rome)@[1000000,inf)", "true"),
        ("temp(rome,31.0)@1", "true"),
        ('temp("rome",31)@1.', "true"),
        ("temp(rome,31)@2", "false"),
    ],
)
def test_entailment(here: Here, fact: str, answer: str) -> None:
    """Of derived and given facts, of constants and predicates that occur nowhere, at times finer than all else."""
    here.write(WEATHER, READINGS)
    unheard = "tidelog: note: neither the program nor the data has a predicate `unheard`\n" if "unheard" in fact else ""
    assert here.run("entails", "--fact", fact) == (f"{answer}\n", unheard, 0 if answer == "true" else 1)


def test_a_misspelt_predicate_is_noted(here: Here) -> None:
    """The answer stays, and standard error tells; not where the data have it, or a constant alone is new."""
    here.write(WEATHER, READINGS + "other(rome)@1\n")
    out, error, code = here.run("entails", "--fact", "spel(rome)@3")
    assert (out, code) == ("false\n", 1)
    unused = "tidelog: note: 1 fact has a predicate that the program does not use: `other` (1)\n"
    assert (
        error == f"{unused}tidelog: note: neither the program nor the data has a predicate `spel`; did you mean `spell`?\n"
    )
    assert here.run("entails", "--fact", "other(X)@1") == ("false\n", "", 1)
    assert here.run("entails", "--fact", "spell(X)@1") == ("false\n", unused, 1)


def test_a_fact_of_the_data_alone(here: Here) -> None:
    """What no rule mentions follows if it is given."""
    here.write("q :- p.\n", "r(a,b)@[1,2]\nr(a)@5\n")
    assert here.run("entails", "--fact", "r(a,b)@(1,2)")[0] == "true\n"
    assert here.run("entails", "--fact", "r(a)@5")[0] == "true\n"
    assert here.run("entails", "--fact", "r(b)@5")[0] == "false\n"


def test_entailment_stops_as_soon_as_it_is_decided(here: Here) -> None:
    """In recursion without an end: a fact that comes about is enough, and so is that time has passed it by."""
    here.write("boxplus[1,1] p(X) :- p(X).\n", "p(a)@1/2\n")
    assert here.run("entails", "--fact", "p(a)@41/2") == ("true\n", "", 0)
    assert here.run("entails", "--fact", "p(a)@21") == ("false\n", "", 1)
    assert here.run("entails", "--fact", "p(b)@21", "--method", "materialise") == ("false\n", "", 1)


def test_only_what_is_relevant_is_derived(here: Here) -> None:
    """Recursion without an end on which the fact does not depend holds nothing up."""
    here.write("boxplus[1,1] p :- p.\nboxminus[1,1] p :- p.\nr :- diamondplus[0,1] q.\n", "p@0\nq@1\n")
    assert here.run("entails", "--fact", "r@[0,1]")[0] == "true\n"
    assert here.run("entails", "--fact", "r@2")[0] == "false\n"


def test_a_clipped_window_begins_where_all_facts_begin(here: Here) -> None:
    """`always … in [n]` is clipped at the first fact, also one of a predicate that plays no other part."""
    here.write("timeline integer.\nspell(X) :- always hot(X) in [3].\n", "hot(a)@5\nhot(a)@6\nother@4\n")
    assert here.run("entails", "--fact", "spell(a)@6")[0] == "false\n"
    here.write("timeline integer.\nspell(X) :- always hot(X) in [3].\n", "hot(a)@5\nhot(a)@6\nother@5\n")
    assert here.run("entails", "--fact", "spell(a)@6")[0] == "true\n"


def test_inconsistent_data_entail_everything(here: Here) -> None:
    """The answer is `inconsistent`, exit code 3, whether or not the fact follows otherwise; the violation is told."""
    here.write("bottom :- on(X), off(X).\nlit(X) :- on(X).\n", "on(a)@[1,3]\noff(a)@3\n")
    for fact in ("lit(a)@1", "lit(b)@1", "on(a)@1", "unheard(of)@1"):
        out, error, code = here.run("entails", "--fact", fact)
        assert (out, code) == ("inconsistent\n", 3)
        assert "constraint violated at 3: on(a), off(a)" in error
    here.write("bottom :- on(X), off(X).\nlit(X) :- on(X).\n", "on(a)@[1,3)\noff(a)@3\n")
    assert here.run("entails", "--fact", "lit(a)@[1,3)") == ("true\n", "", 0)


def test_a_violation_that_comes_about_late(here: Here) -> None:
    """The fact is known at once, the violation only after rounds: where there is an end, it is waited for."""
    here.write("a :- p.\nb :- a.\nc :- b.\nbottom :- c.\n", "p@1\n")
    assert here.run("entails", "--fact", "p@1")[::2] == ("inconsistent\n", 3)
    here.write("bottom :- boxminus[0,1] p.\nboxplus[1,1] p :- p.\n", "p@1\n")
    assert here.run("entails", "--fact", "p@5")[::2] == ("true\n", 0)


@pytest.mark.parametrize("method", ["auto", "materialise", "automata", "ltl"])
def test_recursion_without_an_end_is_decided(here: Here, method: str) -> None:
    """In both directions, for times and for intervals without an end, by every method."""
    here.write("boxplus[1,1] p :- p.\nboxminus[1,1] p :- p.\neven :- p, top.\nboxplus[2,2] two :- two.\n", "p@0\ntwo@0\n")
    for fact, answer in (("p@-1000", "true"), ("p@1/2", "false"), ("even@[3,3]", "true"), ("two@[2,inf)", "false")):
        code = 0 if answer == "true" else 1
        assert here.run("entails", "--fact", fact, "--method", method) == (f"{answer}\n", "", code)


@pytest.mark.parametrize("method", ["auto", "automata", "ltl"])
def test_inconsistent_by_every_method(here: Here, method: str) -> None:
    """The answer is the same; which constraint it is only materialisation tells."""
    here.write("boxplus[1,1] p :- p.\nbottom :- p, q.\n", "p@0\nq@[13/2,7]\n")
    told = "constraint violated at 7: p, q (rule: bottom :- p, q.)" if method == "auto" else "there is no model"
    assert here.run("entails", "--fact", "q@1/2", "--method", method) == (
        "inconsistent\n",
        f"tidelog: inconsistent: {told}\n",
        3,
    )
    assert here.run("consistent", "--method", method) == ("false\n", f"tidelog: inconsistent: {told}\n", 1)
    here.write("boxplus[1,1] p :- p.\nbottom :- p, q.\n", "p@0\nq@(6,7)\n")
    assert here.run("consistent", "--method", method) == ("true\n", "", 0)


def test_what_a_method_cannot_take_is_undecided(here: Here) -> None:
    """An error that names it, and the exit code of what is refused."""
    here.write("p :- q, not r.\nbottom :- p, s.\n", "q@0\n")
    for method in ("automata", "ltl"):
        for command in (["entails", "--fact", "p@0"], ["consistent"]):
            out, error, code = here.run(*command, "--method", method)
            assert (out, code) == ("", 2)
            assert " is not decided: automata and LTL do not take rules with `not`" in error


def test_recursion_that_leaves_the_timeline(here: Here) -> None:
    """What is known by then follows; the rest may be undecided, and only `materialise` speaks of its option."""
    far = 10**18
    here.write(f"timeline integer.\nboxplus[{far},{far}] p :- p.\nbottom :- p, q.\n", "p@0\n")
    beyond = "`p` is derived at times beyond what the timeline can hold"
    assert here.run("entails", "--fact", f"p@{far}") == ("true\n", "", 0)
    whether = "tidelog: error: whether it follows is not decided"
    assert here.run("entails", "--fact", "p@1", "--method", "materialise") == ("", f"{whether}: {beyond}\n", 2)
    out, error, code = here.run("entails", "--fact", "p@1")
    assert (out, code) == ("", 2)
    assert error.startswith(f"{whether}: by materialisation: {beyond}; by automata: ")
    assert here.run("materialise") == ("", f"tidelog: error: {beyond}: use --until\n", 1)
    assert here.run("materialise", "--until", str(far))[::2] == (f"p@0\np@{far}\n", 0)


# --- consistent ---------------------------------------------------------------------------------------------------------


def test_consistency(here: Here) -> None:
    """`true` and exit code 0; or `false`, exit code 1, and the violation on standard error."""
    here.write("bottom :- on(X), boxminus(0,1] off(X).\n", "on(a)@3\noff(a)@[2,5/2]\noff(a)@(5/2,3)\n")
    out, error, code = here.run("consistent")
    assert (out, code) == ("false\n", 1)
    assert "constraint violated at 3: on(a), boxminus(0,1] off(a)" in error
    here.write("bottom :- on(X), boxminus(0,1] off(X).\n", "on(a)@3\noff(a)@[2,5/2)\noff(a)@(5/2,3)\n")
    assert here.run("consistent") == ("true\n", "", 0)


def test_without_constraints_all_is_consistent(here: Here) -> None:
    """At once, whatever recursion there is."""
    here.write("boxplus[1,1] p :- p.\n", "p@0\n")
    assert here.run("consistent") == ("true\n", "", 0)


# --- usage --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["materialise"], "PROGRAM"),
        (["materialise", "nowhere.tide"], "cannot read `nowhere.tide`"),
        (["materialise", "p.tide", "nowhere.txt"], "cannot read `nowhere.txt`"),
        (["materialise", "p.tide", "tcp://127.0.0.1:9"], "may have no end"),
        (["materialise", "p.tide", "-", "facts+-"], "once only"),
        (["materialise", "p.tide", "--until", "soon"], "--until: time `soon`"),
        (["materialise", "p.tide", "--rounds", "-1"], "0 or more"),
        (["materialise", "p.tide", "--strategy", "clever"], "clever"),
        (["entails", "p.tide", "facts.txt"], "--fact"),
        (["entails", "p.tide", "--fact", "spell(rome"], "--fact: `)` is missing"),
        (["entails", "p.tide", "--fact", "spell(rome)"], "--fact: "),
        (["entails", "p.tide", "--fact", "spell(rome)@[2,1]"], "--fact: interval [2,1] is empty"),
        (["entails", "p.tide", "--fact", "spell(rome)@[1,2"], "--fact: interval"),
        (["entails", "p.tide", "--fact", "spell(a,b)@1"], "--fact: `spell` takes 1 argument, got 2"),
        (["entails", "p.tide", "--fact", ""], "--fact: expected a fact"),
        (["entails", "p.tide", "--fact", "p@1", "--method", "magic"], "magic"),
        (["entails", "p.tide", "--fact", "hot(a)@1", "facts.txt", "--fact", "hot(a)@1"], "--fact: asks for one fact"),
        (["materialise", "p.tide", "nowhere.txt", "--iso"], "ISO-8601 output needs a unit"),
        (["entails", "p.tide", "nowhere.txt", "--fact", "p@1", "--iso"], "ISO-8601 output needs a unit"),
        (["consistent", "p.tide", "nowhere.txt", "--iso"], "ISO-8601 output needs a unit"),
        (["consistent", "p.tide", "facts.txt", "--until", "3"], "--until"),
        (["consistent", "p.tide", "facts.txt", "--method", "magic"], "magic"),
    ],
)
def test_mistakes_in_usage(here: Here, capfd: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    """Exit code 2, one clear line, nothing on standard output."""
    here.write(WEATHER, READINGS)
    assert main(arguments) == 2
    out, error = capfd.readouterr()
    assert out == ""
    assert said in error


def test_a_reader_that_has_seen_enough(here: Here) -> None:
    """`| head -1` is no error message."""
    here.write("q(X) :- p(X).\n", "".join(f"p(a{i})@{i}\n" for i in range(20_000)))
    command = f"{sys.executable} -m tidelog materialise p.tide facts.txt | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("p(a0)@0\n", "")


ENDLESS = "boxplus[1,1] p(X) :- p(X).\n"
MANY = "".join(f"p(a{i})@{i}\n" for i in range(20_000))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_cleanly(here: Here, number: signal.Signals, code: int) -> None:
    """In the middle of its rounds: the signal's exit code, one line that says so, no traceback."""
    here.write(ENDLESS, MANY)
    with child([*TIDELOG, "materialise", "p.tide", "facts.txt"], stdout=-1, stderr=-1, text=True) as process:
        eventually(lambda: computed(process) > 1.5, process=process)
        process.send_signal(number)
        out, error = process.communicate(timeout=WAIT)
    assert (out, process.returncode) == ("", code)
    assert error == f"tidelog: stopped by {number.name} before all answers were given\n"


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal(here: Here) -> None:
    """While it goes on there is a line with the round; at the end the line is empty again, and then it is said why."""
    here.write(ENDLESS, MANY)
    master, slave = pty.openpty()
    with child([*TIDELOG, "materialise", "p.tide", "facts.txt"], stdout=-1, stderr=slave) as process:
        shown = b""
        while b"round" not in shown:
            shown += os.read(master, 1000)
        process.send_signal(signal.SIGINT)
        process.communicate()
    while not shown.endswith(b"\n"):
        shown += os.read(master, 1000)
    assert shown.endswith(b" \rtidelog: stopped by SIGINT before all answers were given\r\n")
    os.close(slave)
    os.close(master)
    assert process.returncode == 130


PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
HARD = "timeline integer.\n" + "".join(f"boxplus[{n},{n}] p{n} :- p{n}.\n" for n in PRIMES)
HARD += f"all :- {', '.join(f'p{n}' for n in PRIMES)}.\n"
BEGINS = "".join(f"p{n}@{i}\n" for i, n in enumerate(PRIMES))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_signals_end_a_race(here: Here, number: signal.Signals, code: int) -> None:
    """The line on the terminal tells that there is one; then all its processes are gone, however the first one ended."""
    here.write(HARD, BEGINS)
    master, slave = pty.openpty()
    command = [*TIDELOG, "entails", "p.tide", "facts.txt", "--fact", "all@[5,inf)"]
    with child(command, stdout=-1, stderr=slave) as process:
        shown = b""
        while b"materialisation and automata" not in shown:
            shown += os.read(master, 1000)
        process.send_signal(number)
        out, _ = process.communicate(timeout=WAIT)
    os.close(slave)
    os.close(master)
    assert (out, process.returncode) == (b"", code)
