"""SPEC: how the command line names a source or a sink, `[format+]scheme:…`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from tidelog.connectors.formats.endings import format_of_path
from tidelog.connectors.formats.formats import FORMATS
from tidelog.connectors.transport.addresses import Address, TcpAddress, UnixAddress
from tidelog.plans.data.dialect import KEYS, OURS, Dialect, read_dialect
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.suggestions import suggest

ACCEPTED = (
    "`-`, a path, `file:PATH`, `tcp://HOST:PORT`, `tcp+listen://HOST:PORT`, `unix:///PATH`, `unix+listen:///PATH`; "
    "`facts+`, `jsonl+`, `csv+`, `parquet+` or `text+` before it names the format; `parquet:DIR` for tables"
)
"""What a SPEC may be, for messages."""

_SCHEMES = ("file", "tcp", "tcp+listen", "unix", "unix+listen", "parquet")
_FORMAT = re.compile(rf"({'|'.join(FORMATS)})\+(.*)\Z", re.DOTALL)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)\Z", re.DOTALL)
_OTHER_FORMAT = re.compile(r"([A-Za-z0-9]+)\+(-|(?:file|tcp|tcp\+listen|unix|unix\+listen):.*)(?:\?[^?]*)?\Z", re.DOTALL)
_TABLES = re.compile(r"parquet:(?=.)(.*)\Z", re.DOTALL)
_ANY_FORMAT = re.compile(r"([A-Za-z0-9]+)\+(?=.)", re.DOTALL)
_OPTIONS = re.compile(r"(.*)\?([a-z]+=[^?]*)\Z", re.DOTALL)
_WANTED = {"predicate": "predicate", "by": "field"}
_OPTION_NAMES = (*_WANTED, *KEYS)


@dataclass(frozen=True, slots=True)
class Spec:
    """A SPEC taken apart. `scheme` is `-` for standard input and output; sockets have an `address`, files a `path`.

    `parquet` is that of a folder of tables, which answers go to. The `dialect` says how a table of others is read.
    """

    scheme: str
    format: str
    path: str = ""
    address: Address | None = None
    predicate: str | None = None
    by: str | None = None
    is_format_told: bool = field(default=True, repr=False, compare=False)
    dialect: Dialect = field(default=OURS, repr=False)

    def __str__(self) -> str:
        return self.path or (str(self.address) if self.address else "-")

    @property
    def listens(self) -> bool:
        return self.scheme.endswith("+listen")


def parse_spec(spec: str, *, allow_remote: bool = False) -> Spec:
    """A SPEC taken apart, without looking whether what it names is there; SpecError says what is accepted.

    >>> parse_spec("csv+file:a.csv?predicate=temp")
    Spec(scheme='file', format='csv', path='a.csv', address=None, predicate='temp', by=None)
    """
    tables = _TABLES.match(spec)
    if tables:
        return Spec("parquet", "parquet", tables[1].removeprefix("//") if tables[1].startswith("///") else tables[1])
    told = _FORMAT.match(spec)
    rest, options = split_options(spec, told[2] if told else spec)
    kind, predicate, by = told[1] if told else None, options.get("predicate"), options.get("by")
    dialect = dialect_of(spec, options)
    if kind == "parquet" and not _is_path(rest):
        raise SpecError(f"`{spec}`: Parquet is read from files, and written to a folder, `parquet:DIR`")
    if rest == "-":
        return Spec("-", kind or "jsonl", predicate=predicate, by=by, is_format_told=kind is not None, dialect=dialect)
    other = None if told else _OTHER_FORMAT.match(spec)
    if other and not (other[1].lower() in ("tcp", "unix") and other[2].startswith("listen")):
        raise _unknown_format(spec, other[1])
    scheme = _SCHEME.match(rest)
    if not scheme:
        named = None if told else _ANY_FORMAT.match(spec)
        if named and suggest(named[1], FORMATS) and not os.path.lexists(rest):
            raise _unknown_format(spec, named[1])
        return _file_spec(spec, rest, kind, options, dialect)
    name = scheme[1].lower()
    if name == "file":
        path = scheme[2].removeprefix("//") if scheme[2].startswith("///") else scheme[2]
        if path.startswith("//"):
            raise SpecError(f"`{spec}` names a host: expected `file:PATH` or `file:///PATH`")
        return _file_spec(spec, path, kind, options, dialect)
    address = _address(spec, name, rest)
    if name == "tcp+listen" and isinstance(address, TcpAddress) and not (address.is_loopback or allow_remote):
        raise SpecError(f"`{spec}` would listen beyond this machine: use 127.0.0.1, or allow remote connections")
    is_told = kind is not None
    return Spec(name, kind or "jsonl", "", address, predicate, by, is_format_told=is_told, dialect=dialect)


def split_options(spec: str, rest: str) -> tuple[str, dict[str, str]]:
    """What stands before `?predicate=NAME&by=FIELD`, and the options by name. A `+` in them is one, and no space."""
    match = _OPTIONS.match(rest)
    if not match:
        return rest, {}
    options: dict[str, str] = {}
    for part in match[2].split("&"):
        name, _, value = part.partition("=")
        if name not in _OPTION_NAMES:
            known = ", ".join(_OPTION_NAMES)
            near = suggest(name, _OPTION_NAMES)
            raise SpecError(f"`{spec}` has an unknown option `{name}`: the options are {known}{near}")
        if not value:
            raise SpecError(f"`{spec}` names no {_WANTED.get(name, 'value')} after `{name}=`")
        if name in options:
            raise SpecError(f"`{spec}` has `{name}` twice")
        options[name] = value if name == "columns" else unquote(value)  # whose commas and colons may be quoted
    return match[1], options


def dialect_of(spec: str, options: Mapping[str, str]) -> Dialect:
    """How the table is read that these options are of; SpecError where one of them says nothing that can be done."""
    told = {name: value for name, value in options.items() if name not in _WANTED}
    try:
        return read_dialect(told) if told else OURS
    except SpecError as error:
        raise SpecError(f"`{spec}`: {error}") from None


def _is_path(rest: str) -> bool:
    scheme = _SCHEME.match(rest)
    return rest != "-" and (scheme is None or scheme[1].lower() == "file")


def _unknown_format(spec: str, name: str) -> SpecError:
    near = suggest(name, FORMATS)
    return SpecError(f"`{spec}` has an unknown format `{name}`: the formats are {', '.join(FORMATS)}{near}")


def _file_spec(spec: str, path: str, kind: str | None, options: Mapping[str, str], dialect: Dialect) -> Spec:
    if not path or "\0" in path:
        raise SpecError(f"`{spec}` names no file: expected {ACCEPTED}")
    told, predicate, by = kind is not None, options.get("predicate"), options.get("by")
    return Spec("file", kind or format_of_path(path), path, None, predicate, by, is_format_told=told, dialect=dialect)


def _address(spec: str, scheme: str, rest: str) -> Address:
    """The address of a socket's URL; SpecError for any other."""
    try:
        url = urlsplit(rest)
        host, port, path = url.hostname, url.port, url.path
    except ValueError as error:
        raise SpecError(f"`{spec}` cannot be read: {str(error)[:1].lower()}{str(error)[1:]}") from None
    is_plain = not (url.query or url.fragment or url.username or url.password)
    if scheme in ("tcp", "tcp+listen") and is_plain and host and port is not None and path in ("", "/"):
        return TcpAddress(host, port)
    if scheme in ("unix", "unix+listen") and is_plain and not url.netloc and path.startswith("/") and len(path) > 1:
        return UnixAddress(path)
    if scheme in ("tcp", "tcp+listen"):
        raise SpecError(f"`{spec}` is not of the form `{scheme}://HOST:PORT`")
    if scheme in ("unix", "unix+listen"):
        raise SpecError(f"`{spec}` is not of the form `{scheme}:///PATH`")
    if scheme == "parquet":
        raise SpecError(f"`{spec}` does not name a folder: write `parquet:DIR`")
    if scheme in ("mqtt", "mqtts"):
        told = 'in its file, `type = "mqtt"` and `url` in a `[[source]]` or a `[[sink]]` name the broker'
        raise SpecError(f"`{spec}`: MQTT is read and written by `tidelog gateway FILE`: {told}")
    raise SpecError(f"`{spec}` has an unknown scheme `{scheme}`: expected {ACCEPTED}{suggest(scheme, _SCHEMES)}")


def check_readable(path: str) -> None:
    """SpecError now rather than an OSError in the middle: the file is there, is no directory, and may be read."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise _unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        raise SpecError(f"cannot read `{path}`: it is a directory")
    if not os.access(path, os.R_OK):
        raise SpecError(f"cannot read `{path}`: permission denied")


def _unreadable(path: str, error: OSError) -> SpecError:
    """The error for a file that cannot be read; if the path begins with an unknown format, the error names that."""
    named = _ANY_FORMAT.match(path)
    if named and named[1] not in FORMATS and os.path.exists(path[named.end() :]):
        return _unknown_format(path, named[1])
    return SpecError(f"cannot read `{path}`: {os.strerror(error.errno or 0)}")


def check_writable(path: str) -> None:
    """SpecError where the file cannot be created or written."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise SpecError(f"cannot write `{path}`: it is a directory")
    if not os.path.isdir(folder):
        raise SpecError(f"cannot write `{path}`: there is no directory `{folder}`")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise SpecError(f"cannot write `{path}`: permission denied")
