"""Where tables lie: files that are there as a whole or not at all, in a folder or in an object store.

A name is a path below the store's place, with `/`. Stores are plain data, which is sent to Spark's workers.
"""

from __future__ import annotations

import errno
import os
import uuid
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from tidelog.connectors.spark.places import is_remote, on_this_machine
from tidelog.connectors.store.syncing import make_folder, sync_name
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

_S3 = ("s3", "s3a")
_PART = ".part"


class Store(Protocol):
    """Files by name. What fails raises OSError; FileNotFoundError says that there is no such file."""

    @property
    def place(self) -> str:
        """Where it is, as the user names it."""
        ...

    def get(self, name: str) -> bytes:
        """What a file holds."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Write a file, in place of one that may be there; it is stored for good when this returns."""
        ...

    def put_new(self, name: str, data: bytes) -> bool:
        """Write a file unless there is one, in one step; False where there is one, be it this very one."""
        ...

    def names(self, folder: str) -> list[str]:
        """The files in a folder and in those below it, in order; none where it does not exist."""
        ...

    def remove(self, name: str) -> None:
        """Take a file away; nothing happens where there is none."""
        ...

    def path(self, name: str) -> str:
        """How Spark and Arrow call the file."""
        ...


def open_store(place: str) -> Store:
    """The store at a folder of this machine, or at `s3://BUCKET/PATH` (`s3a:` is the same).

    SpecError for another URI, and where what S3 needs is not installed.
    """
    if not is_remote(place):
        return LocalStore(on_this_machine(place, "tables"))
    scheme, _, rest = place.partition("://")
    bucket, _, folder = rest.partition("/")
    if scheme.lower() not in _S3 or not bucket:
        raise SpecError(f"`{place}`: tables are in a folder of this machine, or at `s3://BUCKET/PATH`")
    try:
        module = import_module("tidelog.connectors.spark.tables.s3_store")
    except ModuleNotFoundError as error:
        raise SpecError(f"`{place}` needs `{error.name}`: install `tidelog[s3]`") from None
    store: Store = module.S3Store(place.rstrip("/"), bucket, folder.strip("/"))
    return store


@dataclass(frozen=True, slots=True)
class LocalStore:
    """A folder of this machine, or of a file system that is mounted here and has hard links."""

    place: str

    def get(self, name: str) -> bytes:
        return Path(self.path(name)).read_bytes()

    def put(self, name: str, data: bytes) -> None:
        part = self._write_part(name, data)
        os.replace(part, self.path(name))
        sync_name(part)

    def put_new(self, name: str, data: bytes) -> bool:
        """A hard link is made in one step, never in the place of another; O_EXCL would leave half a file after a crash."""
        part = self._write_part(name, data)
        try:
            os.link(part, self.path(name))
        except FileExistsError:
            sync_name(part)  # whoever has written it may not have come so far
            return False
        except OSError as error:
            if error.errno in (errno.EPERM, errno.ENOTSUP):
                raise ConnectorError(f"`{self.place}` is on a file system without hard links, which tables need") from None
            raise
        finally:
            with suppress(FileNotFoundError):
                os.unlink(part)
        sync_name(part)
        return True

    def names(self, folder: str) -> list[str]:
        found = []
        for at, _, files in os.walk(self.path(folder)):
            below = os.path.relpath(at, self.place)
            found += [f"{below}/{file}" for file in files]
        return sorted(found)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path(name))

    def path(self, name: str) -> str:
        return os.path.join(self.place, name)

    def _write_part(self, name: str, data: bytes) -> str:
        """The data on the disk, under a name that nobody reads."""
        path = self.path(name)
        make_folder(os.path.dirname(path))
        part = f"{path}.{uuid.uuid4().hex}{_PART}"
        with open(part, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return part


def is_part(name: str) -> bool:
    """Whether it is what a process that died has left of a file."""
    return name.endswith(_PART)
