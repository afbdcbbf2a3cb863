"""Writing a file anew: at once, so that nobody sees half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tidelog.plans.diagnostics.errors import SpecError


def replace_file(path: str, text: str) -> None:
    """Put a text in a file's place, with its mode; SpecError where that cannot be, and then the file is as it was."""
    file = Path(path).resolve()  # a link goes on leading to it
    try:
        mode = file.stat().st_mode
        with tempfile.NamedTemporaryFile("wb", dir=file.parent, prefix=f".{file.name}.", delete=False) as beside:
            beside.write(text.encode("utf-8"))
        try:
            os.chmod(beside.name, mode)
            os.replace(beside.name, file)
        except OSError:
            os.unlink(beside.name)
            raise
    except OSError as error:
        raise SpecError(f"cannot write `{path}`: {os.strerror(error.errno or 0)}") from error
