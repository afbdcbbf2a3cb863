"""Commands and options: each is explained, none is guessed, and the nearest is named."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from children import tidelog
from tidelog.cli import COMMANDS, command_line
from tidelog.commands.arguments import Parser
from tidelog.commands.given import named_facts
from tidelog.commands.help_pages import EXAMPLES


def parsers(parser: Parser) -> Iterator[Parser]:
    """A parser, and those of all its commands."""
    parser.fill()
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


def every_parser() -> dict[str, Parser]:
    return {parser.prog: parser for parser in parsers(command_line())}


def test_all_commands_are_there() -> None:
    """The commands, and those of `spark` and `tables`."""
    inner = ("tables optimize", "tables vacuum", "tables delete", "tables take-over", "spark archive", "spark run")
    assert set(every_parser()) == {"tidelog", *(f"tidelog {name}" for name in (*COMMANDS, *inner))}


def test_every_option_has_a_help_text() -> None:
    """Also the arguments, and the commands themselves."""
    silent = [
        f"{prog} {action.option_strings or action.dest}"
        for prog, parser in every_parser().items()
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert silent == []


def test_no_option_may_be_shortened() -> None:
    """`--stat` is none, for any command."""
    assert [prog for prog, parser in every_parser().items() if parser.allow_abbrev] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "p.tide", "--stat"], "tidelog: error: unknown option `--stat`; did you mean `--stats`?"),
        (["run", "p.tide", "--emti=final"], "unknown option `--emti`; did you mean `--emit`?"),
        (["run", "p.tide", "--emti", "final"], "unknown option `--emti`; did you mean `--emit`?"),
        (["materialise", "p.tide", "--utnil", "3", "f.txt"], "unknown option `--utnil`; did you mean `--until`?"),
        (["spark", "run", "p.tide", "--in", "f", "--stat"], "unknown option `--stat`; did you mean `--stats`?"),
        (["spark", "rnu", "p.tide"], "unknown command 'rnu' (choose from run, archive); did you mean `run`?"),
        (["--versoin"], "unknown option `--versoin`; did you mean `--version`?"),
        (["chek", "p.tide"], "did you mean `check`?"),
        (["run", "p.tide", "--emit", "finl"], "invalid choice: 'finl' (choose from"),
        (["run", "p.tide", "--emit", "finl"], "did you mean `final`?"),
        (["check", "p.tide", "q.tide"], "unexpected argument `q.tide`; see `tidelog check --help`\n"),
        (["check", "p.tide", "--zzz\x1b[2J"], r"unknown option `--zzz\x1b[2J`"),
    ],
)
def test_what_is_unknown_is_named_with_the_nearest(
    arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and one line, which leads to the help page of the command that does not know it."""
    with pytest.raises(SystemExit) as left:
        command_line().parse_args(arguments)
    out, error = capfd.readouterr()
    assert (left.value.code, out) == (2, "")
    assert said in error
    shown = " ".join(word for word in arguments[:2] if word in ("run", "spark", "materialise", "plot"))
    assert error.startswith("tidelog: error: ") and error.count("\n") == 1
    assert f"see `{' '.join(['tidelog', *shown.split()])}" in error and error.endswith("--help`\n")


def test_each_help_page_begins_with_a_sentence_and_ends_with_examples() -> None:
    """The arguments, what the command does, the options in groups, and two lines that the command line takes."""
    for prog, parser in every_parser().items():
        name = prog.removeprefix("tidelog").strip()
        lines = parser.format_help().splitlines()
        assert lines[0].startswith(f"usage: {prog} [OPTIONS]".strip())
        assert lines[1] == "" and lines[2][0].isupper() and lines[2].endswith(".")
        if not name:
            continue
        assert len(EXAMPLES[name]) == 2 and lines[-5] == "examples:"
        for line, note in EXAMPLES[name]:
            assert f"  {line}" in lines and f"      {note}" in lines
            words = shlex.split(re.sub(r" (?:>>|[<>]) \S+", "", line).replace("*", "x"))
            assert words[0] == "tidelog"
            command_line().parse_args(words[1:])


def test_options_stand_in_groups() -> None:
    """In one order, whatever the order in which they were added."""
    page = every_parser()["tidelog run"].format_help()
    titles = re.findall(r"^([a-z ]+):$", page, re.MULTILINE)
    assert titles == ["positional arguments", "options", "input", "time", "output", "state", "limits", "examples"]
    assert page.index("--in SPEC") < page.index("--lateness D") < page.index("--emit") < page.index("--state DIR")


def test_options_may_stand_between_arguments() -> None:
    """As in `materialise PROGRAM A --until 3 B`."""
    options = command_line().parse_args(["materialise", "p.tide", "a.txt", "--until", "3", "b.txt"])
    assert (options.facts, options.until) == (["a.txt", "b.txt"], "3")


def test_facts_are_named_in_one_way() -> None:
    """Every command that takes facts takes them behind the program, by `--in`, and both, and says the same of them."""
    reading = [parser for parser in every_parser().values() if any(action.dest == "facts" for action in parser._actions)]
    names = "run ask materialise backtest plot entails consistent explain why verify"
    assert {parser.prog for parser in reading} == {f"tidelog {name}" for name in (*names.split(), "spark run")}
    for parser in reading:
        by_name = {action.dest: action for action in parser._actions}
        assert (by_name["facts"].metavar, by_name["facts"].nargs) == ("FACTS", "*")
        assert by_name["sources"].option_strings == ["--in"] and by_name["strict"].option_strings == ["--strict"]
        programs = ["p.tide"] * (2 if parser.prog.endswith("backtest") else 1)
        last = ["why.json"] if parser.prog.endswith("verify") else []
        fact = ["--fact", "p"] if "fact" in by_name else []
        words = [*parser.prog.split()[1:], *programs, "a", "--in", "b", *fact, "c", *last, "--in", "d"]
        assert named_facts(command_line().parse_args(words)) == ["a", "c", "b", "d"]


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["spark", "run", "--help"], ["--version"]])
def test_help_goes_to_standard_output(arguments: list[str]) -> None:
    """And is no error."""
    done = tidelog(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: tidelog" if "--help" in arguments else "tidelog ")


@pytest.mark.parametrize(
    ("settings", "is_coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_asked_for_and_forbidden(
    settings: dict[str, str], is_coloured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR and FORCE_COLOR, for the diagnostics of a program, without a terminal."""
    (tmp_path / "p.tide").write_text("p(X, Y) :- q(X).\n")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    done = tidelog("check", "p.tide", cwd=tmp_path)
    assert done.returncode == 1
    assert ("\x1b[" in done.stderr) == is_coloured
