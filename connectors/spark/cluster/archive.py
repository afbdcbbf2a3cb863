"""A zip of tidelog, and of what it needs, from which Python imports it: for workers that have none.

What is compiled cannot come in it: that has to be installed there, or be in an environment that workers get as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from zipfile import ZIP_DEFLATED, ZipFile

from tidelog.connectors.spark.cluster.worker_python import folder_of, is_there

PACKAGE = "tidelog"
NEEDED = ("anyio", "idna", "sniffio", "typing_extensions", "lark", "msgspec")
"""What tidelog loads in a worker, as far as it is installed here."""
NEEDED_BY_SPARK = ("pyarrow", "pandas", "google.protobuf")
"""What PySpark loads in a worker for what is run."""
_COMPILED = (".so", ".pyd")
_LEFT_OUT = (*_COMPILED, ".pyc")


def needed() -> tuple[list[str], list[str]]:
    """The modules that a zip brings so that workers run tidelog, and the packages that they have to have themselves."""
    modules = list(filter(is_there, NEEDED))
    pure = list(filter(is_pure, modules))
    wanted = [*(name for name in modules if name not in pure), *NEEDED_BY_SPARK]
    return [PACKAGE, *pure], [name.rpartition(".")[2] for name in wanted]


def is_pure(module: str) -> bool:
    """Whether a zip can bring it: it is Python's source alone."""
    folder = folder_of(module)
    if folder is None:
        return os.path.isfile(_file_of(module) or "")
    return not any(name.endswith(_COMPILED) for _, _, files in os.walk(folder) for name in files)


def pack(modules: Sequence[str], path: str) -> str:
    """Write a zip with these modules' sources and data; of what is compiled, the sources. Returns its path."""
    with closing(ZipFile(path, "w", ZIP_DEFLATED)) as archive:
        for module in modules:
            folder = folder_of(module)
            if folder is None:
                archive.write(_file_of(module) or "", f"{module}.py")
                continue
            for place, folders, files in os.walk(folder, followlinks=True):
                folders[:] = [name for name in folders if name != "__pycache__"]
                within = os.path.join(module, os.path.relpath(place, folder))
                for name in files:
                    if not name.endswith(_LEFT_OUT):
                        archive.write(os.path.join(place, name), os.path.normpath(os.path.join(within, name)))
    return path


def _file_of(module: str) -> str | None:
    """The source of a module that is one file."""
    spec = find_spec(module) if is_there(module) else None
    return None if spec is None or not str(spec.origin).endswith(".py") else spec.origin
