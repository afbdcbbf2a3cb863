"""Suites come from a URL, a folder or an archive, and are known again by the SHA-256 of what is in them."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError

import pytest

from benchmarks.suites import sources, timescales
from benchmarks.suites.__main__ import main
from benchmarks.suites.sources import SUITES, Suite, SuiteError, digest, fetch, fetched

SUITE = SUITES["timescales"]
SPEC = '---\nname : "Once"\npattern : "historically once[:2] p"\n'
TRACE = "time,p\n1,1\n2,0\n3,0\n4,1\n5,0\n"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FETCHED", tmp_path / "fetched")
    monkeypatch.setattr(sources, "LOCK", tmp_path / "lock.json")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder as the suite has it."""
    small = tmp_path / "clone" / "smallsuite"
    small.mkdir(parents=True)
    (small / "Once.yaml").write_text(SPEC)
    (small / "Once.csv").write_text(TRACE)
    return small.parent


def _tar(clone: Path) -> Path:
    archive = clone.with_name("suite.tar.gz")
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(clone, "timescales-854c")
    return archive


def _zip(clone: Path) -> Path:
    archive = clone.with_name("suite.zip")
    with zipfile.ZipFile(archive, "w") as packed:
        for path in clone.rglob("*.*"):
            packed.write(path, f"timescales-854c/{path.relative_to(clone)}")
    return archive


def _folder(clone: Path) -> Path:
    (clone / ".git").mkdir()
    (clone / ".git" / "HEAD").write_text("ref: refs/heads/main")
    return clone


@pytest.mark.parametrize("given", [_tar, _zip, _folder])
def test_a_suite_is_taken_from_a_folder_or_an_archive(clone: Path, given: Callable[[Path], Path]) -> None:
    """All have the same digest, and lie in the same place."""
    expected = digest(clone)
    assert fetch(SUITE, given(clone)) == f"timescales: SHA-256 {expected}, nothing is locked yet to compare it with"
    assert digest(fetched(SUITE)) == expected
    assert (fetched(SUITE) / "smallsuite" / "Once.csv").read_text() == TRACE


def _serve(archive: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []

    def answer(url: str, timeout: float) -> object:
        asked.append(url)
        return archive.open("rb")

    monkeypatch.setattr(sources, "urlopen", answer)
    return asked


def test_the_first_download_is_locked_and_a_later_one_compared(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other contents are refused, and what was fetched before stays."""
    expected = digest(clone)
    asked = _serve(_tar(clone), monkeypatch)
    assert fetch(SUITE) == f"timescales: fetched for the first time, and locked, SHA-256 {expected}"
    assert asked == [f"https://github.com/doganulus/timescales/archive/{SUITE.commit}.tar.gz"]
    assert json.loads(sources.LOCK.read_text()) == {SUITE.url: expected}
    assert fetch(SUITE) == f"timescales: as it was locked, SHA-256 {expected}"
    (clone / "smallsuite" / "Once.csv").write_text("time,p\n1,0\n")
    other = digest(clone)
    _tar(clone)
    with pytest.raises(SuiteError, match=f"expected SHA-256 {expected}, found {other}"):
        fetch(SUITE)
    assert digest(fetched(SUITE)) == expected
    assert fetch(SUITE, clone).endswith(f"not what was locked, {expected}")


def test_without_a_network_it_is_said_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The URL, the reason, and how a suite is brought from elsewhere."""

    def unreachable(url: str, timeout: float) -> object:
        raise URLError("Name or service not known")

    monkeypatch.setattr(sources, "urlopen", unreachable)
    assert main(["fetch", "dredmtl"]) == 1
    told = capsys.readouterr().err
    assert f"cannot fetch {SUITES['dredmtl'].url}: Name or service not known" in told
    assert "fetch dredmtl --from PATH" in told
    assert not sources.LOCK.exists()
    assert main(["run", "dredmtl"]) == 1
    assert "`dredmtl` has not been fetched; first run `python -m benchmarks.suites fetch dredmtl`" in capsys.readouterr().err


def test_what_is_no_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is one that is too large, before it is kept."""
    page = tmp_path / "page.html"
    page.write_text("<html>Not found</html>")
    with pytest.raises(SuiteError, match=r"cannot unpack .*page\.html, expected a \.tar\.gz or a \.zip"):
        fetch(SUITE, page)
    with pytest.raises(SuiteError, match="is neither a folder nor an archive"):
        fetch(SUITE, tmp_path / "missing")
    monkeypatch.setattr(sources, "MOST_BYTES", 10)
    _serve(page, monkeypatch)
    with pytest.raises(SuiteError, match="is larger than 10 bytes"):
        fetch(SUITE)
    assert list(sources.FETCHED.iterdir()) == []


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_each_suite_is_pinned_to_a_commit(suite: Suite) -> None:
    """Not to a branch, which moves."""
    assert len(suite.commit) == 40
    assert set(suite.commit) <= set("0123456789abcdef")


def test_a_property_that_fails_is_told(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over a trace of the suite's form: the figures, and the rows at which it does not hold."""
    fetch(SUITE, clone)
    figures = {figure.name: figure for figure in timescales.run(fetched(SUITE))}
    assert figures["Once, rows at which it does not hold"].value == 0
    (clone / "smallsuite" / "Once.csv").write_text(TRACE.replace("3,0\n4,1", "4,0"))
    fetch(SUITE, clone)
    figures = {figure.name: figure for figure in timescales.run(fetched(SUITE))}
    failing = figures["Once, rows at which it does not hold"]
    assert (failing.value, failing.verdict) == (2, "missed")
    assert main(["run", "timescales", "--only", "Twice"]) == 1
    assert "with `Twice` in its name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("Once.csv", "p,time\n1,1\n", r"Once\.csv:1: expected the columns `time` and one for each proposition"),
        ("Once.csv", "time,p\n1,2\n", r"Once\.csv:2: expected a time and 1 of 0 or 1, found `1,2`"),
        ("Once.csv", "time,p\n1,1\n1,0\n", r"Once\.csv:3: expected a time behind 1, found 1"),
        ("Once.yaml", "name: Once\n", "expected a line `pattern"),
        ("Once.yaml", 'pattern : "always p"\n', "`always` looks ahead"),
    ],
)
def test_what_cannot_be_read_is_refused(clone: Path, file: str, text: str, message: str) -> None:
    """With the file, and the line where there is one."""
    (clone / "smallsuite" / file).write_text(text)
    with pytest.raises(SuiteError, match=message):
        timescales.run(clone)
