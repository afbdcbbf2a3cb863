"""Whether a file of CSV has a row at all: one that has none is no mistake, and is told."""

from __future__ import annotations

import os
import stat

from tidelog.connectors.files.pieces import opened
from tidelog.connectors.formats.csv.framer import CsvFramer
from tidelog.connectors.spec import Spec
from tidelog.plans.diagnostics.errors import TidelogError

_BYTES = 1 << 16
"""A file with as many bytes has a row."""


def has_no_rows(spec: Spec) -> bool:
    """Whether a CSV file, which may be compressed, holds nothing but its header, or not even that.

    What cannot be read is not told here: who reads it says why.
    """
    if spec.format != "csv" or spec.scheme != "file" or not _is_regular(spec.path):
        return False
    text = b""
    try:
        with opened(spec) as pieces:
            while len(text) < _BYTES and (piece := pieces.read(_BYTES)):
                text += piece
    except TidelogError:
        return False
    if len(text) >= _BYTES:
        return False
    framed = CsvFramer(spec.path, separator=spec.dialect.separator).push(text + b"\n")
    return not framed.rejected and sum(1 for line in framed.lines if line.strip()) <= 1


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False
