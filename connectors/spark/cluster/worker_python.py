"""What a worker's Python has. Spark sends this file's code itself to workers, since they may have nothing of tidelog."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterable, Iterator
from importlib.util import find_spec


def is_there(module: str) -> bool:
    """Whether a module could be loaded; nothing but the packages above it is."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package above it
        return False


def folder_of(package: str) -> str | None:
    """Where a package lies; None where there is none, or it lies in no folder."""
    spec = find_spec(package) if is_there(package) else None
    folders = None if spec is None else spec.submodule_search_locations
    return next(filter(os.path.isdir, folders or ()), None)


def sources_in(folder: str) -> Iterator[str]:
    """The paths of Python's sources below a folder, in order, relative to it."""
    for place, folders, files in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith(".py"):
                yield os.path.relpath(os.path.join(place, name), folder)


def digest_of(package: str) -> str | None:
    """What tells a package's code from that of another version; None where there is no package."""
    folder = folder_of(package)
    if folder is None:
        return None
    digest = hashlib.sha256()
    for name in sources_in(folder):
        with open(os.path.join(folder, name), "rb") as file:
            digest.update(f"{name}\0".encode() + hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


def look(package: str, modules: Iterable[str]) -> tuple[str, str | None, list[str]]:
    """The name of this machine, the digest of a package, and which of some modules are missing."""
    return socket.gethostname(), digest_of(package), [name for name in modules if not is_there(name)]
