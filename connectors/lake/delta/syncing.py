"""What the log of a table says is on the disk for certain, before its facts are acknowledged.

The library writes the log and lets the system bring it to the disk when it likes. So after a power failure the last versions
of a table may be torn: their entries in the log, or files that they name, are not what was written. Nobody was told that
such a version counts, so `mend` takes it back, and what was in it comes again. Object stores keep what they have answered.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tidelog.connectors.lake.places import LOG, is_remote
from tidelog.connectors.store.syncing import sync
from tidelog.plans.diagnostics.errors import ConnectorError

if TYPE_CHECKING:
    from deltalake import DeltaTable

_TAIL = 20
"""How many versions may be torn: as many as processes write a table at a time."""


def sync_versions(table: DeltaTable, since: int) -> None:
    """Bring the versions of a table behind number `since` to the disk, whoever wrote them.

    ConnectorError where that fails.
    """
    uri = _path_of(table.table_uri)
    if is_remote(uri):
        return
    try:
        folders = {os.path.join(uri, LOG), uri, os.path.dirname(uri)}
        for version in range(max(since + 1, table.version() - _TAIL), table.version() + 1):
            entry = _entry(uri, version)
            for path, _ in _added(entry) or ():
                with suppress(FileNotFoundError):  # a later version has let it go, and somebody has cleared it away
                    sync(os.path.join(uri, path))
                folders.add(os.path.dirname(os.path.join(uri, path)))
            if os.path.exists(entry):
                sync(entry)
        for folder in folders:
            with suppress(FileNotFoundError):
                sync(folder)
    except OSError as error:
        raise ConnectorError(f"cannot write the table `{uri}`: {error}") from error


def mend(uri: str) -> list[str]:
    """Take back the versions at the end of a local table that a power failure has torn; what was done, a line each.

    The entries are renamed, not deleted. ConnectorError where that fails.
    """
    log = os.path.join(uri, LOG)
    if is_remote(uri) or not os.path.isdir(log):
        return []
    try:
        versions = sorted(int(name[:-5]) for name in os.listdir(log) if name.endswith(".json") and name[:-5].isdecimal())
        torn = next((version for version in versions[-_TAIL:] if _is_torn(uri, version)), None)
        said = []
        for version in reversed([version for version in versions if torn is not None and version >= torn]):
            os.rename(_entry(uri, version), f"{_entry(uri, version)}.torn")
            said.append(f"version {version} of the table `{uri}` was torn by a power failure, and is taken back")
        if said:
            sync(log)
        return said
    except OSError as error:
        raise ConnectorError(f"cannot mend the table `{uri}`: {error}") from error


def _path_of(uri: str) -> str:
    return unquote(uri.removeprefix("file://")).rstrip("/") if not is_remote(uri) else uri


def _entry(uri: str, version: int) -> str:
    return os.path.join(uri, LOG, f"{version:020d}.json")


def _is_torn(uri: str, version: int) -> bool:
    added = _added(_entry(uri, version))
    if added is None:
        return True
    return any(os.path.exists(path) and os.path.getsize(path) != size for path, size in _at(uri, added))


def _at(uri: str, added: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return [(os.path.join(uri, path), size) for path, size in added]


def _added(entry: str) -> list[tuple[str, int]] | None:
    """The files that a version adds, and their sizes; None where its entry is torn, nothing where it is gone."""
    try:
        with open(entry, encoding="utf-8") as file:
            actions = [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []
    except ValueError:
        return None
    found = [action["add"] for action in actions if "add" in action]
    return [(unquote(add["path"]), int(add["size"])) for add in found] if actions else None
