"""Folders that one process has alone, and environments that Spark brings to its workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.systems import need_posix

with suppress(ImportError):  # on Windows, where `need_posix` refuses what needs it
    import fcntl

_ENVIRONMENT = "environment"
"""What the folder of an environment is called on workers unless told otherwise."""


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
