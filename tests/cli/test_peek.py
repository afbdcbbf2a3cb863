"""`tidelog peek`: what it writes reads the file that it was shown."""

from __future__ import annotations

import gzip
import json
import shlex
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidelog.cli import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def peeked(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints; it has to end well, and what it prints has to read the file, fact by fact."""
    assert main(["peek", *arguments]) == 0
    out, _ = capfd.readouterr()
    Path("p.tide").write_text(out)
    spec = next(shlex.split(line)[-1] for line in out.splitlines() if line.startswith("% tidelog run"))
    iso = ["--iso"] if "unit" in out else []
    assert main(["materialise", "p.tide", spec, *iso]) == 0
    facts = capfd.readouterr().out.splitlines()
    shown = [line.removeprefix("%   ") for line in out.splitlines() if line.startswith("%   ")]
    assert shown
    assert set(shown) <= set(facts)
    return out


GERMAN = "Zeitstempel;Raum Nr.;Größe\n13.07.2026 12:00:00;1a;21,5\n13.07.2026 12:00:05;1b;22\n"


def test_a_german_file(capfd: pytest.CaptureFixture[str]) -> None:
    """Separator, decimals, the time and its format, and names that a program can have."""
    Path("Messwerte 2026.csv").write_text(GERMAN)
    assert peeked(capfd, "Messwerte 2026.csv") == (
        "timeline integer, unit 1 s.\n"
        "input messwerte_2026(raum_nr: text, groesse: number).\n"
        "% tidelog run PROGRAM --in 'Messwerte 2026.csv?predicate=messwerte_2026&sep=;&decimal=,&time=Zeitstempel"
        "&format=%d.%m.%Y %H:%M:%S&columns=raum_nr:Raum Nr.,groesse:Größe'\n"
        "% Times tell no offset and are read as UTC: `&zone=Europe/Berlin` reads them as a clock's there.\n"
        '%   messwerte_2026("1a",21.5)@2026-07-13T12:00:00Z\n'
        '%   messwerte_2026("1b",22)@2026-07-13T12:00:05Z\n'
    )


def test_numbers_since_1970(capfd: pytest.CaptureFixture[str]) -> None:
    """Milliseconds need a unit of a millisecond, where they are not whole seconds."""
    Path("temp.csv").write_text("ts,id,v\n1700000000123,a,1.5\n1700000001123,b,2\n")
    out = peeked(capfd, "temp.csv")
    assert out.startswith("timeline integer, unit 1 ms.\ninput temp(id: text, v: number).\n")
    assert "--in 'temp.csv?time=ts&epoch=ms'" in out


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("t.csv", "time,x\n1,a\n2,b\n", "timeline integer.\ninput t(x: text).\n% tidelog run PROGRAM --in t.csv\n"),
        ("t.csv", "time,x\n1,a\n2.25,b\n", "timeline rational, resolution 1/1000."),
        ("t.csv", "from,to,x\n2026-07-01,2026-07-02,a\n", "timeline integer, unit 1 s.\ninput t(x: text).\n"),
        ("t.csv", "x\tDatum\n1\t12/31/2026 1:02 PM\n", "?sep=tab&time=Datum&format=%m/%d/%Y %I:%M %p'"),
        ("t.csv", "a,,b,when,a\n1,2,3,2026-07-01T12:00:00Z,4\n", "'t.csv?time=when&extra=ignore'"),
        ("t.csv", 'x,time\n"a\nb",1\n"c,d",2\n', "input t(x: text)."),
        ("t.csv", "a:b|c,d|time\n1|2|3\n", "sep=|&columns=a_b:a%3Ab,c_d:c%2Cd"),
        ("t.txt", "time;q\n1;true\n2;FALSE\n", "% tidelog run PROGRAM --in 'csv+t.txt?sep=;'"),
    ],
)
def test_many_files(name: str, text: str, expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Each is read by what is written."""
    Path(name).write_text(text)
    assert expected in peeked(capfd, name)


def test_what_is_no_fact_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """A cell in many may be anything: the column is one of numbers nevertheless."""
    Path("t.csv").write_text("x,time\n" + "1,1\n" * 40 + "n/a,2\n")
    assert main(["peek", "t.csv"]) == 0
    out, err = capfd.readouterr()
    assert "input t(x: number)." in out
    assert err.splitlines()[0] == "tidelog: t.csv:42: `t` expects number for `x`, got n/a"


def test_flat_objects(capfd: pytest.CaptureFixture[str]) -> None:
    """What is not in all of them, or is nested, is passed over."""
    rows = [{"when": f"2026-07-01T12:00:0{i}Z", "ok": i > 1, "v": i / 2, "meta": [], "id": "7"} for i in range(3)]
    Path("log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    out = peeked(capfd, "log.jsonl", "--predicate", "seen", "--rows", "1")
    assert out == (
        "timeline integer, unit 1 s.\ninput seen(ok: boolean, v: number, id: text).\n"
        "% tidelog run PROGRAM --in 'log.jsonl?predicate=seen&time=when&extra=ignore'\n"
        '%   seen(false,0,"7")@2026-07-01T12:00:00Z\n'
    )


def test_parquet(capfd: pytest.CaptureFixture[str]) -> None:
    """Its types are known, and its timestamps are times."""
    times = [datetime(2026, 7, 1, 12, 0, 1, 500_000)]  # noqa: DTZ001 - what a clock shows
    pq.write_table(pa.table({"Raum": ["a"], "wert": [1.5], "ts": times, "tags": [["x"]]}), "temp.parquet")
    out = peeked(capfd, "temp.parquet")
    assert out.startswith("timeline integer, unit 1 ms.\ninput temp(raum: text, wert: number).\n")
    assert "'temp.parquet?time=ts&columns=raum:Raum'" in out


def test_compressed_files(capfd: pytest.CaptureFixture[str]) -> None:
    """They are unpacked first."""
    Path("temp.csv.gz").write_bytes(gzip.compress(b"time,v\n1,2\n"))
    assert "input temp(v: number)." in peeked(capfd, "temp.csv.gz")


@pytest.mark.parametrize(
    ("name", "text", "code", "reason"),
    [
        ("a.csv", "x,y\n1,a\n", 1, "a.csv: no column looks like a time: x, y"),
        ("a.csv", "", 1, "a.csv: is no table"),
        ("a.csv", "plain text\nof two lines\n", 1, "a.csv: is no table"),
        ("a.jsonl", '{"temp":{"v":1},"time":1}\n', 1, "a.jsonl: holds facts already"),
        ("a.jsonl", "[1]\n", 1, "a.jsonl: holds no objects"),
        ("a.jsonl", "{\n", 1, "a.jsonl: not valid JSON"),
        ("a.parquet", "", 1, "cannot read `a.parquet`"),
        ("b.csv?sep=;", "", 2, "cannot read `b.csv`"),
    ],
)
def test_what_is_no_table(name: str, text: str, code: int, reason: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The error says what is missing."""
    if "?" not in name:
        Path(name).write_text(text)
    assert main(["peek", name]) == code
    assert reason in capfd.readouterr().err


def test_options_are_what_it_finds_out(capfd: pytest.CaptureFixture[str]) -> None:
    """It takes none."""
    Path("a.csv").write_text("time,x\n1,2\n")
    assert main(["peek", "a.csv?sep=;"]) == 2
    assert "finds out what the options are" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("text", "encoding", "line", "said"),
    [
        ("Zeit;Name;Wert\n1;a;5\n2;Größe;6\n", "latin-1", 3, "iconv -f windows-1252 -t utf-8 t.csv"),
        ("Zeit;Größe\n1;a\n", "latin-1", 1, "iconv -f windows-1252 -t utf-8 t.csv"),
        ("time,x\n1,a\n", "utf-16", 1, "iconv -f utf-16 -t utf-8 t.csv"),
    ],
)
def test_what_is_not_utf8_is_told_so(
    text: str, encoding: str, line: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """With its line, and what converts it; it was called no table."""
    Path("t.csv").write_bytes(text.encode(encoding))
    assert main(["peek", "t.csv"]) == 1
    assert capfd.readouterr().err == f"tidelog: error: t.csv:{line}: is not UTF-8: convert it, such as by `{said}`\n"


def test_a_cell_that_makes_numbers_text_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """Which one, where, of how many; the column became text without a word."""
    rows = "".join(f"{i},{i}\n" for i in range(9))
    Path("t.csv").write_text(f"time,v\n{rows}10,n/a\n")
    assert main(["peek", "t.csv"]) == 0
    out, err = capfd.readouterr()
    assert "input t(v: text)." in out
    assert err == (
        "tidelog: note: `v` is text, for 1 of 10 cells is no number: `n/a` in line 11; "
        "with `v: number`, its row is passed over\n"
    )
    Path("t.csv").write_text(f"time,v\n{rows}10,n/a\n11,?\n")
    assert main(["peek", "t.csv"]) == 0
    assert "2 of 11 cells are no number: `n/a` in line 11" in capfd.readouterr().err


def test_few_cells_that_are_no_numbers_are_passed_over(capfd: pytest.CaptureFixture[str]) -> None:
    """At most one in twenty: the column is of numbers, and the rows are named and counted."""
    rows = "".join(f"{i},{i}\n" for i in range(19))
    Path("t.csv").write_text(f"time,v\n{rows}20,n/a\n")
    assert main(["peek", "t.csv"]) == 0
    out, err = capfd.readouterr()
    assert "input t(v: number)." in out
    assert err == (
        "tidelog: t.csv:21: `t` expects number for `v`, got n/a\n"
        "tidelog: note: 1 of the first 20 rows cannot be used, and would be passed over\n"
    )
