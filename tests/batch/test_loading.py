"""Facts of whole files: every format, exact times, mistakes with their places, little memory."""

from __future__ import annotations

import os
import threading
import tracemalloc
from fractions import Fraction
from pathlib import Path

import pytest

import tidelog
from tidelog.connectors.files.batch_files import BatchLoader, parse_batch_spec
from tidelog.connectors.files.fact_columns import FactColumns
from tidelog.plans.data.facts import Schema, format_record
from tidelog.plans.data.refining import RefiningTimeline, read_exactly, refine_begin, refine_end
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError

COARSE = Schema(Timeline("rational", Fraction(1)))


def load(folder: Path, *files: tuple[str, str], schema: Schema = COARSE, only: frozenset[str] | None = None) -> BatchLoader:
    """A loader that has read files of these names and texts."""
    loader = BatchLoader(schema, only=only)
    for name, text in files:
        (folder / name).write_text(text, "utf-8")
        loader.load(parse_batch_spec(str(folder / name)))
    return loader


def texts(loader: BatchLoader) -> list[str]:
    return sorted(format_record(record, loader.timeline) for record in loader.drain())


# --- exact times --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "p@1/3",
        "p@0.1234567",
        "p@5/2",
        "p@-7/3",
        "p@(1/3,1/2)",
        "p@[1/3,1/2)",
        "p@(1/3,1/2]",
        "p@[1/3,1/2]",
        "p@(-inf,1/7)",
        "p@(1/7,inf)",
        "p@1e-12",
        "p@(-inf,inf)",
    ],
)
def test_a_time_is_as_exact_as_it_is_written(tmp_path: Path, text: str) -> None:
    """Finer than the resolution is no error: the timeline becomes finer, with every bracket."""
    loader = load(tmp_path, ("facts.txt", f"{text}\n"))
    exact = text.replace("0.1234567", "1234567/10000000").replace("1e-12", f"1/{10**12}")
    assert texts(loader) == [exact]


def test_what_was_loaded_before_is_encoded_anew(tmp_path: Path) -> None:
    """Facts of this file and of files before keep their times, open ends too, when a later one is finer."""
    before = ["p(a)@(1,2)", "p(b)@[1,2]", "p(c)@3", "p(d)@(-inf,4)", "p(e)@(4,inf)", "p(f)@(-3,-1]"]
    loader = load(tmp_path, ("a.txt", "\n".join(before)), ("b.txt", "q(a)@7\nq(b)@1/6\nq(c)@[1/4,9)\n"))
    assert loader.timeline.resolution == Fraction(1, 12)
    assert texts(loader) == sorted([*before, "q(a)@7", "q(b)@1/6", "q(c)@[1/4,9)"])


def test_any_place_in_a_long_file_may_be_finer(tmp_path: Path) -> None:
    """The line that is finer may lie in any piece of the file."""
    lines = [f"p(a{i})@{i}" for i in range(20_000)]
    lines[15_000] = "p(a15000)@15000.5"
    loader = load(tmp_path, ("facts.txt", "\n".join(lines)))
    assert texts(loader) == sorted(line.replace("15000.5", "30001/2") for line in lines)


def test_every_format_refines(tmp_path: Path) -> None:
    """Text, JSON lines and CSV alike; a CSV header counts for what is read again and for what follows it."""
    rows = "".join(f"{i}.5,{i + 1}.25,a{i}\n" for i in range(5000))
    loader = load(
        tmp_path,
        ("facts.txt", "p@1/3\n"),
        ("facts.jsonl", '{"predicate":"q","time":"1/7"}\n{"predicate":"q","args":[2],"interval":"[1/2,9/7)"}'),
        ("r.csv", "from,to,name\n" + "".join(f"{i},{i + 1},b{i}\n" for i in range(8000)) + rows),
    )
    assert loader.timeline.resolution == Fraction(1, 84)
    found = texts(loader)
    assert len(found) == 13_003
    assert {"p@1/3", "q@1/7", "q(2)@[1/2,9/7)", "r(b7999)@[7999,8000]", "r(a4999)@[9999/2,20001/4]"} <= set(found)


def test_whole_times_leave_the_resolution_alone(tmp_path: Path) -> None:
    """Data that fit the program's resolution do not change it."""
    assert load(tmp_path, ("facts.txt", "p@1\np@[2,3)\n")).timeline == COARSE.timeline


def test_the_integer_timeline_takes_no_fractions(tmp_path: Path) -> None:
    """On `timeline integer` a fraction is an error with its place."""
    with pytest.raises(DataError, match=r"facts.txt:2: time 1/2 is not a whole number"):
        load(tmp_path, ("facts.txt", "p@1\np@1/2\n"), schema=Schema(Timeline("integer")))


@pytest.mark.parametrize(
    ("before", "text", "said"),
    [
        ("", "p@1000000000000000000000000\n", "facts.txt:1: time 1000000000000000000000000 lies beyond"),
        ("p@1000000000000\n", "p@1\n\nq@1/1000000007\n", r"facts.txt:3: facts before it lie beyond"),
        ("", "p@1\np@1000000000000\nq@1/1000000007\n", r"facts.txt:2: time 1000000000000 lies .* resolution 1/1000000007"),
    ],
)
def test_what_no_timeline_can_hold_is_an_error(tmp_path: Path, before: str, text: str, said: str) -> None:
    """Too far, or too fine for what is far: refused with a place, nothing overflows."""
    with pytest.raises(DataError, match=said):
        load(tmp_path, ("before.txt", before), ("facts.txt", text))


@pytest.mark.parametrize("factor", [1, 2, 3, 1000])
def test_refining_keeps_ranges(factor: int) -> None:
    """A range means the same times before and after, whatever its ends."""
    coarse = Timeline("rational", Fraction(1))
    fine = Timeline("rational", Fraction(1, factor))
    for lo, hi in [(0, 0), (1, 1), (0, 3), (1, 4), (-3, -1), (-5, 8), (NEG, 3), (NEG, 4), (-1, POS), (2, POS), (NEG, POS)]:
        again = refine_begin(lo, factor), refine_end(hi, factor)
        assert fine.decode_interval(*again) == coarse.decode_interval(lo, hi)


def test_reading_exactly() -> None:
    """One text is read with the coarsest timeline on which it is exact; what is wrong stays wrong."""
    found, timeline = read_exactly(COARSE.timeline, lambda timeline: TimeReader(timeline).read("(1/3,0.5)"))
    assert timeline.resolution == Fraction(1, 6)
    assert timeline.format_range(*found) == "(1/3,1/2)"
    assert not isinstance(timeline, RefiningTimeline)
    with pytest.raises(DataError, match="empty"):
        read_exactly(COARSE.timeline, lambda timeline: TimeReader(timeline).read("(1/3,1/3)"))


# --- mistakes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("facts.txt", "p@1\n\n% a comment\nnonsense(\n", ":4: "),
        ("facts.txt", "p@1\np\n", ":2: "),
        ("facts.txt", "p@[2,1]\n", r":1: interval \[2,1\] is empty"),
        ("facts.txt", "p@(1/3,1/3]\n", r":1: interval \(1/3,1/3\] is empty"),
        ("facts.txt", "p@1\n" + "q(a,b,c)@2\n" * 9999 + "p@x\n", ":10001: "),
        ("facts.jsonl", '{"predicate":"p","time":1}\n{"predicate":"p"}\n', ":2: `time` or `interval` is missing"),
        ("p.csv", "name,when\na,1\n", ":1: the header needs a column `time`"),
        ("p.csv", "name,time\na,1\nb\n", ":3: expected 2 columns, got 1"),
        ("facts.txt", "p@1\nq(" + "a" * 2_000_000 + ")@1\nr\n", ":2: line is longer than"),
    ],
)
def test_a_record_that_cannot_be_read_is_an_error(tmp_path: Path, name: str, text: str, place: str) -> None:
    """The first one is told, with its file and its line, whether or not its times are fine."""
    with pytest.raises(DataError, match=f"{name}{place}"):
        load(tmp_path, (name, text))


def test_a_row_must_be_one_of_its_predicate(tmp_path: Path) -> None:
    """Arity and types are those of the program."""
    plan = tidelog.compile("input p(name: text). q(X) :- p(X).")
    with pytest.raises(DataError, match="takes 1 argument, got 2"):
        load(tmp_path, ("facts.txt", "p(a,b)@1\n"), schema=plan.schema)
    with pytest.raises(DataError, match="expects text"):
        load(tmp_path, ("facts.txt", "p(1)@1\n"), schema=plan.schema)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("tcp://127.0.0.1:9000", "may have no end"),
        ("unix:///tmp/socket", "may have no end"),
        ("csv+-", "predicate="),
        ("nowhere.txt", "No such file"),
        (".", "directory"),
        ("xml+-", "unknown format"),
    ],
)
def test_what_cannot_be_loaded_is_told_before_anything_is(spec: str, said: str) -> None:
    """A SPEC without an end, of no known form, or of nothing that is there."""
    with pytest.raises(SpecError, match=said):
        parse_batch_spec(spec)


# --- what is kept -------------------------------------------------------------------------------------------------------


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """A named pipe, whose lines cannot be read twice, may be finer anywhere as well."""
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    loader = BatchLoader(COARSE)
    writer = threading.Thread(target=fifo.write_text, args=("".join(f"p@{i}\n" for i in range(20_000)) + "p@1/3\n",))
    writer.start()
    read: list[int] = []
    loader.load(parse_batch_spec(f"facts+file:{fifo}"), read.append)
    writer.join()
    assert len(loader.facts) == 20_001
    assert sum(read) > 100_000
    assert texts(loader)[-1] == "p@9999"


def test_only_what_is_wanted_is_kept(tmp_path: Path) -> None:
    """Facts of other predicates are counted, and cost no memory."""
    loader = load(tmp_path, ("facts.txt", "p@1\nq(a)@2\nr@3\n"), only=frozenset({"q"}))
    assert (len(loader.facts), loader.facts.passed) == (1, 2)
    assert texts(loader) == ["q(a)@2"]


def test_facts_go_out_in_order_of_time_and_once() -> None:
    """Each predicate's by their begins, which is what stores take fastest; then nothing is left."""
    facts = FactColumns()
    facts.add([("p", (str(i % 7),), i * 7919 % 10_007, POS) for i in range(10_007)])
    begins = [record[2] for record in facts.drain()]
    assert begins == sorted(begins)
    assert len(begins) == 10_007
    assert (list(facts.drain()), len(facts)) == ([], 0)


def test_constants_are_shared(tmp_path: Path) -> None:
    """A constant is one object, in whatever fact, file or predicate it stands."""
    loader = load(tmp_path, ("a.txt", "p(somebody,x)@1\n"), ("b.txt", "q(y,somebody)@[1,3)\n"))
    (q, p) = sorted(loader.drain(), key=lambda record: record[0], reverse=True)
    assert q[1][1] == "somebody"
    assert q[1][1] is p[1][0]


@pytest.mark.long
def test_memory_for_each_fact(tmp_path: Path) -> None:
    """A fact with a constant of its own and an interval costs less than 400 bytes; beside that there are bounded caches."""
    number = 100_000
    path = tmp_path / "facts.txt"
    path.write_text("".join(f"reading(sensor{i % 1000},event-{i})@[{i},{i + 5}]\n" for i in range(number)))
    loader = BatchLoader(COARSE)
    tracemalloc.start()
    loader.load(parse_batch_spec(str(path)))
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(loader.facts) == number
    assert kept / number < 400
    assert peak - kept < 32 << 20
