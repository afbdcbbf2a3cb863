"""SPECs of folders and globs: which files they mean, in the order of their names."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote, unquote

from tidelog.connectors.formats.endings import format_of_path
from tidelog.connectors.formats.formats import ROWS_OF_ONE
from tidelog.connectors.spec import Spec, check_readable, parse_spec
from tidelog.plans.diagnostics.errors import SpecError

MOST_FILES = 1000
"""How many files one SPEC may mean: each is a source, and has a descriptor."""
_GLOB = re.compile(r"[*?\[]")
_HIDDEN = ("_", ".")


def parse_sources(specs: Sequence[str], *, allow_remote: bool = False) -> list[Spec]:
    """The SPECs of sources, with the files of a folder or a glob in its place; SpecError where there are none.

    Files whose names begin with `_` or `.` are passed over. In a folder they are of one format, and hold facts of the
    predicate that the folder is named after, unless they tell it themselves; a glob means what its files mean alone.
    """
    return [found for spec in specs for found in _files_of(spec, parse_spec(spec, allow_remote=allow_remote))]


def _files_of(spec: str, parsed: Spec) -> Iterator[Spec]:
    if parsed.scheme != "file":
        yield parsed
    elif os.path.isdir(parsed.path):
        yield from _in_folder(spec, parsed)
    elif _GLOB.search(parsed.path) and not os.path.lexists(parsed.path):
        yield from _matching(spec, parsed)
    else:
        yield parsed


def _matching(spec: str, parsed: Spec) -> Iterator[Spec]:
    names = (path for path in glob.iglob(parsed.path, recursive=True) if not os.path.basename(path).startswith(_HIDDEN))
    paths = _counted(spec, (path for path in names if not os.path.isdir(path)))
    if not paths:
        raise SpecError(f"`{spec}` matches no file")
    for path in paths:
        check_readable(path)
        yield replace(parsed, path=path, format=parsed.format if parsed.is_format_told else format_of_path(path))


def _in_folder(spec: str, parsed: Spec) -> Iterator[Spec]:
    paths = _counted(spec, files_in(parsed.path))
    if not paths:
        raise SpecError(f"`{parsed.path}` holds no files")
    formats = {parsed.format} if parsed.is_format_told else set(map(format_of_path, paths))
    if len(formats) > 1:
        found = ", ".join(sorted(formats))
        raise SpecError(f"`{parsed.path}` holds files of several formats ({found}): say which it is, such as `csv+{spec}`")
    format = formats.pop()
    predicate = parsed.predicate
    if predicate is None and format in ROWS_OF_ONE:
        predicate = unquote(os.path.basename(os.path.abspath(parsed.path)))
    for path in paths:
        check_readable(path)
        yield replace(parsed, path=path, format=format, predicate=predicate)


def _counted(spec: str, paths: Iterator[str]) -> list[str]:
    found = sorted(paths)
    if len(found) > MOST_FILES:
        raise SpecError(f"`{spec}` means {len(found):,} files: {MOST_FILES:,} are possible at once")
    return found


def files_in(folder: str) -> Iterator[str]:
    """The paths of the files in a folder, and in folders in it that are parts of a table, such as `node=1`."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if "=" in name and not name.startswith(_HIDDEN)]
        yield from (os.path.join(place, name) for name in files if not name.startswith(_HIDDEN))


def folder_of(predicate: str) -> str:
    """A predicate's name as that of a folder; readers would pass over one that begins with `_` or `.`."""
    name = escape_value(predicate)
    return f"%{ord(name[0]):02X}{name[1:]}" if name[0] in _HIDDEN else name


def escape_value(name: str) -> str:
    """A value as it stands in the name of a folder."""
    return quote(name, safe=" ") or "__HIVE_DEFAULT_PARTITION__"
