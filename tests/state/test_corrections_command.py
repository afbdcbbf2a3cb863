"""`tidelog run --corrections`, and what its journal tells of a history that was corrected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidelog.cli import main

PROGRAM = "timeline integer, unit 1 s.\ninput hot(pump).\nalarm(P) :- boxminus[0,2] hot(P).\n"

Captured = pytest.CaptureFixture[str]


def line(time: int, *, back: bool = False, pump: str = "p1") -> str:
    return json.dumps({"hot": {"pump": pump}, "time": time} | ({"retract": True} if back else {}))


def run(folder: Path, lines: list[str], *options: str, out: str = "told.jsonl") -> int:
    """A run over these lines, which goes on where the last one stopped."""
    (folder / "p.tide").write_text(PROGRAM)
    with (folder / "facts.jsonl").open("a") as file:
        file.writelines(f"{text}\n" for text in lines)
    command = [
        "run",
        str(folder / "p.tide"),
        "--in",
        str(folder / "facts.jsonl"),
        "--out",
        out if "+" in out else str(folder / out),
    ]
    return main([*command, "--state", str(folder / "state"), "--at-end", "stop", "--emit", "changes", *options])


TAKES = ("--keep", "7d", "--corrections")


def test_a_corrected_history_is_what_replay_why_verify_and_the_next_run_know(tmp_path: Path, capfd: Captured) -> None:
    """The run tells the difference; from then on all that reads the journal knows of the fact no more."""
    state = ["--state", str(tmp_path / "state")]
    assert run(tmp_path, [line(time) for time in (1, 2, 3, 4)], *TAKES) == 0
    assert main(["why", *state, "--fact", "alarm(p1)@3", "--format", "json"]) == 0
    (tmp_path / "certificate.json").write_text(capfd.readouterr().out)
    assert run(tmp_path, [line(2, back=True), line(9, back=True), line(5)], *TAKES) == 0
    assert "facts.jsonl:6: not retracted: nothing that was accepted holds then: retract hot(p1)@9" in capfd.readouterr().err
    assert [json.loads(text) for text in (tmp_path / "told.jsonl").read_text().splitlines()] == [
        {"predicate": "alarm", "args": ["p1"], "begins": 3},
        {"predicate": "alarm", "args": ["p1"], "begins": 3, "retracted": True},
        {"predicate": "alarm", "args": ["p1"], "begins": 5},
    ]
    assert main(["replay", str(tmp_path / "state"), "--format", "facts"]) == 0
    assert capfd.readouterr().out == "alarm(p1)@[5..\n"
    assert main(["why", *state, "--fact", "alarm(p1)@3"]) == 1
    assert "fails boxminus[0,2] hot(p1): hot(p1)@2" in capfd.readouterr().out
    assert main(["verify", *state, str(tmp_path / "certificate.json")]) == 1
    assert run(tmp_path, [line(5, back=True), line(6), line(7), line(8)], *TAKES) == 0
    assert (tmp_path / "told.jsonl").read_text().splitlines()[3:] == [
        '{"predicate":"alarm","args":["p1"],"begins":5,"retracted":true}',
        '{"predicate":"alarm","args":["p1"],"begins":8}',
    ]
    assert run(tmp_path, [line(20)], *TAKES) == 0
    assert main(["state", str(tmp_path / "state")]) == 0
    assert "older snapshots: as of events " in capfd.readouterr().out


def test_what_no_output_needs_is_taken_back_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    """A fact of a predicate that the program does not use is passed over, and so is its retraction, after a restart, too."""
    monkeypatch.setitem(run.__globals__, "PROGRAM", "timeline integer, unit 1 s.\nalarm(P) :- boxminus[0,2] hot(P).\n")
    facts = ['{"predicate":"hot","args":["p1"],"time":1}', '{"predicate":"other","args":["p1"],"time":2}']
    back = [text.replace("}", ',"retract":true}') for text in facts]
    assert run(tmp_path, [*facts, back[1]], *TAKES) == 0
    assert run(tmp_path, [back[1], back[0], back[0]], *TAKES) == 0
    refused = [text for text in capfd.readouterr().err.splitlines() if "not retracted" in text]
    assert [text.partition(": ")[2].rpartition(" ")[2] for text in refused] == ["hot(p1)@1"]


def test_what_is_taken_back_is_read_by_another_run(tmp_path: Path, capfd: Captured) -> None:
    """As text, a fact that was told and is taken back is taken back there, too."""
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    for lines in ([line(1), line(2), line(3), line(9)], [line(2, back=True)]):
        assert run(tmp_path / "first", lines, *TAKES, out="told.txt") == 0
    told = (tmp_path / "first" / "told.txt").read_text()
    assert "retract alarm(p1)@3\n" in told
    (tmp_path / "siren.tide").write_text("timeline integer.\ninput alarm(pump).\nsiren :- diamondminus[0,1] alarm(_).\n")
    (tmp_path / "alarms.txt").write_text("".join(text for text in told.splitlines(keepends=True) if ".." not in text))
    command = [
        "run",
        str(tmp_path / "siren.tide"),
        "--in",
        str(tmp_path / "alarms.txt"),
        "--out",
        str(tmp_path / "sirens.txt"),
    ]
    capfd.readouterr()
    assert main([*command, "--state", str(tmp_path / "second"), "--emit", "changes", *TAKES]) == 0
    assert (tmp_path / "sirens.txt").read_text() == "siren@[3..\nretract siren@[3..\n"
    assert capfd.readouterr().err == ""


def test_reasons_are_told_of_what_holds_now(tmp_path: Path) -> None:
    """With `--explain`, a change that is told anew says what it follows from."""
    assert run(tmp_path, [line(time) for time in (1, 2, 3)], *TAKES, "--explain") == 0
    assert run(tmp_path, [line(1, back=True), line(4)], *TAKES, "--explain") == 0
    told = [json.loads(text) for text in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert [(change["begins"], "because" in change, "retracted" in change) for change in told] == [
        (3, True, False),
        (3, False, True),
        (4, True, False),
    ]


def test_without_corrections_a_retraction_is_a_dead_letter_with_a_hint(tmp_path: Path, capfd: Captured) -> None:
    """The fact stays, and the letter names the option."""
    assert run(tmp_path, [line(1), line(2), line(3), line(2, back=True)], "--keep", "7d") == 0
    assert (tmp_path / "told.jsonl").read_text().count("\n") == 1
    assert "facts.jsonl:4: a fact is taken back, which only `tidelog run --corrections` does" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "out", "message"),
    [
        (["--corrections"], "told.jsonl", "add `--state DIR --keep 7d`"),
        ([*TAKES, "--emit", "final"], "told.jsonl", "add `--emit changes`"),
        (TAKES, "spark+outbox:box?node=n", "an outbox has no form for answers that are taken back"),
        ([*TAKES, "--http", "127.0.0.1:0"], "told.jsonl", "the page shows no answers that are taken back"),
    ],
)
def test_outputs_that_do_not_take_it_are_refused_at_start(
    tmp_path: Path, capfd: Captured, options: list[str], out: str, message: str
) -> None:
    """A mistake in usage, before anything is opened."""
    assert run(tmp_path, [line(1)], *options, out=out) == 2
    assert message in capfd.readouterr().err
    assert not (tmp_path / "state").exists()
