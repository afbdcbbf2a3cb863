"""The names of an output's arguments: in tests of rules, in questions for reasons, in what is shown of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from children import tidelog

PROGRAM = """timeline integer, unit 1 s.
input temp(room: text, celsius: number).
output alarm(room: text, celsius), cold.
alarm(R, C) :- temp(R, C), C > 8.
cold(R) :- temp(R, C), C < 0.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.tide").write_text(PROGRAM)
    (tmp_path / "f.txt").write_text("temp(hall,21.5)@3\ntemp(attic,-2)@4\n")
    return tmp_path


def suite_code(folder: Path, suite: str) -> int:
    """The exit code of a suite."""
    (folder / "p.tide.toml").write_text(f'program = "p.tide"\n[[test]]\nname = "names"\n{suite}\n')
    return tidelog("test", "p.tide.toml", cwd=folder).returncode


@pytest.mark.parametrize(
    ("expected", "code"),
    [
        ('expect = [{ alarm = { celsius = 21.5, room = "hall" }, time = 3 }, "cold(attic)@4"]', 0),
        ('expect = [{ alarm = { celsius = 21.5, room = "hall" }, interval = "[3,3]" }, "cold(attic)@4"]', 0),
        ('expect = [{ alarm = { celsius = 21.5, room = "hall" }, time = 1970-01-01T00:00:03Z }, "cold(attic)@4"]', 0),
        ('expect = """{"alarm":{"room":"hall","celsius":21.5},"time":3}\ncold(attic)@4"""', 0),
        ('expect = [{ predicate = "alarm", args = ["hall", 21.5], time = 3 }, "cold(attic)@4"]', 0),
        ('at."3" = [{ alarm = { room = "hall", celsius = 21.5 } }]', 0),
        ('at."3" = [{ alarm = { room = "hall", celsius = 21.5 }, time = 4 }]', 1),
        ('expect = [{ alarm = { celsius = 21, room = "hall" }, time = 3 }, "cold(attic)@4"]', 1),
        ('expect = [{ alarm = { celsius = 21.5, rom = "hall" }, time = 3 }]', 1),
        ('expect = [{ temp = { celsius = 21.5, room = "hall" }, time = 3 }]', 1),
        ('expect = "{"', 1),
    ],
)
def test_tests_take_facts_by_name(folder: Path, expected: str, code: int) -> None:
    """Tables of TOML, or JSON lines, beside text; what does not fit is an error of the test."""
    facts = 'facts = [{ temp = { celsius = 21.5, room = "hall" }, time = 3 }, "temp(attic,-2)@4"]\n'
    assert suite_code(folder, facts + expected) == code


def test_changes_by_name(folder: Path) -> None:
    """What begins has `begins`, and what has ended `ends`, too."""
    suite = """emit = "changes"
only = ["alarm"]
facts = [{ temp = { room = "hall", celsius = 9 }, interval = "[3,5]" }]
expect = [
  { alarm = { room = "hall", celsius = 9 }, begins = 3 },
  { alarm = { room = "hall", celsius = 9 }, begins = 3, ends = 5 },
]"""
    assert suite_code(folder, suite) == 0
    assert suite_code(folder, suite.replace("ends = 5", "ends = 6")) == 1


def test_what_run_tells_can_be_asked_as_it_stands(folder: Path) -> None:
    """`why` and `entails` take a line of `run`; `why` shows the names below the fact."""
    lines = tidelog("run", "p.tide", "f.txt", "--emit", "final", cwd=folder).stdout.splitlines()
    (line,) = [line for line in lines if "alarm" in line]
    assert json.loads(line) == {"alarm": {"room": "hall", "celsius": 21.5}, "time": 3}
    shown = tidelog("why", "p.tide", "f.txt", "--fact", line, cwd=folder)
    assert (shown.returncode, shown.stdout.splitlines()[:2]) == (0, ["alarm(hall,21.5)@3", "  room: hall, celsius: 21.5"])
    assert shown.stdout == tidelog("why", "p.tide", "f.txt", "--fact", "alarm(hall,21.5)@3", cwd=folder).stdout
    assert tidelog("entails", "p.tide", "f.txt", "--fact", line, cwd=folder).stdout == "true\n"
    absent = tidelog("why", "p.tide", "f.txt", "--fact", line.replace("21.5", "2"), cwd=folder)
    assert (absent.returncode, absent.stdout.splitlines()[1]) == (1, "  room: hall, celsius: 2")
    unnamed = tidelog("why", "p.tide", "f.txt", "--fact", '{"predicate":"cold","args":["attic"],"time":4}', cwd=folder)
    assert (unnamed.returncode, unnamed.stdout.splitlines()[1][:5]) == (0, "  by ")


def test_a_name_that_is_none_is_refused(folder: Path) -> None:
    """A mistake in usage, with the nearest name."""
    asked = '{"alarm":{"rom":"hall","celsius":9},"time":3}'
    done = tidelog("why", "p.tide", "f.txt", "--fact", asked, cwd=folder)
    assert done.returncode == 2
    assert done.stderr == "tidelog: error: --fact: `alarm` has no field `rom`; did you mean `room`?\n"
