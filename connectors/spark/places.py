"""Where things are: on this machine, or in a file system that only Spark reaches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.systems import need_posix

with suppress(ImportError):  # on Windows, where `need_posix` refuses what needs it
    import fcntl

_REMOTE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://")

_ENVIRONMENT = "environment"
"""What the folder of an environment is called on workers unless told otherwise."""


def is_remote(path: str) -> bool:
    """Whether it is a URI of another file system than this machine's."""
    return _REMOTE.match(path) is not None


def local_path(path: str) -> str:
    """The absolute path of a path or of a `file:` URI."""
    path = path.removeprefix("file:")
    return os.path.abspath(path.removeprefix("//") if path.startswith("///") else path)


def uri_of(path: str) -> str:
    """What Spark calls it, whatever file system it looks at by itself."""
    return path if is_remote(path) else f"file://{local_path(path)}"


def on_this_machine(path: str, what: str) -> str:
    """The absolute path; SpecError for the URI of another file system, and for what names nothing. `what` is what it is for.

    >>> on_this_machine("s3a://plant/b", "outboxes")
    Traceback (most recent call last):
    tidelog.plans.diagnostics.errors.SpecError: `s3a://plant/b`: outboxes are in a folder of this machine, not behind `s3a:`
    """
    if is_remote(path):
        scheme = path.partition("://")[0]
        raise SpecError(f"`{path}`: {what} are in a folder of this machine, not behind `{scheme}:`")
    if not path or "\0" in path:
        raise SpecError(f"{what} need the name of a folder, got {path!r}")
    return local_path(path)


@contextmanager
def held_alone(folder: str, what: str) -> Iterator[None]:
    """A folder of this machine, made if it is not there, as that of this process alone. `what` is what it is for.

    SpecError where it cannot be made, or another process has it.
    """
    need_posix(f"cannot write {what} to `{folder}`")
    try:
        os.makedirs(folder, exist_ok=True)
        lock = os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SpecError(f"cannot write {what} to `{folder}`: {error.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SpecError(f"another process writes the {what} in `{folder}`") from None
        yield
    finally:
        os.close(lock)


def environment(archive: str) -> tuple[str, str]:
    """What Spark is told of an archive with an environment, and the path of its Python on workers.

    `archive` is `FILE` or `FILE#NAME`. SpecError where there is no such file on this machine.

    >>> environment("hdfs://plant/env.tar.gz#py")
    ('hdfs://plant/env.tar.gz#py', './py/bin/python')
    """
    path, _, name = archive.partition("#")
    name = name or _ENVIRONMENT
    if "," in archive or "/" in name or name in (".", ".."):
        raise SpecError(f"`--archives` `{archive}`: expected one archive, `FILE` or `FILE#NAME`")
    if "://" not in path and not os.path.isfile(path):
        raise SpecError(f"`--archives` `{archive}`: there is no file `{path}`")
    return f"{path if '://' in path else os.path.abspath(path)}#{name}", f"./{name}/bin/python"
