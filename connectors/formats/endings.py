"""What the name of a file says: how it is compressed, in which format it is, and of which predicate its rows are."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal

Compression = Literal["gz", "zst"]
"""How a file is compressed: by gzip or by Zstandard."""
_COMPRESSIONS: dict[str, Compression] = {".gz": "gz", ".zst": "zst"}
_FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def compression_of(path: str) -> Compression | None:
    """How a file is compressed, by its ending.

    >>> compression_of("temp.csv.gz"), compression_of("temp.csv")
    ('gz', None)
    """
    return _COMPRESSIONS.get(PurePath(path).suffix.lower())


def format_of_path(path: str) -> str:
    """The format that a file's ending means: `.jsonl .ndjson .csv .parquet`, else text facts; compressed or not."""
    return _FORMATS.get(_uncompressed(path).suffix.lower(), "facts")


def predicate_of_path(path: str) -> str:
    """The predicate that a file is named after.

    >>> predicate_of_path("data/temp.csv.gz")
    'temp'
    """
    return _uncompressed(path).stem


def _uncompressed(path: str) -> PurePath:
    return PurePath(path).with_suffix("") if compression_of(path) else PurePath(path)
