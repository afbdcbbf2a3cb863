"""Documents of JSON, read strictly, with their numbers as they were written."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import NoReturn

from tidelog.connectors.formats.values import read_argument
from tidelog.plans.data.facts import as_text
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import shorten

Document = dict[str, object]
"""An object of JSON."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_KINDS = {dict: "an object", list: "an array", bool: "a boolean", str: "text", type(None): "null"}


class Number(str):
    """A JSON number as it was written, so that 0.1 is exactly one tenth."""

    __slots__ = ()


def constant(value: object, what: str) -> object:
    """An argument; DataError where it is none."""
    if isinstance(value, Number):
        return read_argument(str(value))
    if isinstance(value, bool | str):
        return value
    raise DataError(f"{what} must be text, a number or a boolean, got {kind(value)}")


def kind(value: object) -> str:
    """What a JSON value is, for a message."""
    return "a number" if isinstance(value, Number) else _KINDS.get(type(value), type(value).__name__)


def load(line: bytes) -> object:
    """A JSON document, its numbers as written; DataError for anything that is not strict JSON, or too deep."""
    text = as_text(line)
    try:
        document: object = json.loads(
            text, object_pairs_hook=_unique, parse_int=Number, parse_float=Number, parse_constant=_refuse
        )
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        raise DataError(f"not valid JSON at column {error.colno}: {reason}") from None
    except UnicodeEncodeError:
        raise DataError("text holds half a surrogate pair") from None
    except RecursionError:
        raise DataError("not a fact: nested too deeply") from None
    return document


def _unique(pairs: list[tuple[str, object]]) -> Document:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise DataError(f"key `{shorten(twice).encode('utf-8', 'replace').decode()}` stands twice")
    return members


def _refuse(text: str) -> NoReturn:
    raise DataError(f"`{text}` is not a JSON number")
