"""Exit codes: one table, in the documents and in `tidelog --help`, and every command keeps to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from children import tidelog
from tidelog.cli import COMMANDS
from tidelog.commands.help_pages import EXIT_CODES

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "timeline integer.\ninput hot(pump: text).\noutput alarm.\nalarm(X) :- boxminus[0,2] hot(X).\n"
FACTS = "hot(a)@1\nhot(a)@2\nhot(a)@3\n"
UNUSABLE = FACTS + "hot(a,b)@4\nhto(a)@5\n"
HOLDS = ("--fact", "alarm(a)@3")

READING: Mapping[str, tuple[str, ...]] = {
    "run": ("run", "PROGRAM", "FACTS", "--out", "facts+-"),
    "ask": ("ask", "PROGRAM", "FACTS", "--query", "alarm(X)@T"),
    "materialise": ("materialise", "PROGRAM", "FACTS"),
    "backtest": ("backtest", "PROGRAM", "PROGRAM", "FACTS"),
    "plot": ("plot", "PROGRAM", "FACTS"),
    "entails": ("entails", "PROGRAM", "FACTS", *HOLDS),
    "consistent": ("consistent", "PROGRAM", "FACTS"),
    "explain": ("explain", "PROGRAM", "FACTS", "--stage", "ltl"),
    "why": ("why", "PROGRAM", "FACTS", *HOLDS),
    "verify": ("verify", "PROGRAM", "FACTS", "why.json"),
}
"""A call of each command that reads facts, which ends with exit code 0."""
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    **READING,
    "check": ("check", "PROGRAM"),
    "fmt": ("fmt", "--check", "PROGRAM"),
    "types": ("types", "PROGRAM"),
    "replay": ("replay", "state", "PROGRAM"),
    "spark run": ("spark", "run", "PROGRAM", "FACTS"),
}
"""A call of each command that takes a program."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs and facts, good and bad, a certificate, and the state of a run."""
    folder = tmp_path_factory.mktemp("codes")
    texts = {
        "good.tide": PROGRAM,
        "bad.tide": "alarm(X) :- .\n",
        "good.txt": FACTS,
        "unusable.txt": UNUSABLE,
        "none.txt": "",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "why.json").write_text(tidelog("why", "good.tide", "good.txt", *HOLDS, "--format", "json", cwd=folder).stdout)
    assert tidelog("run", "good.tide", "good.txt", "--state", "state", "--keep", "1d", cwd=folder).returncode == 0
    return folder


def code(folder: Path, call: tuple[str, ...], program: str = "good.tide", facts: str = "good.txt", *more: str) -> int:
    """The exit code of a call; of each one that is not 0 standard error says why."""
    words = [{"PROGRAM": program, "FACTS": facts}.get(word, word) for word in call]
    done = tidelog(*words, *more, cwd=folder)
    assert done.returncode == 0 or done.stderr or done.stdout, words
    assert "Traceback" not in done.stderr
    return done.returncode


@pytest.mark.parametrize("command", READING)
def test_what_cannot_be_used_is_counted(folder: Path, command: str) -> None:
    """Exit code 0 and a count on standard error; 1 with `--strict`, also where facts are told by `--in`."""
    call = READING[command]
    assert code(folder, call) == 0
    words = [{"PROGRAM": "good.tide", "FACTS": "unusable.txt"}.get(word, word) for word in call]
    done = tidelog(*words, cwd=folder)
    assert (done.returncode, "2 records could not be used" in done.stderr) == (0, True)
    assert done.stderr.count("unusable.txt:4: ") == done.stderr.count("unusable.txt:5: ") == 1
    strict = tidelog(*words, "--strict", cwd=folder)
    assert strict.returncode == 1
    assert "tidelog: error: 2 records could not be used (`--strict`)\n" in strict.stderr
    assert (strict.stdout == "") == (command not in ("run", "ask"))
    named = tuple(word for word in call if word != "FACTS")
    assert code(folder, named, "good.tide", "", "--strict", "--in", "unusable.txt") == 1
    assert code(folder, call, "good.tide", "good.txt", "--strict") == 0


@pytest.mark.parametrize("command", READING)
def test_facts_may_be_named_in_both_ways(folder: Path, command: str) -> None:
    """What is told is the same: behind the program, by `--in`, and one file so and one so."""
    call = [word.replace("PROGRAM", "good.tide") for word in READING[command]]
    first = call.index("FACTS")

    def told(facts: list[str], named: list[str]) -> str:
        ins = [word for name in named for word in ("--in", name)]
        return tidelog(*call[:first], *facts, *call[first + 1 :], *ins, cwd=folder).stdout

    assert told(["good.txt"], []) == told([], ["good.txt"]) != ""
    assert told(["good.txt"], ["none.txt"]) == told(["none.txt"], ["good.txt"]) == told([], ["good.txt", "none.txt"]) != ""


@pytest.mark.parametrize("command", PROGRAMS)
def test_wrong_programs_and_wrong_options(folder: Path, command: str) -> None:
    """A program with an error is 1; one that is not there, facts that are not there, and an unknown option are 2."""
    call = PROGRAMS[command]
    assert code(folder, call, "bad.tide") == 1
    assert code(folder, call, "nowhere.tide") == 2
    assert code(folder, call, "good.tide", "good.txt", "--nothing") == 2
    if "FACTS" in call:
        assert code(folder, call, "good.tide", "nowhere.txt") == 2


INNER = ("tables optimize", "tables vacuum", "tables delete", "tables take-over", "spark archive", "spark run")


@pytest.mark.parametrize("command", [*COMMANDS, *INNER])
def test_every_command_knows_help_and_refuses_what_it_does_not_know(folder: Path, command: str) -> None:
    """0 and 2."""
    assert code(folder, (*command.split(), "--help")) == 0
    assert code(folder, (*command.split(), "--nothing")) == 2


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("entails", "good.tide", "good.txt", "--fact", "alarm(a)@9"), 1),
        (("entails", "count.tide", "none.txt", "--fact", "n(-1)@3", "--method", "materialise"), 2),
        (("entails", "clash.tide", "good.txt", "--fact", "hot(z)@1"), 3),
        (("consistent", "clash.tide", "good.txt"), 1),
        (("materialise", "clash.tide", "good.txt"), 1),
        (("plot", "clash.tide", "good.txt"), 1),
        (("run", "clash.tide", "good.txt"), 1),
        (("why", "good.tide", "good.txt", "--fact", "alarm(a)@9"), 1),
        (("verify", "good.tide", "none.txt", "why.json"), 1),
        (("check", "warned.tide"), 0),
        (("fmt", "--check", "warned.tide"), 1),
        (("test", "wrong.toml"), 1),
        (("state", "state"), 0),
        (("state", "nowhere"), 2),
        (("gateway", "nowhere.toml", "--check"), 2),
        (("gateway", "wrong.toml", "--check"), 1),
        (("peek", "nowhere.csv"), 2),
        (("spark", "run", "good.tide"), 2),
        (("backtest", "good.tide", "good.tide"), 2),
        (("init", "plant"), 2),
        (("completion", "csh"), 2),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else str(value),
)
def test_answers_and_mistakes(folder: Path, call: tuple[str, ...], expected: int) -> None:
    """What each command has of its own."""
    (folder / "clash.tide").write_text(PROGRAM + "bottom :- hot(X).\n")
    (folder / "count.tide").write_text("n(0).\nn(Y) :- n(X), Y = X + 1.\n")
    (folder / "warned.tide").write_text("timeline integer.\ninput hot(pump).\nalarm(X):-hot(X),hot(Y).\n")
    (folder / "wrong.toml").write_text("nothing = 1\n")
    (folder / "plant").mkdir(exist_ok=True)
    (folder / "plant" / "plant.toml").touch()
    assert code(folder, call) == expected


def test_replay_counts_what_it_leaves_out(folder: Path) -> None:
    """Facts of the journal that the program expects to have other arguments: 0, and 1 with `--strict`."""
    (folder / "other.tide").write_text("timeline integer.\ninput hot(pump: text, value: number).\nq(X) :- hot(X, V).\n")
    call = ("replay", "state", "other.tide")
    assert "3 facts could not be used" in tidelog(*call, cwd=folder).stderr
    assert (code(folder, call), code(folder, (*call, "--strict"))) == (0, 1)
    asked = tidelog("why", "--state", "state", "other.tide", "--fact", "q(a)@1", "--strict", cwd=folder)
    assert (asked.returncode, asked.stdout) == (1, "")
    assert "3 facts of the journal could not be used (`--strict`)" in asked.stderr


def test_the_documents_and_the_help_page_have_the_same_codes() -> None:
    """One table, to which others link."""
    text = (ROOT / "docs" / "reference" / "commands.md").read_text()
    table = text[text.index("## Exit codes") :]
    rows = dict(re.findall(r"^\| ([0-9, ]+) \| ([^|]*(?:\\\|[^|]*)*) \|$", table, re.MULTILINE))
    assert list(rows) == list(EXIT_CODES)
    page = tidelog("--help").stdout
    assert all(f"{number:<9} {said}" in page for number, said in EXIT_CODES.items())
    assert "docs/reference/commands.md" in page
