"""How a table that others wrote says facts: what its columns are called, and how it writes times and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args
from urllib.parse import unquote
from zoneinfo import ZoneInfo, available_timezones

from tidelog.plans.data.time_formats import TimeFormat, compile_format
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.suggestions import suggest

Epoch = Literal["s", "ms", "us", "ns"]
"""What a number counts since 1970."""
KEYS = ("time", "from", "to", "format", "epoch", "zone", "sep", "decimal", "columns", "extra", "melt")
"""The options by name."""
FrameOptions = TypedDict(
    "FrameOptions",
    {
        "time": str,
        "from": str,
        "to": str,
        "format": str,
        "epoch": Epoch,
        "zone": str,
        "columns": Mapping[str, str] | str,
        "extra": Literal["ignore"],
    },
    total=False,
)
"""Those that frames have, as keyword arguments."""
_SEPARATORS = {"tab": "\t", "\\t": "\t"}
_NO_SEPARATOR = '"\r\n'


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the options of a table say. Plain data: it can be sent elsewhere.

    `time`, or `begin` and `end`, are the columns of the time; `columns` are fields with their columns. `ignores` passes over
    columns that are none of these. `melt` are the fields that the name of such a column and its cell are for.
    """

    time: str | None = None
    begin: str | None = None
    end: str | None = None
    format: str | None = None
    epoch: Epoch | None = None
    zone: str | None = None
    separator: str = ","
    decimal: str = "."
    columns: tuple[tuple[str, str], ...] = ()
    ignores: bool = False
    melt: tuple[str, str] | None = None

    @property
    def names_columns(self) -> bool:
        """Whether columns have other names than fields, or there are others beside."""
        return bool(self.time or self.begin or self.end or self.columns or self.ignores)

    @property
    def is_of_text(self) -> bool:
        """Whether only text between separators can be read so."""
        return self.separator != "," or self.decimal != "." or self.melt is not None

    @property
    def times_differ(self) -> bool:
        """Whether times are written otherwise than in our own data."""
        return bool(self.format or self.epoch or self.zone or self.decimal != ".")

    def column_of(self, field: str) -> str:
        """The column of a field."""
        return dict(self.columns).get(field, field)

    def time_format(self) -> TimeFormat | None:
        """What reads times of its format."""
        return None if self.format is None else compile_format(self.format)


OURS = Dialect()
"""Tables as this program writes and documents them."""


def read_dialect(options: Mapping[str, object]) -> Dialect:
    """What options by name say; SpecError for one that is unknown, or says nothing that can be done. Of all of them,
    `columns` may be a mapping.

    >>> read_dialect({"time": "Zeitstempel", "sep": ";", "columns": "room:raum"}).column_of("room")
    'raum'
    """
    told: dict[str, str] = {}
    for name, value in options.items():
        if name not in KEYS:
            raise SpecError(f"unknown option `{name}`: the options are {', '.join(KEYS)}{suggest(name, KEYS)}")
        if isinstance(value, str):
            told[name] = value
        elif name != "columns" or not isinstance(value, Mapping):
            raise SpecError(f"`{name}` is a text, got {type(value).__name__}")
        if not value:
            raise SpecError(f"`{name}=` says nothing")
    for names in (("time", "from"), ("time", "to"), ("format", "epoch"), ("epoch", "zone"), ("extra", "melt")):
        if all(name in told for name in names):
            raise SpecError(f"`{names[0]}` and `{names[1]}` exclude each other")
    if "format" in told:
        compile_format(told["format"])
    return Dialect(
        told.get("time"),
        told.get("from"),
        told.get("to"),
        told.get("format"),
        _epoch(told["epoch"]) if "epoch" in told else None,
        _zone(told["zone"]) if "zone" in told else None,
        _separator(told.get("sep", ","), told.get("decimal", ".")),
        _decimal(told.get("decimal", ".")),
        _columns(options.get("columns", {})),
        _ignores(told["extra"]) if "extra" in told else False,
        _melt(told["melt"]) if "melt" in told else None,
    )


def _epoch(text: str) -> Epoch:
    for unit in get_args(Epoch):
        if text == unit:
            found: Epoch = unit
            return found
    raise SpecError(f"`epoch={text}` is no unit: {', '.join(get_args(Epoch))}")


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        near = suggest(name, available_timezones())
        raise SpecError(f"`zone={name}` is no time zone of the IANA database{near}") from None
    return name


def _separator(text: str, decimal: str) -> str:
    found = _SEPARATORS.get(text, text)
    if len(found) != 1 or not found.isascii() or found in _NO_SEPARATOR or found == " ":
        raise SpecError(f"`sep={text}` is no separator: one character such as `;`, or `tab`")
    if found == decimal and decimal != ".":
        raise SpecError(f"`decimal={decimal}` needs another separator than `{found}`, such as `sep=;`")
    return found


def _decimal(text: str) -> str:
    if text not in (",", "."):
        raise SpecError(f"`decimal={text}` is no decimal sign: `,` or `.`")
    return text


def _melt(text: str) -> tuple[str, str]:
    key, _, value = (part.strip() for part in text.partition(","))
    if not key or not value or key == value or "," in value:
        raise SpecError(f"`melt={text}` is not of the form `melt=FIELD,FIELD`: for a column's name, and for its cell")
    return key, value


def _ignores(text: str) -> bool:
    if text != "ignore":
        raise SpecError(f"`extra={text}` means nothing: `extra=ignore` passes over columns that are no fields")
    return True


def _columns(told: object) -> tuple[tuple[str, str], ...]:
    if isinstance(told, Mapping):
        pairs = [(str(field), str(column)) for field, column in told.items()]
    else:
        parts = [pair.partition(":") for pair in str(told).split(",")]
        pairs = [(unquote(field).strip(), unquote(column).strip()) for field, _, column in parts]
    for field, column in pairs:
        if not field or not column:
            raise SpecError(f"`columns={told}` is not of the form `field:column,field:column`")
    for side, what in ((0, "field"), (1, "column")):
        names = [pair[side] for pair in pairs]
        for name in names:
            if names.count(name) > 1:
                raise SpecError(f"`columns` names the {what} `{name}` twice")
    return tuple(pairs)
