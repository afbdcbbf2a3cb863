"""`tidelog why` and `tidelog verify` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pytest

from tidelog.cli import FAULT, main
from tidelog.runtime.why.proofs import search

PROGRAM = "timeline integer, unit 1 s.\ninput hot(pump).\nalarm(X) :- boxminus[0,2] hot(X), not ok(X).\nok(X) :- seen(X).\n"
PROGRAM += 'input seen(pump).\nbackground zone from "zone.csv".\nbad(X) :- alarm(X), zone(X, north).\nbottom :- bad(p9).\n'
FACTS = "hot(p1)@1\nhot(p1)@2\nhot(p1)@3\nseen(p1)@3\nhot(p1)@4\nhot(p2)@[1,4]\n"

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A program and facts in files."""
    (tmp_path / "alarm.tide").write_text(PROGRAM)
    (tmp_path / "zone.csv").write_text("pump,zone\np1,north\np2,south\n")
    (tmp_path / "facts.txt").write_text(FACTS)
    return [str(tmp_path / "alarm.tide"), str(tmp_path / "facts.txt")]


def test_why_it_holds(files: list[str], capfd: Captured) -> None:
    """Text on standard output, nothing else, and exit code 0."""
    assert main(["why", *files, "--fact", "bad(p1)@4"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out == (
        "bad(p1)@4\n"
        "  by bad(X) :- alarm(X), zone(X, north).  where X = p1\n"
        "  alarm(p1)@4\n"
        "    by alarm(X) :- boxminus[0,2] hot(X), not ok(X).  where X = p1\n"
        "    hot(p1)@[2,4]  (input)\n"
        "    not ok(p1)@4  (absent)\n"
        "  zone(p1,north)@4  (background)\n"
    )


def test_why_it_does_not(files: list[str], capfd: Captured) -> None:
    """What fails, and exit code 1; as JSON as the contract has it."""
    assert main(["why", *files, "--fact", "alarm(p1)@3", "--format", "json"]) == 1
    told = json.loads(capfd.readouterr().out)
    rule = "alarm(X) :- boxminus[0,2] hot(X), not ok(X)."
    assert (told["holds"], told["fact"]) == (False, "alarm(p1)@3")
    assert told["attempts"] == [{"by": rule, "premise": "not ok(p1)", "fails": "not ok(p1)@3", "nearest": "ok(p1)@3"}]


def test_a_certificate_is_verified(files: list[str], tmp_path: Path, capfd: Captured) -> None:
    """What `why` prints as JSON is taken; with one time more it is refused, with the reason on standard error."""
    for fact, code in (("bad(p1)@4", 0), ("alarm(p1)@3", 1)):
        assert main(["why", *files, "--fact", fact, "--format", "json"]) == code
        certificate = tmp_path / "certificate.json"
        certificate.write_text(capfd.readouterr().out)
        assert main(["verify", *files, str(certificate)]) == 0
        assert capfd.readouterr() == ("true\n", "")
        certificate.write_text(certificate.read_text().replace("@4", "@[3,4]").replace("@3", "@4"))
        assert main(["verify", *files, str(certificate)]) == 1
        out, err = capfd.readouterr()
        assert out == "false\n"
        assert err.startswith("tidelog: refused: ")


def test_all_ways_are_shown_one_by_one(tmp_path: Path, capfd: Captured) -> None:
    """With --all every instance of a rule that derives the fact, the lowest proof first; with a number so many."""
    (tmp_path / "p.tide").write_text("c :- b. b :- d. c :- a(_). c :- c.")
    (tmp_path / "f.txt").write_text("a(x)@1\na(y)@1\nd@1\n")
    files = [str(tmp_path / "p.tide"), str(tmp_path / "f.txt")]
    assert main(["why", *files, "--fact", "c@1", "--all", "--format", "json"]) == 0
    lines = [json.loads(line)["proof"] for line in capfd.readouterr().out.splitlines()]
    assert lines[0]["by"] == "c :- a(_)."
    premises = sorted(line["premises"][0]["fact"] for line in lines)
    assert premises == ["a(x)@1", "a(y)@1", "b@1"]
    assert main(["why", *files, "--fact", "c@1", "--all", "2"]) == 0
    assert capfd.readouterr().out.count("c@1\n") == 2


def test_times_can_be_shown_as_dates(files: list[str], capfd: Captured) -> None:
    """With --iso text has dates; a certificate always has numbers."""
    assert main(["why", *files, "--fact", "alarm(p2)@1970-01-01T00:00:03Z", "--iso"]) == 0
    assert "hot(p2)@[1970-01-01T00:00:01Z,1970-01-01T00:00:03Z]  (input)" in capfd.readouterr().out
    assert main(["why", *files, "--fact", "alarm(p2)@3", "--iso", "--format", "json"]) == 0
    assert '"hot(p2)@[1,3]"' in capfd.readouterr().out
    assert main(["why", *files, "--fact", "alarm(p2)@9", "--iso", "--format", "json"]) == 1
    assert "1970" not in capfd.readouterr().out


def test_a_picture(files: list[str], capfd: Captured) -> None:
    """SVG, of what holds and of what does not."""
    assert main(["why", *files, "--fact", "alarm(p2)@3", "--format", "svg"]) == 0
    assert capfd.readouterr().out.startswith("<svg ")
    assert main(["why", *files, "--fact", "alarm(p2)@9", "--format", "svg"]) == 1
    assert "does not hold" in capfd.readouterr().out


def test_tuple_windows_are_explained(tmp_path: Path, capfd: Captured) -> None:
    """Programs that batch reasoning does not take are explained from what a stream gives, with lines in order of arrival."""
    (tmp_path / "p.tide").write_text("timeline integer. b(X,T) :- a(X)@T in [#2 of a].")
    (tmp_path / "f.txt").write_text("a(z)@2\na(y)@2\na(x)@2\n")
    files = [str(tmp_path / "p.tide"), str(tmp_path / "f.txt")]
    assert main(["why", *files, "--fact", "b(y,2)@9", "--format", "json"]) == 0
    certificate = tmp_path / "c.json"
    certificate.write_text(capfd.readouterr().out)
    assert main(["verify", *files, str(certificate)]) == 0
    assert main(["why", *files, "--fact", "b(z,2)@9"]) == 1


def test_finer_facts_are_exact(tmp_path: Path, capfd: Captured) -> None:
    """Facts, and the fact asked for, may be finer than the program's own numbers."""
    (tmp_path / "p.tide").write_text("b :- diamondminus[0,1] a.")
    (tmp_path / "f.txt").write_text("a@1/3\n")
    files = [str(tmp_path / "p.tide"), str(tmp_path / "f.txt")]
    assert main(["why", *files, "--fact", "b@(9/7,4/3]", "--format", "json"]) == 0
    certificate = tmp_path / "c.json"
    certificate.write_text(capfd.readouterr().out)
    assert main(["verify", *files, str(certificate)]) == 0
    assert main(["why", *files, "--fact", "b@[4/3,134/100]"]) == 1


def test_what_is_asked_wrongly(files: list[str], tmp_path: Path, capfd: Captured) -> None:
    """Mistakes in usage have exit code 2, and say what to do; a certificate that is no JSON has 1."""
    for arguments, told in (
        (["why", "--state", "runs", "--fact", "a@1"], "there is no state in `runs`"),
        (["why", *files, "--state", "runs", "--fact", "a@1"], "--state takes the facts from the journal of a run"),
        (["verify", *files, "certificate.json", "--state", "runs"], "--state takes the facts from the journal of a run"),
        (["verify", "certificate.json"], "expected the file of a program"),
        (["why", "--fact", "a@1"], "expected the file of a program"),
        (["why", *files], "--fact"),
        (["why", *files, "--fact", "alarm(p1)"], "--fact: "),
        (["why", *files, "--fact", "a@1", "--fact", "a@2"], "asks for one fact"),
        (["why", *files, "--fact", "alarm(p1)@4", "--all", "--format", "svg"], "--all shows text or JSON"),
        (["verify", *files, str(tmp_path / "nowhere.json")], "cannot read"),
    ):
        assert main(arguments) == 2
        assert told in capfd.readouterr().err
    for text in ("", "{", "[" * 100_000, "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")):
        (tmp_path / "c.json").write_text(text, "latin-1")
        assert main(["verify", *files, str(tmp_path / "c.json")]) == 1
        assert "the certificate" in capfd.readouterr().err


def test_an_unknown_predicate_is_noted(files: list[str], capfd: Captured) -> None:
    """A name that nothing knows is told, with the nearest one."""
    assert main(["why", *files, "--fact", "alarn(p1)@4"]) == 1
    out, err = capfd.readouterr()
    assert "did you mean `alarm`?" in err
    assert "no rule could derive it" in out


def test_a_search_without_end_is_stopped(tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fact that repeats for ever is explained where it is near, and is told to be too far where it is not: exit code 2."""
    (tmp_path / "p.tide").write_text("timeline integer. boxplus[1,1] p :- p.")
    (tmp_path / "f.txt").write_text("p@0\n")
    files = [str(tmp_path / "p.tide"), str(tmp_path / "f.txt")]
    assert main(["why", *files, "--fact", "p@400", "--format", "json"]) == 0
    (tmp_path / "c.json").write_text(capfd.readouterr().out)
    told = json.loads((tmp_path / "c.json").read_text())
    assert len(told["lemmas"]) == 399
    assert main(["verify", *files, str(tmp_path / "c.json")]) == 0
    monkeypatch.setattr(search, "MOST_STEPS", 1_000)
    assert main(["why", *files, "--fact", "p@1000000000"]) == 2
    assert "stopped after" in capfd.readouterr().err


def test_a_fault_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    """Where the program itself fails, the exit code is not that of a fact that does not hold."""

    def fail(*_: object) -> NoReturn:
        raise KeyError("X")

    monkeypatch.setattr("tidelog.commands.reasons.why._of_files", fail)
    (tmp_path / "p.tide").write_text("b :- a.")
    (tmp_path / "f.txt").write_text("a@1")
    assert main(["why", str(tmp_path / "p.tide"), str(tmp_path / "f.txt"), "--fact", "b@1"]) == FAULT == 70
    told = capfd.readouterr().err
    assert "KeyError: 'X'" in told
    assert "this is a fault of tidelog, and no answer" in told
