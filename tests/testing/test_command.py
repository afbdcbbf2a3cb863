"""`tidelog test`: what is told of a test's facts is what it expects, or it is said what differs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tidelog.cli import main

PUMP = """\
boxplus[0,1) hot(P) :- reading(P, C), C >= 90.
alarm(P) :- boxminus[0,3] hot(P).
quiet(P) :- reading(P, C), C < 0.
output alarm, quiet.
"""
READINGS = "reading(p1,95)@0\nreading(p1,97)@1\nreading(p1,96)@2\nreading(p1,98)@3\nreading(p1,60)@4"
ASKING = "timeline integer.\ninput a(x).\ninput b(x).\np(X) :- a(X), boxplus[1,2] b(X).\nask p(X)@T.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, in which the tests run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pump.tide").write_text(PUMP)
    return tmp_path


def write(name: str, *tests: str, program: str = "pump.tide") -> str:
    """A file with these tests, each without its facts where it needs no others."""
    text = f'program = "{program}"\n'
    for number, test in enumerate(tests):
        facts = "" if "facts" in test else f'facts = """\n{READINGS}\n"""\n'
        head = "" if "name =" in test else f'name = "test {number}"\n'
        text += f"\n[[test]]\n{head}{facts}{test}\n"
    Path(name).write_text(text)
    return name


@pytest.mark.parametrize(
    "expected",
    [
        'expect = "alarm(p1)@[3,4)"',
        "expect = '''\n\nalarm(p1)@[3,4). % as data has it\n'''",
        'expect = ["alarm(p1)@[3,4)"]',
        'emit = "intervals"\nexpect = ["alarm(p1)@[3,7/2]", "alarm(p1)@(7/2,4)"]',
        'emit = "changes"\nexpect = """\nalarm(p1)@[3,4)\nalarm(p1)@[3.."""',
        'emit = "points"\nexpect = "alarm(p1)@3"',
        'at."3" = "alarm(p1)"\nat."7/2" = "alarm(p1)@7/2"\nat."4" = ""',
        '[test.at]\n"3.5" = ["alarm(p1)"]',
        'lateness = 1.5\nstart = "-1"\nexpect = "alarm(p1)@[3,4)"',
    ],
)
def test_what_is_told_is_expected(expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Facts are compared by what they mean, in any order, in each form in which they can be told."""
    assert main(["test", write("a.toml", expected)]) == 0
    assert capfd.readouterr() == ("1 test passed\n", "")


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ('expect = ""', "  expect (- expected, + told):\n    + alarm(p1)@[3,4)\n"),
        ('expect = "alarm(p1)@[3,4]"', "    + alarm(p1)@[3,4)\n    - alarm(p1)@[3,4]\n"),
        ('expect = ["alarm(p1)@[3,4)", "quiet(p1)@4"]', "      alarm(p1)@[3,4)\n    - quiet(p1)@4\n"),
        ('expect = ["alarm(p1)@[3,4)", "alarm(p1)@[3,4)"]', "      alarm(p1)@[3,4)\n    - alarm(p1)@[3,4)\n"),
        ('emit = "intervals"\nexpect = "alarm(p1)@[3,7/2]"', "    - alarm(p1)@[3,7/2]\n    + alarm(p1)@[3,4)\n"),
        ('emit = "changes"\nexpect = "alarm(p1)@[3.."', "      alarm(p1)@[3..\n    + alarm(p1)@[3,4)\n"),
        ('emit = "points"\nexpect = ""', "    + alarm(p1)@3\n"),
        ('at."4" = "alarm(p1)"', "  at 4 (- expected, + told):\n    - alarm(p1)@4\n"),
        ('at."3" = ""', "  at 3 (- expected, + told):\n    + alarm(p1)@3\n"),
    ],
)
def test_what_differs_is_shown(expected: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    """As a diff, beside what agrees; the exit code is 1."""
    assert main(["test", write("a.toml", expected)]) == 1
    shown = capfd.readouterr().out
    assert shown.startswith("failed  a.toml: test 0\n")
    without_reasons = "".join(line for line in shown.splitlines(keepends=True) if not line.startswith(" " * 10))
    assert told in without_reasons
    assert shown.endswith("0 tests passed, 1 failed\n")


def test_asks_are_lines_of_ask(capfd: pytest.CaptureFixture[str]) -> None:
    """Each line that is told is expected, with its fields in any order."""
    Path("asking.tide").write_text(ASKING)
    lines = [
        '{"query":"p","answer":{"X":"k","T":0},"status":"possible","evidence":["a(k)@0"],"hypotheses":["b(k)@1","b(k)@2"],'
        '"at":0,"deadline":2}',
        '{"status":"rejected","query":"p","answer":{"X":"k","T":0},"evidence":["a(k)@0"],"hypotheses":[],"at":1,'
        '"failed":"b(k)@1"}',
    ]
    asks = ",\n".join(f"'{line}'" for line in lines)
    path = write("a.toml", f'facts = ["a(k)@0", "b(z)@2"]\nasks = [\n{asks}]', program="asking.tide")
    code = main(["test", path])
    assert (capfd.readouterr().out, code) == ("1 test passed\n", 0)
    write("a.toml", f'facts = ["a(k)@0", "b(z)@2"]\nasks = [\'{lines[0]}\']', program="asking.tide")
    assert main(["test", path]) == 1
    assert '    + {"query"' in capfd.readouterr().out


def test_asks_may_be_tables() -> None:
    """With the fields of a line."""
    Path("asking.tide").write_text("timeline integer.\np(X) :- a(X).\nask p(X)@T.\n")
    table = '{query = "p", answer = {X = "k", T = 0}, status = "certain", evidence = ["a(k)@0"], hypotheses = [], at = 0}'
    test = f'facts = "a(k)@0"\nasks = [{table}]'
    assert main(["test", write("a.toml", test, program="asking.tide")]) == 0
    assert main(["test", write("a.toml", test.replace("certain", "possible"), program="asking.tide")]) == 1


def test_dates_are_shown_as_dates(capfd: pytest.CaptureFixture[str]) -> None:
    """Where the expected times are dates, so are those that were told."""
    Path("seen.tide").write_text("timeline integer, unit 1 min.\nat_sea(S) :- diamondminus[0,2h) seen(S).\n")
    facts = 'facts = "seen(elsa)@2024-07-01T10:00Z"\n'
    good = write("a.toml", facts + 'expect = "at_sea(elsa)@[2024-07-01T10:00Z,2024-07-01T12:00Z)"', program="seen.tide")
    assert main(["test", good]) == 0
    assert main(["test", write("b.toml", facts + 'expect = "at_sea(elsa)@2024-07-01T10:00Z"', program="seen.tide")]) == 1
    assert "+ at_sea(elsa)@[2024-07-01T10:00:00Z,2024-07-01T11:59:00Z]" in capfd.readouterr().out


def test_a_violated_constraint_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """It fails a test, unless `bottom` is expected at the time at which it begins."""
    Path("safe.tide").write_text("timeline integer.\nboth(X) :- a(X), b(X).\nbottom :- both(X), c(X).\n")
    facts = 'facts = ["a(k)@1", "b(k)@1", "c(k)@1"]\n'
    assert main(["test", write("a.toml", facts + 'at."1" = "both(k)"', program="safe.tide")]) == 1
    shown = capfd.readouterr().out
    assert "+ bottom@1" in shown
    assert "constraint violated at 1" in shown
    assert main(["test", write("a.toml", facts + 'expect = ["both(k)@1", "bottom@1"]', program="safe.tide")]) == 0


def test_what_comes_late_is_noted(capfd: pytest.CaptureFixture[str]) -> None:
    """A fact behind the watermark, or of no use, changes nothing, and is named where the test fails."""
    facts = 'facts = """\nreading(p1,-5)@9\nreading(p1,-5)@4\nreadings(p1)@9"""\n'
    assert main(["test", write("a.toml", facts + 'expect = "quiet(p1)@9"'), "-v"]) == 0
    assert "note: a.toml:7: late: facts before 9 can no longer come: reading(p1,-5)@4" in capfd.readouterr().out
    assert main(["test", write("a.toml", facts + 'expect = "quiet(p1)@4"')]) == 1
    assert "note: the program does not use facts of `readings`; did you mean `reading`?" in capfd.readouterr().out
    assert main(["test", write("a.toml", "lateness = 5\n" + facts + 'expect = ["quiet(p1)@9", "quiet(p1)@4"]')]) == 0


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ('expct = ""', "error[unknown-key]: unknown key `expct` of a test\n  --> a.toml:12:1\n"),
        ('name = "x"\nfacts = ""', "a test has to say what it expects"),
        ('emit = "finl"\nexpect = ""', "unknown mode 'finl': expected intervals, final, changes, points\n  --> a.toml:12:1"),
        ('lateness = true\nexpect = ""', '`lateness` is a length of time, such as 5 or "5 min", got a boolean'),
        ("lateness = 2024-01-01\nexpect = ''", "`lateness` is a length of time"),
        ("expect = 3", "`expect` is text, a line each, or an array of texts or tables, got a number"),
        ("at = 3", "`at` is told for single times"),
        ('name = ""\nexpect = ""', "`name` is text, got an empty text"),
        ("expect = [", "error[toml]: this is no TOML"),
        ("a = 1\na = 2", "error[toml]: this is no TOML"),
    ],
)
def test_a_wrong_file_is_told_with_its_place(test: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Each mistake has its line; no test of the file runs, those of others do."""
    good = write("good.toml", 'expect = "alarm(p1)@[3,4)"')
    assert main(["test", write("a.toml", test), good]) == 1
    shown = capfd.readouterr()
    assert message in shown.err
    assert shown.out == "1 test passed, 1 file could not be used\n"


def test_all_mistakes_of_a_file_are_told_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    """With the nearest name; two tests of one name are one of them."""
    Path("a.toml").write_text(
        'programme = "x"\n[[test]]\nname = "a"\nfact = ""\n[[test]]\nname = "a"\nfacts = ""\nexpect = ""\n'
    )
    assert main(["test", "a.toml"]) == 1
    shown = capfd.readouterr().err
    assert shown.count("error[") == 5
    for part in ("did you mean `program`?", "did you mean `facts`?", "a test needs `facts`", "two tests have the name `a`"):
        assert part in shown


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ('facts = """\n\nreading(p1 5)@0\n"""\nexpect = ""', "a.toml:7: expected `,` or `)`"),
        ('facts = ["reading(p1)@0"]\nexpect = ""', "a.toml:5: `reading` takes 2 arguments, got 1"),
        (
            "expect = '''\nalarm(p1)@3\nalram(p1)@3'''",
            "a.toml:14: `alram` is no output of the program; did you mean `alarm`?",
        ),
        ('expect = "alarm(p1, p2)@3"', "a.toml:12: `alarm` takes 1 argument, got 2"),
        ('at."3" = "alarm"', "a.toml:12: `alarm` takes 1 argument, got 0"),
        ('expect = "alarm(p1)"', "a.toml:12: a fact of a stream needs a time"),
        ('at."x" = ""', "a.toml:12: `at` is told for single times: "),
        ('at."3" = "alarm(p1)@4"', "a.toml:12: `alarm(p1)@4` is no fact of this time"),
        ('asks = ["p(X)@3"]', "a.toml:12: the program asks nothing: `asks` needs a query in it"),
        ('lateness = "5 min"\nexpect = ""', "a.toml:12: time `5 min` needs a unit"),
        ('expect = ""\nstart = "x"', "a.toml:13: "),
        ('expect = ""\nonly = ["quite"]', "a.toml:13: `quite` is no output of the program; did you mean `quiet`?"),
    ],
)
def test_a_test_that_cannot_run_is_an_error(test: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    """It is no failure: its own place is told, and the next test runs."""
    assert main(["test", write("a.toml", test, 'expect = "alarm(p1)@[3,4)"')]) == 1
    shown = capfd.readouterr().out
    assert shown.startswith(f"error   a.toml: test 0\n  {message}")
    assert shown.endswith("1 test passed, 1 with an error\n")


def test_programs_that_cannot_be_used(capfd: pytest.CaptureFixture[str]) -> None:
    """One with an error shows it; one that is not there is named; both cost no other file."""
    Path("wrong.tide").write_text("p(X) :- q(Y).\n")
    files = [write("a.toml", 'expect = ""', program="wrong.tide"), write("b.toml", 'expect = ""', program="none.tide")]
    assert main(["test", *files, write("c.toml", 'expect = "alarm(p1)@[3,4)"')]) == 1
    shown = capfd.readouterr()
    assert "unsafe-variable" in shown.err
    assert "b.toml: cannot read the program `none.tide`: No such file or directory" in shown.err
    assert shown.out == "1 test passed, 2 files could not be used\n"


def test_mistakes_in_usage() -> None:
    """A file that is not there, a folder without tests, a pattern that no name has."""
    good = write("a.toml", 'expect = "alarm(p1)@[3,4)"')
    assert main(["test", "none.toml"]) == 2
    assert main(["test", "."]) == 2
    assert main(["test", good, "-k", "nothing"]) == 2
    assert main(["test", good, "--junit", "none/junit.xml"]) == 2


def test_tests_are_chosen_by_name(capfd: pytest.CaptureFixture[str]) -> None:
    """By a part of it, or by a pattern, of several files and folders; `-x` stops at the first that fails."""
    Path("sub").mkdir()
    write("sub/one.tide.toml", 'name = "Hot pump"\nexpect = ""', 'name = "cold pump"\nexpect = ""', program="../pump.tide")
    other = write("two.toml", 'name = "hot fan"\nexpect = ""')
    assert main(["test", "sub", other, "-k", "hot", "-v"]) == 1
    assert "0 tests passed, 2 failed" in capfd.readouterr().out
    assert main(["test", "sub", other, "-k", "*pump", "-k", "h?t fan"]) == 1
    assert "0 tests passed, 3 failed" in capfd.readouterr().out
    assert main(["test", "sub", other, "-x"]) == 1
    assert "0 tests passed, 1 failed" in capfd.readouterr().out


def test_coverage_names_rules_that_never_fired(capfd: pytest.CaptureFixture[str]) -> None:
    """Each rule of a program, with the number of tests in which something was derived by it."""
    cold = 'facts = "reading(p1,-5)@0"\nexpect = "quiet(p1)@0"'
    write("a.toml", 'expect = "alarm(p1)@[3,4)"', 'facts = "reading(p1,95)@0"\nexpect = ""')
    assert main(["test", "a.toml", "--coverage"]) == 0
    shown = capfd.readouterr().out
    assert "coverage of pump.tide: 2 of 3 rules fired" in shown
    assert "   2 tests     1: boxplus[0,1) hot(P) :- reading(P, C), C >= 90." in shown
    assert "    1 test     2: alarm(P) :- boxminus[0,3] hot(P)." in shown
    assert "     never     3: quiet(P) :- reading(P, C), C < 0." in shown
    write("b.toml", cold)
    assert main(["test", "a.toml", "b.toml", "--coverage"]) == 0
    assert "coverage of pump.tide: 3 of 3 rules fired" in capfd.readouterr().out


def test_junit_xml(capfd: pytest.CaptureFixture[str]) -> None:
    """A suite for each file, with what differs, what went wrong, and files that cannot be used."""
    write("a.toml", 'expect = "alarm(p1)@[3,4)"', 'expect = ""', 'expect = "alarm("', 'name = "\\u0007<&"\nexpect = ""')
    write("b.toml", "x = 1")
    assert main(["test", "a.toml", "b.toml", "--junit", "out.xml"]) == 1
    root = ET.parse("out.xml").getroot()  # noqa: S314 - it has just been written here
    assert root.attrib == {"name": "tidelog", "tests": "5", "failures": "2", "errors": "2"}
    assert [suite.get("name") for suite in root] == ["a.toml", "b.toml"]
    cases = root.findall("testsuite/testcase")
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["error"], ["failure"], ["error"]]
    assert "+ alarm(p1)@[3,4)" in str(cases[1][0].text)
    assert cases[3].get("name") == "\ufffd<&"
    assert cases[0].get("line") == "4"


def test_update_writes_what_was_told(capfd: pytest.CaptureFixture[str]) -> None:
    """In the tests that fail, and where nothing is expected; all else stays as it is, comments too."""
    path = write(
        "a.toml",
        'expect = "alarm(p1)@3"  # why\nat."3" = ""\nat."5" = ""',
        'name = "new"',
        'emit = "changes"\nexpect = """\n"""\n[test.at]\n"7/2" = "quiet(p1)"',
        'expect = "alarm(p1)@[3,4)"',
    )
    before = Path(path).read_text()
    assert main(["test", path, "--update", "-k", "new", "-k", "test 0", "-k", "test 2"]) == 0
    assert "0 tests passed, 3 updated" in capfd.readouterr().out
    after = Path(path).read_text()
    assert 'expect = "alarm(p1)@[3,4)"  # why\nat."3" = "alarm(p1)"\nat."5" = ""\n' in after
    assert "expect = '''\nalarm(p1)@[3..\nalarm(p1)@[3,4)\n'''\n[test.at]\n\"7/2\" = \"alarm(p1)\"" in after
    assert after.count(READINGS) == before.count(READINGS)
    assert main(["test", path]) == 0
    assert main(["test", path, "--update"]) == 0
    assert Path(path).read_text() == after


def test_update_keeps_line_ends() -> None:
    """Those of Windows, too."""
    path = Path(write("a.toml", 'expect = ""'))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert main(["test", str(path), "--update"]) == 0
    assert b'expect = "alarm(p1)@[3,4)"\r\n' in path.read_bytes()
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")
    assert main(["test", str(path)]) == 0


def test_update_leaves_what_it_cannot_write(capfd: pytest.CaptureFixture[str]) -> None:
    """Tests within one line are not rewritten, and it is said so; a test with an error stays as it is."""
    text = 'program = "pump.tide"\ntest = [{name = "a", facts = "reading(p1,-5)@0", expect = ""}]\n'
    Path("a.toml").write_text(text)
    assert main(["test", "a.toml", "--update"]) == 1
    assert Path("a.toml").read_text() == text
    shown = capfd.readouterr().out
    assert "give it a line of its own" in shown
    assert "updated" not in shown
    broken = write("b.toml", 'facts = "reading("\nexpect = ""')
    before = Path(broken).read_text()
    assert main(["test", broken, "--update"]) == 1
    assert Path(broken).read_text() == before


def test_a_difference_has_its_reason(capfd: pytest.CaptureFixture[str]) -> None:
    """What was told has the rule and its premises beside it, what was not told what it lacks."""
    assert main(["test", write("a.toml", 'expect = "alarm(p1)@[3,4]"')]) == 1
    shown = capfd.readouterr().out
    assert "+ alarm(p1)@[3,4)\n          by alarm(" in shown
    assert "- alarm(p1)@[3,4]\n          by alarm(" in shown
    assert "            fails " in shown


def test_only_some_outputs_are_compared(capfd: pytest.CaptureFixture[str]) -> None:
    """`only` leaves all other outputs out of it; one of them cannot be expected then."""
    assert (
        main(["test", write("a.toml", 'only = ["quiet"]\nexpect = ""', 'only = ["alarm"]\nexpect = "alarm(p1)@[3,4)"')]) == 0
    )
    capfd.readouterr()
    for expected in ('expect = "alarm(p1)@[3,4)"', 'expect = ""\nat."3" = "alarm(p1)"'):
        assert main(["test", write("b.toml", f'only = ["quiet"]\n{expected}')]) == 1
        assert "`alarm` is none of the outputs of `only`" in capfd.readouterr().out


def test_what_can_be_updated_is(capfd: pytest.CaptureFixture[str]) -> None:
    """One test that cannot be written does not keep others from it."""
    facts = 'facts = "reading(p1,-5)@0"'
    text = (
        f'program = "pump.tide"\n[[test]]\nname = "a"\n{facts}\nat = {{"0" = "alarm(p1)"}}\n[[test]]\nname = "b"\n{facts}\n'
    )
    Path("a.toml").write_text(text + 'expect = "quiet(p9)@0"\n')
    assert main(["test", "a.toml", "--update"]) == 1
    shown = capfd.readouterr().out
    assert "error   a.toml: a" in shown
    assert "updated a.toml: b" in shown


MACHINE = """timeline integer.
input start(m). input stop(m).
mode(M) := on :- start(M).
mode(M) := none :- stop(M), mode(M, on).
mode(M) := idle :- mode(M, on) for 5.
output mode.
"""
STARTS = 'facts = """\nstart(a)@1\nstart(b)@3\nstop(a)@4\n"""\n'


@pytest.mark.parametrize(
    "expected",
    [
        'emit = "final"\nexpect = ["mode(a,on)@[2,4]", "mode(b,on)@[4,9]", "mode(b,idle)@[10,inf)"]',
        'at."4" = ["mode(a,on)", "mode(b,on)"]\nat."5" = "mode(b,on)"\nat."10" = "mode(b,idle)"',
        'emit = "changes"\nat."4" = ["mode(a,on)", "mode(b,on)"]\nat."12" = "mode(b,idle)"',
    ],
)
def test_machines_are_tested(expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What is assigned holds in tests as it does in runs, also at moments at which nothing comes."""
    Path("machine.tide").write_text(MACHINE)
    shown = main(["test", write("a.toml", STARTS + expected, program="machine.tide")]), capfd.readouterr()
    assert shown == (0, ("1 test passed\n", ""))


def test_coverage_counts_the_rules_of_the_text_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """None of those that tell what a machine holds, which stood there with the line of the first assignment."""
    Path("machine.tide").write_text(MACHINE)
    facts = 'facts = """\nstart(a)@1\nstart(b)@3\n"""\nat."2" = "mode(a,on)"'
    assert main(["test", write("a.toml", facts, program="machine.tide"), "--coverage"]) == 0
    assert capfd.readouterr().out.splitlines()[:-1] == [
        "coverage of machine.tide: 2 of 3 rules fired",
        "    1 test     3: mode(M) := on :- start(M).",
        "     never     4: mode(M) := none :- stop(M), mode(M, on).",
        "    1 test     5: mode(M) := idle :- mode(M, on) for 5.",
    ]


ALARM = """\
timeline integer, unit 1 s.
input temp(room: text).
hot(R) :- temp(R).
alarm hot(room: text), acknowledge, shelve at most 1 h.
"""
SHELVED = """
facts = [
  {temp = {room = "n"}, interval = "[10,50]"},
  {acknowledge = {alarm = "hot", args = ["n"], who = "anna"}, time = 20},
  {shelve = {alarm = "hot", args = ["n"], who = "anna", for = "5 s"}, time = 40},
]
"""


@pytest.mark.parametrize(
    "expected",
    [
        'expect = "hot(n)@[10,50]"',
        'at."10" = "hot(n)"',
        'only = ["hot_state"]\nat."44" = "hot_state(n,shelved)"',
        'at."20" = ["hot(n)", "hot_state(n,acknowledged)"]',
        'only = ["hot_state"]\nexpect = """\nhot_state(n,unacknowledged)@[10,19]\nhot_state(n,acknowledged)@[20,39]\n'
        'hot_state(n,shelved)@[40,44]\nhot_state(n,unacknowledged)@[45,50]\nhot_state(n,returned_unacknowledged)@[51,inf)"""',
    ],
)
def test_alarms_and_what_people_do_are_tested(expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Actions are facts among others, and who expects a state of an alarm is told of it, without an output for it."""
    Path("alarm.tide").write_text(ALARM)
    assert main(["test", write("a.toml", SHELVED + expected, program="alarm.tide")]) == 0
    assert capfd.readouterr() == ("1 test passed\n", "")


def test_rules_of_alarms_are_not_covered(capfd: pytest.CaptureFixture[str]) -> None:
    """What an alarm stands for is no rule of the program's."""
    Path("alarm.tide").write_text(ALARM)
    test = SHELVED + 'only = ["hot_state"]\nat."44" = "hot_state(n,shelved)"'
    assert main(["test", "--coverage", write("a.toml", test, program="alarm.tide")]) == 0
    assert "coverage of alarm.tide: 1 of 1 rules fired" in capfd.readouterr().out
