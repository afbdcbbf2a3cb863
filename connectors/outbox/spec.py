"""`spark+outbox:DIR?option=value&…`: how the command line names an outbox."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl

from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan

if TYPE_CHECKING:
    from tidelog.connectors.outbox.outbox import Outbox

MAX_BYTES = 1_000_000_000
"""How many bytes of facts are kept unless told otherwise."""
MAX_ROWS = 1 << 53
"""How many facts are kept unless told otherwise: as many as the bytes allow."""

SCHEME = "spark+outbox:"
_OPTIONS = re.compile(r"(.*)\?([a-z]+=[^?]*)\Z", re.DOTALL)
_BYTES = re.compile(r"([0-9]{1,9})(kB|MB|GB|TB|B)?\Z", re.IGNORECASE)
_FACTORS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


@dataclass(frozen=True, slots=True)
class OutboxSpec:
    """An outbox and its options: how much it holds and what happens then, seconds between commits, and the node's name."""

    path: str
    max: int = MAX_BYTES
    rows: int = MAX_ROWS
    full: Literal["block", "stop"] = "block"
    every: float | None = None
    node: str | None = None

    def open(self, plan: Plan, *, holds_changes: bool = False) -> Outbox:
        """The outbox, for writing; raises what `Outbox` raises."""
        from tidelog.connectors.outbox.outbox import Outbox  # noqa: PLC0415 - few runs have one, and all have to start at once

        return Outbox(
            self.path,
            plan,
            node=self.node,
            max_bytes=self.max,
            max_rows=self.rows,
            full=self.full,
            holds_changes=holds_changes,
        )


def is_outbox(spec: str) -> bool:
    """Whether a SPEC names an outbox."""
    return spec.lower().startswith(SCHEME)


def parse_outbox(spec: str) -> OutboxSpec:
    """An outbox's SPEC taken apart; SpecError says what is wrong.

    >>> parse_outbox("spark+outbox:answers?max=10MB&full=stop").max
    10000000
    """
    rest = spec[len(SCHEME) :]
    found = _OPTIONS.match(rest)
    path, options = (found[1], found[2]) if found else (rest, "")
    path = path.removeprefix("//") if path.startswith("///") else path
    if path.startswith("//"):
        raise SpecError(f"`{spec}` names a host: expected `{SCHEME}DIR` or `{SCHEME}///DIR`")
    if not path or "\0" in path:
        raise SpecError(f"`{spec}` names no directory: expected `{SCHEME}DIR`")
    values: dict[str, Any] = {}
    for name, text in parse_qsl(options, keep_blank_values=True):
        if name not in _READERS:
            raise SpecError(f"`{spec}` has an unknown option `{name}`: the options are {', '.join(_READERS)}")
        try:
            values[name] = _READERS[name](text)
        except ValueError as error:
            raise SpecError(f"`{spec}`: `{name}` is {error}, got `{text}`") from None
    return OutboxSpec(path, **values)


def parse_bytes(text: str) -> int:
    """Bytes above 0, with their unit; ValueError for anything else, which says what was expected."""
    match = _BYTES.match(text)
    number = int(match[1]) * _FACTORS[(match[2] or "").lower()] if match else 0
    if not number:
        raise ValueError("a number of bytes, such as `500MB` or `2GB`")
    return number


def _rows(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text) or not int(text):
        raise ValueError("a number of facts above 0")
    return int(text)


def _policy(text: str) -> str:
    if text not in ("block", "stop"):
        raise ValueError("`block` or `stop`")
    return text


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text):
        raise ValueError("a number of seconds, such as `0.5`")
    return float(text)


def _name(text: str) -> str:
    if not re.fullmatch(r"[\w.:-]{1,255}", text):
        raise ValueError("a name of letters, digits, `_`, `.`, `:` and `-`")
    return text


_READERS: dict[str, Callable[[str], Any]] = {
    "max": parse_bytes,
    "rows": _rows,
    "full": _policy,
    "every": _seconds,
    "node": _name,
}
