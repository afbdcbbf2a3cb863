"""Where tables of a test are: a folder with tables of Delta Lake, or a catalog of Iceberg in SQLite. Both can be copied."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal

import pytest

from tidelog.connectors.lake.iceberg import library

Kind = Literal["delta", "iceberg"]


class Home:
    """Tables of a kind in a folder of the test; `tables` is what commands call them.

    The folder is behind a link, since tables of Iceberg name their files by whole paths: so a copy is used in its place.
    """

    def __init__(self, kind: Kind, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.kind, self._folder = kind, folder
        link = folder / "home"
        if kind == "iceberg":
            patch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{link}/catalog.db")
            patch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", os.fspath(link / "ware house"))
        self.tables = "iceberg:lake.plant" if kind == "iceberg" else os.fspath(link / "tables")
        (folder / "home-0").mkdir(parents=True)
        self.use("0")

    def copy(self, name: str) -> None:
        """Keep what there is now under a name."""
        shutil.copytree((self._folder / "home").resolve(), self._folder / f"home-{name}")

    def use(self, name: str) -> None:
        """Go on with what is kept under a name."""
        library._loaded.cache_clear()  # of which a catalog has the old file open
        link = self._folder / "home"
        link.unlink(missing_ok=True)
        link.symlink_to(self._folder / f"home-{name}")

    def drop(self, name: str) -> None:
        """What is kept under a name is needed no more."""
        shutil.rmtree(self._folder / f"home-{name}")
