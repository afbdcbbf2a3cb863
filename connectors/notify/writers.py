"""What is posted for an answer, by templates: a body and headers, or what a service of messages expects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from email.header import Header
from typing import Any, Final

import msgspec

from tidelog.connectors.http.webhook import JSON
from tidelog.connectors.mapping.templates import Template
from tidelog.runtime.ports.interfaces import AnyAnswer

MARK: Final = " […]"
"""What stands behind a text that was cut."""
TEXT: Final = "text/plain; charset=utf-8"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


class TemplateWriter:
    """A body, and headers, of templates. A header's value is one line; what is no ASCII is encoded as in mail (RFC 2047)."""

    def __init__(self, body: Template, headers: Mapping[str, Template], media_type: str | None = None) -> None:
        self._body, self._headers = body, headers
        self._media_type = media_type or (TEXT if body.is_text else JSON)
        self.asks_why = any(template.asks_why for template in (body, *headers.values()))

    def body(self, answer: AnyAnswer, reason: str) -> bytes:
        return self._body.payload(answer, reason)

    def headers(self, answer: AnyAnswer, reason: str) -> Mapping[str, str]:
        own = {name: header_value(template.filled(answer, reason)) for name, template in self._headers.items()}
        return {"content-type": self._media_type, **own}


Shape = Callable[[dict[str, Any], AnyAnswer], object]
"""Makes what is posted of a table that has been filled, and of the answer."""


class MessageWriter:
    """What a service of messages is posted: a table that has been filled, in the shape that it expects."""

    def __init__(self, table: Template, shape: Shape) -> None:
        self._table, self._shape = table, shape
        self.asks_why = table.asks_why

    def body(self, answer: AnyAnswer, reason: str) -> bytes:
        return msgspec.json.encode(self._shape(self._table.filled(answer, reason), answer))

    def headers(self, answer: AnyAnswer, reason: str) -> Mapping[str, str]:
        return {"content-type": JSON}


def header_value(text: object) -> str:
    """A text as the value of a header: one line of ASCII.

    >>> header_value("a\\nb "), header_value("warm ☀")
    ('a b', '=?utf-8?b?d2FybSDimIA=?=')
    """
    line = _CONTROL.sub(" ", str(text)).strip()
    return line if line.isascii() else Header(line, "utf-8", maxlinelen=10**9).encode()


def cut(text: str, most: int, measure: Callable[[str], int] = len) -> str:
    """A text that measures no more than `most`, with a mark at its end where it was cut.

    >>> cut("a" * 10, 10), cut("a" * 11, 10), cut("☀☀☀☀", 9, lambda text: len(text.encode()))
    ('aaaaaaaaaa', 'aaaaaa […]', '☀ […]')
    """
    if measure(text) <= most:
        return text
    fits, beyond = 0, len(text)
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if measure(text[:middle] + MARK) <= most:
            fits = middle
        else:
            beyond = middle
    return text[:fits] + MARK


def utf8_bytes(text: str) -> int:
    """How many bytes a text has; UnicodeEncodeError where it has half of a surrogate pair."""
    return len(text.encode())


def utf16_units(text: str) -> int:
    """How many units of UTF-16 a text has, as some services count characters."""
    return len(text.encode("utf-16-le")) // 2
