"""Where the suites come from: one commit each, fetched as an archive, and known again by the SHA-256 of what is in it.

The archives that GitHub makes of a commit need not be the same bytes for ever, but their contents are. So the digest is
over names and contents of all files. `lock.json` keeps it from the first download on; a later one that differs is refused.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.error import URLError
from urllib.request import urlopen

HERE = Path(__file__).parent
LOCK = HERE / "lock.json"
FETCHED = HERE.parent.parent / "build" / "suites"
MOST_BYTES = 2 << 30
"""The largest archive that is downloaded, and the most that one is unpacked to, eight times."""
_AT_ONCE = 1 << 20
_TIMEOUT = 60


class SuiteError(Exception):
    """A suite cannot be had or read; says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A repository at one commit, and what it is."""

    name: str
    repository: str
    commit: str
    told: str

    @property
    def url(self) -> str:
        """The archive of the commit."""
        return f"https://github.com/{self.repository}/archive/{self.commit}.tar.gz"

    @property
    def folder(self) -> Path:
        """Where it lies when it has been fetched."""
        return FETCHED / self.name


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "timescales",
            "doganulus/timescales",
            "854c85424c6cff157b79d1b1187ebb57a10a8706",
            "ten properties of past-time MTL, each with a trace of 10,000 rows at which it holds",
        ),
        Suite(
            "magic-sets",
            "RoyalRaisins/Magic-Sets-for-DatalogMTL",
            "0db340b6a8de31515ad872e759e09d1181157600",
            "LUBM, iTemporal and weather stations in DatalogMTL, with facts that follow and facts that do not",
        ),
        Suite(
            "dredmtl",
            "Horizon12275/DREDmtl-for-DatalogMTL",
            "16ebb20d23e8323db5c565e800bb475f2e8ac94e",
            "the same three in DatalogMTL, with facts to take away and to give back",
        ),
    )
}


def fetch(suite: Suite, given: Path | None = None) -> str:
    """Put a suite into its folder, in place of what is there, from its URL or from a folder or an archive that is `given`.

    Returns a line that says what was found. SuiteError where it cannot be had, and for a download with another digest than
    before. What is given is compared with the lock as well, but taken as it is.
    """
    suite.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=suite.folder.parent, prefix=f".{suite.name}-") as work:
        unpacked = Path(work) / "unpacked"
        if given is None:
            archive = Path(work) / "archive.tar.gz"
            _download(suite, archive)
            _unpack(archive, unpacked)
        elif given.is_dir():
            shutil.copytree(given, unpacked, ignore=shutil.ignore_patterns(".git"))
        elif given.is_file():
            _unpack(given, unpacked)
        else:
            raise SuiteError(
                f"`{given}` is neither a folder nor an archive; give a clone of {suite.repository}, or its archive"
            )
        found = digest(unpacked)
        told = _compare(suite, found, is_given=given is not None)
        shutil.rmtree(suite.folder, ignore_errors=True)
        unpacked.rename(suite.folder)
    return told


def fetched(suite: Suite) -> Path:
    """The folder of a suite that has been fetched; SuiteError where it has not."""
    if not suite.folder.is_dir():
        raise SuiteError(f"`{suite.name}` has not been fetched; first run `python -m benchmarks.suites fetch {suite.name}`")
    return suite.folder


def digest(folder: Path) -> str:
    """The SHA-256 over names and contents of all files of a folder."""
    every = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            of_file = hashlib.file_digest(file, "sha256").hexdigest()
        every.update(f"{of_file}  {path.relative_to(folder).as_posix()}\n".encode())
    return every.hexdigest()


def _compare(suite: Suite, found: str, *, is_given: bool) -> str:
    lock: dict[str, str] = json.loads(LOCK.read_text("utf-8")) if LOCK.exists() else {}
    known = lock.get(suite.url)
    if known == found:
        return f"{suite.name}: as it was locked, SHA-256 {found}"
    if is_given:
        what = "nothing is locked yet to compare it with" if known is None else f"not what was locked, {known}"
        return f"{suite.name}: SHA-256 {found}, {what}"
    if known is not None:
        raise SuiteError(
            f"{suite.url} has other contents than before: expected SHA-256 {known}, found {found}; if that is meant, remove "
            f"its line from {LOCK.name} and fetch again"
        )
    LOCK.write_text(json.dumps(dict(sorted({**lock, suite.url: found}.items())), indent=2) + "\n", "utf-8")
    return f"{suite.name}: fetched for the first time, and locked, SHA-256 {found}"


def _download(suite: Suite, target: Path) -> None:
    try:
        with urlopen(suite.url, timeout=_TIMEOUT) as answer, target.open("wb") as file:  # noqa: S310 - it is always https
            _copy(answer, file, suite.url)
    except (URLError, OSError) as error:
        raise SuiteError(
            f"cannot fetch {suite.url}: {getattr(error, 'reason', error)}. Where this machine cannot reach it, bring "
            f"the archive or a clone at that commit from another, and run "
            f"`python -m benchmarks.suites fetch {suite.name} --from PATH`"
        ) from error


def _copy(answer: BinaryIO, file: BinaryIO, url: str) -> None:
    left = MOST_BYTES
    while piece := answer.read(_AT_ONCE):
        left -= len(piece)
        if left < 0:
            raise SuiteError(
                f"{url} is larger than {MOST_BYTES:,} bytes, which no suite is; look at it, and use --from PATH"
            )
        file.write(piece)


def _unpack(archive: Path, target: Path) -> None:
    """Unpack what lies below the one folder that archives of a commit have, or all where there is none."""
    inside = target.with_name("inside")
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                _check_size(archive, (member.file_size for member in packed.infolist()))
                packed.extractall(inside)  # noqa: S202 - names that lead out of the folder are cut by zipfile
        else:
            with tarfile.open(archive) as packed_tar:
                _check_size(archive, (member.size for member in packed_tar))
                packed_tar.extractall(inside, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise SuiteError(f"cannot unpack {archive}, expected a .tar.gz or a .zip: {error}") from error
    entries = list(inside.iterdir()) if inside.exists() else []
    only = entries[0] if len(entries) == 1 and entries[0].is_dir() else inside
    only.rename(target)


def _check_size(archive: Path, sizes: Iterator[int]) -> None:
    total = sum(sizes)
    if total > 8 * MOST_BYTES:
        raise SuiteError(
            f"{archive} would unpack to {total:,} bytes, more than {8 * MOST_BYTES:,}; unpack it, and give the folder"
        )
