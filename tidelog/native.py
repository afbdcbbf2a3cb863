"""Which build of tidelog runs: hot modules compiled (mypyc), where the wheel that is installed has them, or sources alone.

A compiled module lies beside its source, and Python prefers it. With `TIDELOG_PURE=1` in the environment, the sources run.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import PathEntryFinder

_FOLDER = os.path.dirname(__file__)


def choose() -> None:
    """Have the sources run if that is wanted; before a module that may be compiled is loaded."""
    if os.environ.get("TIDELOG_PURE") == "1":
        prefer_sources(_FOLDER)


def prefer_sources(folder: str) -> None:
    """From now on modules at and below a folder are loaded from their sources."""
    find_below = FileFinder.path_hook((SourceFileLoader, SOURCE_SUFFIXES))

    def is_below(path: str) -> bool:
        return path == folder or path.startswith(folder + os.sep)

    def find(path: str) -> PathEntryFinder:
        if not is_below(path):
            raise ImportError(f"not below {folder}", path=path)
        return find_below(path)

    sys.path_hooks.insert(0, find)
    for path in filter(is_below, list(sys.path_importer_cache)):
        del sys.path_importer_cache[path]


def is_compiled() -> bool:
    """Whether compiled modules run in this process."""
    spec = PathFinder.find_spec("tidelog.operators.operator", [os.path.join(_FOLDER, "operators")])
    return spec is not None and not str(spec.origin).endswith(".py")
