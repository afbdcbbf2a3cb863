"""Hostile programs: refused with a clear error, soon, and without exhausting the stack or the memory."""

import time

import pytest

from tidelog.plans.checks import check
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.diagnostics.source import render, to_fields
from tidelog.plans.language.parser import MAX_DIAGNOSTICS, MAX_PROGRAM, MAX_STATEMENTS, parse
from tidelog.plans.language.statements import MAX_STATEMENT

SECONDS = 10
"""Seconds of CPU, far more than each needs: a limit against what never ends, not a measure of speed."""

HOSTILE = {
    "a rule of 50 MB": ("p(X) :- " + "q(X), " * 8_000_000, "program-too-long"),
    "many characters of two bytes": ("é" * (MAX_PROGRAM // 2 + 1), "program-too-long"),
    "a statement that is too long": ("p :- " + "q, " * MAX_STATEMENT, "statement-too-long"),
    "a statement that does not end": ("$" * 4_000_000, "statement-too-long"),
    "quotes alone": ('"' * 3_000_000, "statement-too-long"),
    "blank lines inside a statement": ("p(a)" + "\n" * 3_000_000 + ", b", "statement-too-long"),
    "brackets that open on each line": ("p(\n" * 500_000, "statement-too-long"),
    "`:-` over and over": ("a :- " * 200_000, "statement-too-long"),
    "negations": ("p :- " + "not " * 10_000 + "q.", "too-deep"),
    "boxes": ("p :- " + "boxminus[0,1] " * 4_000 + "q.", "too-deep"),
    "brackets": ("p :- " + "(" * 10_000 + "q" + ")" * 10_000, "too-deep"),
    "square brackets": ("p :- " + "[" * 10_000, "too-deep"),
    "sums": ("p(X) :- q(X), X = " + "1+" * 10_000 + "1.", "too-deep"),
    "signs": ("p(X) :- q(X), X = " + "-" * 10_000 + "X.", "too-deep"),
    "functions": ("p(X) :- q(X), X = " + "abs(" * 99 + "X + abs(1)" + ")" * 99 + ".", "too-deep"),
    "since": ("p :- " + "a since " * 6_000 + "b.", "too-deep"),
    "windows": ("p :- a" + " in [1]" * 6_000 + ".", "too-deep"),
    "literals": ("p :- " + ", ".join(["q"] * 201) + ".", "too-many-literals"),
    "arguments": ("p(X) :- q(" + ", ".join(["X"] * 65) + ").", "too-many-arguments"),
    "arguments of a fact": ("p(" + ", ".join(["a"] * 65) + ").", "too-many-arguments"),
    "fields": ("input p(" + ", ".join(f"f{i}" for i in range(65)) + ").", "too-many-arguments"),
    "digits": ("p(X) :- q(X), X = " + "1" * 60_000 + ".", "bad-number"),
    "digits of a time": ("p :- boxminus[0," + "1" * 60_000 + "] q.", "bad-number"),
    "digits of a shift": ("p(T) :- q@T+" + "1" * 60_000 + ".", "bad-number"),
    "digits of a window": ("p :- q in [#" + "1" * 60_000 + "].", "bad-number"),
    "an exponent": ("p(X) :- q(X), X = 1e1000000.", "bad-number"),
    "an exponent of a time": ("p(a)@1e1000000.", "bad-number"),
    "a division by zero": ("p(a)@1/0.", "bad-number"),
    "a NUL byte": ("p(\0) :- q.", "unexpected-character"),
    "a lone surrogate": ("p(\ud800).", "unexpected-character"),
    "an escape character": ("\x1b[31mp.", "unexpected-character"),
    "backslashes in text": ('p("' + "\\" * 60_001 + '").', "syntax"),
    "times without an end": ("p :- " + "(1 " * 90 + "," * 60_000, "syntax"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_soon(name):
    """A clear error comes in time, and it can be shown in a few lines."""
    text, code = HOSTILE[name]
    begin = time.process_time()
    with pytest.raises(ProgramError) as caught:
        parse(text)
    rendered = render(caught.value)
    assert time.process_time() - begin < SECONDS
    assert caught.value.diagnostics[0].code == code
    assert all(len(line) < 300 for line in rendered.splitlines())
    assert to_fields(caught.value)


def test_the_number_of_errors_is_bounded():
    """A file of garbage is not told line by line for ever."""
    with pytest.raises(ProgramError) as caught:
        parse("$\n" * 10_000)
    assert len(caught.value.diagnostics) == MAX_DIAGNOSTICS


def test_what_the_limits_allow_passes_every_check():
    """At the limits, neither the checks nor comparing and hashing run out of stack."""
    text = "p(X) :- q(X), " + "boxminus[0,1] " * 97 + "q(X), X = " + "-" * 96 + "X."
    program = parse(text)
    assert check(program) == ()
    assert hash(program.statements) == hash(parse(text).statements)


def test_many_unknown_names_are_told_soon():
    """Looking for the nearest name is bounded."""
    rules = "".join(f"p{i}(X) :- q{i}(X).\n" for i in range(1_500))
    begin = time.process_time()
    found = check(parse("input a(x).\n" + rules))
    assert time.process_time() - begin < SECONDS
    assert sum(item.code == "unknown-predicate" for item in found) == 1_500


def test_a_program_of_too_many_statements_is_refused() -> None:
    """Facts by the hundred thousand belong into a file: the program is refused before they are read."""
    with pytest.raises(ProgramError) as caught:
        parse("\n".join(f"p(n{i})." for i in range(MAX_STATEMENTS + 1)))
    assert [item.code for item in caught.value.diagnostics] == ["program-too-long"]
