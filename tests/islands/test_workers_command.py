"""`--workers` and `--actors`: what is told, what is refused, and what a gateway's file says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli import main
from tidelog.plans.diagnostics import systems
from tidelog.runtime.ports.actors import MOST_WORKERS

RULES = """timeline integer, unit 1 s.
input temp(room: text, celsius: integer).
output too_warm(room), busy.
warm(R) for 4 s :- temp(R, C), C > 5.
too_warm(R) :- warm(R) for 2 s.
busy :- N = count() over temp(R, C) in [10 s], N > 3.
"""
FACTS = "".join(f"temp(room{i % 7},{i % 11})@{i // 5}\n" for i in range(100))
LAYOUTS = [
    ("--workers", "2"),
    ("--workers", "2", "--actors", "rule"),
    ("--actors", "islands"),
    ("--actors", "rule"),
    ("--actors", "one", "--workers", "1"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "plant.tide").write_text(RULES)
    (tmp_path / "facts.txt").write_text(FACTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[str], str]:
    """The exit code of a run, its answers, and what it says."""
    code = main(["run", "plant.tide", "facts.txt", "--out", "facts+-", "--emit", "final", *options])
    told = capfd.readouterr()
    return code, sorted(told.out.splitlines()), told.err


def test_however_a_run_is_spread_it_tells_the_same(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Over processes or within one, by islands or by rules."""
    plain = run(capfd)
    assert plain[0] == 0
    assert len(plain[1]) > 5
    for layout in LAYOUTS:
        assert run(capfd, *layout) == plain


@pytest.mark.parametrize("layout", [("--workers", "2"), ("--actors", "rule")])
def test_what_was_counted_is_told_at_the_end(here: Path, capfd: pytest.CaptureFixture[str], layout: tuple[str, ...]) -> None:
    """`--stats` shows what the steps did, wherever they did it."""
    code, _, said = run(capfd, "--stats", *layout)
    assert code == 0
    (warm,) = [line.split() for line in said.splitlines() if line.startswith("tidelog: warm ")]
    assert int(warm[3]) == 45


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--workers", "0"), "--workers: expected a whole number above 0, got `0`"),
        (("--workers", str(MOST_WORKERS + 1)), f"`--workers` is from 1 to {MOST_WORKERS}, got {MOST_WORKERS + 1}"),
        (("--workers", "2", "--actors", "one"), "`--actors` is `one`, which cannot be in several workers"),
        (("--actors", "two"), "--actors: invalid choice: 'two'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    here: Path, capfd: pytest.CaptureFixture[str], options: tuple[str, ...], told: str
) -> None:
    """Before anything is read."""
    try:
        code = main(["run", "plant.tide", "nowhere.txt", *options])
    except SystemExit as exit:
        code = exit.code
    assert code == 2
    assert told in capfd.readouterr().err


def test_workers_are_refused_without_posix(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the name of the option, or of the key; actors in one process can be had."""
    monkeypatch.setattr(systems, "has_posix", lambda: False)
    assert run(capfd, "--actors", "islands")[0] == 0
    code, _, said = run(capfd, "--workers", "2")
    assert code == 2
    assert "`--workers` above 1: this needs Linux or macOS" in said
    assert checked(here, "workers = 2", capfd)[:2] == (1, [])
    assert "`workers` above 1: this needs Linux or macOS" in checked(here, "workers = 2", capfd)[2]


# --- what is stored -------------------------------------------------------------------------------------------------------


def stored(folder: Path, capfd: pytest.CaptureFixture[str], *options: str) -> dict[str, list[int]]:
    """For each step, or each island, the rows that `tidelog state` tells of it, of several shards one by one."""
    assert main(["state", str(folder / "state"), *options]) == 0
    found: dict[str, list[int]] = {}
    for line in capfd.readouterr().out.splitlines():
        name, _, told = line.strip().partition(": ")
        if line.startswith("  ") and " bytes" in line and name.startswith("island ") == bool(options):
            found.setdefault(name.split(",")[0], []).append(int(told.split(" row")[0]))
    return found


def test_a_state_is_shown_as_a_run_would_be_spread(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever has stored it: all rows are in some part, and those of an island with a key are divided."""
    assert run(capfd, "--state", "state", "--at-end", "stop", "--workers", "2")[0] == 0
    steps = stored(here, capfd)
    whole = sum(rows for (rows,) in steps.values())
    assert whole > 50
    by_rule = stored(here, capfd, "--actors", "rule")
    assert {name.removeprefix("island "): rows for name, rows in by_rule.items()} == steps
    islands = stored(here, capfd, "--actors", "islands")
    assert list(islands) == ["island too_warm", "island busy"]
    shards = stored(here, capfd, "--workers", "3")
    assert [len(rows) for rows in shards.values()] == [3, 1]
    assert {name: [sum(rows)] for name, rows in shards.items()} == islands
    assert all(shards["island too_warm"])
    assert sum(rows for (rows,) in islands.values()) == whole
    assert stored(here, capfd, "--actors", "one") == {}


# --- the gateway's file --------------------------------------------------------------------------------------------------

ENDS = '[[source]]\nname = "floor"\ntype = "spec"\nspec = "-"\n[[sink]]\nname = "screen"\ntype = "spec"\nspec = "-"\n'


def checked(folder: Path, text: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    """The exit code of `--check`, what it tells of the program's spread, and what it says."""
    (folder / "plant.toml").write_text(f'program = "plant.tide"\n{text}\n{ENDS}')
    code = main(["gateway", str(folder / "plant.toml"), "--check"])
    told = capfd.readouterr()
    return code, [line for line in told.out.splitlines() if "island" in line], told.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", []),
        ('actors = "one"', []),
        ("workers = 2", ["  2 islands, 1 with a key: 3 shards in 2 workers"]),
        ('actors = "islands"', ["  2 islands, 1 with a key: 2 shards in 1 worker"]),
        ('workers = 4\nactors = "rule"', ["  6 islands, 0 with a key: 6 shards in 4 workers"]),
    ],
)
def test_a_check_tells_over_what_a_program_is_spread(
    here: Path, capfd: pytest.CaptureFixture[str], text: str, told: list[str]
) -> None:
    """How many islands there are, and in how many processes."""
    assert checked(here, text, capfd) == (0, told, "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("workers = 0", "`workers`: expected a number >= 1"),
        ('workers = "2"', "`workers`: expected a number, got text"),
        ("workers = 1000", f"`workers`: expected a number <= {MOST_WORKERS}"),
        ('workers = 2\nactors = "one"', "`actors` is `one`, which cannot be in several workers"),
        ('actors = "rules"', "`actors`: "),
        ("supervision = { worker_bytes = 10 }", "`worker_bytes`: expected a number >= 1000000"),
    ],
)
def test_a_file_with_workers_that_cannot_be_is_wrong(
    here: Path, capfd: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    """By the name of the key."""
    code, _, said = checked(here, text, capfd)
    assert code == 1
    assert told in said


def test_workers_without_work_are_doubted(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A program without a key is in one worker, whatever is said."""
    (here / "plant.tide").write_text(RULES.replace("busy :-", "busy :- too_warm(_),"))
    assert checked(here, "workers = 2", capfd)[2] == ""
    (here / "plant.tide").write_text(
        "timeline integer, unit 1 s.\ninput temp(room: text, celsius: integer).\noutput busy.\n"
        "busy :- N = count() over temp(R, C) in [10 s], N > 3.\n"
    )
    said = checked(here, "workers = 2", capfd)[2]
    assert "program `plant`: `workers` is 2, and its rules are one island without a key" in said
    assert "so 1 of the workers will have nothing to do" in said


def test_supervision_without_actors_is_doubted(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Where all rules are one actor, nothing fails alone."""
    said = "`[supervision]` is without effect"
    assert said in checked(here, "supervision = { poisons = 3 }", capfd)[2]
    assert said not in checked(here, 'actors = "islands"\nsupervision = { poisons = 3 }', capfd)[2]


def test_each_rule_is_explained(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As the actors of `run --actors rule`: none has a key."""
    assert main(["explain", "plant.tide", "--actors"]) == 0
    islands = capfd.readouterr().out
    assert main(["explain", "plant.tide", "--actors", "--by", "rule"]) == 0
    rules = capfd.readouterr().out
    assert "spread by K" in islands and "spread by K" not in rules
    assert rules.count(" step, not spread") > islands.count("\n\n")
    assert main(["explain", "plant.tide", "--by", "rule"]) == 2
    assert "`--by` says which parts `--actors` shows" in capfd.readouterr().err


def test_each_program_of_a_file_has_its_own(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Where there are several, the keys stand in their tables."""
    two = '[[programs]]\nprogram = "plant.tide"\nname = "a"\nworkers = 2\n[[programs]]\nprogram = "plant.tide"\nname = "b"\n'
    (here / "two.toml").write_text(two + ENDS.replace("[[sink]]", 'program = "a"\n[[sink]]') + 'program = "b"\n')
    assert main(["gateway", "two.toml", "--check"]) == 0
    told = capfd.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in told if "shard" in line or line.startswith("program")] == [
        "program a",
        "  2 islands, 1 with a key",
        "program b",
    ]
    (here / "two.toml").write_text(f"workers = 2\n{two}")
    assert main(["gateway", "two.toml", "--check"]) == 1
    assert "`workers` belongs into the tables `[[programs]]`" in capfd.readouterr().err
