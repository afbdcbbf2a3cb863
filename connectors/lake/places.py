"""Where things are: on this machine, or in a file system that has a scheme of its own."""

from __future__ import annotations

import os
import re

from tidelog.plans.diagnostics.errors import SpecError

_PLAIN = re.compile(r"[A-Za-z0-9-]")
_ESCAPED = re.compile(r"(?:~[0-9A-F]{2})+")
_REMOTE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://")

LOG = "_delta_log"
"""Where a table of Delta Lake has its log."""


def is_remote(path: str) -> bool:
    """Whether it is a URI of another file system than this machine's."""
    return _REMOTE.match(path) is not None


def local_path(path: str) -> str:
    """The absolute path of a path or of a `file:` URI."""
    path = path.removeprefix("file:")
    return os.path.abspath(path.removeprefix("//") if path.startswith("///") else path)


def is_table(path: str) -> bool:
    """Whether there is a table of Delta Lake at a path of this machine."""
    return os.path.isdir(os.path.join(path, LOG))


def uri_of(path: str) -> str:
    """What Spark calls it, whatever file system it looks at by itself."""
    return path if is_remote(path) else f"file://{local_path(path)}"


def on_this_machine(path: str, what: str) -> str:
    """The absolute path; SpecError for the URI of another file system, and for what names nothing. `what` is what it is for.

    >>> on_this_machine("s3a://plant/b", "outboxes")
    Traceback (most recent call last):
    tidelog.plans.diagnostics.errors.SpecError: `s3a://plant/b`: outboxes are in a folder of this machine, not behind `s3a:`
    """
    if is_remote(path):
        scheme = path.partition("://")[0]
        raise SpecError(f"`{path}`: {what} are in a folder of this machine, not behind `{scheme}:`")
    if not path or "\0" in path:
        raise SpecError(f"{what} need the name of a folder, got {path!r}")
    return local_path(path)


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
