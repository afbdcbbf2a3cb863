"""A place with tables: a folder of this machine, or a path in a bucket, with a table of Delta Lake for each predicate."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.connectors.lake.library import deltalake, storage_options, told
from tidelog.connectors.lake.places import is_remote, on_this_machine
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"
"""The folder in a table that makes it one."""

_S3 = ("s3://", "s3a://")
_PLAIN = re.compile(r"[A-Za-z0-9-]")
_ESCAPED = re.compile(r"(?:~[0-9A-F]{2})+")


@dataclass(frozen=True, slots=True)
class Lake:
    """A place with tables. Plain data: it can be sent elsewhere. `place` is a path, or `s3://BUCKET/PATH`."""

    place: str

    def uri(self, predicate: str) -> str:
        """Where the table of a predicate is."""
        return f"{self.place}/{folder_of(predicate)}"

    def open(self, predicate: str) -> DeltaTable | None:
        """The newest version of a table; None where there is none. ConnectorError where it cannot be read."""
        return open_table(self.uri(predicate))

    def predicates(self) -> list[str]:
        """Of which predicates there are tables, in order. ConnectorError where that cannot be seen."""
        with told(f"cannot read the tables in `{self.place}`"):
            if self.place.startswith("s3://"):
                names = self._names_in_bucket()
            elif not os.path.isdir(self.place):
                names = []
            else:
                names = [entry.name for entry in os.scandir(self.place) if os.path.isdir(os.path.join(entry.path, LOG))]
            return sorted(map(predicate_of, names))

    def _names_in_bucket(self) -> list[str]:
        from deltalake.fs import DeltaStorageHandler  # noqa: PLC0415 - as `deltalake()` has loaded it
        from pyarrow import fs  # noqa: PLC0415

        files = fs.PyFileSystem(DeltaStorageHandler(self.place, storage_options(self.place)))
        inside = files.get_file_info(fs.FileSelector("", allow_not_found=True))
        folders = [item.path for item in inside if item.type == fs.FileType.Directory]
        logs = ((name, fs.FileSelector(f"{name}/{LOG}", allow_not_found=True)) for name in folders)
        return [name.strip("/") for name, log in logs if files.get_file_info(log)]


def open_lake(place: str) -> Lake:
    """The tables at a folder of this machine, or at `s3://BUCKET/PATH` (`s3a:` is the same).

    SpecError for other places, and where the library is missing. Nothing is looked at yet.
    """
    deltalake()
    if not is_remote(place):
        return Lake(on_this_machine(place, "tables").rstrip("/"))
    scheme = next((scheme for scheme in _S3 if place.startswith(scheme)), None)
    path = "" if scheme is None else place.removeprefix(scheme).strip("/")
    if not path:
        raise SpecError(f"`{place}`: tables are in a folder of this machine, or at `s3://BUCKET/PATH`")
    return Lake(f"s3://{path}")


def open_table(uri: str) -> DeltaTable | None:
    """The newest version of the table at a path or a URI; None where there is none.

    ConnectorError where it cannot be read.
    """
    library = deltalake()
    with told(f"cannot read the table `{uri}`"):
        if not library.DeltaTable.is_deltatable(uri, storage_options=storage_options(uri)):
            return None
        table: DeltaTable = library.DeltaTable(uri, storage_options=storage_options(uri))
        return table


def is_table(path: str) -> bool:
    """Whether there is a table of Delta Lake at a path of this machine."""
    return os.path.isdir(os.path.join(path, LOG))


def folder_of(predicate: str) -> str:
    """A predicate's name as that of a folder, which means the same in paths and URIs.

    >>> folder_of("hot"), folder_of("_too hot")
    ('hot', '~5Ftoo~20hot')
    """
    letters = (
        letter if _PLAIN.match(letter) or (place and letter in "_.") else "".join(f"~{byte:02X}" for byte in letter.encode())
        for place, letter in enumerate(predicate)
    )
    return "".join(letters)


def predicate_of(folder: str) -> str:
    """The predicate of a folder's name.

    >>> predicate_of("~5Ftoo~20hot")
    '_too hot'
    """
    return _ESCAPED.sub(lambda found: bytes.fromhex(found[0].replace("~", "")).decode("utf-8", "replace"), folder)
