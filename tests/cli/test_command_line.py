"""The command line as a user meets it: commands, streams, exit codes, signals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from children import WAIT, child, tidelog
from waiting import eventually

TIDELOG = [sys.executable, "-m", "tidelog"]
ALARM = "timeline integer, unit 1 s.\ninput hot(pump).\nalarm(X) :- boxminus[0,2] hot(X).\n"
FACTS = "hot(a)@1\nhot(a)@2\nhot(a)@3\nhot(a)@4\n"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "S1.txt"

SHORT_STOP = """\
NotPos(V) :- NotOnMap(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]NotPos(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]NotPos(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]Pos(V), Boxminus[4,4]NotPos(V)
ShortStop(V) :- NotPos(V), Boxminus[1,1]Pos(V), Boxminus[2,2]Pos(V), Boxminus[3,3]Pos(V), Boxminus[4,4]Pos(V),
    Boxminus[5,5]NotPos(V)
output ShortStop
"""


def run(*arguments: str, given: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return tidelog(*arguments, given=given, cwd=cwd)


@pytest.fixture
def alarm(tmp_path: Path) -> str:
    """A program in a file."""
    path = tmp_path / "alarm.tide"
    path.write_text(ALARM)
    return str(path)


def test_answers_alone_go_to_standard_output(alarm: str) -> None:
    """Facts in, facts out; nothing on standard error where nothing is worth saying."""
    done = run("run", alarm, "--in", "facts+-", "--out", "facts+-", given=FACTS)
    assert (done.stdout, done.stderr, done.returncode) == ("alarm(a)@3\nalarm(a)@4\n", "", 0)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("intervals", "alarm(a)@3\nalarm(a)@4\n"),
        ("final", "alarm(a)@[3,4]\n"),
        ("changes", "alarm(a)@[3..\nalarm(a)@[3,4]\n"),
        ("points", "alarm(a)@3\nalarm(a)@4\n"),
    ],
)
def test_emit_modes(alarm: str, mode: str, backend: str, expected: str) -> None:
    """Each mode, on each backend."""
    done = run("run", alarm, "--in", "facts+-", "--out", "facts+-", "--emit", mode, "--backend", backend, given=FACTS)
    assert (done.stdout, done.returncode) == (expected, 0)


def test_json_lines_are_the_default(alarm: str) -> None:
    """Without --in and --out, JSON lines come from standard input and go to standard output."""
    lines = "".join(json.dumps({"predicate": "hot", "args": ["a"], "time": time}) + "\n" for time in (1, 2, 3))
    done = run("run", alarm, given=lines)
    assert json.loads(done.stdout) == {"predicate": "alarm", "args": ["a"], "time": 3}


def test_what_cannot_be_read_loses_nothing_else(alarm: str, tmp_path: Path) -> None:
    """Bad and late records go to the dead letters with their place and reason; the others count."""
    letters = tmp_path / "dead.jsonl"
    given = "hot(a)@1\nnonsense\nhot(a)@2\nhot(a,b)@2\nhot(a)@3\nhot(a)@1\n"
    done = run("run", alarm, "--in", "facts+-", "--out", "facts+-", "--dead-letter", str(letters), given=given)
    assert done.stdout == "alarm(a)@3\n"
    assert done.returncode == 0
    found = [json.loads(line) for line in letters.read_text().splitlines()]
    assert [item["place"] for item in found] == ["stdin:2", "stdin:4", "stdin:6"]
    assert "1 argument" in found[1]["reason"]
    assert "late" in found[2]["reason"]
    assert "3 records could not be used" in done.stderr


def test_lateness_and_units(alarm: str) -> None:
    """--lateness takes a duration in the program's units, and reorders within it."""
    shuffled = "hot(a)@2\nhot(a)@1\nhot(a)@4\nhot(a)@3\n"
    done = run("run", alarm, "--in", "facts+-", "--out", "facts+-", "--lateness", "2s", "--emit", "final", given=shuffled)
    assert (done.stdout, done.stderr) == ("alarm(a)@[3,4]\n", "")


def test_start_clips_windows(tmp_path: Path) -> None:
    """--start tells when the stream starts, where that is not its first fact."""
    (tmp_path / "p.tide").write_text("timeline integer.\np(X) :- always q(X) in [3].\n")
    arguments = ("run", "p.tide", "--in", "facts+-", "--out", "facts+-", "--emit", "final")
    assert run(*arguments, given="q(a)@5\nq(a)@6\n", cwd=tmp_path).stdout == "p(a)@[5,6]\n"
    assert run(*arguments, "--start", "0", given="q(a)@5\nq(a)@6\n", cwd=tmp_path).stdout == ""


def test_iso_output(alarm: str) -> None:
    """--iso writes times as ISO-8601, and what it writes is read back."""
    done = run("run", alarm, "--in", "facts+-", "--out", "facts+-", "--iso", "--emit", "final", given=FACTS)
    assert done.stdout == "alarm(a)@[1970-01-01T00:00:03Z,1970-01-01T00:00:04Z]\n"


def test_a_violated_constraint_is_reported_and_told_by_the_exit_code(tmp_path: Path) -> None:
    """`bottom` names the rule and the facts on standard error; the stream goes on; the exit code is 1."""
    (tmp_path / "p.tide").write_text("timeline integer.\nbottom :- on(X), off(X).\np(X) :- on(X).\n")
    done = run("run", "p.tide", "--in", "facts+-", "--out", "facts+-", given="on(a)@1\noff(a)@1\non(a)@2\n", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == "p(a)@1\np(a)@2\n"
    assert "constraint violated at 1: on(a), off(a)" in done.stderr


def test_unused_facts_are_counted(tmp_path: Path) -> None:
    """Where no input is declared, facts of predicates that the program does not use are passed over, and named."""
    (tmp_path / "p.tide").write_text("alarm(X) :- hot(X).\n")
    done = run("run", "p.tide", "--in", "facts+-", given="cold(a)@1\ncold(b)@2\n", cwd=tmp_path)
    assert "2 facts have predicates that the program does not use: `cold` (2)\n" in done.stderr
    assert done.returncode == 0


def test_no_prospects_lets_nothing_sleep(tmp_path: Path) -> None:
    """--no-prospects gives the same answers; by --stats, q's rule slept and p's facts were spared without it alone."""
    program = tmp_path / "sleepy.tide"
    program.write_text("timeline integer. input p(x). input q(x). output m. m(X) :- p(X), always q(X) in [9].\n")
    facts = "q(a)@1\np(a)@1\np(a)@20\np(a)@22\n"
    told = {}
    for option in ((), ("--no-prospects",)):
        done = run("run", str(program), "--in", "facts+-", "--out", "facts+-", "--stats", *option, given=facts)
        assert (done.returncode, done.stdout) == (0, "m(a)@1\n")
        rows = [line.split()[2:] for line in done.stderr.splitlines() if line.startswith(("tidelog: p ", "tidelog: m.1 "))]
        told[option] = any(row[-1] != "0" for row in rows), any(row[-2] != "0" for row in rows)
    assert told == {(): (True, True), ("--no-prospects",): (False, False)}


def test_stats_tell_each_step(alarm: str) -> None:
    """--stats prints what each step received, sent and stores."""
    done = run("run", alarm, "--in", "facts+-", "--stats", given=FACTS)
    assert "facts: 4 accepted" in done.stderr
    assert "alarm" in done.stderr


def test_recursion_without_end_says_how_far_it_went(tmp_path: Path) -> None:
    """`boxplus[1,1] p :- p` is followed as far as the stream went, and says so."""
    (tmp_path / "p.tide").write_text("timeline integer.\nboxplus[1,1] p :- p.\nq :- r.\n")
    done = run("run", "p.tide", "--in", "facts+-", "--out", "facts+-", "--emit", "points", given="p@0\nr@3\n", cwd=tmp_path)
    assert done.stdout == "p@0\np@3\nq@3\n"
    assert "has no end" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "COMMAND"),
        (["run", "{alarm}", "--emit", "sometimes"], "sometimes"),
        (["run", "{alarm}", "--in", "gopher://x"], "unknown scheme"),
        (["run", "{alarm}", "--in", "missing.txt"], "No such file"),
        (["run", "{alarm}", "--lateness", "-1"], "0 or more"),
        (["run", "{alarm}", "--lateness", "soon"], "--lateness"),
        (["run", "{alarm}", "--in", "tcp+listen://0.0.0.0:1"], "beyond this machine"),
        (["run", "{alarm}", "--in", "-", "--in", "facts+-"], "once only"),
        (["explain", "{alarm}", "--stage", "text", "--format", "mermaid"], "mermaid"),
        (["explain", "{alarm}", "--stage", "code", "--format", "json"], "`text` is its one format"),
        (["materialise", "{alarm}", "facts.txt"], "cannot read `facts.txt`"),
        (["ask", "{alarm}"], "asks nothing"),
    ],
)
def test_mistakes_in_usage(alarm: str, arguments: list[str], said: str) -> None:
    """Exit code 2, one clear line, nothing on standard output."""
    done = run(*(argument.format(alarm=alarm) for argument in arguments))
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_wrong_program_is_shown_with_its_lines(tmp_path: Path) -> None:
    """`check` shows every error with line, caret and help, and exits with 1."""
    (tmp_path / "p.tide").write_text("p(X, Y) :- q(X).\n")
    done = run("check", "p.tide", cwd=tmp_path)
    assert done.returncode == 1
    assert "error[unsafe-variable]" in done.stderr
    assert " --> p.tide:1:6" in done.stderr
    fields = json.loads(run("check", "p.tide", "--format", "json", cwd=tmp_path).stdout)
    assert [(item["code"], item["line"], item["column"]) for item in fields["diagnostics"]] == [("unsafe-variable", 1, 6)]


@pytest.mark.parametrize("stage", ["text", "normal", "plan"])
def test_explain_shows_each_stage(alarm: str, stage: str) -> None:
    """Every stage prints itself; text and normal form can be read again."""
    done = run("explain", alarm, "--stage", stage)
    assert done.returncode == 0
    assert "boxminus[0,2]" in done.stdout


def test_explain_shows_the_code_of_joins(tmp_path: Path) -> None:
    """What is printed can be run: it is the code that takes the facts, with its constants; the same in each process."""
    (tmp_path / "p.tide").write_text("timeline integer. input v(k, n). high(K) :- v(K, N), N > 70. hall(N) :- v(hall, N).")
    first, second = (run("explain", "p.tide", "--stage", "code", cwd=tmp_path).stdout for _ in range(2))
    assert first == second
    assert "# high: high(K) :- v(K, N), N > 70.\nk0 = 70\n" in first
    blocks = {text.split(":")[0]: text for text in first.split("\n\n")}
    for name, facts, expected in (
        ("# high", [(("a", 71), 1, 1), (("b", 70), 2, 2)], [(("a",), 1, 1)]),
        ("# hall", [(("hall", 3), 1, 1), (("roof", 4), 2, 2)], [((3,), 1, 1)]),
    ):
        scope: dict[str, Any] = {"UNCOMPUTABLE": ArithmeticError}
        exec(blocks[name], scope)  # noqa: S102 - what the command has printed
        found: list[Any] = []
        narrowed = facts if scope["pattern_0"] is None else scope["pattern_0"](facts)
        scope["probe_0"](narrowed, 9, found, [0], 9, None)
        assert found == expected


def test_check_verbose_shows_the_analysis(alarm: str) -> None:
    """-v tells fragment, delay, window, granularity and memory bounds."""
    done = run("check", alarm, "-v", "--objects", "10")
    for word in ("forward-propagating: yes", "delay", "window: 2", "granularity: 2", "Theorem 12", "Theorem 15", "strata"):
        assert word in done.stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_signal_shuts_down_cleanly(alarm: str, number: int, code: int, backend: str) -> None:
    """What was read is answered and written; the exit code tells the signal."""
    command = [*TIDELOG, "run", alarm, "--in", "facts+-", "--out", "facts+-", "--backend", backend]
    with child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(FACTS)
        process.stdin.flush()
        assert process.stdout.readline() == "alarm(a)@3\n"
        process.send_signal(number)
        assert process.wait(WAIT) == code
        assert process.stdout.read() == "alarm(a)@4\n"


def test_a_reader_that_leaves_ends_the_run_quietly(alarm: str, tmp_path: Path) -> None:
    """`tidelog run … | head -1` ends without a traceback."""
    facts = tmp_path / "facts.txt"
    facts.write_text("".join(f"hot(p{i})@{t}\n" for t in range(50) for i in range(400)))
    command = f"{' '.join(TIDELOG)} run {alarm} --in {facts} --out facts+- | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=WAIT)
    assert done.stdout == "alarm(p0)@2\n"
    assert done.stderr == ""


def test_standard_input_reaches_answers_at_once(alarm: str) -> None:
    """An event is answered when it comes, not when the stream ends."""
    command = [*TIDELOG, "run", alarm, "--in", "facts+-", "--out", "facts+-"]
    with child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, answer in (("hot(a)@1\nhot(a)@2\nhot(a)@3\n", "alarm(a)@3\n"), ("hot(a)@4\n", "alarm(a)@4\n")):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == answer
        process.stdin.close()
        assert process.wait(WAIT) == 0


def test_short_stops_on_the_papers_stream(tmp_path: Path) -> None:
    """ShortStop (Wałęga et al. 2023, section 7.2) on the paper's stream S1, or on a piece of it made by hand.

    Expected is what the definition says: one to four seconds at zero speed between two seconds at another speed.
    """
    (tmp_path / "stop.tide").write_text(SHORT_STOP)
    lines = SHARED.read_text().splitlines() if SHARED.exists() else _traffic()
    (tmp_path / "facts.txt").write_text("\n".join(lines))
    done = run("run", "stop.tide", "--in", "facts.txt", "--out", "facts+-", cwd=tmp_path)
    assert done.returncode == 0
    expected = _short_stops(lines)
    assert len(expected) >= 4
    assert sorted(done.stdout.split()) == sorted(f"ShortStop({car})@{second}" for car, second in expected)


def _traffic() -> list[str]:
    """Cars that stop for one to five seconds."""
    speeds = [(f"veh{n}", [1] * 3 + [0] * n + [1] * 3) for n in range(1, 6)]
    return [
        f"{'NotPos' if values[second] else 'Pos'}({car})@[{second},{second}]"
        for second in range(11)
        for car, values in speeds
        if second < len(values)
    ]


def _short_stops(lines: list[str]) -> set[tuple[str, int]]:
    still: set[tuple[str, int]] = set()
    moving: set[tuple[str, int]] = set()
    for line in lines:
        predicate, _, rest = line.partition("(")
        car, _, time_ = rest.partition(")@[")
        fact = (car, int(time_.partition(",")[0]))
        if predicate == "Pos":
            still.add(fact)
        elif predicate in ("NotPos", "NotOnMap"):
            moving.add(fact)
    return {
        (car, second)
        for car, second in moving
        for length in range(1, 5)
        if all((car, second - back) in still for back in range(1, length + 1)) and (car, second - length - 1) in moving
    }


@pytest.mark.long
def test_a_signal_ends_a_run_that_nobody_listens_to(alarm: str, tmp_path: Path) -> None:
    """A sink that takes nothing delays the shutdown by the grace period at most."""
    socket = tmp_path / "answers.sock"
    command = [*TIDELOG, "run", alarm, "--in", "facts+-", "--out", f"unix+listen://{socket}"]
    with child(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(FACTS)
        process.stdin.flush()
        eventually(socket.exists, process=process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT) == 143
        assert "not all answers were taken" in process.stderr.read()


def test_standard_error_may_be_closed_or_full(alarm: str) -> None:
    """Answers do not depend on whether diagnostics can be written."""
    for redirection in ("2>&-", "2>/dev/full"):
        command = f"{' '.join(TIDELOG)} run {alarm} --in facts+- --out facts+- {redirection}"
        given = FACTS + "nonsense\n"
        done = subprocess.run(["bash", "-c", command], input=given, capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == ("alarm(a)@3\nalarm(a)@4\n", 0)


def test_violations_are_written_as_iso_too(tmp_path: Path) -> None:
    """With `--iso`, a violated constraint tells its time as answers do."""
    (tmp_path / "p.tide").write_text("timeline integer, unit 1 s.\nbottom :- hot(X), cold(X).\nq(X) :- hot(X).\n")
    (tmp_path / "f.txt").write_text("hot(a)@2020-01-01T00:00:07Z\ncold(a)@2020-01-01T00:00:07Z\n")
    done = run("run", "p.tide", "--in", "f.txt", "--iso", "--out", "facts+-", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("q(a)@2020-01-01T00:00:07Z\n", 1)
    assert "violated at 2020-01-01T00:00:07Z: hot(a), cold(a)" in done.stderr
