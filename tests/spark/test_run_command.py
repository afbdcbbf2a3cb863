"""`tidelog spark run`: what is refused before Spark is started, and to whom a checkpoint and tables belong."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import tidelog
from children import WAIT
from tidelog.cli import main
from tidelog.commands.spark.run import shared
from tidelog.commands.spark.start import described, interruptible, stream_settings
from tidelog.connectors.lake.gateways.origins import place_of
from tidelog.connectors.lake.places import is_remote, on_this_machine, uri_of
from tidelog.connectors.spark.cluster import requirements
from tidelog.connectors.spark.cluster.queries import reason, why
from tidelog.connectors.spark.cluster.session import java_options
from tidelog.connectors.spark.places import held_alone
from tidelog.connectors.spark.running.changing.checkpoints import Checkpoint, buckets_in
from tidelog.connectors.spark.running.inputs.locations import Input
from tidelog.connectors.spark.running.job import job_of
from tidelog.connectors.spark.running.outputs.folders import LocalFolder, claim_tables
from tidelog.connectors.spark.running.outputs.sinks import Lines, Tables, parse_sinks
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

PROGRAM = "timeline rational, resolution 1.\nhot(S) :- temp(S, V), V > 2.\n"
CLIPPED = "timeline integer.\nhot(S) :- always temp(S) in [3].\n"
SHARED = "timeline integer.\nboth(X, Y) :- p(X), q(Y).\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs and facts, to be in; Spark is not to be started in it."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("p.tide", PROGRAM), ("clipped.tide", CLIPPED), ("shared.tide", SHARED)):
        (tmp_path / name).write_text(text)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/temp.facts").write_text("temp(a,3)@1\n")

    def check() -> None:
        raise ConnectorError("here Spark would be started")

    monkeypatch.setattr("tidelog.connectors.spark.check_requirements", check)
    return tmp_path


def told(capfd: pytest.CaptureFixture[str], *options: str, program: str = "p.tide", source: str = "in") -> tuple[int, str]:
    code = main(["spark", "run", program, "--in", source, *options])
    seen = capfd.readouterr()
    assert seen.out == ""
    return code, seen.err


STREAM = ("--checkpoint", "c")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--emit", "points"],
            "`--emit points` tells what holds at the time points of all inputs, which no session alone sees",
        ),
        (["--emit", "changes", "--out", "parquet:t"], "`--emit changes` is told in lines: a table holds facts"),
        (["--lateness", "1"], "`--lateness` is for streams, which have a `--checkpoint`: over history nothing is late"),
        (["--every", "1"], "`--every` is for streams, which have a `--checkpoint`: history is read once"),
        (["--reload", "drop"], "`--reload` is for streams, which have a `--checkpoint`: over history no program"),
        (["--keep", "7d"], "`--keep` is for streams, which have a `--checkpoint`: over history no other program follows"),
        ([*STREAM, "--keep", "1GB"], "`--keep` on Spark is a time, such as `7d`"),
        (["--once"], "`--once` is for streams, which have a `--checkpoint`: history is read once anyway"),
        (["--start", "1/3"], "--start: time 1/3 is finer than the resolution 1"),
        ([*STREAM, "--lateness", "-1"], "--lateness: expected a duration of 0 or more"),
        (["--iso"], "ISO-8601 output needs a unit"),
        (["--cores", "2", "--master", "yarn"], "`--cores` are those of this machine"),
        (["--archives", "p.tide"], "`--archives` brings Python to the workers of a cluster: name it by `--master`"),
        (["--archives", "no.tar.gz", "--master", "yarn"], "`--archives` `no.tar.gz`: there is no file `no.tar.gz`"),
        (["--buckets", "0"], "expected a whole number above 0, got `0`"),
        (
            ["--out", "tcp://127.0.0.1:9"],
            "what runs on Spark writes to `-`, to files, to tables, such as `parquet:DIR`, and to topics of Kafka",
        ),
        (["--out", "csv+a.csv"], "csv can be read, not written"),
        (["--out", "parquet:"], "`parquet:` names no folder"),
        (["--out", "delta:"], "`delta:` names no folder: expected `delta:DIR`"),
        (["--out", "iceberg:lake"], "expected `iceberg:CATALOG.NAMESPACE`"),
        (["--out", "delta:t", "--out", "parquet:t"], "`t` would hold tables of two formats"),
        (["--out", "nowhere/a.facts"], "cannot write `nowhere/a.facts`: there is no directory `nowhere`"),
        (
            [*STREAM, "--out", "a.facts"],
            "`a.facts`: a stream writes to `-`, to tables, such as `parquet:DIR`, and to topics",
        ),
        (["--out", "parquet:t", "--out", "parquet+file:t"], "tables are written to `t` twice in one run"),
        (["--out", "p.tide"], "`p.tide` is read and written in one run"),
        (["--out", "in/out.facts"], "`in/out.facts` is written, and `"),
        (["--out", "parquet:in/t"], "`in/t` is written, and `"),
        (["--out", "parquet:."], "`.` is written, and `"),
        (["--dead-letter", "in/letters"], "`in/letters` is written, and `"),
        (["--checkpoint", "in/c"], "`in/c` is written, and `"),
        ([*STREAM, "--lateness", "99999999999999999"], "is longer than Spark can look back"),
        (["--checkpoint", ""], "`--checkpoint` names no folder"),
        (["--checkpoint", "c", "--master", "spark://h:1"], "`c` is a folder of this machine, and `--master` a cluster"),
        (["--conf", "executor.memory=1g"], "`executor.memory=1g`: expected a setting of Spark's"),
        (["--conf", "spark.sql.session.timeZone=CET"], "answers depend on this setting, and a run sets it itself"),
        (["--log", "s3a://b/log"], "`--log` is a file of this machine, got `s3a://b/log`"),
        (["--dead-letter", "s3a://b/dead"], "`--dead-letter` is a file of this machine, got `s3a://b/dead`"),
        (
            ["--in", "outbox:s3a://b/box"],
            "outboxes are in a folder of this machine, or behind `http://HOST:PORT/outbox/NAME`",
        ),
        (["--out", "a.parquet"], "`a.parquet`: tables go to a folder, which `parquet:DIR` names"),
        (
            ["--in", "csv+in?predicate=tmp"],
            "no predicate `tmp`, of which `in` holds facts; did you mean `temp`?",
        ),
        (["--in", "nowhere"], "cannot read `nowhere`: No such file or directory"),
    ],
)
def test_mistakes(folder: Path, capfd: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    """A mistake on the command line is told in one line, with exit code 2, before Spark is started or anything is made."""
    code, said = told(capfd, *options)
    assert (code, message in said) == (2, True), said
    assert sorted(os.listdir()) == ["clipped.tide", "in", "p.tide", "shared.tide"]


def test_globs_that_would_be_read(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file that a glob among the inputs would find is not written; one beside them is."""
    assert told(capfd, "--out", "in/b.facts", source="facts+in/*.facts")[0] == 2
    assert told(capfd, "--out", "in/b.jsonl", source="facts+in/*.facts") == (
        1,
        "tidelog: error: here Spark would be started\n",
    )


def test_a_stream_that_needs_its_start(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Where windows are clipped, a stream is told when it starts; over history that is found."""
    code, said = told(capfd, *STREAM, program="clipped.tide")
    assert (code, "`--start` is needed: windows are clipped" in said) == (2, True)
    assert told(capfd, *STREAM, "--start", "0", program="clipped.tide")[0] == 1
    assert told(capfd, program="clipped.tide")[0] == 1


def test_stages_without_a_key(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A stage that cannot be split is warned of, with the rule that prevents it."""
    code, said = told(capfd, program="shared.tide")
    assert (code, "warning: stage 1 runs in one session, on one core, because of both(X, Y) :- p(X), q(Y)" in said) == (
        1,
        True,
    )
    assert told(capfd)[1] == "tidelog: error: here Spark would be started\n"
    assert shared(job_of(tidelog.compile(PROGRAM), 8)) == {}


def test_programs_without_stages(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A program that cannot be split into stages is refused with the place of the reason."""
    (folder / "counted.tide").write_text("timeline integer.\ninput q(x).\np(X) :- q(X) in [#2].\n")
    code, said = told(capfd, program="counted.tide")
    assert code == 1
    assert "error[no-stages]" in said
    assert "counted.tide:3:" in said


def test_questions_are_told_in_lines(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A program that asks needs a sink of JSON lines; a question without a key is asked in one session, with a warning."""
    (folder / "ask.tide").write_text("timeline integer.\np(X) :- q(X).\nask p(X)@T.\nask p(_)@T.\n")
    code, said = told(capfd, "--out", "facts+-", program="ask.tide")
    assert (code, "what `ask` answers is told in JSON lines alone" in said) == (2, True)
    assert "warning: stage 3 runs in one session, on one core, because of ask p(_)@T" in told(capfd, program="ask.tide")[1]


def test_a_server_of_spark_connect_is_no_cluster(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A run calls Spark's own process: what does not is named."""
    code, said = told(capfd, "--master", "sc://a:15002")
    assert (code, "`tidelog spark run` calls Spark's own process, which a server of Spark Connect" in said) == (2, True)
    assert "use `tidelog.spark.reason` in a session of Spark Connect" in said


def test_spark_is_missing(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing of Spark is told in one line, with exit code 1, and nothing is made."""
    requirements.check_requirements.cache_clear()
    monkeypatch.setattr("tidelog.connectors.spark.check_requirements", requirements.check_requirements)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    code, said = told(capfd, *STREAM, "--out", "parquet:t")
    requirements.check_requirements.cache_clear()
    assert (code, "Spark needs Java 17 or newer" in said) == (1, True)
    assert not Path("c").exists()
    assert not Path("t").exists()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[PATH_NOT_FOUND] no such path\n== SQL ==", "[PATH_NOT_FOUND] no such path"),
        ("[X] failed\nTraceback (most recent call last):\n  File\nKeyError: 'a'\n\tat java", "KeyError: 'a'"),
        ("Traceback (most recent call last):\ntidelog.plans.diagnostics.errors.SpecError: no\npy4j.Py4JError: b", "no"),
        (
            "[X] Message: Traceback (most recent call last):\nPy4JError: An error occurred while calling o1.x.\n: b.C: d",
            "b.C: d",
        ),
        ("", "it does not say why"),
    ],
)
def test_the_line_that_says_why(text: str, line: str) -> None:
    """Of the pages that Spark tells of a failure one line is shown: the error of a worker, if there is one."""
    assert reason(text) == line


class Thrown:
    """An error of Java's, as PySpark hands it over."""

    def __init__(self, message: str, cause: Thrown | None = None) -> None:
        self.message, self.cause = message, cause

    def getMessage(self) -> str:
        return self.message

    def getCause(self) -> Thrown | None:
        return self.cause


@pytest.mark.parametrize(
    ("thrown", "line"),
    [
        (Thrown("Cannot call methods on a stopped SparkContext."), "the cluster does not answer, or has ended the run"),
        (
            Thrown("x", Thrown("java.lang.ClassNotFoundException: Class org.apache.A$B not found")),
            "a jar with the class org.apache.A$B is missing: name its package with `--packages`",
        ),
        (Thrown('No FileSystem for scheme "foo"'), "Spark knows no file system `foo:`"),
        (
            Thrown("Job aborted", Thrown("Exception thrown in awaitResult", Thrown("[A.B] file:/t is no Parquet"))),
            "file:/t is no",
        ),
    ],
)
def test_the_cause_is_said(thrown: Thrown, line: str) -> None:
    """Of what Java throws the deepest cause is told, and a remedy where one is known."""
    error = PySparkException("Job aborted due to stage failure")
    error.java_exception = thrown  # type: ignore[attr-defined] # as Py4JJavaError has it
    assert why(error).startswith(line)


def test_work_that_can_be_left() -> None:
    """Work is waited for, and its error is raised; once a signal has come it is cancelled until it ends, in silence."""
    cancelled = threading.Event()

    def fail() -> None:
        raise SpecError("no such table")

    def wait() -> None:
        cancelled.wait(WAIT)
        fail()

    with pytest.raises(SpecError, match="no such table"):
        interruptible(fail, lambda: False, cancelled.set)
    assert not cancelled.is_set()
    interruptible(wait, lambda: True, cancelled.set)
    assert cancelled.is_set()


def test_sinks() -> None:
    """SPECs of sinks: lines in a format, and folders of tables, here or far away."""
    specs = ["-", "facts+-", "a.jsonl", "jsonl+file:a.txt", "parquet:t", "parquet+file:///t", "parquet:s3a://b/t/"]
    assert parse_sinks(specs, Schema(Timeline()), iso=False, is_stream=False) == [
        Lines("jsonl"),
        Lines("facts"),
        Lines("jsonl", "a.jsonl"),
        Lines("jsonl", "a.txt"),
        Tables("t"),
        Tables("/t"),
        Tables("s3a://b/t"),
    ]
    assert [is_remote(path) for path in ("s3a://b/t", "file:///t", "/t:x", "hdfs:///t")] == [True, False, False, True]
    assert [uri_of(path) for path in ("/a b", "file:///t", "s3a://b/t")] == ["file:///a b", "file:///t", "s3a://b/t"]


def test_a_checkpoint_belongs_to_its_run(tmp_path: Path) -> None:
    """A checkpoint is found again by the same run; another is told what of it differs."""
    checkpoint = LocalFolder(os.fspath(tmp_path / "deep" / "c"))
    job = job_of(tidelog.compile(PROGRAM), 32)
    inputs = [Input(0, "jsonl", "in"), Input(1, "csv", "s3a://b/temp/", "temp")]
    mine = Checkpoint(checkpoint, described(job, inputs, 0), job)
    again = Checkpoint(checkpoint, described(job, [Input(0, "jsonl", os.path.abspath("in")), inputs[1]], 0), job)
    assert (again.claim, again.has_changed, again.before()) == (mine.claim, False, job)
    assert (buckets_in(checkpoint), buckets_in(LocalFolder(os.fspath(tmp_path / "d")))) == (32, None)
    other = job_of(tidelog.compile(PROGRAM + "cold(S) :- temp(S, V), V < 0."), 8, emit="final", start=0)
    for described_so, names in (
        (described(job, inputs[:1], 2), "--in, --lateness"),
        (described(job, inputs, 0, ["t"]), "--out"),
        (described(other, inputs, 0), "--emit, --buckets, --start"),
        (described(replace(job, keep=60.0), inputs, 0), "--keep"),
    ):
        with pytest.raises(SpecError, match=f"is that of a run with another {names}: choose another folder"):
            Checkpoint(checkpoint, described_so, job)
    assert Checkpoint(LocalFolder(os.fspath(tmp_path / "d")), described(job, inputs, 0), job).claim.id != mine.claim.id


def test_a_checkpoint_passes_to_another_program_at_once(tmp_path: Path) -> None:
    """It is that of the program before until the one now begins; a program that an earlier version stored is refused."""
    folder = LocalFolder(os.fspath(tmp_path / "c"))
    job, other = (job_of(tidelog.compile(text), 8) for text in (PROGRAM, PROGRAM + "cold(S) :- temp(S, V), V < 0."))
    Checkpoint(folder, described(job, [], 0), job)
    checkpoint = Checkpoint(folder, described(other, [], 0), other)
    assert (checkpoint.has_changed, checkpoint.before()) == (True, job)
    checkpoint.begin(5, anew=True)
    again = Checkpoint(folder, described(other, [], 0), other)
    assert (again.has_changed, again.claim.program, again.claim.batches) == (False, 1, 5)
    assert Checkpoint(folder, described(job, [], 0), job).before() == other
    (tmp_path / "c/tidelog-program-1.json").unlink()
    with pytest.raises(SpecError, match="an earlier version of tidelog did not store the text"):
        Checkpoint(folder, described(job, [], 0), job).before()


@pytest.mark.parametrize("name", ["tidelog.json", "offsets"])
def test_a_folder_of_something_else(tmp_path: Path, name: str) -> None:
    """A folder with anything else in it, such as the checkpoint of another query, is no checkpoint."""
    (tmp_path / name).write_text("8a1b")
    with pytest.raises(SpecError, match="holds something else than a checkpoint of `spark run`"):
        Checkpoint(LocalFolder(os.fspath(tmp_path)), {}, job_of(tidelog.compile(PROGRAM), 8))


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Where a checkpoint or tables cannot be, that is a mistake on the command line."""
    (tmp_path / "file").touch()
    for path in ("file", "file/c"):
        folder = LocalFolder(os.fspath(tmp_path / path))
        with pytest.raises(SpecError, match="cannot write the checkpoint"):
            Checkpoint(folder, {}, job_of(tidelog.compile(PROGRAM), 8))
        with pytest.raises(SpecError, match="cannot write tables to"):
            claim_tables(folder, "c1")


def test_a_checkpoint_is_that_of_one_process(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run with the same checkpoint is refused before it starts Spark; once the first has ended, it may run."""
    monkeypatch.setattr("tidelog.connectors.spark.check_requirements", lambda: None)
    monkeypatch.setattr("tidelog.commands.spark.start.start", lambda *_: 0)
    with held_alone("c", "checkpoint"):
        code, said = told(capfd, *STREAM, source="facts+in")
    assert (code, "another process writes the checkpoint in" in said) == (2, True), said
    assert told(capfd, *STREAM, source="facts+in")[0] == 0


def test_classes_come_from_an_archive_that_is_there(tmp_path: Path) -> None:
    """It is made at the end of the first run, and the next one begins with it."""
    path = tmp_path / "java classes.jsa"
    assert java_options(os.fspath(path), 2).endswith(f' "-XX:ArchiveClassesAtExit={path}"')
    path.write_bytes(b"?")
    assert java_options(os.fspath(path), 2).endswith(f' "-XX:SharedArchiveFile={path}"')


def test_few_cores_collect_garbage_with_one_thread() -> None:
    """On two cores, one thread frees memory; on more, Java chooses."""
    one = "-XX:+UseSerialGC"
    assert [one in java_options(None, cores) for cores in (1, 2, 3)] == [True, True, False]


def test_partitions_follow_from_buckets() -> None:
    """On a cluster each bucket of a stream has a partition; here each core, and two at least."""
    asked = [(4, None), (32, None), (4, 2), (32, 1), (32, 16)]
    plan = tidelog.compile(PROGRAM)
    told = [stream_settings(job_of(plan, buckets), cores)["spark.sql.shuffle.partitions"] for buckets, cores in asked]
    assert told == ["4", "32", "2", "2", "16"]


def test_folders_of_this_machine_are_no_uris() -> None:
    """What has to be on this machine cannot be behind a scheme, and is never made under its name."""
    assert on_this_machine("file:///tables", "tables") == "/tables"
    for path, message in (("hdfs://b/t", "not behind `hdfs:`"), ("", "need the name of a folder")):
        with pytest.raises(SpecError, match=message):
            on_this_machine(path, "tables")
    with pytest.raises(SpecError, match="outboxes are in a folder"):
        place_of("s3a://b/box")
